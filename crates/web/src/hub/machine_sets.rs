//! Reads the counter sets of one of several machines, which may not answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::IgnorePoison;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_perflib::Registry;
use tokio::sync::Mutex as AsyncMutex;

use super::Hub;
use crate::response::ApiError;
use crate::workers::Workers;

/// Number of threads that wait for answers of machines.
const THREADS: usize = 4;
/// After a machine did not answer, requests for it fail immediately for this long.
const RETRY_AFTER: Duration = Duration::from_secs(5);

/// Reads counter sets on separate threads, because a machine that does not answer keeps a thread waiting for seconds. Requests
/// for the same machine run one after another, and a waiting request occupies no thread.
pub(crate) struct MachineSets {
    workers: Workers,
    /// The last failure of each machine, by its name. Names that are no machine have no entries.
    machines: Mutex<HashMap<String, Arc<AsyncMutex<LastFailure>>>>,
}

/// When reading a machine failed last, and why; `None` if the last attempt succeeded.
type LastFailure = Option<(Instant, ApiError)>;

impl Default for MachineSets {
    fn default() -> Self {
        Self { workers: Workers::new(THREADS), machines: Mutex::default() }
    }
}

impl MachineSets {
    /// Runs `query` with the counter sets of a machine.
    pub(crate) async fn query<T: Send + 'static>(
        &self,
        hub: &Arc<Hub>,
        machine: &str,
        query: impl FnOnce(Arc<Registry>) -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        let names = hub.machines();
        let Some(name) = names.into_iter().find(|name| eq_ignore_case(name, machine)) else {
            return Err(ApiError::not_found(format!("no such machine: '{machine}'")));
        };
        let last = {
            let mut machines = self.machines.lock().ignore_poison();
            Arc::clone(machines.entry(name.clone()).or_default())
        };
        // Held by the thread, so that no other attempt starts if the client disconnects.
        let mut last = last.lock_owned().await;
        if let Some((at, error)) = &*last
            && at.elapsed() < RETRY_AFTER
        {
            return Err(error.clone());
        }
        let hub = Arc::clone(hub);
        self.workers
            .run(move |_| {
                let registry = hub.registry_of(&name);
                *last = registry.as_ref().err().map(|error| (Instant::now(), error.clone()));
                query(registry?)
            })
            .await
    }

    /// Runs `query` on one of the threads that may wait for a machine.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        query: impl FnOnce() -> Result<T, ApiError> + Send + 'static,
    ) -> Result<T, ApiError> {
        self.workers.run(move |_| query()).await
    }
}
