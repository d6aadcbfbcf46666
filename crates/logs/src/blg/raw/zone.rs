//! The time zone of a log (TIME_ZONE_INFORMATION).

use tachograph_counters::time_zone::{TimeZone, TransitionDate};
use zerocopy::little_endian::{I32, U16};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A time zone with its daylight saving rule, 0xAC bytes.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Default, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned,
)]
#[repr(C)]
#[doc(alias = "TIME_ZONE_INFORMATION")]
pub struct TimeZoneInformation {
    /// Minutes to add to local time to get UTC.
    pub bias: I32,
    /// Name of standard time, UTF-16, NUL-terminated.
    pub standard_name: [U16; 32],
    /// Start of standard time: year, month, day of week, day, hour, minute, second, millisecond.
    pub standard_date: [U16; 8],
    /// Minutes added to the bias in standard time.
    pub standard_bias: I32,
    /// Name of daylight saving time.
    pub daylight_name: [U16; 32],
    /// Start of daylight saving time.
    pub daylight_date: [U16; 8],
    /// Minutes added to the bias in daylight saving time.
    pub daylight_bias: I32,
}

const _: () = assert!(size_of::<TimeZoneInformation>() == 0xAC);

impl TimeZoneInformation {
    /// Converts to a [`TimeZone`].
    pub fn to_zone(&self) -> TimeZone {
        TimeZone {
            bias_minutes: self.bias.get(),
            standard_name: name(&self.standard_name),
            standard_date: date(&self.standard_date),
            standard_bias_minutes: self.standard_bias.get(),
            daylight_name: name(&self.daylight_name),
            daylight_date: date(&self.daylight_date),
            daylight_bias_minutes: self.daylight_bias.get(),
        }
    }

    /// Converts from a [`TimeZone`]; names longer than 31 UTF-16 units are truncated.
    pub fn from_zone(zone: &TimeZone) -> Self {
        Self {
            bias: I32::new(zone.bias_minutes),
            standard_name: utf16_name(&zone.standard_name),
            standard_date: zone.standard_date.to_fields().map(U16::new),
            standard_bias: I32::new(zone.standard_bias_minutes),
            daylight_name: utf16_name(&zone.daylight_name),
            daylight_date: zone.daylight_date.to_fields().map(U16::new),
            daylight_bias: I32::new(zone.daylight_bias_minutes),
        }
    }
}

fn name(units: &[U16; 32]) -> String {
    let units = units.iter().map(|unit| unit.get()).take_while(|&unit| unit != 0);
    char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect()
}

fn date(fields: &[U16; 8]) -> TransitionDate {
    fields.map(|field| field.get()).into()
}

fn utf16_name(name: &str) -> [U16; 32] {
    let mut units = [U16::ZERO; 32];
    for (unit, from) in units[..31].iter_mut().zip(name.encode_utf16()) {
        *unit = U16::new(from);
    }
    units
}
