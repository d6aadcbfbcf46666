//! Archives with damaged files: the intact files are read, and each damaged one is reported once.

use std::fs;
use std::path::{Path, PathBuf};

use tachograph_counters::civil::TimeArgument;
use tachograph_counters::sample::Sample;
use tachograph_logs::archive::{ArchiveReader, MachineReader};
use tachograph_logs::{LogReader, ReadOptions, open, open_with};

use super::generated::{TempFolder, bytes, files, recording, write};

/// An archive of several files, with the times of the samples of each.
fn several_files() -> (TempFolder, Vec<(PathBuf, Vec<i64>)>) {
    let folder = TempFolder::new();
    let samples = recording(4, 60);
    samples.chunks(15).for_each(|part| write(&folder.0, part, 1000));
    let with_times = |path: PathBuf| {
        let mut reader = ArchiveReader::open(vec![path.clone()]).expect("an intact file");
        let times = times(&mut reader);
        (path, times)
    };
    let files: Vec<_> = files(&folder.0).into_iter().map(with_times).collect();
    assert!(files.len() > 3, "{}", files.len());
    (folder, files)
}

fn times(reader: &mut dyn LogReader) -> Vec<i64> {
    let (mut times, mut sample) = (Vec::new(), Sample::default());
    while reader.next(&mut sample).expect("the intact files can be read") {
        times.push(sample.at.utc.0);
    }
    times
}

/// Files that cannot be opened: empty, cut short, and with a damaged footer.
fn unreadable(whole: &[u8]) -> [Vec<u8>; 3] {
    let mut flipped = whole.to_vec();
    flipped[whole.len() - 100] ^= 1;
    [Vec::new(), whole[..whole.len() / 2].to_vec(), flipped]
}

fn times_without(files: &[(PathBuf, Vec<i64>)], damaged: &Path) -> Vec<i64> {
    files.iter().filter(|(path, _)| path != damaged).flat_map(|(_, times)| times.clone()).collect()
}

#[test]
fn a_damaged_file_is_reported_once_and_the_others_are_read() {
    let (folder, files) = several_files();
    for (path, _) in &files {
        let whole = bytes(path);
        for damaged in unreadable(&whole) {
            fs::write(path, &damaged).expect("written");
            let mut reader = open(&folder.0).expect("an intact file");
            assert_eq!(times(&mut *reader), times_without(&files, path));
            let problems = reader.problems();
            assert_eq!(problems.count(), 1, "{problems:?}");
            let what = &problems.list()[0].what;
            assert!(what.contains(&path.display().to_string()) && what.ends_with("move it away"), "{what}");
        }
        fs::write(path, &whole).expect("written");
    }
}

#[test]
fn a_time_range_skips_damaged_files() {
    let (folder, files) = several_files();
    for (path, _) in &files {
        let whole = bytes(path);
        fs::write(path, &whole[..whole.len() - 1]).expect("written");
        let intact = times_without(&files, path);
        for begin in files.iter().flat_map(|(_, times)| times) {
            let mut reader = open(&folder.0).expect("an intact file");
            reader
                .skip_before(TimeArgument::Utc(tachograph_counters::civil::FileTime(*begin)))
                .expect("read");
            let read = times(&mut *reader);
            assert!(intact.ends_with(&read), "{begin}: {read:?}");
            // The last sample before the range is read, too.
            let needed = intact.iter().rposition(|time| time < begin).unwrap_or_default();
            assert!(read.len() >= intact.len() - needed, "{begin}: {read:?}");
            assert!(reader.problems().count() <= 1);
        }
        let mut reader = open(&folder.0).expect("an intact file");
        assert!(reader.seek_near_end(1).expect("read"));
        assert_eq!(times(&mut *reader).last(), intact.last());
        fs::write(path, &whole).expect("written");
    }
}

#[test]
fn an_archive_without_an_intact_file_is_an_error() {
    let (folder, files) = several_files();
    files.iter().for_each(|(path, _)| fs::write(path, "").expect("written"));
    let machine = files[0].0.parent().and_then(Path::parent).expect("a folder");
    let error = MachineReader::open(machine).err().expect("no intact file");
    assert!(error.is_corrupt(), "{error}");
    assert!(error.to_string().contains("move the file away"), "{error}");
    drop(folder);
}

/// Opening a pipe would block for ever.
#[test]
fn a_pipe_and_a_link_to_a_missing_file_are_reported_like_damaged_files() {
    let (folder, files) = several_files();
    let all = times_without(&files, Path::new(""));
    let date = files[1].0.parent().expect("a folder");
    let first_name = files[0].0.file_name().expect("a name").to_string_lossy();
    for name in ["other.parquet", &first_name.replace(".parquet", "-9.parquet")] {
        let path = date.join(name);
        let made = std::process::Command::new("mkfifo").arg(&path).status().expect("mkfifo");
        assert!(made.success());
        check_reported(&folder.0, &all, &path, "a pipe, a device or a folder");
        fs::remove_file(&path).expect("a pipe");
        std::os::unix::fs::symlink("missing", &path).expect("a link");
        check_reported(&folder.0, &all, &path, "the link points to a file that does not exist");
        fs::remove_file(&path).expect("a link");
        // No program creates such a folder in an archive.
        fs::create_dir(&path).expect("a folder");
        let mut reader = open(&folder.0).expect("intact files");
        assert_eq!(times(&mut *reader), all);
        assert_eq!(reader.problems().count(), 0);
        fs::remove_dir(&path).expect("a folder");
    }
}

fn check_reported(folder: &Path, all: &[i64], path: &Path, why: &str) {
    let mut reader = open(folder).expect("intact files");
    assert_eq!(times(&mut *reader), all);
    let problems = reader.problems();
    assert_eq!(problems.count(), 1, "{problems:?}");
    let what = &problems.list()[0].what;
    assert!(what.contains(&path.display().to_string()) && what.contains(why), "{what}");
}

#[test]
fn a_file_at_the_wrong_place_is_reported() {
    let (folder, files) = several_files();
    let all = times_without(&files, Path::new(""));
    let date = files[0].0.parent().expect("a folder");
    let machine = date.parent().expect("a folder");
    let in_date = files.iter().filter(|(path, _)| path.starts_with(date)).count() as u64;
    for (from, to, reported, why) in [
        (&*files[0].0, date.join("235958-235959.parquet"), 1, "the samples are from "),
        (date, machine.join("date=2001-01-01"), in_date, "but the name says 2001-01-01"),
        (machine, folder.0.join("machine=other"), files.len() as u64, "the samples are of the machine '"),
    ] {
        fs::rename(from, &to).expect("a new name");
        let mut reader = open(&folder.0).expect("intact files");
        let mut read = times(&mut *reader);
        read.sort_unstable();
        assert_eq!(read, all);
        let problems = reader.problems();
        assert_eq!(problems.count(), reported, "{problems:?}");
        let what = &problems.list()[0].what;
        assert!(what.contains(why) && what.contains(&to.display().to_string()), "{what}");
        fs::rename(to, from).expect("the old name");
    }
    assert_eq!(open(&folder.0).expect("intact files").problems().count(), 0);
}

/// Damage within a file is an error, because figures would silently lack a part of a row group. `check` skips it.
#[test]
fn a_damaged_row_group_is_an_error_unless_it_is_skipped() {
    let (folder, files) = several_files();
    let path = &files[1].0;
    let mut damaged = bytes(path);
    damaged[10] ^= 1;
    fs::write(path, &damaged).expect("written");
    let mut reader = open(&folder.0).expect("the footers are intact");
    let mut sample = Sample::default();
    let error = loop {
        match reader.next(&mut sample) {
            Ok(true) => {}
            Ok(false) => panic!("the damage is not detected"),
            Err(error) => break error.to_string(),
        }
    };
    assert!(
        error.contains("row group 0, column 'set': the checksum is wrong; move the file away"),
        "{error}"
    );
    let options = ReadOptions { skips_damaged_row_groups: true, ..ReadOptions::default() };
    for input in [&folder.0, path] {
        let mut reader = open_with(input, &options).expect("the footers are intact");
        let read = times(&mut *reader);
        let all: Vec<i64> = files.iter().flat_map(|(_, times)| times.clone()).collect();
        assert!(read.iter().all(|time| all.contains(time)) && read.len() < all.len(), "{read:?}");
        assert!(input == path || read.ends_with(&files[files.len() - 1].1), "{read:?}");
        let problems = reader.problems();
        assert_eq!(problems.count(), 1);
        assert!(problems.list()[0].what.ends_with("the row group is not read"), "{problems:?}");
    }
}
