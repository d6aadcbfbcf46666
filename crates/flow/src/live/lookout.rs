//! Looking for counter sets that come and go while samples are taken.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_perflib::Registry;

/// Gives the counter sets that there are now; the same object as before while they are the same.
pub type Refresh = Box<dyn FnMut() -> Arc<Registry> + Send>;

/// How often programs that started or ended are looked for.
const LOOK: Duration = Duration::from_secs(2);

/// Asks now and then for the counter sets that there are.
pub(super) struct Lookout {
    refresh: Refresh,
    looked: Instant,
}

impl Lookout {
    pub(super) fn new(refresh: Refresh) -> Self {
        Self { refresh, looked: Instant::now() }
    }

    /// The sets that there are now, where it is time to look and they are others than the known ones.
    pub(super) fn look(&mut self, known: &Arc<Registry>) -> Option<Arc<Registry>> {
        if self.looked.elapsed() < LOOK {
            return None;
        }
        self.looked = Instant::now();
        Some((self.refresh)()).filter(|now| !Arc::ptr_eq(now, known))
    }
}
