//! Places in a log that a reader can go back to.

use std::io::{Read, Seek};
use std::sync::Arc;

use tachograph_counters::civil::FileTime;

use super::BlgReader;
use super::events::EventPlace;
use super::names::Names;
use crate::error::LogError;

/// A place in a BLG: where the next event begins, and what the reader knows there of what came before.
#[derive(Clone, Debug)]
pub(crate) struct BlgPlace {
    event: EventPlace,
    previous_utc: Option<FileTime>,
    part: u32,
    boot_time: FileTime,
    context: Arc<Context>,
}

/// What many places have in common: the counter list in force and the names known.
#[derive(Debug)]
struct Context {
    list: Vec<u8>,
    names: Arc<Names>,
}

impl PartialEq for BlgPlace {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
            && (&self.event, self.previous_utc, self.part, self.boot_time)
                == (&other.event, other.previous_utc, other.part, other.boot_time)
    }
}

/// Most bytes of contexts, beside the first, that places of one reader hold.
const MAX_CONTEXT_BYTES: usize = 16 << 20;

/// The contexts that a reader gave to places.
#[derive(Default)]
pub(super) struct Contexts {
    current: Option<Arc<Context>>,
    given: usize,
    bytes: usize,
}

impl Contexts {
    /// The counter list or the names changed.
    pub(super) fn forget_current(&mut self) {
        self.current = None;
    }

    fn current(&mut self, list: &[u8], names: &Arc<Names>) -> Option<Arc<Context>> {
        if self.current.is_none() {
            let bytes = size_of::<Context>() + list.len() + names.bytes();
            if self.given > 0 && bytes > MAX_CONTEXT_BYTES.saturating_sub(self.bytes) {
                return None;
            }
            self.bytes += if self.given > 0 { bytes } else { 0 };
            self.given += 1;
            self.current = Some(Arc::new(Context { list: list.to_vec(), names: Arc::clone(names) }));
        }
        self.current.clone()
    }
}

impl<R: Read + Seek> BlgReader<R> {
    /// Where the reader stands; `None` when there were too many counter lists and name tables to remember them all.
    pub(super) fn place(&mut self) -> Option<BlgPlace> {
        Some(BlgPlace {
            event: self.events.place()?,
            previous_utc: self.previous_utc,
            part: self.part,
            boot_time: self.boot_time,
            context: self.contexts.current(self.schema.list(), &self.names)?,
        })
    }

    /// Goes to a place; false where its buffer is not there any more.
    pub(super) fn go_to_place(&mut self, place: &BlgPlace) -> Result<bool, LogError> {
        if !self.events.go_to(&place.event)? {
            return Ok(false);
        }
        self.audit.restart();
        self.previous_utc = place.previous_utc;
        self.part = place.part;
        self.boot_time = place.boot_time;
        if !Arc::ptr_eq(&self.names, &place.context.names) {
            self.names = Arc::clone(&place.context.names);
        }
        // The same list keeps its decoders; what is wrong with it was told when it was read first.
        let _ = self.schema.take_list(&place.context.list);
        self.contexts.current = Some(Arc::clone(&place.context));
        Ok(true)
    }
}
