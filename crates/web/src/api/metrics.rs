//! `/metrics`, and its exporters, which are kept between scrapes.

use std::sync::{Arc, Mutex, TryLockError};
use std::time::{Duration, Instant};

use axum::extract::{RawQuery, State};
use axum::http::{HeaderMap, header};
use axum::response::Response;
use tachograph_counters::IgnorePoison;
use tachograph_counters::path::PathPattern;
use tachograph_perflib::Registry;

use super::Web;
use crate::parameters::Parameters;
use crate::response::{ApiError, with_content_type};
use tachograph_metrics::{Exporter, Exposition, MetricsOptions};

/// Maximum number of selections whose exporters are kept.
const MAX_EXPORTERS: usize = 8;
/// An exporter that has not been scraped for this long is dropped. Usual scrape intervals are shorter.
const MAX_IDLE: Duration = Duration::from_secs(15 * 60);

/// One exporter per selection of counters, the most recently used one last. Between scrapes, exporters keep the `#n` of
/// instances and the state of 32-bit counters that can wrap.
#[derive(Default)]
pub(crate) struct ExporterCache(Mutex<Vec<CachedExporter>>);

struct CachedExporter {
    paths: Vec<PathPattern>,
    exporter: Exporter,
    scraped: Instant,
}

impl ExporterCache {
    /// Scrapes with the exporter for `paths`; returns the result of `respond` for the text.
    fn scrape<T>(
        &self,
        registry: &Arc<Registry>,
        options: &MetricsOptions,
        format: Exposition,
        paths: Vec<PathPattern>,
        respond: impl FnOnce(&str) -> T,
    ) -> Result<T, ApiError> {
        let mut all = self.0.lock().ignore_poison();
        let index = all.iter().position(|cached| cached.paths == paths);
        let mut exporter = match index {
            Some(index) => all.remove(index).exporter,
            None => Exporter::new(registry, options.clone())
                .map_err(|code| ApiError::conflict(code.to_string()))?,
        };
        let response = respond(exporter.scrape(registry, format, &paths));
        all.push(CachedExporter { paths, exporter, scraped: Instant::now() });
        if all.len() > MAX_EXPORTERS {
            all.remove(0);
        }
        Ok(response)
    }

    /// Drops exporters that have been idle for [`MAX_IDLE`]. Does nothing during a scrape.
    pub(crate) fn remove_idle(&self) {
        let idle = self.remove_older_than(MAX_IDLE);
        if !idle.is_empty() {
            // Dropping waits for a running collection, so it must not block a thread of the runtime.
            tokio::task::spawn_blocking(move || drop(idle));
        }
    }

    fn remove_older_than(&self, max: Duration) -> Vec<CachedExporter> {
        let mut all = match self.0.try_lock() {
            Ok(all) => all,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => return Vec::new(),
        };
        all.extract_if(.., |cached| cached.scraped.elapsed() > max).collect()
    }
}

pub(super) async fn metrics(
    State(web): State<Web>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    let paths = Parameters::parse(query.as_deref(), &["path"])?.paths()?;
    let accepted = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
    let format = Exposition::from_accept(accepted);
    let shared = web.clone();
    web.scrape_worker
        .run(move |_| {
            let registry = shared.hub.registry();
            let paths = shared.hub.resolve_paths(&paths);
            shared.exporters.scrape(&registry, &shared.metrics, format, paths, |text| {
                with_content_type(format.content_type(), text.to_owned())
            })
        })
        .await
}

#[cfg(test)]
mod tests {
    use tachograph_perflib::Clock;

    use super::*;

    #[test]
    fn the_number_and_age_of_cached_exporters_are_bounded() {
        let registry = Arc::new(Registry::new("HERE", Clock::of_this_machine()));
        let exporters = ExporterCache::default();
        let scrape = |id: usize| {
            let path = PathPattern::parse(&format!(r"\Set {id}\*")).expect("a path");
            let options = MetricsOptions::default();
            let has_own = |text: &str| text.contains("tacho_build_info");
            let scraped =
                exporters.scrape(&registry, &options, Exposition::PrometheusText, vec![path], has_own);
            assert!(scraped.is_ok_and(|has_own| has_own));
        };
        let count = || exporters.0.lock().expect("not poisoned").len();
        (0..20).for_each(scrape);
        assert_eq!(count(), MAX_EXPORTERS);
        scrape(19);
        assert_eq!(count(), MAX_EXPORTERS, "no exporter is added for a known selection");
        assert_eq!(exporters.remove_older_than(MAX_IDLE).len(), 0, "scraped just now");
        assert_eq!(exporters.remove_older_than(Duration::ZERO).len(), MAX_EXPORTERS);
        assert_eq!(count(), 0);
    }
}
