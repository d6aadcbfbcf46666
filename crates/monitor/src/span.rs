//! The time range of a chart.

use tachograph_counters::civil::FileTime;

/// The time range from `begin` (inclusive) to `end` (exclusive); never empty.
///
/// An interval of a counter belongs to the span in which it ends, as in `tacho stats -b BEGIN -e END`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Span {
    begin: FileTime,
    end: FileTime,
}

impl Span {
    /// The span from `begin` to `end`. If `end` is not later, the span is 100 ns long.
    pub fn new(begin: FileTime, end: FileTime) -> Self {
        Self { begin, end: end.max(begin.saturating_add(1)) }
    }

    /// The span of samples from the first to the last, both inclusive.
    pub fn of_samples(first: FileTime, last: FileTime) -> Self {
        Self::new(first, last.saturating_add(1))
    }

    /// The first moment.
    pub fn begin(&self) -> FileTime {
        self.begin
    }

    /// The end, which is the first moment after the span.
    pub fn end(&self) -> FileTime {
        self.end
    }

    /// The last moment.
    pub fn last_moment(&self) -> FileTime {
        self.end.saturating_sub(1)
    }

    /// The moment in the middle.
    pub fn middle(&self) -> FileTime {
        self.begin.saturating_add(self.length() / 2)
    }

    /// Length in units of 100 ns, at least 1.
    pub fn length(&self) -> i64 {
        self.end.since(self.begin).max(1)
    }

    /// Whether a moment is in the span.
    pub fn contains(&self, moment: FileTime) -> bool {
        self.begin <= moment && moment < self.end
    }

    /// The index of the column that contains a moment, if the span is divided into `columns` equal ones; `None` outside the
    /// span.
    pub fn column_of(&self, moment: FileTime, columns: usize) -> Option<usize> {
        if !self.contains(moment) {
            return None;
        }
        let offset = i128::from(moment.since(self.begin));
        usize::try_from(offset * columns as i128 / i128::from(self.length())).ok()
    }

    /// The first moment of a column; for `column == columns`, the end of the span.
    pub fn column_begin(&self, column: usize, columns: usize) -> FileTime {
        let offset = i128::from(self.length()) * column as i128;
        // Rounded up, to be the first moment that `column_of` assigns to the column.
        let units = offset.div_euclid(columns.max(1) as i128)
            + i128::from(offset.rem_euclid(columns.max(1) as i128) != 0);
        self.begin.saturating_add(i64::try_from(units).unwrap_or(i64::MAX))
    }

    /// The span of one column.
    #[must_use]
    pub fn column(&self, column: usize, columns: usize) -> Self {
        Self::new(self.column_begin(column, columns), self.column_begin(column + 1, columns))
    }

    /// Zooms by `factor` (below 1: in, above 1: out). The moment at `share` (0 to 1) of the span keeps its position.
    #[must_use]
    pub fn zoomed(&self, factor: f64, share: f64) -> Self {
        let share = share.clamp(0.0, 1.0);
        let length = self.length() as f64;
        let begin = self.begin.saturating_add((length * share * (1.0 - factor)) as i64);
        Self::new(begin, begin.saturating_add(((length * factor) as i64).max(1)))
    }

    /// Moves the span by `share` of its length; positive is later.
    #[must_use]
    pub fn moved(&self, share: f64) -> Self {
        let by = (self.length() as f64 * share) as i64;
        Self::new(self.begin.saturating_add(by), self.end.saturating_add(by))
    }

    /// Moves the span into `outer`; shortens it to `outer` if it is longer.
    #[must_use]
    pub fn within(&self, outer: &Self) -> Self {
        if self.length() >= outer.length() {
            return *outer;
        }
        let begin = self.begin.max(outer.begin).min(outer.end.saturating_sub(self.length()));
        Self::new(begin, begin.saturating_add(self.length()))
    }

    /// Extends the span to whole milliseconds, the precision in which times are entered.
    #[must_use]
    pub fn in_milliseconds(&self) -> Self {
        let excess = |moment: FileTime| moment.0.rem_euclid(FileTime::PER_MILLISECOND);
        let up = (-excess(self.end)).rem_euclid(FileTime::PER_MILLISECOND);
        Self::new(self.begin.saturating_sub(excess(self.begin)), self.end.saturating_add(up))
    }

    /// The intersection; `None` if the spans do not overlap.
    pub fn overlap(&self, other: &Self) -> Option<Self> {
        let (begin, end) = (self.begin.max(other.begin), self.end.min(other.end));
        (begin < end).then_some(Self { begin, end })
    }

    /// The smallest span that contains both.
    #[must_use]
    pub fn joined(&self, other: &Self) -> Self {
        Self { begin: self.begin.min(other.begin), end: self.end.max(other.end) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn span(begin: i64, end: i64) -> Span {
        Span::new(FileTime(begin), FileTime(end))
    }

    #[test]
    fn zooming_keeps_the_position() {
        let whole = span(0, 1000);
        assert_eq!(whole.zoomed(0.5, 0.5), span(250, 750));
        assert_eq!(whole.zoomed(0.5, 0.0), span(0, 500));
        assert_eq!(whole.zoomed(0.5, 1.0), span(500, 1000));
        assert_eq!(whole.zoomed(0.5, 0.5).zoomed(2.0, 0.5), whole);
        assert_eq!(span(900, 1100).within(&whole), span(800, 1000));
        assert_eq!(span(-5, 5000).within(&whole), whole);
        assert_eq!(whole.moved(-0.25), span(-250, 750));
    }

    proptest! {
        #[test]
        fn whole_milliseconds_contain_the_span(begin in -1_000_000i64..1_000_000, length in 1i64..1_000_000) {
            let span = span(begin, begin + length);
            let wide = span.in_milliseconds();
            prop_assert_eq!(wide.overlap(&span), Some(span));
            prop_assert!(span.begin().since(wide.begin()) < 10_000 && wide.end().since(span.end()) < 10_000);
            prop_assert!(wide.begin().0 % 10_000 == 0 && wide.end().0 % 10_000 == 0);
        }

        #[test]
        fn every_moment_is_in_the_column_that_contains_it(
            begin in -1_000_000i64..1_000_000, length in 1i64..10_000_000, columns in 1usize..2000, at in 0.0..1.0f64,
        ) {
            let span = span(begin, begin + length);
            let moment = FileTime(begin + ((length as f64 * at) as i64).min(length - 1));
            let column = span.column_of(moment, columns).expect("inside");
            prop_assert!(column < columns);
            prop_assert!(span.column_begin(column, columns) <= moment);
            prop_assert!(moment < span.column_begin(column + 1, columns) || column + 1 == columns);
            prop_assert_eq!(span.column_begin(0, columns), span.begin());
            prop_assert_eq!(span.column_begin(columns, columns), span.end());
        }
    }
}
