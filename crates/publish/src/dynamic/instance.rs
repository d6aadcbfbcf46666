//! An instance of a set that is described at run time.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering::{Relaxed, Release};
use std::sync::{Arc, Mutex};

use tachograph_shm::{CounterSetInfo, Line, Slot};

use super::{Place, Places, lock};
use crate::PublishError;

/// The words of a plain cell's line.
const VALUE: usize = 0;
const HAS_VALUE: usize = 1;

/// What a counter by reference refers to.
type Reference = Box<dyn Fn() -> u64 + Send + Sync>;

/// An instance of a set. Its values can be changed by any number of threads, without a lock.
pub struct Instance {
    slot: Slot,
    places: Arc<Places>,
    /// By place. All are plain, so there is one for each counter.
    lines: Vec<Line>,
    references: Mutex<References>,
}

#[derive(Default)]
struct References {
    by_place: Vec<(usize, Reference)>,
    is_over: bool,
}

impl fmt::Debug for Instance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Instance").field("name", &self.name()).field("id", &self.id()).finish()
    }
}

impl Instance {
    pub(super) fn new(slot: Slot, places: Arc<Places>, description: &CounterSetInfo) -> Self {
        let lines = (0..description.counters.len()).map_while(|place| slot.line(place)).collect();
        Self { slot, places, lines, references: Mutex::default() }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        self.slot.name()
    }

    /// Its id.
    pub fn id(&self) -> u32 {
        self.slot.id()
    }

    /// Sets a counter to `value`.
    ///
    /// Values are 64 bits wide. Readers take the lower 32 of counters whose type has 32, so a value of 32 bits is set, added
    /// and subtracted by the same calls.
    ///
    /// # Errors
    ///
    /// The set has no such counter.
    pub fn set(&self, counter_id: u32, value: u64) -> Result<(), PublishError> {
        let (line, place) = self.cell(counter_id)?;
        line[VALUE].store(value, Relaxed);
        if place.is_by_reference {
            line[HAS_VALUE].store(1, Release);
        }
        Ok(())
    }

    /// Adds `amount` to a counter. The value wraps.
    ///
    /// # Errors
    ///
    /// The set has no such counter.
    pub fn add(&self, counter_id: u32, amount: u64) -> Result<(), PublishError> {
        let (line, place) = self.cell(counter_id)?;
        line[VALUE].fetch_add(amount, Relaxed);
        if place.is_by_reference {
            line[HAS_VALUE].store(1, Release);
        }
        Ok(())
    }

    /// Subtracts `amount` from a counter. The value wraps.
    ///
    /// # Errors
    ///
    /// The set has no such counter.
    pub fn subtract(&self, counter_id: u32, amount: u64) -> Result<(), PublishError> {
        self.add(counter_id, amount.wrapping_neg())
    }

    /// The value of a counter.
    ///
    /// # Errors
    ///
    /// The set has no such counter.
    pub fn value(&self, counter_id: u32) -> Result<u64, PublishError> {
        let (line, _) = self.cell(counter_id)?;
        Ok(line[VALUE].load(Relaxed))
    }

    fn cell(&self, counter_id: u32) -> Result<(&Line, Place), PublishError> {
        let place = self.places.get(counter_id)?;
        let line = self.lines.get(place.number).ok_or(PublishError::UnknownCounter(counter_id))?;
        Ok((line, place))
    }

    /// Says what the value of a counter by reference is: `read` is called before each collection, on a thread of this
    /// crate, until the instance is deleted or another reference takes its place. It must be quick and must not call this
    /// instance or its provider. One that panics leaves the value as it was.
    ///
    /// # Errors
    ///
    /// The set has no such counter; the counter is not by reference; the instance was deleted.
    pub fn refer(
        &self,
        counter_id: u32,
        read: Box<dyn Fn() -> u64 + Send + Sync>,
    ) -> Result<(), PublishError> {
        let place = self.places.get(counter_id)?;
        if !place.is_by_reference {
            return Err(PublishError::NotByReference(counter_id));
        }
        let mut references = lock(&self.references);
        if references.is_over {
            return Err(PublishError::Stopped);
        }
        references.by_place.retain(|(number, _)| *number != place.number);
        references.by_place.push((place.number, read));
        Ok(())
    }

    /// Takes over what the references refer to.
    pub(super) fn refresh(&self) {
        for (number, read) in &lock(&self.references).by_place {
            let value = catch_unwind(AssertUnwindSafe(read));
            if let (Some(line), Ok(value)) = (self.lines.get(*number), value) {
                line[VALUE].store(value, Relaxed);
                line[HAS_VALUE].store(1, Release);
            }
        }
    }

    /// Afterwards no reference is read any more.
    pub(super) fn forget_references(&self) {
        let mut references = lock(&self.references);
        references.is_over = true;
        references.by_place.clear();
    }

    /// Takes the instance out of its set.
    pub(super) fn end(&self) {
        self.forget_references();
        self.slot.end();
    }
}
