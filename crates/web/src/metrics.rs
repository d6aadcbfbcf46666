//! Performance counters as Prometheus and OpenMetrics expose them.
//!
//! An [`Exporter`] collects when it is scraped, and writes raw values: of an average, a rate or a timer the counted
//! numerator and denominator as counters, of what is true at a moment a gauge. What Windows' formulas make of two raw
//! values, PromQL makes of two scrapes. `docs/metrics.md` has the rules of names, types and units.
//!
//! Sources: "Exposition formats" (prometheus.io), the OpenMetrics specification 1.0.0, and the rules of
//! `promtool check metrics`.

mod catalog;
mod exceptions;
mod exporter;
mod exposition;
mod families;
mod labels;
mod number;
mod plan;
mod words;
mod wrap;

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::registration::CounterSetInfo;

pub use exporter::Exporter;
pub use exposition::Exposition;

/// What is exported.
#[derive(Clone, Debug, Default)]
pub struct MetricsOptions {
    /// The counters that every scrape has. Empty: the whole machine without the sets that have an instance for each
    /// process, thread or control group, that repeat another set, or that hold hardware counters while they are read
    /// ([`is_in_default`]).
    pub selection: Vec<PathPattern>,
}

/// Sets that are exported only where a path selects them.
const NOT_IN_DEFAULT: [&str; 6] = ["Cgroup", "Process", "Process V2", "Processor", "Processor CPI", "Thread"];

/// Whether a set is exported where nothing is selected: all but `Process`, `Process V2`, `Thread` and `Cgroup` (too many
/// series), `Processor` (it repeats `Processor Information`), `Processor CPI` (it takes hardware counters), and sets of
/// which each process is an instance ([`CounterSetInfo::is_per_process`]).
pub fn is_in_default(info: &CounterSetInfo) -> bool {
    !info.is_per_process && !NOT_IN_DEFAULT.iter().any(|name| name.eq_ignore_ascii_case(&info.name))
}

/// One number of one counter, and the metric family that it is exported in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FamilyName {
    /// The set's name.
    pub set: Arc<str>,
    /// The counter's name.
    pub counter: Arc<str>,
    /// Which of its raw numbers: `first`, `second`, `multiplier`.
    pub number: &'static str,
    /// The name as a sample has it, with `_total` where it is a counter.
    pub metric: String,
    /// `counter` or `gauge`.
    pub kind: &'static str,
    /// The unit, which the name ends in; empty where there is none.
    pub unit: String,
}

/// The metric families of these sets, in their order: what a registry that has them exports. Counters that show one raw
/// number in two ways have one family.
pub fn family_names<'a>(sets: impl IntoIterator<Item = &'a Arc<CounterSetInfo>>) -> Vec<FamilyName> {
    catalog::Catalog::new(sets).names()
}
