//! Notes of users about moments and time ranges.

use tachograph_counters::civil::TimeArgument;

/// The maximum number of annotations of a view.
pub(super) const MAX_ANNOTATIONS: usize = 1000;

/// The maximum length of a text, in characters.
pub(super) const MAX_TEXT: usize = 500;

/// A text about a moment or a time range. The web page draws it in all charts; terminals do not show it, but keep it in the
/// file.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The moment, or the time at which the range begins.
    pub begin: TimeArgument,
    /// The end of the range (exclusive); `None`: a moment.
    pub end: Option<TimeArgument>,
    /// What happened.
    pub text: String,
}
