//! Caches the keys of a file's instances from one collection to the next.

use std::sync::Arc;

use tachograph_shm::Instance;

use super::names::clean_in_place;
use crate::InstanceKey;

/// The keys of a file's instances, in the order of their slots.
///
/// While the instances are the same as in the previous collection, `before` is only traversed. At the first
/// difference, the keys visited so far are moved to `now`, where the remaining keys are added.
#[derive(Debug, Default)]
pub(super) struct InstanceKeys {
    /// The keys of the previous collection.
    previous_keys: Vec<CachedKey>,
    /// All keys of this collection, if they differ from `before`.
    current_keys: Vec<CachedKey>,
    /// Whether a difference from `before` was found.
    has_changed: bool,
    /// The number of keys in `before` that were visited.
    visited: usize,
    /// A reused buffer for names.
    name: String,
    /// Whether an instance of the previous collection has ended.
    is_any_gone: bool,
    /// Whether an instance was skipped because its name could not be read.
    has_nameless: bool,
}

/// The key of an instance, with the slot and the serial number of the instance in the file.
#[derive(Debug)]
struct CachedKey {
    serial: u64,
    slot: usize,
    /// `None` after the key was moved to `now`.
    key: Option<Arc<InstanceKey>>,
}

impl InstanceKeys {
    /// Starts a traversal of the instances.
    pub(super) fn begin(&mut self) {
        self.current_keys.clear();
        self.has_changed = false;
        self.visited = 0;
        // An instance that was skipped last time may now appear with values that it counted earlier. The total then
        // cannot be compared with earlier totals, as if an instance were gone.
        self.is_any_gone = std::mem::take(&mut self.has_nameless);
    }

    /// The key of the next instance: the cached key, or a new one that `make_key` creates from the instance's name.
    /// `None` if the name cannot be read now; the next traversal will try again.
    #[inline]
    pub(super) fn next(
        &mut self,
        instance: &Instance<'_>,
        make_key: impl FnOnce(&str) -> InstanceKey,
    ) -> Option<&Arc<InstanceKey>> {
        let matches = |known: &CachedKey| known.slot == instance.slot() && known.serial == instance.serial();
        if self.has_changed || !self.previous_keys.get(self.visited).is_some_and(matches) {
            return self.next_changed(instance, make_key);
        }
        let known = &self.previous_keys[self.visited];
        self.visited += 1;
        known.key.as_ref()
    }

    #[inline(never)]
    fn next_changed(
        &mut self,
        instance: &Instance<'_>,
        make_key: impl FnOnce(&str) -> InstanceKey,
    ) -> Option<&Arc<InstanceKey>> {
        self.switch_to_current_keys();
        let (slot, serial) = (instance.slot(), instance.serial());
        // Slots are visited in order, so instances with lower slots that were not visited are gone.
        while let Some(known) = self.previous_keys.get(self.visited)
            && known.slot < slot
        {
            self.visited += 1;
            self.is_any_gone = true;
        }
        let key = match self.previous_keys.get_mut(self.visited) {
            Some(known) if known.slot == slot => {
                self.visited += 1;
                let matches = known.serial == serial;
                self.is_any_gone |= !matches;
                if matches { known.key.take() } else { None }
            }
            _ => None,
        };
        let key = match key {
            Some(key) => key,
            None if instance.read_name(&mut self.name) => {
                clean_in_place(&mut self.name);
                Arc::new(make_key(&self.name))
            }
            None => {
                self.has_nameless = true;
                return None;
            }
        };
        let index = self.current_keys.len();
        self.current_keys.push(CachedKey { serial, slot, key: None });
        Some(self.current_keys[index].key.insert(key))
    }

    /// Switches to `now`, because the next instance differs from `before`.
    fn switch_to_current_keys(&mut self) {
        if !self.has_changed {
            self.has_changed = true;
            self.current_keys.extend(self.previous_keys.drain(..self.visited));
            self.visited = 0;
        }
    }

    /// Removes the last instance, because it ended while it was being read.
    pub(super) fn pop(&mut self) {
        self.switch_to_current_keys();
        self.is_any_gone |= self.current_keys.pop().is_some();
    }

    /// Ends the traversal. Returns whether an instance of the previous collection is gone.
    pub(super) fn end(&mut self) -> bool {
        self.is_any_gone |= self.visited < self.previous_keys.len();
        if self.has_changed {
            std::mem::swap(&mut self.previous_keys, &mut self.current_keys);
            self.visited = self.previous_keys.len();
            self.has_changed = false;
        }
        self.previous_keys.truncate(self.visited);
        self.is_any_gone
    }

    /// The number of instances traversed so far.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.has_changed { self.current_keys.len() } else { self.visited }
    }
}

/// The identity of an instance, computed from the random number of its file and the instance's serial number in the
/// file. It is never 0 and never reused.
pub(super) fn identity(unique: u64, serial: u64) -> u64 {
    // The finalizer of MurmurHash3 is invertible, so two instances of a file never have the same identity.
    let mut mixed = unique ^ serial.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53_u64] {
        mixed = (mixed ^ mixed >> 33).wrapping_mul(factor);
    }
    mixed ^= mixed >> 33;
    mixed.max(1)
}
