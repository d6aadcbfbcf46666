//! The metrics of a collection, as numbers.

use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, InstanceKey, QueriedSet, Query, Registry};

use super::catalog::{Catalog, Family};
use super::labels::{Label, Labelling};
use super::metric::{Kind, Part};
use super::mounts::MountTable;
use super::plan::{Plan, PlannedSet};
use super::scale::Scale;
use super::{MetricsOptions, is_exported_by_default};

/// One number of a collection: a metric of an instance.
#[derive(Debug)]
pub struct Point<'a> {
    /// The metric.
    pub family: &'a Arc<Family>,
    /// The instance. Two processes with the same name have different keys, even if they have the same labels at
    /// different times.
    pub instance: &'a Arc<InstanceKey>,
    /// The labels of the instance; none for a set without instances.
    pub labels: &'a [Label],
    /// The labels as in the text formats, with braces; empty for a set without instances.
    pub label_text: &'a str,
    /// The number.
    pub number: Number,
}

/// A number that can be converted to base units.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// An exact number, before its conversion.
    Exact(ExactNumber),
    /// A finite number in base units.
    Double(f64),
}

/// An integer, to be divided by a power of ten to get base units.
#[derive(Clone, Copy, Debug)]
pub struct ExactNumber {
    pub(super) raw: i128,
    pub(super) scale: Scale,
}

impl Number {
    /// The number in base units.
    pub fn as_double(self) -> f64 {
        match self {
            Self::Exact(ExactNumber { raw, scale }) => scale.double(raw),
            Self::Double(double) => double,
        }
    }

    /// The number in base units, if it is an integer of 64 bits.
    pub fn as_integer(self) -> Option<i64> {
        match self {
            Self::Exact(ExactNumber { raw, scale }) => scale.integer(raw)?.try_into().ok(),
            Self::Double(_) => None,
        }
    }
}

/// Reads the metrics of the sets that a query has collected. Between collections it keeps the numbers of instances with equal
/// names (`#n`), and the state of 32-bit counters that can wrap.
#[derive(Debug)]
pub struct MetricReader {
    pub(super) options: MetricsOptions,
    registry: Arc<Registry>,
    paths: Vec<PathPattern>,
    pub(super) plan: Plan,
}

impl MetricReader {
    /// Creates a reader for the counter sets of a registry. Without [`MetricsOptions::selection`], it reads all sets for which
    /// [`is_exported_by_default`] is true.
    ///
    /// # Errors
    ///
    /// The error of [`Query::open`].
    pub fn new(registry: &Arc<Registry>, options: MetricsOptions) -> Result<Self, ErrorCode> {
        let catalog = Catalog::new(registry.counter_sets(), options.names);
        let paths = requested_paths(registry, &options, &[]);
        let plan = Plan::new(registry, &catalog, &paths, Vec::new())?;
        Ok(Self { options, registry: Arc::clone(registry), paths: Vec::new(), plan })
    }

    /// The paths that a query needs for the metrics of this reader.
    pub fn paths(&self) -> Vec<PathPattern> {
        requested_paths(&self.registry, &self.options, &self.paths)
    }

    /// Calls `visit` for each number of the last collection of `query`, family by family. The query must have the counters of
    /// [`paths`](Self::paths). Sets that appear in the query's registry later are included. Returns the number of values that
    /// could not be read.
    pub fn read(&mut self, query: &Query, mut visit: impl FnMut(&Point<'_>)) -> u64 {
        self.update(query.registry(), &[]);
        let mounts = self.mounts();
        let mut failed = 0;
        for set in &mut self.plan.sets {
            let guid = set.families.info.guid;
            if let Some(queried) = query.sets().iter().find(|queried| queried.rows().info().guid == guid) {
                failed += walk(set, queried, mounts.as_ref(), &mut visit);
            }
        }
        failed
    }

    /// Creates a new plan if the registry or the paths have changed.
    pub(super) fn update(&mut self, registry: &Arc<Registry>, paths: &[PathPattern]) {
        if Arc::ptr_eq(registry, &self.registry) && self.paths == paths {
            return;
        }
        let catalog = Catalog::new(registry.counter_sets(), self.options.names);
        let before = std::mem::take(&mut self.plan.sets);
        // Opening a query of this machine does not fail.
        if let Ok(plan) =
            Plan::new(registry, &catalog, &requested_paths(registry, &self.options, paths), before)
        {
            self.plan = plan;
            self.registry = Arc::clone(registry);
            self.paths = paths.to_vec();
        }
    }

    /// What is mounted, if a set of the plan needs it.
    pub(super) fn mounts(&self) -> Option<Arc<MountTable>> {
        let has_mounts = self.plan.sets.iter().any(|set| set.families.labelling == Labelling::Mount);
        self.options.mounts.as_ref().filter(|_| has_mounts).map(|now| (now.0)())
    }
}

/// The paths of the request if there are any, otherwise the paths of the options.
pub(super) fn given_paths<'a>(options: &'a MetricsOptions, paths: &'a [PathPattern]) -> &'a [PathPattern] {
    if paths.is_empty() { &options.selection } else { paths }
}

/// The resolved paths of a collection: the [given paths](given_paths) if there are any, otherwise all counters that are exported by
/// default.
fn requested_paths(registry: &Registry, options: &MetricsOptions, paths: &[PathPattern]) -> Vec<PathPattern> {
    let given = given_paths(options, paths);
    if given.is_empty() {
        return registry
            .counter_sets()
            .filter(|info| is_exported_by_default(info))
            .map(|info| all_counters_of(info))
            .collect();
    }
    given.iter().map(|path| registry.resolve_path(path)).collect()
}

fn all_counters_of(info: &CounterSetInfo) -> PathPattern {
    let instance = info.has_instances().then(|| InstanceName::from("*"));
    CounterPath { machine: None, set: info.name.to_string(), instance, counter: "*".to_owned() }.into()
}

/// Calls `visit` for each number of a set; returns the number of values that could not be read.
pub(super) fn walk(
    set: &mut PlannedSet,
    queried: &QueriedSet,
    mounts: Option<&Arc<MountTable>>,
    visit: &mut impl FnMut(&Point<'_>),
) -> u64 {
    if queried.outcome().is_err() {
        return 1;
    }
    set.update_rows(queried, mounts);
    let rows = queried.rows();
    let has_instances = set.families.info.has_instances();
    let families = Arc::clone(&set.families);
    let planned = std::mem::take(&mut set.planned);
    let mut failed = 0;
    for planned in &planned {
        let family = &families.families[planned.family];
        let source = planned.source;
        let Some(column) = rows.column(source.counter_id) else { continue };
        for (row, instance) in rows.instances().iter().enumerate() {
            if !set.includes(planned, row) {
                continue;
            }
            let raw = &rows.values(row)[column];
            if !raw.status.is_good() {
                // It is not an error if the instance does not have the value.
                failed += u64::from(raw.status != Status::NO_INSTANCE);
                continue;
            }
            let exact = |raw: i128| Some(Number::Exact(ExactNumber { raw, scale: source.scale }));
            let number = match raw_number(source.part, family.kind(), raw) {
                RawNumber::None => None,
                RawNumber::Double(double) => source.scale.of_double(double).map(Number::Double),
                RawNumber::Signed(number) => exact(number.into()),
                RawNumber::Counter(number) => {
                    let extended = match source.can_wrap {
                        true => {
                            set.extended_counter(instance, planned.family).map(|state| state.next(number))
                        }
                        false => None,
                    };
                    exact(extended.unwrap_or(number).into())
                }
            };
            let Some(number) = number else { continue };
            let (labels, label_text) = match has_instances {
                true => (set.labels.pairs_of_row(row), set.labels.for_row(row)),
                false => (&[][..], ""),
            };
            visit(&Point { family, instance, labels, label_text, number });
        }
    }
    set.planned = planned;
    set.remove_absent(queried);
    failed
}

/// A raw number, before it is converted to base units.
enum RawNumber {
    /// There is no value to export.
    None,
    Double(f64),
    Signed(i64),
    Counter(u64),
}

fn raw_number(part: Part, kind: Kind, raw: &RawValue) -> RawNumber {
    let plain = |number: i64| match kind {
        Kind::Counter => RawNumber::Counter(number.cast_unsigned()),
        Kind::Gauge => RawNumber::Signed(number),
    };
    match part {
        Part::First => plain(raw.first),
        Part::Second => plain(raw.second),
        Part::Multiplier => RawNumber::Signed(raw.multi_count.into()),
        Part::Double => RawNumber::Double(raw.as_double()),
        // A start time of 0 means that nothing was started.
        Part::Start if raw.first == 0 => RawNumber::None,
        Part::Start => RawNumber::Signed(raw.first.saturating_sub(FileTime::UNIX_EPOCH.0)),
    }
}
