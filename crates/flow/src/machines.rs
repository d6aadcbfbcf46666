//! Combining logs of several machines into one sequence of samples.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tachograph_counters::sample::Sample;

use crate::{FlowError, Source};

/// Yields one sample (a row of the output) per sample of the first machine, the leader. The sample also has the groups
/// of the other machines, the followers. The groups of a follower are from its latest sample that is not after the
/// leader's, unless that sample is more than half an interval older.
pub struct SideBySide {
    leader: Box<dyn Source>,
    followers: Vec<Follower>,
    /// Half the leader's typical interval, in units of 100 ns.
    tolerance: i64,
    dropped_samples: Arc<AtomicU64>,
}

/// The samples of a machine other than the leader.
struct Follower {
    source: Box<dyn Source>,
    /// The follower's last sample that is not after the leader's; `None` once it has been used.
    current_sample: Option<Sample>,
    /// The sample after `current`, unless the source has ended.
    next_sample: Option<Sample>,
    has_started: bool,
    /// Buffer for the next sample that is read.
    spare_sample: Sample,
}

impl SideBySide {
    /// A source over a leader and its followers. `interval` is the leader's typical interval, in units of 100 ns.
    pub fn new(leader: Box<dyn Source>, followers: Vec<Box<dyn Source>>, interval: i64) -> Self {
        let followers = followers
            .into_iter()
            .map(|source| Follower {
                source,
                current_sample: None,
                next_sample: None,
                has_started: false,
                spare_sample: Sample::default(),
            })
            .collect();
        Self { leader, followers, tolerance: interval / 2, dropped_samples: Arc::default() }
    }

    /// Number of samples of followers that were not used. The counter is shared, so it can be read while the stage is
    /// in use elsewhere.
    pub fn dropped_samples(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.dropped_samples)
    }
}

/// Yields the samples of several machines in the order of time. Samples of the same moment are consecutive;
/// [`Joined`](crate::Joined) merges them into one.
pub struct Interleaved {
    machines: Vec<Machine>,
    /// The index of the machine whose head was returned last. The next call reads this machine's next sample.
    returned: Option<usize>,
    has_started: bool,
    /// The log id of the last returned sample.
    log: u32,
}

/// The samples of one machine.
struct Machine {
    source: Box<dyn Source>,
    /// The next sample, unless the source has ended.
    head: Sample,
    has_ended: bool,
    /// The log id of the last returned sample, as numbered by `source`.
    log: Option<u32>,
}

impl Interleaved {
    /// A source over one source per machine. Samples of the same moment are in the order of `sources`.
    pub fn new(sources: Vec<Box<dyn Source>>) -> Self {
        let machine = |source| Machine { source, head: Sample::default(), has_ended: false, log: None };
        Self {
            machines: sources.into_iter().map(machine).collect(),
            returned: None,
            has_started: false,
            log: 0,
        }
    }

    fn advance(&mut self, index: usize) -> Result<(), FlowError> {
        let machine = &mut self.machines[index];
        machine.has_ended = !machine.source.next(&mut machine.head)?;
        Ok(())
    }
}

impl Source for Interleaved {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !std::mem::replace(&mut self.has_started, true) {
            for index in 0..self.machines.len() {
                self.advance(index)?;
            }
        } else if let Some(returned) = self.returned.take() {
            self.advance(returned)?;
        }
        let running = (0..self.machines.len()).filter(|&index| !self.machines[index].has_ended);
        let Some(first) = running.min_by_key(|&index| (self.machines[index].head.at.utc, index)) else {
            return Ok(false);
        };
        let machine = &mut self.machines[first];
        // The source of each machine numbers its own logs. This source assigns log ids of its own, which never
        // decrease.
        let log = machine.head.log;
        if machine.log.replace(log).is_some_and(|before| before != log) {
            self.log = self.log.wrapping_add(1);
        }
        std::mem::swap(sample, &mut machine.head);
        sample.log = self.log;
        self.returned = Some(first);
        Ok(true)
    }
}

impl Follower {
    fn read(&mut self) -> Result<Option<Sample>, FlowError> {
        let mut sample = std::mem::take(&mut self.spare_sample);
        Ok(self.source.next(&mut sample)?.then_some(sample))
    }

    /// Reads up to the last sample that is not after `utc`. Returns the number of samples that were skipped, not
    /// counting baselines.
    fn read_until(&mut self, utc: i64) -> Result<u64, FlowError> {
        let mut skipped = 0;
        if !self.has_started {
            self.has_started = true;
            self.next_sample = self.read()?;
        }
        while self.next_sample.as_ref().is_some_and(|next| next.at.utc.0 <= utc) {
            let skipped_sample = std::mem::replace(&mut self.current_sample, self.next_sample.take());
            skipped +=
                u64::from(skipped_sample.as_ref().is_some_and(|skipped_sample| !skipped_sample.is_baseline));
            self.spare_sample = skipped_sample.unwrap_or_default();
            self.next_sample = self.read()?;
        }
        Ok(skipped)
    }
}

impl Source for SideBySide {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.leader.next(sample)? {
            for follower in &mut self.followers {
                let unused =
                    follower.read_until(i64::MAX)? + u64::from(follower.current_sample.take().is_some());
                self.dropped_samples.fetch_add(unused, Ordering::Relaxed);
            }
            return Ok(false);
        }
        let utc = sample.at.utc.0;
        for follower in &mut self.followers {
            self.dropped_samples.fetch_add(follower.read_until(utc)?, Ordering::Relaxed);
            // The logs of two machines can be arbitrarily far apart in time.
            let is_near = follower
                .current_sample
                .as_ref()
                .is_some_and(|current| sample.at.utc.since(current.at.utc) <= self.tolerance);
            if is_near && let Some(current) = follower.current_sample.take() {
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
