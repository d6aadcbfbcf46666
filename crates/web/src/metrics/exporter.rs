//! A scrape: the counters of this moment as text.

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::{RawValue, Status};
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, QueriedSet, Registry};

use super::catalog::{Catalog, header};
use super::families::{Kind, Part};
use super::labels::escape_value;
use super::plan::{Plan, PlannedSet};
use super::{Exposition, MetricsOptions, is_in_default};

/// Collects when it is asked to, and writes what was collected. What it keeps from one scrape to the next: the numbers of
/// instances of one name, and counters of 32 bits extended to 64.
#[derive(Debug)]
pub struct Exporter {
    options: MetricsOptions,
    /// The registry and the paths that the plan was made for.
    registry: Arc<Registry>,
    paths: Vec<PathPattern>,
    plan: Plan,
    out: String,
}

impl Exporter {
    /// An exporter of the sets of a registry.
    ///
    /// # Errors
    ///
    /// The code of [`Query::open`](tachograph_perflib::Query::open).
    pub fn new(registry: &Arc<Registry>, options: MetricsOptions) -> Result<Self, ErrorCode> {
        let plan = Plan::new(
            registry,
            &Catalog::new(registry.counter_sets()),
            &wanted(registry, &options, &[]),
            Vec::new(),
        )?;
        let registry = Arc::clone(registry);
        Ok(Self { options, registry, paths: Vec::new(), plan, out: String::new() })
    }

    /// Collects now, and writes: `paths`, where there are any, else what the options select. The registry is that of now:
    /// sets that came and went since are followed.
    ///
    /// A value that cannot be read is absent, and counted in `tacho_read_errors`; a path that selects nothing is counted in
    /// `tacho_paths_without_match`. Rows that are sums (`_Total`) are left
    /// out, so that PromQL's sums are right, but where a path names them.
    pub fn scrape(&mut self, registry: &Arc<Registry>, format: Exposition, paths: &[PathPattern]) -> &str {
        let begun = Instant::now();
        self.follow(registry, paths);
        let Plan { query, sets, .. } = &mut self.plan;
        query.collect();
        self.out.clear();
        // The errors of sets are one family, which comes last.
        let mut errors = String::new();
        for (set, queried) in sets.iter_mut().zip(query.sets()) {
            let failed = write_set(&mut self.out, format, set, queried);
            errors.push_str("tacho_read_errors{set=\"");
            escape_value(&mut errors, &set.families.info.name);
            // Writing to a text cannot fail.
            let _ = writeln!(errors, "\"}} {failed}");
        }
        // What nobody asks for is not missed.
        let is_asked = !given(&self.options, paths).is_empty();
        let without_match = if is_asked { self.plan.without_match() } else { 0 };
        self.write_own(format, without_match, &errors, begun);
        &self.out
    }

    /// Makes the plan anew where the registry or the paths are others.
    fn follow(&mut self, registry: &Arc<Registry>, paths: &[PathPattern]) {
        if Arc::ptr_eq(registry, &self.registry) && self.paths == paths {
            return;
        }
        let catalog = Catalog::new(registry.counter_sets());
        let before = std::mem::take(&mut self.plan.sets);
        // A query of this machine can always be opened.
        if let Ok(plan) = Plan::new(registry, &catalog, &wanted(registry, &self.options, paths), before) {
            self.plan = plan;
            self.registry = Arc::clone(registry);
            self.paths = paths.to_vec();
        }
    }

    /// What the exporter says of itself, and the end.
    fn write_own(&mut self, format: Exposition, without_match: usize, errors: &str, begun: Instant) {
        let out = &mut self.out;
        out.push_str(&header(
            format,
            "tacho_build_info",
            Kind::Gauge,
            "",
            "The version that answers; the value is always 1.",
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
        let help = "How long this scrape took to collect and write.";
        out.push_str(&header(format, "tacho_scrape_duration_seconds", Kind::Gauge, "seconds", help));
        let _ = writeln!(out, "tacho_scrape_duration_seconds {:.6}", begun.elapsed().as_secs_f64());
        if format == Exposition::OpenMetrics {
            out.push_str("# EOF\n");
        }
    }
}

/// The paths that somebody asks for.
fn given<'a>(options: &'a MetricsOptions, paths: &'a [PathPattern]) -> &'a [PathPattern] {
    if paths.is_empty() { &options.selection } else { paths }
}

/// The paths of a scrape: those that somebody asks for, or else the machine's.
fn wanted(registry: &Registry, options: &MetricsOptions, paths: &[PathPattern]) -> Vec<PathPattern> {
    let given = given(options, paths);
    if given.is_empty() {
        return registry.counter_sets().filter(|info| is_in_default(info)).map(|info| all_of(info)).collect();
    }
    given.iter().map(|path| registry.path_here(path)).collect()
}

/// All counters of all instances of a set.
fn all_of(info: &CounterSetInfo) -> PathPattern {
    let instance = info.has_instances().then(|| InstanceName::from("*"));
    CounterPath { machine: None, set: info.name.to_string(), instance, counter: "*".to_owned() }.into()
}

/// Writes the families of one set; how many values could not be read.
fn write_set(out: &mut String, format: Exposition, set: &mut PlannedSet, queried: &QueriedSet) -> u64 {
    if queried.outcome().is_err() {
        return 1;
    }
    set.take(queried);
    let rows = queried.rows();
    let has_instances = set.families.info.has_instances();
    let families = Arc::clone(&set.families);
    let chosen = std::mem::take(&mut set.chosen);
    let mut failed = 0;
    for chosen in &chosen {
        let family = &families.families[chosen.family];
        let Some(column) = rows.column(chosen.source.counter_id) else { continue };
        let mut has_header = false;
        for (row, key) in rows.instances().iter().enumerate() {
            if !set.takes(chosen, row) {
                continue;
            }
            let raw = &rows.values(row)[column];
            if !raw.status.is_good() {
                // What an instance does not have at all is no error.
                failed += u64::from(raw.status != Status::NO_INSTANCE);
                continue;
            }
            let begin = out.len();
            if !has_header {
                out.push_str(family.header(format));
            }
            out.push_str(&family.sample);
            if has_instances {
                out.push_str(set.labels.of_row(row));
            }
            out.push(' ');
            let scale = chosen.source.scale;
            let is_written = match number_of(chosen.source.part, family.kind, raw) {
                Number::None => false,
                Number::Double(double) => scale.write_double(out, double),
                Number::Signed(number) => {
                    scale.write(out, number.into());
                    true
                }
                Number::Counted(number) => {
                    let extended = match chosen.source.can_wrap {
                        true => set.extended(key, chosen.family).map(|extended| extended.next(number)),
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
    set.chosen = chosen;
    set.forget_absent(queried);
    failed
}

/// A raw number, before it is brought to base units.
enum Number {
    None,
    Double(f64),
    Signed(i64),
    /// What only grows.
    Counted(u64),
}

fn number_of(part: Part, kind: Kind, raw: &RawValue) -> Number {
    let plain = |number: i64| match kind {
        Kind::Counter => Number::Counted(number.cast_unsigned()),
        Kind::Gauge => Number::Signed(number),
    };
    match part {
        Part::First => plain(raw.first),
        Part::Second => plain(raw.second),
        Part::Multiplier => Number::Signed(raw.multi_count.into()),
        Part::Double => Number::Double(raw.as_double()),
        // A beginning of 0 means that nothing has begun.
        Part::Start if raw.first == 0 => Number::None,
        Part::Start => Number::Signed(raw.first.saturating_sub(FileTime::UNIX_EPOCH.0)),
    }
}
