//! The statistics of one series in the buckets of an index.

use tachograph_counters::{PackedStatistics, Packing, Statistics};

use crate::reduced::merge;
use crate::series::SeriesId;

/// Memory of one series' statistics in one bucket, if they are packed.
pub(super) const CELL_BYTES: usize = size_of::<Cell>();

/// The statistics of one series: a cell for each bucket in which the series has values, in order.
pub(super) struct IndexedSeries {
    pub(super) id: SeriesId,
    /// How states are packed. Replaced with each new state until one could be packed, because the first states may contain
    /// no value.
    packing: Option<Packing>,
    /// Whether a cell is packed, so that `packing` must not change any more.
    has_packed: bool,
    cells: Vec<Cell>,
    /// Bytes used by unpacked states.
    unpacked_bytes: usize,
}

/// The statistics of a series in one bucket.
struct Cell {
    /// The index of the bucket.
    bucket: u32,
    state: State,
}

/// Statistics in a cell. Most contain only values that can be packed.
enum State {
    Packed(PackedStatistics),
    Unpacked(Box<Statistics>),
}

/// Statistics that are borrowed from a cell.
#[derive(Clone, Copy)]
pub(crate) enum StoredState<'a> {
    Packed(&'a Packing, &'a PackedStatistics),
    Unpacked(&'a Statistics),
}

impl StoredState<'_> {
    pub(crate) fn merge_into(self, state: &mut Statistics) {
        match self {
            Self::Packed(packing, packed) => packing.merge(state, packed),
            Self::Unpacked(unpacked) => merge(state, unpacked),
        }
    }

    pub(crate) fn to_state(self) -> Statistics {
        match self {
            Self::Packed(packing, packed) => packing.unpack(packed),
            Self::Unpacked(unpacked) => unpacked.clone(),
        }
    }
}

impl IndexedSeries {
    pub(super) fn new(id: SeriesId) -> Self {
        Self { id, packing: None, has_packed: false, cells: Vec::new(), unpacked_bytes: 0 }
    }

    /// Adds a state to the last bucket or to a later one. Returns by how many bytes the series has grown.
    pub(super) fn add(&mut self, bucket: u32, state: Statistics) -> usize {
        let before = self.bytes();
        let packing = match &mut self.packing {
            Some(packing) if self.has_packed => packing,
            other => other.insert(Packing::for_statistics(&state)),
        };
        match self.cells.last_mut().filter(|cell| cell.bucket == bucket) {
            Some(cell) => cell.merge(packing, StoredState::Unpacked(&state), &mut self.unpacked_bytes),
            None => {
                let state = State::new(state, packing, &mut self.unpacked_bytes);
                self.has_packed |= matches!(state, State::Packed(_));
                self.cells.push(Cell { bucket, state });
            }
        }
        self.bytes().saturating_sub(before)
    }

    /// Merges each pair of neighbouring buckets, so bucket `n` becomes a part of bucket `n / 2`.
    pub(super) fn merge_pairs(&mut self) {
        let Self { packing: Some(packing), cells, unpacked_bytes, .. } = self else { return };
        cells.dedup_by(|later, earlier| {
            let is_same = later.bucket / 2 == earlier.bucket / 2;
            if is_same {
                earlier.merge(packing, later.to_stored(packing), unpacked_bytes);
                later.state.subtract_bytes(unpacked_bytes);
            }
            is_same
        });
        cells.iter_mut().for_each(|cell| cell.bucket /= 2);
    }

    pub(super) fn bytes(&self) -> usize {
        self.cells.len() * CELL_BYTES + self.unpacked_bytes
    }

    pub(super) fn cursor_from(&self, bucket: usize) -> Option<CellCursor<'_>> {
        let from = self.cells.partition_point(|cell| (cell.bucket as usize) < bucket);
        Some(CellCursor { packing: self.packing.as_ref()?, cells: &self.cells[from..] })
    }
}

/// A position in the cells of a series.
pub(super) struct CellCursor<'a> {
    packing: &'a Packing,
    cells: &'a [Cell],
}

impl<'a> CellCursor<'a> {
    /// The statistics of one bucket; buckets must be requested in ascending order.
    pub(super) fn bucket_statistics(&mut self, bucket: usize) -> Option<StoredState<'a>> {
        while let Some((cell, rest)) = self.cells.split_first() {
            if cell.bucket as usize > bucket {
                break;
            }
            self.cells = rest;
            if cell.bucket as usize == bucket {
                return Some(cell.to_stored(self.packing));
            }
        }
        None
    }
}

impl Cell {
    fn to_stored<'a>(&'a self, packing: &'a Packing) -> StoredState<'a> {
        match &self.state {
            State::Packed(packed) => StoredState::Packed(packing, packed),
            State::Unpacked(unpacked) => StoredState::Unpacked(unpacked),
        }
    }

    fn merge(&mut self, packing: &Packing, other: StoredState<'_>, unpacked_bytes: &mut usize) {
        match &mut self.state {
            State::Unpacked(unpacked) => other.merge_into(unpacked),
            State::Packed(packed) => {
                let mut state = packing.unpack(packed);
                other.merge_into(&mut state);
                self.state = State::new(state, packing, unpacked_bytes);
            }
        }
    }
}

impl State {
    fn new(state: Statistics, packing: &Packing, unpacked_bytes: &mut usize) -> Self {
        match packing.pack(&state) {
            Some(packed) => Self::Packed(packed),
            None => {
                *unpacked_bytes += size_of::<Statistics>();
                Self::Unpacked(Box::new(state))
            }
        }
    }

    fn subtract_bytes(&self, unpacked_bytes: &mut usize) {
        if let Self::Unpacked(_) = self {
            *unpacked_bytes -= size_of::<Statistics>();
        }
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::civil::{FileTime, Moment};
    use tachograph_counters::{Calculator, CounterType, Intervals, RawValue, Series, Statistics};

    use super::{CELL_BYTES, IndexedSeries};
    use crate::series::SeriesId;

    /// The first bucket of a log can be a single sample, which only opens the first interval of a rate.
    #[test]
    fn all_but_the_first_state_are_packed() {
        for kind in [CounterType::BULK_COUNT, CounterType::AVERAGE_TIMER, CounterType::LARGE_RAWCOUNT] {
            let calculator = Calculator::new(kind, 1000);
            let empty = Statistics::new(calculator.formula(), Intervals::All, None).without_quantiles();
            let (mut series, mut indexed) = (Series::new(empty), IndexedSeries::new(SeriesId(0)));
            let mut whole = None;
            for bucket in 0..8_i64 {
                let at = Moment { utc: FileTime(bucket * 10_000), bias_minutes: 0 };
                let raw = RawValue::new(bucket * bucket, bucket * 1000);
                series.add(&calculator, &raw, at);
                let state = series.cut();
                match &mut whole {
                    Some(whole) => crate::reduced::merge(whole, &state),
                    None => whole = Some(state.clone()),
                }
                indexed.add(bucket as u32, state);
            }
            let opening = size_of::<Statistics>();
            assert!(indexed.bytes() <= 8 * CELL_BYTES + opening, "{kind}: {} bytes", indexed.bytes());
            (0..3).for_each(|_| indexed.merge_pairs());
            assert!(indexed.bytes() <= CELL_BYTES + opening, "{kind}");
            let stored =
                indexed.cursor_from(0).and_then(|mut cells| cells.bucket_statistics(0)).expect("one cell");
            assert_eq!(Some(stored.to_state().summary()), whole.map(|whole| whole.summary()), "{kind}");
        }
    }

    /// The smaller a cell, the more buckets fit, and the faster is a chart of a long log.
    #[test]
    fn a_cell_is_small() {
        assert_eq!(CELL_BYTES, 72);
    }
}
