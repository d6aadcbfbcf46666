//! The paths to collect: leased for a while by a request, or held by a stream.

use std::collections::HashMap;
use std::time::Instant;

use tachograph_counters::path::PathPattern;

use crate::response::ApiError;

/// Maximum number of different counter paths of all requests and streams.
const MAX_PATHS: usize = 2048;

#[derive(Default)]
pub(super) struct RequestedPaths {
    by_text: HashMap<String, RequestedPath>,
    /// The last [`RequestedPath::order`] that was assigned.
    last: u64,
}

struct RequestedPath {
    path: PathPattern,
    /// The end of the path's lease, if it has one.
    until: Option<Instant>,
    /// The number of streams that hold the path.
    streams: usize,
    /// Paths keep the order in which they were added.
    order: u64,
}

impl RequestedPaths {
    /// Leases paths until `until`; returns whether any of them is new.
    pub(super) fn lease(&mut self, paths: &[PathPattern], until: Instant) -> Result<bool, ApiError> {
        let before = self.by_text.len();
        for text in self.insert(paths)? {
            self.update(&text, |path| path.until = path.until.max(Some(until)));
        }
        Ok(self.by_text.len() > before)
    }

    /// Holds paths for a stream; returns their string forms for [`release`](Self::release).
    pub(super) fn hold(&mut self, paths: &[PathPattern]) -> Result<Vec<String>, ApiError> {
        let held = self.insert(paths)?;
        for text in &held {
            self.update(text, |path| path.streams += 1);
        }
        Ok(held)
    }

    pub(super) fn release(&mut self, held: &[String]) {
        for text in held {
            self.update(text, |path| path.streams = path.streams.saturating_sub(1));
        }
        self.by_text.retain(|_, path| path.is_requested());
    }

    fn update(&mut self, text: &str, update: impl FnOnce(&mut RequestedPath)) {
        if let Some(path) = self.by_text.get_mut(text) {
            update(path);
        }
    }

    /// Adds paths that are not known yet; returns the string forms of all.
    fn insert(&mut self, paths: &[PathPattern]) -> Result<Vec<String>, ApiError> {
        let texts: Vec<_> = paths.iter().map(ToString::to_string).collect();
        let is_new = |text: &&String| !self.by_text.contains_key(*text);
        if self.by_text.len() + texts.iter().filter(is_new).count() > MAX_PATHS {
            return Err(ApiError::too_many_requests(format!(
                "the limit of {MAX_PATHS} collected counter paths is reached; wait a minute, or use wildcards"
            )));
        }
        for (text, path) in texts.iter().zip(paths) {
            self.by_text.entry(text.clone()).or_insert_with(|| {
                self.last += 1;
                RequestedPath { path: path.clone(), until: None, streams: 0, order: self.last }
            });
        }
        Ok(texts)
    }

    /// Removes paths whose lease has ended; returns whether there were any.
    pub(super) fn expire(&mut self, now: Instant) -> bool {
        let before = self.by_text.len();
        for path in self.by_text.values_mut() {
            path.until = path.until.filter(|until| *until > now);
        }
        self.by_text.retain(|_, path| path.is_requested());
        self.by_text.len() != before
    }

    pub(super) fn is_empty(&self) -> bool {
        self.by_text.is_empty()
    }

    /// The paths in the order in which they were added.
    pub(super) fn paths(&self) -> Vec<PathPattern> {
        let mut paths: Vec<_> = self.by_text.values().collect();
        paths.sort_by_key(|path| path.order);
        paths.into_iter().map(|path| path.path.clone()).collect()
    }
}

impl RequestedPath {
    fn is_requested(&self) -> bool {
        self.until.is_some() || self.streams > 0
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn path(id: usize) -> PathPattern {
        PathPattern::parse(&format!(r"\Set\Counter {id}")).expect("a path")
    }

    #[test]
    fn leases_expire_and_are_bounded() {
        let now = Instant::now();
        let mut requested = RequestedPaths::default();
        assert!(requested.lease(&[path(1), path(2)], now + Duration::from_secs(1)).expect("room"));
        assert!(!requested.lease(&[path(2)], now + Duration::from_secs(5)).expect("room"));
        assert!(requested.expire(now + Duration::from_secs(2)));
        assert_eq!(requested.paths(), [path(2)]);
        let many: Vec<_> = (0..MAX_PATHS + 1).map(path).collect();
        assert!(requested.lease(&many, now).is_err());
        assert_eq!(requested.paths(), [path(2)], "a refused request adds no path");
        assert!(requested.lease(&many[..MAX_PATHS], now + Duration::from_secs(5)).expect("room"));
        assert!(requested.lease(&many, now).is_err());
        assert!(requested.expire(now + Duration::from_secs(5)) && requested.is_empty());
    }

    #[test]
    fn held_paths_do_not_expire_and_count_toward_the_limit() {
        let now = Instant::now();
        let mut requested = RequestedPaths::default();
        let many: Vec<_> = (0..MAX_PATHS).map(path).collect();
        let first = requested.hold(&many[..2]).expect("room");
        let second = requested.hold(&many[1..]).expect("room");
        assert!(requested.hold(&[path(MAX_PATHS)]).is_err());
        assert!(requested.lease(&[path(MAX_PATHS)], now).is_err());
        // Known paths are accepted at the limit.
        let third = requested.hold(&[path(7), path(7)]).expect("room");
        assert!(!requested.lease(&[path(1)], now + Duration::from_secs(1)).expect("room"));
        assert!(!requested.expire(now), "held paths do not expire");
        requested.release(&second);
        assert_eq!(requested.paths(), [path(0), path(1), path(7)]);
        requested.release(&third);
        requested.release(&first);
        assert_eq!(requested.paths(), [path(1)], "path 1 is still leased");
        assert!(requested.expire(now + Duration::from_secs(1)) && requested.is_empty());
    }
}
