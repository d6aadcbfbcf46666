//! What a reader gives, as text that is easy to compare.

use std::fmt::Write as _;
use std::io::Cursor;

use tachograph_counters::RawValue;
use tachograph_counters::sample::{Group, Sample};
use tachograph_logs::blg::BlgReader;
use tachograph_logs::{LogError, LogReader};

use super::BASE;
use super::rewritten::{options_of, samples_and_problems_of, samples_of, write};

/// Samples, one line each, and problems.
#[derive(Debug, PartialEq)]
pub struct Shown {
    pub samples: Vec<String>,
    pub problems: Vec<String>,
}

/// Reads a whole log.
pub fn try_read(file: &[u8]) -> Result<Shown, LogError> {
    let mut reader = BlgReader::new(Cursor::new(file))?;
    let mut sample = Sample::default();
    let mut samples = Vec::new();
    while reader.next(&mut sample)? {
        samples.push(show(&sample));
    }
    let problems = reader.problems().list().iter().map(ToString::to_string).collect();
    Ok(Shown { samples, problems })
}

/// Reads a whole log that can be opened.
#[track_caller]
pub fn read(file: &[u8]) -> Shown {
    match try_read(file) {
        Ok(shown) => shown,
        Err(error) => panic!("cannot be opened: {error}"),
    }
}

/// Asserts that a log says the same when it was read and written again, and that it has no problems then.
#[track_caller]
pub fn check_again(file: &[u8]) {
    let (samples, _) = samples_and_problems_of(file);
    let again = samples_of(&write(&samples, options_of(file)));
    let shown = |samples: &[Sample]| samples.iter().map(show).collect::<Vec<_>>();
    assert_eq!(shown(&again), shown(&samples));
}

/// Asserts what a log holds.
#[track_caller]
pub fn check(file: &[u8], samples: &[&str], problems: &[&str]) {
    let shown = read(file);
    assert_eq!(shown.samples, samples);
    assert_eq!(shown.problems, problems);
}

/// `seconds after BASE: set(instance)\counter=first/second; ...`; a value's multiplier and status only where they say
/// something.
pub fn show(sample: &Sample) -> String {
    let after = sample.at.local().since(tachograph_counters::civil::FileTime(BASE));
    let mut line = format!("{}", after as f64 / 1e7);
    if sample.is_baseline {
        line.push_str(" baseline");
    }
    line.push(':');
    for (number, group) in sample.groups.iter().enumerate() {
        line.push_str(if number == 0 { " " } else { "; " });
        show_group(&mut line, group);
    }
    line
}

fn show_group(line: &mut String, group: &Group) {
    let set = &group.set;
    assert_eq!(group.values.len(), group.instances.len() * set.counters.len(), "rows times columns");
    if group.values.is_empty() {
        let _ = write!(line, "{} without rows", set.name);
        if group.status.is_error() {
            let _ = write!(line, " {}", group.status);
        }
    }
    for (row, (instance, values)) in group.instances.iter().zip(group.rows()).enumerate() {
        let _ = write!(line, "{}{}", if row == 0 { "" } else { ", " }, set.name);
        if set.has_instances {
            let _ = write!(line, "({instance})");
        }
        for (counter, raw) in set.counters.iter().zip(values) {
            let _ = write!(line, r"\{}", counter.name);
            show_raw(line, raw);
        }
    }
}

fn show_raw(line: &mut String, raw: &RawValue) {
    let _ = write!(line, "={}/{}", raw.first, raw.second);
    if raw.multi_count > 1 {
        let _ = write!(line, "x{}", raw.multi_count);
    }
    if raw.status.is_error() {
        let _ = write!(line, " {}", raw.status);
    }
}
