//! Instances in the writer: which slots of the file they have, and the cells in them.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cell::CacheLine;
use crate::layout::LINE_BYTES;
use crate::map::{Keeper, MappedLine, MappedLines, Mapping};
use crate::writer::Inner;

/// An instance of a published set. Clones are the same instance.
#[derive(Clone, Debug)]
pub struct Slot(Arc<SlotOwner>);

/// Who has a slot of the file. It is used again when nobody has it any more, neither the instance nor a cell.
#[derive(Debug)]
pub(crate) struct SlotOwner {
    pub(crate) set: Arc<Inner>,
    /// The slot of the instance, then those of the rest of its name.
    pub(crate) places: Vec<u32>,
    pub(crate) number: u64,
    pub(crate) name: Box<str>,
    pub(crate) id: u32,
    pub(crate) has_ended: AtomicBool,
}

impl Drop for SlotOwner {
    fn drop(&mut self) {
        self.set.give_back(self);
    }
}

impl Keeper for Arc<SlotOwner> {
    fn mapping(&self) -> &Arc<Mapping> {
        &self.set.mapping
    }
}

impl Slot {
    pub(crate) fn new(owner: SlotOwner) -> Self {
        Self(Arc::new(owner))
    }

    /// The instance's name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The instance's id.
    pub fn id(&self) -> u32 {
        self.0.id
    }

    /// The instance's number, which comes once in a file.
    pub fn number(&self) -> u64 {
        self.0.number
    }

    /// Ends the instance: readers do not see it any more. In a set with a history, what it counted is taken over into
    /// that. Its cells can still be updated; nobody sees it.
    pub fn end(&self) {
        self.0.set.end(&self.0);
    }

    /// Whether this process added it, and not one that it was forked from.
    pub fn is_of_this_process(&self) -> bool {
        self.0.set.is_of_this_process()
    }

    /// Whether it was ended.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Relaxed)
    }

    /// The cell of the counter at this place of the description; `None` where there is no such counter, or it has no cell.
    pub fn lines(&self, counter: usize) -> Option<Lines> {
        let (first, count) = *self.0.set.cells.get(counter)?;
        let at = self.0.set.slot_at(*self.0.places.first()?) + first as usize * LINE_BYTES;
        let lines = MappedLines::new(Arc::clone(&self.0), at, count as usize)?;
        (count > 0).then_some(Lines(lines))
    }

    /// The first line of the cell of the counter at this place of the description, as [`lines`](Self::lines).
    pub fn line(&self, counter: usize) -> Option<Line> {
        let (first, count) = *self.0.set.cells.get(counter)?;
        let at = self.0.set.slot_at(*self.0.places.first()?) + first as usize * LINE_BYTES;
        let line = MappedLine::new(Arc::clone(&self.0), at)?;
        (count > 0).then_some(Line(line))
    }
}

/// The cache lines of a cell, which they keep.
#[derive(Clone, Debug)]
pub struct Lines(MappedLines<Arc<SlotOwner>>);

impl Deref for Lines {
    type Target = [CacheLine];

    #[inline]
    fn deref(&self) -> &[CacheLine] {
        &self.0
    }
}

/// The one cache line of a cell, or its first, which it keeps.
#[derive(Clone, Debug)]
pub struct Line(MappedLine<Arc<SlotOwner>>);

impl Deref for Line {
    type Target = CacheLine;

    #[inline]
    fn deref(&self) -> &CacheLine {
        &self.0
    }
}

/// Which slots are in use, and by whom.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// How many were ever used.
    pub(crate) used: u32,
    /// Those that are free again.
    free: Vec<u32>,
    /// The last number that was given to an instance.
    pub(crate) last_number: u64,
    /// Names and ids of the living instances.
    pub(crate) live: HashSet<(Box<str>, u32)>,
    pub(crate) is_stopped: bool,
}

impl Places {
    /// How many slots beyond those that are free have to be new for so many.
    pub(crate) fn new_ones_for(&self, count: usize) -> usize {
        count.saturating_sub(self.free.len())
    }

    /// Takes so many slots; there must be room for the new ones.
    pub(crate) fn take(&mut self, count: usize) -> Vec<u32> {
        let mut taken = Vec::with_capacity(count);
        for _ in 0..count {
            let place = self.free.pop().unwrap_or_else(|| {
                self.used += 1;
                self.used - 1
            });
            taken.push(place);
        }
        taken
    }

    pub(crate) fn give_back(&mut self, places: &[u32]) {
        self.free.extend_from_slice(places);
    }
}
