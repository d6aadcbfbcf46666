//! The order of a comparison.

use std::cmp::Ordering;

use tachograph_counters::CounterType;

use super::ComparisonRow;

/// The figure by which the rows of a comparison are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum ComparisonOrder {
    /// By [`ComparisonRow::weight`], largest first.
    #[default]
    Weight,
    /// By [`ComparisonRow::change`], largest first: rows in which one average is 0 come first.
    Ratio,
    /// By the magnitude of the difference in the counter's own unit, largest first.
    Difference,
    /// By the average in the first log, largest first.
    Before,
    /// By the average in the second log, largest first.
    After,
    /// By the path.
    Path,
}

/// For each unit, a noticeable size: a rise from 0 to less than this has little weight.
const NOTICEABLE: [(&str, f64); 13] = [
    ("%", 1.0),
    ("seconds", 1e-3),
    ("ns", 1e6),
    ("bytes", 16.0 * MIB),
    ("KB", 16.0 * 1024.0),
    ("MB", 16.0),
    ("bytes/s", 1e5),
    ("KB/s", 1e2),
    ("MB/s", 0.1),
    ("bits/s", 1e6),
    ("1/s", 10.0),
    ("packets/s", 10.0),
    ("Hz", 1e7),
];

const MIB: f64 = 1024.0 * 1024.0;

/// The noticeable size of units that are not listed, such as counts.
const NOTICEABLE_COUNT: f64 = 1.0;

impl ComparisonRow {
    /// How much the change matters: the distance of the averages on a scale that is linear below the noticeable size of
    /// the unit, and logarithmic above it: `|asinh(after / size) - asinh(before / size)|`. A rise from 0 to 90 % weighs
    /// more than a rise from 20 % to 90 %; a rise from 0 to 0.1 % weighs little.
    ///
    /// If an instance is missing from a log that has other instances of the set, its rates and percentages count as 0 there. If
    /// an instance was present for only a part of a log, they count as 0 in the rest of it, so a process that was busy for two
    /// seconds of an hour weighs little. Amounts and ages do not count as 0, because every new process has some. `None` if an
    /// average is missing, and for the ages of instances, which always differ.
    pub fn weight(&self) -> Option<f64> {
        if self.instance.is_some() && self.counter.counter_type == CounterType::ELAPSED_TIME {
            return None;
        }
        let unit = self.counter.unit();
        let is_activity = unit == "%" || unit.ends_with("/s");
        let is_zero = |summary: &Option<_>| summary.is_none() && self.is_missing_instance && is_activity;
        let or_zero = |average: Option<f64>, is_zero: bool| average.or(is_zero.then_some(0.0));
        let presence = if is_activity { self.presence } else { [1.0; 2] };
        let before = or_zero(self.average_before(), is_zero(&self.before))? * presence[0];
        let after = or_zero(self.average_after(), is_zero(&self.after))? * presence[1];
        let known = NOTICEABLE.iter().find(|(name, _)| *name == unit);
        let size = known.map_or(NOTICEABLE_COUNT, |(_, size)| *size);
        Some(((after / size).asinh() - (before / size).asinh()).abs())
    }
}

/// Sorts rows. Rows with equal figures are sorted by path; rows without the figure are last.
pub fn sort_comparison(rows: &mut [ComparisonRow], order: ComparisonOrder) {
    rows.sort_by_cached_key(|row| row.path.to_lowercase());
    let figure = |row: &ComparisonRow| match order {
        ComparisonOrder::Weight => row.weight(),
        ComparisonOrder::Ratio => row.change(),
        ComparisonOrder::Difference => row.difference().map(f64::abs),
        ComparisonOrder::Before => row.average_before(),
        ComparisonOrder::After => row.average_after(),
        ComparisonOrder::Path => None,
    };
    rows.sort_by(|one, other| match (figure(one), figure(other)) {
        (Some(one), Some(other)) => other.total_cmp(&one),
        (None, None) => Ordering::Equal,
        (one, _) => {
            if one.is_some() {
                Ordering::Less
            } else {
                Ordering::Greater
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tachograph_counters::Summary;
    use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};

    use super::super::{AverageChange, InstancePairing, remove_repeating_sets};
    use super::*;

    fn row(name: &str, counter_type: CounterType, before: Option<f64>, after: Option<f64>) -> ComparisonRow {
        let summary = |average: Option<f64>| {
            average.map(|average| Summary { average: Some(average), ..Summary::default() })
        };
        ComparisonRow {
            path: name.to_owned(),
            machine: None,
            set: Arc::new(CounterSet::new("", "Set", Extent::Table)),
            counter: Counter::new(name, counter_type, 10_000_000),
            instance: None,
            before: summary(before),
            after: summary(after),
            pairing: InstancePairing::Instance,
            subject: 0,
            is_missing_instance: false,
            presence: [1.0; 2],
        }
    }

    fn order(mut rows: Vec<ComparisonRow>, order: ComparisonOrder) -> Vec<String> {
        sort_comparison(&mut rows, order);
        rows.into_iter().map(|row| row.path).collect()
    }

    #[test]
    fn large_changes_of_noticeable_size_are_first() {
        let percent = CounterType::TIMER_100NS;
        let rows = || {
            vec![
                row("tiny %", percent, Some(0.0), Some(0.01)),
                row("doubled %", percent, Some(40.0), Some(80.0)),
                row("new %", percent, Some(0.0), Some(90.0)),
                row("Rare/sec", CounterType::BULK_COUNT, Some(0.0), Some(0.2)),
                row("Busy/sec", CounterType::BULK_COUNT, Some(7.0), Some(2540.0)),
                row("gone %", percent, Some(5.0), None),
            ]
        };
        let by_weight = order(rows(), ComparisonOrder::Weight);
        // asinh(254) - asinh(0.7) = 5.58; asinh(90) = 5.19; asinh(80) - asinh(40) = 0.69; 0.02; 0.01.
        assert_eq!(by_weight, ["Busy/sec", "new %", "doubled %", "Rare/sec", "tiny %", "gone %"]);
        let by_ratio = order(rows(), ComparisonOrder::Ratio);
        assert_eq!(by_ratio, ["new %", "Rare/sec", "tiny %", "Busy/sec", "doubled %", "gone %"]);
        let by_difference = order(rows(), ComparisonOrder::Difference);
        assert_eq!(by_difference, ["Busy/sec", "new %", "doubled %", "Rare/sec", "tiny %", "gone %"]);
        assert_eq!(order(rows(), ComparisonOrder::Before)[..2], ["doubled %", "Busy/sec"]);
        assert_eq!(order(rows(), ComparisonOrder::After)[..2], ["Busy/sec", "new %"]);
        assert_eq!(order(rows(), ComparisonOrder::Path)[0], "Busy/sec");
    }

    #[test]
    fn averages_change_by_a_factor_or_from_and_to_0() {
        let change = |before, after| row("x", CounterType::RAWCOUNT, before, after).average_change();
        assert_eq!(change(Some(2.0), Some(2.0)), AverageChange::Same);
        assert_eq!(change(Some(0.0), Some(2.0)), AverageChange::FromZero);
        assert_eq!(change(Some(2.0), Some(0.0)), AverageChange::ToZero);
        assert_eq!(change(Some(-2.0), Some(2.0)), AverageChange::SignChanged);
        assert_eq!(change(None, Some(2.0)), AverageChange::OnlyAfter);
        assert_eq!(change(Some(2.0), None), AverageChange::OnlyBefore);
        let mut unknown = row("x", CounterType::RAWCOUNT, Some(2.0), None);
        unknown.after = Some(Summary::default());
        assert_eq!(unknown.average_change(), AverageChange::Unknown);
        for (before, after, name, expected) in
            [(2.0, 5.0, "multiplied", 2.5), (5.0, 2.0, "divided", 2.5), (-5.0, -2.0, "divided", 2.5)]
        {
            let changed = change(Some(before), Some(after));
            assert_eq!(changed.name(), name);
            let factor = changed.factor().expect("a factor");
            assert!((factor - expected).abs() < 1e-12, "{factor}");
        }
    }

    #[test]
    fn a_set_that_repeats_another_is_removed_if_the_other_is_there() {
        let of_set = |name: &str, english_name: Option<&str>| {
            let mut row = row("x", CounterType::RAWCOUNT, Some(1.0), Some(1.0));
            let mut set = CounterSet::new("", name, Extent::Table);
            set.english_name = english_name.map(Into::into);
            row.set = Arc::new(set);
            row
        };
        // One of the names is localized.
        let mut rows =
            vec![of_set("Prozess", Some("Process")), of_set("Thread", None), of_set("Processor", None)];
        let repeats =
            [("Thread", "Process"), ("Processor", "Processor Information"), ("Process V2", "Process")];
        assert_eq!(remove_repeating_sets(&mut rows, repeats), [("Thread", "Process")]);
        let left: Vec<_> = rows.iter().map(|row| &*row.set.name).collect();
        assert_eq!(left, ["Prozess", "Processor"]);
    }

    #[test]
    fn rates_of_a_missing_instance_count_as_0() {
        let mut gone = row("gone %", CounterType::TIMER_100NS, Some(90.0), None);
        assert_eq!(gone.weight(), None);
        gone.is_missing_instance = true;
        assert_eq!(gone.weight(), Some(90f64.asinh()));
        // A value that could not be computed is not 0.
        gone.after = Some(Summary::default());
        assert_eq!(gone.weight(), None);
        // An instance that was busy for a short time did little in the whole log.
        gone.after = None;
        gone.presence = [0.1, 1.0];
        assert_eq!(gone.weight(), Some(9f64.asinh()));
        // The free space of a disk does not shrink because the disk was removed.
        let mut free = row("Free Megabytes", CounterType::RAWCOUNT, Some(900.0), Some(900.0));
        free.presence = [0.1, 1.0];
        assert_eq!(free.weight(), Some(0.0));
        // Every process has an age.
        let mut age = row("Elapsed Time", CounterType::ELAPSED_TIME, Some(3600.0), None);
        age.is_missing_instance = true;
        assert_eq!(age.weight(), None);
        // The age of a process says nothing about what it does; that of the system is the time since its start.
        let mut age = row("Elapsed Time", CounterType::ELAPSED_TIME, Some(3600.0), Some(60.0));
        assert!(age.weight().is_some_and(|weight| weight > 1.0));
        age.instance = Some(Arc::new(Instance::new(None, "bash", 0)));
        assert_eq!(age.weight(), None);
    }
}
