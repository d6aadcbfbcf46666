//! Recordings in segments.

use tachograph_counters::sample::Sample;
use tachograph_flow::Sink;
use tachograph_flow::record::{AtMax, RecordOptions, Suffix};
use tachograph_logs::Format;

use crate::fixture::{Disk, MILLISECOND, Machine, options, read, statistics};
use crate::whole::{PATHS, record, shown};

/// Records 50 samples of a machine whose workers appear and disappear; returns them.
fn churn(disk: &Disk, options: RecordOptions) -> Vec<Sample> {
    let machine = Machine::new(&["ann", "bob"]);
    let mut recorder = disk.recorder(options).expect("a new file");
    let mut source = machine.source(&PATHS);
    let mut taken = Vec::new();
    for number in 0..50 {
        match number {
            7 => machine.set_workers(&["ann"]),
            // The change is at the end of a segment.
            20 => machine.set_workers(&["ann", "bob", "carl"]),
            33 => machine.set_workers(&["carl", "ann"]),
            _ => {}
        }
        let mut sample = Sample::default();
        source.collect(&mut sample);
        recorder.push(&sample).expect("disk space");
        taken.push(sample);
        // Samples are up to 3 ms late, never early.
        machine.advance(100 * MILLISECOND + [0, 3, -1, -2][number % 4] * MILLISECOND);
    }
    recorder.finish().expect("disk space");
    let summary = recorder.summary();
    let names = disk.names();
    assert_eq!(summary.files, names.len() as u64);
    assert_eq!(summary.first_file.to_str(), names.first().map(String::as_str));
    assert_eq!(summary.last_file.to_str(), names.last().map(String::as_str));
    assert_eq!(summary.bytes, names.iter().map(|name| disk.file(name).len() as u64).sum::<u64>());
    taken
}

fn by_second(format: Format, name: &str) -> RecordOptions {
    let mut options = RecordOptions { format, ..options(name) };
    options.suffix = Suffix::Number;
    options.segment_time = Some(std::time::Duration::from_secs(1));
    options.at_max = AtMax::NewSegment;
    options
}

#[test]
fn segments_together_equal_one_log() {
    let (apart, one) = (Disk::default(), Disk::default());
    let taken = churn(&apart, by_second(Format::Blg, "a.blg"));
    churn(&one, options("one.blg"));
    let names = ["a_000001.blg", "a_000002.blg", "a_000003.blg", "a_000004.blg", "a_000005.blg"];
    assert_eq!(apart.names(), names);
    let mut read_again = Vec::new();
    for name in names {
        let (samples, problems) = read(&apart.file(name));
        assert_eq!((samples.len(), problems), (10, 0), "{name}");
        read_again.extend(samples);
    }
    assert_eq!(shown(&read_again), shown(&taken));
    let whole = statistics(&one, &one.names());
    assert_eq!(statistics(&apart, &apart.names()), whole);
    assert!(
        whole.iter().any(|(path, row)| path.ends_with(r"\Requests/sec") && row.values == 49),
        "{whole:?}"
    );
}

#[test]
fn text_segments_lose_no_interval() {
    let (apart, one) = (Disk::default(), Disk::default());
    churn(&apart, by_second(Format::Csv, "a.csv"));
    churn(&one, RecordOptions { format: Format::Csv, ..options("one.csv") });
    let column = |text: &str, path: &str| -> Vec<String> {
        let cells = |line: &str| {
            line.trim_end().split("\",\"").map(|cell| cell.trim_matches('"').to_owned()).collect::<Vec<_>>()
        };
        let column = cells(text.lines().next().expect("a header")).iter().position(|cell| cell == path);
        let cell = |line| column.map_or(String::new(), |column| cells(line)[column].clone());
        text.lines().skip(1).map(cell).collect()
    };
    let names = apart.names();
    for path in [r"\\FAKE\Shop\Requests/sec", r"\\FAKE\Worker(ann)\% Busy Time"] {
        let joined: Vec<_> = names.iter().flat_map(|name| column(&apart.text(name), path)).collect();
        assert_eq!(joined, column(&one.text("one.csv"), path), "{path}");
        assert_eq!(
            joined.iter().filter(|cell| *cell == " ").count(),
            1,
            "only the first row has blank cells"
        );
    }
    // Each segment has the columns of its own first sample.
    let bob = r"\\FAKE\Worker(bob)\% Busy Time";
    let has_bob: Vec<_> = names.iter().map(|name| apart.text(name).contains(bob)).collect();
    assert_eq!(has_bob, [true, false, true, true, false]);
}

#[test]
fn segments_stay_below_their_maximum_size() {
    for format in [Format::Blg, Format::Csv] {
        let (machine, disk) = (Machine::new(&["ann", "bob"]), Disk::default());
        let mut options = RecordOptions { format, ..options("a") };
        options.suffix = Suffix::Number;
        options.max_bytes = Some(65_536);
        options.at_max = AtMax::NewSegment;
        let mut recorder = disk.recorder(options).expect("a new file");
        let taken = record(&machine, &mut recorder, 1000).expect("disk space");
        recorder.finish().expect("disk space");
        let names = disk.names();
        assert!(names.len() > 1, "{names:?}");
        let mut count = 0;
        for name in &names {
            let file = disk.file(name);
            assert!(file.len() <= 65_536, "{name}: {}", file.len());
            assert!(file.len() > 50_000 || Some(name) == names.last(), "{name}: {}", file.len());
            let (samples, problems) = read(&file);
            assert_eq!(problems, 0);
            count += samples.len();
        }
        assert_eq!(count, taken.len());
    }
}

#[test]
fn segment_numbers_continue_after_existing_files() {
    let disk = Disk::default();
    disk.put("a_000041.blg", "mine");
    disk.put("a_000007.csv", "another format");
    // A suffix that is a date is not mistaken for a number.
    disk.put("a_11211956.blg", "another log");
    let machine = Machine::new(&["ann"]);
    for _ in 0..2 {
        let mut recorder = disk.recorder(by_second(Format::Blg, "a.blg")).expect("a new file");
        record(&machine, &mut recorder, 12).expect("disk space");
        recorder.finish().expect("disk space");
    }
    let (names, numbers) = (disk.names(), 42..46);
    let created = numbers.map(|number| format!("a_0000{number}.blg"));
    let before = ["a_000007.csv", "a_000041.blg"].map(str::to_owned);
    assert!(
        names
            .iter()
            .eq(before.iter().chain(&created.collect::<Vec<_>>()).chain([&"a_11211956.blg".to_owned()]))
    );
    assert_eq!(disk.text("a_000041.blg"), "mine");
}

#[test]
fn names_with_dates_are_local_and_unique() {
    let disk = Disk::default();
    disk.put("a_03050100.blg", "mine");
    let mut options = by_second(Format::Blg, "a.blg");
    options.suffix = Suffix::Date;
    let machine = Machine::new(&["ann"]);
    let mut recorder = disk.recorder(options).expect("a new file");
    record(&machine, &mut recorder, 15).expect("disk space");
    machine.advance(60_000 * MILLISECOND);
    record(&machine, &mut recorder, 1).expect("disk space");
    recorder.finish().expect("disk space");
    assert_eq!(
        disk.names(),
        ["a_03050100.blg", "a_03050100_002.blg", "a_03050100_003.blg", "a_03050101.blg"],
        "the names sort by time"
    );
    assert_eq!(disk.text("a_03050100.blg"), "mine");
}

#[test]
fn a_gap_does_not_move_the_ends_of_segments() {
    let (machine, disk) = (Machine::new(&["ann"]), Disk::default());
    let mut recorder = disk.recorder(by_second(Format::Blg, "a.blg")).expect("a new file");
    record(&machine, &mut recorder, 5).expect("disk space");
    // The machine was suspended; segments still end at whole seconds after the recording's start.
    machine.advance(7_200 * MILLISECOND);
    record(&machine, &mut recorder, 5).expect("disk space");
    recorder.finish().expect("disk space");
    let counts: Vec<_> = disk.names().iter().map(|name| read(&disk.file(name)).0.len()).collect();
    assert_eq!(counts, [5, 3, 2]);
}

#[test]
fn steps_of_the_wall_clock_do_not_move_segments() {
    let (machine, disk) = (Machine::new(&["ann"]), Disk::default());
    let mut recorder = disk.recorder(by_second(Format::Blg, "a.blg")).expect("a new file");
    record(&machine, &mut recorder, 15).expect("disk space");
    machine.step(3_600_000 * MILLISECOND);
    record(&machine, &mut recorder, 15).expect("disk space");
    recorder.finish().expect("disk space");
    let counts: Vec<_> = disk.names().iter().map(|name| read(&disk.file(name)).0.len()).collect();
    assert_eq!(counts, [10, 10, 10]);
}
