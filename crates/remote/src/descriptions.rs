//! Descriptions of counter sets. Machines share equal ones, because the agents of a fleet have largely the same sets.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, Weak};

use tachograph_perflib::IgnorePoison;
use tachograph_perflib::registration::{CounterSetInfo, decode_description};

/// Maximum total size of the shared descriptions in bytes, as received.
const MAX_BYTES: usize = 16 << 20;

/// The descriptions in use.
#[derive(Default)]
struct Descriptions {
    /// The descriptions by their received bytes. The second map is for sets that have an instance per process.
    by_bytes: [HashMap<Box<[u8]>, Weak<CounterSetInfo>>; 2],
    /// The total size of all keys in bytes.
    bytes: usize,
    /// When `bytes` would exceed this, descriptions that are no longer in use are removed.
    cleanup_bytes: usize,
}

static DESCRIPTIONS: Mutex<Option<Descriptions>> = Mutex::new(None);

/// Decodes a description, unless the same bytes were decoded before and the description is still in use.
pub(crate) fn decode(bytes: &[u8], is_per_process: bool) -> Result<Arc<CounterSetInfo>, impl fmt::Display> {
    if let Some(known) =
        DESCRIPTIONS.lock().ignore_poison().get_or_insert_default().find(bytes, is_per_process)
    {
        return Ok(known);
    }
    decode_description(bytes).map(|mut info| {
        info.is_per_process = is_per_process;
        DESCRIPTIONS.lock().ignore_poison().get_or_insert_default().share(bytes, Arc::new(info))
    })
}

impl Descriptions {
    fn find(&self, bytes: &[u8], is_per_process: bool) -> Option<Arc<CounterSetInfo>> {
        self.by_bytes[usize::from(is_per_process)].get(bytes)?.upgrade()
    }

    /// Returns the description with the same bytes that is in use. Without one, shares `info` and returns it.
    fn share(&mut self, bytes: &[u8], info: Arc<CounterSetInfo>) -> Arc<CounterSetInfo> {
        let is_per_process = info.is_per_process;
        if let Some(known) = self.find(bytes, is_per_process) {
            return known;
        }
        if self.bytes + bytes.len() > self.cleanup_bytes {
            self.by_bytes.iter_mut().for_each(|map| map.retain(|_, info| info.strong_count() > 0));
            self.bytes = self.by_bytes.iter().flat_map(HashMap::keys).map(|key| key.len()).sum();
            self.cleanup_bytes = (2 * self.bytes + (1 << 20)).min(MAX_BYTES);
        }
        if self.bytes + bytes.len() <= self.cleanup_bytes {
            let map = &mut self.by_bytes[usize::from(is_per_process)];
            if map.insert(bytes.into(), Arc::downgrade(&info)).is_none() {
                self.bytes += bytes.len();
            }
        }
        info
    }
}

#[cfg(test)]
mod tests {
    use tachograph_perflib::Guid;
    use tachograph_perflib::registration::{InstanceType, encode_description};

    use super::*;

    fn info(guid: u128, name: &str) -> Arc<CounterSetInfo> {
        Arc::new(CounterSetInfo::new(name, Guid::from_u128(guid), InstanceType::Single))
    }

    #[test]
    fn equal_descriptions_are_shared_while_they_are_in_use() {
        let mut descriptions = Descriptions::default();
        let mut share = |info: Arc<CounterSetInfo>| descriptions.share(&encode_description(&info), info);
        let first = share(info(1, "A"));
        assert!(Arc::ptr_eq(&first, &share(info(1, "A"))));
        let other = share(info(1, "B"));
        assert_eq!((&*first.name, &*other.name), ("A", "B"));
        assert!(Arc::ptr_eq(&other, &share(info(1, "B"))));
        let mut per_process = CounterSetInfo::clone(&first);
        per_process.is_per_process = true;
        let per_process = share(Arc::new(per_process));
        assert!(per_process.is_per_process && !share(info(1, "A")).is_per_process);
        drop((first, other));
        let again = share(info(1, "A"));
        assert_eq!(Arc::strong_count(&again), 1);
    }

    #[test]
    fn shared_descriptions_take_bounded_memory() {
        let mut descriptions = Descriptions::default();
        let in_use = descriptions.share(b"0", info(1, "A"));
        // Descriptions that are no longer in use are removed.
        for index in 0..10_000_u32 {
            let bytes = [index.to_le_bytes().as_slice(), &[0; 1000]].concat();
            descriptions.share(&bytes, info(2, "B"));
        }
        assert!(descriptions.bytes <= 2 << 20, "{}", descriptions.bytes);
        assert!(Arc::ptr_eq(&in_use, &descriptions.share(b"0", info(1, "A"))));
        let mut kept = Vec::new();
        for index in 0..100_u32 {
            let bytes = vec![index as u8; 1 << 20];
            kept.push(descriptions.share(&bytes, info(3, "C")));
        }
        assert!(descriptions.bytes <= MAX_BYTES, "{}", descriptions.bytes);
        let total: usize = descriptions.by_bytes.iter().flat_map(HashMap::keys).map(|key| key.len()).sum();
        assert_eq!(total, descriptions.bytes);
        assert!(descriptions.find(&vec![0; 1 << 20], false).is_some());
    }
}
