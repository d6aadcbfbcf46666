//! Encodes registration data.

use zerocopy::IntoBytes;
use zerocopy::little_endian::U32;

use super::{NO_COMPANION, NO_STRING, Request};
use crate::ErrorCode;
use crate::block::raw::{
    CounterRegistration, CounterSetRegistration, StringBuffer, StringHeader, round_up_8,
};
use crate::block::text::push_text;
use crate::registration::{CounterInfo, CounterSetInfo};

/// Maximum size of registration data: 128 MiB.
///
/// Source: the limit in \[MS-PCQ\].
pub const MAX_REGISTRATION_BYTES: usize = 128 << 20;

/// The primary language id of English.
const ENGLISH: u32 = 9;

/// Encodes the requested data into `out`, which is cleared first and is empty after an error.
///
/// # Errors
///
/// [`ErrorCode::ITEM_ID_NOT_FOUND`] for an unknown counter, [`ErrorCode::RESOURCE_LANG_NOT_FOUND`] for a language other
/// than the default and English, [`ErrorCode::OUT_OF_MEMORY`] if the data would exceed [`MAX_REGISTRATION_BYTES`].
///
/// ```
/// use tachograph_counters::CounterType;
/// # use tachograph_perflib::{ErrorCode, Guid};
/// # use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
/// use tachograph_perflib::registration::{Request, decode_strings, encode};
/// # let mut info = CounterSetInfo::new("Memory", Guid::from_u128(1), InstanceType::Single);
/// # info.counters = vec![CounterInfo::new(1, "Available Bytes", CounterType::LARGE_RAWCOUNT)];
///
/// let mut bytes = Vec::new();
/// encode(&info, Request::EnglishCounterNames, &mut bytes)?;
/// let names = decode_strings(&bytes)?;
/// assert!(names.get(1).is_some_and(|name| name == "Available Bytes"));
/// assert_eq!(encode(&info, Request::Counter(9), &mut bytes), Err(ErrorCode::ITEM_ID_NOT_FOUND));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn encode(info: &CounterSetInfo, request: Request, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
    out.clear();
    if request.language().is_some_and(|language| language != 0 && language & 0x3FF != ENGLISH) {
        return Err(ErrorCode::RESOURCE_LANG_NOT_FOUND);
    }
    let text = |out: &mut Vec<u8>, text: &str| {
        push_text(out, text, MAX_REGISTRATION_BYTES / 2);
        Ok(())
    };
    let written = match request {
        Request::CounterSet => push_set(info, out),
        Request::Counter(id) => {
            let counter = info.counters.iter().find(|counter| counter.id == id);
            let counter = counter.ok_or(ErrorCode::ITEM_ID_NOT_FOUND)?;
            out.extend_from_slice(registration(counter).as_bytes());
            Ok(())
        }
        Request::CounterSetName(_) | Request::EnglishCounterSetName => text(out, &info.name),
        Request::CounterSetHelp(_) => text(out, &info.help),
        Request::CounterNames(_) | Request::EnglishCounterNames => {
            push_strings(info.counters.iter().map(|counter| (counter.id, &*counter.name)), out)
        }
        Request::CounterHelps(_) => {
            push_strings(info.counters.iter().map(|counter| (counter.id, &*counter.help)), out)
        }
        Request::ProviderName => text(out, &info.provider_name),
        Request::ProviderGuid => {
            out.extend_from_slice(&info.provider_guid.to_bytes());
            Ok(())
        }
    };
    let outcome = written.and_then(|()| check_size(out.len()));
    if outcome.is_err() {
        out.clear();
    }
    outcome
}

fn push_set(info: &CounterSetInfo, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
    let header = CounterSetRegistration {
        set: info.guid.to_bytes(),
        set_type: U32::ZERO,
        detail_level: info.detail_level.into(),
        counter_count: to_u32(info.counters.len())?,
        instance_type: (info.instance_type as u32).into(),
    };
    out.extend_from_slice(header.as_bytes());
    for counter in &info.counters {
        out.extend_from_slice(registration(counter).as_bytes());
        check_size(out.len())?;
    }
    Ok(())
}

fn registration(counter: &CounterInfo) -> CounterRegistration {
    CounterRegistration {
        id: counter.id.into(),
        counter_type: counter.counter_type.0.into(),
        attributes: counter.attributes.0.into(),
        detail_level: counter.detail_level.into(),
        default_scale: counter.default_scale.into(),
        companions: counter.companion_ids().map(|id| id.unwrap_or(NO_COMPANION).into()),
        aggregate: (counter.aggregate as u32).into(),
        reserved: U32::ZERO,
    }
}

/// Writes a string block. Offsets are relative to the start of the block; empty texts are omitted.
fn push_strings<'a>(
    texts: impl ExactSizeIterator<Item = (u32, &'a str)>,
    out: &mut Vec<u8>,
) -> Result<(), ErrorCode> {
    let (block_header_bytes, header_bytes) = (size_of::<StringBuffer>(), size_of::<StringHeader>());
    let counter_count = to_u32(texts.len())?;
    let strings = block_header_bytes + texts.len() * header_bytes;
    check_size(strings)?;
    out.resize(strings, 0);
    for (index, (id, text)) in texts.enumerate() {
        let mut offset = NO_STRING.into();
        if !text.is_empty() {
            offset = to_u32(out.len())?;
            push_text(out, text, MAX_REGISTRATION_BYTES / 2);
            check_size(out.len())?;
        }
        let header = StringHeader { counter_id: id.into(), offset };
        let at = block_header_bytes + index * header_bytes;
        out[at..at + header_bytes].copy_from_slice(header.as_bytes());
    }
    out.resize(round_up_8(out.len()), 0);
    let header = StringBuffer { bytes: to_u32(out.len())?, counter_count };
    out[..block_header_bytes].copy_from_slice(header.as_bytes());
    Ok(())
}

fn check_size(bytes: usize) -> Result<(), ErrorCode> {
    if bytes > MAX_REGISTRATION_BYTES { Err(ErrorCode::OUT_OF_MEMORY) } else { Ok(()) }
}

/// Converts a size or count to a 32-bit field of registration data.
fn to_u32(number: usize) -> Result<U32, ErrorCode> {
    u32::try_from(number).map(U32::new).map_err(|_| ErrorCode::OUT_OF_MEMORY)
}
