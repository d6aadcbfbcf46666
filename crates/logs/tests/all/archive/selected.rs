//! Reading the values of some counters: the other values have an error, fewer bytes are read, and damage is found.

use std::io::Cursor;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::{RawValue, Status};
use tachograph_logs::archive::ArchiveReader;
use tachograph_logs::{CounterFilter, LogError, LogReader as _};

use super::generated::{TempFolder, bytes, files, recording, write};

/// The samples, and the number of bytes that were read.
fn read(file: &[u8], filter: Option<&CounterFilter>) -> Result<(Vec<Sample>, u64), LogError> {
    let mut reader = ArchiveReader::new(Cursor::new(file.to_vec()))?;
    filter.into_iter().for_each(|filter| reader.limit_counters(filter));
    let (mut samples, mut sample) = (Vec::new(), Sample::default());
    while reader.next(&mut sample)? {
        samples.push(sample.clone());
    }
    Ok((samples, reader.bytes_read()))
}

/// The counters with this name.
fn counter(name: &'static str) -> CounterFilter {
    Arc::new(move |_, counter| &*counter.name == name)
}

/// The counters of the set with the fewest instances.
fn smallest_set(samples: &[Sample]) -> CounterFilter {
    let groups = samples.iter().flat_map(|sample| &sample.groups).filter(|group| group.is_present());
    let smallest = groups.min_by_key(|group| group.instances.len()).expect("a group");
    let name = Arc::clone(&smallest.set.name);
    Arc::new(move |set, _| set.name == name)
}

/// A file with several pages in each column.
fn large_file() -> Vec<u8> {
    let folder = TempFolder::new();
    write(&folder.0, &recording(5, 1400), 1 << 20);
    let all: Vec<_> = files(&folder.0).iter().map(|file| bytes(file)).collect();
    all.into_iter().max_by_key(Vec::len).expect("a file")
}

/// The samples without the values that the filter excludes.
fn limited(samples: &[Sample], filter: &CounterFilter) -> Vec<Sample> {
    let mut limited = samples.to_vec();
    for group in limited.iter_mut().flat_map(|sample| &mut sample.groups) {
        let is_needed: Vec<bool> =
            group.set.counters.iter().map(|counter| filter(&group.set, counter)).collect();
        for (index, value) in group.values.iter_mut().enumerate() {
            if !is_needed[index % is_needed.len()] {
                *value = RawValue::error(Status::NO_DATA);
            }
        }
    }
    limited
}

#[track_caller]
fn assert_same(found: &[Sample], expected: &[Sample]) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert_eq!((found.at, found.groups.len()), (expected.at, expected.groups.len()));
        for (found, expected) in found.groups.iter().zip(&expected.groups) {
            assert_eq!(found.status, expected.status);
            assert_eq!(found.instances, expected.instances);
            assert_eq!(found.values, expected.values, "{}", found.set.name);
        }
    }
}

#[test]
fn selected_values_are_those_of_a_complete_read() {
    let file = large_file();
    let (all, all_bytes) = read(&file, None).expect("the file was just written");
    let names: Vec<_> = {
        let sets = all[0].groups.iter().map(|group| &group.set);
        sets.flat_map(|set| set.counters.iter().map(|counter| counter.name.to_string())).collect()
    };
    for name in names.iter().step_by(names.len() / 6) {
        let filter = counter(name.clone().leak());
        let (some, _) = read(&file, Some(&filter)).expect("the file was just written");
        assert_same(&some, &limited(&all, &filter));
    }
    // The rows of a small set: a page or two of each column. No counter: only the sample tables.
    let filter = smallest_set(&all);
    let (some, few_bytes) = read(&file, Some(&filter)).expect("the file was just written");
    assert_same(&some, &limited(&all, &filter));
    let none: CounterFilter = Arc::new(|_, _| false);
    let (some, table_bytes) = read(&file, Some(&none)).expect("the file was just written");
    assert_same(&some, &limited(&all, &none));
    println!("{} bytes: all {all_bytes}, one set {few_bytes}, none {table_bytes}", file.len());
    assert!(table_bytes < few_bytes && few_bytes < all_bytes / 2, "{all_bytes} {few_bytes} {table_bytes}");
    // All counters, by a filter: only columns that repeat the sample table are not read.
    let every: CounterFilter = Arc::new(|_, _| true);
    assert_same(&read(&file, Some(&every)).expect("the file was just written").0, &all);
}

#[test]
fn damage_in_selected_pages_is_detected() {
    let file = large_file();
    let (all, _) = read(&file, None).expect("the file was just written");
    let filter = smallest_set(&all);
    let expected = limited(&all, &filter);
    let mut damaged = file.clone();
    let mut found = 0;
    for at in (0..file.len()).step_by(file.len() / 99) {
        damaged[at] ^= 1 << (at % 8);
        match read(&damaged, Some(&filter)) {
            Err(error) => {
                assert!(error.is_corrupt(), "byte {at}: {error}");
                found += 1;
            }
            // A page that is not read.
            Ok((samples, _)) => assert_same(&samples, &expected),
        }
        damaged[at] = file[at];
    }
    assert!(found > 3, "{found}");
}
