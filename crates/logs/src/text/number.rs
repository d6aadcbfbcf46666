//! Formats a double exactly as C's `%.17g` or `%.20g` does on Windows, as PDH writes values to CSV and TSV logs.
//!
//! The text has 17 or 20 significant digits, correctly rounded (ties to even), without trailing zeros. Below 1e-4,
//! and at or above 1e17 (20 digits: 1e20), it has an exponent of at least three digits. 17 digits identify every
//! double uniquely, so values are read back bit-equal. With 20 digits, the text is closer to the double's exact
//! value.
//!
//! Rust has no `%g`, and its formatting is several times slower; a log has millions of cells. So values in the
//! usual range are formatted here with exact integers: a double is `m * 2^e`, and for a suitable `k` the number `m *
//! 5^k * 2^(e + k)` has the needed digits before its point. `m * 5^k` fits 128 bits for all values from 1e-15 (20
//! digits: 1e-12).

use std::io::Write as _;

/// Buffer for the longest text, `-1.2345678901234567890e-308`.
pub type NumberText = [u8; 32];

/// The number of significant digits of values in a text log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Digits {
    /// `%.17g`: logs written by Windows before Windows 10, or by Tachograph.
    #[default]
    Seventeen,
    /// `%.20g`: logs written by Windows 10 and later.
    Twenty,
}

impl Digits {
    /// The number of digits that a build of Windows writes: 20 since Windows 10 (build 10240).
    ///
    /// Source: 21 text logs of data collectors, none of which mixes the two precisions.
    #[must_use]
    pub fn of_windows_build(build: u32) -> Self {
        if build >= 10_240 { Self::Twenty } else { Self::Seventeen }
    }
}

/// Writes `value` at the start of `text`, and returns the length in bytes (ASCII).
///
/// `value` must be finite. Other values are written as `" "`, PDH's "no value".
///
/// Source: text logs written by Windows (all 250 cells of a log with 17 digits agree, and all 140 exponents have
/// three digits); ISO C, 7.21.6.1, conversion `g`.
///
/// ```
/// use tachograph_logs::text::number::{Digits, write_number};
///
/// let mut text = [0; 32];
/// let length = write_number(0.1, Digits::Seventeen, &mut text);
/// assert_eq!(&text[..length], b"0.10000000000000001");
/// let length = write_number(0.00001, Digits::Twenty, &mut text);
/// assert_eq!(&text[..length], b"1.0000000000000000818e-005");
/// ```
pub fn write_number(value: f64, digits: Digits, text: &mut NumberText) -> usize {
    match digits {
        Digits::Seventeen => format::<17>(value, text),
        Digits::Twenty => format::<20>(value, text),
    }
}

fn format<const DIGITS: usize>(value: f64, text: &mut NumberText) -> usize {
    debug_assert!(value.is_finite(), "{value} has no text");
    let sign = usize::from(value.is_sign_negative());
    text[0] = b'-';
    let magnitude = value.abs();
    // Whole numbers of up to 17 digits, for which the cast is exact. It saturates for larger numbers.
    let whole = magnitude as u64;
    if whole as f64 == magnitude && whole < 100_000_000_000_000_000 {
        return format_whole(whole, text, sign);
    }
    let range = if DIGITS == 17 { 1e-15..1e17 } else { 1e-12..1e20 };
    if range.contains(&magnitude) {
        let (digits, exponent) = significant_digits::<DIGITS>(magnitude);
        format_digits(&digit_bytes::<DIGITS>(digits), exponent, text, sign)
    } else {
        format_with_std::<DIGITS>(magnitude, text, sign)
    }
}

/// The decimal digits of a number in the usual range, and the decimal exponent of the first digit.
fn significant_digits<const DIGITS: usize>(magnitude: f64) -> (u128, i32) {
    let too_large = 10u128.pow(DIGITS as u32);
    let smallest = too_large / 10;
    let bits = magnitude.to_bits();
    // All numbers in this range are normal: the smallest is 1e-15.
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let binary_exponent = (bits >> 52) as i32 - 1023;
    let exponent_of_two = binary_exponent - 52;
    // floor(log10(2^binary_exponent)) is the decimal exponent or one less.
    let mut exponent = (binary_exponent * 315_653) >> 20;
    exponent += i32::from(magnitude >= POWERS_OF_TEN[(exponent + 1 + 15) as usize]);
    loop {
        let exponent_of_five = DIGITS as i32 - 1 - exponent;
        let product = u128::from(mantissa) * POWERS_OF_FIVE[exponent_of_five as usize];
        let shift = -(exponent_of_two + exponent_of_five);
        let (digits, rest, half) = if shift > 0 {
            let rest = product & ((1 << shift) - 1);
            (product >> shift, rest, 1 << (shift - 1))
        } else {
            (product << -shift, 0, 1)
        };
        // Powers of ten below 1 are not exact doubles, so near one of them the comparison above can be wrong.
        if digits < smallest {
            exponent -= 1;
        } else if digits >= too_large {
            exponent += 1;
        } else {
            let rounds_up = rest > half || (rest == half && digits & 1 == 1);
            let rounded = digits + u128::from(rounds_up);
            return if rounded == too_large { (smallest, exponent + 1) } else { (rounded, exponent) };
        }
    }
}

/// Writes a whole number below 1e17 after the sign.
fn format_whole(whole: u64, text: &mut NumberText, sign: usize) -> usize {
    if whole < 100_000_000 {
        let digits = eight_digits(whole as u32);
        // Leading zeros are the low bytes; the last digit is kept even if it is 0.
        let skipped = (digits.trailing_zeros() / 8).min(7);
        let shown = (digits | ASCII_ZEROS) >> (8 * skipped);
        text[sign..sign + 8].copy_from_slice(&shown.to_le_bytes());
        return sign + 8 - skipped as usize;
    }
    let digits = digit_bytes::<17>(u128::from(whole));
    let skipped = digits.iter().take_while(|&&digit| digit == b'0').count();
    let shown = &digits[skipped..];
    text[sign..sign + shown.len()].copy_from_slice(shown);
    sign + shown.len()
}

/// Formats digits in the form that `%g` chooses for the exponent. The first digit must not be 0.
fn format_digits<const DIGITS: usize>(
    digits: &[u8; DIGITS],
    exponent: i32,
    text: &mut NumberText,
    sign: usize,
) -> usize {
    let mut significant = DIGITS;
    while significant > 1 && digits[significant - 1] == b'0' {
        significant -= 1;
    }
    if (0..DIGITS as i32).contains(&exponent) {
        let before_point = exponent as usize + 1;
        text[sign..sign + DIGITS].copy_from_slice(digits);
        if significant <= before_point {
            return sign + before_point;
        }
        text[sign + before_point] = b'.';
        let end = sign + significant + 1;
        text[sign + before_point + 1..end].copy_from_slice(&digits[before_point..significant]);
        end
    } else if (-4..0).contains(&exponent) {
        text[sign..sign + 5].copy_from_slice(b"0.000");
        let start = sign + (1 - exponent) as usize;
        text[start..start + DIGITS].copy_from_slice(digits);
        start + significant
    } else {
        text[sign] = digits[0];
        text[sign + 1] = b'.';
        text[sign + 2..sign + 1 + DIGITS].copy_from_slice(&digits[1..]);
        let mut end = if significant == 1 { sign + 1 } else { sign + significant + 1 };
        text[end] = b'e';
        text[end + 1] = if exponent < 0 { b'-' } else { b'+' };
        end += 2;
        // The C library of Windows writes at least three digits.
        let rest = exponent.unsigned_abs();
        for (index, power) in [100, 10, 1].into_iter().enumerate() {
            text[end + index] = b'0' + (rest / power % 10) as u8;
        }
        end + 3
    }
}

/// Writes numbers outside the usual range. Rust rounds them correctly; only the format of the exponent differs.
#[cold]
fn format_with_std<const DIGITS: usize>(magnitude: f64, text: &mut NumberText, sign: usize) -> usize {
    let mut written = [0u8; 32];
    let mut rest = &mut written[..];
    // `d.ddddddddddddddddddde-ddd` has at most 26 bytes.
    let fits = write!(rest, "{magnitude:.0$e}", DIGITS - 1).is_ok();
    let unused = rest.len();
    let written = &written[..32 - unused];
    let exponent = written
        .get(DIGITS + 2..)
        .and_then(|exponent| std::str::from_utf8(exponent).ok())
        .and_then(|exponent| exponent.parse().ok());
    match exponent {
        Some(exponent) if fits => {
            let mut digits = [b'0'; DIGITS];
            digits[0] = written[0];
            digits[1..].copy_from_slice(&written[2..DIGITS + 1]);
            format_digits(&digits, exponent, text, sign)
        }
        // Only values that are not finite have no exponent.
        _ => {
            text[0] = b' ';
            1
        }
    }
}

const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// The decimal digits of a number, with leading zeros.
fn digit_bytes<const DIGITS: usize>(number: u128) -> [u8; DIGITS] {
    const UNIT: u64 = 10_000_000_000_000_000;
    // 128-bit division is slow; 17 digits fit 64 bits.
    let (upper, lower) = match u64::try_from(number) {
        Ok(number) => (number / UNIT, number % UNIT),
        Err(_) => ((number / u128::from(UNIT)) as u64, (number % u128::from(UNIT)) as u64),
    };
    let ascii_digits = |number: u64| (eight_digits(number as u32) | ASCII_ZEROS).to_le_bytes();
    let mut bytes = [0; DIGITS];
    let first = DIGITS - 16;
    bytes[..first].copy_from_slice(&ascii_digits(upper)[8 - first..]);
    bytes[first..first + 8].copy_from_slice(&ascii_digits(lower / 100_000_000));
    bytes[first + 8..].copy_from_slice(&ascii_digits(lower % 100_000_000));
    bytes
}

/// The eight digits of a number below 1e8, one per byte, the first in the lowest byte. Each step divides several
/// numbers at once, packed in one integer.
fn eight_digits(number: u32) -> u64 {
    let number = u64::from(number);
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // 10486 / 2^20 is 1/100 for numbers below 10,000, and 103 / 2^10 is 1/10 for numbers below 100.
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// 5^0 to 5^32. The product of the last one and a 53-bit mantissa still fits 128 bits.
const POWERS_OF_FIVE: [u128; 33] = {
    let mut powers = [1; 33];
    let mut exponent = 1;
    while exponent < 33 {
        powers[exponent] = powers[exponent - 1] * 5;
        exponent += 1;
    }
    powers
};

/// 1e-15 to 1e20 as the nearest doubles.
const POWERS_OF_TEN: [f64; 36] = [
    1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1,
    1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
];
