//! What is collected: for a while because somebody asked for it, or for as long as somebody reads a stream of it.

use std::collections::HashMap;
use std::time::Instant;

use tachograph_counters::path::PathPattern;

use crate::answer::Refusal;

/// Most different counter paths of all who ask and of all streams.
const MAX_PATHS: usize = 2048;

/// Counter paths, each with why it is collected.
#[derive(Default)]
pub(super) struct Wanted {
    by_text: HashMap<String, Want>,
    /// The number of the next path.
    next: u64,
}

struct Want {
    path: PathPattern,
    /// The moment up to which it was asked for.
    until: Option<Instant>,
    /// How many streams have it.
    streams: usize,
    /// The order in which they came.
    number: u64,
}

/// The paths that a stream holds; to be given back to [`Wanted::release`].
#[must_use]
pub(super) struct Held(Vec<String>);

impl Wanted {
    /// Takes paths up to a moment; gives whether any of them is new.
    pub(super) fn lease(&mut self, paths: &[PathPattern], until: Instant) -> Result<bool, Refusal> {
        let before = self.by_text.len();
        for text in self.take(paths)? {
            self.change(&text, |want| want.until = want.until.max(Some(until)));
        }
        Ok(self.by_text.len() > before)
    }

    /// Takes paths until they are released.
    pub(super) fn hold(&mut self, paths: &[PathPattern]) -> Result<Held, Refusal> {
        let held = self.take(paths)?;
        for text in &held {
            self.change(text, |want| want.streams += 1);
        }
        Ok(Held(held))
    }

    /// Gives back what a stream held.
    pub(super) fn release(&mut self, held: Held) {
        for text in &held.0 {
            self.change(text, |want| want.streams = want.streams.saturating_sub(1));
        }
        self.by_text.retain(|_, want| want.is_asked());
    }

    fn change(&mut self, text: &str, change: impl FnOnce(&mut Want)) {
        if let Some(want) = self.by_text.get_mut(text) {
            change(want);
        }
    }

    /// Gives the texts of paths, which are known from now on.
    fn take(&mut self, paths: &[PathPattern]) -> Result<Vec<String>, Refusal> {
        let texts: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let is_new = |text: &&String| !self.by_text.contains_key(*text);
        if self.by_text.len() + texts.iter().filter(is_new).count() > MAX_PATHS {
            return Err(Refusal::too_many(format!(
                "{MAX_PATHS} counter paths are collected already; wait a minute, or ask with wildcards"
            )));
        }
        for (text, path) in texts.iter().zip(paths) {
            self.by_text.entry(text.clone()).or_insert_with(|| {
                self.next += 1;
                Want { path: path.clone(), until: None, streams: 0, number: self.next }
            });
        }
        Ok(texts)
    }

    /// Forgets what has run out; gives whether anything has.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let before = self.by_text.len();
        for want in self.by_text.values_mut() {
            want.until = want.until.filter(|until| *until > now);
        }
        self.by_text.retain(|_, want| want.is_asked());
        self.by_text.len() != before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// The paths in the order in which they came: what stays keeps its place.
    pub(super) fn paths(&self) -> Vec<PathPattern> {
        let mut wants: Vec<_> = self.by_text.values().collect();
        wants.sort_by_key(|want| want.number);
        wants.into_iter().map(|want| want.path.clone()).collect()
    }
}

impl Want {
    fn is_asked(&self) -> bool {
        self.until.is_some() || self.streams > 0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn path(number: usize) -> PathPattern {
        PathPattern::parse(&format!(r"\Set\Counter {number}")).expect("a path")
    }

    #[test]
    fn leases_run_out_and_are_bounded() {
        let now = Instant::now();
        let mut wanted = Wanted::default();
        assert!(wanted.lease(&[path(1), path(2)], now + Duration::from_secs(1)).expect("room"));
        assert!(!wanted.lease(&[path(2)], now + Duration::from_secs(5)).expect("room"));
        assert!(wanted.expire(now + Duration::from_secs(2)));
        assert_eq!(wanted.paths(), [path(2)]);
        let many: Vec<_> = (0..MAX_PATHS + 1).map(path).collect();
        assert!(wanted.lease(&many, now).is_err());
        assert_eq!(wanted.paths(), [path(2)], "of what is refused nothing is taken");
        assert!(wanted.lease(&many[..MAX_PATHS], now + Duration::from_secs(5)).expect("room"));
        assert!(wanted.lease(&many, now).is_err());
        assert!(wanted.expire(now + Duration::from_secs(5)) && wanted.is_empty());
    }

    #[test]
    fn streams_hold_their_paths_and_count_with_the_others() {
        let now = Instant::now();
        let mut wanted = Wanted::default();
        let many: Vec<_> = (0..MAX_PATHS).map(path).collect();
        let first = wanted.hold(&many[..2]).expect("room");
        let second = wanted.hold(&many[1..]).expect("room");
        assert!(wanted.hold(&[path(MAX_PATHS)]).is_err());
        assert!(wanted.lease(&[path(MAX_PATHS)], now).is_err());
        // Who wants what others want always finds room.
        let third = wanted.hold(&[path(7), path(7)]).expect("room");
        assert!(!wanted.lease(&[path(1)], now + Duration::from_secs(1)).expect("room"));
        assert!(!wanted.expire(now), "nothing that is held runs out");
        wanted.release(second);
        assert_eq!(wanted.paths(), [path(0), path(1), path(7)]);
        wanted.release(third);
        wanted.release(first);
        assert_eq!(wanted.paths(), [path(1)], "it was asked for besides");
        assert!(wanted.expire(now + Duration::from_secs(1)) && wanted.is_empty());
    }
}
