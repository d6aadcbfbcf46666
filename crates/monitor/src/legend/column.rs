//! The columns of a legend, and sorting by them.

use std::cmp::Ordering;

use tachograph_counters::wildcard::fold_case;

use super::LegendItem;
use crate::reduced::Reduced;

/// A column of a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LegendColumn {
    /// Whether the item is shown on the chart.
    Show,
    /// The item's colour and line.
    Colour,
    /// The factor on the chart.
    Scale,
    /// The average over the visible range, by the counter's formula.
    Average,
    /// The last value.
    Last,
    /// The smallest value.
    Minimum,
    /// The largest value.
    Maximum,
    /// The counter's name.
    Counter,
    /// The instance's name, without its parent.
    Instance,
    /// The parent's name.
    Parent,
    /// The counter set's name.
    Set,
    /// The machine's name.
    Machine,
}

impl LegendColumn {
    /// All columns, from left to right.
    pub const ALL: [Self; 12] = {
        use LegendColumn::*;
        [Show, Colour, Scale, Average, Last, Minimum, Maximum, Counter, Instance, Parent, Set, Machine]
    };

    /// The column's heading.
    pub fn title(self) -> &'static str {
        match self {
            Self::Show => "Show",
            Self::Colour => "Color",
            Self::Scale => "Scale",
            Self::Average => "Average",
            Self::Last => "Last",
            Self::Minimum => "Minimum",
            Self::Maximum => "Maximum",
            Self::Counter => "Counter",
            Self::Instance => "Instance",
            Self::Parent => "Parent",
            Self::Set => "Set",
            Self::Machine => "Machine",
        }
    }

    /// Whether the column holds numbers, which are sorted in descending order at first.
    pub fn is_number(self) -> bool {
        matches!(self, Self::Scale | Self::Average | Self::Last | Self::Minimum | Self::Maximum)
    }

    fn is_name(self) -> bool {
        matches!(self, Self::Counter | Self::Instance | Self::Parent | Self::Set | Self::Machine)
    }

    /// The text of an item in this column; `None` if missing or a number.
    pub fn name(self, item: &LegendItem) -> Option<&str> {
        let info = item.info()?;
        match self {
            Self::Counter => Some(&info.counter.name),
            Self::Instance => info.instance_name(),
            Self::Parent => info.parent(),
            Self::Set => Some(&info.set.name),
            Self::Machine => info.machine.as_deref(),
            _ => None,
        }
    }

    /// The number of an item in this column; `None` if missing or a string.
    pub fn value(self, item: &LegendItem, reduced: &Reduced) -> Option<f64> {
        let summary = || item.series(reduced).map(|series| &series.summary);
        match self {
            Self::Show => Some(f64::from(u8::from(!item.is_shown()))),
            Self::Colour => Some(item.style().0 as f64),
            Self::Scale => Some(f64::from(item.exponent())),
            Self::Average => summary()?.average,
            Self::Last => summary()?.last,
            Self::Minimum => summary()?.minimum,
            Self::Maximum => summary()?.maximum,
            _ => None,
        }
    }
}

/// The column by which a legend is sorted, and the direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SortOrder {
    /// The column.
    pub column: LegendColumn,
    /// Whether the largest comes first.
    pub is_descending: bool,
}

impl SortOrder {
    /// The initial order for a column: numbers descending, names ascending.
    pub fn of_column(column: LegendColumn) -> Self {
        Self { column, is_descending: column.is_number() }
    }

    /// The opposite direction.
    #[must_use]
    pub fn reversed(self) -> Self {
        Self { is_descending: !self.is_descending, ..self }
    }

    /// Sorts items. Items without a value come last in both directions, and equal items keep their order.
    pub(super) fn sort(self, items: &mut [&LegendItem], reduced: &Reduced) {
        let with_direction = |order: Ordering| if self.is_descending { order.reverse() } else { order };
        if self.column.is_name() {
            let mut keyed: Vec<_> =
                items.iter().map(|item| (self.column.name(item).map(fold_case), *item)).collect();
            keyed.sort_by(|(a, _), (b, _)| none_last(a, b, |a, b| with_direction(compare_naturally(a, b))));
            items.iter_mut().zip(keyed).for_each(|(slot, (_, item))| *slot = item);
        } else {
            let number = |item: &LegendItem| self.column.value(item, reduced);
            items.sort_by(|a, b| none_last(&number(a), &number(b), |a, b| with_direction(a.total_cmp(b))));
        }
    }
}

/// Orders optional values: missing ones come last.
pub(crate) fn none_last<T>(a: &Option<T>, b: &Option<T>, order: impl Fn(&T, &T) -> Ordering) -> Ordering {
    match (a, b) {
        (Some(a), Some(b)) => order(a, b),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

/// Compares names with numbers by value: `0,2` comes before `0,10`.
pub(crate) fn compare_naturally(a: &str, b: &str) -> Ordering {
    let (mut a, mut b) = (a, b);
    loop {
        let (digits_a, digits_b) = (digits(a), digits(b));
        if digits_a > 0 && digits_b > 0 {
            let (number_a, number_b) =
                (a[..digits_a].trim_start_matches('0'), b[..digits_b].trim_start_matches('0'));
            let order = number_a.len().cmp(&number_b.len()).then_with(|| number_a.cmp(number_b));
            if order.is_ne() {
                return order;
            }
            (a, b) = (&a[digits_a..], &b[digits_b..]);
            continue;
        }
        let (mut rest_a, mut rest_b) = (a.chars(), b.chars());
        match (rest_a.next(), rest_b.next()) {
            (Some(one), Some(other)) if one == other => (a, b) = (rest_a.as_str(), rest_b.as_str()),
            (one, other) => return one.cmp(&other),
        }
    }
}

fn digits(text: &str) -> usize {
    text.bytes().take_while(u8::is_ascii_digit).count()
}

#[cfg(test)]
mod tests {
    use super::compare_naturally;

    #[test]
    fn numbers_in_names_are_compared_by_value() {
        let mut names = ["0,10", "_total", "0,2", "0,1", "a10b", "a9b", "a09b", "", "1"];
        names.sort_by(|a, b| compare_naturally(a, b));
        assert_eq!(names, ["", "0,1", "0,2", "0,10", "1", "_total", "a9b", "a09b", "a10b"]);
    }
}
