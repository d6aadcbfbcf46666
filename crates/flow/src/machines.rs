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
            let near =
                follower.current.as_ref().is_some_and(|current| utc - current.at.utc.0 <= self.tolerance);
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
