//! Text and JSON of a live source whose instances appear, disappear and are renumbered.

use std::sync::Arc;

use serde_json::Value;
use tachograph_counters::CounterType;
use tachograph_counters::RawValue;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable};
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::sinks::{LateInstances, LiveJsonSink, TextSink};
use tachograph_flow::{Sink, UnionScan};
use tachograph_logs::Format;

/// A machine with a rate for all processes, and for the process `b` alone.
struct Machine {
    all: Arc<CounterSet>,
    one: Arc<CounterSet>,
    table: InstanceTable,
    second: i64,
}

/// Name, identity and raw value of a process.
type Process<'a> = (&'a str, u64, i64);

impl Machine {
    fn new() -> Self {
        let mut all = CounterSet::new("M", "Process", Extent::Columns);
        all.counters = vec![Counter::new("Things/sec", CounterType::BULK_COUNT, 1)];
        let mut one = all.clone();
        one.extent = Extent::Row;
        one.instance = Some(Arc::new(Instance::new(None, "b", 0)));
        Self { all: Arc::new(all), one: Arc::new(one), table: InstanceTable::default(), second: 0 }
    }

    /// The sample of the next second; the first one is the baseline.
    fn sample(&mut self, processes: &[Process<'_>]) -> Sample {
        self.second += 1;
        let raw = |value: i64| RawValue::new(value, self.second);
        let mut all = Group::new(Arc::clone(&self.all));
        let instances: Vec<_> = processes.iter().map(|(name, ..)| self.table.intern(None, name, 0)).collect();
        all.instances = instances.into();
        all.identities = processes.iter().map(|process| process.1).collect();
        all.values = processes.iter().map(|process| raw(process.2)).collect();
        let mut one = Group::new(Arc::clone(&self.one));
        one.instances = self.one.instance.iter().cloned().collect();
        let b = processes.iter().find(|process| process.0 == "b");
        one.identities = vec![b.map_or(0, |process| process.1)];
        let absent = RawValue::error(tachograph_counters::Status::NO_INSTANCE);
        one.values = vec![b.map_or(absent, |process| raw(process.2))];
        let utc = FileTime::UNIX_EPOCH.saturating_add(self.second * FileTime::PER_SECOND);
        Sample {
            at: Moment { utc, bias_minutes: 0 },
            groups: vec![all, one],
            is_baseline: self.second == 1,
            ..Sample::default()
        }
    }
}

/// The cells of each row of a text log, whose columns are those of the first sample.
fn text(samples: &[&[Process<'_>]]) -> (Vec<String>, LateInstances) {
    let mut machine = Machine::new();
    let first = machine.sample(samples[0]);
    let mut scan = UnionScan::default();
    scan.push(&first).expect("a scan");
    let mut out = Vec::new();
    let sink = TextSink::new(&mut out, Format::Csv, TimeZone::utc(), &scan).expect("a text");
    let (mut sink, late) = sink.live();
    sink.push(&first).expect("written");
    for processes in &samples[1..] {
        sink.push(&machine.sample(processes)).expect("written");
    }
    sink.finish().expect("written");
    drop(sink);
    let text = String::from_utf8(out).expect("UTF-8");
    let cells = |line: &str| line.split_once(',').map_or("", |(_, cells)| cells).replace('"', "");
    (text.lines().skip(1).map(cells).collect(), late)
}

#[test]
fn text_keeps_the_columns_of_its_first_sample() {
    let (rows, late) = text(&[
        &[("a", 1, 10), ("b", 2, 100)],
        &[("a", 1, 11), ("b", 2, 120)],
        // `c` has no column.
        &[("c", 3, 7), ("b", 2, 150), ("a", 1, 13)],
        &[("c", 3, 8), ("d", 4, 0)],
        &[("c", 3, 8), ("a", 5, 10)],
        &[("a", 5, 14)],
    ]);
    assert_eq!(rows, ["1,20,20", "2,30,30", " , , ", " , , ", "4, , "]);
    assert_eq!(late.count(), 2);
    assert_eq!(late.first().as_deref(), Some(r"\\M\Process(c)"));
}

#[test]
fn text_logs_do_not_pair_two_processes_with_the_same_name() {
    let (rows, late) = text(&[
        &[("a", 1, 10), ("b", 2, 100)],
        &[("a", 9, 1000), ("b", 2, 101)],
        &[("a", 9, 1002), ("b", 8, 500)],
        // An unknown identity does not prevent pairing.
        &[("a", 0, 1003), ("b", 8, 501)],
    ]);
    assert_eq!(rows, [" ,1,1", "2, , ", "1,1,1"]);
    assert_eq!((late.count(), late.first()), (0, None));
}

#[test]
fn json_follows_instances_and_has_each_key_once() {
    let mut machine = Machine::new();
    let mut out = Vec::new();
    let mut sink = LiveJsonSink::new(&mut out);
    for processes in [
        &[("a", 1, 10), ("b", 2, 100)][..],
        &[("a", 1, 11), ("b", 2, 120)],
        &[("q\"\\", 3, 7), ("a", 7, 13)],
        &[("q\"\\", 3, 9)],
    ] {
        sink.push(&machine.sample(processes)).expect("written");
    }
    sink.finish().expect("written");
    drop(sink);
    let text = String::from_utf8(out).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            r#"{"time":"1970-01-01T00:00:02.000+00:00","values":{"\\\\M\\Process(a)\\Things/sec":1,"\\\\M\\Process(b)\\Things/sec":20}}"#,
            r#"{"time":"1970-01-01T00:00:03.000+00:00","values":{"\\\\M\\Process(q\"\\)\\Things/sec":null,"\\\\M\\Process(a)\\Things/sec":null,"\\\\M\\Process(b)\\Things/sec":null}}"#,
            r#"{"time":"1970-01-01T00:00:04.000+00:00","values":{"\\\\M\\Process(q\"\\)\\Things/sec":2,"\\\\M\\Process(b)\\Things/sec":null}}"#,
        ]
    );
    for line in lines {
        serde_json::from_str::<Value>(line).expect("JSON");
    }
}
