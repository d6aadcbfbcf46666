//! Going on with a log that is there: what it held stays, whatever left it, and what is appended follows.

mod made;

use std::io::Cursor;
use std::sync::Arc;

use made::recorder::{Recorder, place};
use made::rewritten::{options_of, options_with, samples_of, varied_samples, write};
use made::shown::{Shown, read, show, try_read};
use made::{Entry, Made, multi, single};
use tachograph_counters::CounterType;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_logs::blg::raw::Log;
use tachograph_logs::blg::{BlgReader, BlgWriter, BlgWriterOptions};
use tachograph_logs::{LogError, LogReader, LogWriter};

const FREQUENCY: i64 = FileTime::PER_SECOND;

/// Appends samples to a log, flushing after each.
fn append_at(file: &[u8], samples: &[Sample], frequency: i64) -> Result<Vec<u8>, LogError> {
    let mut file = Cursor::new(file.to_vec());
    let mut writer = BlgWriter::append(&mut file, frequency)?;
    for sample in samples {
        writer.write(sample)?;
        writer.flush()?;
    }
    writer.finish()?;
    let bytes = writer.bytes_written();
    drop(writer);
    assert_eq!(bytes, file.get_ref().len() as u64);
    Ok(file.into_inner())
}

fn append(file: &[u8], samples: &[Sample]) -> Result<Vec<u8>, LogError> {
    append_at(file, samples, FREQUENCY)
}

#[track_caller]
fn refused(result: Result<Vec<u8>, LogError>) -> String {
    let error = result.expect_err("refused");
    assert!(error.is_unsupported(), "{error}");
    error.to_string()
}

fn shown(samples: &[Sample]) -> Vec<String> {
    samples.iter().map(show).collect()
}

/// The samples of a log written in UTC, so that their moments are what the log says.
fn utc_samples(count: i64) -> Vec<Sample> {
    samples_of(&write(&varied_samples(count), options_with(0x10000)))
}

#[test]
fn a_log_goes_on() {
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
        // Each part is a log of its own, of the same start of the machine.
        let logs: Vec<_> = all.iter().map(|sample| sample.log).collect();
        assert_eq!([logs[0], logs[19], logs[20], logs[21], logs[39], logs[40]], [0, 0, 1, 2, 2, 3]);
        assert!(all.iter().all(|sample| sample.boot_time == all[0].boot_time));
        // Nothing that was there is written again, but for the end time and the number of buffers in the header.
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
fn a_start_of_the_machine_between() {
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

/// Logs as Windows writes them: 32 and 64 bits, with the layouts of the versions.
#[test]
fn logs_of_others() {
    for is_wide in [true, false] {
        for head_bytes in [0x34, 0x38, 0x3C] {
            let made = Made::new(1024);
            let mut made = if is_wide { made } else { made.narrow() };
            made.list(
                &[Entry::single("System", None, "Calls"), Entry::multi("Disk", "Reads")]
                    .map(|entry| Entry { head_bytes, ..entry }),
            );
            for n in 0..4 {
                made.sample(n, &[single(n, n, -1), multi(n, &[("a", n, 1), ("b", n, 2)])]);
            }
            let all = samples_of(&made.file());
            let mut old = made.clone();
            // All but the last two samples.
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
            // A recorder of another zone: local times are the log's.
            for sample in &mut new {
                sample.boot_time = boot_time;
                sample.at = Moment { bias_minutes: -60, ..sample.at };
                for group in &mut sample.groups {
                    group.read_at = group.read_at.saturating_add(540 * FileTime::PER_MINUTE);
                }
            }
            let file = append_at(&old.file(), &new, frequency).expect("appended");
            let again = samples_of(&file);
            made::rewritten::assert_same(&again, &all);
            assert_eq!(again[2].boot_time, again[2].at.utc, "marked as a start");
            let types: Vec<_> = Log::decode(&file)
                .expect("whole buffers")
                .buffers
                .iter()
                .flat_map(|buffer| &buffer.events)
                .map(|event| event.header.header_type)
                .collect();
            // The mark needs a 64-bit event.
            let own = if is_wide { 0x14 } else { 0x0A };
            assert_eq!(types.iter().rev().take(2).collect::<Vec<_>>(), [&own, &0x14], "{types:x?}");
        }
    }
}

fn blocks(is_finished: bool) -> (Vec<u8>, Vec<Sample>) {
    use made::block::{Block, Counter, Instance, Object};
    let count = Counter { name_index: 9006, counter_type: 0x1_0100, bytes: 8 };
    let mut made = Made::new(0x10000);
    made.names(r"\\MADE", &[(230, "Process"), (9006, "Own")]);
    made.list(&[Entry::block("Process")]);
    for n in 0..6 {
        let rows: Vec<_> = (0..n).map(|row| Instance::new(&row.to_string(), &[n])).collect();
        made.sample(n, &[Block::new(n, &[Object::new(230, &[count], &rows)]).record()]);
    }
    let samples = samples_of(&made.file());
    let mut file = Cursor::new(Vec::new());
    let options = BlgWriterOptions { buffer_bytes: 1024, ..options_of(&made.file()) };
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
fn block_records() {
    let (file, samples) = blocks(true);
    let frequency = options_of(&file).performance_frequency;
    assert_eq!(
        refused(append_at(&file, &samples[3..], frequency)),
        "cannot append: the log ends with a catalogue of its samples; relog -a can"
    );
    let (file, samples) = blocks(false);
    let file = append_at(&file, &samples[3..], frequency).expect("appended");
    made::rewritten::assert_same(&samples_of(&file), &samples);
}

#[test]
fn what_cannot_be_appended() {
    let samples = utc_samples(4);
    let file = write(&samples[..2], options_with(1024));
    let mut other = samples[2].clone();
    let rename = |other: &mut Sample, name: &str| {
        let set = Arc::make_mut(&mut other.groups[0].set);
        set.counters[0].name = name.into();
    };
    rename(&mut other, "calls");
    assert!(append(&file, &[other.clone()]).is_ok(), "names compare without case");
    rename(&mut other, "Other");
    assert_eq!(
        refused(append(&file, &[other.clone()])),
        r"cannot append: where the log has '\\MADE\System\Calls', the sample has '\\MADE\System\Other'"
    );
    rename(&mut other, "Calls");
    Arc::make_mut(&mut other.groups[0].set).counters[0].counter_type = CounterType::LARGE_RAWCOUNT;
    assert_eq!(
        refused(append(&file, &[other.clone()])),
        r"cannot append: in the log '\\MADE\System\Calls' has the type 0x10410500 and 2725536 ticks a second, in the sample 0x00010100 and 2725536"
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
        "cannot append: the log ends at 2013-02-19T18:50:01.000+00:00, and the sample is of 2013-02-19T18:50:01.000+00:00"
    );
    assert_eq!(
        refused(append_at(&file, &samples[2..], 7)),
        "cannot append: the log was recorded with a performance counter of 10000000 ticks a second, and this one has 7"
    );
    let ring = BlgWriterOptions { circular_bytes: Some(20 << 10), ..options_with(1024) };
    assert_eq!(
        refused(append(&write(&samples[..2], ring), &samples[2..])),
        "cannot append: the log is circular, its end is in its midst; relog it first"
    );
    // A refused sample leaves the log as it was, and a right one may follow.
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
fn nothing_appended() {
    let samples = utc_samples(5);
    let file = write(&samples, options_with(1024));
    assert_eq!(append(&file, &[]).expect("appended"), file);
}

#[test]
fn killed_after_every_byte() {
    let samples = utc_samples(16);
    let base = write(&samples[..6], options_with(1024));
    let recorder = Recorder::over(&base);
    let mut flushed = Vec::new();
    let mut writer = BlgWriter::append(recorder.clone(), FREQUENCY).expect("a log");
    for sample in &samples[6..] {
        writer.write(sample).expect("written");
        writer.flush().expect("flushed");
        flushed.push(recorder.writes().len());
    }
    writer.finish().expect("finished");
    let expected = shown(&samples);
    let mut file = base;
    for (number, (at, bytes)) in recorder.writes().iter().enumerate() {
        let safe = 6 + flushed.iter().filter(|&&writes| writes <= number).count();
        for (offset, byte) in bytes.iter().enumerate() {
            place(&mut file, at + offset as u64, &[*byte]);
            let shown = read(&file).samples;
            assert!(shown.len() >= safe, "write {number}, byte {offset}: {} of {safe}", shown.len());
            assert!(expected.starts_with(&shown), "write {number}, byte {offset}");
        }
    }
    assert_eq!(read(&file), Shown { samples: expected, problems: Vec::new() });
}

/// Asserts that two samples can be appended to what a crash left, and that all that was readable still is.
#[track_caller]
fn goes_on(file: &[u8], new: &[Sample], place: &str) {
    let Ok(before) = try_read(file) else { return };
    let appended = append(file, new).unwrap_or_else(|error| panic!("{place}: {error}"));
    let after = read(&appended);
    assert_eq!(after.samples, [before.samples.clone(), shown(new)].concat(), "{place}");
    assert!(after.problems.len() <= before.problems.len(), "{place}: {before:?} {after:?}");
    // And once more.
    let mut later = new.to_vec();
    for sample in &mut later {
        sample.at.utc = sample.at.utc.saturating_add(1000 * FileTime::PER_SECOND);
    }
    let again = read(&append(&appended, &later).unwrap_or_else(|error| panic!("{place}: {error}")));
    assert_eq!(again.samples, [after.samples, shown(&later)].concat(), "{place}");
    assert!(again.problems.len() <= after.problems.len(), "{place}");
}

#[test]
fn whatever_a_killed_recorder_leaves() {
    let samples = utc_samples(9);
    let recorder = Recorder::default();
    let mut writer = BlgWriter::new(recorder.clone(), options_with(1024)).expect("options");
    for sample in &samples[..7] {
        writer.write(sample).expect("written");
        writer.flush().expect("flushed");
    }
    writer.finish().expect("finished");
    let mut file = Vec::new();
    for (number, (at, bytes)) in recorder.writes().iter().enumerate() {
        // Within headers every byte, elsewhere often enough to meet every field.
        for cut in (1..bytes.len()).filter(|cut| *cut <= 72 || cut % 8 == 4).chain([bytes.len()]) {
            let mut file = file.clone();
            place(&mut file, *at, &bytes[..cut]);
            goes_on(&file, &samples[7..], &format!("write {number}, byte {cut}"));
        }
        place(&mut file, *at, bytes);
    }
}

#[test]
fn a_file_cut_anywhere() {
    let samples = utc_samples(9);
    let file = write(&samples[..7], options_with(1024));
    for length in 0..file.len() {
        goes_on(&file[..length], &samples[7..], &format!("cut at {length}"));
    }
}

#[test]
fn every_bit_flipped() {
    let samples = utc_samples(5);
    let mut file = write(&samples[..3], options_with(1024));
    let new = shown(&samples[3..]);
    for at in 0..file.len() {
        for bit in 0..8 {
            file[at] ^= 1 << bit;
            match append(&file, &samples[3..]) {
                Ok(appended) => {
                    let before = read(&file).samples;
                    let after = read(&appended).samples;
                    assert_eq!(after[..before.len()], before, "byte {at:#x}, bit {bit}");
                    assert!(after.len() == before.len() + 2 || at < 1024, "byte {at:#x}, bit {bit}: {new:?}");
                }
                Err(error) => assert!(error.is_corrupt() || error.is_unsupported(), "byte {at:#x}: {error}"),
            }
            file[at] ^= 1 << bit;
        }
    }
}

#[test]
fn a_log_that_was_only_begun() {
    let mut file = Cursor::new(Vec::new());
    drop(BlgWriter::new(&mut file, options_with(1024)).expect("options"));
    let error = append(file.get_ref(), &utc_samples(1)).expect_err("no list");
    assert_eq!(error.to_string(), "no counter list yet: the log was only begun");
    assert!(append(b"", &[]).expect_err("no log").is_corrupt());
    assert!(append(&vec![b'x'; 3000], &[]).expect_err("no log").is_corrupt());
}

#[test]
fn the_zone_of_the_log_is_kept() {
    let mut made = Made::new(1024);
    made.list(&[Entry::single("System", None, "Calls")]);
    made.sample(0, &[single(0, 1, 1)]);
    let file = made.file();
    let reader = BlgReader::new(Cursor::new(&file[..])).expect("a log");
    let zone = reader.facts().zone.clone();
    // Half a year later, in daylight time.
    let mut sample = samples_of(&file).remove(0);
    sample.at.utc = sample.at.utc.saturating_add(180 * FileTime::PER_DAY);
    let frequency = reader.header().end.performance_frequency.get();
    let all = samples_of(&append_at(&file, &[sample.clone()], frequency).expect("appended"));
    assert_eq!(all[1].at, zone.utc_to_moment(sample.at.utc));
    assert_eq!((all[0].at.bias_minutes, all[1].at.bias_minutes), (480, 420));
}
