//! Where a run stores the values of each row.

use std::ops::Range;

/// The slots of a run: the places in each sample that have the values of one row.
///
/// At first, each row is in the slot of its number. If instances appear or end within a run, the others keep their slots,
/// and a new one gets a slot that no other row of the run had.
#[derive(Default)]
pub(super) struct Slots {
    /// The number of slots of each sample.
    len: usize,
    /// The slots in use so far, once rows have moved; empty as long as each row is in the slot of its number.
    used: Vec<Slot>,
    /// The slot of each row, once rows have moved.
    of_rows: Vec<usize>,
    /// The number of rows.
    rows: usize,
    /// Whether a change of the instances needed more slots than there were. Then the next runs have spare slots.
    needs_spare: bool,
}

/// A slot that has had a row.
#[derive(Clone, Copy)]
struct Slot {
    /// The row, unless its instance has ended.
    row: Option<usize>,
    /// The index in the run of the first sample that has the row.
    first_sample: usize,
}

/// The values of a series in a run: its row, and the index of its first sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(in super::super) struct StoredRow {
    pub(in super::super) row: usize,
    pub(in super::super) first_sample: usize,
}

/// Rows that are in consecutive slots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) rows: Range<usize>,
    pub(super) first_slot: usize,
}

impl Slots {
    /// Begins a run of this many rows.
    pub(super) fn start(&mut self, rows: usize) {
        self.used.clear();
        self.of_rows.clear();
        self.rows = rows;
        self.len = if self.needs_spare { rows + rows / 4 + 8 } else { rows };
    }

    /// The number of slots of each sample.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    /// The number of slots that have had a row.
    pub(super) fn used(&self) -> usize {
        if self.used.is_empty() { self.rows } else { self.used.len() }
    }

    /// The number of rows.
    pub(super) fn rows(&self) -> usize {
        self.rows
    }

    /// The slot of a row.
    pub(super) fn of_row(&self, row: usize) -> usize {
        self.of_rows.get(row).copied().unwrap_or(row)
    }

    /// The row in a slot; `None` if its instance has ended.
    pub(super) fn row_in(&self, slot: usize) -> Option<StoredRow> {
        let Some(slot) = self.used.get(slot) else {
            return (slot < self.used()).then_some(StoredRow { row: slot, first_sample: 0 });
        };
        slot.row.map(|row| StoredRow { row, first_sample: slot.first_sample })
    }

    /// The rows in pieces that are in consecutive slots, in the order of the rows.
    pub(super) fn pieces(&self) -> impl Iterator<Item = Piece> {
        let (mut next, rows) = (0, self.rows);
        std::iter::from_fn(move || {
            let first = next;
            let first_slot = (first < rows).then(|| self.of_row(first))?;
            next = match self.of_rows.get(first..) {
                Some(slots) if !slots.is_empty() => {
                    let follow =
                        slots.iter().zip(first_slot..).take_while(|(slot, expected)| *slot == expected);
                    first + follow.count()
                }
                _ => rows,
            };
            Some(Piece { rows: first..next, first_slot })
        })
    }

    /// Whether there are slots for this many more rows. If not, the next runs have spare slots.
    pub(super) fn have_room_for(&mut self, new_rows: usize) -> bool {
        let has_room = self.used() + new_rows <= self.len;
        self.needs_spare |= !has_room;
        has_room
    }

    /// Replaces the rows, after `samples` samples. `rows_before` has the former row of each new row that continues one.
    ///
    /// Returns false and changes nothing if there are not enough slots: then the caller must end the run.
    pub(super) fn change_rows(&mut self, rows_before: &[Option<usize>], samples: usize) -> bool {
        if !self.have_room_for(rows_before.iter().filter(|row| row.is_none()).count()) {
            return false;
        }
        if self.used.is_empty() {
            self.used = (0..self.rows).map(|row| Slot { row: Some(row), first_sample: 0 }).collect();
        }
        let mut next = self.used.len();
        let of_rows = rows_before.iter().map(|before| {
            before.map(|row| self.of_row(row)).unwrap_or_else(|| {
                next += 1;
                next - 1
            })
        });
        let of_rows: Vec<_> = of_rows.collect();
        self.used.iter_mut().for_each(|slot| slot.row = None);
        self.used.resize(next, Slot { row: None, first_sample: samples });
        of_rows.iter().enumerate().for_each(|(row, slot)| self.used[*slot].row = Some(row));
        self.rows = of_rows.len();
        self.of_rows = of_rows;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_keep_their_slots() {
        let mut slots = Slots::default();
        slots.start(3);
        let pieces = |slots: &Slots| -> Vec<_> {
            slots.pieces().map(|piece| (piece.rows, piece.first_slot)).collect()
        };
        assert_eq!(pieces(&slots), [(0..3, 0)]);
        assert_eq!(slots.row_in(2), Some(StoredRow { row: 2, first_sample: 0 }));
        assert_eq!(slots.row_in(3), None);
        // There is no slot for one more row. The next run has spare ones.
        assert!(!slots.change_rows(&[Some(0), Some(1), Some(2), None], 5));
        slots.start(3);
        assert!(slots.change_rows(&[Some(0), None, Some(2)], 5));
        assert_eq!(pieces(&slots), [(0..1, 0), (1..2, 3), (2..3, 2)]);
        assert_eq!(slots.row_in(1), None);
        assert_eq!(slots.row_in(3), Some(StoredRow { row: 1, first_sample: 5 }));
        assert!(slots.change_rows(&[Some(2), Some(1)], 7));
        assert_eq!(pieces(&slots), [(0..2, 2)]);
        assert_eq!((slots.used(), slots.rows()), (4, 2));
        assert_eq!(slots.row_in(0), None);
        assert_eq!(slots.row_in(2), Some(StoredRow { row: 0, first_sample: 0 }));
        assert!(slots.change_rows(&[], 8));
        assert_eq!(pieces(&slots), []);
        assert_eq!((0..4).filter_map(|slot| slots.row_in(slot)).count(), 0);
    }
}
