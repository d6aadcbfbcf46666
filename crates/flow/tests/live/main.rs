//! Samples of a simulated machine: groups, names, identities, errors.

mod fixture;
mod machines;

use std::io::Cursor;
use std::time::Duration;

use fixture::{Machine, Process};
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Extent;
use tachograph_counters::time_zone::TimeZone;
use tachograph_counters::{RawValue, Status};
use tachograph_flow::live::{LiveOptions, LiveSource, Schedule, TimedSource};
use tachograph_flow::sinks::{LiveValues, TextSink};
use tachograph_flow::{Sink as _, Source as _, UnionScan};
use tachograph_logs::blg::{BlgReader, BlgWriter, BlgWriterOptions};
use tachograph_logs::{Format, LogReader as _, LogWriter as _};

fn source(machine: &Machine, paths: &[&str], options: LiveOptions) -> LiveSource {
    let paths: Vec<_> = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
    LiveSource::open(&machine.registry(), &paths, options).expect("this machine").0
}

fn counters(group: &Group) -> Vec<&str> {
    group.set.counters.iter().map(|counter| &*counter.name).collect()
}

fn labels(group: &Group) -> Vec<&str> {
    group.instances.iter().map(|instance| instance.label()).collect()
}

#[test]
fn consecutive_counters_of_the_same_instances_share_a_group() {
    let machine = Machine::default();
    machine.set(&[Process::new("init", 1), Process::new("bash", 7), Process::new("bash", 9)]);
    let paths = [
        r"\Process(*)\*",
        r"\Process(bash#1)\Ticks/sec",
        r"\process(B*)\ID Process",
        r"\Process(*)\Ticks/sec",
        r"\Process(bash#1)\ID Process",
        r"\Process(bash#1)\Ticks/sec",
    ];
    let mut source = source(&machine, &paths, LiveOptions::default());
    let mut sample = Sample::default();
    source.collect(&mut sample);
    let described: Vec<_> =
        sample.groups.iter().map(|group| (counters(group), group.set.extent, labels(group))).collect();
    let (both, id, ticks) = (vec!["Ticks/sec", "ID Process"], vec!["ID Process"], vec!["Ticks/sec"]);
    let wanted = [
        (both, Extent::Columns, vec!["init", "bash", "bash#1"]),
        (ticks, Extent::Row, vec!["bash#1"]),
        (id.clone(), Extent::Columns, vec!["bash", "bash#1"]),
        (id, Extent::Row, vec!["bash#1"]),
    ];
    assert_eq!(described, wanted);
    assert_eq!(&*sample.groups[0].set.machine, "FAKE");
    let raw = |value: i64, id: i64| [RawValue::new(value, machine.ticks()), RawValue::new(id, 0)];
    assert_eq!(sample.groups[0].values, [raw(1, 1), raw(7, 7), raw(9, 9)].concat());
    assert_eq!(sample.groups[0].identities, [1, 7, 9]);
    assert_eq!(sample.groups[1].values, [RawValue::new(9, machine.ticks())]);
    assert_eq!(sample.groups[2].identities, [7, 9]);
}

#[test]
fn a_log_has_one_record_per_counter() {
    let machine = Machine::default();
    machine.set(&[Process::new("init", 1), Process::new("bash", 7)]);
    let paths = [r"\Process(*)\*", r"\Process(bash)\*"];
    let mut source = source(&machine, &paths, LiveOptions::default());
    let mut file = Cursor::new(Vec::new());
    let mut writer = BlgWriter::new(&mut file, BlgWriterOptions::new(TimeZone::utc())).expect("memory");
    let mut sample = Sample::default();
    source.collect(&mut sample);
    writer.write(&sample).expect("memory");
    writer.finish().expect("memory");
    drop(writer);
    let mut read = Sample::default();
    assert!(BlgReader::new(file).expect("a log").next(&mut read).expect("a sample"));
    let records: Vec<_> =
        read.groups.iter().map(|group| (counters(group), group.set.extent, labels(group))).collect();
    let record = |counter, extent, instances: &[&'static str]| (vec![counter], extent, instances.to_vec());
    let wanted = [
        record("Ticks/sec", Extent::Columns, &["init", "bash"]),
        record("ID Process", Extent::Columns, &["init", "bash"]),
        record("Ticks/sec", Extent::Row, &["bash"]),
        record("ID Process", Extent::Row, &["bash"]),
    ];
    assert_eq!(records, wanted);
    let ids = [&read.groups[1], &read.groups[3]]
        .map(|group| group.column(0).map(|raw| raw.first).collect::<Vec<_>>());
    assert_eq!(ids, [vec![1, 7], vec![7]]);
}

#[test]
fn instances_keep_their_names() {
    let machine = Machine::default();
    machine.set(&[Process::new("sh", 1), Process::new("sh", 2)]);
    let paths = [r"\Process(sh*)\ID Process", r"\Process(sh#1)\ID Process"];
    let mut source = source(&machine, &paths, LiveOptions::default());
    let mut sample = Sample::default();
    source.collect(&mut sample);
    assert_eq!(labels(&sample.groups[0]), ["sh", "sh#1"]);
    assert!(source.missing_instances().is_empty());
    let unchanged = sample.groups[0].instances.clone();
    source.collect(&mut sample);
    assert!(std::sync::Arc::ptr_eq(&unchanged, &sample.groups[0].instances));

    // The second process is replaced within an interval, so the new process cannot have the name yet.
    machine.set(&[Process::new("sh", 1), Process::new("sh", 3)]);
    source.collect(&mut sample);
    assert_eq!(labels(&sample.groups[0]), ["sh", "sh#2"]);
    assert_eq!(sample.groups[1].values, [RawValue::error(Status::NO_INSTANCE)]);
    assert_eq!(source.missing_instances(), [r"\Process(sh#1)\ID Process"]);
    machine.set(&[Process::new("sh", 1), Process::new("sh", 3), Process::new("sh", 4)]);
    source.collect(&mut sample);
    // The replacement gets the name in the next sample. The new process cannot have `sh#2`, which the previous sample used.
    assert_eq!(labels(&sample.groups[0]), ["sh", "sh#1", "sh#3"]);
    assert_eq!(sample.groups[1].values, [RawValue::new(3, 0)]);
    assert_eq!(sample.groups[1].identities, [3]);
    source.collect(&mut sample);
    assert_eq!(labels(&sample.groups[0]), ["sh", "sh#1", "sh#2"]);
    assert!(source.missing_instances().is_empty());
}

#[test]
fn a_path_selects_the_process_that_has_the_name() {
    let machine = Machine::default();
    let mut source = source(
        &machine,
        &[r"\Process(web)\ID Process", r"\Process(_Total)\ID Process", r"\Process(*)\Ticks/sec"],
        LiveOptions::default(),
    );
    let mut sample = Sample::default();
    let mut seen = Vec::new();
    // Both processes are replaced within an interval, twice.
    for pid in [1, 1, 2, 2, 2, 3, 3] {
        machine.set(&[Process::new("web", pid), Process::total(10 + pid)]);
        source.collect(&mut sample);
        let id = |group: usize| sample.groups[group].values[0].first;
        seen.push((id(0), id(1), labels(&sample.groups[2]).join(" ")));
    }
    let row = |id: i64, names: &str| (id, if id == 0 { 0 } else { 10 + id }, names.to_owned());
    // A total that waits for its name is skipped.
    let wanted = [
        row(1, "web _Total"),
        row(1, "web _Total"),
        row(0, "web#1"),
        row(2, "web _Total"),
        row(2, "web _Total"),
        row(0, "web#1"),
        row(3, "web _Total"),
    ];
    assert_eq!(seen, wanted);
}

/// `Ticks/sec` of `web` in each sample, in [`LiveValues`] and in CSV. Another process replaces it between the third and the
/// fourth sample.
fn values_of_replaced(options: LiveOptions) -> [Vec<Option<f64>>; 2] {
    let machine = Machine::default();
    let web = |pid, ticks| machine.set(&[Process::new("web", pid).showing(ticks)]);
    web(1, 10);
    let mut source = source(&machine, &[r"\Process(*)\Ticks/sec"], options);
    let (mut values, mut shown) = (LiveValues::default(), Vec::new());
    let (mut samples, mut sample) = (Vec::new(), Sample::default());
    for (pid, ticks) in [(1, 10), (1, 20), (1, 30), (2, 1000), (2, 1007), (2, 1014)] {
        web(pid, ticks);
        source.collect(&mut sample);
        values.push(&sample);
        let group = &values.groups()[0];
        let row = group.instances().iter().position(|instance| instance.label() == "web");
        shown.push(row.and_then(|row| group.values()[row]));
        samples.push(sample.clone());
    }
    let mut scan = UnionScan::default();
    scan.push(&samples[0]).expect("columns");
    let (mut text, zone) = (Vec::new(), TimeZone::fixed("UTC", 0));
    let mut csv = TextSink::new(&mut text, Format::Csv, zone, &scan).expect("memory").live().0;
    samples.iter().for_each(|sample| csv.push(sample).expect("memory"));
    csv.finish().expect("memory");
    drop(csv);
    let text = String::from_utf8(text).expect("UTF-8");
    let cell = |line: &str| line.split(',').nth(1)?.trim_matches('"').parse().ok();
    [shown, text.lines().skip(1).map(cell).collect()]
}

#[test]
fn a_process_that_replaces_another_is_blank_for_one_interval() {
    let options = LiveOptions { pairs_by_identity: true, ..LiveOptions::default() };
    let wanted = vec![None, Some(10.0), Some(10.0), None, Some(7.0), Some(7.0)];
    assert_eq!(values_of_replaced(options), [wanted.clone(), wanted]);
    // In logs, values are paired by name alone, so in one sample no instance has the name.
    let wanted = vec![None, Some(10.0), Some(10.0), None, None, Some(7.0)];
    assert_eq!(values_of_replaced(LiveOptions::default()), [wanted.clone(), wanted]);
}

/// The names of two processes, of which one then replaces the first, in three samples of a log of these paths.
fn names_of_replaced(paths: &[&str]) -> [Vec<String>; 3] {
    let machine = Machine::default();
    machine.set(&[Process::new("web", 1), Process::new("web", 2)]);
    let mut source = source(&machine, paths, LiveOptions::default());
    let mut sample = Sample::default();
    [0, 1, 2].map(|step| {
        if step == 1 {
            machine.set(&[Process::new("web", 2), Process::new("web", 3)]);
        }
        source.collect(&mut sample);
        labels(&sample.groups[0]).into_iter().map(str::to_owned).collect()
    })
}

#[test]
fn processes_keep_their_names_in_a_log_with_their_ids() {
    let (ticks, ids) = (r"\Process(*)\Ticks/sec", r"\Process(*)\ID Process");
    assert_eq!(names_of_replaced(&[ticks, ids]), [["web", "web#1"], ["web#1", "web"], ["web#1", "web"]]);
    // Readers of these logs cannot distinguish all processes, so the new one has a name of its own in one sample.
    for paths in [&[ticks][..], &[ticks, r"\Process(web)\ID Process"]] {
        assert_eq!(names_of_replaced(paths), [["web", "web#1"], ["web#1", "web#2"], ["web#1", "web"]]);
    }
}

#[test]
fn a_process_named_like_the_total_is_another_instance() {
    let machine = Machine::default();
    machine.set(&[Process::new("_Total", 7), Process::new("sh", 8), Process::total(15)]);
    let paths = [r"\Process(_Total)\ID Process", r"\Process(_Total#1)\ID Process", r"\Process(*)\ID Process"];
    let mut source = source(&machine, &paths, LiveOptions::default());
    let mut sample = Sample::default();
    for _ in 0..3 {
        source.collect(&mut sample);
        assert_eq!([0, 1].map(|group| sample.groups[group].values[0].first), [15, 7]);
        assert_eq!(labels(&sample.groups[2]), ["_Total#1", "sh", "_Total"]);
    }
}

#[test]
fn a_failing_set_is_reported_once() {
    let machine = Machine::default();
    machine.set(&[Process::new("a", 1)]);
    let mut source =
        source(&machine, &[r"\Process(*)\Ticks/sec", r"\Process(a)\Ticks/sec"], LiveOptions::default());
    let report = source.report();
    let mut sample = Sample::default();
    machine.fail("the process table is unreadable");
    for _ in 0..3 {
        source.collect(&mut sample);
        assert_eq!(sample.groups[0].status, Status::NO_DATA);
        assert!(sample.groups[0].values.is_empty());
        assert_eq!(sample.groups[1].values, [RawValue::error(Status::CSTATUS_INVALID_DATA)]);
    }
    let errors = report.new_errors();
    let [error] = &*errors else { panic!("{errors:?}") };
    assert_eq!((error.path.as_str(), &*error.reason), (r"\\FAKE\Process", "the process table is unreadable"));
    assert!(report.new_errors().is_empty());
    assert_eq!(report.errors()[0].count, 3);
    machine.set(&[Process::new("a", 1)]);
    source.collect(&mut sample);
    assert_eq!(sample.groups[0].status, Status::VALID_DATA);
    assert_eq!(labels(&sample.groups[0]), ["a"]);
}

#[test]
fn a_baseline_is_not_counted() {
    let machine = Machine::default();
    machine.set(&[Process::new("a", 1)]);
    let source = source(&machine, &[r"\Process(a)\Ticks/sec"], LiveOptions::default());
    let schedule = Schedule {
        interval: Duration::from_millis(1),
        samples: Some(3),
        has_baseline: true,
        ..Schedule::default()
    };
    let mut source = TimedSource::new(source, schedule);
    let mut sample = Sample::default();
    let mut baselines = Vec::new();
    while source.next(&mut sample).expect("nothing fails") {
        baselines.push(sample.is_baseline);
    }
    assert_eq!(baselines, [true, false, false, false]);
    assert_eq!(source.live().report().samples(), 3);
}

#[test]
fn stopping_ends_the_samples() {
    let machine = Machine::default();
    let source = source(&machine, &[r"\Process(*)\Ticks/sec"], LiveOptions::default());
    let schedule = Schedule { interval: Duration::from_secs(3600), ..Schedule::default() };
    let stop = schedule.stop.clone();
    let mut source = TimedSource::new(source, schedule);
    let mut sample = Sample::default();
    assert!(source.next(&mut sample).expect("nothing fails"));
    stop.stop();
    assert!(!source.next(&mut sample).expect("nothing fails"));
}

#[test]
fn unknown_paths_have_suggestions() {
    let machine = Machine::default();
    let paths =
        [r"\Proces(*)\Ticks/sec", r"\Process(*)\Tick/sec", r"\Process\Ticks/sec", r"\Process(x)\Ticks/sec"];
    let paths: Vec<_> = paths.iter().map(|path| PathPattern::parse(path).expect("a path")).collect();
    let (_, selection) =
        LiveSource::open(&machine.registry(), &paths, LiveOptions::default()).expect("this machine");
    let advice: Vec<_> =
        selection.unmatched().into_iter().map(|(_, advice)| advice.unwrap_or_default()).collect();
    assert_eq!(
        advice,
        [
            "did you mean the counter set 'Process'?",
            "did you mean the counter 'Ticks/sec'?",
            r"'Process' has instances: write '\Process(*)\Ticks/sec' for all of them",
        ]
    );
}

#[test]
fn new_paths_do_not_affect_remaining_counters() {
    let machine = Machine::default();
    machine.set(&[Process::new("sh", 1), Process::new("sh", 2)]);
    let path = |text: &str| PathPattern::parse(text).expect("a path");
    let mut source = source(&machine, &[r"\Process(sh*)\ID Process"], LiveOptions::default());
    let mut sample = Sample::default();
    source.collect(&mut sample);
    let before = sample.groups[0].set.clone();
    // The first process ends; the second keeps its number while the paths change.
    machine.set(&[Process::new("sh", 2)]);
    let selection =
        source.set_paths(&[path(r"\Process(*)\Ticks/sec"), path(r"\Process(sh*)\ID Process"), path(r"\X\Y")]);
    assert_eq!(selection.unmatched().len(), 1);
    source.collect(&mut sample);
    let names: Vec<_> = sample.groups.iter().map(|group| &*group.set.counters[0].name).collect();
    assert_eq!(names, ["Ticks/sec", "ID Process"]);
    assert!(std::sync::Arc::ptr_eq(&before, &sample.groups[1].set));
    assert_eq!((labels(&sample.groups[0]), labels(&sample.groups[1])), (vec!["sh#1"], vec!["sh#1"]));
    // New counters are not added to a group that sinks already know.
    source.set_paths(&[path(r"\Process(*)\Ticks/sec"), path(r"\Process(*)\ID Process")]);
    source.collect(&mut sample);
    assert_eq!(sample.groups.iter().map(counters).collect::<Vec<_>>(), [["Ticks/sec"], ["ID Process"]]);
    source.set_paths(&[path(r"\Process(sh#1)\Ticks/sec")]);
    source.collect(&mut sample);
    assert_eq!(sample.groups.len(), 1);
    assert_eq!(sample.groups[0].identities, [2]);
    source.set_paths(&[]);
    source.collect(&mut sample);
    assert!(sample.groups.is_empty());
}

#[test]
fn a_set_that_replaces_another_has_new_numbers_and_a_new_description() {
    let (old, new) = (Machine::default(), Machine::default());
    old.set(&[Process::new("sh", 1), Process::new("sh", 2)]);
    new.set(&[Process::new("sh", 3)]);
    let mut source =
        source(&old, &[r"\Process(*)\ID Process", r"\Process(sh)\Ticks/sec"], LiveOptions::default());
    let mut sample = Sample::default();
    source.collect(&mut sample);
    old.set(&[Process::new("sh", 2)]);
    source.collect(&mut sample);
    assert_eq!(labels(&sample.groups[0]), ["sh#1"]);
    let before = sample.groups[0].set.clone();
    source.set_registry(&new.registry());
    let selection = source.set_paths(&[PathPattern::parse(r"\Process(*)\ID Process").expect("a path")]);
    assert!(selection.unmatched().is_empty());
    source.collect(&mut sample);
    // The new set has new numbers and a new description.
    assert_eq!(sample.groups.len(), 1);
    assert_eq!((labels(&sample.groups[0]), &*sample.groups[0].identities), (vec!["sh"], &[3_u64][..]));
    assert!(!std::sync::Arc::ptr_eq(&before, &sample.groups[0].set));
}
