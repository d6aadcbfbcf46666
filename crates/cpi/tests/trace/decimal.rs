//! Rounding and saturation of numbers with four decimal places.

use proptest::prelude::*;
use tachograph_cpi::trace::Decimal;

#[test]
fn numbers_are_rounded_and_saturated() {
    for (value, integral, fraction) in [
        (None, 0, 0),
        (Some(0.0), 0, 0),
        (Some(-0.0), 0, 0),
        (Some(-1.5), 0, 0),
        (Some(f64::NAN), 0, 0),
        (Some(0.000_049_9), 0, 0),
        (Some(0.000_050_1), 0, 1),
        (Some(0.5), 0, 5000),
        (Some(1.03), 1, 300),
        (Some(1.99994), 1, 9999),
        (Some(1.99996), 2, 0),
        (Some(37.5), 37, 5000),
        (Some(100.0), 100, 0),
        (Some(0.999_95), 1, 0),
        // A tie that is exactly representable in binary is rounded away from zero: 2.03125 is 2 + 1/32.
        (Some(2.03125), 2, 313),
        (Some(4_294_967_295.0), u32::MAX, 0),
        (Some(4_294_967_295.5), u32::MAX, 5000),
        (Some(4_294_967_295.999_96), u32::MAX, 9999),
        (Some(4_294_967_296.0), u32::MAX, 9999),
        (Some(1e18), u32::MAX, 9999),
        (Some(1e300), u32::MAX, 9999),
        (Some(f64::INFINITY), u32::MAX, 9999),
        (Some(f64::NEG_INFINITY), 0, 0),
    ] {
        assert_eq!(Decimal::of(value), Decimal { integral, fraction }, "{value:?}");
    }
}

#[test]
fn decimals_are_formatted() {
    let decimal = Decimal { integral: 1, fraction: 300 };
    assert_eq!(decimal.to_string(), "1.0300");
    assert_eq!(format!("{decimal:>8}|{decimal:<8}|{decimal:6.2}"), "  1.0300|1.0300  |  1.03");
    assert_eq!(Decimal::MAX.to_string(), "4294967295.9999");
}

proptest! {
    /// The nearest double to a decimal converts back to the same decimal.
    #[test]
    fn doubles_round_trip(integral: u32, fraction in 0..10_000u32) {
        let decimal = Decimal { integral, fraction };
        let double = decimal.to_f64();
        prop_assert_eq!(Decimal::of(Some(double)), decimal);
        prop_assert_eq!(double, decimal.to_string().parse::<f64>().expect("a number"));
    }

    /// Ratios of counts are rounded as in integer arithmetic.
    #[test]
    fn ratios_are_rounded_to_the_nearest(cycles in 0..1u64 << 40, instructions in 1..1u64 << 40) {
        let parts = (2 * 10_000 * u128::from(cycles) + u128::from(instructions)) / (2 * u128::from(instructions));
        let decimal = Decimal::of(Some(cycles as f64 / instructions as f64));
        let found = u128::from(decimal.integral) * 10_000 + u128::from(decimal.fraction);
        if parts >= 10_000 << 32 {
            prop_assert_eq!(decimal, Decimal::MAX);
        } else {
            // A double has 53 bits: a ratio that needs them all and is near a tie can be rounded to the other side.
            prop_assert!(found.abs_diff(parts) <= u128::from(parts >= 1 << 30), "{} {}", found, parts);
        }
    }
}
