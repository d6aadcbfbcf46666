//! Logs that are renamed or deleted while they are recorded, on the file system.

use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_flow::record::{
    AtMax, Existing, LogChange, MovedLog, NextLog, RecordOptions, Recorder, Suffix,
};
use tachograph_flow::{FlowError, Sink};
use tachograph_logs::Format;
use tempfile::TempDir;

use crate::fixture::{Disk, MILLISECOND, Machine, START, options, read, statistics};
use crate::whole::{PATHS, shown};

type Moved = Arc<Mutex<Vec<MovedLog>>>;

fn create(options: RecordOptions) -> Result<(Recorder, Moved), FlowError> {
    let mut recorder = Recorder::create(options, Moment { utc: START, bias_minutes: 480 })?;
    let moved = Moved::default();
    let notes = Arc::clone(&moved);
    recorder.on_moved(move |log| notes.lock().expect("no panic").push(log.clone()));
    Ok((recorder, moved))
}

fn in_folder(folder: &TempDir, name: &str, format: Format) -> RecordOptions {
    let mut options = RecordOptions { format, ..options(name) };
    options.path = folder.path().join(name);
    options
}

/// Records samples, and calls `between` before each sample. Returns the samples.
fn record(
    recorder: &mut Recorder,
    samples: usize,
    mut between: impl FnMut(usize, &mut Recorder),
) -> Result<Vec<Sample>, FlowError> {
    let machine = Machine::new(&["ann", "bob"]);
    let mut source = machine.source(&PATHS);
    let mut taken = Vec::new();
    for number in 0..samples {
        between(number, recorder);
        let mut sample = Sample::default();
        source.collect(&mut sample);
        recorder.push(&sample)?;
        taken.push(sample);
        machine.advance(100 * MILLISECOND);
    }
    Ok(taken)
}

/// A disk with the files of a folder.
fn files(folder: &Path) -> Disk {
    let disk = Disk::default();
    for entry in fs::read_dir(folder).expect("the folder") {
        let entry = entry.expect("an entry");
        disk.put(&entry.file_name().to_string_lossy(), fs::read(entry.path()).expect("a file"));
    }
    disk
}

/// A random number generator.
struct Random(u64);

impl Random {
    fn below(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}

#[test]
fn renaming_logs_loses_no_sample() {
    for seed in 0..40 {
        let mut random = Random(seed);
        let folder = TempDir::new().expect("a folder");
        let mut options = in_folder(&folder, "z.blg", Format::Blg);
        // Small buffers, so that logs have several.
        options.max_bytes = Some(1 << 17).filter(|_| seed % 2 == 0);
        options.at_max = AtMax::Circular;
        let (mut recorder, moved) = create(options).expect("a new file");
        let log = folder.path().join("z.blg");
        let mut renamed = 0;
        let taken = record(&mut recorder, 60, |_, recorder| {
            if random.below(6) > 0 {
                return;
            }
            renamed += 1;
            fs::rename(&log, folder.path().join(format!("a{renamed:03}.blg"))).expect("the log");
            // As logrotate does with the option `create`.
            if random.below(2) == 0 {
                fs::write(&log, "").expect("an empty file");
            }
            if random.below(2) == 0 {
                recorder.release_moved().expect("disk space");
                // The log is completed before the next sample.
                let bytes = fs::read(folder.path().join(format!("a{renamed:03}.blg"))).expect("the log");
                assert!(bytes.is_empty() || read(&bytes).1 == 0);
            } else if random.below(3) == 0 {
                // Rename again before the next sample.
                recorder.release_moved().expect("disk space");
            }
        })
        .expect("disk space");
        recorder.finish().expect("disk space");
        assert!(renamed > 0, "seed {seed}");
        assert_eq!(moved.lock().expect("no panic").len(), renamed, "seed {seed}");
        let disk = files(folder.path());
        let mut found = Vec::new();
        // A file that was renamed before its first sample is empty.
        let names: Vec<_> = disk.names().into_iter().filter(|name| !disk.file(name).is_empty()).collect();
        for name in &names {
            let (samples, problems) = read(&disk.file(name));
            assert_eq!(problems, 0, "seed {seed}: {name}");
            assert!(!samples.is_empty(), "seed {seed}: {name}");
            found.extend(samples);
        }
        assert_eq!(shown(&found), shown(&taken), "seed {seed}: {names:?}");
        let summary = recorder.summary();
        assert_eq!((summary.samples, summary.files), (60, names.len() as u64), "seed {seed}");
        assert_eq!(summary.bytes, names.iter().map(|name| disk.file(name).len() as u64).sum::<u64>());
        // Together, the logs equal a single log.
        let one = Disk::default();
        let mut whole = one.recorder(crate::fixture::options("one.blg")).expect("a new file");
        taken.iter().for_each(|sample| whole.push(sample).expect("disk space"));
        whole.finish().expect("disk space");
        assert_eq!(statistics(&disk, &names), statistics(&one, &one.names()), "seed {seed}");
    }
}

#[test]
fn renaming_a_text_log_loses_no_interval() {
    let folder = TempDir::new().expect("a folder");
    let (mut recorder, _) = create(in_folder(&folder, "a.csv", Format::Csv)).expect("a new file");
    record(&mut recorder, 8, |number, _| {
        if number == 5 {
            fs::rename(folder.path().join("a.csv"), folder.path().join("a.old")).expect("the log");
        }
    })
    .expect("disk space");
    recorder.finish().expect("disk space");
    let disk = files(folder.path());
    let (old, new) = (disk.text("a.old"), disk.text("a.csv"));
    assert_eq!((old.lines().count(), new.lines().count()), (1 + 5, 1 + 3), "{old}{new}");
    assert_eq!(old.lines().next(), new.lines().next());
    assert!(old.lines().nth(1).expect("a row").contains(r#"" ""#), "the first row has no rate: {old}");
    assert!(!new.contains(r#""""#) && new.lines().nth(1).expect("a row").contains(r#"","3"#), "{new}");
}

#[test]
fn a_deleted_log_is_reported_and_created_again() {
    let folder = TempDir::new().expect("a folder");
    let (mut recorder, moved) = create(in_folder(&folder, "a.blg", Format::Blg)).expect("a new file");
    let log = folder.path().join("a.blg");
    let taken = record(&mut recorder, 9, |number, _| {
        if number == 4 {
            fs::remove_file(&log).expect("the log");
        }
    })
    .expect("disk space");
    recorder.finish().expect("disk space");
    let (samples, problems) = read(&fs::read(&log).expect("the log"));
    assert_eq!((shown(&samples), problems), (shown(&taken[4..]), 0));
    let expected =
        MovedLog { path: log.clone(), samples: 4, change: LogChange::Deleted, next: NextLog::SameName };
    let moved = moved.lock().expect("no panic");
    assert_eq!(*moved, [expected]);
    assert_eq!(
        moved[0].to_string(),
        format!(
            "{}: was deleted with 4 samples of this recording; the next sample starts a new log with this name",
            log.display()
        )
    );
}

#[test]
fn another_file_with_the_old_name_is_kept() {
    for existing in [Existing::Refuse, Existing::Overwrite] {
        let folder = TempDir::new().expect("a folder");
        let mut options = in_folder(&folder, "a.blg", Format::Blg);
        options.existing = existing;
        let (mut recorder, moved) = create(options).expect("a new file");
        let (log, other) = (folder.path().join("a.blg"), folder.path().join("b.blg"));
        let error = record(&mut recorder, 9, |number, _| {
            if number == 4 {
                fs::rename(&log, &other).expect("the log");
                fs::write(&log, "another's").expect("a file");
            }
        })
        .expect_err("the name is in use");
        assert!(error.to_string().contains("another file now has its name"), "{error}");
        // The message does not promise a new log.
        let moved = moved.lock().expect("no panic");
        assert!(
            moved[0]
                .to_string()
                .ends_with(": was renamed with 4 samples of this recording; another file now has its name"),
            "{}",
            moved[0]
        );
        assert_eq!(fs::read_to_string(&log).expect("a file"), "another's");
        assert_eq!(read(&fs::read(&other).expect("the log")).1, 0);
        assert_eq!(read(&fs::read(&other).expect("the log")).0.len(), 4);
    }
}

#[test]
fn a_log_that_is_renamed_before_a_sample_is_appended_is_unchanged() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("a.blg");
    let append = || RecordOptions { existing: Existing::Append, ..in_folder(&folder, "a.blg", Format::Blg) };
    // The log is renamed before the first sample, so its contents do not change.
    let (mut recorder, _) = create(append()).expect("a new file");
    record(&mut recorder, 3, |_, _| {}).expect("disk space");
    recorder.finish().expect("disk space");
    let before = fs::read(&log).expect("the log");
    let (mut recorder, moved) = create(append()).expect("the log");
    fs::rename(&log, folder.path().join("b.blg")).expect("the log");
    record(&mut recorder, 2, |_, _| {}).expect("disk space");
    recorder.finish().expect("disk space");
    assert_eq!(fs::read(folder.path().join("b.blg")).expect("the log"), before);
    assert_eq!(read(&fs::read(&log).expect("the log")).0.len(), 2);
    assert_eq!(moved.lock().expect("no panic")[0].samples, 0);
}

#[test]
fn the_rest_of_a_renamed_segment_has_its_number() {
    let folder = TempDir::new().expect("a folder");
    let mut options = in_folder(&folder, "a.blg", Format::Blg);
    options.suffix = Suffix::Number;
    options.segment_time = Some(Duration::from_secs(1));
    options.at_max = AtMax::NewSegment;
    let (mut recorder, _) = create(options).expect("a new file");
    let taken = record(&mut recorder, 25, |number, _| {
        let (from, to) = match number {
            // Rename in the middle of a segment, and when the next segment is due.
            5 => ("a_000001.blg", "a_000000.old"),
            20 => ("a_000002.blg", "a_000002.old"),
            _ => return,
        };
        fs::rename(folder.path().join(from), folder.path().join(to)).expect("the log");
    })
    .expect("disk space");
    recorder.finish().expect("disk space");
    let disk = files(folder.path());
    assert_eq!(disk.names(), ["a_000000.old", "a_000001.blg", "a_000002.old", "a_000003.blg"]);
    let samples = |name: &String| read(&disk.file(name)).0;
    let found: Vec<_> = disk.names().iter().flat_map(samples).collect();
    assert_eq!(shown(&found), shown(&taken));
}

#[test]
fn a_new_file_with_the_name_of_a_renamed_log_is_not_removed() {
    let folder = TempDir::new().expect("a folder");
    let log = folder.path().join("a.blg");
    let (mut recorder, _) = create(in_folder(&folder, "a.blg", Format::Blg)).expect("a new file");
    fs::rename(&log, folder.path().join("b.blg")).expect("the log");
    fs::write(&log, "another's").expect("a file");
    recorder.finish().expect("nothing to write");
    assert_eq!(fs::read_to_string(&log).expect("a file"), "another's");
}

#[test]
fn a_log_that_is_deleted_after_its_last_sample_is_reported() {
    let folder = TempDir::new().expect("a folder");
    for name in ["a.blg", "a.csv"] {
        let format = Format::of_extension(Path::new(name)).expect("a format");
        let (mut recorder, moved) = create(in_folder(&folder, name, format)).expect("a new file");
        record(&mut recorder, 3, |_, _| {}).expect("disk space");
        fs::remove_file(folder.path().join(name)).expect("the log");
        recorder.finish().expect("nothing to write");
        let moved = moved.lock().expect("no panic");
        assert!(
            moved[0].to_string().ends_with(": was deleted with 3 samples of this recording"),
            "{}",
            moved[0]
        );
        assert_eq!((moved.len(), recorder.summary().deleted_files), (1, 1));
        assert!(!folder.path().join(name).exists());
    }
}

#[test]
fn a_log_that_is_truncated_is_reported_and_started_again() {
    for name in ["a.blg", "a.csv"] {
        let folder = TempDir::new().expect("a folder");
        let format = Format::of_extension(Path::new(name)).expect("a format");
        let (mut recorder, moved) = create(in_folder(&folder, name, format)).expect("a new file");
        let log = folder.path().join(name);
        let truncate = || fs::File::options().write(true).open(&log).expect("the log").set_len(0);
        let taken = record(&mut recorder, 9, |number, _| {
            if number == 4 {
                truncate().expect("an empty file");
            }
        })
        .expect("disk space");
        let (samples, problems) = read(&fs::read(&log).expect("the log"));
        assert_eq!((samples.len(), problems), (taken.len() - 4, 0), "{name}");
        truncate().expect("an empty file");
        recorder.finish().expect("nothing to write");
        assert_eq!(fs::read(&log).expect("the log"), b"", "{name}");
        let moved: Vec<_> =
            moved.lock().expect("no panic").iter().map(|log| (log.change, log.samples, log.next)).collect();
        let expected =
            [(LogChange::Truncated, 4, NextLog::SameName), (LogChange::Truncated, 5, NextLog::None)];
        assert_eq!(moved, expected, "{name}");
        assert_eq!((recorder.summary().files, recorder.summary().deleted_files), (2, 2), "{name}");
    }
}

#[test]
fn a_log_that_is_truncated_in_part_ends_the_recording() {
    for name in ["a.blg", "a.csv"] {
        let folder = TempDir::new().expect("a folder");
        let format = Format::of_extension(Path::new(name)).expect("a format");
        let (mut recorder, _) = create(in_folder(&folder, name, format)).expect("a new file");
        let log = folder.path().join(name);
        let error = record(&mut recorder, 9, |number, _| {
            if number == 4 {
                fs::File::options().write(true).open(&log).expect("the log").set_len(100).expect("shorter");
            }
        })
        .expect_err("a truncated log")
        .to_string();
        assert!(
            error.contains("another program truncated it from ") && error.contains(" to 100 bytes"),
            "{error}"
        );
        assert_eq!(fs::metadata(&log).expect("the log").len(), 100);
    }
}
