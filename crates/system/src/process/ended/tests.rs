//! Processes that end, in a simulated kernel.

use super::dropped::Children;
use super::tracker::{Baseline, START_TOLERANCE, add};
use super::*;

const TICKS: Ticks = Ticks::Whole(100_000);

const INIT: Simulated = Simulated {
    pid: 1,
    parent: 0,
    start: 0,
    own: [0; 3],
    shown: [0; 3],
    reaped: [0; 3],
    is_zombie: false,
    ignores_children: false,
    is_subreaper: true,
};

/// A process of the simulated kernel.
#[derive(Clone, Debug)]
struct Simulated {
    pid: u32,
    parent: u32,
    start: u64,
    own: Counts,
    /// The own counts in the last sample.
    shown: Counts,
    reaped: Counts,
    is_zombie: bool,
    ignores_children: bool,
    is_subreaper: bool,
}

/// A kernel that adds the counts of reaped processes to those of their parents, as Linux does.
struct Kernel {
    processes: Vec<Simulated>,
    next_pid: u32,
    max_pid: u32,
    time: u64,
    state: u64,
    /// The user and system time that all processes have used so far, in ticks.
    used: u64,
    /// The time of processes whose parents ignored their end, and of their reaped children, in ticks.
    lost: u64,
    /// The part of the own time of these processes that no sample has shown, in ticks.
    dropped: u64,
    /// Records of ended processes that have not been received.
    records: Vec<ExitRecord>,
}

impl Kernel {
    fn new(seed: u64, max_pid: u32) -> Self {
        Self {
            processes: vec![INIT],
            next_pid: 2,
            max_pid,
            time: 0,
            state: seed,
            used: 0,
            lost: 0,
            dropped: 0,
            records: Vec::new(),
        }
    }

    /// A pseudo-random number below the limit.
    fn below(&mut self, limit: usize) -> usize {
        self.state =
            self.state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.state >> 33) as usize % limit
    }

    fn index_of(&self, pid: u32) -> usize {
        self.processes.iter().position(|process| process.pid == pid).expect("the process exists")
    }

    fn fork(&mut self, parent: usize) {
        while self.processes.iter().any(|process| process.pid == self.next_pid) || self.next_pid < 2 {
            self.next_pid = (self.next_pid + 1) % self.max_pid;
        }
        let pid = self.next_pid;
        self.next_pid = (pid + 1) % self.max_pid;
        let is_subreaper = self.below(8) == 0;
        self.processes.push(Simulated {
            pid,
            parent: self.processes[parent].pid,
            start: self.time,
            own: [0; 3],
            shown: [0; 3],
            reaped: [0; 3],
            is_zombie: false,
            ignores_children: false,
            is_subreaper,
        });
    }

    fn exit(&mut self, index: usize) {
        let Simulated { pid, parent, own: [user, system, _], .. } = self.processes[index];
        let [user, system] = [user, system].map(|ticks| TICKS.hundred_ns(ticks));
        self.records.push(ExitRecord { process: pid, parent, user, system });
        // The process releases its memory.
        let rest = self.below(2) as u64;
        self.processes[index].own[1] += rest;
        self.used += rest;
        // Orphans get the next subreaper.
        let mut reaper = self.processes[index].parent;
        loop {
            let ancestor = &self.processes[self.index_of(reaper)];
            if ancestor.is_subreaper && !ancestor.is_zombie {
                break;
            }
            reaper = ancestor.parent;
        }
        for process in &mut self.processes {
            if process.parent == pid {
                process.parent = reaper;
            }
        }
        self.processes[index].is_zombie = true;
        let parent = self.index_of(self.processes[index].parent);
        if self.processes[parent].ignores_children {
            let ended = self.processes.remove(index);
            let shown = [ended.own, ended.reaped].map(|counts| counts[0] + counts[1]);
            self.lost += shown[0] + shown[1];
            self.dropped += time(&ended.own) - time(&ended.shown);
        }
    }

    fn reap(&mut self, index: usize) {
        let parent = self.index_of(self.processes[index].parent);
        let Simulated { own, reaped, .. } = self.processes[index].clone();
        for counts in [own, reaped] {
            add(&mut self.processes[parent].reaped, &counts);
        }
        self.processes.remove(index);
    }

    /// Lets a random process fork, run, exit or be reaped; if `ignores`, it can also begin to ignore its children.
    fn step(&mut self, ignores: bool) {
        self.time += START_TOLERANCE;
        let index = self.below(self.processes.len());
        if self.processes[index].is_zombie {
            return self.reap(index);
        }
        match self.below(if self.processes.len() < 40 { 10 } else { 14 }) {
            0..2 => self.fork(index),
            2..8 => {
                let (user, system, faults) = (self.below(5), self.below(3), 1 + self.below(4));
                add(&mut self.processes[index].own, &[user as u64, system as u64, faults as u64]);
                self.used += (user + system) as u64;
            }
            _ if index == 0 => {}
            8 if ignores && self.below(4) == 0 => self.processes[index].ignores_children = true,
            _ => self.exit(index),
        }
    }

    fn sample(&self, ended: &mut EndedProcesses) -> Vec<Simulated> {
        let mut shown = self.processes.clone();
        shown.sort_by_key(|process| process.pid);
        ended.begin(&shown.iter().map(|process| process.pid).collect::<Vec<_>>());
        for process in &shown {
            ended.add(process.entry());
        }
        ended.finish(self.time, TICKS, |_, _| true);
        shown
    }
}

impl Simulated {
    fn entry(&self) -> Entry {
        Entry {
            pid: self.pid,
            parent: self.parent,
            is_zombie: self.is_zombie,
            identity: self.start << 22 | u64::from(self.pid),
            start: self.start,
            own: self.own,
            reaped: self.reaped,
            growth: [0; 3],
            baseline: Baseline::None,
            children: Children::default(),
        }
    }
}

impl Kernel {
    /// Takes a sample while processes start and end. Only `with` receives records.
    fn sample_meanwhile(&mut self, [with, without]: [&mut EndedProcesses; 2]) {
        let at = self.time;
        self.records.drain(..).for_each(|record| with.add_record(record));
        let mut listed: Vec<u32> = self.processes.iter().map(|process| process.pid).collect();
        listed.sort_unstable();
        with.begin(&listed);
        without.begin(&listed);
        for pid in listed {
            for _ in 0..self.below(3) {
                self.step(true);
            }
            let found = self.processes.iter_mut().find(|process| process.pid == pid);
            let Some(process) = found else { continue };
            process.shown = process.own;
            with.add(process.entry());
            without.add(process.entry());
        }
        self.records.drain(..).for_each(|record| with.add_record(record));
        for ended in [with, without] {
            ended.finish(at, TICKS, |pid, identity| {
                self.processes
                    .iter()
                    .any(|process| (process.pid, process.entry().identity) == (pid, identity))
            });
        }
    }
}

fn time(counts: &Counts) -> u64 {
    counts[0] + counts[1]
}

/// The time that processes have used between two samples, as far as both samples show them.
fn shown_in_interval(before: &[Simulated], after: &[Simulated]) -> u64 {
    let is_same_process = |new: &Simulated, old: &Simulated| (new.pid, new.start) == (old.pid, old.start);
    let pairs = after
        .iter()
        .filter_map(|new| before.iter().find(|old| is_same_process(new, old)).map(|old| (new, old)));
    pairs.map(|(new, old)| time(&new.own) - time(&old.own)).sum()
}

#[test]
fn every_tick_is_counted_once() {
    for seed in 0..60 {
        // With even seeds, ids are reused soon.
        let mut kernel = Kernel::new(seed, if seed % 2 == 0 { 64 } else { 1 << 22 });
        let mut ended = EndedProcesses::default();
        let mut before = kernel.sample(&mut ended);
        for _ in 0..60 {
            let (used, exited) = (kernel.used, time(ended.ended_counts()) + time(ended.started_counts()));
            for _ in 0..kernel.below(200) {
                kernel.step(false);
            }
            let after = kernel.sample(&mut ended);
            let exited = time(ended.ended_counts()) + time(ended.started_counts()) - exited;
            assert_eq!(shown_in_interval(&before, &after) + exited, kernel.used - used, "seed {seed}");
            before = after;
        }
    }
}

/// Counts like those of input and output, which include those of reaped children.
#[test]
fn counts_with_those_of_reaped_children_are_counted_once() {
    for seed in 0..60 {
        let mut kernel = Kernel::new(seed, if seed % 2 == 0 { 64 } else { 1 << 22 });
        let mut all = Tracker::<3>::default();
        for _ in 0..60 {
            for _ in 0..kernel.below(200) {
                kernel.step(false);
            }
            let mut processes = kernel.processes.clone();
            processes.sort_by_key(|process| process.pid);
            all.begin();
            for process in &processes {
                let mut sums = process.own;
                add(&mut sums, &process.reaped);
                all.add(Entry { own: [0; 3], reaped: sums, ..process.entry() });
            }
            all.compare(kernel.time);
            all.finish(|_, _| true);
            assert_eq!(time(all.ended_counts()), kernel.used, "seed {seed}");
        }
    }
}

#[test]
fn lost_time_is_not_subtracted_from_that_of_other_processes() {
    let (mut used, mut counted, mut lost) = (0, 0, 0);
    for seed in 0..30 {
        let mut kernel = Kernel::new(seed, 1 << 22);
        let mut ended = EndedProcesses::default();
        let mut before = kernel.sample(&mut ended);
        for _ in 0..60 {
            for _ in 0..200 {
                kernel.step(true);
            }
            let after = kernel.sample(&mut ended);
            counted += shown_in_interval(&before, &after);
            before = after;
        }
        counted += time(ended.ended_counts()) + time(ended.started_counts());
        used += kernel.used;
        lost += kernel.lost;
    }
    assert!(lost > used / 20, "{lost} of {used} are lost");
    assert!(counted <= used, "{counted} of {used}");
    // Samples have shown a part of the lost time.
    assert!(counted + lost >= used, "{counted} and {lost} of {used}");
}

#[test]
fn records_add_dropped_time_once() {
    let (mut all_counted, mut all_dropped) = (0, 0);
    for seed in 0..60 {
        // With even seeds, ids are reused soon.
        let mut kernel = Kernel::new(seed, if seed % 2 == 0 { 64 } else { 1 << 22 });
        let (mut with, mut without) = (EndedProcesses::default(), EndedProcesses::default());
        for _ in 0..200 {
            for _ in 0..kernel.below(50) {
                kernel.step(true);
            }
            // Several records are lost now and then.
            if kernel.below(8) == 0 {
                let lost = kernel.records.len() / 2;
                kernel.records.truncate(lost);
                with.lose_some_records();
            }
            kernel.sample_meanwhile([&mut with, &mut without]);
            let counted = with.dropped_time();
            let dropped = TICKS.hundred_ns(kernel.dropped);
            assert!(counted <= dropped, "seed {seed}: {counted} of {dropped}");
            // Apart from the dropped time, the result is the same as without records.
            let [user, system, _] = *with.ended_counts();
            let added = TICKS.hundred_ns(user + system - time(without.ended_counts()));
            assert!(added <= counted && counted < added + TICKS.hundred_ns(2), "seed {seed}");
        }
        all_counted += with.dropped_time();
        all_dropped += TICKS.hundred_ns(kernel.dropped);
    }
    assert!(all_counted * 4 > all_dropped, "{all_counted} of {all_dropped} are counted");
}

fn entry(pid: u32, parent: u32, own: u64, reaped: u64) -> Entry {
    let (own, reaped) = ([own, 0, own], [reaped, 0, reaped]);
    Simulated { pid, parent, start: 0, own, reaped, ..INIT }.entry()
}

fn sample(ended: &mut EndedProcesses, at: u64, entries: &[Entry], dead: &[u32]) -> u64 {
    ended.begin(&entries.iter().map(|entry| entry.pid).collect::<Vec<_>>());
    entries.iter().for_each(|entry| ended.add(*entry));
    ended.finish(at * 10_000_000, TICKS, |pid, _| !dead.contains(&pid));
    time(ended.ended_counts()) + time(ended.started_counts())
}

#[test]
fn a_child_that_ends_after_its_parent_was_read_is_subtracted_in_the_next_sample() {
    let mut ended = EndedProcesses::default();
    assert_eq!(sample(&mut ended, 10, &[entry(1, 0, 5, 100), entry(20, 1, 5000, 7)], &[]), 107);
    assert_eq!(sample(&mut ended, 11, &[entry(1, 0, 5, 101)], &[]), 108);
    // At its last sample, the process had used 5,000 ticks and its children 7; then it used 3 more.
    assert_eq!(sample(&mut ended, 12, &[entry(1, 0, 5, 101 + 5010)], &[]), 111);
}

#[test]
fn a_child_that_ends_before_its_parent_is_read_is_subtracted_at_once() {
    let mut ended = EndedProcesses::default();
    // The parent has the higher id, and is read later.
    let first = [entry(20, 30, 5000, 0), entry(30, 0, 5, 100)];
    assert_eq!(sample(&mut ended, 10, &first, &[]), 100);
    let second = [entry(20, 30, 5001, 0), entry(30, 0, 5, 100 + 5003)];
    assert_eq!(sample(&mut ended, 11, &second, &[20]), 102);
    assert_eq!(sample(&mut ended, 12, &[entry(30, 0, 5, 100 + 5003)], &[]), 102);
    // If the child is alive, the same growth comes from other processes.
    let mut ended = EndedProcesses::default();
    sample(&mut ended, 10, &first, &[]);
    assert_eq!(sample(&mut ended, 11, &second, &[]), 100 + 5003);
}

#[test]
fn a_process_that_was_hidden_adds_nothing_when_it_appears() {
    let mut ended = EndedProcesses::default();
    sample(&mut ended, 10, &[entry(1, 0, 5, 100)], &[]);
    assert_eq!(sample(&mut ended, 11, &[entry(1, 0, 5, 100), entry(20, 1, 5000, 7000)], &[]), 100);
    assert_eq!(sample(&mut ended, 12, &[entry(1, 0, 5, 100), entry(20, 1, 5003, 7002)], &[]), 102);
}

#[test]
fn recorded_parents_that_form_a_ring_do_not_hang() {
    let mut ended = EndedProcesses::default();
    let ring = [entry(1, 0, 0, 0), entry(5, 6, 1, 1), entry(6, 5, 1, 1), entry(7, 6, 1, 1)];
    sample(&mut ended, 10, &ring, &[]);
    assert_eq!(sample(&mut ended, 11, &[entry(1, 0, 0, 0)], &[]), 3);
}
