//! What is collected for a while because somebody asked for it.

use std::collections::HashMap;
use std::time::Instant;

use tachograph_counters::path::PathPattern;

use crate::answer::Refusal;

/// Most counter paths of all leases.
const MAX_LEASES: usize = 2048;

/// Counter paths, each with the moment up to which it is collected.
#[derive(Default)]
pub(super) struct Leases(HashMap<String, Lease>);

struct Lease {
    path: PathPattern,
    until: Instant,
    /// The order in which they came.
    number: u64,
}

impl Leases {
    /// Takes paths up to a moment; gives whether any of them is new.
    pub(super) fn take(&mut self, paths: &[PathPattern], until: Instant) -> Result<bool, Refusal> {
        let texts: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let new = texts.iter().filter(|text| !self.0.contains_key(*text)).count();
        if self.0.len() + new > MAX_LEASES {
            return Err(Refusal::too_many(format!(
                "{MAX_LEASES} counter paths are collected already; wait a minute, or ask with wildcards"
            )));
        }
        let mut number = self.0.values().map(|lease| lease.number + 1).max().unwrap_or_default();
        for (text, path) in texts.into_iter().zip(paths) {
            let lease = self.0.entry(text).or_insert_with(|| {
                number += 1;
                Lease { path: path.clone(), until, number }
            });
            lease.until = lease.until.max(until);
        }
        Ok(new > 0)
    }

    /// Forgets what has run out; gives whether anything has.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let before = self.0.len();
        self.0.retain(|_, lease| lease.until > now);
        self.0.len() != before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The paths in the order in which they came.
    pub(super) fn paths(&self) -> Vec<PathPattern> {
        let mut leases: Vec<_> = self.0.values().collect();
        leases.sort_by_key(|lease| lease.number);
        leases.into_iter().map(|lease| lease.path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn leases_run_out_and_are_bounded() {
        let now = Instant::now();
        let path = |number: usize| PathPattern::parse(&format!(r"\Set\Counter {number}")).expect("a path");
        let mut leases = Leases::default();
        assert!(leases.take(&[path(1), path(2)], now + Duration::from_secs(1)).expect("room"));
        assert!(!leases.take(&[path(2)], now + Duration::from_secs(5)).expect("room"));
        assert!(leases.expire(now + Duration::from_secs(2)));
        assert_eq!(leases.paths(), [path(2)]);
        let many: Vec<_> = (0..MAX_LEASES + 1).map(path).collect();
        assert!(leases.take(&many, now).is_err());
        assert!(leases.take(&many[..MAX_LEASES], now + Duration::from_secs(5)).expect("room"));
        assert!(leases.take(&many, now).is_err());
        assert!(leases.expire(now + Duration::from_secs(5)) && leases.is_empty());
    }
}
