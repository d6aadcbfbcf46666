//! Registrations: descriptions of counter sets, and the binary format of these descriptions.

use tachograph_counters::set::Counter;

pub use tachograph_schema::{
    Aggregate, Attributes, CounterInfo, CounterSetInfo, InstanceType, RegistrationError, Text,
};

use crate::{ErrorCode, FREQUENCY};

impl From<RegistrationError> for ErrorCode {
    fn from(_: RegistrationError) -> Self {
        Self::INVALID_REGISTRATION
    }
}

/// Converts the registration of a counter to the description that samples and logs use.
pub fn counter_of(info: &CounterInfo) -> Counter {
    let mut counter = Counter::new(&*info.name, info.counter_type, FREQUENCY);
    counter.default_scale = info.default_scale;
    counter.detail_level = info.detail_level;
    if !info.unit.is_empty() && *info.unit != *counter.implied_unit() {
        counter.described_unit = Some((&*info.unit).into());
    }
    counter
}

mod codec;

pub use codec::*;
pub use tachograph_shm::{decode_description, encode_description};
