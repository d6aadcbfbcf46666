//! Recordings to a single log, without segments: formats, existing files, limits.

use tachograph_counters::RawValue;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::Counter;
use tachograph_flow::live::LiveSource;
use tachograph_flow::record::{AtMax, Existing, RecordOptions, Recorder};
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::Format;

use crate::fixture::{Disk, MILLISECOND, Machine, options, read};

pub(crate) const PATHS: [&str; 3] = [r"\Shop\*", r"\Worker(*)\% Busy Time", r"\Worker(carl)\% Busy Time"];

/// Records this number of samples of the machine, a tenth of a second apart.
pub(crate) fn record(
    machine: &Machine,
    recorder: &mut Recorder<Disk>,
    samples: usize,
) -> Result<Vec<Sample>, FlowError> {
    record_from(&mut machine.source(&PATHS), machine, recorder, samples)
}

/// Like [`record`], with a given source.
pub(crate) fn record_from(
    source: &mut LiveSource,
    machine: &Machine,
    recorder: &mut Recorder<Disk>,
    samples: usize,
) -> Result<Vec<Sample>, FlowError> {
    let mut taken = Vec::new();
    for _ in 0..samples {
        let mut sample = Sample::default();
        source.collect(&mut sample);
        recorder.push(&sample)?;
        taken.push(sample);
        machine.advance(100 * MILLISECOND);
        if recorder.is_full() {
            break;
        }
    }
    Ok(taken)
}

/// The moment of a sample, and its counters: path and raw values.
pub(crate) type Shown = (i64, Vec<(String, Vec<RawValue>)>);

/// The parts of samples that a log must preserve.
pub(crate) fn shown(samples: &[Sample]) -> Vec<Shown> {
    let counters = |group: &Group| -> Vec<_> {
        let labels: Vec<_> = group.instances.iter().map(|instance| instance.label()).collect();
        let path = |counter: &Counter| format!(r"{}({})\{}", group.set.name, labels.join(","), counter.name);
        let counters = group.set.counters.iter().enumerate();
        counters.map(|(column, counter)| (path(counter), group.column(column).copied().collect())).collect()
    };
    let shown = |sample: &Sample| (sample.at.utc.0, sample.groups.iter().flat_map(counters).collect());
    samples.iter().map(shown).collect()
}

#[test]
fn a_blg_preserves_samples() {
    let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::default());
    let mut recorder = disk.recorder(options("a.blg")).expect("a new file");
    let mut taken = record(&machine, &mut recorder, 5).expect("disk space");
    // A new instance is recorded immediately.
    machine.set_workers(&["ann", "bob", "carl"]);
    taken.extend(record(&machine, &mut recorder, 3).expect("disk space"));
    recorder.finish().expect("disk space");
    let (samples, problems) = read(&disk.file("a.blg"));
    assert_eq!((shown(&samples), problems), (shown(&taken), 0));
    let summary = recorder.summary();
    // Two counters of the shop, and one of each worker; Carl is also selected on his own.
    assert_eq!((summary.samples, summary.counters, summary.files), (8, 6, 1));
    assert_eq!(summary.bytes, disk.file("a.blg").len() as u64);
    assert_eq!(summary.values, taken.iter().map(|sample| sample.value_count() as u64).sum::<u64>());
    assert_eq!((summary.first, summary.last), (Some(taken[0].at), Some(taken[7].at)));
    assert_eq!(recorder.without_column(), None);
    assert_eq!(disk.syncs(), (0, 0));
}

#[test]
fn a_text_log_has_the_columns_of_its_first_sample() {
    for (format, separator) in [(Format::Csv, ","), (Format::Tsv, "\t")] {
        let (machine, disk) = (Machine::new(&["ann"]), Disk::default());
        let options = RecordOptions { format, ..options("a.txt") };
        let mut recorder = disk.recorder(options).expect("a new file");
        let mut source = machine.source(&PATHS);
        record_from(&mut source, &machine, &mut recorder, 2).expect("disk space");
        // `without_column` returns the first instance that has no column in the log.
        assert_eq!(recorder.without_column(), None);
        machine.set_workers(&["bob", "ann"]);
        record_from(&mut source, &machine, &mut recorder, 1).expect("disk space");
        assert_eq!(recorder.without_column(), Some(r"\\FAKE\Worker(bob)"));
        recorder.finish().expect("disk space");
        let text = disk.text("a.txt");
        let lines: Vec<Vec<_>> = text.lines().map(|line| line.split(separator).collect()).collect();
        let header = &lines[0][1..];
        assert_eq!(
            header,
            [
                r#""\\FAKE\Shop\Requests/sec""#,
                r#""\\FAKE\Shop\Open Orders""#,
                r#""\\FAKE\Worker(ann)\% Busy Time""#,
                r#""\\FAKE\Worker(carl)\% Busy Time""#,
            ]
        );
        // As on Windows, the first row has no values that need two samples.
        assert_eq!(lines[1], [r#""03/05/2024 01:00:00.000""#, r#"" ""#, r#""0""#, r#"" ""#, r#"" ""#]);
        assert_eq!(lines[2], [r#""03/05/2024 01:00:00.100""#, r#""50""#, r#""0""#, r#""50""#, r#"" ""#]);
        assert_eq!(lines.len(), 4);
        assert_eq!(recorder.summary().bytes, text.len() as u64);
        // Bob has no column, and Carl no value. The first row has a single value.
        assert_eq!((recorder.summary().counters, recorder.summary().values), (4, 7));
    }
}

#[test]
fn every_sample_is_synced_on_request() {
    for format in [Format::Blg, Format::Csv] {
        let disk = Disk::default();
        let mut options = RecordOptions { format, ..options("a") };
        options.is_synced = true;
        let mut recorder = disk.recorder(options).expect("a new file");
        record(&Machine::new(&["ann"]), &mut recorder, 4).expect("disk space");
        assert_eq!(disk.syncs(), (4, 1));
        recorder.finish().expect("disk space");
        assert_eq!(disk.syncs(), (5, 1));
    }
}

#[test]
fn an_existing_file_is_kept_by_default() {
    let disk = Disk::default();
    disk.put("a.blg", "mine");
    let refused = disk.recorder(options("a.blg")).err().expect("the file exists");
    let FlowError::Log(error) = &refused else { panic!("{refused}") };
    assert_eq!(error.io_error().map(std::io::Error::kind), Some(std::io::ErrorKind::AlreadyExists));
    assert!(refused.to_string().starts_with("a.blg: "), "{refused}");

    let options = RecordOptions { existing: Existing::Overwrite, ..options("a.blg") };
    let mut recorder = disk.recorder(options).expect("to be overwritten");
    // The file is not replaced before the first sample.
    assert_eq!(disk.text("a.blg"), "mine");
    record(&Machine::new(&["ann"]), &mut recorder, 2).expect("disk space");
    recorder.finish().expect("disk space");
    assert_eq!(read(&disk.file("a.blg")).0.len(), 2);
}

#[test]
fn a_sample_that_a_blg_cannot_store_does_not_destroy_the_old_log() {
    let (machine, disk) = (Machine::new(&["ann"]), Disk::default());
    disk.put("a.blg", "mine");
    let mut sample = Sample::default();
    machine.source(&PATHS).collect(&mut sample);
    sample.groups.clear();
    let options = RecordOptions { existing: Existing::Overwrite, ..options("a.blg") };
    let mut recorder = disk.recorder(options).expect("to be overwritten");
    let refused = recorder.push(&sample).expect_err("no counter");
    assert!(refused.to_string().starts_with("a.blg: a BLG needs at least one counter"), "{refused}");
    recorder.finish().expect("nothing to do");
    assert_eq!(disk.text("a.blg"), "mine");
}

#[test]
fn a_recording_without_samples_leaves_no_file() {
    let disk = Disk::default();
    disk.recorder(options("a.blg")).expect("a new file").finish().expect("nothing to do");
    assert!(disk.names().is_empty());
}

#[test]
fn only_later_samples_with_the_same_counters_are_appended() {
    for (name, format) in [("a.blg", Format::Blg), ("a.csv", Format::Csv)] {
        let (machine, disk) = (Machine::new(&["ann"]), Disk::default());
        let options = RecordOptions { format, existing: Existing::Append, ..options(name) };
        let mut first = disk.recorder(options.clone()).expect("a new file");
        let mut taken = record(&machine, &mut first, 3).expect("disk space");
        first.finish().expect("disk space");
        let mut second = disk.recorder(options.clone()).expect("the file");
        taken.extend(
            record(&machine, &mut second, 2).expect("the samples are later and have the same counters"),
        );
        second.finish().expect("disk space");
        let (samples, problems) = read(&disk.file(name));
        let times = |samples: &[Sample]| samples.iter().map(|sample| sample.at.utc).collect::<Vec<_>>();
        assert_eq!((times(&samples), problems), (times(&taken), 0));
        assert_eq!((second.summary().samples, second.summary().bytes), (2, disk.file(name).len() as u64));

        let before = disk.file(name);
        let mut other = disk.recorder(options.clone()).expect("the file");
        let mut sample = Sample::default();
        machine.source(&[r"\Shop\*"]).collect(&mut sample);
        let error = other.push(&sample).expect_err("other counters").to_string();
        assert!(
            error.starts_with(&format!("{name}: cannot append: ")) && error.contains("Worker"),
            "{error}"
        );
        other.finish().expect("nothing to do");
        machine.step(-3_600_000 * MILLISECOND);
        let mut early = disk.recorder(options).expect("the file");
        let error = record(&machine, &mut early, 1).expect_err("earlier").to_string();
        assert!(error.contains("cannot append: the log ends at 2024-03-05T01:00:00.400-08:00"), "{error}");
        assert_eq!(disk.file(name), before, "untouched");
    }
}

#[test]
fn a_recording_ends_before_its_file_is_too_large() {
    for format in [Format::Blg, Format::Csv] {
        let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::default());
        let mut options = RecordOptions { format, ..options("a") };
        options.max_bytes = Some(100_000);
        let mut recorder = disk.recorder(options).expect("a new file");
        let taken = record(&machine, &mut recorder, 100_000).expect("the recording ends at its limit");
        assert!(recorder.is_full());
        let file = disk.file("a");
        assert!((85_000..=100_000).contains(&file.len()), "{} bytes", file.len());
        let (samples, problems) = read(&file);
        assert_eq!((samples.len(), problems), (taken.len(), 0));
        let more = record(&machine, &mut recorder, 1).expect_err("the recording has ended");
        assert!(more.to_string().contains("has ended"), "{more}");
        assert_eq!(disk.file("a"), file);
    }
}

#[test]
fn a_circular_log_keeps_the_last_samples() {
    let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::default());
    let mut options = options("a.blg");
    options.max_bytes = Some(65_536);
    options.at_max = AtMax::Circular;
    let mut recorder = disk.recorder(options).expect("a new file");
    let taken = record(&machine, &mut recorder, 1000).expect("disk space");
    recorder.finish().expect("disk space");
    assert!(!recorder.is_full());
    let file = disk.file("a.blg");
    assert!(file.len() <= 65_536);
    let (samples, problems) = read(&file);
    assert_eq!(problems, 0);
    assert!((50..1000).contains(&samples.len()), "{} samples", samples.len());
    assert_eq!(shown(&samples), shown(&taken[taken.len() - samples.len()..]));
}
