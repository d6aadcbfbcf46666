//! How the wanted counters of one file are read: what is the same for all instances is decided once, not for each value.

use tachograph_counters::{RawValue, Status};
use tachograph_shm::{CellPlace, Instance};

use super::source::{Source, Sources, Stamps};

/// How each column of the rows is read from one file.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// By column: the place of its counter in the registration.
    positions: Vec<usize>,
    steps: Vec<Step>,
}

/// How the raw value of a column is read.
#[derive(Clone, Copy, Debug)]
struct Step {
    cell: CellPlace,
    how: How,
    mask: u64,
    position: usize,
}

/// What the second number is.
#[derive(Clone, Copy, Debug)]
enum How {
    /// This time stamp, by its place among [`Stamps`].
    Stamped(u8),
    /// The base that is kept with the value.
    WithBase,
    /// There is more to it: its [`Source`] knows.
    BySource,
    /// The file does not have the counter.
    Nothing,
}

impl Plan {
    /// Takes the columns of the rows to come; nothing is done where they are those of before.
    pub(super) fn follow(&mut self, positions: &[usize], sources: &Sources) {
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
            // Each number goes right to where it is kept.
            if !step.read(instance, stamps, value) {
                step.read_slowly(sources, instance, stamps, value);
            }
        }
    }
}

impl Step {
    fn new(position: usize, sources: &Sources) -> Self {
        match sources.get(position) {
            Some(source) => Self { cell: source.cell(), how: How::of(source), mask: source.mask(), position },
            None => Self { cell: CellPlace::default(), how: How::Nothing, mask: 0, position },
        }
    }

    /// Reads the raw value where nothing is special about it; whether that was so.
    #[inline(always)]
    fn read(&self, instance: &Instance<'_>, stamps: &Stamps, value: &mut RawValue) -> bool {
        let stamp = match self.how {
            How::Stamped(stamp) => Some(stamps.get(stamp)),
            How::WithBase => None,
            How::BySource | How::Nothing => return false,
        };
        let Some(reading) = instance.value_at(&self.cell) else { return false };
        value.first = (reading.value & self.mask) as i64;
        value.second = stamp.unwrap_or_else(|| reading.base.unwrap_or_default() as i64);
        value.status = Status::VALID_DATA;
        true
    }

    /// Reads the raw value of a counter that is missing, or has a cell beside its own.
    #[inline(never)]
    fn read_slowly(&self, sources: &Sources, instance: &Instance<'_>, stamps: &Stamps, value: &mut RawValue) {
        if let Some(source) = sources.get(self.position) {
            *value = source.read(instance, stamps);
        }
    }
}

impl How {
    fn of(source: &Source) -> Self {
        match source.stamp() {
            _ if source.has_companions() => Self::BySource,
            Some(stamp) => Self::Stamped(stamp),
            None if source.is_with_base() => Self::WithBase,
            None => Self::BySource,
        }
    }
}
