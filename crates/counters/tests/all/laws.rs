//! Laws of formulas and statistics, for arbitrary raw values of every counter type with a formula.

use std::sync::Arc;

use proptest::prelude::*;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{
    AverageKind, Calculator, CounterType, FormatOptions, Formula, Intervals, Packing, RawValue, Series,
    Statistics, Status, Summary,
};

fn config() -> ProptestConfig {
    let plain = ProptestConfig::default();
    ProptestConfig { failure_persistence: None, max_global_rejects: plain.cases.saturating_mul(20), ..plain }
}

fn counter_type() -> impl Strategy<Value = CounterType> {
    let kinds: Vec<_> = CounterType::all().filter(|kind| kind.formula().is_some()).collect();
    prop::sample::select(kinds)
}

/// Numbers of raw values: ordinary numbers, arbitrary numbers, and the ends of the range.
fn number() -> impl Strategy<Value = i64> {
    prop_oneof![
        4 => -3i64..1000,
        2 => 0..=i64::from(u32::MAX),
        1 => any::<i64>(),
        1 => prop::sample::select(vec![i64::MIN, i64::MIN + 1, -1, 0, 1, i64::MAX - 1, i64::MAX]),
    ]
}

fn multi_count() -> impl Strategy<Value = u32> {
    prop_oneof![4 => 0u32..5, 1 => any::<u32>(), 1 => Just(u32::MAX)]
}

fn positive_time_base() -> impl Strategy<Value = i64> {
    prop::sample::select(vec![10_000_000, 2_630_633, 1, 1000, 1_000_000_000, i64::MAX])
}

fn time_base() -> impl Strategy<Value = i64> {
    prop_oneof![7 => positive_time_base(), 1 => prop::sample::select(vec![0, -1, i64::MIN])]
}

fn good_raw() -> impl Strategy<Value = RawValue> {
    let doubles = prop_oneof![
        any::<f64>(),
        -100.0..1e9f64,
        prop::sample::select(vec![f64::MAX, f64::MIN, f64::MIN_POSITIVE, -0.0, f64::NAN])
    ];
    let first = prop_oneof![5 => number(), 1 => doubles.prop_map(|double| double.to_bits() as i64)];
    (first, number(), multi_count())
        .prop_map(|(first, second, multi_count)| RawValue { multi_count, ..RawValue::new(first, second) })
}

fn raw() -> impl Strategy<Value = RawValue> {
    let status = prop::sample::select(vec![Status::NO_INSTANCE, Status::CSTATUS_INVALID_DATA]);
    prop_oneof![7 => good_raw(), 1 => status.prop_map(RawValue::error)]
}

fn intervals() -> impl Strategy<Value = Intervals> {
    prop::sample::select(vec![Intervals::All, Intervals::Active])
}

/// One step of a series.
#[derive(Clone, Debug)]
enum Event {
    /// A sample of the same instance as before or of another one; its clock has `time_base` ticks per second.
    Sample { raw: RawValue, time_base: i64, is_other: bool },
    /// The instance was absent.
    Absent,
}

fn event() -> impl Strategy<Value = Event> {
    let is_other = prop_oneof![7 => Just(false), 1 => Just(true)];
    prop_oneof![
        9 => (raw(), time_base(), is_other)
            .prop_map(|(raw, time_base, is_other)| Event::Sample { raw, time_base, is_other }),
        1 => Just(Event::Absent),
    ]
}

/// Events whose numbers usually increase, so that most intervals are valid.
fn events() -> impl Strategy<Value = Vec<Event>> {
    (prop::collection::vec(event(), 0..70), any::<bool>(), positive_time_base()).prop_map(
        |(mut events, wild, base)| {
            if !wild {
                let mut ordered: Vec<(i64, i64)> = events.iter().filter_map(numbers).collect();
                let (mut firsts, mut seconds): (Vec<_>, Vec<_>) = ordered.drain(..).unzip();
                firsts.sort_unstable();
                seconds.sort_unstable();
                let mut sorted = firsts.into_iter().zip(seconds);
                for event in &mut events {
                    if let Event::Sample { raw, time_base, .. } = event {
                        (raw.first, raw.second) = sorted.next().expect("as many as samples");
                        *time_base = base;
                    }
                }
            }
            events
        },
    )
}

fn numbers(event: &Event) -> Option<(i64, i64)> {
    match event {
        Event::Sample { raw, .. } => Some((raw.first, raw.second)),
        Event::Absent => None,
    }
}

fn moment(at: usize) -> Moment {
    Moment { utc: FileTime(1000 + 10 * at as i64), bias_minutes: 480 }
}

/// A clock that sometimes stops and is set back.
fn disturbed_moment(at: usize) -> Moment {
    let ticks = (at - usize::from(at % 5 == 3)) as i64 - 9 * (at / 13) as i64;
    Moment { utc: FileTime(1000 + 10 * ticks), bias_minutes: 480 }
}

/// The statistics of `events[from..to]`; the sample before them begins the first interval.
fn part(kind: CounterType, intervals: Intervals, events: &[Event], from: usize, to: usize) -> Statistics {
    part_by(moment, kind, intervals, events, [from, to])
}

fn part_by(
    moment: fn(usize) -> Moment,
    kind: CounterType,
    intervals: Intervals,
    events: &[Event],
    range: [usize; 2],
) -> Statistics {
    added_to(Statistics::new(kind.formula(), intervals, None), moment, kind, events, range)
}

/// Adds a part of the events to an empty state.
fn added_to(
    empty: Statistics,
    moment: fn(usize) -> Moment,
    kind: CounterType,
    events: &[Event],
    [from, to]: [usize; 2],
) -> Statistics {
    let mut series = Series::new(empty);
    if let Some(Event::Sample { raw, time_base, .. }) = from.checked_sub(1).map(|before| &events[before]) {
        series.add_baseline(&Calculator::new(kind, *time_base), raw, moment(from - 1));
    }
    for (at, event) in events.iter().enumerate().take(to).skip(from) {
        match event {
            Event::Sample { raw, time_base, is_other } => {
                if *is_other {
                    series.interrupt();
                }
                series.add(&Calculator::new(kind, *time_base), raw, moment(at));
            }
            Event::Absent => series.interrupt(),
        }
    }
    series.statistics().clone()
}

fn whole(kind: CounterType, intervals: Intervals, events: &[Event]) -> Statistics {
    part(kind, intervals, events, 0, events.len())
}

/// Merges pairs until one state is left, in any order and grouping (`choices`).
fn merge_all(mut states: Vec<Statistics>, choices: &[prop::sample::Index]) -> Statistics {
    let mut choices = choices.iter().cycle();
    while states.len() > 1 {
        let taken = states.swap_remove(choices.next().expect("endless").index(states.len()));
        let into = choices.next().expect("endless").index(states.len());
        states[into].merge(&taken).expect("one formula");
    }
    states.pop().expect("at least one state")
}

/// Checks that two summaries have equal bits. Averages of fractions and doubles are sums of rounded numbers, so
/// they may differ by 1e-12 of the largest value.
fn same(kind: CounterType, one: &Summary, other: &Summary) -> Result<(), TestCaseError> {
    let without_average = |summary: &Summary| Summary { average: None, ..summary.clone() };
    prop_assert_eq!(without_average(one), without_average(other));
    let (Some(left), Some(right)) = (one.average, other.average) else {
        prop_assert_eq!(one.average, other.average);
        return Ok(());
    };
    if matches!(kind.formula(), Some(Formula::Fraction | Formula::Double)) {
        let largest = one.minimum.unwrap_or(0.0).abs().max(one.maximum.unwrap_or(0.0).abs());
        let close = (left / 2.0 - right / 2.0).abs() <= largest * 0.5e-12;
        prop_assert!(close, "averages {} and {}", left, right);
    } else {
        prop_assert_eq!(left.to_bits(), right.to_bits(), "averages {} and {}", left, right);
    }
    Ok(())
}

fn all_finite(summary: &Summary) -> bool {
    let single = [summary.last, summary.average, summary.minimum, summary.maximum];
    single.into_iter().flatten().chain(summary.quantiles.into_iter().flatten()).all(f64::is_finite)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_value_is_never_infinite_or_nan(
        kind in any::<u32>().prop_map(CounterType).boxed().prop_union(counter_type().boxed()),
        time_base in prop_oneof![time_base(), any::<i64>()],
        older in prop::option::of(raw()),
        newer in raw(),
        is_32_bit: bool,
        cap_at_100: bool,
        scale in -9i8..=9,
        times_1000: bool,
        unwrap_32_bit: bool,
    ) {
        let options = FormatOptions { cap_at_100, scale, times_1000, unwrap_32_bit };
        let calculator = Calculator::new(kind, time_base).with_32_bit_data(is_32_bit);
        for options in [options, FormatOptions::default()] {
            match calculator.format(older.as_ref(), &newer, &options) {
                Ok(value) => prop_assert!(value.is_finite(), "{}", value),
                Err(status) => prop_assert!(status.is_error() && status.name().is_some(), "{}", status),
            }
        }
    }

    #[test]
    fn a_summary_is_never_infinite_or_nan(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
    ) {
        let summary = whole(kind, intervals, &events).summary();
        prop_assert!(all_finite(&summary), "{:?}", summary);
        prop_assert!(summary.values + summary.errors <= events.len() as u64);
        prop_assert!(summary.values == 0 || summary.last.is_some() && summary.average.is_some());
        prop_assert!(summary.first_time <= summary.last_time);
        let [low, .., high] = summary.quantiles.unwrap_or_default();
        prop_assert!(low <= high);
    }

    /// If no number decreased, the average is the formula applied to the first and the last raw values.
    #[test]
    fn the_average_depends_only_on_the_first_and_last_raw_values(
        kind in counter_type(),
        intervals in intervals(),
        time_base in positive_time_base(),
        multi_count in multi_count(),
        firsts in prop::collection::vec(number(), 2..60),
        seconds in prop::collection::vec(number(), 60),
    ) {
        let formula = kind.formula().expect("a type with a formula");
        let (mut firsts, mut seconds) = (firsts, seconds);
        seconds.truncate(firsts.len());
        firsts.sort_unstable();
        seconds.sort_unstable();
        let raws: Vec<_> = firsts
            .iter()
            .zip(&seconds)
            .map(|(&first, &second)| RawValue { multi_count, ..RawValue::new(first, second) })
            .collect();
        let calculator = Calculator::new(kind, time_base);
        let events: Vec<_> = raws
            .iter()
            .map(|&raw| Event::Sample { raw, time_base, is_other: false })
            .collect();
        let summary = whole(kind, intervals, &events).summary();
        let plain = FormatOptions::default();
        let values: Vec<_> = match formula.needs_two_samples() {
            true => raws.windows(2).flat_map(|pair| calculator.format(Some(&pair[0]), &pair[1], &plain)).collect(),
            false => raws.iter().flat_map(|raw| calculator.format(None, raw, &plain)).collect(),
        };
        prop_assert_eq!(summary.last, values.last().copied());
        prop_assert!(summary.values + summary.errors <= raws.len() as u64);
        let across = calculator.format(raws.first(), raws.last().expect("at least two values"), &plain).ok();
        match formula {
            Formula::Delta => {
                let steps = raws.len() as f64 - 1.0;
                prop_assert_eq!(summary.average, across.map(|distance| distance / steps));
            }
            Formula::Value => {
                let sum: i128 = firsts.iter().map(|&first| i128::from(first)).sum();
                prop_assert_eq!(summary.average, Some(sum as f64 / firsts.len() as f64));
            }
            Formula::Fraction | Formula::Double => {
                let count = values.len() as f64;
                let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
                let mean: f64 = values.iter().map(|value| value / count).sum();
                prop_assert_eq!(summary.average.is_some(), !values.is_empty());
                // Sums cannot represent smaller doubles.
                let rounding = largest * 0.5e-12 + 1e-288;
                prop_assert!((summary.average.unwrap_or(0.0) / 2.0 - mean / 2.0).abs() <= rounding);
            }
            Formula::Elapsed => prop_assert_eq!(summary.average, summary.last),
            _ => {
                prop_assert_eq!(summary.errors, 0);
                prop_assert_eq!(summary.average.map(f64::to_bits), across.map(f64::to_bits));
            }
        }
        let kind_of_average = if formula == Formula::Double { AverageKind::Arithmetic } else { AverageKind::Raw };
        prop_assert_eq!(summary.average_kind, kind_of_average);
    }

    /// For any division into time ranges, and any order and grouping of merges, including empty states.
    #[test]
    fn split_and_merged_statistics_are_equal(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        empty_ones in 0usize..3,
        moment in prop::sample::select(vec![moment as fn(usize) -> Moment, disturbed_moment]),
    ) {
        let part = |from, to| part_by(moment, kind, intervals, &events, [from, to]);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.index(events.len() + 1)).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        let mut states: Vec<_> = cuts.windows(2).map(|ends| part(ends[0], ends[1])).collect();
        states.extend((0..empty_ones).map(|_| Statistics::new(kind.formula(), intervals, None)));
        let merged = merge_all(states, &choices).summary();
        same(kind, &part(0, events.len()).summary(), &merged)?;
    }

    /// Standard deviation and slope have the same bits for any split and order. The deviation is at most that of two values at the
    /// extremes.
    #[test]
    fn deviation_and_slope_do_not_depend_on_splits_and_order(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
        choices in prop::collection::vec(any::<prop::sample::Index>(), 1..12),
        moment in prop::sample::select(vec![moment as fn(usize) -> Moment, disturbed_moment]),
    ) {
        let empty = Statistics::new(kind.formula(), intervals, None).with_regression();
        let part = |from, to| added_to(empty.clone(), moment, kind, &events, [from, to]);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.index(events.len() + 1)).collect();
        cuts.extend([0, events.len()]);
        cuts.sort_unstable();
        let mut states: Vec<_> = cuts.windows(2).map(|ends| part(ends[0], ends[1])).collect();
        states.push(empty.clone());
        let merged = merge_all(states, &choices);
        let whole = part(0, events.len());
        let figures = |state: &Statistics| [state.standard_deviation(), state.slope_per_hour()];
        prop_assert_eq!(figures(&merged).map(|it| it.map(f64::to_bits)), figures(&whole).map(|it| it.map(f64::to_bits)));
        // The other figures do not depend on whether deviation and slope are computed.
        same(kind, &part_by(moment, kind, intervals, &events, [0, events.len()]).summary(), &whole.summary())?;
        let deviation = whole.standard_deviation();
        if let (Some(deviation), summary) = (deviation, whole.summary()) {
            // No sample has a larger deviation than two values at the extremes.
            let range = summary.maximum.unwrap_or_default() / 2.0 - summary.minimum.unwrap_or_default() / 2.0;
            let rounding = 1e-320;
            prop_assert!(deviation / 2.0 <= range * 0.5f64.sqrt() * (1.0 + 1e-12) + rounding, "{} in {}", deviation, range);
        }
    }

    /// A packed state can be unpacked and merged like the original.
    #[test]
    fn packed_statistics_round_trip(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 2),
    ) {
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.index(events.len() + 1)).collect();
        cuts.sort_unstable();
        let cut = |from: usize, to: usize| part(kind, intervals, &events, from, to).without_quantiles();
        let (one, other) = (cut(0, cuts[0]), cut(cuts[0], cuts[1]));
        let packing = Packing::for_statistics(&one);
        for state in [&one, &other] {
            let Some(packed) = packing.pack(state) else { continue };
            prop_assert_eq!(state.summary().errors, 0);
            same(kind, &packing.unpack(&packed).summary(), &state.summary())?;
            for base in [&one, &other, &Statistics::new(kind.formula(), intervals, None).without_quantiles()] {
                let (mut merged, mut as_packed) = (base.clone(), base.clone());
                merged.merge(state).expect("one formula");
                packing.merge(&mut as_packed, &packed);
                same(kind, &as_packed.summary(), &merged.summary())?;
            }
        }
    }

    /// Statistics of several machines, and of several instances of one machine, each with its own clock and time zone, are merged.
    #[test]
    fn the_order_of_machines_does_not_matter(
        kind in counter_type(),
        intervals in intervals(),
        machines in prop::collection::vec((events(), 0u8..4, -60i32..60), 1..5),
        one in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
        other in prop::collection::vec(any::<prop::sample::Index>(), 1..9),
    ) {
        let states: Vec<_> = machines
            .iter()
            .map(|(events, name, bias_minutes)| {
                let name: Option<Arc<str>> = (*name > 0).then(|| format!("MACHINE{name}").into());
                let mut series = Series::new(Statistics::new(kind.formula(), intervals, name));
                for (at, event) in events.iter().enumerate() {
                    if let Event::Sample { raw, time_base, is_other } = event {
                        if *is_other {
                            series.interrupt();
                        }
                        let at = Moment { bias_minutes: *bias_minutes, ..moment(at) };
                        series.add(&Calculator::new(kind, *time_base), raw, at);
                    }
                }
                series.statistics().clone()
            })
            .collect();
        let merged = merge_all(states.clone(), &one).summary();
        same(kind, &merged, &merge_all(states.clone(), &other).summary())?;
        prop_assert!(all_finite(&merged), "{:?}", merged);

        let summaries: Vec<_> = states.iter().map(Statistics::summary).collect();
        prop_assert_eq!(merged.values, summaries.iter().map(|summary| summary.values).sum::<u64>());
        prop_assert_eq!(merged.errors, summaries.iter().map(|summary| summary.errors).sum::<u64>());
        let minima = summaries.iter().filter_map(|summary| summary.minimum);
        prop_assert_eq!(merged.minimum, minima.reduce(f64::min));
        let maxima = summaries.iter().filter_map(|summary| summary.maximum);
        prop_assert_eq!(merged.maximum, maxima.reduce(f64::max));
    }

    #[test]
    fn merging_an_empty_state_has_no_effect(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
        machine in prop::option::of("[A-Z]{1,3}"),
    ) {
        let full = whole(kind, intervals, &events);
        let empty = Statistics::new(kind.formula(), intervals, machine.map(Arc::from));
        let (mut onto_full, mut onto_empty) = (full.clone(), empty.clone());
        onto_full.merge(&empty).expect("one formula");
        onto_empty.merge(&full).expect("one formula");
        same(kind, &full.summary(), &onto_full.summary())?;
        same(kind, &full.summary(), &onto_empty.summary())?;
    }

    #[test]
    fn a_sample_with_an_error_only_increments_the_errors(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
        older in prop::option::of(raw()),
        code in 0x8000_0000u32..,
    ) {
        let before = whole(kind, intervals, &events);
        let mut after = before.clone();
        let bad = RawValue { status: Status(code), ..RawValue::new(7, 7) };
        after.add(&Calculator::new(kind, 1), older.as_ref(), &bad, moment(events.len()));
        let expected = Summary { errors: before.summary().errors + 1, ..before.summary() };
        same(kind, &expected, &after.summary())?;
    }

    /// An interval without activity is a value of 0, which does not affect the average.
    #[test]
    fn an_inactive_interval_does_not_change_the_average(
        kind in counter_type(),
        intervals in intervals(),
        events in events(),
        time_base in positive_time_base(),
        raw in good_raw(),
    ) {
        let formula = kind.formula().expect("a type with a formula");
        prop_assume!(formula.needs_two_samples() && formula != Formula::Delta && !formula.uses_multiplier());
        let mut events = events;
        for event in &mut events {
            if let Event::Sample { time_base: base, .. } = event {
                *base = time_base;
            }
        }
        let before = whole(kind, intervals, &events);
        let summary = before.summary();
        prop_assume!(summary.average.is_some());
        let mut after = before.clone();
        let calculator = Calculator::new(kind, time_base);
        after.add(&calculator, Some(&raw), &raw, moment(events.len()));
        let after = after.summary();
        prop_assert_eq!(after.average.map(f64::to_bits), summary.average.map(f64::to_bits));
        prop_assert_eq!(after.last, Some(0.0));
        if intervals == Intervals::All {
            prop_assert_eq!(after.values, summary.values + 1);
            prop_assert!(after.minimum <= Some(0.0) && after.maximum >= Some(0.0));
        } else {
            prop_assert_eq!((after.values, after.minimum), (summary.values, summary.minimum));
            prop_assert_eq!((after.maximum, after.quantiles), (summary.maximum, summary.quantiles));
        }
    }

    #[test]
    fn omitting_inactive_intervals_changes_neither_average_nor_last(
        kind in counter_type(),
        events in events(),
    ) {
        let all = whole(kind, Intervals::All, &events).summary();
        let active = whole(kind, Intervals::Active, &events).summary();
        prop_assert_eq!(all.average.map(f64::to_bits), active.average.map(f64::to_bits));
        prop_assert_eq!((all.last, all.errors), (active.last, active.errors));
        prop_assert_eq!((all.first_time, all.last_time), (active.first_time, active.last_time));
        prop_assert!(active.values <= all.values);
        if let (Some(minimum), Some(maximum)) = (active.minimum, active.maximum) {
            prop_assert!(all.minimum <= Some(minimum) && all.maximum >= Some(maximum));
        }
        if !kind.needs_two_samples() || kind.formula() == Some(Formula::Delta) {
            same(kind, &all, &active)?;
        }
    }

    /// If the denominator increases in every interval, the average is a weighted mean of the values, so it lies between
    /// the minimum and the maximum for any mix of clocks and multipliers.
    #[test]
    fn the_average_lies_between_minimum_and_maximum(
        kind in counter_type(),
        intervals in intervals(),
        steps in prop::collection::vec((0i64..1 << 40, 1i64..1 << 40, 1u32..9, positive_time_base()), 1..50),
    ) {
        prop_assume!(kind.formula() != Some(Formula::Elapsed));
        let mut at = RawValue::new(1, 1);
        let mut events = vec![Event::Sample { raw: at, time_base: 1, is_other: false }];
        for (n, d, multi_count, time_base) in steps {
            at = RawValue { multi_count, ..RawValue::new(at.first + n, at.second + d) };
            events.push(Event::Sample { raw: at, time_base, is_other: false });
        }
        let summary = whole(kind, intervals, &events).summary();
        prop_assert_eq!(summary.errors, 0);
        let (Some(minimum), Some(average), Some(maximum)) = (summary.minimum, summary.average, summary.maximum)
        else {
            return Err(TestCaseError::fail(format!("{summary:?}")));
        };
        // An inverse multi timer subtracts at most 900.
        let rounding = maximum.abs().max(900.0 * f64::from(u8::from(kind.is_inverse()))) * 1e-12;
        prop_assert!(minimum - rounding <= average && average <= maximum + rounding, "{:?}", summary);
    }

    #[test]
    fn statistics_with_different_formulas_cannot_be_merged(
        one in counter_type(),
        other in counter_type(),
        events in events(),
        others in events(),
    ) {
        prop_assume!(one.formula() != other.formula());
        let before = whole(one, Intervals::All, &events);
        let mut after = before.clone();
        prop_assert!(after.merge(&whole(other, Intervals::All, &others)).is_err());
        same(one, &before.summary(), &after.summary())?;
    }
}
