//! When the maximum was.

use crate::civil::Moment;

/// The end of the interval with the maximum. If there are several, the earliest one, so that the order of merging does not
/// matter.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum MaximumTime {
    /// Not requested.
    #[default]
    Off,
    /// No value yet.
    None,
    At(Moment),
}

impl MaximumTime {
    /// Without a time, but requested if this one is.
    pub(super) fn emptied(self) -> Self {
        if self.is_off() { Self::Off } else { Self::None }
    }

    pub(super) fn is_off(self) -> bool {
        matches!(self, Self::Off)
    }

    pub(super) fn get(self) -> Option<Moment> {
        match self {
            Self::At(at) => Some(at),
            Self::Off | Self::None => None,
        }
    }

    /// Records a value that is at least the maximum so far; `is_larger` if it exceeds it.
    #[inline]
    pub(super) fn record(&mut self, is_larger: bool, at: Moment) {
        match self {
            Self::Off => {}
            Self::At(known) if !is_larger && *known <= at => {}
            Self::At(_) | Self::None => *self = Self::At(at),
        }
    }
}
