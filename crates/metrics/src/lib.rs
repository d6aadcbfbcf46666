//! Performance counters in the text formats of Prometheus and OpenMetrics.
//!
//! An [`Exporter`] collects when it is scraped, and writes raw values: the accumulated numerators and denominators of
//! averages, rates and timers are counters, instantaneous values are gauges. PromQL computes from two scrapes what
//! Windows' formulas compute from two raw values. `docs/metrics.md` has the rules for names, types and units.
//!
//! Sources: "Exposition formats" (prometheus.io), the OpenMetrics specification 1.0.0, the rules of `promtool check metrics`.

#![forbid(unsafe_code)]

mod catalog;
mod conventions;
mod exceptions;
mod exporter;
mod exposition;
mod extended_counter;
mod labels;
mod metric;
mod mounts;
mod plan;
mod process;
mod reader;
mod scale;
mod set_names;
mod words;

use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::registration::CounterSetInfo;

pub use catalog::Family;
pub use exporter::Exporter;
pub use exposition::Exposition;
pub use labels::Label;
pub use metric::Kind;
pub use mounts::{MountTable, MountedFileSystem, MountsNow};
pub use reader::{ExactNumber, MetricReader, Number, Point};

/// Options of an exporter.
#[derive(Clone, Debug, Default)]
pub struct MetricsOptions {
    /// The counters that are exported if a scrape selects none. If the list is empty, these are the counters of all sets for which
    /// [`is_exported_by_default`] is true.
    pub selection: Vec<PathPattern>,
    /// The names and labels.
    pub names: MetricNames,
    /// Returns the mounted file systems, for labels; `None` omits these labels.
    pub mounts: Option<MountsNow>,
}

/// Which names and labels metrics have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MetricNames {
    /// The names and labels that `docs/metrics.md` describes.
    #[default]
    Current,
    /// The names and labels before version 0.2: the names of sets and counters in full, only the labels `name` and
    /// `parent`, and sums in addition to their parts.
    Old,
}

/// Sets of this machine that are exported only if a path selects them; see [`is_exported_by_default`].
const OPT_IN_SETS: [&str; 6] = ["Cgroup", "Process", "Process V2", "Processor", "Processor CPI", "Thread"];

/// Whether a set is exported if neither the options nor the scrape select counters. Excluded are: `Process`, `Process V2`,
/// `Thread`, `Cgroup` and sets with an instance per process ([`CounterSetInfo::is_per_process`]), because they have too many
/// series; `Processor`, because it duplicates `Processor Information`; and `Processor CPI`, because it occupies hardware
/// counters.
pub fn is_exported_by_default(info: &CounterSetInfo) -> bool {
    !info.is_per_process && !OPT_IN_SETS.iter().any(|name| name.eq_ignore_ascii_case(&info.name))
}

/// Which metric exports a raw number of a counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricMapping {
    /// The set's name.
    pub set: Arc<str>,
    /// The counter's name.
    pub counter: Arc<str>,
    /// Which raw number of the counter: `first`, `second` (its base) or `multiplier`.
    pub number: &'static str,
    /// The metric's name in sample lines. The name of a metric of type `counter` ends in `_total`.
    pub metric: String,
    /// The metric's type: `counter` or `gauge`.
    pub kind: &'static str,
    /// The unit, a suffix of the name; empty if there is no unit.
    pub unit: String,
    /// The names of the labels of the set's instances.
    pub labels: Vec<&'static str>,
    /// Whether the number is the sum of other raw numbers of the set, so that it is exported only if a path names the counter.
    pub is_sum: bool,
}

/// The metric of each raw number of these sets. Counters with the same raw number, such as `Available KBytes` and `Available
/// MBytes`, have the same metric.
pub fn metric_mappings<'a>(
    sets: impl IntoIterator<Item = &'a Arc<CounterSetInfo>>,
    names: MetricNames,
) -> Vec<MetricMapping> {
    catalog::Catalog::new(sets, names).mappings()
}
