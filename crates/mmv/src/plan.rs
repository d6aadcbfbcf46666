//! Converts the contents of an MMV file into counter sets, instances and the index of each value.

use std::collections::HashSet;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_counters::wildcard::fold_case;
use tachograph_perflib::registration::{
    Attributes, CounterInfo, CounterSetInfo, InstanceType, RegistrationError,
};
use tachograph_perflib::{Guid, InstanceKey};
use uuid::Uuid;

use super::layout::{Layout, Metric, Section};
use super::text::for_path;
use super::value::{Class, Mapping, MappingError};

/// The maximum number of cells (instances times counters) in all sets of a file.
pub(super) const MAX_CELLS: usize = 1 << 20;

/// Stored in [`SetPlan::entry_indexes`] for a cell without a value.
pub(super) const NO_ENTRY: u32 = u32::MAX;

/// The file that is being converted.
pub(super) struct Origin<'a> {
    /// The file's name.
    pub(super) name: &'a str,
    /// The file's path, for help texts.
    pub(super) source: &'a str,
    /// The file's owner.
    pub(super) uid: Option<u32>,
    /// Distinguishes this file from all earlier files of the same name.
    pub(super) identity: u64,
}

/// The counter sets of a file, and where their values are in the values section.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) sets: Vec<SetPlan>,
    /// The values section of the file.
    pub(super) values: Section,
    /// Whether special values mean missing values; see [`Header`](super::header::Header).
    pub(super) has_sentinels: bool,
    /// The process that must be running for the values to be valid, if any.
    pub(super) process: Option<i32>,
}

/// A counter set: all metrics of an instance domain, or all metrics without an instance domain.
#[derive(Debug)]
pub(super) struct SetPlan {
    /// Serial number of the instance domain.
    pub(super) serial: Option<u32>,
    pub(super) info: Arc<CounterSetInfo>,
    pub(super) fields: Vec<Field>,
    pub(super) instances: Vec<Arc<InstanceKey>>,
    /// For each cell, the index of its entry in the values section, or [`NO_ENTRY`]. A row per instance, a column per
    /// field.
    pub(super) entry_indexes: Vec<u32>,
}

/// A counter, and how the values of its metric are converted.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    /// The counter's id.
    pub(super) id: u32,
    pub(super) mapping: Mapping,
}

/// A part of a file that is skipped.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Skipped {
    /// A metric that cannot become a counter.
    Metric { name: String, error: MappingError },
    /// A metric without a name.
    Unnamed { item: u32 },
    /// A metric with the item number or name of an earlier metric.
    Repeated { name: String, item: u32 },
    /// With this counter set, the file would have more than [`MAX_CELLS`] cells.
    TooLarge { set: Arc<str>, cells: usize },
    /// A counter set that cannot be registered.
    Invalid(RegistrationError),
    /// The number of values that follow another value with the same metric and instance.
    RepeatedValues(usize),
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metric { name, error } => write!(f, "metric '{name}' is skipped: {error}"),
            Self::Unnamed { item } => write!(f, "metric {item} is skipped: it has no name"),
            Self::Repeated { name, item } => {
                write!(
                    f,
                    "metric '{name}' is skipped: another metric has the item number {item} or the same name"
                )
            }
            Self::TooLarge { set, cells } => {
                write!(
                    f,
                    "counter set '{set}' is skipped: with its {cells} values, the file would have more than {MAX_CELLS}"
                )
            }
            Self::Invalid(error) => write!(f, "skipped: {error}"),
            Self::RepeatedValues(count) => {
                write!(f, "{count} values are skipped: an earlier value has the same metric and instance")
            }
        }
    }
}

/// The counter sets of a file, and what was skipped.
pub(super) fn build_plan(layout: &Layout, origin: &Origin<'_>) -> (Plan, Vec<Skipped>) {
    let mut skipped = Vec::new();
    let mut sets = Vec::new();
    // The set and column of each metric.
    let mut columns = vec![None; layout.metrics.len()];
    let mut cells = 0;
    let domains = std::iter::once(None).chain((0..layout.indoms.len()).map(Some));
    for domain in domains {
        let is_member = |metric: &Metric| metric.indom.map(|indom| indom as usize) == domain;
        let members: Vec<usize> =
            (0..layout.metrics.len()).filter(|&index| is_member(&layout.metrics[index])).collect();
        let Some((mut set, indexes)) = describe_set(layout, origin, domain, &members, &mut skipped) else {
            continue;
        };
        let size = set.instances.len().saturating_mul(set.fields.len());
        if size > MAX_CELLS - cells {
            skipped.push(Skipped::TooLarge { set: Arc::from(&*set.info.name), cells: size });
            continue;
        }
        cells += size;
        set.entry_indexes = vec![NO_ENTRY; size];
        for (column, index) in indexes.into_iter().enumerate() {
            columns[index] = Some((sets.len(), column));
        }
        sets.push(set);
    }
    assign_values(layout, &columns, &mut sets, &mut skipped);
    let header = &layout.header;
    let plan =
        Plan { sets, values: layout.values, has_sentinels: header.has_sentinels, process: header.process };
    (plan, skipped)
}

/// Assigns each value of the file to its cell.
fn assign_values(
    layout: &Layout,
    columns: &[Option<(usize, usize)>],
    sets: &mut [SetPlan],
    skipped: &mut Vec<Skipped>,
) {
    let mut repeated = 0;
    for (value, owner) in (0..).zip(&layout.owners) {
        let Some((set, column)) = columns[owner.metric as usize] else { continue };
        let metric = &layout.metrics[owner.metric as usize];
        let first = metric.indom.map_or(0, |indom| layout.indoms[indom as usize].instances.start);
        let row = owner.instance.map_or(0, |instance| instance - first);
        let set = &mut sets[set];
        match &mut set.entry_indexes[row as usize * set.fields.len() + column] {
            index if *index == NO_ENTRY => *index = value,
            _ => repeated += 1,
        }
    }
    if repeated > 0 {
        skipped.push(Skipped::RepeatedValues(repeated));
    }
}

/// A set with its counters and instances, and the metric of each column. `None` if no metric can be a counter, or if
/// the set is invalid.
fn describe_set(
    layout: &Layout,
    origin: &Origin<'_>,
    domain: Option<usize>,
    members: &[usize],
    skipped: &mut Vec<Skipped>,
) -> Option<(SetPlan, Vec<usize>)> {
    let indom = domain.map(|index| &layout.indoms[index]);
    let name = set_name(origin.name, indom.map(|indom| indom.serial));
    let kind = if indom.is_some() { InstanceType::Multiple } else { InstanceType::Single };
    let mut info = CounterSetInfo::new(name.as_str(), guid_from_name(&name), kind);
    info.provider_guid = guid_from_name(PROVIDER_NAME);
    info.provider_name = match origin.uid {
        Some(uid) => format!("{PROVIDER_NAME} of uid {uid}").into(),
        None => PROVIDER_NAME.into(),
    };
    info.help = match indom.map(|indom| indom.help.as_str()) {
        None | Some("") => format!("Values of {} in PCP's MMV format.", origin.source).into(),
        Some(help) => format!("{help} (values of {} in PCP's MMV format)", origin.source).into(),
    };
    if let Some(indom) = indom {
        info.instances_help =
            format!("The instances of domain {}, in the file's order.", indom.serial).into();
    }

    let (mut fields, mut indexes) = (Vec::new(), Vec::new());
    let mut names = Names::default();
    for &index in members {
        let metric = &layout.metrics[index];
        match describe_counter(metric, origin, &mut names) {
            Ok((counter, mapping)) => {
                indexes.push(index);
                fields.push(Field { id: counter.id, mapping });
                info.counters.push(counter);
            }
            Err(reason) => skipped.push(reason),
        }
    }
    if fields.is_empty() {
        return None;
    }
    add_clock(&mut info, &mut names);
    if let Err(error) = info.check() {
        skipped.push(Skipped::Invalid(error));
        return None;
    }
    let instances = match indom {
        None => vec![Arc::new(InstanceKey::new("", 0, identity(origin.identity, 0)))],
        Some(indom) => {
            let key = |index: u32| {
                let instance = &layout.instances[index as usize];
                let id = instance.internal.cast_unsigned();
                Arc::new(InstanceKey::new(instance.name.as_str(), id, identity(origin.identity, index)))
            };
            indom.instances.clone().map(key).collect()
        }
    };
    let serial = indom.map(|indom| indom.serial);
    Some((SetPlan { serial, info: Arc::new(info), fields, instances, entry_indexes: Vec::new() }, indexes))
}

/// The ids and the case-folded names that counters of a set already have.
#[derive(Default)]
struct Names {
    ids: HashSet<u32>,
    names: HashSet<String>,
}

/// The counter for a metric, and how its values are converted.
fn describe_counter(
    metric: &Metric,
    origin: &Origin<'_>,
    names: &mut Names,
) -> Result<(CounterInfo, Mapping), Skipped> {
    let mut name = for_path(&metric.name);
    if name.is_empty() {
        return Err(Skipped::Unnamed { item: metric.item });
    }
    let mapping = Mapping::new(metric.kind, metric.semantics, metric.units)
        .map_err(|error| Skipped::Metric { name: metric.name.clone(), error })?;
    // Names are case-sensitive in PCP, but not in counter sets.
    if names.names.contains(&fold_case(&name)) {
        name = format!("{name} [{}]", metric.item);
    }
    // The largest id is reserved: in queries, it means all counters.
    if metric.item == u32::MAX || names.ids.contains(&metric.item) || names.names.contains(&fold_case(&name))
    {
        return Err(Skipped::Repeated { name: metric.name.clone(), item: metric.item });
    }
    names.ids.insert(metric.item);
    names.names.insert(fold_case(&name));
    let mut info = CounterInfo::new(metric.item, name.as_str(), mapping.class.counter_type());
    info.unit = mapping.class.unit(metric.units).into();
    info.source = origin.source.to_owned().into();
    let help =
        if metric.help.is_empty() { "The program has no description of this value." } else { &metric.help };
    info.help = match mapping.class {
        Class::DoubleTotal => format!("{help} (total since the program began)").into(),
        _ => help.to_owned().into(),
    };
    Ok((info, mapping))
}

/// If the set has times in ns, adds their common base: a clock in ns.
fn add_clock(info: &mut CounterSetInfo, names: &mut Names) {
    let needs_clock = |counter: &CounterInfo| counter.counter_type == CounterType::PRECISION_SYSTEM_TIMER;
    if !info.counters.iter().any(needs_clock) {
        return;
    }
    // A free id exists: there are at most 4,096 other counters.
    let Some(id) = (0..u32::MAX).rev().find(|id| !names.ids.contains(id)) else { return };
    names.ids.insert(id);
    info.counters.iter_mut().filter(|counter| needs_clock(counter)).for_each(|counter| {
        counter.base_id = Some(id);
    });
    let mut clock = CounterInfo::new(id, "", CounterType::LARGE_RAW_BASE);
    clock.help = "Not for display.".into();
    clock.attributes = Attributes::NO_DISPLAYABLE;
    info.counters.push(clock);
}

impl Plan {
    /// The approximate size of the sets in memory, including their rows in a sample.
    pub(super) fn memory_bytes(&self) -> u64 {
        let set_bytes = |set: &SetPlan| {
            let texts = set.info.counters.iter().map(|counter| 300 + counter.name.len() + counter.help.len());
            let names = set.instances.iter().map(|instance| 100 + instance.full_name().len());
            texts.sum::<usize>() + names.sum::<usize>() + 32 * set.entry_indexes.len()
        };
        self.sets.iter().map(set_bytes).sum::<usize>() as u64 + self.values.bytes()
    }
}

const PROVIDER_NAME: &str = "PCP MMV";

/// `mmv NAME`, or `mmv NAME SERIAL` for an instance domain.
fn set_name(file: &str, serial: Option<u32>) -> String {
    let file = for_path(file);
    match serial {
        None => format!("mmv {file}"),
        Some(serial) => format!("mmv {file} {serial}"),
    }
}

fn guid_from_name(name: &str) -> Guid {
    let sets = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"urn:tachograph:counter-sets");
    Guid::from_u128(Uuid::new_v5(&sets, name.as_bytes()).as_u128())
}

/// An identity that differs from the identity of every other instance with the same name. Never 0.
fn identity(file: u64, index: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (file, index).hash(&mut hasher);
    hasher.finish().max(1)
}
