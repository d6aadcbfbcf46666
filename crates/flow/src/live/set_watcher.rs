//! Watching for counter sets that appear and disappear.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_perflib::Registry;

/// Returns a registry of the counter sets that exist now. Must return the same [`Arc`] as long as they have not
/// changed.
pub type Refresh = Box<dyn FnMut() -> Arc<Registry> + Send>;

const INTERVAL: Duration = Duration::from_secs(2);

/// Checks for new and removed counter sets, once every [`INTERVAL`].
pub(super) struct SetWatcher {
    refresh: Refresh,
    /// When the last check was made.
    checked: Instant,
}

impl SetWatcher {
    pub(super) fn new(refresh: Refresh) -> Self {
        Self { refresh, checked: Instant::now() }
    }

    /// Returns the new registry if a check is due and the counter sets have changed.
    pub(super) fn check(&mut self, known: &Arc<Registry>) -> Option<Arc<Registry>> {
        if self.checked.elapsed() < INTERVAL {
            return None;
        }
        self.checked = Instant::now();
        Some((self.refresh)()).filter(|now| !Arc::ptr_eq(now, known))
    }
}
