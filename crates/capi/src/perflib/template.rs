//! The template of a counter set: `PERF_COUNTERSET_INFO` with its counters.

use std::collections::HashSet;

use tachograph_perflib::manifest::registered;
use tachograph_perflib::registration::{Attributes, CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{ErrorCode, Guid};

use super::ApiError;

/// Size of `PERF_COUNTERSET_INFO` in bytes.
pub(super) const SET_BYTES: usize = 40;

/// Size of each `PERF_COUNTER_INFO` after it, in bytes.
const COUNTER_BYTES: usize = 32;

fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    let number = bytes.get(offset..offset + 4).and_then(|number| number.try_into().ok());
    u32::from_le_bytes(number.unwrap_or_default())
}

fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    u64::from(u32_at(bytes, offset)) | u64::from(u32_at(bytes, offset + 4)) << 32
}

fn read_guid(bytes: &[u8]) -> [u8; 16] {
    bytes.get(..16).and_then(|guid| guid.try_into().ok()).unwrap_or_default()
}

/// The size of a template in bytes, computed from its first [`SET_BYTES`] bytes. `size` is the size that the caller passed.
///
/// # Errors
///
/// The template has no counters or too many, or `size` is too small.
pub(super) fn template_bytes(set: &[u8], size: usize) -> Result<usize, ApiError> {
    let count = u32_at(set, 32) as usize;
    if count == 0 || count > CounterSetInfo::MAX_COUNTERS {
        return Err(ApiError::argument(format!(
            "The template has {count} counters: a set has 1 to {}.",
            CounterSetInfo::MAX_COUNTERS
        )));
    }
    let needed = SET_BYTES + count * COUNTER_BYTES;
    if size < needed {
        return Err(ApiError::argument(format!(
            "TemplateSize is {size}: a template of {count} counters has {needed} bytes."
        )));
    }
    Ok(needed)
}

/// Decodes a template. The companions of a counter (the counters that its formula needs, such as its base) are not in
/// the template. They come from the set's registered manifest; without a manifest, the base of a counter is the next
/// counter of a suitable type.
///
/// # Errors
///
/// If no consumer could display the set; the error says why.
pub(super) fn decode(bytes: &[u8]) -> Result<CounterSetInfo, ApiError> {
    let number = u32_at(bytes, 36);
    let instance_type = match InstanceType::from_number(number) {
        Some(InstanceType::InstanceAggregate) => {
            return Err(ApiError::new(
                ErrorCode::NOT_SUPPORTED,
                "PERF_COUNTERSET_INSTANCE_AGGREGATE is not supported: PERF_COUNTERSET_MULTI_AGGREGATE is.",
            ));
        }
        Some(known) => known,
        None => {
            return Err(ApiError::argument(format!(
                "The instance type {number} is unknown: pass one of PERF_COUNTERSET_*."
            )));
        }
    };
    let mut description = CounterSetInfo::new("", Guid::from_bytes(read_guid(bytes)), instance_type);
    description.counters =
        bytes.get(SET_BYTES..).unwrap_or_default().chunks_exact(COUNTER_BYTES).map(decode_counter).collect();
    let registered = registered();
    match registered.sets.iter().find(|known| known.info.guid == description.guid) {
        Some(known) => copy_companions(&mut description, &known.info),
        None => find_bases(&mut description.counters),
    }
    check_requirements(&description)?;
    Ok(description)
}

fn decode_counter(bytes: &[u8]) -> CounterInfo {
    let mut counter = CounterInfo::new(u32_at(bytes, 0), "", u32_at(bytes, 4));
    counter.attributes = Attributes(u64_at(bytes, 8));
    // PerfLib V2 has two detail levels.
    counter.detail_level = if u32_at(bytes, 20) > 100 { 200 } else { 100 };
    counter.default_scale = u32_at(bytes, 24).cast_signed();
    counter
}

fn copy_companions(description: &mut CounterSetInfo, known: &CounterSetInfo) {
    let ids: HashSet<u32> = description.counters.iter().map(|counter| counter.id).collect();
    for counter in &mut description.counters {
        let Some(known) = known.counters.iter().find(|known| known.id == counter.id) else { continue };
        counter.set_companion_ids(known.companion_ids().map(|id| id.filter(|id| ids.contains(id))));
        counter.aggregate = known.aggregate;
    }
}

/// Sets the base of each counter: the next counter of the required type.
fn find_bases(counters: &mut [CounterInfo]) {
    for index in 0..counters.len() {
        let [required, ..] = counters[index].counter_type.companions();
        let base = required.and_then(|required| {
            counters[index + 1..].iter().find(|base| base.counter_type == required).map(|base| base.id)
        });
        counters[index].base_id = base;
    }
}

/// Checks the requirements of a registration: consumers would ignore a set that violates them.
fn check_requirements(description: &CounterSetInfo) -> Result<(), ApiError> {
    if !description.counters.iter().any(|counter| counter.counter_type.formula().is_some()) {
        return Err(ApiError::argument(
            "The template cannot be displayed: no counter has a type with a displayed value.",
        ));
    }
    // A template has no name, so the GUID serves as one.
    let named = CounterSetInfo { name: description.guid.to_string().into(), ..description.clone() };
    named.check().map_err(|error| ApiError::argument(format!("The template is invalid: {error}.")))
}

#[cfg(test)]
mod tests {
    use tachograph_counters::CounterType;

    use super::*;

    /// A template of counters with these ids and types.
    fn template(instances: u32, counters: &[(u32, CounterType)]) -> Vec<u8> {
        let mut bytes = vec![0x5A; 32];
        let count = u32::try_from(counters.len()).expect("few");
        [count, instances].iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        for (id, counter_type) in counters {
            // Id, type, attributes in two halves, size, detail level, scale, offset.
            for number in [*id, counter_type.0, 0, 0, 0xDEAD_BEEF, 100, (-3_i32).cast_unsigned(), 0xDEAD_BEEF]
            {
                bytes.extend(number.to_le_bytes());
            }
        }
        bytes
    }

    #[test]
    fn a_template_becomes_a_description() {
        let bytes = template(2, &[(1, CounterType::BULK_COUNT), (2, CounterType::RAWCOUNT)]);
        assert_eq!(template_bytes(&bytes, bytes.len()), Ok(104));
        let decoded = decode(&bytes).expect("a description");
        assert_eq!(decoded.instance_type, InstanceType::Multiple);
        assert_eq!(decoded.guid.to_bytes(), [0x5A; 16]);
        let counters: Vec<_> = decoded
            .counters
            .iter()
            .map(|counter| (counter.id, counter.counter_type.0, counter.default_scale))
            .collect();
        assert_eq!(counters, [(1, 0x1041_0500, -3), (2, 0x0001_0000, -3)]);
    }

    #[test]
    fn the_base_of_a_counter_is_the_next_counter_of_the_base_type() {
        let counters = [
            (5, CounterType::AVERAGE_TIMER),
            (6, CounterType::AVERAGE_BULK),
            (7, CounterType::LARGE_RAW_FRACTION),
            (8, CounterType::AVERAGE_BASE),
            (9, CounterType::LARGE_RAW_BASE),
        ];
        let decoded = decode(&template(0, &counters)).expect("a description");
        let bases: Vec<_> = decoded.counters.iter().map(|counter| counter.base_id).collect();
        assert_eq!(bases, [Some(8), Some(8), Some(9), None, None]);
        let error = decode(&template(0, &counters[..3])).expect_err("no base");
        assert_eq!(error.code, ErrorCode::INVALID_PARAMETER);
    }

    #[test]
    fn invalid_templates_are_rejected() {
        let good = template(2, &[(1, CounterType::BULK_COUNT)]);
        for size in 0..good.len() {
            assert!(template_bytes(&good, size).is_err(), "{size}");
        }
        assert!(template_bytes(&template(2, &[]), 40).is_err());
        let mut many = good.clone();
        many[32..36].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(template_bytes(&many, usize::MAX).is_err());
        for (instances, code) in [(1, 87), (3, 87), (22, 50), (u32::MAX, 87)] {
            let error = decode(&template(instances, &[(1, CounterType::BULK_COUNT)])).expect_err("rejected");
            assert_eq!(error.code, ErrorCode(code), "{instances}");
        }
        let twice = [(1, CounterType::BULK_COUNT), (1, CounterType::RAWCOUNT)];
        assert!(decode(&template(2, &twice)).is_err());
        for undisplayed in [CounterType::TEXT, CounterType::AVERAGE_BASE, CounterType(u32::MAX)] {
            let error = decode(&template(2, &[(1, undisplayed)])).expect_err("nothing to display");
            assert_eq!(error.code, ErrorCode::INVALID_PARAMETER, "{undisplayed:?}");
        }
        let wildcard = [(u32::MAX, CounterType::BULK_COUNT)];
        assert!(decode(&template(2, &wildcard)).is_err());
    }

    #[test]
    fn no_flipped_bit_of_a_template_causes_a_panic() {
        let good = template(2, &[(1, CounterType::AVERAGE_BULK), (2, CounterType::AVERAGE_BASE)]);
        for bit in 0..good.len() * 8 {
            let mut bytes = good.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            if template_bytes(&bytes, good.len()).is_ok() {
                // Any result is acceptable: some bits have no effect.
                let _ = decode(&bytes);
            }
        }
    }
}
