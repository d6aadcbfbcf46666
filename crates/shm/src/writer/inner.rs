//! The shared state of a published set: its slots, and the instances in them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard};

use tachograph_schema::IgnorePoison;

use super::history;
use crate::folder::{Folder, socket_name, unfinished_name};
use crate::layout::{LINE_WORDS, PAGE, header, slot, state};
use crate::map::{Mapping, boot_nanoseconds, reserve};
use crate::problem::WriteError;
use crate::slots::{SlotOwner, SlotTable};
use crate::{CounterSetInfo, InstanceType};

/// Minimum growth of a file in bytes, so that not every new instance requires a system call.
const GROWTH: usize = 16 * PAGE;

/// The state that the handles of a set and its instances share.
#[derive(Debug)]
pub(crate) struct Inner {
    pub(super) description: Arc<CounterSetInfo>,
    pub(crate) mapping: Arc<Mapping>,
    /// `None` for an unpublished set.
    pub(super) published: Option<Published>,
    /// Offset of the slots in bytes.
    pub(super) slots_at: usize,
    pub(super) slot_bytes: usize,
    /// Maximum number of slots.
    pub(super) capacity: u32,
    /// A random number that identifies the file.
    pub(super) unique: u64,
    /// The process that created the set. A forked child shares the memory, but has only a copy of the slot table: it can
    /// update cells, but not add or end instances.
    pub(super) process: u32,
    /// For each counter, the index of the first cache line of its cell in a slot, and the number of lines.
    pub(crate) cells: Vec<(u32, u32)>,
    /// Which slots are used, and by which instances.
    pub(super) table: Mutex<SlotTable>,
}

/// The file of a set. It is locked while it is open.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) file: File,
    pub(super) folder: Folder,
    /// The file's final name.
    pub(super) name: String,
    /// Whether the file has its final name, under which readers find it.
    pub(super) is_ready: AtomicBool,
}

impl Inner {
    /// Whether this process created the set. Must be checked before the table is locked: in a forked child, a thread that no
    /// longer exists may hold the lock.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    pub(super) fn table(&self) -> MutexGuard<'_, SlotTable> {
        self.table.lock().ignore_poison()
    }

    /// The offset of a slot in bytes.
    pub(crate) fn slot_offset(&self, index: u32) -> usize {
        self.slots_at + index as usize * self.slot_bytes
    }

    /// The words of a slot.
    pub(super) fn slot(&self, index: u32) -> &[AtomicU64] {
        &self.mapping.words()[self.slot_offset(index) / 8..][..self.slot_bytes / 8]
    }

    /// The number of bytes of a name that the instance's first slot holds.
    pub(super) fn first_name_bytes(&self) -> usize {
        (LINE_WORDS - slot::NAME) * 8
    }

    /// Allocates slots and returns their indexes. Reserves space in the file for slots that were never used.
    pub(super) fn allocate_slots(&self, table: &mut SlotTable, count: usize) -> Result<Vec<u32>, WriteError> {
        let used = table.used_count as usize + table.new_slots_for(count);
        if used > self.capacity as usize {
            return Err(WriteError::Full(self.capacity));
        }
        let needed = self.slots_at + used * self.slot_bytes;
        let backed = self.mapping.backed_bytes();
        if let Some(published) = &self.published
            && needed > backed
        {
            let size = needed.max(backed + GROWTH).next_multiple_of(PAGE).min(self.mapping.length());
            let no_space = |error| WriteError::io("reserve space in the file", &published.path(), error);
            reserve(&published.file, backed, size).map_err(no_space)?;
            self.mapping.set_backed(size);
        }
        let indexes = table.allocate(count);
        self.mapping.words()[header::SLOTS].store(u64::from(table.used_count), Ordering::Release);
        Ok(indexes)
    }

    /// Writes an instance to slots that are free. The word [`slot::LIFE`] is stored last, because it makes the slots
    /// visible to readers.
    pub(super) fn write_instance(&self, indexes: &[u32], name: &str, id: u32, serial: u64) {
        // A reader that sees the words stored here must also see that the slot's previous instance has ended.
        fence(Ordering::Release);
        let (mut bytes, mut first) = (name.as_bytes(), true);
        for (position, &index) in indexes.iter().enumerate() {
            let words = self.slot(index);
            let space = if first { &words[slot::NAME..LINE_WORDS] } else { &words[slot::NAME..] };
            let (here, rest) = bytes.split_at(bytes.len().min(space.len() * 8));
            for (word, chunk) in space.iter().zip(here.chunks(8)) {
                let mut value = [0; 8];
                value[..chunk.len()].copy_from_slice(chunk);
                word.store(u64::from_le_bytes(value), Ordering::Relaxed);
            }
            let next = indexes.get(position + 1).map_or(0, |next| u64::from(*next) + 1);
            words[slot::NEXT].store(next, Ordering::Relaxed);
            if first {
                let id_and_length = u64::from(id) | (name.len() as u64) << 32;
                words[slot::ID_AND_LENGTH].store(id_and_length, Ordering::Relaxed);
                words[slot::BORN].store(boot_nanoseconds(), Ordering::Relaxed);
                words[LINE_WORDS..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
            } else {
                words[slot::LIFE].store(slot::IS_NAME, Ordering::Relaxed);
            }
            (bytes, first) = (rest, false);
        }
        self.slot(indexes[0])[slot::LIFE].store(serial, Ordering::Release);
    }

    /// Increments [`header::CHANGES`].
    pub(super) fn count_change(&self) {
        self.mapping.words()[header::CHANGES].fetch_add(1, Ordering::Release);
    }

    /// Ends an instance. Calls after the first have no effect.
    pub(crate) fn end(&self, owner: &SlotOwner) {
        if !self.is_of_this_process() {
            return;
        }
        let mut table = self.table();
        if owner.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        table.live.remove(&(owner.name.clone(), owner.id));
        let Some(&index) = owner.indexes.first() else { return };
        let words = self.mapping.words();
        if self.description.instance_type == InstanceType::SingleAggregateHistory {
            // `FOLDS` is odd while the values are moved, so that a concurrent reader does not count the instance twice, or
            // not at all.
            words[header::FOLDS].fetch_add(1, Ordering::AcqRel);
            self.slot(index)[slot::LIFE].store(0, Ordering::Release);
            history::add_ended_slot(&self.description, &self.cells, self.slot(index), self.slot(0));
            words[header::FOLDS].fetch_add(1, Ordering::AcqRel);
        } else {
            self.slot(index)[slot::LIFE].store(0, Ordering::Release);
        }
        drop(table);
        self.count_change();
    }

    /// Ends an instance, and frees its slots.
    pub(crate) fn release(&self, owner: &SlotOwner) {
        if !self.is_of_this_process() {
            return;
        }
        self.end(owner);
        self.table().free(&owner.indexes);
    }

    /// Stops the set and removes its file. Calls after the first have no effect.
    pub(super) fn stop(&self) {
        if !self.is_of_this_process() {
            return;
        }
        let mut table = self.table();
        let is_first = !std::mem::replace(&mut table.is_stopped, true);
        drop(table);
        let Some(published) = &self.published else { return };
        if !is_first {
            return;
        }
        self.mapping.words()[header::STATE].store(state::STOPPED, Ordering::Release);
        let is_ready = published.is_ready.load(Ordering::Acquire);
        let name = if is_ready { published.name.clone() } else { published.unfinished_name() };
        if published.folder.name_refers_to(&name, &published.file) {
            let folder = published.folder.descriptor_path();
            let _ = std::fs::remove_file(folder.join(&name));
            let _ = std::fs::remove_file(folder.join(socket_name(&published.name)));
        }
    }
}

impl Published {
    pub(super) fn unfinished_name(&self) -> String {
        unfinished_name(&self.name)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}
