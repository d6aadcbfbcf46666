//! 64-bit numbers as two columns of 32 bits.

use super::database::SqlValue;

/// The low and the high 32 bits of a number, each as a signed integer.
pub(super) fn halves(number: i64) -> [SqlValue; 2] {
    [number as i32, (number >> 32) as i32].map(|half| SqlValue::Integer(half.into()))
}

/// The number with these low and high 32 bits. `None` if one of them is missing or does not fit into 32 bits, signed or
/// unsigned.
pub(super) fn join(low: &SqlValue, high: &SqlValue) -> Option<i64> {
    let half = |value: &SqlValue| {
        let value = value.integer()?;
        (i64::from(i32::MIN)..=i64::from(u32::MAX)).contains(&value).then_some(value as u32)
    };
    Some((i64::from(half(high)?) << 32) | i64::from(half(low)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_divided_and_joined() {
        for number in
            [0, 1, -1, i64::MIN, i64::MAX, 1 << 31, 1 << 32, -(1 << 31), 0x8765_4321_9ABC_DEF0_u64 as i64]
        {
            let [low, high] = halves(number);
            assert_eq!(join(&low, &high), Some(number));
        }
        let integer = SqlValue::Integer;
        assert_eq!(join(&integer(0xFFFF_FFFF), &integer(-1)), Some(-1));
        assert_eq!(join(&SqlValue::from("7 \0"), &SqlValue::Real(1.0)), Some((1 << 32) + 7));
        for wrong in
            [integer(1 << 32), integer(-(1 << 31) - 1), SqlValue::Null, SqlValue::Blob, SqlValue::Real(0.5)]
        {
            assert_eq!(join(&wrong, &integer(0)), None);
            assert_eq!(join(&integer(0), &wrong), None);
        }
    }
}
