//! Scrapes: collecting the counters and writing them as text.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, QueriedSet, Registry};

use super::catalog::{Catalog, header};
use super::labels::{Labelling, escape_value};
use super::metric::{Kind, Part};
use super::mounts::MountTable;
use super::plan::{Plan, PlannedSet};
use super::process::ProcessMetrics;
use super::{Exposition, MetricsOptions, is_exported_by_default};

/// Collects counters and writes them as metrics. Between scrapes it keeps the `#n` of instances and the state of
/// 32-bit counters that can wrap.
#[derive(Debug)]
pub struct Exporter {
    options: MetricsOptions,
    registry: Arc<Registry>,
    paths: Vec<PathPattern>,
    plan: Plan,
    process: ProcessMetrics,
    out: String,
}

impl Exporter {
    /// Creates an exporter for the counter sets of a registry.
    ///
    /// # Errors
    ///
    /// The error of [`Query::open`](tachograph_perflib::Query::open).
    pub fn new(registry: &Arc<Registry>, options: MetricsOptions) -> Result<Self, ErrorCode> {
        let plan = Plan::new(
            registry,
            &Catalog::new(registry.counter_sets(), options.names),
            &requested_paths(registry, &options, &[]),
            Vec::new(),
        )?;
        let registry = Arc::clone(registry);
        Ok(Self {
            options,
            registry,
            paths: Vec::new(),
            plan,
            process: ProcessMetrics::new(),
            out: String::new(),
        })
    }

    /// Collects and writes the counters of `paths`, or those of the options if `paths` is empty. `registry` is the current one:
    /// sets can have appeared or disappeared since the last scrape.
    ///
    /// A value that cannot be read is absent and counted in `tacho_read_errors`; a path that selects nothing is counted in
    /// `tacho_paths_without_match`. Totals (`_Total`) and counters that are sums of others are omitted, so that PromQL's sums are
    /// right, unless a path names them.
    pub fn scrape(&mut self, registry: &Arc<Registry>, format: Exposition, paths: &[PathPattern]) -> &str {
        let start = Instant::now();
        self.update_plan(registry, paths);
        let Plan { query, sets, .. } = &mut self.plan;
        query.collect();
        let has_mounts = sets.iter().any(|set| set.families.labelling == Labelling::Mount);
        let mounts = self.options.mounts.as_ref().filter(|_| has_mounts).map(|now| (now.0)());
        self.out.clear();
        // The errors of all sets are one family, which is written last.
        let mut errors = String::new();
        for (set, queried) in sets.iter_mut().zip(query.sets()) {
            let failed = write_set(&mut self.out, format, set, queried, mounts.as_ref());
            errors.push_str("tacho_read_errors{set=\"");
            escape_value(&mut errors, &set.families.info.name);
            // Writing to a String cannot fail.
            let _ = writeln!(errors, "\"}} {failed}");
        }
        // Paths without a match are counted only if paths were requested.
        let has_request = !given_paths(&self.options, paths).is_empty();
        let without_match = if has_request { self.plan.without_match() } else { 0 };
        self.write_own(format, without_match, &errors, start);
        &self.out
    }

    /// Creates a new plan if the registry or the paths have changed.
    fn update_plan(&mut self, registry: &Arc<Registry>, paths: &[PathPattern]) {
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

    /// Writes the exporter's own metrics, and the end marker of OpenMetrics.
    fn write_own(&mut self, format: Exposition, without_match: usize, errors: &str, start: Instant) {
        let out = &mut self.out;
        out.push_str(&header(
            format,
            "tacho_build_info",
            Kind::Gauge,
            "",
            "The version of the server; the value is always 1.",
        ));
        let _ = writeln!(out, "tacho_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        let help = "Requested counter paths that select nothing in this scrape.";
        out.push_str(&header(format, "tacho_paths_without_match", Kind::Gauge, "", help));
        let _ = writeln!(out, "tacho_paths_without_match {without_match}");
        if !errors.is_empty() {
            let help = "Values that could not be read in this scrape, by counter set.";
            out.push_str(&header(format, "tacho_read_errors", Kind::Gauge, "", help));
            out.push_str(errors);
        }
        self.process.write(out, format);
        let help = "How long this scrape took to collect and write.";
        out.push_str(&header(format, "tacho_scrape_duration_seconds", Kind::Gauge, "seconds", help));
        let _ = writeln!(out, "tacho_scrape_duration_seconds {:.6}", start.elapsed().as_secs_f64());
        if format == Exposition::OpenMetrics {
            out.push_str("# EOF\n");
        }
    }
}

/// The paths of the request if there are any, otherwise those of the options.
fn given_paths<'a>(options: &'a MetricsOptions, paths: &'a [PathPattern]) -> &'a [PathPattern] {
    if paths.is_empty() { &options.selection } else { paths }
}

/// The resolved paths of a scrape: the given ones if there are any, otherwise all counters that are exported by default.
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

/// Writes the families of one set; returns the number of values that could not be read.
fn write_set(
    out: &mut String,
    format: Exposition,
    set: &mut PlannedSet,
    queried: &QueriedSet,
    mounts: Option<&Arc<MountTable>>,
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
        let Some(column) = rows.column(planned.source.counter_id) else { continue };
        let mut has_header = false;
        for (row, key) in rows.instances().iter().enumerate() {
            if !set.includes(planned, row) {
                continue;
            }
            let raw = &rows.values(row)[column];
            if !raw.status.is_good() {
                // It is not an error if the instance does not have the value.
                failed += u64::from(raw.status != Status::NO_INSTANCE);
                continue;
            }
            let begin = out.len();
            if !has_header {
                out.push_str(family.header(format));
            }
            out.push_str(&family.sample);
            if has_instances {
                out.push_str(set.labels.for_row(row));
            }
            out.push(' ');
            let scale = planned.source.scale;
            let is_written = match number_of(planned.source.part, family.kind, raw) {
                Number::None => false,
                Number::Double(double) => scale.write_double(out, double),
                Number::Signed(number) => {
                    scale.write(out, number.into());
                    true
                }
                Number::Counter(number) => {
                    let extended = match planned.source.can_wrap {
                        true => set.extended(key, planned.family).map(|extended| extended.next(number)),
                        false => None,
                    };
                    scale.write(out, extended.unwrap_or(number).into());
                    true
                }
            };
            if is_written {
                out.push('\n');
                has_header = true;
            } else {
                out.truncate(begin);
            }
        }
    }
    set.planned = planned;
    set.remove_absent(queried);
    failed
}

/// A raw number, before it is converted to base units.
enum Number {
    /// There is no value to export.
    None,
    Double(f64),
    Signed(i64),
    Counter(u64),
}

fn number_of(part: Part, kind: Kind, raw: &RawValue) -> Number {
    let plain = |number: i64| match kind {
        Kind::Counter => Number::Counter(number.cast_unsigned()),
        Kind::Gauge => Number::Signed(number),
    };
    match part {
        Part::First => plain(raw.first),
        Part::Second => plain(raw.second),
        Part::Multiplier => Number::Signed(raw.multi_count.into()),
        Part::Double => Number::Double(raw.as_double()),
        // A start time of 0 means that nothing was started.
        Part::Start if raw.first == 0 => Number::None,
        Part::Start => Number::Signed(raw.first.saturating_sub(FileTime::UNIX_EPOCH.0)),
    }
}
