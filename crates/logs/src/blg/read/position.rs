//! Positions in a log to which a reader can seek.

use std::io::{Read, Seek};
use std::sync::Arc;

use tachograph_counters::civil::FileTime;

use super::BlgReader;
use super::events::EventPosition;
use super::names::Names;
use crate::error::LogError;

/// A position in a BLG: the next event, and the reader's state before it.
#[derive(Clone, Debug)]
pub(crate) struct BlgPosition {
    event: EventPosition,
    previous_utc: Option<FileTime>,
    log_index: u32,
    boot_time: FileTime,
    context: Arc<Context>,
}

/// State shared by many positions: the current counter list and the name tables.
#[derive(Debug)]
struct Context {
    /// The payload of the counter list.
    list: Vec<u8>,
    names: Arc<Names>,
}

impl PartialEq for BlgPosition {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.context, &other.context)
            && (&self.event, self.previous_utc, self.log_index, self.boot_time)
                == (&other.event, other.previous_utc, other.log_index, other.boot_time)
    }
}

/// Maximum total bytes of the contexts of one reader's positions, without the first context.
const MAX_CONTEXT_BYTES: usize = 16 << 20;

/// The contexts of the positions that a reader returned.
#[derive(Default)]
pub(super) struct Contexts {
    current: Option<Arc<Context>>,
    count: usize,
    bytes: usize,
}

impl Contexts {
    /// Must be called when the counter list or the names change.
    pub(super) fn reset_current(&mut self) {
        self.current = None;
    }

    fn current(&mut self, list: &[u8], names: &Arc<Names>) -> Option<Arc<Context>> {
        if self.current.is_none() {
            let bytes = size_of::<Context>() + list.len() + names.bytes();
            if self.count > 0 && bytes > MAX_CONTEXT_BYTES.saturating_sub(self.bytes) {
                return None;
            }
            self.bytes += if self.count > 0 { bytes } else { 0 };
            self.count += 1;
            self.current = Some(Arc::new(Context { list: list.to_vec(), names: Arc::clone(names) }));
        }
        self.current.clone()
    }
}

impl<R: Read + Seek> BlgReader<R> {
    /// The current position; `None` between two parts of an event, or if the log has too many counter lists and name
    /// tables to keep all of them.
    pub(super) fn position(&mut self) -> Option<BlgPosition> {
        Some(BlgPosition {
            event: self.events.position()?,
            previous_utc: self.previous_utc,
            log_index: self.log_index,
            boot_time: self.boot_time,
            context: self.contexts.current(self.schema.list(), &self.names)?,
        })
    }

    /// Seeks to a position; false if its buffer was overwritten.
    pub(super) fn seek_to(&mut self, to: &BlgPosition) -> Result<bool, LogError> {
        if !self.events.seek(&to.event)? {
            return Ok(false);
        }
        self.audit.restart();
        self.previous_utc = to.previous_utc;
        self.log_index = to.log_index;
        self.boot_time = to.boot_time;
        if !Arc::ptr_eq(&self.names, &to.context.names) {
            self.names = Arc::clone(&to.context.names);
        }
        // The decoders are kept if the list is the same. The list's problems were reported when it was first read.
        let _ = self.schema.load_list(&to.context.list);
        self.contexts.current = Some(Arc::clone(&to.context));
        Ok(true)
    }
}
