//! A published set: its slots, and the instances in them.

use std::fs::File;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::history;
use crate::folder::{Folder, socket_name, unready_name};
use crate::layout::{LINE, PAGE, header, slot, state};
use crate::map::{Mapping, boot_nanoseconds, reserve};
use crate::problem::WriteError;
use crate::slots::{Places, SlotOwner};
use crate::{CounterSetInfo, InstanceType};

/// How much a file grows at least, so that not every instance asks the kernel for room.
const GROWTH: usize = 16 * PAGE;

#[derive(Debug)]
pub(crate) struct Inner {
    pub(super) description: Arc<CounterSetInfo>,
    pub(crate) mapping: Arc<Mapping>,
    /// Nothing where nobody sees the set.
    pub(super) published: Option<Published>,
    pub(super) slots_at: usize,
    pub(super) slot_bytes: usize,
    pub(super) capacity: u32,
    pub(super) unique: u64,
    /// The process that made the set. A forked child has the same memory, but only a copy of what is known of its slots:
    /// it can update cells, but neither add nor end instances.
    pub(super) process: u32,
    /// By counter: its first line in a slot, and how many lines it has.
    pub(crate) cells: Vec<(u32, u32)>,
    pub(super) places: Mutex<Places>,
}

/// The file of a set. Its lock is held as long as it is open.
#[derive(Debug)]
pub(super) struct Published {
    pub(super) file: File,
    pub(super) folder: Folder,
    pub(super) name: String,
    pub(super) is_ready: AtomicBool,
}

impl Inner {
    /// To be asked before the lock of the places: a thread that a forked child does not have may hold that.
    pub(crate) fn is_of_this_process(&self) -> bool {
        self.process == std::process::id()
    }

    pub(super) fn places(&self) -> MutexGuard<'_, Places> {
        self.places.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The byte at which a slot begins.
    pub(crate) fn slot_at(&self, place: u32) -> usize {
        self.slots_at + place as usize * self.slot_bytes
    }

    pub(super) fn slot(&self, place: u32) -> &[AtomicU64] {
        &self.mapping.words()[self.slot_at(place) / 8..][..self.slot_bytes / 8]
    }

    /// Bytes of a name that stand in the instance's own slot.
    pub(super) fn first_name_bytes(&self) -> usize {
        (LINE - slot::NAME) * 8
    }

    /// Takes slots, and gets room for those that are new.
    pub(super) fn take_slots(&self, places: &mut Places, count: usize) -> Result<Vec<u32>, WriteError> {
        let used = places.used as usize + places.new_ones_for(count);
        if used > self.capacity as usize {
            return Err(WriteError::Full(self.capacity));
        }
        let needed = self.slots_at + used * self.slot_bytes;
        let backed = self.mapping.backed();
        if let Some(published) = &self.published
            && needed > backed
        {
            let wanted = needed.max(backed + GROWTH).next_multiple_of(PAGE).min(self.mapping.length());
            let no_room = |error| WriteError::io("get room in the file", &published.path(), error);
            reserve(&published.file, backed, wanted).map_err(no_room)?;
            self.mapping.set_backed(wanted);
        }
        let taken = places.take(count);
        self.mapping.words()[header::SLOTS].store(u64::from(places.used), Ordering::Release);
        Ok(taken)
    }

    /// Fills slots that nobody looks at; the instance's life comes last.
    pub(super) fn write_instance(&self, places: &[u32], name: &str, id: u32, number: u64) {
        // A reader that still sees something of who had the slot before must see that its life is over.
        fence(Ordering::Release);
        let (mut bytes, mut first) = (name.as_bytes(), true);
        for (index, &place) in places.iter().enumerate() {
            let words = self.slot(place);
            let room = if first { &words[slot::NAME..LINE] } else { &words[slot::NAME..] };
            let (here, rest) = bytes.split_at(bytes.len().min(room.len() * 8));
            for (word, chunk) in room.iter().zip(here.chunks(8)) {
                let mut value = [0; 8];
                value[..chunk.len()].copy_from_slice(chunk);
                word.store(u64::from_le_bytes(value), Ordering::Relaxed);
            }
            let next = places.get(index + 1).map_or(0, |next| u64::from(*next) + 1);
            words[slot::NEXT].store(next, Ordering::Relaxed);
            if first {
                let id_and_length = u64::from(id) | (name.len() as u64) << 32;
                words[slot::ID_AND_LENGTH].store(id_and_length, Ordering::Relaxed);
                words[slot::BORN].store(boot_nanoseconds(), Ordering::Relaxed);
                words[LINE..].iter().for_each(|word| word.store(0, Ordering::Relaxed));
            } else {
                words[slot::LIFE].store(slot::IS_NAME, Ordering::Relaxed);
            }
            (bytes, first) = (rest, false);
        }
        self.slot(places[0])[slot::LIFE].store(number, Ordering::Release);
    }

    pub(super) fn count_change(&self) {
        self.mapping.words()[header::CHANGES].fetch_add(1, Ordering::Release);
    }

    /// Ends an instance, once.
    pub(crate) fn end(&self, owner: &SlotOwner) {
        if !self.is_of_this_process() {
            return;
        }
        let mut places = self.places();
        if owner.has_ended.swap(true, Ordering::Relaxed) {
            return;
        }
        places.live.remove(&(owner.name.clone(), owner.id));
        let Some(&place) = owner.places.first() else { return };
        let words = self.mapping.words();
        if self.description.instance_type == InstanceType::SingleAggregateHistory {
            // Odd: who reads now would count the instance twice, or not at all.
            words[header::FOLDS].fetch_add(1, Ordering::AcqRel);
            self.slot(place)[slot::LIFE].store(0, Ordering::Release);
            history::fold(&self.description, &self.cells, self.slot(place), self.slot(0));
            words[header::FOLDS].fetch_add(1, Ordering::AcqRel);
        } else {
            self.slot(place)[slot::LIFE].store(0, Ordering::Release);
        }
        drop(places);
        self.count_change();
    }

    /// Takes back the slots of who does not need them any more.
    pub(crate) fn give_back(&self, owner: &SlotOwner) {
        if !self.is_of_this_process() {
            return;
        }
        self.end(owner);
        self.places().give_back(&owner.places);
    }

    pub(super) fn stop(&self) {
        if !self.is_of_this_process() {
            return;
        }
        let mut places = self.places();
        let is_first = !std::mem::replace(&mut places.is_stopped, true);
        drop(places);
        let Some(published) = &self.published else { return };
        if !is_first {
            return;
        }
        self.mapping.words()[header::STATE].store(state::STOPPED, Ordering::Release);
        let is_ready = published.is_ready.load(Ordering::Acquire);
        let name = if is_ready { published.name.clone() } else { published.unready() };
        if published.folder.is_still(&name, &published.file) {
            let folder = published.folder.by_descriptor();
            let _ = std::fs::remove_file(folder.join(&name));
            let _ = std::fs::remove_file(folder.join(socket_name(&published.name)));
        }
    }
}

impl Published {
    pub(super) fn unready(&self) -> String {
        unready_name(&self.name)
    }

    pub(super) fn path(&self) -> PathBuf {
        self.folder.path().join(&self.name)
    }
}
