//! An instance as the program sees it: a block in the layout of `PERF_COUNTERSET_INSTANCE`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use tachograph_publish::dynamic::Instance;
use tachograph_shm::{Description, Guid};

use super::encoding::{to_words, utf16_with_nul};

/// Number of words in `PERF_COUNTERSET_INSTANCE`, which has 32 bytes.
const HEADER_WORDS: usize = 4;

/// An instance and its block, whose address the program has. The values in the block are copies for the program to read; the
/// published values are those of the [`Instance`].
#[derive(Debug)]
pub(super) struct InstanceBlock {
    words: Box<[AtomicU64]>,
    /// Ids of the set's counters, in the order of their values.
    ids: Arc<[u32]>,
    pub(super) instance: Arc<Instance>,
    pub(super) set: Guid,
    pub(super) name: String,
    pub(super) id: u32,
}

/// Ids of a set's counters, in the order of the template.
pub(super) fn counter_ids(description: &Description) -> Arc<[u32]> {
    description.counters.iter().map(|counter| counter.id).collect()
}

impl InstanceBlock {
    /// Creates the block: the structure, 8 bytes per counter, and the NUL-terminated name, padded to a multiple of 8
    /// bytes.
    pub(super) fn new(set: Guid, name: String, id: u32, ids: Arc<[u32]>, instance: Arc<Instance>) -> Self {
        let encoded_name = utf16_with_nul(&name);
        let name_offset = (HEADER_WORDS + ids.len()) * 8;
        let size = (name_offset + encoded_name.len()).next_multiple_of(8);
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(set.to_bytes());
        // A set has at most 65,536 counters, and a name at most 1,024 UTF-16 units, so these numbers fit.
        for number in [size as u32, id, name_offset as u32, encoded_name.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.resize(name_offset, 0);
        bytes.extend(encoded_name);
        let words = to_words(bytes).into_iter().map(AtomicU64::new);
        Self { words: words.collect(), ids, instance, set, name, id }
    }

    pub(super) fn address(&self) -> *const AtomicU64 {
        self.words.as_ptr()
    }

    /// Writes the value of a counter to the block; for a by-reference counter, the address of the value.
    pub(super) fn set(&self, counter_id: u32, value: u64) {
        if let Some(word) = self.word(counter_id) {
            word.store(value, Relaxed);
        }
    }

    /// Adds to the value of a counter in the block.
    pub(super) fn add(&self, counter_id: u32, amount: u64) {
        if let Some(word) = self.word(counter_id) {
            word.fetch_add(amount, Relaxed);
        }
    }

    fn word(&self, counter_id: u32) -> Option<&AtomicU64> {
        let index = self.ids.iter().position(|id| *id == counter_id)?;
        self.words.get(HEADER_WORDS + index)
    }
}
