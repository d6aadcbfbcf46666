//! A ring buffer whose oldest items can be held.

use std::collections::VecDeque;

use crate::live::MAX_POINTS;

/// Maximum number of held items. No chart shows more, even if its interval becomes longer while samples are held.
const MAX_HELD: usize = MAX_POINTS + 1;

/// Keeps the last items, oldest first. [Held](Self::hold) items stay while later ones are added and dropped.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
    /// Capacity for items that are not held.
    room: usize,
    /// Number of held items, which are the first ones.
    held_count: usize,
}

impl<T> Ring<T> {
    /// An empty ring with a capacity of at least one.
    pub fn new(room: usize) -> Self {
        Self { items: VecDeque::new(), room: room.max(1), held_count: 0 }
    }

    /// Adds the newest item, and drops items beyond the capacity.
    pub fn push(&mut self, item: T) -> &T {
        self.items.push_back(item);
        self.make_room(0);
        &self.items[self.items.len() - 1]
    }

    /// Drops the oldest items until there is room for `further` new ones. Returns one of the dropped items, so that its
    /// memory can be reused.
    pub fn make_room(&mut self, further: usize) -> Option<T> {
        let mut dropped = None;
        while self.held_count > MAX_HELD {
            dropped = self.items.pop_front();
            self.held_count -= 1;
        }
        while self.items.len() - self.held_count > self.room.saturating_sub(further) {
            dropped = self.items.remove(self.held_count);
        }
        dropped
    }

    /// Drops the oldest item that is not held. If at most `min` items are not held, drops the oldest held item instead, or
    /// nothing if none is held. Returns the dropped item and the index that it had.
    pub fn drop_oldest(&mut self, min: usize) -> Option<(usize, T)> {
        if self.items.len() - self.held_count > min {
            return Some((self.held_count, self.items.remove(self.held_count)?));
        }
        self.held_count = self.held_count.checked_sub(1)?;
        Some((0, self.items.pop_front()?))
    }

    /// Changes the capacity, to at least one.
    pub fn set_room(&mut self, room: usize) {
        self.room = room.max(1);
        self.make_room(0);
    }

    /// Holds the newest item for which `is_last` is true, and all items before it, until [`release`](Self::release). Holds up
    /// to [`MAX_POINTS`] + 1 items, which do not count towards the capacity. Items already held stay held.
    pub fn hold(&mut self, is_last: impl Fn(&T) -> bool) {
        if let Some(index) = self.items.iter().rposition(is_last) {
            self.held_count = self.held_count.max(index + 1);
            self.make_room(0);
        }
    }

    /// Releases all held items.
    pub fn release(&mut self) {
        self.held_count = 0;
        self.make_room(0);
    }

    /// All items, oldest first.
    pub fn iter(&self) -> std::collections::vec_deque::Iter<'_, T> {
        self.items.iter()
    }

    /// All items, oldest first, mutable.
    pub fn iter_mut(&mut self) -> std::collections::vec_deque::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// The oldest item.
    pub fn oldest(&self) -> Option<&T> {
        self.items.front()
    }

    /// The newest item.
    pub fn newest(&self) -> Option<&T> {
        self.items.back()
    }

    /// The number of leading items for which `is_before` is true; the items must be partitioned by it.
    pub fn partition_point(&self, is_before: impl Fn(&T) -> bool) -> usize {
        self.items.partition_point(is_before)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(ring: &Ring<usize>) -> Vec<usize> {
        ring.iter().copied().collect()
    }

    fn push(ring: &mut Ring<usize>, numbers: impl IntoIterator<Item = usize>) {
        for number in numbers {
            assert_eq!(*ring.push(number), number);
        }
    }

    #[test]
    fn the_newest_items_are_kept() {
        let mut ring = Ring::new(3);
        push(&mut ring, 0..5);
        assert_eq!(numbers(&ring), [2, 3, 4]);
        assert_eq!((ring.make_room(1), numbers(&ring)), (Some(2), vec![3, 4]));
        ring.set_room(1);
        assert_eq!(numbers(&ring), [4]);
    }

    #[test]
    fn held_items_are_kept_until_released() {
        let mut ring = Ring::new(3);
        push(&mut ring, 0..5);
        ring.hold(|number| *number == 3);
        push(&mut ring, 5..100);
        assert_eq!(numbers(&ring), [2, 3, 97, 98, 99]);
        ring.hold(|number| *number == 98);
        ring.hold(|number| *number == 2);
        ring.set_room(2);
        push(&mut ring, 100..200);
        assert_eq!(numbers(&ring), [2, 3, 97, 98, 198, 199]);
        ring.release();
        assert_eq!(numbers(&ring), [198, 199]);
    }

    #[test]
    fn items_are_dropped_one_by_one() {
        let mut ring = Ring::new(5);
        push(&mut ring, 0..5);
        ring.hold(|number| *number == 1);
        assert_eq!(ring.drop_oldest(2), Some((2, 2)));
        assert_eq!(ring.drop_oldest(2), Some((0, 0)), "only two are not held");
        assert_eq!(ring.drop_oldest(2), Some((0, 1)));
        assert_eq!((ring.drop_oldest(2), numbers(&ring)), (None, vec![3, 4]));
    }

    #[test]
    fn held_items_are_bounded() {
        let mut ring = Ring::new(10);
        for number in 0..10 * MAX_POINTS {
            ring.push(number);
            ring.hold(|held| *held == number);
        }
        // The newest item is held too.
        assert_eq!(ring.iter().len(), MAX_HELD);
        assert_eq!(ring.newest(), Some(&(10 * MAX_POINTS - 1)));
    }
}
