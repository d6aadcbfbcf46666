//! Instances of a writer: the slots that they occupy, and the cells in them.

use std::collections::HashSet;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::cell::CacheLine;
use crate::layout::LINE_BYTES;
use crate::map::{MappedLine, MappedLines, Mapping, MappingOwner};
use crate::writer::Inner;

/// An instance of a published set. Clones refer to the same instance.
#[derive(Clone, Debug)]
pub struct Slot(Arc<SlotOwner>);

/// The owner of an instance's slots. They are freed when the instance and all its cells are dropped.
#[derive(Debug)]
pub(crate) struct SlotOwner {
    pub(crate) set: Arc<Inner>,
    /// The index of the instance's slot, followed by the indexes of the slots that continue its name.
    pub(crate) indexes: Vec<u32>,
    /// The serial number of the instance, unique in the file.
    pub(crate) serial: u64,
    pub(crate) name: Box<str>,
    /// The instance's id, which need not be unique.
    pub(crate) id: u32,
    pub(crate) has_ended: AtomicBool,
}

impl Drop for SlotOwner {
    fn drop(&mut self) {
        self.set.release(self);
    }
}

impl MappingOwner for Arc<SlotOwner> {
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

    /// The serial number of the instance, unique in the file.
    pub fn serial(&self) -> u64 {
        self.0.serial
    }

    /// Ends the instance: readers no longer see it. In a set with a history, its values are added to the history. Its
    /// cells can still be updated, without effect.
    pub fn end(&self) {
        self.0.set.end(&self.0);
    }

    /// Whether this process created the instance; `false` in a forked child of its creator.
    pub fn is_of_this_process(&self) -> bool {
        self.0.set.is_of_this_process()
    }

    /// Whether the instance was ended.
    pub fn has_ended(&self) -> bool {
        self.0.has_ended.load(Ordering::Relaxed)
    }

    /// The cell of the counter at this index of the description; `None` if the counter does not exist or has no cell.
    pub fn lines(&self, counter: usize) -> Option<Lines> {
        let (offset, count) = self.cell_location(counter)?;
        MappedLines::new(Arc::clone(&self.0), offset, count).map(Lines)
    }

    /// Like [`lines`](Self::lines), but only the first line of the cell.
    pub fn line(&self, counter: usize) -> Option<Line> {
        let (offset, _) = self.cell_location(counter)?;
        MappedLine::new(Arc::clone(&self.0), offset).map(Line)
    }

    /// The offset of a cell in bytes, and the number of its lines.
    fn cell_location(&self, counter: usize) -> Option<(usize, usize)> {
        let (first, count) = *self.0.set.cells.get(counter).filter(|(_, count)| *count > 0)?;
        let offset = self.0.set.slot_offset(*self.0.indexes.first()?) + first as usize * LINE_BYTES;
        Some((offset, count as usize))
    }
}

/// The cache lines of a cell. They keep its slot from being reused.
#[derive(Clone, Debug)]
pub struct Lines(MappedLines<Arc<SlotOwner>>);

impl Deref for Lines {
    type Target = [CacheLine];

    #[inline]
    fn deref(&self) -> &[CacheLine] {
        &self.0
    }
}

/// The only or first cache line of a cell. It keeps the cell's slot from being reused.
#[derive(Clone, Debug)]
pub struct Line(MappedLine<Arc<SlotOwner>>);

impl Deref for Line {
    type Target = CacheLine;

    #[inline]
    fn deref(&self) -> &CacheLine {
        &self.0
    }
}

/// The state of a file's slots.
#[derive(Debug, Default)]
pub(crate) struct SlotTable {
    /// The number of slots that were ever used.
    pub(crate) used_count: u32,
    /// Indexes of the slots that were freed.
    free_indexes: Vec<u32>,
    /// The serial number of the last instance.
    pub(crate) last_serial: u64,
    /// Names and ids of the live instances.
    pub(crate) live: HashSet<(Box<str>, u32)>,
    /// Whether the set was stopped.
    pub(crate) is_stopped: bool,
}

impl SlotTable {
    /// The number of never used slots that an allocation of `count` slots takes. Freed slots are taken first.
    pub(crate) fn new_slots_for(&self, count: usize) -> usize {
        count.saturating_sub(self.free_indexes.len())
    }

    /// Allocates slots and returns their indexes. The file must have room for those that were never used.
    pub(crate) fn allocate(&mut self, count: usize) -> Vec<u32> {
        let mut indexes = Vec::with_capacity(count);
        for _ in 0..count {
            let index = self.free_indexes.pop().unwrap_or_else(|| {
                self.used_count += 1;
                self.used_count - 1
            });
            indexes.push(index);
        }
        indexes
    }

    pub(crate) fn free(&mut self, indexes: &[u32]) {
        self.free_indexes.extend_from_slice(indexes);
    }
}
