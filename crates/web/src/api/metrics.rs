//! `/metrics`, and what is remembered from scrape to scrape.

use std::sync::{Arc, Mutex, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::Registry;

use super::Web;
use crate::answer::{Refusal, typed};
use crate::metrics::{Exporter, Exposition, MetricsOptions};
use crate::parameters::Parameters;

/// Most different selections that scrapes are remembered of.
const MAX_EXPORTERS: usize = 8;
/// How long a selection is remembered that nobody scrapes: longer than any scraper waits. What was opened for it is closed
/// then.
const MAX_IDLE: Duration = Duration::from_secs(15 * 60);

/// What each selection of counters was exported by, the one that was asked for last at the end: numbers of instances and
/// counters of 32 bits go on from scrape to scrape.
#[derive(Default)]
pub(crate) struct Exporters(Mutex<Vec<Remembered>>);

struct Remembered {
    paths: Vec<PathPattern>,
    exporter: Exporter,
    scraped: Instant,
}

impl Exporters {
    fn scrape(
        &self,
        registry: &Arc<Registry>,
        options: &MetricsOptions,
        format: Exposition,
        paths: Vec<PathPattern>,
    ) -> Result<String, Refusal> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = all.iter().position(|remembered| remembered.paths == paths);
        let mut exporter = match known {
            Some(place) => all.remove(place).exporter,
            None => Exporter::new(registry, options.clone())
                .map_err(|code| Refusal::conflict(code.to_string()))?,
        };
        let text = exporter.scrape(registry, format, &paths).to_owned();
        all.push(Remembered { paths, exporter, scraped: Instant::now() });
        if all.len() > MAX_EXPORTERS {
            all.remove(0);
        }
        Ok(text)
    }

    /// Forgets what nobody has scraped for a quarter of an hour; not just now where a scrape goes on.
    pub(crate) fn forget_idle(&self) {
        let idle = self.take_older(MAX_IDLE);
        if !idle.is_empty() {
            // Its files are closed, and a collection of them that goes on is waited for: not on a thread for connections.
            tokio::task::spawn_blocking(move || drop(idle));
        }
    }

    fn take_older(&self, most: Duration) -> Vec<Remembered> {
        let mut all = match self.0.try_lock() {
            Ok(all) => all,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Vec::new(),
        };
        all.extract_if(.., |remembered| remembered.scraped.elapsed() > most).collect()
    }
}

pub(super) async fn metrics(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let paths = Parameters::parse(query.as_deref(), &["path"])?.paths()?;
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Exposition::from_accept(accepted);
    let shared = web.clone();
    web.scrapes
        .run(move |_| {
            let registry = shared.hub.registry();
            let paths = shared.hub.paths_here(&paths);
            let text = shared.exporters.scrape(&registry, &shared.metrics, format, paths)?;
            Ok(typed(format.content_type(), text))
        })
        .await
}

#[cfg(test)]
mod tests {
    use tachograph_perflib::Clock;

    use super::*;

    #[test]
    fn few_selections_are_remembered_and_not_for_ever() {
        let registry = Arc::new(Registry::new("HERE", Clock::of_this_machine()));
        let exporters = Exporters::default();
        let scrape = |number: usize| {
            let path = PathPattern::parse(&format!(r"\Set {number}\*")).expect("a path");
            let options = MetricsOptions::default();
            let text = exporters.scrape(&registry, &options, Exposition::PrometheusText, vec![path]);
            assert!(text.is_ok_and(|text| text.contains("tacho_build_info")));
        };
        let count = || exporters.0.lock().expect("nobody panicked").len();
        (0..20).for_each(scrape);
        assert_eq!(count(), MAX_EXPORTERS);
        scrape(19);
        assert_eq!(count(), MAX_EXPORTERS, "known");
        assert_eq!(exporters.take_older(MAX_IDLE).len(), 0, "scraped just now");
        assert_eq!(exporters.take_older(Duration::ZERO).len(), MAX_EXPORTERS);
        assert_eq!(count(), 0);
    }
}
