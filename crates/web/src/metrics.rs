//! Performance counters in the text formats of Prometheus and OpenMetrics.
//!
//! An [`Exporter`] collects when it is scraped, and writes raw values: the accumulated numerators and denominators of
//! averages, rates and timers are counters, instantaneous values are gauges. PromQL computes from two scrapes what
//! Windows' formulas compute from two raw values. `docs/metrics.md` has the rules for names, types and units.
//!
//! Sources: "Exposition formats" (prometheus.io), the OpenMetrics specification 1.0.0, the rules of `promtool check metrics`.

mod catalog;
mod exceptions;
mod exporter;
mod exposition;
mod extended_counter;
mod labels;
mod metric;
mod plan;
mod scale;
mod words;

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::registration::CounterSetInfo;

pub use exporter::Exporter;
pub use exposition::Exposition;

/// Options of an exporter.
#[derive(Clone, Debug, Default)]
pub struct MetricsOptions {
    /// The counters that are exported if a scrape selects none. If empty, all sets for which [`is_in_default`] is true.
    pub selection: Vec<PathPattern>,
}

/// Sets that are exported only if a path selects them.
const NOT_IN_DEFAULT: [&str; 6] = ["Cgroup", "Process", "Process V2", "Processor", "Processor CPI", "Thread"];

/// Whether a set is exported if nothing is selected: all except `Process`, `Process V2`, `Thread`, `Cgroup` and sets with an
/// instance per process ([`CounterSetInfo::is_per_process`]; too many series), `Processor` (a duplicate of `Processor
/// Information`), and `Processor CPI` (occupies hardware counters).
pub fn is_in_default(info: &CounterSetInfo) -> bool {
    !info.is_per_process && !NOT_IN_DEFAULT.iter().any(|name| name.eq_ignore_ascii_case(&info.name))
}

/// A raw number of a counter, and the metric family that exports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyName {
    /// The set's name.
    pub set: Arc<str>,
    /// The counter's name.
    pub counter: Arc<str>,
    /// Which raw number: `first`, `second` or `multiplier`.
    pub number: &'static str,
    /// The metric's name in samples. The names of counters end in `_total`.
    pub metric: String,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// The unit, a suffix of the name; empty if there is no unit.
    pub unit: String,
}

/// The metric families that a registry with these sets exports. Counters that show the same raw number share a family.
pub fn family_names<'a>(sets: impl IntoIterator<Item = &'a Arc<CounterSetInfo>>) -> Vec<FamilyName> {
    catalog::Catalog::new(sets).names()
}
