//! Redundant fields of a log that differ: each difference is reported with the offset, what was found and what was
//! expected, and the samples are read.

use crate::fixture;

use std::path::Path;

use fixture::appended::append_at;
use fixture::block::{Block, Counter, Instance, Object};
use fixture::rewritten::{options_of, options_with, samples_and_problems_of, samples_of, write};
use fixture::shown::{read, try_read};
use fixture::{CATALOGUE, Entry, Event, LogBuilder, SAMPLE, local, multi, put, single};
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_logs::LogWriter;
use tachograph_logs::blg::BlgWriter;

const SECOND: i64 = 10_000_000;
const BIAS: i64 = 480 * 60 * SECOND;
const BUFFER: usize = 1024;

/// The system time (UTC) in the values of a sample: half a millisecond after the sample's time.
fn utc(second: i64) -> i64 {
    local(second) + BIAS + 5_000
}

/// A log as written by Windows: a single record of a tick type, and a multi record of a 100 ns type.
struct Log {
    file: Vec<u8>,
    list: usize,
    samples: Vec<usize>,
}

fn log() -> Log {
    let mut builder = LogBuilder { rule: None, ..LogBuilder::new(BUFFER) };
    let timer = Entry { counter_type: 0x2051_0500, time_base: SECOND, ..Entry::multi("Cpu", "% Time") };
    let list = builder.list(&[Entry::single("System", None, "Calls"), timer]);
    let samples = (0..8)
        .map(|n| {
            let rows = [("a", 3 * n, utc(n)), ("b", 5 * n, utc(n))];
            builder.sample(n, &[single(n, n, 10 * n), multi(n, &rows)])
        })
        .collect();
    Log { file: builder.file(), list, samples }
}

/// The offset of the single record of a sample; the multi record follows at + 0x30.
fn record(log: &Log, sample: usize) -> usize {
    log.samples[sample] + 0x48 + 8
}

/// Overwrites bytes at `at`, and asserts that all samples are read and one problem is reported.
#[track_caller]
fn expect(log: &Log, at: usize, bytes: &[u8], problem: &str) {
    let mut file = log.file.clone();
    assert_ne!(file[at..at + bytes.len()], *bytes, "the change has no effect");
    put(&mut file, at, bytes);
    let shown = read(&file);
    assert_eq!(shown.samples.len(), log.samples.len());
    assert_eq!(shown.problems, [problem]);
}

fn number(file: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(file[at..at + 8].try_into().expect("8 bytes"))
}

#[test]
fn the_undamaged_log_has_no_problems() {
    assert_eq!(read(&log().file).problems, [""; 0]);
}

/// Truncates a log to each of `lengths`; asserts that the truncation is reported, at least by the file's length.
#[track_caller]
fn cut(file: &[u8], lengths: impl Iterator<Item = usize>) {
    for length in lengths {
        let Ok(shown) = try_read(&file[..length]) else { continue };
        let problem = format!(
            "offset {length:#x}: the file is cut short: the header counts more buffers (found {length} bytes, expected {0} bytes: ",
            file.len()
        );
        assert!(
            shown.problems.iter().any(|found| found.starts_with(&problem)),
            "{length}: {:?}",
            shown.problems
        );
    }
}

#[test]
fn truncated_copies_are_reported() {
    let file = log().file;
    assert!(file.len() > 3 * BUFFER);
    cut(&file, 0..file.len());
    // A log of Tachograph that ends after its last event was left by a full disk.
    let own = write(&samples_of(&file), options_of(&file));
    let filler = own.iter().rev().take_while(|&&byte| byte == 0xFF).count();
    let end = own.len() - filler;
    cut(&own, (0..own.len()).filter(|&length| length != end));
    assert_eq!(read(&own[..end]).problems, [""; 0]);
    let Some(folder) = std::env::var_os("TACHO_CORPUS") else { return };
    for name in ["BasicPerfCounters.blg", "SampleLog.blg"] {
        let file = std::fs::read(Path::new(&folder).join(name)).expect("a log of the corpus");
        cut(&file, (1..file.len() / 0x10000).map(|count| count * 0x10000));
        cut(&file, (1..file.len() / 0x10000).map(|count| count * 0x10000 - 1));
    }
}

/// A log of Windows to which Tachograph appended until the disk was full.
#[test]
fn an_appended_log_without_padding_at_its_end_is_complete() {
    let mut file = log().file;
    // Windows writes its thread id.
    file[0x50] = 9;
    let mut samples = samples_of(&file);
    for sample in &mut samples {
        sample.at.utc.0 += 60 * SECOND;
        sample.groups.iter_mut().for_each(|group| group.read_at.0 += 60 * SECOND);
    }
    let appended = append_at(&file, &samples, options_of(&file).performance_frequency).expect("appended");
    let filler = appended.iter().rev().take_while(|&&byte| byte == 0xFF).count();
    let end = appended.len() - filler;
    assert!(filler > 0 && end > file.len());
    let shown = read(&appended[..end]);
    assert_eq!((shown.samples.len(), shown.problems), (16, Vec::new()));
    cut(&appended, (file.len() + 1..appended.len()).filter(|&length| length != end));
    // Windows pads its last buffer.
    let filler = file.iter().rev().take_while(|&&byte| byte == 0xFF).count();
    assert!(filler > 0);
    cut(&file, [file.len() - filler].into_iter());
}

#[test]
fn a_log_longer_than_its_header_says_is_unfinished() {
    let mut log = log();
    put(&mut log.file, 0x48 + 0x20 + 0x24, &2u32.to_le_bytes());
    let shown = read(&log.file);
    assert_eq!((shown.samples.len(), shown.problems), (8, Vec::new()));
    // Its last buffer was also not flushed at the end time in the header.
    let last = log.file.len() - BUFFER;
    put(&mut log.file, last + 0x34, &0x20u16.to_le_bytes());
    assert_eq!(read(&log.file).problems, [""; 0]);
}

#[test]
fn contradictions_of_the_last_buffer_are_reported() {
    let log = log();
    let last = log.file.len() - BUFFER;
    let problem = format!(
        "offset {:#x}: the last buffer is not flagged as the last one (found flags 0x20, expected bit 0 set)",
        last + 0x34
    );
    expect(&log, last + 0x34, &0x20u16.to_le_bytes(), &problem);
    let end = number(&log.file, 0x78) + 61 * SECOND;
    let problem = "offset 0x78: the end time in the header differs from the flush time of the last buffer (found 02/19/2013 18:51:01.000, expected 02/19/2013 18:50:00.000)";
    expect(&log, 0x78, &end.to_le_bytes(), problem);
}

#[test]
fn a_wrong_time_of_a_sample_is_reported() {
    let log = log();
    let at = log.samples[3] + 0x10;
    for (time, found) in [
        (local(3) + 1, "02/19/2013 18:50:03.000"),
        (local(3) + 9_000_000, "02/19/2013 18:50:03.900"),
        (local(3) - 9_000_000, "02/19/2013 18:50:02.100"),
    ] {
        let problem = format!(
            "offset {at:#x}: a sample's time differs from the times of its records (found {found}, expected 02/19/2013 18:50:03.000)"
        );
        expect(&log, at, &time.to_le_bytes(), &problem);
    }
    // In the year 1784.
    let mut file = log.file.clone();
    put(&mut file, at, &(local(3) - (1 << 56)).to_le_bytes());
    let problems = read(&file).problems;
    assert!(
        problems[0].contains("a sample is not later than the one before it (found 1784-"),
        "{problems:?}"
    );
    assert!(
        problems[1].contains("a record's time is more than a day from the sample's time"),
        "{problems:?}"
    );
    // The first and the last sample have only one neighbour.
    for (sample, second) in [(0, 0), (7, 7)] {
        let mut file = log.file.clone();
        put(&mut file, log.samples[sample] + 0x10, &(local(second) + 3 * SECOND / 10).to_le_bytes());
        let problems = read(&file).problems;
        assert!(
            problems[0].contains("a sample's time differs from the times of its records"),
            "{problems:?}"
        );
    }
}

#[test]
fn samples_out_of_order_are_reported() {
    let mut builder = LogBuilder::new(BUFFER);
    builder.list(&[Entry::single("System", None, "Calls")]);
    let at = [0, 1, 1, 3, 2, 5].map(|second| builder.sample(second, &[single(second, 1, 1)]));
    let problem = |at: usize, found: &str, expected: &str| {
        format!(
            "offset {:#x}: a sample is not later than the one before it (found 2013-02-19T18:50:0{found}.000-08:00, expected later than 2013-02-19T18:50:0{expected}.000-08:00)",
            at + 0x10
        )
    };
    let shown = read(&builder.file());
    assert_eq!(shown.samples.len(), 6);
    assert_eq!(shown.problems, [problem(at[2], "1", "1"), problem(at[4], "2", "3")]);
}

#[test]
fn a_wrong_time_of_a_record_is_reported() {
    let log = log();
    for (at, field) in [(record(&log, 4), 0x0C), (record(&log, 4) + 0x30, 0x18)] {
        let mut file = log.file.clone();
        put(&mut file, at + field, &(local(4) + 1024).to_le_bytes());
        let problem = format!(
            "offset {at:#x}: a record's time differs from the sample's time (found 02/19/2013 18:50:04.000, expected 02/19/2013 18:50:04.000)"
        );
        assert_eq!(read(&file).problems, [problem]);
    }
    let (at, time) = (record(&log, 4), local(4) + 2 * 86_400 * SECOND);
    let problem = format!(
        "offset {at:#x}: a record's time is more than a day from the sample's time (found 02/21/2013 18:50:04.000, expected 02/19/2013 18:50:04.000)"
    );
    expect(&log, at + 0x0C, &time.to_le_bytes(), &problem);
}

#[test]
fn clocks_of_remote_machines_may_differ() {
    let mut builder = LogBuilder::new(BUFFER);
    builder.list(&[Entry::single("System", None, "Calls")]);
    for n in 0..9 {
        builder.sample(10 * n, &[single(10 * n - 50 + 37 * n, 1, 1)]);
    }
    assert_eq!(read(&builder.file()).problems, [""; 0]);
}

#[test]
fn a_wrong_system_time_among_values_is_reported() {
    let log = log();
    for (units, is_off) in [(4_999, false), (5_001, true), (-15_001, true), (36_000 * SECOND, true)] {
        let at = record(&log, 5) + 0x30 + 0x20 + 24 + 0x10;
        let mut file = log.file.clone();
        put(&mut file, at, &(utc(5) + units).to_le_bytes());
        let problems = read(&file).problems;
        assert_eq!(problems.len(), usize::from(is_off), "{units}: {problems:?}");
        if let Some(problem) = problems.first() {
            let start = format!(
                "offset {at:#x}: a value's system time differs from its record's time by more than 1 ms (found "
            );
            assert!(problem.starts_with(&start), "{problem}");
            assert!(problem.ends_with(" UTC, expected 02/20/2013 02:50:05.000 UTC)"), "{problem}");
        }
    }
    // The bias of the zone is also redundant.
    let mut file = log.file.clone();
    put(&mut file, 0x48 + 0x20 + 0x48, &481u32.to_le_bytes());
    assert_eq!(read(&file).problems.len(), 8);
}

#[test]
fn an_impossible_zone_is_reported() {
    let log = log();
    let zone = 0x48 + 0x20 + 0x48;
    for (field, minutes, found) in
        [(0, 841i32, 841), (0, -841, -841), (0x54, 400, 880), (0xA8, 65_476, 65_476)]
    {
        let mut file = log.file.clone();
        put(&mut file, zone + field, &minutes.to_le_bytes());
        let problems = read(&file).problems;
        let problem = format!(
            "offset {:#x}: the log's time zone is more than 14 hours from UTC (found {found} minutes, expected -840 to 840 minutes)",
            zone + field
        );
        assert_eq!(problems[0], problem);
    }
}

#[test]
fn misplaced_names_of_a_multi_record_are_reported() {
    let log = log();
    let multi = record(&log, 2) + 0x30;
    let item = multi + 0x20;
    let packed = "the names of a multi record are not adjacent";
    // The first name is at 0x18 + 24 * 2; the second follows it.
    let problem = format!("offset {item:#x}: {packed} (found 74, expected 72)");
    expect(&log, item, &74u32.to_le_bytes(), &problem);
    let problem = format!("offset {:#x}: {packed} (found 72, expected 76)", item + 24);
    expect(&log, item + 24, &72u32.to_le_bytes(), &problem);
    // A name that ends too early, and one that ends too late.
    let names = multi + 8 + 72;
    let problem = format!("offset {:#x}: {packed} (found 76, expected 74)", item + 24);
    expect(&log, names, &[0], &problem);
    let problem = format!("offset {:#x}: {packed} (found 76, expected 80)", item + 24);
    expect(&log, names + 2, &[1], &problem);
    // The number of instances is one less than their names.
    let problem = format!("offset {item:#x}: {packed} (found 72, expected 48)");
    expect(&log, multi + 0x0C, &[1], &problem);
    let mut file = log.file.clone();
    put(&mut file, multi + 0x0C, &[0]);
    let problem = format!(
        "offset {:#x}: a multi record has extra bytes after its names (found 0x48, expected zeros)",
        item
    );
    assert_eq!(read(&file).problems, [problem]);
}

#[test]
fn misplaced_names_of_the_counter_list_are_reported() {
    let log = log();
    let entry = log.list + 0x48 + 8;
    let strings = entry + 0x34;
    let packed = "the names of a counter list entry are not adjacent";
    // The machine `\\MADE` has 14 bytes, the object `System` too, and the counter `Calls` 12.
    let problem = format!("offset {:#x}: {packed} (found 16, expected 14)", entry + 0x20);
    expect(&log, entry + 0x20, &16u32.to_le_bytes(), &problem);
    let problem = format!("offset {:#x}: {packed} (found 28, expected 26)", entry + 0x30);
    expect(&log, strings + 24, &[0], &problem);
    let problem = format!(
        "offset {:#x}: a counter list entry has extra bytes after its names (found 4, expected at most 15 zeros)",
        strings + 42
    );
    expect(&log, strings + 42, &[1], &problem);
    let outside = format!(
        "offset {:#x}: the offset of a name is outside its counter list entry (found 4096, expected below 44)",
        entry + 0x20
    );
    expect(&log, entry + 0x20, &4096u32.to_le_bytes(), &outside);
    let problem = format!(
        "offset {:#x}: unknown counter type (found 0x10410510, expected a type defined in winperf.h)",
        entry + 0x0C
    );
    expect(&log, entry + 0x0C, &0x1041_0510u32.to_le_bytes(), &problem);
    let (_, problems) = samples_and_problems_of(&{
        let mut file = log.file.clone();
        put(&mut file, entry + 0x0C, &0x1041_0510u32.to_le_bytes());
        file
    });
    assert!(problems[0].is_warning, "no data is lost");
}

#[test]
fn a_wrong_time_of_a_counter_list_is_reported() {
    let log = log();
    let problem = format!(
        "offset {:#x}: a counter list or name table is later than the sample after it (found 02/19/2013 18:50:00.000, expected at most 02/19/2013 18:50:00.000)",
        log.list + 0x10
    );
    expect(&log, log.list + 0x10, &(local(0) + 1).to_le_bytes(), &problem);
}

/// A log of one block record per sample, with a catalogue.
fn blocks() -> (Vec<u8>, [usize; 3], usize) {
    let timer = Counter { name_index: 6, counter_type: 0x2051_0500, bytes: 8 };
    let mut builder = LogBuilder { rule: None, ..LogBuilder::new(BUFFER) };
    builder.list(&[Entry::block("Process")]);
    let samples = [0, 1, 2].map(|n| {
        let object = Object::new(230, &[timer], &[Instance::new("a", &[n])]);
        let mut record = Block::new(n, &[object]).record();
        for (field, value) in [2013u16, 2, 2, 19, 18, 50, n as u16, 0].into_iter().enumerate() {
            put(&mut record, 8 + 0x24 + 2 * field, &value.to_le_bytes());
        }
        builder.event(SAMPLE, n, &fixture::sample(&[record]))
    });
    let mut catalogue = vec![0; 0x20];
    put(&mut catalogue, 0x1C, &0x5FFu32.to_le_bytes());
    let catalogue = builder.push(&Event::new(CATALOGUE, local(2) + 30, catalogue));
    (builder.file(), samples, catalogue)
}

#[test]
fn contradictions_of_block_records_and_the_catalogue_are_reported() {
    let (file, samples, catalogue) = blocks();
    assert_eq!(read(&file).problems, [""; 0]);
    let block = samples[1] + 0x48 + 8 + 8;
    for (at, bytes, problem) in [
        (
            block + 0x24 + 12,
            vec![9, 0],
            format!(
                "offset {:#x}: a record's time differs from the sample's time (found 02/19/2013 18:50:09.000, expected 02/19/2013 18:50:01.000)",
                block - 8
            ),
        ),
        (
            block + 0x24 + 4,
            vec![3, 0],
            format!(
                "offset {:#x}: a record's time differs from the sample's time (found 02/19/2013 18:50:01.000 with another day of the week, expected 02/19/2013 18:50:01.000)",
                block - 8
            ),
        ),
        (
            catalogue + 0x48 + 0x1C,
            vec![0xFE],
            format!(
                "offset {:#x}: the catalogue's signature is wrong; the catalogue is ignored (found 0x5fe, expected 0x5ff)",
                catalogue + 0x48 + 0x1C
            ),
        ),
        (
            catalogue + 0x10,
            local(1).to_le_bytes().to_vec(),
            format!(
                "offset {:#x}: the catalogue is older than the sample before it (found 02/19/2013 18:50:01.000, expected at least 02/19/2013 18:50:02.000)",
                catalogue + 0x10
            ),
        ),
    ] {
        let mut file = file.clone();
        put(&mut file, at, &bytes);
        let problems = read(&file).problems;
        assert!(problems.contains(&problem), "{problem}: {problems:?}");
    }
    // PerfTime100nSec, and the type of a counter.
    let mut other = file.clone();
    let system_time = number(&other, block + 0x48);
    put(&mut other, block + 0x48, &(system_time + 2 * SECOND).to_le_bytes());
    assert!(read(&other).problems[0].contains("a value's system time differs"));
    let definition = block + file[block + 0x18] as usize + 0x40;
    let mut other = file;
    put(&mut other, definition + 0x1C, &0x2051_0501u32.to_le_bytes());
    let problem = format!(
        "offset {:#x}: unknown counter type (found 0x20510501, expected a type defined in winperf.h)",
        definition + 0x1C
    );
    assert_eq!(read(&other).problems, [problem]);
}

/// Samples of a recorder whose clock is off by one of `offsets` in each sample, in tenths of a second. The system time among the
/// values advances evenly.
fn with_clock(offsets: &[i64]) -> Vec<Sample> {
    let mut samples = samples_of(&log().file);
    samples.truncate(offsets.len());
    assert_eq!(samples.len(), offsets.len());
    for (sample, offset) in samples.iter_mut().zip(offsets) {
        sample.at.utc = sample.at.utc.saturating_add(offset * SECOND / 10);
        sample.groups.iter_mut().for_each(|group| group.read_at = FileTime(0));
    }
    samples
}

#[test]
fn marked_steps_of_the_clock_are_not_damage() {
    for offsets in [
        [0, 0, 0, 36_000, 36_000, 36_000, 36_000, 36_000],
        [0, 0, 0, -4, -4, 30, 30, 25],
        [0, 1, 2, 3, 4, 5, 6, 7],
        [0, 0, 0, 0, 0, 0, 0, 5],
        [0, 5, 5, 5, 5, 5, 5, 5],
    ] {
        let samples = with_clock(&offsets);
        let file = write(&samples, options_with(BUFFER));
        let shown = read(&file);
        assert_eq!((shown.samples.len(), shown.problems), (8, Vec::new()), "{offsets:?}");
        // A rewritten log marks them too.
        let again = write(&samples_of(&file), options_with(4096));
        assert_eq!(read(&again).problems, [""; 0], "{offsets:?}");
        let thinned: Vec<_> = samples_of(&file).into_iter().step_by(2).collect();
        assert_eq!(read(&write(&thinned, options_with(BUFFER))).problems, [""; 0], "{offsets:?}");
        // The remaining samples of a circular log are marked too.
        let options = tachograph_logs::blg::BlgWriterOptions {
            circular_bytes: Some(6 * BUFFER as u64),
            ..options_with(BUFFER)
        };
        assert_eq!(read(&write(&samples, options)).problems, [""; 0], "{offsets:?}");
    }
}

#[test]
fn an_unmarked_step_of_system_time_is_reported() {
    let samples = with_clock(&[30; 8]);
    let mut file = std::io::Cursor::new(Vec::new());
    let mut writer = BlgWriter::new(&mut file, options_with(BUFFER)).expect("options");
    for sample in &samples {
        writer.write(sample).expect("written");
    }
    writer.finish().expect("finished");
    drop(writer);
    let file = file.into_inner();
    assert_eq!(read(&file).problems, [""; 0]);
    let wanted = utc(4).to_le_bytes();
    let at = file.windows(8).position(|bytes| *bytes == wanted).expect("the first value of a sample");
    for units in [20_000, -20_000, SECOND] {
        let mut file = file.clone();
        put(&mut file, at, &(utc(4) + units).to_le_bytes());
        let problems = read(&file).problems;
        let start = format!(
            "offset {at:#x}: the difference between a value's system time and the sample's time changed (found "
        );
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].starts_with(&start), "{problems:?}");
    }
}
