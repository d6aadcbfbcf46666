//! Adding a run of raw values equals adding them one by one.

use proptest::prelude::*;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::{
    Calculator, CounterType, Intervals, RawRun, RawValue, RunBuffers, SampleTimes, Series, Statistics,
    Status, Summary,
};

fn kinds() -> impl Strategy<Value = CounterType> {
    let kinds: Vec<_> = CounterType::all().collect();
    prop::sample::select(kinds)
}

/// Raw values that usually increase, like those of counters; some decrease, are unchanged, or have an error or an absent instance.
fn raws() -> impl Strategy<Value = Vec<RawValue>> {
    let status = prop_oneof![
        12 => Just(Status::VALID_DATA),
        1 => Just(Status::NEW_DATA),
        1 => Just(Status::CSTATUS_INVALID_DATA),
        1 => Just(Status::NO_INSTANCE),
    ];
    let step = prop_oneof![2 => Just(0i64), 8 => 0i64..1_000_000, 1 => -50i64..0, 1 => any::<i64>()];
    let steps = prop::collection::vec((step.clone(), step, 0u32..3, status), 0..200);
    // Half of the runs have no errors, and half of the counters never decrease.
    (steps, any::<bool>(), any::<bool>()).prop_map(|(steps, is_valid, is_steady)| {
        let (mut first, mut second) = (5i64, 1i64);
        steps
            .into_iter()
            .map(|(n, d, multi_count, status)| {
                let [n, d] = [n, d].map(|step| if is_steady { step.rem_euclid(1_000_000) } else { step });
                first = first.wrapping_add(n);
                second = second.wrapping_add(d);
                match is_valid {
                    true => RawValue::new(first, second),
                    false => RawValue { first, second, multi_count, status },
                }
            })
            .collect()
    })
}

fn at(index: usize, wobble: &[i8]) -> Moment {
    let wobble = wobble.get(index % wobble.len().max(1)).copied().unwrap_or_default();
    Moment { utc: FileTime(1_000_000 + 100 * index as i64 + i64::from(wobble)), bias_minutes: 60 }
}

fn summary(series: &Series) -> (Summary, [Option<f64>; 2]) {
    let statistics = series.statistics();
    (statistics.summary(), [statistics.standard_deviation(), statistics.slope_per_hour()])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn adding_a_run_equals_adding_each_value(
        kind in kinds(),
        time_base in prop_oneof![4 => Just(10_000_000i64), 1 => -1i64..=1],
        intervals in prop::sample::select(vec![Intervals::All, Intervals::Active]),
        raws in raws(),
        // Two raw values can have the same time.
        wobble in prop::collection::vec(prop_oneof![any::<i8>(), Just(50), Just(-50)], 1..9),
        run_lengths in prop::collection::vec(1usize..40, 1..9),
        breaks in prop::collection::vec(any::<bool>(), 1..9),
    ) {
        let calculator = Calculator::new(kind, time_base);
        let new = || Series::new(Statistics::new(kind.formula(), intervals, None).with_regression());
        let (mut one_by_one, mut in_runs) = (new(), new());
        let (mut from, mut buffers) = (0, RunBuffers::default());
        for (index, length) in run_lengths.iter().cycle().enumerate() {
            let to = (from + length).min(raws.len());
            let mut times = SampleTimes::default();
            (from..to).for_each(|index| times.push(at(index, &wobble)));
            if breaks[index % breaks.len()] {
                in_runs.interrupt();
                one_by_one.interrupt();
            }
            let part = &raws[from..to];
            let firsts: Vec<_> = part.iter().map(|raw| raw.first).collect();
            let seconds: Vec<_> = part.iter().map(|raw| raw.second).collect();
            let mut tails: Vec<_> = part.iter().map(|raw| (raw.multi_count, raw.status)).collect();
            // If all pairs are equal, a single pair is passed.
            tails.dedup();
            if tails.len() > 1 {
                tails = part.iter().map(|raw| (raw.multi_count, raw.status)).collect();
            }
            in_runs.add_run(
                &calculator,
                &RawRun { firsts: &firsts, seconds: &seconds, tails: &tails },
                times.since(0),
                &mut buffers,
            );
            for (raw, at) in part.iter().zip(times.since(0).as_slice()) {
                one_by_one.add(&calculator, raw, *at);
            }
            from = to;
            if from == raws.len() {
                break;
            }
        }
        prop_assert_eq!(summary(&one_by_one), summary(&in_runs));
    }
}
