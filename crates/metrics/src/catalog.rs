//! The metric families of all counter sets, with unique names.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_perflib::Guid;
use tachograph_perflib::registration::CounterSetInfo;

use super::exposition::Exposition;
use super::labels::Labelling;
use super::metric::{Kind, Metric, Part, join_words, metrics_of};
use super::scale::Scale;
use super::set_names::{self, SETS};
use super::words::{to_plural, valid_words, words_of};
use super::{MetricMapping, MetricNames};

pub(super) const PREFIX: &str = "tacho";

/// The names of the exporter's own metrics.
const OWN_NAMES: [&str; 5] = [
    "tacho_build",
    "tacho_build_info",
    "tacho_paths_without_match",
    "tacho_scrape_duration_seconds",
    "tacho_read_errors",
];

/// A metric family: one raw number of all instances of a counter set.
#[derive(Debug)]
pub struct Family {
    kind: Kind,
    unit: String,
    help: Box<str>,
    /// The name in sample lines.
    pub(super) sample: Box<str>,
    /// The result of [`header`](Self::header) for each [`Exposition`].
    headers: [Box<str>; 2],
    /// The counters with this raw number; the family is named after the first counter.
    pub(super) sources: Vec<Source>,
}

/// A counter whose raw number a family exports.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) counter_id: u32,
    pub(super) part: Part,
    pub(super) scale: Scale,
    pub(super) can_wrap: bool,
    /// Whether the number is the sum of other raw numbers, so that it is exported only if a path names the counter.
    pub(super) is_sum: bool,
}

impl Family {
    /// The name in sample lines; that of a counter ends in `_total`.
    pub fn sample_name(&self) -> &str {
        &self.sample
    }

    /// The name without `_total`.
    pub fn name(&self) -> &str {
        match self.kind {
            Kind::Counter => self.sample.strip_suffix("_total").unwrap_or(&self.sample),
            Kind::Gauge => &self.sample,
        }
    }

    /// Counter or gauge.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// The base unit, in the plural, such as `seconds` or `bytes`; empty for a plain number.
    pub fn unit(&self) -> &str {
        &self.unit
    }

    /// What the number is, and which displayed value it belongs to.
    pub fn help(&self) -> &str {
        &self.help
    }

    /// The `# HELP`, `# TYPE` and `# UNIT` lines.
    pub(super) fn header(&self, exposition: Exposition) -> &str {
        &self.headers[exposition as usize]
    }
}

#[derive(Debug)]
pub(super) struct SetFamilies {
    pub(super) info: Arc<CounterSetInfo>,
    pub(super) families: Vec<Arc<Family>>,
    pub(super) labelling: Labelling,
}

/// The families of all counter sets of a registry. Names depend on the registered sets, not on the selection. The registry
/// lists the machine's own sets first; later sets get a suffix if a name is in use.
#[derive(Debug, Default)]
pub(super) struct Catalog {
    sets: HashMap<Guid, Arc<SetFamilies>>,
    order: Vec<Guid>,
}

/// Reserves a name, and the names that OpenMetrics derives from it. Returns false, and reserves none of them, if one is in use.
fn reserve(used: &mut HashSet<String>, name: &str, kind: Kind) -> bool {
    let suffixes: &[&str] = if kind == Kind::Counter { &["", "_total", "_created"] } else { &[""] };
    let names: Vec<String> = suffixes.iter().map(|suffix| format!("{name}{suffix}")).collect();
    if names.iter().any(|name| used.contains(name)) {
        return false;
    }
    used.extend(names);
    true
}

impl Catalog {
    pub(super) fn new<'a>(
        infos: impl IntoIterator<Item = &'a Arc<CounterSetInfo>>,
        names: MetricNames,
    ) -> Self {
        let mut used = HashSet::from(OWN_NAMES.map(str::to_owned));
        let is_current = names == MetricNames::Current;
        // A set of another provider never gets the prefix of one of the machine's own sets, even if this machine lacks that set.
        let own = SETS.iter().filter(|_| is_current).map(|own| own.prefix.to_owned());
        let mut prefixes: HashSet<String> = own.collect();
        let mut catalog = Self { sets: HashMap::new(), order: Vec::new() };
        for info in infos {
            let own = set_names::of_set(&info.name).filter(|_| is_current);
            let words = match own {
                Some(own) => own.prefix.to_owned(),
                None => unique_prefix(info, &mut prefixes),
            };
            let families = families_of(info, &format!("{PREFIX}_{words}"), names, &mut used);
            let labelling = own.map_or(Labelling::NameAndParent, |own| own.labelling);
            catalog.order.push(info.guid);
            let set = SetFamilies { info: Arc::clone(info), families, labelling };
            catalog.sets.insert(info.guid, Arc::new(set));
        }
        catalog
    }

    pub(super) fn set(&self, guid: Guid) -> Option<&Arc<SetFamilies>> {
        self.sets.get(&guid)
    }

    pub(super) fn mappings(&self) -> Vec<MetricMapping> {
        let mut mappings = Vec::new();
        for set in self.order.iter().filter_map(|guid| self.sets.get(guid)) {
            for family in &set.families {
                for source in &family.sources {
                    let Some(index) = set.info.position(source.counter_id) else { continue };
                    mappings.push(MetricMapping {
                        set: Arc::from(&*set.info.name),
                        counter: Arc::from(&*set.info.counters[index].name),
                        number: source.part.name(),
                        metric: family.sample.to_string(),
                        kind: family.kind.name(),
                        unit: family.unit.clone(),
                        labels: if set.info.has_instances() { set.labelling.names() } else { Vec::new() },
                        is_sum: source.is_sum,
                    });
                }
            }
        }
        mappings
    }
}

/// The words of a set's name as a prefix, followed by a part of the set's GUID if the prefix is in use.
fn unique_prefix(info: &CounterSetInfo, prefixes: &mut HashSet<String>) -> String {
    let mut words = valid_words(&words_of(&info.name)).join("_");
    if words.is_empty() || !prefixes.insert(words.clone()) {
        let guid = u128::from_le_bytes(info.guid.to_bytes());
        words = format!(
            "{words}{}{:08x}",
            if words.is_empty() { "set" } else { "_" },
            (guid & u128::from(u32::MAX)) as u32
        );
        prefixes.insert(words.clone());
    }
    words
}

fn families_of(
    info: &CounterSetInfo,
    prefix: &str,
    names: MetricNames,
    used: &mut HashSet<String>,
) -> Vec<Arc<Family>> {
    let shown = info.counters.iter().filter(|counter| counter.is_displayable());
    let all: Vec<_> = shown
        .clone()
        .flat_map(|counter| {
            metrics_of(&info.name, counter, names).into_iter().map(move |metric| (counter, metric))
        })
        .collect();
    // A base that is itself a displayed counter is exported only under that counter's name. Returns the id of that counter.
    let base_of = |base: Option<u32>, metric: &Metric| {
        let base = shown.clone().find(|counter| Some(counter.id) == base)?;
        let own = all.iter().find(|(counter, own)| counter.id == base.id && own.part == Part::First)?;
        (metric.part == Part::Second && own.1.kind == metric.kind && own.1.scale == metric.scale)
            .then_some(base.id)
    };
    let mut families: Vec<Family> = Vec::new();
    // First the counters with raw numbers of their own, then the counters that share the raw numbers of others.
    let mut indices: HashMap<(u32, Part), usize> = HashMap::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for is_duplicate in [false, true] {
        for (counter, metric) in &all {
            let base = base_of(counter.base_id, metric);
            if (metric.is_duplicate || base.is_some()) != is_duplicate {
                continue;
            }
            let source = Source {
                counter_id: counter.id,
                part: metric.part,
                scale: metric.scale,
                can_wrap: metric.can_wrap,
                is_sum: metric.is_sum,
            };
            let preferred = join(prefix, &metric.stem, &metric.unit, names);
            let known = match base {
                Some(base) => indices.get(&(base, Part::First)),
                None if is_duplicate => by_name.get(&preferred),
                None => None,
            };
            if let Some(&index) = known
                && families[index].kind == metric.kind
            {
                families[index].sources.push(source);
                continue;
            }
            let mut name = preferred.clone();
            // If the name of a base is in use, the name of its counter is inserted. If that name is in use too, or if the
            // metric is not a base, a number is appended.
            let sum = all.iter().find(|(owner, sum)| owner.id == counter.id && sum.part == Part::First);
            let sum_stem =
                sum.filter(|_| metric.part == Part::Second).map_or("", |(_, sum)| sum.stem.as_str());
            for attempt in 1_u32.. {
                if reserve(used, &name, metric.kind) {
                    break;
                }
                let stem = match attempt {
                    1 if !sum_stem.is_empty() => format!("{sum_stem}_{}", metric.stem),
                    _ => numbered(&metric.stem, attempt + 1),
                };
                name = join(prefix, &stem, &metric.unit, names);
            }
            let help = format!("{}{}: {}", metric.help_prefix, counter.name, counter.help);
            indices.insert((counter.id, metric.part), families.len());
            by_name.entry(preferred).or_insert(families.len());
            families.push(family(&name, metric, &help, source));
        }
    }
    families.into_iter().map(Arc::new).collect()
}

fn numbered(stem: &str, number: u32) -> String {
    if stem.is_empty() { format!("number{number}") } else { format!("{stem}_{number}") }
}

/// Joins the parts of a name. If the counter's name begins with the last word of the prefix, or with its plural, that word is
/// removed from the prefix: `interrupt` and `interrupts` become `interrupts`.
fn join(prefix: &str, stem: &str, unit: &str, names: MetricNames) -> String {
    let mut before = prefix;
    if names == MetricNames::Current
        && let Some((start, last)) = prefix.rsplit_once('_')
    {
        let first = stem.split('_').next().unwrap_or_default();
        if first == last || first == to_plural(last) {
            before = start;
        }
    }
    join_words(&join_words(before, stem), unit)
}

fn family(name: &str, metric: &Metric, help: &str, source: Source) -> Family {
    let sample = match metric.kind {
        Kind::Counter => format!("{name}_total"),
        Kind::Gauge => name.to_owned(),
    };
    let headers = [
        header(Exposition::PrometheusText, &sample, metric.kind, "", help),
        header(Exposition::OpenMetrics, name, metric.kind, &metric.unit, help),
    ];
    Family {
        kind: metric.kind,
        unit: metric.unit.clone(),
        help: help.trim_end_matches([':', ' ']).into(),
        sample: sample.into(),
        headers: headers.map(String::into),
        sources: vec![source],
    }
}

/// The `# HELP`, `# TYPE` and, in OpenMetrics, `# UNIT` lines. In Prometheus' format, `name` must be the name in
/// samples.
pub(super) fn header(exposition: Exposition, name: &str, kind: Kind, unit: &str, help: &str) -> String {
    let mut text = format!("# HELP {name} ");
    escape_help(&mut text, help.trim_end_matches([':', ' ']), exposition);
    text.push_str(&format!("\n# TYPE {name} {}\n", kind.name()));
    if exposition == Exposition::OpenMetrics && !unit.is_empty() {
        text.push_str(&format!("# UNIT {name} {unit}\n"));
    }
    text
}

/// Writes a HELP text on one line. Both formats escape backslashes and line feeds; OpenMetrics also escapes quotes.
pub(super) fn escape_help(out: &mut String, text: &str, exposition: Exposition) {
    for c in text.chars() {
        match c {
            '\\' => out.push_str(r"\\"),
            '\n' => out.push_str(r"\n"),
            '"' if exposition == Exposition::OpenMetrics => out.push_str("\\\""),
            c if c.is_ascii_control() => out.push(char::REPLACEMENT_CHARACTER),
            c => out.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tachograph_counters::CounterType;
    use tachograph_perflib::registration::{CounterInfo, InstanceType};

    use super::*;

    fn set(name: &str, guid: u128, counters: &[(&str, CounterType)]) -> Arc<CounterSetInfo> {
        let mut info = CounterSetInfo::new(name, Guid::from_u128(guid), InstanceType::Multiple);
        info.counters =
            (1..).zip(counters).map(|(id, (name, kind))| CounterInfo::new(id, *name, *kind)).collect();
        Arc::new(info)
    }

    fn metrics(sets: &[Arc<CounterSetInfo>]) -> Vec<String> {
        Catalog::new(sets, MetricNames::Current).mappings().into_iter().map(|name| name.metric).collect()
    }

    #[test]
    fn names_in_use_get_a_suffix() {
        let (gauge, rate) = (CounterType::LARGE_RAWCOUNT, CounterType::BULK_COUNT);
        let one = set("My Set", 1 << 100, &[("Reads", gauge), ("Reads/sec", rate), ("reads", gauge)]);
        let other = set("my-set", 0xABCD_u128 << 112, &[("Reads", gauge)]);
        // Without `_2`, the OpenMetrics name of the rate would be that of the gauge.
        assert_eq!(
            metrics(&[one, other]),
            [
                "tacho_my_set_reads",
                "tacho_my_set_reads_2_total",
                "tacho_my_set_reads_3",
                "tacho_my_set_abcd0000_reads"
            ]
        );
    }

    #[test]
    fn other_sets_never_have_the_prefix_of_a_set_of_the_machine() {
        let counters = [("Reads/sec", CounterType::BULK_COUNT)];
        let published = set("Disk", 0xABCD_u128 << 112, &counters);
        let machine = set("PhysicalDisk", 1, &counters);
        // This is so in any order, and also if the machine has no set with that prefix.
        for sets in [vec![&machine, &published], vec![&published, &machine], vec![&published]] {
            let sets: Vec<_> = sets.into_iter().cloned().collect();
            let metrics = metrics(&sets);
            assert!(metrics.contains(&"tacho_disk_abcd0000_reads_total".to_owned()), "{metrics:?}");
            assert_eq!(
                metrics.contains(&"tacho_disk_reads_total".to_owned()),
                sets.len() == 2,
                "{metrics:?}"
            );
        }
    }

    #[test]
    fn the_last_word_of_the_set_is_not_repeated() {
        let (gauge, rate) = (CounterType::LARGE_RAWCOUNT, CounterType::BULK_COUNT);
        let shop = set(
            "Book Shop",
            1,
            &[
                ("Shop Visits/sec", rate),
                ("Shops", gauge),
                ("Shopping", gauge),
                ("Book", gauge),
                ("Old Shops", gauge),
            ],
        );
        assert_eq!(
            metrics(&[shop]),
            [
                "tacho_book_shop_visits_total",
                "tacho_book_shops",
                "tacho_book_shop_shopping",
                "tacho_book_shop_book",
                "tacho_book_shop_old_shops"
            ]
        );
    }

    #[test]
    fn a_displayed_base_is_exported_once() {
        let average = CounterType::AVERAGE_BULK;
        let mut info =
            (*set("Shop", 1, &[("Items per Order", average), ("Orders", CounterType::BULK_COUNT)])).clone();
        info.counters[0].base_id = Some(2);
        assert_eq!(
            metrics(&[Arc::new(info)]),
            ["tacho_shop_items_order_total", "tacho_shop_orders_total", "tacho_shop_orders_total"]
        );
    }

    proptest! {
        #[test]
        fn names_are_valid_and_unique(sets in prop::collection::vec((".{0,12}", prop::collection::vec((".{0,16}|[%#a-b /]{0,6}|count|total|s", 0_usize..99), 0..6)), 0..5), is_current: bool) {
            let kinds: Vec<CounterType> = CounterType::all().filter(|kind| kind.formula().is_some()).collect();
            let sets: Vec<_> = sets.iter().enumerate().map(|(index, (name, counters))| {
                let counters: Vec<_> =
                    counters.iter().map(|(name, kind)| (name.as_str(), kinds[kind % kinds.len()])).collect();
                set(name, (index as u128) << 96, &counters)
            }).collect();
            let catalog = Catalog::new(&sets, if is_current { MetricNames::Current } else { MetricNames::Old });
            let mut samples = HashSet::new();
            let mut families = HashSet::new();
            for family in catalog.sets.values().flat_map(|set| &set.families) {
                let is_valid = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
                prop_assert!(family.sample.chars().all(is_valid), "{}", family.sample);
                prop_assert!(family.sample.starts_with("tacho_"));
                prop_assert!(samples.insert(family.sample.clone()));
                prop_assert!(families.insert(family.sample.trim_end_matches("_total").to_owned()));
                prop_assert_eq!(family.kind == Kind::Counter, family.sample.ends_with("_total"));
                for format in [Exposition::PrometheusText, Exposition::OpenMetrics] {
                    prop_assert!(family.header(format).lines().all(|line| line.starts_with("# ")));
                }
            }
        }
    }
}
