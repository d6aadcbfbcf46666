//! A time in which a receiver does not accept samples.

use std::time::Instant;

/// The number of causes that are reported in one outage.
const MAX_CAUSES: usize = 8;

/// A time in which a receiver does not accept samples.
#[derive(Debug)]
pub(crate) struct Outage {
    /// When the first request that failed was sent.
    pub(crate) since: Instant,
    /// The number of samples that were dropped since then.
    pub(crate) dropped: u64,
    /// The causes so far.
    causes: Vec<String>,
}

impl Outage {
    pub(crate) fn new(since: Instant) -> Self {
        Self { since, dropped: 0, causes: Vec::new() }
    }

    /// Counts dropped samples; returns whether they are the first ones.
    pub(crate) fn add_dropped(&mut self, samples: u64) -> bool {
        let is_first = self.dropped == 0;
        self.dropped += samples;
        is_first
    }

    /// Whether the outage did not have this cause before. The cause can change: a server that is started again first
    /// refuses connections, and then perhaps requests.
    pub(crate) fn is_new_cause(&mut self, cause: String) -> bool {
        let is_new = self.causes.len() < MAX_CAUSES && !self.causes.contains(&cause);
        if is_new {
            self.causes.push(cause);
        }
        is_new
    }
}
