//! The rows of an instance, which are the same for all of its counters.

use tachograph_counters::civil::FileTime;

/// The time of a sample of a block.
#[derive(Clone, Copy)]
pub(super) struct BlockTime {
    /// In the unit of the column `time`.
    pub(super) time: i64,
    pub(super) is_baseline: bool,
}

/// The rows of an instance in a block.
#[derive(Default)]
pub(super) struct Series {
    /// The index of the instance in its history.
    pub(super) instance: usize,
    /// For each row, its index among the rows of all groups.
    pub(super) positions: Vec<usize>,
    /// The times of the rows.
    pub(super) times: Vec<i64>,
    pub(super) row_runs: Vec<RowRun>,
}

/// Consecutive rows with the same properties.
#[derive(Clone, Copy)]
pub(super) struct RowRun {
    /// The number of rows.
    pub(super) rows: usize,
    /// Whether no interval ends at the first row.
    pub(super) is_interrupted: bool,
    pub(super) identity: u64,
    pub(super) boot_time: FileTime,
    pub(super) is_baseline: bool,
}

impl Series {
    pub(super) fn clear(&mut self) {
        self.positions.clear();
        self.times.clear();
        self.row_runs.clear();
    }

    /// Adds a row. `run` has the properties of the row, and its length is 1.
    pub(super) fn push(&mut self, position: usize, time: i64, run: RowRun) {
        self.positions.push(position);
        self.times.push(time);
        match self.row_runs.last_mut() {
            Some(last) if last.is_continued_by(&run) => last.rows += 1,
            _ => self.row_runs.push(run),
        }
    }
}

impl RowRun {
    fn is_continued_by(&self, next: &Self) -> bool {
        !next.is_interrupted
            && (self.identity, self.boot_time, self.is_baseline)
                == (next.identity, next.boot_time, next.is_baseline)
    }
}
