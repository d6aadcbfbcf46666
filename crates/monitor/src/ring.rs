//! The last of what comes, and what is held of it.

use std::collections::VecDeque;

use crate::live::MAX_POINTS;

/// More than any chart shows is not held: the interval of a chart can be made longer while its samples are held.
const MOST_HELD: usize = MAX_POINTS + 1;

/// The last of what comes, oldest first. What is [held](Self::hold) stays while others come and go after it.
#[derive(Clone, Debug)]
pub struct Ring<T> {
    items: VecDeque<T>,
    /// How many there are at most beside those that are held.
    room: usize,
    /// How many are held: the first ones.
    held: usize,
}

impl<T> Ring<T> {
    /// Nothing yet, with room for so many, at least one.
    pub fn new(room: usize) -> Self {
        Self { items: VecDeque::new(), room: room.max(1), held: 0 }
    }

    /// Adds the newest one; forgets those that there is no room for.
    pub fn push(&mut self, item: T) -> &T {
        self.items.push_back(item);
        self.make_room(0);
        &self.items[self.items.len() - 1]
    }

    /// Forgets those that there is no room for beside `further` ones; gives one of them back, whose memory can be used again.
    pub fn make_room(&mut self, further: usize) -> Option<T> {
        let mut gone = None;
        while self.held > MOST_HELD {
            gone = self.items.pop_front();
            self.held -= 1;
        }
        while self.items.len() - self.held > self.room.saturating_sub(further) {
            gone = self.items.remove(self.held);
        }
        gone
    }

    /// Has room for so many from now on, at least one.
    pub fn set_room(&mut self, room: usize) {
        self.room = room.max(1);
        self.make_room(0);
    }

    /// Holds the newest one that `is_last` is true of, and all before it, until they are [let go](Self::release): one more
    /// than [`MAX_POINTS`] at most, beside those that there is room for. What is held already stays so.
    pub fn hold(&mut self, is_last: impl Fn(&T) -> bool) {
        if let Some(place) = self.items.iter().rposition(is_last) {
            self.held = self.held.max(place + 1);
            self.make_room(0);
        }
    }

    /// Lets go of what is held.
    pub fn release(&mut self) {
        self.held = 0;
        self.make_room(0);
    }

    /// All, oldest first.
    pub fn iter(&self) -> std::collections::vec_deque::Iter<'_, T> {
        self.items.iter()
    }

    /// All, oldest first, to be changed.
    pub fn iter_mut(&mut self) -> std::collections::vec_deque::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// The oldest one.
    pub fn oldest(&self) -> Option<&T> {
        self.items.front()
    }

    /// The newest one.
    pub fn newest(&self) -> Option<&T> {
        self.items.back()
    }

    /// How many of the oldest ones `is_before` is true of, where it is true of none after one of which it is not.
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
    fn the_last_ones_stay() {
        let mut ring = Ring::new(3);
        push(&mut ring, 0..5);
        assert_eq!(numbers(&ring), [2, 3, 4]);
        assert_eq!((ring.make_room(1), numbers(&ring)), (Some(2), vec![3, 4]));
        ring.set_room(1);
        assert_eq!(numbers(&ring), [4]);
    }

    #[test]
    fn what_is_held_stays_until_it_is_let_go() {
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
    fn not_everything_is_held_for_ever() {
        let mut ring = Ring::new(10);
        for number in 0..10 * MAX_POINTS {
            ring.push(number);
            ring.hold(|held| *held == number);
        }
        // The newest one is held itself.
        assert_eq!(ring.iter().len(), MOST_HELD);
        assert_eq!(ring.newest(), Some(&(10 * MAX_POINTS - 1)));
    }
}
