//! Parquet's hybrid of run-length encoding and bit packing, for dictionary indexes and definition levels.

use super::super::Damage;
use super::super::varint::{self, Cursor};

/// The number of bits of an index into a dictionary with this many values.
pub(super) fn bits_for(values: usize) -> u32 {
    usize::BITS - values.saturating_sub(1).leading_zeros()
}

/// Encodes runs of equal numbers. Runs of fewer than 8 are bit-packed together with their neighbours.
pub(super) fn encode(out: &mut Vec<u8>, bits: u32, runs: impl Iterator<Item = (u32, usize)>) {
    let mut packed: Vec<u32> = Vec::new();
    for (number, mut len) in runs {
        if len < 8 {
            (0..len).for_each(|_| packed.push(number));
            continue;
        }
        // Packed numbers form groups of 8; the last group is filled up from this run.
        let missing = packed.len().next_multiple_of(8) - packed.len();
        let taken = if len >= missing + 8 { missing } else { len };
        packed.extend(std::iter::repeat_n(number, taken));
        len -= taken;
        if len > 0 {
            flush(out, bits, &mut packed);
            varint::push(out, (len as u64) << 1);
            out.extend_from_slice(&number.to_le_bytes()[..bits.div_ceil(8) as usize]);
        }
    }
    flush(out, bits, &mut packed);
}

fn flush(out: &mut Vec<u8>, bits: u32, packed: &mut Vec<u32>) {
    if packed.is_empty() {
        return;
    }
    packed.resize(packed.len().next_multiple_of(8), 0);
    varint::push(out, (packed.len() as u64 / 8) << 1 | 1);
    match bits {
        8 => out.extend(packed.iter().map(|&number| number as u8)),
        16 => packed.iter().for_each(|&number| out.extend_from_slice(&(number as u16).to_le_bytes())),
        _ => pack(out, bits, packed),
    }
    packed.clear();
}

/// Packs numbers of any size.
fn pack(out: &mut Vec<u8>, bits: u32, numbers: &[u32]) {
    let (mut word, mut filled) = (0u64, 0);
    for &number in numbers {
        word |= u64::from(number) << filled;
        filled += bits;
        while filled >= 8 {
            out.push(word as u8);
            word >>= 8;
            filled -= 8;
        }
    }
}

/// Decodes `count` numbers. Calls `each` with a number and how often it repeats.
pub(super) fn decode(
    cursor: &mut Cursor<'_>,
    bits: u32,
    count: usize,
    mut each: impl FnMut(u32, usize) -> Result<(), Damage>,
) -> Result<(), Damage> {
    if bits > 32 {
        return Err(Damage("a number has more than 32 bits"));
    }
    let mut left = count;
    while left > 0 {
        let header = cursor.number()?;
        if header & 1 == 0 {
            let len = usize::try_from(header >> 1).unwrap_or(usize::MAX);
            if len == 0 || len > left {
                return Err(Damage("a run has the wrong length"));
            }
            let mut number = [0; 4];
            let bytes = bits.div_ceil(8) as usize;
            number[..bytes].copy_from_slice(cursor.take(bytes)?);
            each(u32::from_le_bytes(number), len)?;
            left -= len;
            continue;
        }
        let groups = usize::try_from(header >> 1).unwrap_or(usize::MAX);
        // The last group can have padding.
        if groups == 0 || groups > left.div_ceil(8) {
            return Err(Damage("packed numbers have the wrong length"));
        }
        let bytes = cursor.take(groups * bits as usize)?;
        let numbers = left.min(groups * 8);
        left -= numbers;
        match bits {
            8 => bytes[..numbers].iter().try_for_each(|&byte| each(u32::from(byte), 1))?,
            16 => {
                let pairs = bytes.as_chunks::<2>().0[..numbers].iter();
                pairs
                    .map(|&pair| u16::from_le_bytes(pair))
                    .try_for_each(|number| each(u32::from(number), 1))?;
            }
            _ => unpack(bytes, bits, numbers, &mut each)?,
        }
    }
    Ok(())
}

/// Decodes packed numbers of any size.
fn unpack(
    bytes: &[u8],
    bits: u32,
    numbers: usize,
    each: &mut impl FnMut(u32, usize) -> Result<(), Damage>,
) -> Result<(), Damage> {
    let (mut word, mut filled) = (0u64, 0);
    let mut bytes = bytes.iter();
    let mask = (1u64 << bits) - 1;
    for _ in 0..numbers {
        while filled < bits {
            word |= u64::from(bytes.next().copied().unwrap_or_default()) << filled;
            filled += 8;
        }
        each((word & mask) as u32, 1)?;
        word >>= bits;
        filled -= bits;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn runs_are_read_back(runs in prop::collection::vec((0..300u32, 1..40usize), 0..60)) {
            let bits = bits_for(300);
            prop_assert_eq!(bits, 9);
            let mut bytes = Vec::new();
            encode(&mut bytes, bits, runs.iter().copied());
            let numbers = |runs: &[(u32, usize)]| -> Vec<u32> {
                runs.iter().flat_map(|&(number, len)| std::iter::repeat_n(number, len)).collect()
            };
            let expected = numbers(&runs);
            let mut found = Vec::new();
            let mut cursor = Cursor::new(&bytes);
            decode(&mut cursor, bits, expected.len(), |number, len| { found.push((number, len)); Ok(()) }).unwrap();
            prop_assert_eq!(numbers(&found), expected);
            prop_assert_eq!(cursor.len(), 0);
        }

        #[test]
        fn arbitrary_bytes_cause_no_panic(bytes in prop::collection::vec(any::<u8>(), 0..60), bits in 0..40u32) {
            let mut sum = 0;
            let _ = decode(&mut Cursor::new(&bytes), bits, 1000, |_, len| { sum += len; Ok(()) });
            prop_assert!(sum <= 1000);
        }
    }

    #[test]
    fn a_dictionary_of_one_value_needs_no_bits() {
        assert_eq!([0, 1, 2, 3, 256, 257].map(bits_for), [0, 0, 1, 2, 8, 9]);
    }
}
