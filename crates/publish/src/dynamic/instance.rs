//! An instance of a set that is described at run time.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

use tachograph_shm::{CounterSetInfo, IgnorePoison, Line, Slot};

use super::{CounterIndex, Counters};
use crate::PublishError;

/// The index of the value in a plain cell's line.
const VALUE: usize = 0;
/// The index of the word that is 1 if the value of a counter by reference is set.
const HAS_VALUE: usize = 1;

/// The function that returns the value of a counter by reference.
type Reference = Box<dyn Fn() -> u64 + Send + Sync>;

/// An instance of a set. Any number of threads can change its values, without a lock.
pub struct Instance {
    slot: Slot,
    counters: Arc<Counters>,
    /// The cache line of each counter, by index. All cells are plain, so each has one line.
    lines: Vec<Line>,
    references: Mutex<References>,
}

#[derive(Default)]
struct References {
    /// The index of each counter that has a reference, and the reference.
    by_index: Vec<(usize, Reference)>,
    /// Whether the instance was deleted, so that further references are rejected.
    is_closed: bool,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("name", &self.name()).field("id", &self.id()).finish()
    }
}

impl Instance {
    pub(super) fn new(slot: Slot, counters: Arc<Counters>, description: &CounterSetInfo) -> Self {
        let lines = (0..description.counters.len()).map_while(|index| slot.line(index)).collect();
        Self { slot, counters, lines, references: Mutex::default() }
    }

    /// The instance's name.
    pub fn name(&self) -> &str {
        self.slot.name()
    }

    /// The instance's id.
    pub fn id(&self) -> u32 {
        self.slot.id()
    }

    /// Sets a counter to `value`.
    ///
    /// Values have 64 bits. For a counter with a 32-bit type, consumers use the lower half, so the same functions update
    /// counters of both widths.
    ///
    /// # Errors
    ///
    /// The set does not have the counter.
    pub fn set(&self, counter_id: u32, value: u64) -> Result<(), PublishError> {
        let (line, counter) = self.cell(counter_id)?;
        line[VALUE].store(value, Relaxed);
        if counter.is_by_reference {
            line[HAS_VALUE].store(1, Release);
        }
        Ok(())
    }

    /// Adds `amount` to a counter. The value wraps.
    ///
    /// # Errors
    ///
    /// The set does not have the counter.
    pub fn add(&self, counter_id: u32, amount: u64) -> Result<(), PublishError> {
        let (line, counter) = self.cell(counter_id)?;
        line[VALUE].fetch_add(amount, Relaxed);
        if counter.is_by_reference {
            line[HAS_VALUE].store(1, Release);
        }
        Ok(())
    }

    /// Subtracts `amount` from a counter. The value wraps.
    ///
    /// # Errors
    ///
    /// The set does not have the counter.
    pub fn subtract(&self, counter_id: u32, amount: u64) -> Result<(), PublishError> {
        self.add(counter_id, amount.wrapping_neg())
    }

    /// The value of a counter.
    ///
    /// # Errors
    ///
    /// The set does not have the counter.
    pub fn value(&self, counter_id: u32) -> Result<u64, PublishError> {
        let (line, _) = self.cell(counter_id)?;
        Ok(line[VALUE].load(Relaxed))
    }

    fn counter(&self, id: u32) -> Result<CounterIndex, PublishError> {
        self.counters.get(&id).copied().ok_or(PublishError::UnknownCounter(id))
    }

    fn cell(&self, counter_id: u32) -> Result<(&Line, CounterIndex), PublishError> {
        let counter = self.counter(counter_id)?;
        let line = self.lines.get(counter.index).ok_or(PublishError::UnknownCounter(counter_id))?;
        Ok((line, counter))
    }

    /// Sets how the value of a counter by reference is read: `read` is called before each collection, on a thread of
    /// this crate, until the instance is deleted or another reference is set. `read` must be quick, and must not call
    /// this instance or its provider. If it panics, the value is unchanged.
    ///
    /// # Errors
    ///
    /// The set does not have the counter; the counter is not by reference; the instance was deleted.
    pub fn set_reference(
        &self,
        counter_id: u32,
        read: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Result<(), PublishError> {
        let counter = self.counter(counter_id)?;
        if !counter.is_by_reference {
            return Err(PublishError::NotByReference(counter_id));
        }
        let mut references = self.references.lock().ignore_poison();
        if references.is_closed {
            return Err(PublishError::Stopped);
        }
        references.by_index.retain(|(index, _)| *index != counter.index);
        references.by_index.push((counter.index, read));
        Ok(())
    }

    /// Reads the references, and stores their values.
    pub(super) fn refresh(&self) {
        for (index, read) in &self.references.lock().ignore_poison().by_index {
            let value = catch_unwind(AssertUnwindSafe(read));
            if let (Some(line), Ok(value)) = (self.lines.get(*index), value) {
                line[VALUE].store(value, Relaxed);
                line[HAS_VALUE].store(1, Release);
            }
        }
    }

    /// Removes all references, and rejects further references. No reference is read after this returns.
    pub(super) fn clear_references(&self) {
        let mut references = self.references.lock().ignore_poison();
        references.is_closed = true;
        references.by_index.clear();
    }

    /// Removes the instance from its set.
    pub(super) fn end(&self) {
        self.clear_references();
        self.slot.end();
    }
}
