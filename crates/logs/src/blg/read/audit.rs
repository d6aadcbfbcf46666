//! Compares the redundant times in a log to detect damage. The time of a sample is stored in its event, in its records,
//! and as the system time that some raw values contain ([`clock`](crate::blg::clock)). Tachograph marks the samples at
//! which the difference between these times may change ([`Marks`]).

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;

use crate::blg::clock::{SystemClocks, system_times};
use crate::blg::raw::event::{EventHeader, Marks, TACHOGRAPH_PROCESS_ID};
use crate::blg::raw::record::{MULTI_HEAD_BYTES, MULTI_ITEM_BYTES};
use crate::{Problem, Problems};

/// Maximum difference between a value's system time and its record's time in a log written by Windows, which
/// truncates record times to milliseconds.
const WINDOWS_TOLERANCE: i64 = FileTime::PER_MILLISECOND;

/// Maximum difference between the times of a record and its sample, also for records of other machines.
const MAX_RECORD_DIFFERENCE: u64 = FileTime::PER_DAY.unsigned_abs();

/// Maximum number of disagreements that are kept per counter list entry. All records of another machine can
/// disagree; without this limit, they would leave no room for the disagreements of other entries.
const MAX_PER_ENTRY: u64 = 16;

/// The offset of a record and its local time.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordTime {
    /// Offset of the record in the sample's payload.
    pub(super) at: usize,
    /// `None` if the record has no time or cannot be decoded.
    pub(super) local: Option<FileTime>,
    /// Whether `local` equals the event's time. The day of the week must be right too if the record stores it.
    pub(super) agrees: bool,
}

/// The location of a sample's event and of its records in the file.
pub(super) struct Offsets<'a> {
    /// Offset of the event's header.
    pub(super) header: u64,
    pub(super) records: &'a [RecordTime],
    /// Converts an offset in the payload to an offset in the file.
    pub(super) file_offset: &'a dyn Fn(usize) -> u64,
}

/// Numbers of records of one entry of the counter list.
#[derive(Clone, Copy, Default)]
struct RecordCounts {
    /// Records whose time equals their event's.
    agreeing: u64,
    /// Records whose time differs from their event's.
    differing: u64,
}

/// Compares the times of a log.
#[derive(Default)]
pub(super) struct Audit {
    /// Indexed by the entry of the counter list.
    record_counts: Vec<RecordCounts>,
    /// Problems of records whose time differs from their event's, each with the index of the record's entry. At
    /// the end, they are reported as damage if most records of the entry agree.
    disagreements: Vec<(usize, Problem)>,
    clocks: SystemClocks,
    /// The time of the previous sample, and whether that sample is a baseline.
    previous: Option<(Moment, bool)>,
    /// Offset and time of the latest counter list or name table since the last sample.
    list: Option<(u64, FileTime)>,
    /// Number of problems that were known after the previous sample was checked. If there are more now, samples may be
    /// missing.
    problems_before: u64,
}

impl Audit {
    /// Resets the state that depends on the order of samples, after a seek.
    pub(super) fn restart(&mut self) {
        self.clocks.clear();
        self.previous = None;
        self.list = None;
    }

    /// Stores the time of a name table or counter list. If the counter list changed, reports the disagreements found so
    /// far, and starts new counts for the new entries.
    pub(super) fn observe_list(
        &mut self,
        event: &EventHeader,
        header_offset: u64,
        changed: bool,
        problems: &mut Problems,
    ) {
        self.list = Some((header_offset, FileTime(event.local_time.get())));
        if changed {
            self.end(problems);
            self.record_counts.clear();
            self.clocks.clear();
        }
    }

    /// Checks that a catalogue (a name table or a counter list) is not older than the sample before it.
    pub(super) fn check_catalogue(&self, event: &EventHeader, header_offset: u64, problems: &mut Problems) {
        let local = FileTime(event.local_time.get());
        if let Some(last) = self.previous.map(|(last, _)| last.local()).filter(|last| local < *last) {
            problems.push(
                Problem::new(header_offset + 0x10, "the catalogue is older than the sample before it")
                    .found(local.to_log_time(), format!("at least {}", last.to_log_time())),
            );
        }
    }

    /// Checks the times of a sample against each other and against previous samples.
    pub(super) fn check_sample(
        &mut self,
        event: &EventHeader,
        offsets: &Offsets<'_>,
        sample: &Sample,
        problems: &mut Problems,
    ) {
        let marks = Marks::from_header(event);
        let local = FileTime(event.local_time.get());
        if let Some((offset, listed)) = self.list.take()
            && listed > local
        {
            problems.push(
                Problem::new(offset + 0x10, "a counter list or name table is later than the sample after it")
                    .found(listed.to_log_time(), format!("at most {}", local.to_log_time())),
            );
        }
        self.check_order(sample, marks, offsets, problems);
        self.check_records(local, offsets, problems);
        let is_windows = event.process_id.get() != TACHOGRAPH_PROCESS_ID;
        if !is_windows {
            self.check_tachograph_clock(sample, marks, local, offsets, problems);
        } else if event.thread_id.get() != 0 || event.process_id.get() != 0 {
            check_windows_clock(sample, local, offsets, problems);
        }
        self.problems_before = problems.count();
    }

    /// Checks that a sample is later than the previous one.
    fn check_order(&mut self, sample: &Sample, marks: Marks, offsets: &Offsets<'_>, problems: &mut Problems) {
        let replaced = self.previous.replace((sample.at, sample.is_baseline));
        let Some((previous, was_baseline)) = replaced else { return };
        // In merged logs, a baseline can have the same time as a sample of another log.
        let is_same_time =
            previous.utc == sample.at.utc && (was_baseline || marks.is_baseline || marks.is_new_log);
        if sample.at.utc <= previous.utc && !is_same_time && !marks.is_clock_step {
            problems.push(
                Problem::new(offsets.header + 0x10, "a sample is not later than the one before it")
                    .found(sample.at.rfc3339(), format!("later than {}", previous.rfc3339())),
            );
        }
    }

    /// Compares the times in the records with the event's.
    fn check_records(&mut self, local: FileTime, offsets: &Offsets<'_>, problems: &mut Problems) {
        self.record_counts.resize(offsets.records.len(), RecordCounts::default());
        let mut first = None;
        let mut differing = 0;
        let mut count = 0;
        for (entry, (record, counts)) in offsets.records.iter().zip(&mut self.record_counts).enumerate() {
            let Some(time) = record.local else { continue };
            count += 1;
            if record.agrees {
                counts.agreeing += 1;
                continue;
            }
            counts.differing += 1;
            differing += 1;
            first.get_or_insert((entry, time));
            if time.0.abs_diff(local.0) > MAX_RECORD_DIFFERENCE {
                let offset = (offsets.file_offset)(record.at);
                let problem =
                    Problem::new(offset, "a record's time is more than a day from the sample's time");
                problems.push(problem.found(time.to_log_time(), local.to_log_time()));
            } else if counts.differing <= MAX_PER_ENTRY && self.disagreements.len() < Problems::MAX_LISTED {
                let offset = (offsets.file_offset)(record.at);
                let found = time.to_log_time();
                let found =
                    if time == local { format!("{found} with another day of the week") } else { found };
                let problem = Problem::new(offset, "a record's time differs from the sample's time")
                    .found(found, local.to_log_time());
                self.disagreements.push((entry, problem));
            }
        }
        // If no record has the event's time, report the event once instead of each record.
        if let Some((entry, time)) = first.filter(|_| differing > 1 && differing == count) {
            let start = self.disagreements.len().saturating_sub(differing);
            if self.disagreements[start..].len() == differing && self.disagreements[start].0 == entry {
                self.disagreements.truncate(start);
                let problem = Problem::new(
                    offsets.header + 0x10,
                    "a sample's time differs from the times of its records",
                )
                .found(local.to_log_time(), time.to_log_time());
                self.disagreements.push((entry, problem));
            }
        }
    }

    /// Checks a log written by Tachograph, where the difference between a value's system time and its record's time is
    /// constant until the clock is set.
    fn check_tachograph_clock(
        &mut self,
        sample: &Sample,
        marks: Marks,
        local: FileTime,
        offsets: &Offsets<'_>,
        problems: &mut Problems,
    ) {
        if problems.count() != self.problems_before {
            self.clocks.clear();
        }
        if marks.may_change_clock_difference() {
            self.clocks.clear();
            return;
        }
        for (entry, (group, record)) in sample.groups.iter().zip(offsets.records).enumerate() {
            let time = record.local.unwrap_or(local);
            if let Some((index, found, expected)) = self.clocks.observe(entry, group, 0, time) {
                let offset = (offsets.file_offset)(record.at + system_time_offset(group.set.extent, index));
                let problem = Problem::new(
                    offset,
                    "the difference between a value's system time and the sample's time changed",
                );
                problems.push(problem.found(seconds_text(found), seconds_text(expected)));
            }
        }
    }

    /// Reports the disagreements that are damage, at the end of the log or when the counter list changes.
    pub(super) fn end(&mut self, problems: &mut Problems) {
        for (entry, problem) in self.disagreements.drain(..) {
            // If most records of the entry disagree, it belongs to a machine with another clock, and nothing is
            // damaged.
            if self.record_counts.get(entry).is_some_and(|counts| counts.agreeing > counts.differing) {
                problems.push(problem);
            }
        }
        self.problems_before = problems.count();
    }
}

/// Checks a log written by Windows, where a value's system time equals its record's time.
fn check_windows_clock(sample: &Sample, local: FileTime, offsets: &Offsets<'_>, problems: &mut Problems) {
    let bias = i64::from(sample.at.bias_minutes) * FileTime::PER_MINUTE;
    for (group, record) in sample.groups.iter().zip(offsets.records) {
        let time = record.local.unwrap_or(local);
        let utc = time.saturating_add(bias);
        let is_off = |(_, system): &(usize, FileTime)| {
            let difference = system.since(utc).saturating_abs();
            // Near a daylight saving change, another machine's UTC offset can differ by an hour.
            let is_other_hour =
                time != local && (difference - 60 * FileTime::PER_MINUTE).abs() <= WINDOWS_TOLERANCE;
            difference > WINDOWS_TOLERANCE && !is_other_hour
        };
        if let Some((index, system)) = system_times(group, 0).find(is_off) {
            let offset = (offsets.file_offset)(record.at + system_time_offset(group.set.extent, index));
            let problem = Problem::new(
                offset,
                "a value's system time differs from its record's time by more than 1 ms",
            );
            problems.push(
                problem.found(
                    format_args!("{} UTC", system.to_log_time()),
                    format!("{} UTC", utc.to_log_time()),
                ),
            );
        }
    }
}

/// Offset of a value's system time in a record.
fn system_time_offset(extent: Extent, index: usize) -> usize {
    match extent {
        Extent::Row => 0x20,
        Extent::Columns => MULTI_HEAD_BYTES + index * MULTI_ITEM_BYTES + 0x10,
        Extent::Table => 8 + 0x48,
    }
}

/// Formats a time difference in units of 100 ns.
fn seconds_text(units: i64) -> String {
    format!("{:+.7} s", units as f64 / FileTime::PER_SECOND as f64)
}
