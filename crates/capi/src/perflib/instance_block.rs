//! An instance as its program sees it: a block in the layout of `PERF_COUNTERSET_INSTANCE`.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use tachograph_publish::dynamic::Instance;
use tachograph_shm::{Description, Guid};

/// Words of the fixed part, which is 32 bytes long.
const HEAD_WORDS: usize = 4;

/// An instance and its block, whose address the program has. The values in the block are copies for the program to look at;
/// what is published is the [`Instance`]'s.
#[derive(Debug)]
pub(super) struct InstanceBlock {
    words: Box<[AtomicU64]>,
    /// The set's counters in the order of their values.
    ids: Arc<[u32]>,
    pub(super) instance: Arc<Instance>,
    pub(super) set: Guid,
    pub(super) name: String,
    pub(super) id: u32,
}

/// The ids of a set's counters, in the order of the template.
pub(super) fn ids_of(description: &Description) -> Arc<[u32]> {
    description.counters.iter().map(|counter| counter.id).collect()
}

impl InstanceBlock {
    /// The block of an instance: the fixed part, 8 bytes for each counter, the name with its zero; a multiple of 8.
    pub(super) fn new(set: Guid, name: String, id: u32, ids: Arc<[u32]>, instance: Arc<Instance>) -> Self {
        let text: Vec<u8> = name.encode_utf16().chain([0]).flat_map(u16::to_le_bytes).collect();
        let name_offset = (HEAD_WORDS + ids.len()) * 8;
        let size = (name_offset + text.len()).next_multiple_of(8);
        let mut bytes = Vec::with_capacity(size);
        bytes.extend(set.to_bytes());
        // At most 65,536 counters and 1,024 characters.
        for number in [size as u32, id, name_offset as u32, text.len() as u32] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.resize(name_offset, 0);
        bytes.extend(text);
        bytes.resize(size, 0);
        let words = bytes
            .chunks_exact(8)
            .map(|word| AtomicU64::new(u64::from_le_bytes(word.try_into().unwrap_or_default())));
        Self { words: words.collect(), ids, instance, set, name, id }
    }

    /// The address of the block.
    pub(super) fn address(&self) -> *const AtomicU64 {
        self.words.as_ptr()
    }

    /// Shows the program a counter's value, or its address.
    pub(super) fn show(&self, counter_id: u32, value: u64) {
        if let Some(place) = self.ids.iter().position(|id| *id == counter_id) {
            self.words[HEAD_WORDS + place].store(value, Relaxed);
        }
    }

    /// Shows the program that a counter's value grew by this much.
    pub(super) fn show_more(&self, counter_id: u32, amount: u64) {
        if let Some(place) = self.ids.iter().position(|id| *id == counter_id) {
            self.words[HEAD_WORDS + place].fetch_add(amount, Relaxed);
        }
    }
}
