//! Decodes a set's registration.

use tachograph_schema::{
    Aggregate, Attributes, CompanionFault, CounterInfo, CounterSetInfo, CounterType, Guid, InstanceType,
    SCALES, check_companions, is_detail_level,
};
use zerocopy::FromBytes;

use super::NO_COMPANION;
use crate::block::raw::{CounterRegistration, CounterSetRegistration};
use crate::block::section::Section;
use crate::block::unique::first_duplicate;
use crate::block::{BlockError, Expected, Found, MAX_COUNTERS, Rule, WILDCARD_ID};

/// A counter set decoded from registration data. Its texts are empty: consumers request texts separately.
pub type RegisteredSet = CounterSetInfo;

/// A counter decoded from registration data. Its texts are empty. An unknown aggregate is replaced by the default.
pub type RegisteredCounter = CounterInfo;

/// Checks that a decoded set has the GUID that was requested.
///
/// # Errors
///
/// [`Rule::OtherSet`] if the GUIDs differ.
pub fn expect_guid(set: &CounterSetInfo, guid: Guid) -> Result<(), BlockError> {
    if set.guid == guid {
        return Ok(());
    }
    let (found, expected) = (Found::Guid(set.guid), Expected::Guid(guid));
    Err(BlockError { rule: Rule::OtherSet, offset: 0, found, expected })
}

const HEADER_BYTES: usize = size_of::<CounterSetRegistration>();
const COUNTER_BYTES: usize = size_of::<CounterRegistration>();

/// Decodes a set with its counters. Checks that each companion (base, time, frequency or multiplier of a counter)
/// exists, has the required type, and differs from the counter that it belongs to.
///
/// # Errors
///
/// The first violated rule for registrations ([`Rule`], `R1` to `R12`), which concern the length, the instance
/// type, detail levels, counter ids, default scales and companions; the code is
/// [`ErrorCode::INVALID_REGISTRATION`](crate::ErrorCode::INVALID_REGISTRATION).
pub fn decode_set(bytes: &[u8]) -> Result<RegisteredSet, BlockError> {
    let all = Section::all(bytes);
    let header: &CounterSetRegistration = all.peek(Rule::RegistrationTooShort)?;
    let violation =
        |rule, offset, found: u32, expected| Err(BlockError::number(rule, offset, found, expected));

    let number = header.counter_count.get();
    if number == 0 || usize::try_from(number).map_or(true, |number| number > MAX_COUNTERS) {
        return violation(Rule::CounterCount, 24, number, Expected::Between(1, MAX_COUNTERS as i64));
    }
    let expected = HEADER_BYTES + COUNTER_BYTES * number as usize;
    let Ok(counters) = <[CounterRegistration]>::ref_from_bytes_with_elems(
        all.skip_bytes(HEADER_BYTES).bytes,
        number as usize,
    ) else {
        let expected = Expected::Exactly(crate::block::count(expected));
        return Err(BlockError::count(Rule::RegistrationLength, 0, bytes.len(), expected));
    };
    let Some(instance_type) = InstanceType::from_number(header.instance_type.get()) else {
        let expected = Expected::Words("0, 2, 4, 6, 12 or 22");
        return violation(Rule::InstanceType, 28, header.instance_type.get(), expected);
    };
    let detail_level = header.detail_level.get();
    if !is_detail_level(detail_level) {
        return violation(Rule::DetailLevel, 20, detail_level, Expected::Words("100 or 200"));
    }
    let at = |index: usize| HEADER_BYTES + index * COUNTER_BYTES;
    if let Some(index) = first_duplicate(counters.iter().map(|counter| counter.id.get())) {
        let expected = Expected::Words("an id that is not a duplicate");
        return violation(Rule::DuplicateCounterId, at(index), counters[index].id.get(), expected);
    }
    let id_and_type =
        |counter: &CounterRegistration| (counter.id.get(), CounterType(counter.counter_type.get()));
    let mut types: Vec<_> = counters.iter().map(id_and_type).collect();
    types.sort_unstable();
    let mut info = CounterSetInfo::new("", Guid::from_bytes(header.set), instance_type);
    info.detail_level = detail_level;
    info.counters = counters
        .iter()
        .enumerate()
        .map(|(index, counter)| convert_counter(counter, at(index), Some(&types)))
        .collect::<Result<_, _>>()?;
    Ok(info)
}

/// Decodes one counter. The data does not contain the counter's companions, so their types are not checked.
///
/// # Errors
///
/// [`Rule::RegistrationTooShort`] or [`Rule::RegistrationLength`] if the data is not 48 bytes long; otherwise the first
/// violated rule for a counter's id, detail level, default scale or companions. The code is
/// [`ErrorCode::INVALID_REGISTRATION`](crate::ErrorCode::INVALID_REGISTRATION).
pub fn decode_counter(bytes: &[u8]) -> Result<RegisteredCounter, BlockError> {
    let all = Section::all(bytes);
    let counter: &CounterRegistration = all.peek(Rule::RegistrationTooShort)?;
    all.skip_bytes(COUNTER_BYTES).expect_end(Rule::RegistrationLength)?;
    convert_counter(counter, 0, None)
}

/// Checks and converts the counter at `offset`. `types` has the ids and types of the set's counters, sorted by id; if
/// it is `None`, the existence and types of companions are not checked.
fn convert_counter(
    counter: &CounterRegistration,
    offset: usize,
    types: Option<&[(u32, CounterType)]>,
) -> Result<RegisteredCounter, BlockError> {
    let id = counter.id.get();
    let counter_type = CounterType(counter.counter_type.get());
    if id == WILDCARD_ID {
        return Err(BlockError::number(
            Rule::WildcardCounterId,
            offset,
            id,
            Expected::Words("the id of one counter"),
        ));
    }
    let detail_level = counter.detail_level.get();
    if !is_detail_level(detail_level) {
        let expected = Expected::Words("100 or 200");
        return Err(BlockError::number(Rule::DetailLevel, offset + 16, detail_level, expected));
    }
    let default_scale = counter.default_scale.get();
    if !SCALES.contains(&default_scale) {
        let expected = Expected::Between((*SCALES.start()).into(), (*SCALES.end()).into());
        return Err(BlockError::number(Rule::DefaultScale, offset + 20, default_scale, expected));
    }
    let companion_ids = counter.companions.map(|id| Some(id.get()).filter(|&id| id != NO_COMPANION));
    check_companions(id, counter_type, companion_ids, types)
        .map_err(|fault| companion_violation(fault, id, offset))?;
    let mut info = CounterInfo::new(id, "", counter_type);
    info.attributes = Attributes(counter.attributes.get());
    info.detail_level = detail_level;
    info.default_scale = default_scale;
    info.set_companion_ids(companion_ids);
    info.aggregate = Aggregate::from_number(counter.aggregate.get()).unwrap_or_default();
    Ok(info)
}

/// The error for an invalid companion. `offset` is the offset of the counter that it belongs to.
fn companion_violation(fault: CompanionFault, id: u32, offset: usize) -> BlockError {
    let offset = offset + 24 + 4 * fault.role();
    match fault {
        CompanionFault::Missing(_, expected) => {
            let found = Found::Number(NO_COMPANION.into());
            BlockError { rule: Rule::CompanionMissing, offset, found, expected: Expected::Type(expected) }
        }
        CompanionFault::Unknown(_, companion) => BlockError::number(
            Rule::CompanionUnknown,
            offset,
            companion,
            Expected::Words("the id of a counter of the set"),
        ),
        CompanionFault::Itself(_) => {
            BlockError::number(Rule::CompanionIsItself, offset, id, Expected::Words("another counter"))
        }
        CompanionFault::Type { found, expected, .. } => {
            let (found, expected) = (Found::Type(found), Expected::Type(expected));
            BlockError { rule: Rule::CompanionType, offset, found, expected }
        }
    }
}
