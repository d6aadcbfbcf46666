//! What a log says twice about the times of its samples, compared.

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Extent;

use crate::blg::clock::{SystemClocks, system_times};
use crate::blg::raw::event::{EventHeader, Marks, WRITER};
use crate::blg::raw::record::{MULTI_HEAD_BYTES, MULTI_ITEM_BYTES};
use crate::problem::{Problem, Problems};

/// How far system time among the values may be from the record's time in a log written by Windows, which cuts it to
/// milliseconds.
const NEAR_IN_WINDOWS: i64 = FileTime::PER_MILLISECOND;

/// No machine of a log is read so far from the sample's time.
const MAX_APART: u64 = FileTime::PER_DAY.unsigned_abs();

/// Differences of one entry that are kept until the log's end: an entry of another machine, which always differs, leaves room
/// for those of others.
const MAX_OF_ENTRY: u64 = 16;

/// Where a record of a sample is, and the local time in it.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordTime {
    /// Offset of the record in the sample's payload.
    pub(super) at: usize,
    /// `None` where the record says nothing of this sample, or could not be decoded.
    pub(super) local: Option<FileTime>,
    /// Whether it is the event's time; of a block as SYSTEMTIME, with the day of the week.
    pub(super) agrees: bool,
}

/// Where a sample is in the file.
pub(super) struct Places<'a> {
    /// Offset of its event's header.
    pub(super) header: u64,
    pub(super) records: &'a [RecordTime],
    /// Offset in the file of a byte of the payload.
    pub(super) file_offset: &'a dyn Fn(usize) -> u64,
}

/// Compares the times of a log: of events, of their records, and of the values in them.
#[derive(Default)]
pub(super) struct Audit {
    /// For each entry of the counter list: in how many samples the record has the event's time, and in how many another.
    agreements: Vec<(u64, u64)>,
    /// Records whose time is not that of their event, by entry: damage where the entry's other records do agree.
    disagreements: Vec<(usize, Problem)>,
    clocks: SystemClocks,
    /// When the last sample was taken, and whether it only opened a window.
    previous: Option<(Moment, bool)>,
    /// The latest counter list or name table since the last sample: its offset and time.
    list: Option<(u64, FileTime)>,
    /// How many problems there were after the last sample: where there are more now, samples may be missing.
    problems_before: u64,
}

impl Audit {
    /// Forgets the samples before, since what follows does not follow them.
    pub(super) fn restart(&mut self) {
        self.clocks.clear();
        self.previous = None;
        self.list = None;
    }

    /// Notes a counter list, after which entries are others, or a name table.
    pub(super) fn list(
        &mut self,
        event: &EventHeader,
        header_offset: u64,
        changed: bool,
        problems: &mut Problems,
    ) {
        self.list = Some((header_offset, FileTime(event.local_time.get())));
        if changed {
            self.end(problems);
            self.agreements.clear();
            self.clocks.clear();
        }
    }

    /// Checks the time of a catalogue.
    pub(super) fn catalogue(&self, event: &EventHeader, header_offset: u64, problems: &mut Problems) {
        let local = FileTime(event.local_time.get());
        if let Some(last) = self.previous.map(|(last, _)| last.local()).filter(|last| local < *last) {
            problems.push(
                Problem::new(header_offset + 0x10, "the catalogue is older than the last sample")
                    .found(local.to_log_time(), format!("at least {}", last.to_log_time())),
            );
        }
    }

    /// Compares a sample with itself and with those before.
    pub(super) fn sample(
        &mut self,
        event: &EventHeader,
        places: &Places<'_>,
        sample: &Sample,
        problems: &mut Problems,
    ) {
        let marks = Marks::of(event);
        let local = FileTime(event.local_time.get());
        if let Some((offset, listed)) = self.list.take()
            && listed > local
        {
            problems.push(
                Problem::new(offset + 0x10, "a counter list or name table is later than the sample after it")
                    .found(listed.to_log_time(), format!("at most {}", local.to_log_time())),
            );
        }
        self.check_order(sample, marks, places, problems);
        self.check_records(local, places, problems);
        let is_windows = event.process_id.get() != WRITER;
        if !is_windows {
            self.check_own_clock(sample, marks, local, places, problems);
        } else if event.thread_id.get() != 0 || event.process_id.get() != 0 {
            check_windows_clock(sample, local, places, problems);
        }
        self.problems_before = problems.count();
    }

    fn check_order(&mut self, sample: &Sample, marks: Marks, places: &Places<'_>, problems: &mut Problems) {
        let replaced = self.previous.replace((sample.at, sample.is_baseline));
        let Some((previous, was_baseline)) = replaced else { return };
        // A sample that only opens a window may have the time of one of another log.
        let is_double =
            previous.utc == sample.at.utc && (was_baseline || marks.is_baseline || marks.is_new_log);
        let is_set_back = sample.at.utc < previous.utc && marks.is_clock_step;
        if sample.at.utc <= previous.utc && !is_double && !is_set_back {
            problems.push(
                Problem::new(places.header + 0x10, "a sample is not later than the one before it")
                    .found(sample.at.rfc3339(), format!("later than {}", previous.rfc3339())),
            );
        }
    }

    /// Compares the times in the records with the event's.
    fn check_records(&mut self, local: FileTime, places: &Places<'_>, problems: &mut Problems) {
        self.agreements.resize(places.records.len(), (0, 0));
        let mut first = None;
        let mut apart = 0;
        let mut count = 0;
        for (entry, (record, agreement)) in places.records.iter().zip(&mut self.agreements).enumerate() {
            let Some(time) = record.local else { continue };
            count += 1;
            if record.agrees {
                agreement.0 += 1;
                continue;
            }
            agreement.1 += 1;
            apart += 1;
            first.get_or_insert((entry, time));
            if time.0.abs_diff(local.0) > MAX_APART {
                let offset = (places.file_offset)(record.at);
                let problem =
                    Problem::new(offset, "the time of a record is more than a day from its sample's");
                problems.push(problem.found(time.to_log_time(), local.to_log_time()));
            } else if agreement.1 <= MAX_OF_ENTRY && self.disagreements.len() < Problems::KEPT {
                let offset = (places.file_offset)(record.at);
                let found = time.to_log_time();
                let found = if time == local { format!("{found} of another day of the week") } else { found };
                let problem = Problem::new(offset, "the time of a record differs from its sample's")
                    .found(found, local.to_log_time());
                self.disagreements.push((entry, problem));
            }
        }
        // Where no record has the event's time, it is the event's that is wrong: one problem, not one for each.
        if let Some((entry, time)) = first.filter(|_| apart > 1 && apart == count) {
            let kept = self.disagreements.len().saturating_sub(apart);
            if self.disagreements[kept..].len() == apart && self.disagreements[kept].0 == entry {
                self.disagreements.truncate(kept);
                let problem =
                    Problem::new(places.header + 0x10, "a sample's time differs from those of its records")
                        .found(local.to_log_time(), time.to_log_time());
                self.disagreements.push((entry, problem));
            }
        }
    }

    /// In logs of Tachograph's: system time keeps its distance from the samples' times until the clock is set.
    fn check_own_clock(
        &mut self,
        sample: &Sample,
        marks: Marks,
        local: FileTime,
        places: &Places<'_>,
        problems: &mut Problems,
    ) {
        if problems.count() != self.problems_before {
            self.clocks.clear();
        }
        if marks.breaks_clock() {
            self.clocks.clear();
            return;
        }
        for (entry, (group, record)) in sample.groups.iter().zip(places.records).enumerate() {
            let time = record.local.unwrap_or(local);
            if let Some((number, found, expected)) = self.clocks.observe(entry, group, time) {
                let offset = (places.file_offset)(record.at + second_at(group.set.extent, number));
                let problem = Problem::new(
                    offset,
                    "the system time of a value does not keep its distance from the sample's time",
                );
                problems.push(problem.found(seconds(found), seconds(expected)));
            }
        }
    }

    /// Ends the log, or what there is of it by now.
    pub(super) fn end(&mut self, problems: &mut Problems) {
        for (entry, problem) in self.disagreements.drain(..) {
            // The clocks of other machines differ in most samples.
            if self.agreements.get(entry).is_some_and(|(agree, differ)| agree > differ) {
                problems.push(problem);
            }
        }
        self.problems_before = problems.count();
    }
}

/// In logs that Windows wrote, system time among the values is the record's time.
fn check_windows_clock(sample: &Sample, local: FileTime, places: &Places<'_>, problems: &mut Problems) {
    let bias = i64::from(sample.at.bias_minutes) * FileTime::PER_MINUTE;
    for (group, record) in sample.groups.iter().zip(places.records) {
        let time = record.local.unwrap_or(local);
        let utc = time.saturating_add(bias);
        let is_off = |(_, system): &(usize, FileTime)| {
            let apart = system.since(utc).saturating_abs();
            // Near a change of daylight time the machine's own time may be on its other side.
            let is_other_hour = time != local && (apart - 60 * FileTime::PER_MINUTE).abs() <= NEAR_IN_WINDOWS;
            apart > NEAR_IN_WINDOWS && !is_other_hour
        };
        if let Some((number, system)) = system_times(group).find(is_off) {
            let offset = (places.file_offset)(record.at + second_at(group.set.extent, number));
            let problem = Problem::new(
                offset,
                "the system time of a value differs from its record's time by more than 1 ms",
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

/// Where in a record the system time of a value is.
fn second_at(extent: Extent, number: usize) -> usize {
    match extent {
        Extent::Value => 0x20,
        Extent::Column => MULTI_HEAD_BYTES + number * MULTI_ITEM_BYTES + 0x10,
        Extent::Table => 8 + 0x48,
    }
}

/// A difference of times in words.
fn seconds(units: i64) -> String {
    format!("{:+.7} s", units as f64 / FileTime::PER_SECOND as f64)
}
