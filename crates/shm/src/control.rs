//! Requests to a provider, over the socket beside its file: a consumer asks, the provider's thread answers.
//!
//! A request is a head of 48 bytes and two texts; an answer is a Win32 code of 4 bytes. All numbers are little-endian.
//!
//! | bytes | field |
//! | --- | --- |
//! | 0 | `TREQ` |
//! | 4 | length of the request, head included |
//! | 8 | the request: [`Kind`] |
//! | 12 | counter id; 0xFFFFFFFF: all |
//! | 16 | GUID of the set |
//! | 32 | instance id; 0xFFFFFFFF: all |
//! | 36 | bytes of the instance's name |
//! | 40 | bytes of the machine's name |
//! | 44 | 0 |

use crate::problem::Problem;
use crate::{CounterSetInfo, Guid};

const MAGIC: [u8; 4] = *b"TREQ";
const HEAD: usize = 48;

/// Most bytes of a request.
pub const MAX_REQUEST: usize = HEAD + 2 * 3 * CounterSetInfo::MAX_NAME;

/// Bytes of an answer.
pub const ANSWER: usize = 4;

/// What a provider is asked (`PERF_ADD_COUNTER` and the others).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u32)]
pub enum Kind {
    /// A consumer added a counter to a query.
    AddCounter = 1,
    /// A consumer took a counter out of a query.
    RemoveCounter = 2,
    /// A consumer wants the instances.
    EnumInstances = 3,
    /// A consumer reads the values next: the last chance to refresh them.
    CollectStart = 5,
    /// A consumer has read the values.
    CollectEnd = 6,
    /// A consumer wants some instances only.
    Filter = 9,
}

impl Kind {
    /// The request of this number, if there is one.
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
    /// What is asked.
    pub kind: Kind,
    /// The set that it is about.
    pub set: Guid,
    /// The counter; `u32::MAX`: all.
    pub counter_id: u32,
    /// The instance's id; `u32::MAX`: all.
    pub instance_id: u32,
    /// The instance's name or pattern.
    pub instance: String,
    /// The machine's name.
    pub machine: String,
}

impl Request {
    /// A request about all counters and instances of a set.
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

    /// Appends the request as bytes. Names that are longer than any may be are cut.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let cut = |text: &str| {
            let most = 3 * CounterSetInfo::MAX_NAME;
            let end = (0..=text.len().min(most)).rev().find(|&end| text.is_char_boundary(end));
            text[..end.unwrap_or_default()].to_owned()
        };
        let (instance, machine) = (cut(&self.instance), cut(&self.machine));
        let length = HEAD + instance.len() + machine.len();
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

    /// The request at the start of the bytes and its length; `None` where more bytes have to come.
    ///
    /// # Errors
    ///
    /// What cannot become a request any more.
    pub fn decode(bytes: &[u8]) -> Result<Option<(Self, usize)>, Problem> {
        let number = |at: usize| {
            let field = bytes.get(at..).and_then(|rest| rest.first_chunk::<4>());
            field.map_or(0, |field| u32::from_le_bytes(*field))
        };
        if !MAGIC.starts_with(&bytes[..bytes.len().min(4)]) {
            return Err(Problem::new(0, format!("{:02x?}", &bytes[..bytes.len().min(4)]), "TREQ"));
        }
        let Some(head) = bytes.first_chunk::<HEAD>() else { return Ok(None) };
        let length = number(4) as usize;
        let (instance, machine) = (number(36) as usize, number(40) as usize);
        let most = 3 * CounterSetInfo::MAX_NAME;
        if instance > most || machine > most || length != HEAD + instance + machine {
            let found = format!("{length} bytes with names of {instance} and {machine} bytes");
            return Err(Problem::new(4, found, format!("48 bytes and two names of at most {most} bytes")));
        }
        let kind =
            Kind::from_number(number(8)).ok_or_else(|| Problem::new(8, number(8), "a known request"))?;
        let Some(names) = bytes.get(HEAD..length) else { return Ok(None) };
        let (first, second) = names.split_at(instance);
        let mut guid = [0; 16];
        guid.copy_from_slice(&head[16..32]);
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
