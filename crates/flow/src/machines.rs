//! Logs of several machines side by side.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// Rows by the clock of the first source; from each other one the nearest earlier sample within half an interval, or
/// nothing.
///
/// Sources are the stretches of different machines; a sample of this stage has the groups of all of them.
pub struct SideBySide {
    leader: Box<dyn Source>,
    followers: Vec<Follower>,
    /// Half the leader's typical interval, 100 ns units.
    tolerance: i64,
    left_out: Arc<AtomicU64>,
}

struct Follower {
    source: Box<dyn Source>,
    /// The last sample not after the row; taken when it was given out.
    current: Option<Sample>,
    /// The sample after it.
    next: Option<Sample>,
    started: bool,
    spare: Sample,
}

impl SideBySide {
    /// `interval` is the leader's typical interval in 100 ns units.
    pub fn new(leader: Box<dyn Source>, followers: Vec<Box<dyn Source>>, interval: i64) -> Self {
        let followers = followers
            .into_iter()
            .map(|source| Follower {
                source,
                current: None,
                next: None,
                started: false,
                spare: Sample::default(),
            })
            .collect();
        Self { leader, followers, tolerance: interval / 2, left_out: Arc::default() }
    }

    /// How many samples went into no row so far; readable while the stage is consumed elsewhere.
    pub fn left_out(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.left_out)
    }
}

/// A row for each sample of every machine, in the order of time.
///
/// Sources are the stretches of different machines. Samples of one moment follow each other;
/// [`Joined`](crate::Joined) makes one row of them.
pub struct InTurn {
    machines: Vec<Machine>,
    /// The machine whose sample was given out last: it is read on at the next call.
    taken: Option<usize>,
    started: bool,
    log: u32,
}

struct Machine {
    source: Box<dyn Source>,
    /// The next sample, unless the source has ended.
    head: Sample,
    ended: bool,
    /// The log of the sample before.
    log: Option<u32>,
}

impl InTurn {
    /// Over the given machines, which come in this order where samples are of one moment.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        let machine = |source| Machine { source, head: Sample::default(), ended: false, log: None };
        Self { machines: sources.into_iter().map(machine).collect(), taken: None, started: false, log: 0 }
    }

    fn advance(&mut self, number: usize) -> Result<(), FlowError> {
        let machine = &mut self.machines[number];
        machine.ended = !machine.source.next(&mut machine.head)?;
        Ok(())
    }
}

impl Source for InTurn {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !std::mem::replace(&mut self.started, true) {
            for number in 0..self.machines.len() {
                self.advance(number)?;
            }
        } else if let Some(taken) = self.taken.take() {
            self.advance(taken)?;
        }
        let running = (0..self.machines.len()).filter(|&number| !self.machines[number].ended);
        let Some(first) = running.min_by_key(|&number| (self.machines[number].head.at.utc, number)) else {
            return Ok(false);
        };
        let machine = &mut self.machines[first];
        // Every machine numbers its own logs; those of all together rise with time.
        let log = machine.head.log;
        if machine.log.replace(log).is_some_and(|before| before != log) {
            self.log = self.log.wrapping_add(1);
        }
        std::mem::swap(sample, &mut machine.head);
        sample.log = self.log;
        self.taken = Some(first);
        Ok(true)
    }
}

impl Follower {
    fn read(&mut self) -> Result<Option<Sample>, FlowError> {
        let mut sample = std::mem::take(&mut self.spare);
        Ok(self.source.next(&mut sample)?.then_some(sample))
    }

    /// Moves on so that `current` is the last sample not after `utc`; gives the number of samples passed over.
    fn follow(&mut self, utc: i64) -> Result<u64, FlowError> {
        let mut passed_over = 0;
        if !self.started {
            self.started = true;
            self.next = self.read()?;
        }
        while self.next.as_ref().is_some_and(|next| next.at.utc.0 <= utc) {
            let passed = std::mem::replace(&mut self.current, self.next.take());
            passed_over += u64::from(passed.as_ref().is_some_and(|passed| !passed.is_baseline));
            self.spare = passed.unwrap_or_default();
            self.next = self.read()?;
        }
        Ok(passed_over)
    }
}

impl Source for SideBySide {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.leader.next(sample)? {
            for follower in &mut self.followers {
                let rest = follower.follow(i64::MAX)? + u64::from(follower.current.take().is_some());
                self.left_out.fetch_add(rest, Ordering::Relaxed);
            }
            return Ok(false);
        }
        let utc = sample.at.utc.0;
        for follower in &mut self.followers {
            self.left_out.fetch_add(follower.follow(utc)?, Ordering::Relaxed);
            // Times are those of the logs: two may be further apart than a difference can say.
            let near = follower
                .current
                .as_ref()
                .is_some_and(|current| sample.at.utc.since(current.at.utc) <= self.tolerance);
            if near && let Some(current) = follower.current.take() {
                let boot_time = current.boot_time;
                sample.groups.extend(current.groups.into_iter().map(|mut group| {
                    group.boot_time = boot_time;
                    group
                }));
            }
        }
        Ok(true)
    }
}
