//! Damaged files: every flipped bit and every truncation is detected, and hostile files are rejected with bounded
//! memory and time.

use std::io::Cursor;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_logs::archive::ArchiveReader;
use tachograph_logs::{LogError, LogReader as _, open_stream};

use super::generated::{TempFolder, bytes, files, recording, write};

/// A small file, with a value in each column.
pub(crate) fn small_file() -> Vec<u8> {
    let folder = TempFolder::new();
    let mut samples = recording(11, 6);
    for sample in &mut samples {
        let group = &mut sample.groups[1];
        let columns: Vec<usize> = vec![3, 5, 14, 20, 26];
        let mut set = (*group.set).clone();
        set.counters = columns.iter().map(|&column| group.set.counters[column].clone()).collect();
        let mut small = group.with_columns(&Arc::new(set), &columns);
        small.instances = small.instances[..3].into();
        small.values.truncate(3 * columns.len());
        sample.groups = vec![small];
    }
    // All samples share the description.
    let set = Arc::clone(&samples[0].groups[0].set);
    samples.iter_mut().for_each(|sample| sample.groups[0].set = Arc::clone(&set));
    write(&folder.0, &samples, 40);
    bytes(&files(&folder.0)[0])
}

fn read(file: &[u8]) -> Result<usize, LogError> {
    let mut reader = ArchiveReader::new(Cursor::new(file.to_vec()))?;
    let mut sample = Sample::default();
    let mut samples = 0;
    while reader.next(&mut sample)? {
        samples += 1;
    }
    Ok(samples)
}

#[test]
fn every_flipped_bit_is_detected() {
    let file = small_file();
    assert_eq!(read(&file).ok(), Some(6));
    let mut damaged = file.clone();
    for at in 0..file.len() {
        for bit in 0..8 {
            damaged[at] ^= 1 << bit;
            match read(&damaged) {
                Err(error) => assert!(error.is_corrupt(), "byte {at}, bit {bit}: {error}"),
                Ok(_) => panic!("byte {at} of {}, bit {bit} is not detected", file.len()),
            }
            damaged[at] ^= 1 << bit;
        }
    }
}

#[test]
fn every_truncation_is_detected() {
    let file = small_file();
    for len in 0..file.len() {
        assert!(read(&file[..len]).is_err_and(|error| error.is_corrupt()), "cut at {len}");
    }
    // Trailing bytes are detected too.
    assert!(read(&[&file[..], &[0]].concat()).is_err());
}

#[test]
fn damage_is_reported_with_row_group_and_column() {
    let file = small_file();
    let mut damaged = file.clone();
    damaged[10] ^= 1;
    let error = read(&damaged).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("row group 0, column 'set': the checksum is wrong"), "{error}");
    let mut damaged = file.clone();
    damaged[file.len() - 100] ^= 1;
    let error = read(&damaged).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("footer"), "{error}");
    let error = read(&file[..file.len() - 1]).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("cut short"), "{error}");
}

#[test]
fn other_parquet_files_are_refused() {
    let mut file = b"PAR1".to_vec();
    file.extend_from_slice(&[0; 100]);
    file.extend_from_slice(&100u32.to_le_bytes());
    file.extend_from_slice(b"PAR1");
    let error = open_stream(Cursor::new(file)).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("not part of a Tachograph archive"), "{error}");
}
