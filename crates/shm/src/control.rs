//! Requests from consumers to a provider, sent over the socket that belongs to the provider's shared-memory file.
//!
//! A request is a header of 48 bytes and two strings, the names of the instance and of the machine. The answer is a Win32
//! error code of 4 bytes. All numbers are little-endian.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | `TREQ` |
//! | 4 | length of the request in bytes, including the header |
//! | 8 | kind of the request: [`Kind`] |
//! | 12 | counter id; 0xFFFFFFFF: all |
//! | 16 | GUID of the set |
//! | 32 | instance id; 0xFFFFFFFF: all |
//! | 36 | length of the instance's name in bytes |
//! | 40 | length of the machine's name in bytes |
//! | 44 | 0 |

use crate::problem::Problem;
use crate::{CounterSetInfo, Guid};

const MAGIC: [u8; 4] = *b"TREQ";
const HEADER_BYTES: usize = 48;

/// Maximum size of a request in bytes.
pub const MAX_REQUEST: usize = HEADER_BYTES + 2 * 3 * CounterSetInfo::MAX_NAME;

/// Size of an answer in bytes.
pub const ANSWER: usize = 4;

/// The kind of a request (`PERF_ADD_COUNTER`, ...).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// A consumer has added a counter to a query.
    AddCounter = 1,
    /// A consumer has removed a counter from a query.
    RemoveCounter = 2,
    /// A consumer will list the instances.
    EnumInstances = 3,
    /// A consumer will read the values: the provider should refresh them now.
    CollectStart = 5,
    /// A consumer has read the values.
    CollectEnd = 6,
    /// A consumer filters instances.
    Filter = 9,
}

impl Kind {
    /// Decodes the kind of a request.
    pub const fn from_number(number: u32) -> Option<Self> {
        Some(match number {
            1 => Self::AddCounter,
            2 => Self::RemoveCounter,
            3 => Self::EnumInstances,
            5 => Self::CollectStart,
            6 => Self::CollectEnd,
            9 => Self::Filter,
            _ => return None,
        })
    }
}

/// A request to a provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The kind of the request.
    pub kind: Kind,
    /// The counter set.
    pub set: Guid,
    /// The counter; `u32::MAX` for all.
    pub counter_id: u32,
    /// The instance's id; `u32::MAX` for all.
    pub instance_id: u32,
    /// The instance's name or pattern.
    pub instance: String,
    /// The machine's name.
    pub machine: String,
}

impl Request {
    /// Creates a request for all counters and instances of a set.
    pub fn new(kind: Kind, set: Guid) -> Self {
        Self {
            kind,
            set,
            counter_id: u32::MAX,
            instance_id: u32::MAX,
            instance: String::new(),
            machine: String::new(),
        }
    }

    /// Appends the encoded request. Names that are too long are truncated.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let [instance, machine] = [&self.instance, &self.machine]
            .map(|text| &text[..text.floor_char_boundary(3 * CounterSetInfo::MAX_NAME)]);
        let length = HEADER_BYTES + instance.len() + machine.len();
        out.extend(MAGIC);
        for number in [length as u32, self.kind as u32, self.counter_id] {
            out.extend(number.to_le_bytes());
        }
        out.extend(self.set.to_bytes());
        for number in [self.instance_id, instance.len() as u32, machine.len() as u32, 0] {
            out.extend(number.to_le_bytes());
        }
        out.extend(instance.as_bytes());
        out.extend(machine.as_bytes());
    }

    /// Decodes the request at the start of the bytes; returns it with its length, or `None` if it is incomplete.
    ///
    /// # Errors
    ///
    /// The bytes are not the start of a valid request.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Problem> {
        let number = |offset: usize| {
            let field = bytes.get(offset..).and_then(|rest| rest.first_chunk::<4>());
            field.map_or(0, |field| u32::from_le_bytes(*field))
        };
        if !MAGIC.starts_with(&bytes[..bytes.len().min(4)]) {
            return Err(Problem::new(0, format!("{:02x?}", &bytes[..bytes.len().min(4)]), "TREQ"));
        }
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else { return Ok(None) };
        let length = number(4) as usize;
        let (instance, machine) = (number(36) as usize, number(40) as usize);
        let max = 3 * CounterSetInfo::MAX_NAME;
        if instance > max || machine > max || length != HEADER_BYTES + instance + machine {
            let found = format!("a request of {length} bytes with names of {instance} and {machine} bytes");
            return Err(Problem::new(
                4,
                found,
                format!("48 bytes more than the names, which have at most {max} bytes each"),
            ));
        }
        let kind = Kind::from_number(number(8))
            .ok_or_else(|| Problem::new(8, number(8), "a known kind of request"))?;
        let Some(names) = bytes.get(HEADER_BYTES..length) else { return Ok(None) };
        let (first, second) = names.split_at(instance);
        let mut guid = [0; 16];
        guid.copy_from_slice(&header[16..32]);
        let request = Self {
            kind,
            set: Guid::from_bytes(guid),
            counter_id: number(12),
            instance_id: number(32),
            instance: String::from_utf8_lossy(first).into_owned(),
            machine: String::from_utf8_lossy(second).into_owned(),
        };
        Ok(Some((request, length)))
    }
}
