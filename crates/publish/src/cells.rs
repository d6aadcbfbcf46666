//! Where the fields of a counter set lie.

use tachograph_shm::{Line, Lines, Slot};

/// The cells of one instance. What `#[derive(CounterSet)]` makes takes the fields from it.
#[derive(Debug)]
pub struct Cells<'a> {
    slot: &'a Slot,
}

impl<'a> Cells<'a> {
    pub(crate) fn new(slot: &'a Slot) -> Self {
        Self { slot }
    }

    pub(crate) fn line(&self, place: usize) -> Option<Line> {
        self.slot.line(place)
    }

    pub(crate) fn lines(&self, place: usize) -> Option<Lines> {
        self.slot.lines(place)
    }
}

/// A type that a field of a counter set can have.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no counter of tachograph_publish",
    label = "expected one of tachograph_publish's Counter, StripedCounter, Gauge, Timer, Average, Fraction, Ratio",
    note = "derive(CounterSet) knows the types of fields by their names: import them from tachograph_publish"
)]
pub trait Cell: Sized {
    /// The field over the cell of the counter at this place of the description; `None` where the description has no such
    /// counter, or one without a cell.
    fn bind(cells: &Cells<'_>, place: usize) -> Option<Self>;
}
