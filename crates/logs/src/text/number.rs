//! A double as text, exactly as C's `%.17g` prints it: the form in which PDH writes values into CSV and TSV logs.
//!
//! 17 significant digits, correctly rounded (a tie goes to the even digit), trailing zeros left out; the exponent form
//! below 1e-4 and from 1e17 on. 17 digits name every double uniquely, so what is written here reads back bit-equal.
//!
//! Rust's own formatting knows no `%g` and takes several times as long; a log has millions of cells. So the range in
//! which measured values lie is done here, in exact integers: a double is `m * 2^e`, and for the right `k` the number
//! `m * 5^k * 2^(e + k)` has 17 digits before its point. `m * 5^k` fits 128 bits for everything from 1e-15 up.

use std::io::Write as _;

/// Room for the longest text, `-1.2345678901234567e-308`, and a little more.
pub type NumberText = [u8; 32];

/// Significant digits of `%.17g`.
const DIGITS: i32 = 17;
/// The smallest and the first too large number of 17 digits.
const SMALLEST: u64 = 10_000_000_000_000_000;
const TOO_LARGE: u64 = 100_000_000_000_000_000;

/// Writes `value` as C's `%.17g` at the start of `text`, and returns how many bytes (ASCII) that took.
///
/// `value` must be finite: PDH has no text for anything else, "no value" being `" "`. What is not finite is written as
/// that blank.
///
/// Source: CSV logs made by Windows, 250 of 250 cells of which agree; ISO C, 7.21.6.1, conversion `g`.
///
/// ```
/// use tachograph_logs::text::number::write_number;
///
/// let mut text = [0; 32];
/// let length = write_number(0.1, &mut text);
/// assert_eq!(&text[..length], b"0.10000000000000001");
/// ```
pub fn write_number(value: f64, text: &mut NumberText) -> usize {
    debug_assert!(value.is_finite(), "{value} has no text");
    let sign = usize::from(value.is_sign_negative());
    text[0] = b'-';
    let magnitude = value.abs();
    // Every whole number of at most 17 digits is written out as it is; the cast is exact, and saturates for the rest.
    let whole = magnitude as u64;
    if whole as f64 == magnitude && whole < TOO_LARGE {
        return write_whole(whole, text, sign);
    }
    if (1e-15..1e17).contains(&magnitude) {
        let (digits, exponent) = seventeen_digits(magnitude);
        lay_out(&digit_bytes(digits), exponent, text, sign)
    } else {
        write_extreme(magnitude, text, sign)
    }
}

/// A number that is neither tiny nor huge as 17 decimal digits and the decimal exponent of the first of them.
fn seventeen_digits(magnitude: f64) -> (u64, i32) {
    let bits = magnitude.to_bits();
    // Normal numbers only: the smallest that comes here is 1e-15.
    let mantissa = (bits & ((1 << 52) - 1)) | (1 << 52);
    let binary_exponent = (bits >> 52) as i32 - 1023;
    let two = binary_exponent - 52;
    // floor(log10(2^binary_exponent)), which is the answer or one less.
    let mut exponent = (binary_exponent * 315_653) >> 20;
    exponent += i32::from(magnitude >= POWERS_OF_TEN[(exponent + 1 + 15) as usize]);
    loop {
        let ten = DIGITS - 1 - exponent;
        let product = u128::from(mantissa) * POWERS_OF_FIVE[ten as usize];
        let shift = -(two + ten);
        let (digits, rest, half) = if shift > 0 {
            let rest = product & ((1 << shift) - 1);
            ((product >> shift) as u64, rest, 1 << (shift - 1))
        } else {
            ((product << -shift) as u64, 0, 1)
        };
        // Powers of ten below 1 are no doubles, so that next to one of them the comparison above can be wrong.
        if digits < SMALLEST {
            exponent -= 1;
        } else if digits >= TOO_LARGE {
            exponent += 1;
        } else {
            let up = rest > half || (rest == half && digits & 1 == 1);
            let rounded = digits + u64::from(up);
            return if rounded == TOO_LARGE { (SMALLEST, exponent + 1) } else { (rounded, exponent) };
        }
    }
}

/// A whole number below 1e17, after the sign.
fn write_whole(whole: u64, text: &mut NumberText, sign: usize) -> usize {
    if whole < 100_000_000 {
        let digits = eight_digits(whole as u32);
        // Leading zeros are the low bytes; the last digit stays even when it is 0.
        let skipped = (digits.trailing_zeros() / 8).min(7);
        let shown = (digits | ASCII_ZEROS) >> (8 * skipped);
        text[sign..sign + 8].copy_from_slice(&shown.to_le_bytes());
        return sign + 8 - skipped as usize;
    }
    let digits = digit_bytes(whole);
    let skipped = digits.iter().take_while(|&&digit| digit == b'0').count();
    let shown = &digits[skipped..];
    text[sign..sign + shown.len()].copy_from_slice(shown);
    sign + shown.len()
}

/// Puts 17 digits, the first of which is not 0, into the form that `%.17g` has for their exponent.
fn lay_out(digits: &[u8; 17], exponent: i32, text: &mut NumberText, sign: usize) -> usize {
    let mut significant = 17;
    while significant > 1 && digits[significant - 1] == b'0' {
        significant -= 1;
    }
    if (0..DIGITS).contains(&exponent) {
        let before_point = exponent as usize + 1;
        text[sign..sign + 17].copy_from_slice(digits);
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
        text[start..start + 17].copy_from_slice(digits);
        start + significant
    } else {
        text[sign] = digits[0];
        text[sign + 1] = b'.';
        text[sign + 2..sign + 18].copy_from_slice(&digits[1..]);
        let mut end = if significant == 1 { sign + 1 } else { sign + significant + 1 };
        text[end] = b'e';
        text[end + 1] = if exponent < 0 { b'-' } else { b'+' };
        end += 2;
        let mut rest = exponent.unsigned_abs();
        if rest >= 100 {
            text[end] = b'0' + (rest / 100) as u8;
            rest %= 100;
            end += 1;
        }
        text[end] = b'0' + (rest / 10) as u8;
        text[end + 1] = b'0' + (rest % 10) as u8;
        end + 2
    }
}

/// The rare rest, tiny or huge: Rust's formatting is correctly rounded, only its form is another.
#[cold]
fn write_extreme(magnitude: f64, text: &mut NumberText, sign: usize) -> usize {
    let mut written = [0u8; 32];
    let mut room = &mut written[..];
    // `d.dddddddddddddddde-ddd` has at most 23 bytes.
    let fits = write!(room, "{magnitude:.16e}").is_ok();
    let unused = room.len();
    let written = &written[..32 - unused];
    let exponent = written
        .get(19..)
        .and_then(|exponent| std::str::from_utf8(exponent).ok())
        .and_then(|exponent| exponent.parse().ok());
    match exponent {
        Some(exponent) if fits => {
            let mut digits = [b'0'; 17];
            digits[0] = written[0];
            digits[1..].copy_from_slice(&written[2..18]);
            lay_out(&digits, exponent, text, sign)
        }
        // Only what is not finite has no exponent.
        _ => {
            text[0] = b' ';
            1
        }
    }
}

const ASCII_ZEROS: u64 = 0x3030_3030_3030_3030;

/// The 17 digits of a number below 1e17, with leading zeros.
fn digit_bytes(number: u64) -> [u8; 17] {
    let upper = number / 100_000_000;
    let mut bytes = [0; 17];
    bytes[0] = b'0' + (upper / 100_000_000) as u8;
    bytes[1..9].copy_from_slice(&(eight_digits((upper % 100_000_000) as u32) | ASCII_ZEROS).to_le_bytes());
    bytes[9..].copy_from_slice(&(eight_digits((number % 100_000_000) as u32) | ASCII_ZEROS).to_le_bytes());
    bytes
}

/// The eight digits of a number below 1e8, one a byte, the first in the lowest byte: all lanes are divided at once.
fn eight_digits(number: u32) -> u64 {
    let number = u64::from(number);
    let fours = (number / 10_000) | ((number % 10_000) << 32);
    // 10486 / 2^20 is 1/100 for numbers below 10,000, and 103 / 2^10 is 1/10 for numbers below 100.
    let hundreds = ((fours * 10_486) >> 20) & 0x7f_0000_007f;
    let twos = hundreds | ((fours - 100 * hundreds) << 16);
    let tens = ((twos * 103) >> 10) & 0x000f_000f_000f_000f;
    tens | ((twos - 10 * tens) << 8)
}

/// 5^0 to 5^32; times a mantissa of 53 bits, the last still fits 128 bits.
const POWERS_OF_FIVE: [u128; 33] = {
    let mut powers = [1; 33];
    let mut at = 1;
    while at < 33 {
        powers[at] = powers[at - 1] * 5;
        at += 1;
    }
    powers
};

/// 1e-15 to 1e17, each as the nearest double.
const POWERS_OF_TEN: [f64; 33] = [
    1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1,
    1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17,
];
