//! Records and samples with computed results. A tick is 10 ms.

use super::super::{Counts, EndedProcesses};
use super::*;

const TICKS: Ticks = Ticks::Whole(100_000);
const TICK: u64 = 100_000;

/// A process that ended, with user time and system time in ticks.
fn record(process: u32, parent: u32, user: u64, system: u64) -> ExitRecord {
    ExitRecord { process, parent, user: user * TICK, system: system * TICK }
}

/// A process that started at this second, with user time and reaped user time in ticks.
fn entry(pid: u32, parent: u32, own: u64, reaped: u64, second: u64) -> Entry {
    Entry {
        pid,
        parent,
        is_zombie: false,
        identity: second << 22 | u64::from(pid),
        start: second * 100 * TICK,
        own: [own, 0, 0],
        reaped: [reaped, 0, 0],
        growth: Counts::default(),
        baseline: Baseline::None,
        children: Children::default(),
    }
}

/// A parent, process 10, that started long ago.
fn parent(reaped: u64) -> Entry {
    entry(10, 1, 500, reaped, 1)
}

fn zombie(entry: Entry) -> Entry {
    Entry { is_zombie: true, ..entry }
}

/// A machine that is sampled once per second.
#[derive(Default)]
struct Machine {
    ended: EndedProcesses,
    second: u64,
}

impl Machine {
    /// Takes the first sample, at 100 s, which finds these processes.
    fn new(entries: &[Entry]) -> Self {
        let mut machine = Self { second: 99, ..Self::default() };
        machine.sample(&[], entries, &[]);
        machine.ended.tracker.ended_counts = Counts::default();
        machine
    }

    /// Takes a sample. The records `before` are received before the processes are listed, the records `after` once the
    /// processes have been read. Returns user time and system time of ended processes so far, in ticks.
    fn sample(&mut self, before: &[ExitRecord], entries: &[Entry], after: &[ExitRecord]) -> [u64; 2] {
        self.second += 1;
        before.iter().for_each(|record| self.ended.add_record(*record));
        self.ended.begin(&entries.iter().map(|entry| entry.pid).collect::<Vec<_>>());
        entries.iter().for_each(|entry| match entry.baseline {
            Baseline::Unread => self.ended.keep_counts(entry.pid),
            _ => self.ended.add(*entry),
        });
        after.iter().for_each(|record| self.ended.add_record(*record));
        self.ended.finish(self.second * 100 * TICK, TICKS, |_, _| true);
        let [user, system, faults] = *self.ended.ended_counts();
        assert_eq!(faults, 0);
        [user, system]
    }
}

#[test]
fn children_of_a_parent_that_ignores_them_are_counted() {
    let mut machine = Machine::new(&[parent(0)]);
    // 60 ticks less the tolerance of 2, two thirds of them user time: 38.67 and 19.33.
    let ended = machine.sample(&[record(20, 10, 30, 10), record(21, 10, 10, 10)], &[parent(0)], &[]);
    assert_eq!(ended, [38, 19]);
    // The tolerance is subtracted once: 40.67 and 20.33.
    assert_eq!(machine.sample(&[record(22, 10, 2, 1)], &[parent(0)], &[]), [40, 20]);
    assert_eq!(machine.sample(&[], &[parent(0)], &[]), [40, 20]);
}

#[test]
fn children_of_a_parent_that_waits_are_counted_once() {
    let mut machine = Machine::new(&[parent(100)]);
    let records = [record(20, 10, 30, 0), record(21, 10, 10, 0)];
    assert_eq!(machine.sample(&records, &[parent(146)], &[]), [46, 0]);
    // Growth without records, such as that of adopted processes, explains no later record.
    assert_eq!(machine.sample(&[record(22, 10, 30, 0)], &[parent(146)], &[]), [46 + 28, 0]);
}

#[test]
fn a_parent_that_drops_some_children_counts_the_excess() {
    let mut machine = Machine::new(&[parent(0)]);
    let records = [record(20, 10, 30, 0), record(21, 10, 40, 0)];
    // Process 20 is reaped with 33 ticks, 3 of them after its record. These make the dropped time too low.
    assert_eq!(machine.sample(&records, &[parent(33)], &[]), [33 + (70 - 33 - 2), 0]);
}

#[test]
fn the_rounding_of_the_growth_is_not_dropped_time() {
    let mut machine = Machine::new(&[parent(0)]);
    let half = |process| ExitRecord { process, parent: 10, user: 5 * TICK / 2, system: 0 };
    // 2.5 ticks per sample, of which the parent shows 1, then 4.
    for step in 0..10_u64 {
        let reaped = if step % 2 == 0 { 5 * step / 2 + 1 } else { (5 * step).div_ceil(2) + 2 };
        assert_eq!(machine.sample(&[half(20 + step as u32)], &[parent(reaped)], &[]), [reaped, 0]);
    }
}

#[test]
fn time_that_samples_have_shown_is_subtracted() {
    for (reaped, ended) in [(0, 306 - 300 - 2), (307, 307 - 300)] {
        let mut machine = Machine::new(&[parent(0), entry(20, 10, 300, 0, 2)]);
        assert_eq!(machine.sample(&[record(20, 10, 306, 0)], &[parent(reaped)], &[]), [ended, 0]);
    }
}

#[test]
fn a_zombie_waits_until_it_is_reaped() {
    // The zombie is finally reaped, or dropped because its parent now ignores it.
    for (reaped, ended) in [(49, 49 - 48), (0, 0)] {
        let mut machine = Machine::new(&[parent(0)]);
        let ended_child = zombie(entry(20, 10, 48, 0, 100));
        for records in [&[record(20, 10, 45, 0)][..], &[], &[]] {
            assert_eq!(machine.sample(records, &[parent(0), ended_child], &[]), [0, 0]);
        }
        assert_eq!(machine.ended.started_counts()[0], 48);
        assert_eq!(machine.sample(&[], &[parent(reaped)], &[]), [ended, 0]);
        assert_eq!(machine.sample(&[], &[parent(reaped)], &[]), [ended, 0]);
    }
}

#[test]
fn a_record_that_arrives_while_processes_are_read_is_counted_once() {
    // The parent was read after it had reaped the process, or before, or it never gets the time.
    for (first, second, expected) in [(45, 45, [45, 45]), (0, 45, [0, 45]), (0, 0, [0, 40 - 2])] {
        let mut machine = Machine::new(&[parent(0)]);
        let late = [record(20, 10, 40, 0)];
        assert_eq!(machine.sample(&[], &[parent(first)], &late)[0], expected[0]);
        assert_eq!(machine.sample(&[], &[parent(second)], &[])[0], expected[1]);
        assert_eq!(machine.sample(&[], &[parent(second)], &[])[0], expected[1]);
    }
}

#[test]
fn children_of_a_parent_that_ended_are_not_counted() {
    let init = |reaped| entry(1, 0, 0, reaped, 0);
    let shell = entry(11, 10, 1, 0, 2);
    let mut machine = Machine::new(&[init(0), parent(0), shell]);
    // Process 20 becomes a child of init, which reaps it. The record of process 11 is dropped: 5 ticks, of which 1 was shown.
    let records = [record(20, 11, 40, 0), record(11, 10, 5, 0)];
    assert_eq!(machine.sample(&records, &[init(41), parent(0)], &[]), [41 + (5 - 1 - 2), 0]);
    // The same while process 11 is a zombie: its record waits.
    let mut machine = Machine::new(&[init(0), parent(0), shell]);
    assert_eq!(machine.sample(&records, &[init(41), parent(0), zombie(shell)], &[]), [41, 0]);
    // The same if process 11 ends after the processes were read, or without a record.
    let mut machine = Machine::new(&[init(0), parent(0), shell]);
    assert_eq!(machine.sample(&[], &[init(0), parent(0), shell], &records[..1]), [0, 0]);
    assert_eq!(machine.sample(&records[1..], &[init(41), parent(0)], &[])[0], 41 + (5 - 1 - 2));
    let mut machine = Machine::new(&[init(0), parent(0), shell]);
    assert_eq!(machine.sample(&records[..1], &[init(41), parent(0)], &[]), [41, 0]);
}

#[test]
fn records_of_a_reused_id_belong_to_several_processes() {
    let mut machine = Machine::new(&[parent(0), entry(20, 10, 100, 0, 2)]);
    // Three processes with the id 20 end one after another, and a fourth one lives. Of the first one, 100 ticks were
    // shown. The last record can be that of the living process, and waits.
    let records = [record(20, 10, 110, 0), record(20, 10, 7, 0), record(20, 10, 3, 0)];
    let fourth = |own| entry(20, 10, own, 0, 100);
    assert_eq!(machine.sample(&records, &[parent(0), fourth(4)], &[]), [10 + 7 - 2, 0]);
    assert_eq!(machine.ended.started_counts()[0], 4);
    // The waiting record was that of another process. As this cannot be proved, the record is dropped.
    assert_eq!(machine.sample(&[], &[parent(0), fourth(5)], &[]), [15, 0]);
    assert_eq!(machine.sample(&[record(20, 10, 8, 0)], &[parent(0)], &[]), [15 + 8 - 5, 0]);
}

#[test]
fn a_parent_that_started_since_the_last_sample_needs_all_records() {
    let started = entry(10, 1, 500, 0, 100);
    for (is_lossy, ended) in [(false, 38), (true, 0)] {
        let mut machine = Machine::new(&[]);
        if is_lossy {
            machine.ended.lose_some_records();
        }
        assert_eq!(machine.sample(&[record(20, 10, 40, 0)], &[started], &[])[0], ended);
        // Now the parent has lived during the whole interval.
        assert_eq!(
            machine.sample(&[record(21, 10, 40, 0)], &[started], &[])[0],
            ended + if is_lossy { 38 } else { 40 }
        );
    }
    // A process with its id ended after the child.
    let mut machine = Machine::new(&[entry(1, 0, 0, 0, 0)]);
    let records = [record(20, 10, 40, 0), record(10, 1, 1, 0)];
    assert_eq!(machine.sample(&records, &[entry(1, 0, 0, 43, 0), started], &[])[0], 43);
}

#[test]
fn losses_end_with_the_interval() {
    let child = |parent| [record(20, parent, 40, 0)];
    let mut machine = Machine::new(&[]);
    // Records that are lost while processes are read affect this interval and the next one.
    machine.ended.begin(&[]);
    machine.ended.lose_some_records();
    machine.ended.finish(101 * 100 * TICK, TICKS, |_, _| true);
    machine.second = 101;
    let started = |pid, second| entry(pid, 1, 0, 0, second);
    assert_eq!(machine.sample(&child(10), &[started(10, 101)], &[])[0], 0);
    let both = [started(10, 101), started(11, 102)];
    assert_eq!(machine.sample(&child(11), &both, &[])[0], 38);
    // All records that wait are dropped when the listener is closed.
    assert_eq!(machine.sample(&[], &both, &child(10))[0], 38);
    machine.ended.lose_all_records();
    assert_eq!(machine.sample(&[], &both, &[])[0], 38);
}

#[test]
fn a_parent_that_was_hidden_or_cannot_be_read_is_compared_later() {
    let mut machine = Machine::new(&[]);
    // Its growth since the previous sample is unknown.
    assert_eq!(machine.sample(&[record(20, 10, 40, 0)], &[parent(0)], &[]), [0, 0]);
    assert_eq!(machine.sample(&[record(21, 10, 40, 0)], &[parent(0)], &[]), [38, 0]);
    for (reaped, ended) in [(43, 43), (0, 38)] {
        let mut machine = Machine::new(&[parent(0)]);
        let unread = Entry { baseline: Baseline::Unread, ..parent(0) };
        assert_eq!(machine.sample(&[record(20, 10, 40, 0)], &[unread], &[]), [0, 0]);
        assert_eq!(machine.sample(&[], &[parent(reaped)], &[]), [ended, 0]);
    }
}

#[test]
fn the_number_of_records_is_bounded() {
    let mut machine = Machine::new(&[parent(0)]);
    for _ in 0..=MAX_RECORDS {
        machine.ended.add_record(record(20, 10, 1, 0));
    }
    assert_eq!(machine.ended.dropped_time.records.len(), MAX_RECORDS);
    assert!(machine.ended.dropped_time.is_lossy);
    let largest = ExitRecord { process: 20, parent: 10, user: u64::MAX, system: u64::MAX };
    let mut machine = Machine::new(&[parent(0)]);
    for _ in 0..3 {
        let ended = machine.sample(&[largest, largest], &[parent(0)], &[largest]);
        assert!(ended != [0, 0]);
    }
}
