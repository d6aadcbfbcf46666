//! The instances of a file, kept from one collection to the next.

use std::sync::Arc;

use tachograph_shm::Instance;

use super::names::clean_up;
use crate::InstanceKey;

/// The keys of a file's instances in the order of their slots, so that nothing is made anew for one that stays.
///
/// As long as nobody comes or goes, a list is gone through, and that is all. At the first difference those that are there
/// are taken over into another list.
#[derive(Debug, Default)]
pub(super) struct Keys {
    before: Vec<Known>,
    /// Those of now, once they are not those of before.
    now: Vec<Known>,
    has_changed: bool,
    /// How many of `before` were looked at.
    passed: usize,
    name: String,
    has_left: bool,
    /// Whether an instance was passed over whose name was not whole.
    has_nameless: bool,
}

#[derive(Debug)]
struct Known {
    number: u64,
    slot: usize,
    /// Nothing once it was taken over.
    key: Option<Arc<InstanceKey>>,
}

impl Keys {
    /// Begins to go through the instances.
    pub(super) fn begin(&mut self) {
        self.now.clear();
        self.has_changed = false;
        self.passed = 0;
        // Who was passed over comes with what it counted before.
        self.has_left = std::mem::take(&mut self.has_nameless);
    }

    /// The key of the next instance: the one from before, or one that `make` makes of the instance's name. Nothing where the
    /// name cannot be read whole now; the next time it is tried again.
    #[inline]
    pub(super) fn next(
        &mut self,
        instance: &Instance<'_>,
        make: impl FnOnce(&str) -> InstanceKey,
    ) -> Option<&Arc<InstanceKey>> {
        let is_it = |known: &Known| known.slot == instance.slot() && known.number == instance.number();
        if self.has_changed || !self.before.get(self.passed).is_some_and(is_it) {
            return self.next_of_change(instance, make);
        }
        let known = &self.before[self.passed];
        self.passed += 1;
        known.key.as_ref()
    }

    #[inline(never)]
    fn next_of_change(
        &mut self,
        instance: &Instance<'_>,
        make: impl FnOnce(&str) -> InstanceKey,
    ) -> Option<&Arc<InstanceKey>> {
        self.change();
        let (slot, number) = (instance.slot(), instance.number());
        // In the order of the slots: what is passed by is gone.
        while let Some(known) = self.before.get(self.passed)
            && known.slot < slot
        {
            self.passed += 1;
            self.has_left = true;
        }
        let key = match self.before.get_mut(self.passed) {
            Some(known) if known.slot == slot => {
                self.passed += 1;
                let is_it = known.number == number;
                self.has_left |= !is_it;
                if is_it { known.key.take() } else { None }
            }
            _ => None,
        };
        let key = match key {
            Some(key) => key,
            None if instance.name_into(&mut self.name) => {
                clean_up(&mut self.name);
                Arc::new(make(&self.name))
            }
            None => {
                self.has_nameless = true;
                return None;
            }
        };
        let place = self.now.len();
        self.now.push(Known { number, slot, key: None });
        Some(self.now[place].key.insert(key))
    }

    /// From here on the instances are not those of before.
    fn change(&mut self) {
        if !self.has_changed {
            self.has_changed = true;
            self.now.extend(self.before.drain(..self.passed));
            self.passed = 0;
        }
    }

    /// Forgets the last instance: it ended while it was read.
    pub(super) fn take_back(&mut self) {
        self.change();
        self.has_left |= self.now.pop().is_some();
    }

    /// Ends going through the instances; whether one of those before is gone.
    pub(super) fn end(&mut self) -> bool {
        self.has_left |= self.passed < self.before.len();
        if self.has_changed {
            std::mem::swap(&mut self.before, &mut self.now);
            self.passed = self.before.len();
            self.has_changed = false;
        }
        self.before.truncate(self.passed);
        self.has_left
    }

    /// How many there are, as far as they were gone through.
    #[inline]
    pub(super) fn len(&self) -> usize {
        if self.has_changed { self.now.len() } else { self.passed }
    }
}

/// What tells an instance from every other that there ever was: of the random number of its file and its own number in
/// it. Never 0.
pub(super) fn identity(unique: u64, number: u64) -> u64 {
    // The finaliser of MurmurHash3 spreads what differs in few bits; both steps can be undone, so that two instances of one
    // file never have the same identity.
    let mut mixed = unique ^ number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    for factor in [0xFF51_AFD7_ED55_8CCD, 0xC4CE_B9FE_1A85_EC53_u64] {
        mixed = (mixed ^ mixed >> 33).wrapping_mul(factor);
    }
    mixed ^= mixed >> 33;
    mixed.max(1)
}
