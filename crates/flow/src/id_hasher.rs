//! A hash function for ids of instances.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// A map whose keys are [`Instance::id`](tachograph_counters::set::Instance::id)s.
pub(crate) type MapById<V> = HashMap<u32, V, BuildHasherDefault<IdHasher>>;

/// Ids are numbered from 0, so no input can choose ids whose hashes collide, and a multiplication is enough to hash them. The
/// stage that looks up each instance of each sample would otherwise spend a tenth of the time of `stats` on hashing.
#[derive(Default)]
pub(crate) struct IdHasher(u64);

/// 2 to the power of 64, divided by the golden ratio, odd: spreads consecutive numbers over the high bits, from which the map takes
/// a part of the hash. The low bits of consecutive numbers stay distinct.
const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

impl Hasher for IdHasher {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(FACTOR));
    }

    fn write_u32(&mut self, id: u32) {
        self.0 = u64::from(id).wrapping_mul(FACTOR);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
