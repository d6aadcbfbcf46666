//! The messages between a consumer and an agent, as bodies of HTTP requests and responses.
//!
//! | request | body | response |
//! | --- | --- | --- |
//! | `GET /agent/v1` | | [`Greeting`] |
//! | `GET /agent/v1/sets` | | [`Sets`] |
//! | `POST /agent/v1/instances` | the set's GUID, 16 bytes | [`InstanceReply`] |
//! | `POST /agent/v1/queries` | [`encode_selections`] | [`OpenReply`] |
//! | `POST /agent/v1/queries/ID/collect` | [`CollectRequest`] | [`CollectReply`] |
//! | `DELETE /agent/v1/queries/ID` | | empty |
//!
//! `docs/remote.md` describes each field. Encoding does not fail; decoding checks every number.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_perflib::registration::{CounterSetInfo, encode_description};
use tachograph_perflib::{ErrorCode, InstanceFilter, SetSelection};

use crate::descriptions;
use crate::frame::Attributes;
use crate::limits::{
    MAX_COUNTERS, MAX_FILTERS, MAX_FILTERS_PER_SELECTION, MAX_FRAME_BYTES, MAX_SELECTIONS, MAX_SETS, VERSION,
};
use crate::wire::{MessageError, Reader, push_i64, push_text, push_u32, push_u64};

/// The encoded id of a filter without an instance id.
const ANY_ID: u32 = u32::MAX;

/// The identity and the times of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Greeting {
    /// Different each time the agent starts.
    pub agent_id: u64,
    /// Changes when a counter set appears or disappears.
    pub generation: u64,
    /// When the machine booted, in UTC.
    pub boot_time: FileTime,
    /// The machine's clock, in UTC.
    pub wall: FileTime,
    /// The name of the machine.
    pub machine: String,
    /// The agent's program with its version.
    pub software: String,
}

impl Greeting {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_u32(&mut out, VERSION);
        push_u64(&mut out, self.agent_id);
        push_u64(&mut out, self.generation);
        push_i64(&mut out, self.boot_time.0);
        push_i64(&mut out, self.wall.0);
        push_text(&mut out, &self.machine);
        push_text(&mut out, &self.software);
        out
    }

    /// Decodes the message.
    ///
    /// # Errors
    ///
    /// The first invalid field.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        if reader.u32()? != VERSION {
            return Err(reader.invalid(4, format!("version {VERSION}")));
        }
        let greeting = Self {
            agent_id: reader.u64()?,
            generation: reader.u64()?,
            boot_time: FileTime(reader.time()?),
            wall: FileTime(reader.time()?),
            machine: reader.text()?.to_owned(),
            software: reader.text()?.to_owned(),
        };
        reader.end()?;
        Ok(greeting)
    }
}

/// A counter set of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListedSet {
    /// The description.
    pub info: Arc<CounterSetInfo>,
    /// Whether an application publishes the set.
    pub is_published: bool,
}

/// The counter sets of an agent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sets {
    /// See [`Greeting::agent_id`].
    pub agent_id: u64,
    /// See [`Greeting::generation`].
    pub generation: u64,
    /// The sets, in the order of registration.
    pub sets: Vec<ListedSet>,
}

/// The flags of a set in the message.
const PER_PROCESS: u32 = 1;
const PUBLISHED: u32 = 2;

impl Sets {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_u64(&mut out, self.agent_id);
        push_u64(&mut out, self.generation);
        push_u32(&mut out, self.sets.len().min(MAX_SETS) as u32);
        for set in self.sets.iter().take(MAX_SETS) {
            let per_process = if set.info.is_per_process { PER_PROCESS } else { 0 };
            let published = if set.is_published { PUBLISHED } else { 0 };
            let description = encode_description(&set.info);
            push_u32(&mut out, per_process | published);
            push_u32(&mut out, description.len() as u32);
            out.extend_from_slice(&description);
        }
        out
    }

    /// Decodes the message. A set with an invalid description is skipped, and a message is added to `problems`.
    ///
    /// # Errors
    ///
    /// The first invalid field outside the descriptions.
    pub fn decode(bytes: &[u8], problems: &mut Vec<String>) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let mut sets = Self { agent_id: reader.u64()?, generation: reader.u64()?, ..Self::default() };
        for _ in 0..reader.count(MAX_SETS, 8)? {
            let flags = reader.u32()?;
            let length = reader.u32()? as usize;
            match descriptions::decode(reader.bytes(length)?, flags & PER_PROCESS != 0) {
                Ok(info) => sets.sets.push(ListedSet { info, is_published: flags & PUBLISHED != 0 }),
                Err(problem) => problems.push(format!("a counter set of the agent: {problem}")),
            }
        }
        reader.end()?;
        Ok(sets)
    }
}

/// Encodes the selections of a query.
pub fn encode_selections<'a>(selections: impl ExactSizeIterator<Item = &'a SetSelection>) -> Vec<u8> {
    let mut out = Vec::new();
    push_u32(&mut out, selections.len() as u32);
    for selection in selections {
        out.extend_from_slice(&selection.set.to_bytes());
        push_u32(&mut out, selection.counter_ids.len() as u32);
        selection.counter_ids.iter().for_each(|&id| push_u32(&mut out, id));
        push_u32(&mut out, selection.instances.len() as u32);
        for filter in &selection.instances {
            push_u32(&mut out, u32::from(filter.has_index()));
            push_u32(&mut out, filter.id().unwrap_or(ANY_ID));
            push_text(&mut out, filter.pattern());
        }
    }
    out
}

/// Decodes the selections of a query.
///
/// # Errors
///
/// The first invalid field; more than [`MAX_SELECTIONS`] selections, [`MAX_COUNTERS`] counters, [`MAX_FILTERS`] filters, or
/// [`MAX_FILTERS_PER_SELECTION`] filters of a selection. A repeated filter is dropped.
pub fn decode_selections(bytes: &[u8]) -> Result<Vec<SetSelection>, MessageError> {
    let mut reader = Reader::new(bytes);
    let mut selections = Vec::new();
    let (mut counters_left, mut filters_left) = (MAX_COUNTERS, MAX_FILTERS);
    for _ in 0..reader.count(MAX_SELECTIONS, 24)? {
        let set = reader.guid()?;
        let count = reader.count(counters_left, 4)?;
        counters_left -= count;
        let counter_ids = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
        let count = reader.count(filters_left.min(MAX_FILTERS_PER_SELECTION), 12)?;
        filters_left -= count;
        let mut instances: Vec<InstanceFilter> = Vec::new();
        for _ in 0..count {
            let filter = read_filter(&mut reader)?;
            if !instances.contains(&filter) {
                instances.push(filter);
            }
        }
        selections.push(SetSelection { set, counter_ids, instances });
    }
    reader.end()?;
    Ok(selections)
}

fn read_filter(reader: &mut Reader<'_>) -> Result<InstanceFilter, MessageError> {
    let has_index = match reader.u32()? {
        0 => false,
        1 => true,
        _ => return Err(reader.invalid(4, "0 or 1")),
    };
    let id = Some(reader.u32()?).filter(|&id| id != ANY_ID);
    let pattern = reader.text()?;
    match (has_index, id) {
        (true, None) => Ok(InstanceFilter::from_path(pattern)),
        (true, Some(_)) => Err(reader.invalid(pattern.len(), "no id for a name with an index")),
        (false, id) => Ok(InstanceFilter::new(pattern, id)),
    }
}

/// The reply to [`encode_selections`]: the query, and a status for each selection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenReply {
    /// See [`Greeting::agent_id`].
    pub agent_id: u64,
    /// See [`Greeting::generation`].
    pub generation: u64,
    /// The query's id.
    pub query: u64,
    /// 0 or an [`ErrorCode`] for each selection. Blocks have a result only for selections with status 0.
    pub statuses: Vec<u32>,
}

impl OpenReply {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        push_u64(&mut out, self.agent_id);
        push_u64(&mut out, self.generation);
        push_u64(&mut out, self.query);
        push_u32(&mut out, self.statuses.len() as u32);
        self.statuses.iter().for_each(|&status| push_u32(&mut out, status));
        out
    }

    /// Decodes the reply to a request with this number of selections.
    ///
    /// # Errors
    ///
    /// The first invalid field.
    pub fn decode(bytes: &[u8], selections: usize) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let (agent_id, generation, query) = (reader.u64()?, reader.u64()?, reader.u64()?);
        let count = reader.count(MAX_SELECTIONS, 4)?;
        if count != selections {
            return Err(reader.invalid(4, format!("{selections} statuses")));
        }
        let statuses = (0..count).map(|_| reader.u32()).collect::<Result<_, _>>()?;
        reader.end()?;
        Ok(Self { agent_id, generation, query, statuses })
    }
}

/// A request for a collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectRequest {
    /// The number of the collection, above 0. If a request is repeated with the same number, the reply has the frame that was
    /// already collected.
    pub number: u64,
    /// The number of the collection whose frame the consumer has; 0 if it has none.
    pub held: u64,
}

impl CollectRequest {
    /// Encodes the message.
    pub fn encode(&self) -> [u8; 16] {
        let mut out = [0; 16];
        out[..8].copy_from_slice(&self.number.to_le_bytes());
        out[8..].copy_from_slice(&self.held.to_le_bytes());
        out
    }

    /// Decodes the message.
    ///
    /// # Errors
    ///
    /// The first invalid field.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let request = Self { number: reader.u64()?, held: reader.u64()? };
        reader.end()?;
        if request.number == 0 || request.number == request.held {
            return Err(MessageError::new(0, "a number above 0 that differs from that of the known frame"));
        }
        Ok(request)
    }
}

/// The reply to a [`CollectRequest`]: a frame, as differences from an earlier one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CollectReply<'a> {
    /// See [`Greeting::agent_id`].
    pub agent_id: u64,
    /// See [`Greeting::generation`].
    pub generation: u64,
    /// The number of the collection.
    pub number: u64,
    /// The number of the collection whose frame is the base; 0 if there is no base.
    pub base: u64,
    /// Size of the frame.
    pub frame_bytes: usize,
    /// See [`difference`](crate::difference).
    pub differences: &'a [u8],
}

impl<'a> CollectReply<'a> {
    /// Encodes everything except the differences, which the caller appends.
    pub fn encode_head(&self, out: &mut Vec<u8>) {
        push_u64(out, self.agent_id);
        push_u64(out, self.generation);
        push_u64(out, self.number);
        push_u64(out, self.base);
        push_u64(out, self.frame_bytes as u64);
    }

    /// Decodes the reply.
    ///
    /// # Errors
    ///
    /// The first invalid field.
    pub fn decode(bytes: &'a [u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let (agent_id, generation, number, base) =
            (reader.u64()?, reader.u64()?, reader.u64()?, reader.u64()?);
        let frame_bytes = usize::try_from(reader.u64()?).ok().filter(|&bytes| bytes <= MAX_FRAME_BYTES);
        let frame_bytes = frame_bytes
            .ok_or_else(|| reader.invalid(8, format!("a frame of at most {MAX_FRAME_BYTES} bytes")))?;
        let differences = &bytes[reader.offset()..];
        Ok(Self { agent_id, generation, number, base, frame_bytes, differences })
    }
}

/// The current instances of a counter set, or why they cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstanceReply {
    /// The machine's clocks: ticks, system time and wall clock.
    pub times: [i64; 3],
    /// The instances as encoded by `PerfEnumerateCounterSetInstances`, with the attributes of each.
    pub outcome: Result<(Vec<u8>, Vec<Attributes>), (ErrorCode, String)>,
}

impl InstanceReply {
    /// Encodes the message.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.times.iter().for_each(|&time| push_i64(&mut out, time));
        match &self.outcome {
            Ok((list, attributes)) => {
                push_u32(&mut out, 0);
                push_u32(&mut out, list.len() as u32);
                out.extend_from_slice(list);
                attributes.iter().for_each(|attributes| attributes.push(&mut out));
            }
            Err((code, reason)) => {
                push_u32(&mut out, code.0);
                push_text(&mut out, reason);
            }
        }
        out
    }

    /// Decodes the message. The list of instances is not checked.
    ///
    /// # Errors
    ///
    /// The first invalid field.
    pub fn decode(bytes: &[u8]) -> Result<Self, MessageError> {
        let mut reader = Reader::new(bytes);
        let times = [reader.time()?, reader.time()?, reader.time()?];
        let code = reader.u32()?;
        if code != 0 {
            let reason = reader.text()?.to_owned();
            reader.end()?;
            return Ok(Self { times, outcome: Err((ErrorCode(code), reason)) });
        }
        let length = reader.u32()? as usize;
        let list = reader.bytes(length)?.to_vec();
        let mut attributes = Vec::new();
        while !reader.is_at_end() {
            attributes.push(Attributes::read(&mut reader)?);
        }
        Ok(Self { times, outcome: Ok((list, attributes)) })
    }
}
