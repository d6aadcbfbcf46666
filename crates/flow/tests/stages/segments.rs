//! All segments together have the statistics of the undivided log, even with missing instances and groups.

use std::sync::Arc;

use proptest::prelude::*;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable};
use tachograph_counters::{CounterType, RawValue, Status};
use tachograph_flow::sinks::{ExtraFigures, StatisticsOptions, StatisticsRow, StatisticsSink, TextSink};
use tachograph_flow::{Union, UnionScan, run};
use tachograph_logs::Format;

use crate::fixture::{Samples, sample};

const NAMES: [&str; 4] = ["w3wp", "svchost", "svchost#1", "_Total"];

/// One instance in one sample.
#[derive(Clone, Debug)]
struct Life {
    is_present: bool,
    has_failed: bool,
    is_another_process: bool,
    step: i64,
}

/// The changes from one sample to the next.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    lives: Vec<Life>,
    /// Whether the sample has the group of all processes.
    pub(crate) has_processes: bool,
    restarts: bool,
}

fn life() -> impl Strategy<Value = Life> {
    let step = prop_oneof![8 => 0i64..1000, 1 => -5000i64..0];
    (0u8..10, 0u8..20, 0u8..20, step).prop_map(|(absent, failed, another, step)| Life {
        is_present: absent >= 4,
        has_failed: failed == 0,
        is_another_process: another == 0,
        step,
    })
}

pub(crate) fn moment() -> impl Strategy<Value = Moment> {
    (prop::collection::vec(life(), NAMES.len()), 0u8..10, 0u8..20).prop_map(|(lives, processes, restart)| {
        Moment { lives, has_processes: processes > 0, restarts: restart == 0 }
    })
}

/// The descriptions of a log: every segment has its own.
struct Log {
    all: Arc<CounterSet>,
    one: Arc<CounterSet>,
    memory: Arc<CounterSet>,
    table: InstanceTable,
}

impl Log {
    fn new(extent: Extent) -> Self {
        let counters = [
            Counter::new("% Processor Time", CounterType::TIMER_100NS, 10_000_000),
            Counter::new("Threads", CounterType::RAWCOUNT, 0),
        ];
        let set = |name: &str, extent, counters: &[Counter]| {
            let mut set = CounterSet::new("M", name, extent);
            set.counters = counters.to_vec();
            set
        };
        let shown = if extent == Extent::Table { &counters[..] } else { &counters[..1] };
        let mut one = set("Service", Extent::Row, &counters[..1]);
        one.instance = Some(Arc::new(Instance::new(None, NAMES[0], 0)));
        let mut memory = set("Memory", Extent::Row, &counters[1..]);
        memory.has_instances = false;
        Self {
            all: Arc::new(set("Process", extent, shown)),
            one: Arc::new(one),
            memory: Arc::new(memory),
            table: InstanceTable::default(),
        }
    }
}

/// The samples. A new log starts at each index in `starts`.
pub(crate) fn samples(moments: &[Moment], starts: &[usize], extent: Extent) -> Vec<Sample> {
    let mut firsts = [0i64; NAMES.len()];
    let mut identities = [1u64; NAMES.len()];
    let (mut log, mut log_number, mut boot_time) = (Log::new(extent), 0, 7);
    let mut samples = Vec::new();
    for (number, moment) in moments.iter().enumerate() {
        if number > 0 && starts.contains(&number) {
            log = Log::new(extent);
            log_number += 1;
        }
        if moment.restarts {
            boot_time += 1;
        }
        let mut all = Group::new(Arc::clone(&log.all));
        let mut rows = Vec::new();
        for (place, life) in moment.lives.iter().enumerate() {
            firsts[place] += life.step;
            identities[place] += u64::from(life.is_another_process);
            if !life.is_present {
                continue;
            }
            rows.push(log.table.intern(None, NAMES[place], 0));
            all.identities.push(identities[place]);
            let mut raw = RawValue::new(firsts[place], number as i64 * 10_000);
            raw.status = if life.has_failed { Status::NO_DATA } else { raw.status };
            let values = [raw, RawValue::new(place as i64 + number as i64 % 3, 0)];
            all.values.extend_from_slice(&values[..log.all.counters.len()]);
        }
        all.instances = rows.into();
        if !moment.has_processes {
            all.clear();
            all.status = Status::ITEM_NOT_VALIDATED;
        }
        let mut one = Group::new(Arc::clone(&log.one));
        one.instances = log.one.instance.iter().cloned().collect();
        one.values.push(match moment.lives[0].is_present {
            true => RawValue::new(firsts[0] * 3, number as i64 * 10_000),
            false => RawValue::error(Status::NO_INSTANCE),
        });
        let mut memory = Group::new(Arc::clone(&log.memory));
        memory.instances = Arc::new([Arc::new(Instance::none())]);
        memory.values.push(RawValue::new(number as i64, 0));
        let mut sample = sample(number as i64, vec![memory, all, one]);
        sample.log = log_number;
        sample.boot_time = FileTime(boot_time);
        samples.push(sample);
    }
    samples
}

/// All statistics as text with all digits.
fn statistics(samples: Vec<Sample>) -> Vec<String> {
    let mut sink = StatisticsSink::new(StatisticsOptions { extra: extra(), ..StatisticsOptions::default() });
    run(&mut Samples::new(samples), &mut sink, || {}).expect("no error");
    shown(&sink.rows())
}

/// The options for all optional statistics.
pub(crate) fn extra() -> ExtraFigures {
    ExtraFigures {
        percentiles: [1.0, 99.9].into(),
        standard_deviation: true,
        slope_per_hour: true,
        maximum_time: true,
    }
}

/// The figures of rows, with all digits.
pub(crate) fn shown(rows: &[StatisticsRow]) -> Vec<String> {
    rows.iter().map(|row| format!("{} {:?} {:?}", row.path, row.summary, row.extra)).collect()
}

fn text(samples: Vec<Sample>) -> String {
    let mut scan = UnionScan::default();
    run(&mut Samples::new(samples.clone()), &mut scan, || {}).expect("no error");
    let zone = tachograph_counters::time_zone::TimeZone::utc();
    let mut out = Vec::new();
    let mut sink = TextSink::new(&mut out, Format::Csv, zone, &scan).expect("a text");
    run(&mut Union::scanned(Samples::new(samples), &scan), &mut sink, || {}).expect("no error");
    drop(sink);
    String::from_utf8(out).expect("UTF-8")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn segments_have_the_statistics_of_the_whole(
        moments in prop::collection::vec(moment(), 1..60),
        starts in prop::collection::vec(1usize..60, 0..12),
        is_table in any::<bool>(),
    ) {
        let extent = if is_table { Extent::Table } else { Extent::Columns };
        let (whole, parts) = (samples(&moments, &[], extent), samples(&moments, &starts, extent));
        prop_assert_eq!(statistics(parts.clone()), statistics(whole.clone()));
        prop_assert_eq!(text(parts), text(whole));
    }
}

/// A process restarts between two segments. It is busy for 10 % of the time before and after, with a new running total.
#[test]
fn a_process_that_returns_in_a_later_log_is_not_paired_with_its_predecessor() {
    let life = |is_present, step| Life { is_present, has_failed: false, is_another_process: false, step };
    let steps = [(true, 1000); 4].into_iter().chain([(false, 0), (false, 900_000)]).chain([(true, 1000); 4]);
    let moments: Vec<_> = steps
        .map(|(is_present, step)| Moment {
            lives: NAMES.iter().map(|_| life(is_present, step)).collect(),
            has_processes: true,
            restarts: false,
        })
        .collect();
    let whole = statistics(samples(&moments, &[], Extent::Columns));
    assert!(whole[4].contains(r"w3wp)\% Processor Time Summary { values: 6,"), "{whole:#?}");
    assert!(
        whole[4].contains("average: Some(10.0)") && whole[4].contains("maximum: Some(10.0)"),
        "{whole:#?}"
    );
    for starts in [&[4][..], &[5], &[6], &[7], &[4, 5], &[4, 5, 6], &[2, 5]] {
        assert_eq!(statistics(samples(&moments, starts, Extent::Columns)), whole, "{starts:?}");
    }
}

/// A second recorder on the same machine records only one process, between the samples of the first recorder.
#[test]
fn a_parallel_log_with_fewer_instances_breaks_no_pair() {
    let life = |is_present| Life { is_present, has_failed: false, is_another_process: false, step: 1000 };
    let moment = |count: usize| Moment {
        lives: (0..NAMES.len()).map(|place| life(place < count)).collect(),
        has_processes: true,
        restarts: false,
    };
    let moments =
        [vec![moment(4); 20], vec![moment(1); 20]].map(|moments| samples(&moments, &[], Extent::Columns));
    let [all, some] = moments;
    let alone = statistics(all.clone());
    let mut both = Vec::new();
    for (all, mut beside) in all.into_iter().zip(some) {
        both.push(all);
        beside.log = 1;
        both.push(beside);
    }
    let beside = statistics(both);
    for name in &NAMES[1..] {
        let of = |rows: &[String]| rows.iter().find(|row| row.contains(&format!("({name})"))).cloned();
        assert!(of(&alone).is_some());
        assert_eq!(of(&beside), of(&alone));
    }
}
