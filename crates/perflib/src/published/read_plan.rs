//! Reads the selected counters of one file. Decisions that do not depend on the instance are made only once.

use tachograph_counters::{RawValue, Status};
use tachograph_shm::{CellLocation, Instance};

use super::source::{Source, Sources, Stamps};

/// Describes how to read each column from one file.
#[derive(Debug, Default)]
pub(super) struct ReadPlan {
    /// For each column, the index of its counter in the registration.
    positions: Vec<usize>,
    /// One step per column.
    steps: Vec<Step>,
}

/// Describes how to read the raw value of a column.
#[derive(Clone, Copy, Debug)]
struct Step {
    cell: CellLocation,
    method: Method,
    /// The bits of the cell that belong to the value.
    mask: u64,
    /// The index of the counter in the registration.
    position: usize,
}

/// How to read a raw value.
#[derive(Clone, Copy, Debug)]
enum Method {
    /// The second number is the item with this index in [`Stamps`].
    WithStamp(u8),
    /// The second number is the base in the same cell.
    BaseInCell,
    /// The raw value has several cells, which [`Source::read`] reads.
    SeveralCells,
    /// The file does not have the counter.
    Missing,
}

impl ReadPlan {
    /// Updates the plan if the columns have changed.
    pub(super) fn update(&mut self, positions: &[usize], sources: &Sources) {
        if self.positions == positions {
            return;
        }
        self.positions = positions.to_vec();
        self.steps = positions.iter().map(|&position| Step::new(position, sources)).collect();
    }

    /// Reads the raw values of an instance, by column.
    #[inline(always)]
    pub(super) fn read(
        &self,
        sources: &Sources,
        instance: &Instance<'_>,
        stamps: &Stamps,
        values: &mut [RawValue],
    ) {
        for (step, value) in self.steps.iter().zip(values) {
            if !step.read(instance, stamps, value) {
                step.read_slowly(sources, instance, stamps, value);
            }
        }
    }
}

impl Step {
    fn new(position: usize, sources: &Sources) -> Self {
        match sources.get(position) {
            Some(source) => {
                Self { cell: source.cell, method: Method::for_source(source), mask: source.mask, position }
            }
            None => Self { cell: CellLocation::default(), method: Method::Missing, mask: 0, position },
        }
    }

    /// Reads the raw value of a counter with a single cell. Returns false if the counter is missing, has several cells,
    /// or has no value.
    #[inline(always)]
    fn read(&self, instance: &Instance<'_>, stamps: &Stamps, value: &mut RawValue) -> bool {
        let stamp = match self.method {
            Method::WithStamp(stamp) => Some(stamps.get(stamp)),
            Method::BaseInCell => None,
            Method::SeveralCells | Method::Missing => return false,
        };
        let Some(reading) = instance.value_at(&self.cell) else { return false };
        value.first = (reading.value & self.mask) as i64;
        value.second = stamp.unwrap_or_else(|| reading.base.unwrap_or_default() as i64);
        value.status = Status::VALID_DATA;
        true
    }

    /// Reads the raw value of a counter for which [`read`](Self::read) returned false.
    #[inline(never)]
    fn read_slowly(&self, sources: &Sources, instance: &Instance<'_>, stamps: &Stamps, value: &mut RawValue) {
        if let Some(source) = sources.get(self.position) {
            *value = source.read(instance, stamps);
        }
    }
}

impl Method {
    fn for_source(source: &Source) -> Self {
        match source.stamp_index() {
            _ if source.has_companions() => Self::SeveralCells,
            Some(stamp) => Self::WithStamp(stamp),
            None if source.has_base_in_cell() => Self::BaseInCell,
            None => Self::SeveralCells,
        }
    }
}
