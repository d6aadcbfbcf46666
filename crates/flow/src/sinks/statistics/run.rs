//! Runs: the values of a group, collected over several samples.

mod slots;

use std::ops::Range;

use tachograph_counters::civil::Moment;
use tachograph_counters::{RawRun, RawValue, SampleTimes, Status};

use slots::Slots;
pub(super) use slots::StoredRow;

/// The maximum size of a run in bytes, and its maximum number of samples. A series spans several cache lines, and a log can
/// have more series than fit into the cache. The values of a run are added series by series, so each series is loaded once
/// per run and not once per sample.
const MAX_RUN_BYTES: usize = 4 << 20;
const MAX_RUN_SAMPLES: usize = 64;
/// The maximum size in bytes of the runs of all groups together. A text log can have a million groups with one value each.
const MAX_TOTAL_BYTES: usize = 64 << 20;
/// The size in bytes of the parts of a group that are appended column by column. A part fits into the processor's L1 cache.
const PART_BYTES: usize = 16 << 10;
/// The number of rows of a [`Tile`]: as many numbers as fill a cache line.
const TILE_ROWS: usize = 8;

/// Maximum number of samples in a run, given the number of groups and values in a sample.
pub(super) fn max_run_samples(groups: usize, values: usize) -> usize {
    let bytes = groups * size_of::<Moment>() + values * size_of::<RawValue>();
    // Groups of few values need almost as much memory for times as for values.
    let samples = MAX_RUN_SAMPLES * values / (values + groups).max(1);
    samples.min(MAX_TOTAL_BYTES / bytes.max(1)).max(1)
}

/// The values of a group in samples of one log between which the machine's boot time did not change.
///
/// The fields of the raw values are in separate lists: sample after sample, within a sample column after column, and within
/// a column in the [slots](Slots) of the rows. In most columns, all rows have the same second number, usually a time stamp,
/// which is stored once per sample, and the same multiplier and status (their tail), which are stored once per run.
#[derive(Default)]
pub(super) struct Run {
    columns: Vec<Column>,
    slots: Slots,
    /// [`RawValue::first`] of the values. Clearing the run does not shorten this list and the next two; otherwise they would
    /// be filled with zeros again when they grow.
    firsts: Vec<i64>,
    /// [`RawValue::second`] of the values: the second numbers.
    seconds: Vec<i64>,
    tails: Vec<Tail>,
    pub(super) times: SampleTimes,
    /// The index of the last sample.
    pub(super) last_sample_index: u64,
}

/// The multiplier and the status of a raw value.
type Tail = (u32, Status);

/// How the values of a column are stored.
#[derive(Clone, Copy, Default)]
struct Column {
    /// Whether rows have had different values of [`RawValue::second`]. Then each row has its own.
    has_seconds: bool,
    /// Whether rows have had different tails. Then each row has its own.
    has_tails: bool,
    /// Offset of the column's second numbers among those of a sample.
    seconds_at: usize,
    /// Offset of the column's tails among those of a sample, if each row has its own.
    tails_at: usize,
    /// The tail of all values of the run, if rows do not have their own.
    tail: Tail,
}

/// The values of some rows of a column, with one list per row.
struct Tile {
    firsts: [[i64; MAX_RUN_SAMPLES]; TILE_ROWS],
    seconds: [[i64; MAX_RUN_SAMPLES]; TILE_ROWS],
    tails: [[Tail; MAX_RUN_SAMPLES]; TILE_ROWS],
    samples: usize,
    /// Whether all rows have the same values of [`RawValue::second`] as the first row.
    shares_seconds: bool,
    /// The number of tails of each row: 1 or `samples`.
    tail_count: usize,
}

fn tail_of(raw: &RawValue) -> Tail {
    (raw.multi_count, raw.status)
}

impl Run {
    pub(super) fn is_empty(&self) -> bool {
        self.times.is_empty()
    }

    pub(super) fn is_full(&self, max_samples: usize) -> bool {
        let samples = self.times.len();
        let [firsts, seconds, tails] = self.sample_lengths();
        let bytes = samples * (firsts + seconds + tails) * size_of::<i64>();
        samples >= max_samples || bytes >= MAX_RUN_BYTES
    }

    /// The lengths of a sample's parts of `firsts`, `seconds` and `tails`.
    fn sample_lengths(&self) -> [usize; 3] {
        let (seconds, tails) =
            self.columns.last().map(|last| last.next_offsets(self.slots.len())).unwrap_or_default();
        [self.slots.len() * self.columns.len(), seconds, tails]
    }

    /// Appends the values of the group in the sample with this index. `width` is the number of columns.
    ///
    /// Returns false and appends nothing if the rows of a column no longer have the same second number, if a tail differs
    /// from the one that is stored for the column, or if the number of rows has changed. The caller must then clear the run
    /// and push the values again.
    #[must_use]
    pub(super) fn push(&mut self, values: &[RawValue], width: usize, at: Moment, index: u64) -> bool {
        if self.is_empty() {
            self.start(values, width);
        } else if values.len().checked_div(width).unwrap_or_default() != self.slots.rows() {
            return false;
        }
        let samples = self.times.len();
        let lengths = self.sample_lengths();
        let firsts = sample_slice(&mut self.firsts, samples, lengths[0]);
        let seconds = sample_slice(&mut self.seconds, samples, lengths[1]);
        let tails = sample_slice(&mut self.tails, samples, lengths[2]);
        let part_rows = (PART_BYTES / size_of::<RawValue>()).div_ceil(width.max(1));
        let mut are_stored = true;
        for piece in self.slots.pieces() {
            let values = &values[piece.rows.start * width..piece.rows.end * width];
            for (part, values) in values.chunks(part_rows * width.max(1)).enumerate() {
                let from = piece.first_slot + part * part_rows;
                let is_first = piece.rows.start == 0 && part == 0;
                if width > 1 {
                    // Reading a part from its start to its end loads it into the processor's cache faster than column by column.
                    let loaded = values.iter().step_by(2).fold(0, |loaded, raw| loaded | raw.first);
                    std::hint::black_box(loaded);
                }
                for (index, column) in self.columns.iter().enumerate() {
                    let seconds = &mut seconds[column.seconds_at..];
                    if is_first && !column.has_seconds {
                        seconds[0] = values[index].second;
                    }
                    let firsts = &mut firsts[index * self.slots.len() + from..][..values.len() / width];
                    let lists = (firsts, seconds, &mut tails[column.tails_at..]);
                    are_stored &= match width {
                        1 => column.store(values.iter(), from, lists),
                        _ => column.store(values.chunks_exact(width).map(|row| &row[index]), from, lists),
                    };
                }
            }
        }
        if are_stored {
            self.times.push(at);
            self.last_sample_index = index;
        }
        are_stored
    }

    /// Determines how the values of the first sample are stored. A field that has differed once is stored for each row
    /// from then on.
    fn start(&mut self, values: &[RawValue], width: usize) {
        self.slots.start(values.len().checked_div(width).unwrap_or_default());
        self.columns.resize(width, Column::default());
        let (mut seconds_at, mut tails_at) = (0, 0);
        for (index, column) in self.columns.iter_mut().enumerate() {
            let mut raws = values.iter().skip(index).step_by(width);
            if let Some(first) = raws.next() {
                column.tail = tail_of(first);
                for raw in raws {
                    column.has_seconds |= raw.second != first.second;
                    column.has_tails |= tail_of(raw) != column.tail;
                }
            }
            (column.seconds_at, column.tails_at) = (seconds_at, tails_at);
            (seconds_at, tails_at) = column.next_offsets(self.slots.len());
        }
    }

    /// Replaces the rows of the run. `rows_before` has the former row of each new row that continues one; the others begin with
    /// the next sample, and the values of a former row that no new one continues can no longer be read.
    ///
    /// Returns false and changes nothing if the run is empty or has no room: then the caller must clear it.
    #[must_use]
    pub(super) fn change_rows(&mut self, rows_before: &[Option<usize>]) -> bool {
        !self.is_empty() && self.slots.change_rows(rows_before, self.times.len())
    }

    /// Whether the run has room for this many rows that begin with the next sample.
    pub(super) fn has_room_for(&mut self, new_rows: usize) -> bool {
        self.slots.have_room_for(new_rows)
    }

    /// The places of all series, for [`for_each_series`](Self::for_each_series).
    pub(super) fn all_places(&self) -> impl Iterator<Item = Range<usize>> {
        let used = self.slots.used();
        (0..used).step_by(TILE_ROWS).map(move |first| first..used.min(first + TILE_ROWS))
    }

    /// The place of the series of a row, for [`for_each_series`](Self::for_each_series).
    pub(super) fn place_of(&self, row: usize) -> Range<usize> {
        let slot = self.slots.of_row(row);
        slot..slot + 1
    }

    /// Calls `each` with the row, column and values of the series at these places. Series of the rows of a place follow one
    /// another; before them, calls `before` with these rows and the column, unless the run has only one series.
    pub(super) fn for_each_series<S: ?Sized>(
        &self,
        places: impl Iterator<Item = Range<usize>>,
        state: &mut S,
        before: impl Fn(&S, &[Option<StoredRow>], usize),
        mut each: impl FnMut(&mut S, StoredRow, usize, &RawRun<'_>),
    ) {
        if let ([Column { has_tails: false, tail, .. }], 1) = (self.columns.as_slice(), self.slots.len()) {
            let samples = self.times.len();
            let [firsts, seconds] = [&self.firsts, &self.seconds].map(|numbers| &numbers[..samples]);
            for row in places.flatten().filter_map(|slot| self.slots.row_in(slot)) {
                each(state, row, 0, &RawRun { firsts, seconds, tails: &[*tail] });
            }
            return;
        }
        let mut tile = Tile {
            firsts: [[0; MAX_RUN_SAMPLES]; TILE_ROWS],
            seconds: [[0; MAX_RUN_SAMPLES]; TILE_ROWS],
            tails: [[(0, Status(0)); MAX_RUN_SAMPLES]; TILE_ROWS],
            samples: 0,
            shares_seconds: false,
            tail_count: 0,
        };
        for slots in places {
            let mut rows = [None; TILE_ROWS];
            rows.iter_mut().zip(slots.clone()).for_each(|(row, slot)| *row = self.slots.row_in(slot));
            if rows.iter().all(Option::is_none) {
                continue;
            }
            for column in 0..self.columns.len() {
                before(state, &rows, column);
                self.copy_tile(column, slots.clone(), &mut tile);
                let stored = rows.iter().enumerate().filter_map(|(at, row)| row.map(|row| (at, row)));
                stored.for_each(|(at, row)| each(state, row, column, &tile.row(at, row.first_sample)));
            }
        }
    }

    /// Copies slots of a column into a tile.
    fn copy_tile(&self, column: usize, slots: Range<usize>, tile: &mut Tile) {
        let layout = &self.columns[column];
        let samples = self.times.len();
        let [firsts, seconds, tails] = self.sample_lengths();
        tile.samples = samples;
        let first_of_each = self.firsts.chunks_exact(firsts).take(samples);
        // The samples are far apart in memory. Reading one number of each loads them into the processor's cache at the same
        // time, because these reads do not depend on each other.
        let last_slot = slots.end - 1;
        let loaded =
            first_of_each.fold(0, |loaded, sample| loaded | sample[column * self.slots.len() + last_slot]);
        std::hint::black_box(loaded);
        let firsts = self.firsts.chunks_exact(firsts).take(samples);
        transpose(firsts.map(|sample| &sample[column * self.slots.len()..][slots.clone()]), &mut tile.firsts);
        tile.shares_seconds = !layout.has_seconds;
        let seconds_slots = if layout.has_seconds { slots.clone() } else { 0..1 };
        let seconds = self.seconds.chunks_exact(seconds).take(samples);
        transpose(
            seconds.map(|sample| &sample[layout.seconds_at..][seconds_slots.clone()]),
            &mut tile.seconds,
        );
        if layout.has_tails {
            tile.tail_count = samples;
            let tails = self.tails.chunks_exact(tails).take(samples);
            transpose(tails.map(|sample| &sample[layout.tails_at..][slots.clone()]), &mut tile.tails);
        } else {
            tile.tail_count = 1;
            tile.tails.iter_mut().for_each(|tails| tails[0] = layout.tail);
        }
    }

    pub(super) fn clear(&mut self) {
        self.times.clear();
    }
}

/// The part of a list for the next sample, after `samples` samples of this length. Extends the list if necessary.
fn sample_slice<T: Copy + Default>(list: &mut Vec<T>, samples: usize, length: usize) -> &mut [T] {
    let (from, to) = (samples * length, (samples + 1) * length);
    if list.len() < to {
        list.resize(to, T::default());
    }
    &mut list[from..to]
}

/// Converts one list per sample into one list per row.
fn transpose<'a, T: Copy + 'a, const SAMPLES: usize>(
    samples: impl Iterator<Item = &'a [T]>,
    rows: &mut [[T; SAMPLES]; TILE_ROWS],
) {
    for (index, sample) in samples.enumerate().take(SAMPLES) {
        match sample.as_array::<TILE_ROWS>() {
            // With a fixed number of rows, the compiler unrolls the loop.
            Some(sample) => rows.iter_mut().zip(sample).for_each(|(row, value)| row[index] = *value),
            None => rows.iter_mut().zip(sample).for_each(|(row, value)| row[index] = *value),
        }
    }
}

impl Tile {
    /// The values of a row, counted from the first one in the tile, from the sample with this index on.
    fn row(&self, row: usize, first_sample: usize) -> RawRun<'_> {
        let first_tail = if self.tail_count == 1 { 0 } else { first_sample };
        RawRun {
            firsts: &self.firsts[row][first_sample..self.samples],
            seconds: &self.seconds[if self.shares_seconds { 0 } else { row }][first_sample..self.samples],
            tails: &self.tails[row][first_tail..self.tail_count],
        }
    }
}

impl Column {
    /// The offsets of the next column's second numbers and tails, with this number of slots.
    fn next_offsets(&self, slots: usize) -> (usize, usize) {
        let seconds = if self.has_seconds { slots } else { 1 };
        (self.seconds_at + seconds, self.tails_at + if self.has_tails { slots } else { 0 })
    }

    /// Stores the values of rows whose slots begin at `from`. Returns false if they differ from a second number or tail that
    /// is stored only once for all rows.
    #[inline(always)]
    fn store<'a>(
        &self,
        raws: impl Iterator<Item = &'a RawValue> + Clone,
        from: usize,
        (firsts, seconds, tails): (&mut [i64], &mut [i64], &mut [Tail]),
    ) -> bool {
        let (second, (multi_count, status)) = (seconds[0], self.tail);
        // Numbers are equal if each bit that is set in any of them is set in all of them. Without an early exit, this check
        // takes two instructions per number.
        let mut in_all = (second, multi_count, status.0);
        let mut in_any = in_all;
        for (first, raw) in firsts.iter_mut().zip(raws.clone()) {
            *first = raw.first;
            in_all = (in_all.0 & raw.second, in_all.1 & raw.multi_count, in_all.2 & raw.status.0);
            in_any = (in_any.0 | raw.second, in_any.1 | raw.multi_count, in_any.2 | raw.status.0);
        }
        let are_seconds_equal = in_all.0 == in_any.0;
        let are_tails_equal = (in_all.1, in_all.2) == (in_any.1, in_any.2);
        if self.has_seconds {
            seconds[from..].iter_mut().zip(raws.clone()).for_each(|(second, raw)| *second = raw.second);
        }
        if self.has_tails {
            tails[from..].iter_mut().zip(raws).for_each(|(tail, raw)| *tail = tail_of(raw));
        }
        (self.has_seconds || are_seconds_equal) && (self.has_tails || are_tails_equal)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A sample of up to 20 rows and 3 columns. Usually all second numbers are equal, and all multipliers.
    fn sample(len: usize) -> impl Strategy<Value = Vec<RawValue>> {
        let raw = (any::<i64>(), 0..3i64, 1..3u32);
        let raws = prop::collection::vec(raw, len);
        (raws, prop::bool::weighted(0.1), prop::bool::weighted(0.1)).prop_map(
            |(raws, second, multi_count)| {
                let raw = |(first, own_second, own_count)| RawValue {
                    multi_count: if multi_count { own_count } else { 1 },
                    ..RawValue::new(first, if second { own_second } else { 7 })
                };
                raws.into_iter().map(raw).collect()
            },
        )
    }

    fn samples() -> impl Strategy<Value = (usize, Vec<Vec<RawValue>>)> {
        (1..4usize, 0..20usize)
            .prop_flat_map(|(width, rows)| (Just(width), prop::collection::vec(sample(width * rows), 1..100)))
    }

    proptest! {
        #[test]
        fn every_series_gets_its_values((width, samples) in samples()) {
            let mut run = Run::default();
            let mut found = vec![Vec::new(); samples[0].len()];
            let mut flush = |run: &mut Run| {
                run.for_each_series(run.all_places(), &mut found, |_, _, _| {}, |found, stored, column, raws| {
                    found[stored.row * width + column].extend(raws.iter());
                });
                run.clear();
            };
            for (index, values) in samples.iter().enumerate() {
                if !run.push(values, width, Moment::default(), index as u64) {
                    flush(&mut run);
                    prop_assert!(run.push(values, width, Moment::default(), index as u64));
                }
                if run.is_full(MAX_RUN_SAMPLES) {
                    flush(&mut run);
                }
            }
            flush(&mut run);
            for (position, found) in found.iter().enumerate() {
                let expected: Vec<_> = samples.iter().map(|values| values[position]).collect();
                prop_assert_eq!(found, &expected);
            }
        }
    }
}
