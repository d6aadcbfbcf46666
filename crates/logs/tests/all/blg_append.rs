//! Appending to existing logs, whichever program wrote them: their samples are unchanged, and the appended ones follow.

use crate::fixture;

use std::io::Cursor;
use std::sync::Arc;

use fixture::appended::{FREQUENCY, append, append_at, shown, utc_samples};
use fixture::rewritten::{options_of, options_with, samples_of, write};
use fixture::shown::read;
use fixture::{Entry, LogBuilder, multi, single};
use tachograph_counters::CounterType;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::{BlgReader, BlgWriter, BlgWriterOptions};
use tachograph_logs::{LogError, LogReader, LogWriter};

#[track_caller]
fn refused(result: Result<Vec<u8>, LogError>) -> String {
    let error = result.expect_err("refused");
    assert!(error.is_unsupported(), "{error}");
    error.to_string()
}

#[test]
fn samples_are_appended_in_parts() {
    let samples = utc_samples(60);
    for buffer_bytes in [1024, 0x10000] {
        let mut file = write(&samples[..20], options_with(buffer_bytes));
        let old = file.clone();
        for part in [20..21, 21..40, 40..60] {
            file = append(&file, &samples[part]).expect("appended");
        }
        let all = samples_of(&file);
        assert_eq!(shown(&all), shown(&samples));
        assert!(all.iter().zip(&samples).all(|(now, before)| now.at == before.at));
        // Each part counts as a separate log with the same boot time.
        let logs: Vec<_> = all.iter().map(|sample| sample.log).collect();
        assert_eq!([logs[0], logs[19], logs[20], logs[21], logs[39], logs[40]], [0, 0, 1, 2, 2, 3]);
        assert!(all.iter().all(|sample| sample.boot_time == all[0].boot_time));
        // Existing bytes do not change, except the end time and the number of buffers in the header.
        assert_eq!(file[buffer_bytes..old.len()], old[buffer_bytes..]);
        let changed: Vec<_> = (0..buffer_bytes).filter(|&at| file[at] != old[at]).collect();
        assert!(
            changed.iter().all(|at| (0x78..0x80).contains(at) || (0x8C..0x90).contains(at)),
            "{changed:?}"
        );
        let log = Log::decode(&file).expect("whole buffers");
        assert_eq!(log.header.start.buffers_written.get() as usize, file.len() / buffer_bytes);
        let sequence = log.buffers.iter().map(|buffer| buffer.header.sequence_number.get());
        assert!(sequence.eq(1..=log.buffers.len() as u64));
        let guids: Vec<_> =
            log.buffers.iter().flat_map(|buffer| &buffer.events).map(|event| event.header.log_guid).collect();
        assert!(guids.iter().all(|guid| *guid == guids[0]));
    }
}

#[test]
fn a_restart_between_the_parts_is_marked() {
    let mut samples = utc_samples(4);
    let options =
        BlgWriterOptions { boot_time: Some(FileTime(samples[0].at.utc.0 - 7)), ..options_with(1024) };
    let file = write(&samples[..2], options);
    for (boot_time, is_restart) in [
        (samples[0].at.utc.0 - 7, false),
        (samples[0].at.utc.0 - 9, false),
        (samples[1].at.utc.0 + 5, true),
        (0, false),
    ] {
        for sample in &mut samples[2..] {
            sample.boot_time = FileTime(boot_time);
        }
        let all = samples_of(&append(&file, &samples[2..]).expect("appended"));
        assert_eq!(all[2].boot_time != all[1].boot_time, is_restart, "{boot_time}");
        assert_eq!(all[3].boot_time, all[2].boot_time);
    }
}

/// Logs of Windows: 32 and 64 bits, with the layouts of all versions.
#[test]
fn logs_of_windows_are_appended_to() {
    for is_wide in [true, false] {
        for head_bytes in [0x34, 0x38, 0x3C] {
            let builder = LogBuilder::new(1024);
            let mut builder = if is_wide { builder } else { builder.narrow() };
            builder.list(
                &[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]
                    .map(|entry| Entry { head_bytes, ..entry }),
            );
            for n in 0..4 {
                builder.sample(n, &[single(n, n, -1), multi(n, &[("a", n, 1), ("b", n, 2)])]);
            }
            let all = samples_of(&builder.file());
            let mut old = builder.clone();
            // The log lacks the last two samples.
            old.buffers = vec![Vec::new()];
            old.list(
                &[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]
                    .map(|entry| Entry { head_bytes, ..entry }),
            );
            for n in 0..2 {
                old.sample(n, &[single(n, n, -1), multi(n, &[("a", n, 1), ("b", n, 2)])]);
            }
            let frequency = options_of(&old.file()).performance_frequency;
            let mut new = all[2..].to_vec();
            let boot_time = FileTime(new[0].at.utc.0 - 1);
            // The recorder is in another time zone, but appended local times are in the log's zone.
            for sample in &mut new {
                sample.boot_time = boot_time;
                sample.at = Moment { bias_minutes: -60, ..sample.at };
                for group in &mut sample.groups {
                    group.read_at = group.read_at.saturating_add(540 * FileTime::PER_MINUTE);
                }
            }
            let file = append_at(&old.file(), &new, frequency).expect("appended");
            let again = samples_of(&file);
            fixture::rewritten::assert_same(&again, &all);
            assert_eq!(again[2].boot_time, again[2].at.utc, "marked as a restart");
            let types: Vec<_> = Log::decode(&file)
                .expect("whole buffers")
                .buffers
                .iter()
                .flat_map(|buffer| &buffer.events)
                .map(|event| event.header.header_type)
                .collect();
            // The first appended sample is marked as a restart, which needs a 64-bit event (0x14).
            let own = if is_wide { 0x14 } else { 0x0A };
            assert_eq!(types.iter().rev().take(2).collect::<Vec<_>>(), [&own, &0x14], "{types:x?}");
        }
    }
}

/// A log with the first three of six samples of block records, and all six samples.
fn blocks(is_finished: bool) -> (Vec<u8>, Vec<Sample>) {
    use fixture::block::{Block, Counter, Instance, Object};
    let count = Counter { name_index: 9006, counter_type: 0x1_0100, bytes: 8 };
    let mut builder = LogBuilder::new(0x10000);
    builder.names(r"\\MADE", &[(230, "Process"), (9006, "Own")]);
    builder.list(&[Entry::block("Process")]);
    for n in 0..6 {
        let rows: Vec<_> = (0..n).map(|row| Instance::new(&row.to_string(), &[n])).collect();
        builder.sample(n, &[Block::new(n, &[Object::new(230, &[count], &rows)]).record()]);
    }
    let samples = samples_of(&builder.file());
    let mut file = Cursor::new(Vec::new());
    let options = BlgWriterOptions { buffer_bytes: 1024, ..options_of(&builder.file()) };
    let mut writer = BlgWriter::new(&mut file, options).expect("options");
    for sample in &samples[..3] {
        writer.write(sample).expect("written");
    }
    if is_finished {
        writer.finish().expect("finished")
    } else {
        writer.flush().expect("flushed")
    }
    drop(writer);
    (file.into_inner(), samples)
}

#[test]
fn block_records_are_appended_to() {
    let (file, samples) = blocks(true);
    let frequency = options_of(&file).performance_frequency;
    assert_eq!(
        refused(append_at(&file, &samples[3..], frequency)),
        "cannot append: the log ends with a catalogue; use relog -a"
    );
    let (file, samples) = blocks(false);
    let file = append_at(&file, &samples[3..], frequency).expect("appended");
    fixture::rewritten::assert_same(&samples_of(&file), &samples);
}

#[test]
fn samples_that_do_not_fit_are_refused() {
    let samples = utc_samples(4);
    let file = write(&samples[..2], options_with(1024));
    let mut other = samples[2].clone();
    let rename = |other: &mut Sample, name: &str| {
        let set = Arc::make_mut(&mut other.groups[0].set);
        set.counters[0].name = name.into();
    };
    rename(&mut other, "calls");
    assert!(append(&file, &[other.clone()]).is_ok(), "names are compared case-insensitively");
    rename(&mut other, "Other");
    assert_eq!(
        refused(append(&file, &[other.clone()])),
        r"cannot append: the log has '\\MADE\System\Calls' where the sample has '\\MADE\System\Other'"
    );
    rename(&mut other, "Calls");
    Arc::make_mut(&mut other.groups[0].set).counters[0].counter_type = CounterType::LARGE_RAWCOUNT;
    assert_eq!(
        refused(append(&file, &[other.clone()])),
        r"cannot append: '\\MADE\System\Calls' has type 0x10410500 with 2725536 ticks per second in the log, and 0x00010100 with 2725536 in the sample"
    );
    other = samples[2].clone();
    let last = other.groups.pop().expect("a group");
    assert_eq!(
        refused(append(&file, &[other.clone()])),
        r"cannot append: the sample has no '\\MADE\Disk(*)\Reads'"
    );
    other.groups.extend([last.clone(), last]);
    assert_eq!(refused(append(&file, &[other])), r"cannot append: the log has no '\\MADE\Disk(*)\Reads'");
    assert_eq!(
        refused(append(&file, &samples[1..])),
        "cannot append: the log ends at 2013-02-19T18:50:01.000+00:00; the sample at 2013-02-19T18:50:01.000+00:00 is not later"
    );
    assert_eq!(
        refused(append_at(&file, &samples[2..], 7)),
        "cannot append: the performance counter of the log has 10000000 ticks per second, but this one has 7"
    );
    let ring = BlgWriterOptions { circular_bytes: Some(20 << 10), ..options_with(1024) };
    assert_eq!(
        refused(append(&write(&samples[..2], ring), &samples[2..])),
        "cannot append: the log is circular; relog it first"
    );
    // A refused sample does not change the log, and a valid one can follow.
    let mut out = Cursor::new(file.clone());
    let mut writer = BlgWriter::append(&mut out, FREQUENCY).expect("a log");
    assert!(writer.write(&samples[0]).is_err());
    assert_eq!(writer.last_time(), Some(samples[1].at));
    writer.write(&samples[2]).expect("later");
    writer.finish().expect("finished");
    drop(writer);
    assert_eq!(read(out.get_ref()).samples, shown(&samples[..3]));
}

#[test]
fn appending_no_samples_changes_nothing() {
    let samples = utc_samples(5);
    let file = write(&samples, options_with(1024));
    assert_eq!(append(&file, &[]).expect("appended"), file);
}

#[test]
fn a_log_without_a_counter_list_is_refused() {
    let mut file = Cursor::new(Vec::new());
    drop(BlgWriter::new(&mut file, options_with(1024)).expect("options"));
    let error = append(file.get_ref(), &utc_samples(1)).expect_err("no list");
    assert_eq!(error.to_string(), "the log has no counter list yet: its recording has just begun");
    assert!(append(b"", &[]).expect_err("no log").is_corrupt());
    assert!(append(&vec![b'x'; 3000], &[]).expect_err("no log").is_corrupt());
}

#[test]
fn the_zone_of_the_log_is_kept() {
    let mut builder = LogBuilder::new(1024);
    builder.list(&[Entry::single("System", None, "Calls")]);
    builder.sample(0, &[single(0, 1, 1)]);
    let file = builder.file();
    let reader = BlgReader::new(Cursor::new(&file[..])).expect("a log");
    let zone = reader.facts().zone.clone();
    // Half a year later, in daylight saving time.
    let mut sample = samples_of(&file).remove(0);
    sample.at.utc = sample.at.utc.saturating_add(180 * FileTime::PER_DAY);
    sample.groups[0].read_at = FileTime(0);
    let frequency = reader.header().end.performance_frequency.get();
    let all = samples_of(&append_at(&file, &[sample.clone()], frequency).expect("appended"));
    assert_eq!(all[1].at, zone.utc_to_moment(sample.at.utc));
    assert_eq!((all[0].at.bias_minutes, all[1].at.bias_minutes), (480, 420));
}
