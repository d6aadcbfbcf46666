//! A scrape: the counters of this moment as text.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use tachograph_counters::RawValue;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_counters::set::Instance;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{ErrorCode, FREQUENCY, Guid, Moments, Numbering, QueriedSet, Query, Registry};

use super::catalog::{Catalog, Family, SetFamilies, Source, header};
use super::families::{Kind, Part};
use super::labels::{Labels, escape_value};
use super::wrap::Extended;
use super::{Exposition, MetricsOptions, is_in_default};

/// Collects when it is asked to, and writes what was collected. What it keeps from one scrape to the next: the numbers of
/// instances of one name, and counters of 32 bits extended to 64.
#[derive(Debug)]
pub struct Exporter {
    options: MetricsOptions,
    query: Query,
    /// What the query wants now, and of which registry.
    wanted: Option<(Arc<Registry>, Vec<PathPattern>)>,
    catalog: Catalog,
    /// By set: what its instances are called.
    named: HashMap<Guid, (Numbering, Labels)>,
    extended: HashMap<SeriesKey, (Extended, u64)>,
    /// Counts scrapes, to forget what is not seen any more.
    scrapes: u64,
    out: String,
}

/// A series whose counter can begin again: its family and its instance.
type SeriesKey = (String, String);

/// After so many scrapes without it a series is forgotten.
const FORGOTTEN_AFTER: u64 = 10;

impl Exporter {
    /// An exporter of the sets of a registry.
    ///
    /// # Errors
    ///
    /// The code of [`Query::open`].
    pub fn new(registry: &Arc<Registry>, options: MetricsOptions) -> Result<Self, ErrorCode> {
        Ok(Self {
            options,
            query: Query::open(registry, None)?,
            wanted: None,
            catalog: Catalog::new([]),
            named: HashMap::new(),
            extended: HashMap::new(),
            scrapes: 0,
            out: String::new(),
        })
    }

    /// Collects now, and writes: `paths`, where there are any, else what the options select. The registry is that of now:
    /// sets that came and went since are followed.
    ///
    /// A value that cannot be read is absent, and counted in `tacho_read_errors`. Rows that are sums (`_Total`) are left
    /// out, so that PromQL's sums are right, but where a path names one.
    pub fn scrape(&mut self, registry: &Arc<Registry>, format: Exposition, paths: &[PathPattern]) -> &str {
        let begun = Instant::now();
        let paths = match paths {
            [] if self.options.selection.is_empty() => default_paths(registry),
            [] => self.options.selection.clone(),
            paths => paths.to_vec(),
        };
        self.want(registry, paths);
        let at = self.query.collect();
        self.scrapes += 1;
        self.out.clear();
        let mut errors = Vec::new();
        let totals = self.wanted.as_ref().is_some_and(|(_, paths)| paths.iter().any(names_total));
        for set in self.query.sets() {
            let info = set.rows().info();
            // A set that an earlier scrape wanted stays in the query, without rows.
            let Some(families) = self.catalog.set(info.guid) else { continue };
            let (numbering, labels) = self.named.entry(info.guid).or_default();
            let instances = numbering.number(set.rows().instances());
            labels.take(instances);
            let mut writer = SetWriter {
                out: &mut self.out,
                extended: &mut self.extended,
                scrape: self.scrapes,
                format,
                at,
                totals,
            };
            let failed = writer.write(set, families, instances, labels);
            if failed > 0 {
                errors.push((Arc::clone(&info.name), failed));
            }
        }
        let scrapes = self.scrapes;
        self.extended.retain(|_, (_, seen)| scrapes - *seen < FORGOTTEN_AFTER);
        self.write_own(format, &errors, begun);
        if format == Exposition::OpenMetrics {
            self.out.push_str("# EOF\n");
        }
        &self.out
    }

    fn want(&mut self, registry: &Arc<Registry>, paths: Vec<PathPattern>) {
        let is_known = |(known, wanted): &(Arc<Registry>, Vec<PathPattern>)| {
            Arc::ptr_eq(known, registry)
                && wanted.len() == paths.len()
                && wanted.iter().zip(&paths).all(|(one, other)| one.path() == other.path())
        };
        if self.wanted.as_ref().is_some_and(is_known) {
            return;
        }
        self.query.adopt(registry);
        self.query.set_paths(&paths);
        self.catalog = Catalog::new(registry.counter_sets());
        let there: Vec<Guid> = registry.enumerate().collect();
        self.named.retain(|guid, _| there.contains(guid));
        self.wanted = Some((Arc::clone(registry), paths));
    }

    /// What the exporter says of itself.
    fn write_own(&mut self, format: Exposition, errors: &[(Arc<str>, u64)], begun: Instant) {
        let out = &mut self.out;
        let head = |name, unit, help| header(format, name, Kind::Gauge, unit, help);
        out.push_str(&head("tacho_build_info", "", "The version that answers; always 1."));
        let _ = writeln!(out, "tacho_build_info{{version=\"{}\"}} 1", env!("CARGO_PKG_VERSION"));
        if !errors.is_empty() {
            out.push_str(&head(
                "tacho_read_errors",
                "",
                "Values that could not be read in this scrape, by counter set.",
            ));
        }
        for (set, count) in errors {
            out.push_str("tacho_read_errors{set=\"");
            escape_value(out, set);
            let _ = writeln!(out, "\"}} {count}");
        }
        let help = "How long this scrape took to collect and to write.";
        out.push_str(&head("tacho_scrape_duration_seconds", "seconds", help));
        let _ = writeln!(out, "tacho_scrape_duration_seconds {:.6}", begun.elapsed().as_secs_f64());
    }
}

/// All counters of the sets that are exported where nothing is selected.
fn default_paths(registry: &Registry) -> Vec<PathPattern> {
    registry.counter_sets().filter(|info| is_in_default(info)).map(|info| all_of(info)).collect()
}

fn all_of(info: &CounterSetInfo) -> PathPattern {
    let instance = info.has_instances().then(|| InstanceName::from("*"));
    CounterPath { machine: None, set: info.name.to_string(), instance, counter: "*".to_owned() }.into()
}

/// Whether a path asks for sums by name.
fn names_total(path: &PathPattern) -> bool {
    path.path().instance.as_ref().is_some_and(|instance| instance.as_str().contains("_Total"))
}

/// Whether an instance is the sum of others.
fn is_total(instance: &Instance) -> bool {
    instance.name() == "_Total" || instance.name().ends_with(",_Total")
}

/// Writes the families of one set.
struct SetWriter<'a> {
    out: &'a mut String,
    extended: &'a mut HashMap<SeriesKey, (Extended, u64)>,
    scrape: u64,
    format: Exposition,
    at: Moments,
    /// Whether sums are written too.
    totals: bool,
}

impl SetWriter<'_> {
    /// How many values could not be read.
    fn write(
        &mut self,
        set: &QueriedSet,
        families: &SetFamilies,
        instances: &[Arc<Instance>],
        labels: &Labels,
    ) -> u64 {
        if set.outcome().is_err() {
            return 1;
        }
        let rows = set.rows();
        let mut failed = 0;
        for family in &families.families {
            let wanted = |source: &Source| Some((rows.column(source.counter_id)?, *source));
            let Some((column, source)) = family.sources.iter().find_map(wanted) else { continue };
            let begin = self.out.len();
            self.out.push_str(family.header(self.format));
            let samples = self.out.len();
            for (place, instance) in instances.iter().enumerate() {
                if is_total(instance) && !self.totals {
                    continue;
                }
                let raw = &rows.values(place)[column];
                if raw.status.is_error() {
                    failed += 1;
                    continue;
                }
                let line = self.out.len();
                let labels = if families.info.has_instances() { labels.of_row(place) } else { "" };
                self.out.push_str(&family.sample);
                self.out.push_str(labels);
                self.out.push(' ');
                if self.number(family, source, raw, labels) {
                    self.out.push('\n');
                } else {
                    self.out.truncate(line);
                }
            }
            // A family of which nothing was written has no head either.
            if self.out.len() == samples {
                self.out.truncate(begin);
            }
        }
        failed
    }

    /// Writes a number; false where there is none.
    fn number(&mut self, family: &Family, source: Source, raw: &RawValue, labels: &str) -> bool {
        let counted = |number: i64| match family.kind {
            Kind::Counter => i128::from(number.cast_unsigned()),
            Kind::Gauge => i128::from(number),
        };
        let number = match source.part {
            Part::Double => return source.scale.write_double(self.out, raw.as_double()),
            Part::Start => match start_of(raw, self.at) {
                Some(start) => i128::from(start),
                None => return false,
            },
            Part::First => counted(raw.first),
            Part::Second => counted(raw.second),
            Part::Multiplier => i128::from(raw.multi_count),
        };
        let number = match (source.can_wrap, u64::try_from(number)) {
            (true, Ok(narrow)) => {
                let key = (family.sample.to_string(), labels.to_owned());
                let (extended, seen) = self.extended.entry(key).or_default();
                *seen = self.scrape;
                i128::from(extended.next(narrow))
            }
            _ => number,
        };
        source.scale.write(self.out, number);
        true
    }
}

/// When what an elapsed time counts from began, in units of 100 ns since 1970; `None` where it has not begun.
///
/// Where the counter has system time, its own number is the beginning, and stays the same; else it is reckoned back from
/// the wall clock.
fn start_of(raw: &RawValue, at: Moments) -> Option<i64> {
    if raw.first == 0 {
        return None;
    }
    let is_system_time = raw.second.abs_diff(at.system_time.0) < FileTime::PER_DAY.unsigned_abs();
    let begun = if is_system_time {
        raw.first
    } else {
        let elapsed = i128::from(raw.second) - i128::from(raw.first);
        let units = elapsed * i128::from(FileTime::PER_SECOND) / i128::from(FREQUENCY);
        at.wall.0.saturating_sub(i64::try_from(units).ok()?)
    };
    Some(begun.saturating_sub(FileTime::UNIX_EPOCH.0))
}
