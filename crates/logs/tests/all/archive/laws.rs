//! Samples that are read from an archive are those that were written.

use std::sync::Arc;

use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
use tachograph_counters::{CounterType, RawValue};
use tachograph_logs::archive::{ArchiveRows, ColumnValues, RowColumn};
use tachograph_logs::{Format, open};

use super::generated::{TempFolder, files, read, recording, shown, write};

#[track_caller]
fn assert_equal(found: &[Sample], expected: &[Sample]) {
    assert_eq!(found.len(), expected.len());
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let (found, expected) = (shown(found), shown(expected));
        let difference = found.lines().zip(expected.lines()).find(|(found, expected)| found != expected);
        assert!(found == expected, "sample {index}: {difference:#?}");
    }
}

#[test]
fn samples_are_read_back() {
    for seed in 0..6 {
        let folder = TempFolder::new();
        let samples = recording(seed, 120);
        write(&folder.0, &samples, 1 << 20);
        assert_eq!(files(&folder.0).len(), 2, "one file per UTC date");
        assert_equal(&read(&folder.0), &samples);
    }
}

#[test]
fn samples_are_read_back_from_small_row_groups() {
    for block_values in [1, 3000, 20_000] {
        let folder = TempFolder::new();
        let samples = recording(7, 60);
        write(&folder.0, &samples, block_values);
        assert_equal(&read(&folder.0), &samples);
    }
}

#[test]
fn a_copy_of_a_copy_is_equal() {
    let (one, other) = (TempFolder::new(), TempFolder::new());
    let samples = recording(3, 90);
    write(&one.0, &samples, 30_000);
    write(&other.0, &read(&one.0), 1 << 20);
    assert_equal(&read(&other.0), &samples);
}

#[test]
fn descriptions_and_instances_are_shared_by_samples() {
    let folder = TempFolder::new();
    // The first set has no instances, so none appears or disappears.
    let samples = recording(4, 30);
    write(&folder.0, &samples, 5_000);
    let found = read(&folder.0);
    for pair in found.windows(2) {
        let (before, now) = (&pair[0].groups[0], &pair[1].groups[0]);
        assert!(std::sync::Arc::ptr_eq(&before.set, &now.set));
        assert!(std::sync::Arc::ptr_eq(&before.instances[0], &now.instances[0]));
    }
}

#[test]
fn samples_with_equal_times_remain_separate() {
    let folder = TempFolder::new();
    let mut samples = recording(5, 20);
    samples[6].at = samples[5].at;
    // Some samples are within the same microsecond, others are after the clock was set back.
    samples[7].at.utc.0 = samples[6].at.utc.0 + 1;
    samples[10].at.utc.0 = samples[9].at.utc.0 - 20_000_000;
    write(&folder.0, &samples, 1 << 20);
    assert_equal(&read(&folder.0), &samples);
}

#[test]
fn a_file_does_not_end_between_samples_of_one_moment() {
    let folder = TempFolder::new();
    let mut samples = vec![recording(5, 1).remove(0); 1100];
    for (index, sample) in samples.iter_mut().enumerate() {
        sample.groups.truncate(1);
        // The 512th row group is the first of two samples of a moment.
        sample.at.utc.0 += (index as i64 + 1) / 2 * 10_000;
    }
    write(&folder.0, &samples, 1);
    assert!(files(&folder.0).len() > 1);
    assert_equal(&read(&folder.0), &samples);
}

#[test]
fn samples_without_groups_are_kept() {
    let folder = TempFolder::new();
    let mut samples = recording(5, 20);
    samples[4].groups.clear();
    samples[12].groups.clear();
    write(&folder.0, &samples, 1 << 20);
    assert_equal(&read(&folder.0), &samples);
}

#[test]
fn every_position_can_be_returned_to() {
    let folder = TempFolder::new();
    let samples = recording(8, 60);
    write(&folder.0, &samples, 20_000);
    let machine = &tachograph_logs::archive::archive_inputs(&folder.0).expect("an archive")[0].folder;
    let mut reader = open(machine).expect("the archive can be opened");
    assert_eq!(reader.facts().format, Format::Archive);
    let mut sample = Sample::default();
    let mut marks = Vec::new();
    for _ in 0..samples.len() {
        marks.push(reader.mark().expect("archives have positions"));
        assert!(reader.next(&mut sample).expect("a sample"));
    }
    assert!(!reader.next(&mut sample).expect("the end"));
    for index in [59, 0, 31, 30, 1, 58, 12, 12] {
        assert!(reader.seek(&marks[index]).expect("the archive can be read"));
        for expected in samples[index..].iter().take(3) {
            assert!(reader.next(&mut sample).expect("a sample"));
            assert_eq!(shown(&sample), shown(expected));
        }
    }
}

#[test]
fn each_machine_has_its_own_folder() {
    let folder = TempFolder::new();
    let mut samples = recording(9, 40);
    for sample in &mut samples {
        let mut set = (*sample.groups[1].set).clone();
        set.machine = "DB 2/ü".into();
        sample.groups[1].set = set.into();
    }
    write(&folder.0, &samples, 1 << 20);
    let inputs = tachograph_logs::archive::archive_inputs(&folder.0).expect("an archive");
    let names: Vec<_> = inputs.iter().filter_map(|input| input.folder.file_name()?.to_str()).collect();
    assert_eq!(names, ["machine=DB%202%2F%C3%BC", "machine=web-1"]);
    let found = read(&folder.0);
    assert_eq!(found.len(), 2 * samples.len());
    for (found, expected) in found.iter().zip(&samples) {
        let expected = Sample { groups: vec![expected.groups[1].clone()], ..expected.clone() };
        assert_eq!(shown(found), shown(&expected));
    }
    assert!(open(&folder.0).is_err_and(|error| error.to_string().contains("2 machines")));
}

#[test]
fn a_dropped_writer_leaves_no_files() {
    let folder = TempFolder::new();
    let target = folder.0.join("new");
    let samples = recording(2, 80);
    let options = tachograph_logs::archive::ArchiveOptions::new(Default::default());
    let mut writer = tachograph_logs::archive::ArchiveWriter::new(&target, options);
    for sample in &samples {
        tachograph_logs::LogWriter::write(&mut writer, sample).expect("the sample is written");
    }
    assert!(target.exists());
    drop(writer);
    assert!(!target.exists());
}

#[test]
fn samples_before_a_window_are_skipped_without_reading_them() {
    let folder = TempFolder::new();
    let samples = recording(6, 120);
    write(&folder.0, &samples, 15_000);
    let machine = &tachograph_logs::archive::archive_inputs(&folder.0).expect("an archive")[0].folder;
    let all: u64 = files(&folder.0).iter().map(|file| super::generated::bytes(file).len() as u64).sum();
    for index in [0, 1, 29, 30, 31, 77, 119] {
        let at = samples[index].at;
        for begin in [TimeArgument::Utc(at.utc), TimeArgument::Local(at.local())] {
            let mut reader = open(machine).expect("the archive can be opened");
            reader.skip_before(begin).expect("the footers can be read");
            let mut sample = Sample::default();
            let mut before = Vec::new();
            while reader.next(&mut sample).expect("the samples can be read") && sample.at < at {
                before.push(shown(&sample));
            }
            assert_eq!(shown(&sample), shown(&samples[index]), "{index}");
            let expected = &samples[index - before.len()..];
            assert!(before.iter().zip(expected).all(|(found, expected)| *found == shown(expected)));
            assert!(index == 0 || !before.is_empty(), "{index}: {}", before.len());
            let bytes = reader.bytes_read();
            // For a local time, hours before it are read, too.
            let is_exact = matches!(begin, TimeArgument::Utc(_));
            assert!(
                !is_exact || before.len() <= 12 && (index < 60 || bytes < all / 3),
                "{index}: {}, {bytes}",
                before.len()
            );
        }
    }
}

/// Asserts for each sample's time that `skip_before` keeps the sample before it, and all samples from the first one that is not
/// before this time.
#[track_caller]
fn assert_window(samples: &[Sample], block_values: usize) {
    let folder = TempFolder::new();
    write(&folder.0, samples, block_values);
    let machine = &tachograph_logs::archive::archive_inputs(&folder.0).expect("an archive")[0].folder;
    let written = read(&folder.0);
    for at in samples.iter().map(|sample| sample.at) {
        for begin in [TimeArgument::Utc(at.utc), TimeArgument::Local(at.local())] {
            let is_before = |sample: &Sample| match begin {
                TimeArgument::Utc(utc) => sample.at.utc < utc,
                TimeArgument::Local(local) => sample.at.local() < local,
            };
            let first = written.iter().position(|sample| !is_before(sample)).expect("the sample of the time");
            let mut reader = open(machine).expect("the archive can be opened");
            reader.skip_before(begin).expect("the footers can be read");
            let mut sample = Sample::default();
            let mut found = Vec::new();
            while reader.next(&mut sample).expect("the samples can be read") {
                found.push((sample.at, is_before(&sample)));
            }
            let index = found.iter().position(|(_, is_before)| !is_before).expect("the sample of the time");
            let times: Vec<_> = found[index..].iter().map(|(at, _)| *at).collect();
            let expected: Vec<_> = written[first..].iter().map(|sample| sample.at).collect();
            assert_eq!(times, expected, "{begin:?}");
            assert!(index > 0 || first == 0, "the sample before {begin:?} is missing");
        }
    }
}

#[test]
fn a_window_can_begin_in_the_night_in_which_daylight_saving_time_ends() {
    let mut samples = recording(6, 40);
    let step = 10 * 60 * 10_000_000;
    let start = samples[0].at.utc.0;
    for (index, sample) in samples.iter_mut().enumerate() {
        sample.at.utc.0 = start + index as i64 * step;
        sample.at.bias_minutes = if index < 20 { -120 } else { -60 };
    }
    assert_window(&samples, 1);
    assert_window(&samples, 15_000);
    // Daylight saving time begins.
    samples.iter_mut().for_each(|sample| sample.at.bias_minutes = -180 - sample.at.bias_minutes);
    assert_window(&samples, 15_000);
}

#[test]
fn a_window_can_begin_while_a_clock_was_wrong() {
    let mut samples = recording(6, 40);
    let start = samples[0].at.utc.0;
    for (index, sample) in samples.iter_mut().enumerate() {
        // The clock is set back by 8 minutes after 20 samples, one per minute.
        let minutes = if index < 20 { index } else { index - 8 };
        sample.at.utc.0 = start + minutes as i64 * 60 * 10_000_000;
    }
    assert_window(&samples, 1);
    assert_window(&samples, 15_000);
}

/// The number of rows of a set, in all files, that have the length of an interval in the column `den`.
fn intervals(folder: &std::path::Path, set: &str) -> usize {
    let mut found = 0;
    for path in files(folder) {
        let mut rows = ArchiveRows::open(&path).expect("a file");
        let groups: Vec<usize> = rows.row_groups().map(|group| group.rows).collect();
        for (index, count) in groups.into_iter().enumerate() {
            let group = rows.row_group(index).expect("a row group");
            let all = 0..count;
            let mut column =
                |column| rows.column(&group, column, std::slice::from_ref(&all)).expect("a column");
            let (sets, dens) = (column(RowColumn::Set), column(RowColumn::Den));
            let (ColumnValues::Texts(sets), ColumnValues::Numbers(dens)) = (sets, dens) else {
                panic!("columns of other types")
            };
            let names = sets.runs.iter().flat_map(|&(name, len)| std::iter::repeat_n(name, len));
            let is_set = |name: Option<u32>| name.is_some_and(|name| sets.dictionary[name as usize] == set);
            found += names.enumerate().filter(|&(row, name)| is_set(name) && dens.get(row).is_some()).count();
        }
    }
    found
}

#[test]
fn intervals_continue_after_row_groups_and_files_without_their_set() {
    // Two logs of a machine, one with a sample per second, the other with one per 5 s.
    let sets = ["Fast", "Slow"].map(|name| {
        let mut set = CounterSet::new("web-1", name, Extent::Table);
        set.has_instances = false;
        set.counters = vec![Counter::new("Requests/sec", CounterType::BULK_COUNT, 10_000_000)];
        Arc::new(set)
    });
    let none: tachograph_counters::set::Instances = vec![Arc::new(Instance::none())].into();
    let start = recording(1, 1)[0].at;
    let samples: Vec<Sample> = (0..60usize)
        .map(|second| {
            let is_slow = second % 5 == 4;
            let mut at = start;
            at.utc = FileTime(start.utc.0 + second as i64 * 10_000_000);
            let mut group = Group::new(Arc::clone(&sets[usize::from(is_slow)]));
            group.set_rows(&none);
            group.values.push(RawValue::new(3 * second as i64, at.utc.0));
            Sample { at, log: u32::from(is_slow), groups: vec![group], ..Sample::default() }
        })
        .collect();
    for block_values in [1, 7, 1000] {
        let folder = TempFolder::new();
        write(&folder.0, &samples, block_values);
        assert_eq!(files(&folder.0).len(), 2, "one file per UTC date");
        assert_eq!(intervals(&folder.0, "Fast"), 48 - 1, "{block_values}");
        assert_eq!(intervals(&folder.0, "Slow"), 12 - 1, "{block_values}");
        assert_equal(&read(&folder.0), &samples);
    }
    // A sample of the same log without the set ends its series.
    let mut one_log = samples;
    one_log.iter_mut().for_each(|sample| sample.log = 0);
    let folder = TempFolder::new();
    write(&folder.0, &one_log, 1);
    assert_eq!(intervals(&folder.0, "Slow"), 0);
}
