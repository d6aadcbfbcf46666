//! The counter sets of one MMV file: what was described becomes counters, rows and the places of their values.

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
use super::value::{Class, Mapping, NoCounter};

/// The most cells (instances times counters) of all sets of a file.
pub(super) const MOST_CELLS: usize = 1 << 20;

/// No value stands for this cell.
pub(super) const NO_RECORD: u32 = u32::MAX;

/// Where a file came from, as far as its sets say so.
pub(super) struct Origin<'a> {
    /// The file's name.
    pub(super) name: &'a str,
    /// For people: the path.
    pub(super) source: &'a str,
    /// Who owns the file.
    pub(super) uid: Option<u32>,
    /// What tells this file from all that had its name before.
    pub(super) identity: u64,
}

/// The sets of a file.
#[derive(Debug)]
pub(super) struct Plan {
    pub(super) sets: Vec<SetPlan>,
    pub(super) values: Section,
    pub(super) is_sentinel: bool,
    /// The process without which the values mean nothing.
    pub(super) process: Option<i32>,
}

/// One set: its metrics have the same instance domain, or none.
#[derive(Debug)]
pub(super) struct SetPlan {
    /// The serial of the instance domain.
    pub(super) serial: Option<u32>,
    pub(super) info: Arc<CounterSetInfo>,
    pub(super) fields: Vec<Field>,
    pub(super) instances: Vec<Arc<InstanceKey>>,
    /// For each instance, for each field: the number of its value.
    pub(super) records: Vec<u32>,
}

/// A counter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) id: u32,
    pub(super) mapping: Mapping,
}

/// What of a file is no counter, or no set.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LeftOut {
    /// What cannot be mapped, or has no name.
    Metric {
        name: String,
        why: NoCounter,
    },
    Unnamed {
        item: u32,
    },
    /// Another metric has its item number, or its name.
    Repeated {
        name: String,
        item: u32,
    },
    /// A set would be too large a table.
    TooLarge {
        set: Arc<str>,
        cells: usize,
    },
    Refused(RegistrationError),
    /// So many values of a metric and instance that have one before.
    RepeatedValues(usize),
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Metric { name, why } => write!(f, "metric '{name}' is left out: {why}"),
            Self::Unnamed { item } => write!(f, "metric {item} is left out: it has no name"),
            Self::Repeated { name, item } => {
                write!(f, "metric '{name}' is left out: another has its item number {item} or its name")
            }
            Self::TooLarge { set, cells } => {
                write!(f, "counter set '{set}' is left out: {cells} values, at most {MOST_CELLS} in a file")
            }
            Self::Refused(error) => write!(f, "left out: {error}"),
            Self::RepeatedValues(count) => {
                write!(f, "{count} values are left out: their metrics and instances have values before them")
            }
        }
    }
}

/// Makes the sets of a file; what is left out of them is told.
pub(super) fn plan(layout: &Layout, origin: &Origin<'_>) -> (Plan, Vec<LeftOut>) {
    let mut left_out = Vec::new();
    let mut sets = Vec::new();
    // By metric: its set and column.
    let mut homes = vec![None; layout.metrics.len()];
    let mut cells = 0;
    let domains = std::iter::once(None).chain((0..layout.indoms.len()).map(Some));
    for domain in domains {
        let is_member = |metric: &Metric| metric.indom.map(|indom| indom as usize) == domain;
        let members: Vec<usize> =
            (0..layout.metrics.len()).filter(|&place| is_member(&layout.metrics[place])).collect();
        let Some((mut set, places)) = describe(layout, origin, domain, &members, &mut left_out) else {
            continue;
        };
        let size = set.instances.len().saturating_mul(set.fields.len());
        if size > MOST_CELLS - cells {
            left_out.push(LeftOut::TooLarge { set: Arc::from(&*set.info.name), cells: size });
            continue;
        }
        cells += size;
        set.records = vec![NO_RECORD; size];
        for (column, place) in places.into_iter().enumerate() {
            homes[place] = Some((sets.len(), column));
        }
        sets.push(set);
    }
    place_values(layout, &homes, &mut sets, &mut left_out);
    let header = &layout.header;
    let plan = Plan { sets, values: layout.values, is_sentinel: header.is_sentinel, process: header.process };
    (plan, left_out)
}

/// Gives each value of the file its cell.
fn place_values(
    layout: &Layout,
    homes: &[Option<(usize, usize)>],
    sets: &mut [SetPlan],
    left_out: &mut Vec<LeftOut>,
) {
    let mut repeated = 0;
    for (value, owner) in (0..).zip(&layout.owners) {
        let Some((set, column)) = homes[owner.metric as usize] else { continue };
        let metric = &layout.metrics[owner.metric as usize];
        let first = metric.indom.map_or(0, |indom| layout.indoms[indom as usize].instances.start);
        let row = owner.instance.map_or(0, |instance| instance - first);
        let set = &mut sets[set];
        match &mut set.records[row as usize * set.fields.len() + column] {
            record if *record == NO_RECORD => *record = value,
            _ => repeated += 1,
        }
    }
    if repeated > 0 {
        left_out.push(LeftOut::RepeatedValues(repeated));
    }
}

/// A set with its counters and instances, and the metrics that its columns are; `None` where no metric can be a counter.
fn describe(
    layout: &Layout,
    origin: &Origin<'_>,
    domain: Option<usize>,
    members: &[usize],
    left_out: &mut Vec<LeftOut>,
) -> Option<(SetPlan, Vec<usize>)> {
    let indom = domain.map(|place| &layout.indoms[place]);
    let name = set_name(origin.name, indom.map(|indom| indom.serial));
    let kind = if indom.is_some() { InstanceType::Multiple } else { InstanceType::Single };
    let mut info = CounterSetInfo::new(name.as_str(), guid(&name), kind);
    info.provider_guid = guid(PROVIDER_NAME);
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

    let (mut fields, mut places) = (Vec::new(), Vec::new());
    let mut names = Names::default();
    for &place in members {
        let metric = &layout.metrics[place];
        match counter(metric, origin, &mut names) {
            Ok((counter, mapping)) => {
                places.push(place);
                fields.push(Field { id: counter.id, mapping });
                info.counters.push(counter);
            }
            Err(why) => left_out.push(why),
        }
    }
    if fields.is_empty() {
        return None;
    }
    add_clock(&mut info, &mut names);
    if let Err(error) = info.check() {
        left_out.push(LeftOut::Refused(error));
        return None;
    }
    let instances = match indom {
        None => vec![Arc::new(InstanceKey::new("", 0, identity(origin.identity, 0)))],
        Some(indom) => {
            let key = |place: u32| {
                let instance = &layout.instances[place as usize];
                let id = instance.internal.cast_unsigned();
                Arc::new(InstanceKey::new(instance.name.as_str(), id, identity(origin.identity, place)))
            };
            indom.instances.clone().map(key).collect()
        }
    };
    let serial = indom.map(|indom| indom.serial);
    Some((SetPlan { serial, info: Arc::new(info), fields, instances, records: Vec::new() }, places))
}

/// Ids and names that a set's counters have.
#[derive(Default)]
struct Names {
    ids: HashSet<u32>,
    names: HashSet<String>,
}

fn counter(
    metric: &Metric,
    origin: &Origin<'_>,
    known: &mut Names,
) -> Result<(CounterInfo, Mapping), LeftOut> {
    let mut name = for_path(&metric.name);
    if name.is_empty() {
        return Err(LeftOut::Unnamed { item: metric.item });
    }
    let mapping = Mapping::of(metric.kind, metric.semantics, metric.units)
        .map_err(|why| LeftOut::Metric { name: metric.name.clone(), why })?;
    // Names are compared without case here, and with it by PCP.
    if known.names.contains(&fold_case(&name)) {
        name = format!("{name} [{}]", metric.item);
    }
    // The id that stands for all counters is nobody's.
    if metric.item == u32::MAX || known.ids.contains(&metric.item) || known.names.contains(&fold_case(&name))
    {
        return Err(LeftOut::Repeated { name: metric.name.clone(), item: metric.item });
    }
    known.ids.insert(metric.item);
    known.names.insert(fold_case(&name));
    let mut info = CounterInfo::new(metric.item, name.as_str(), mapping.class.counter_type());
    info.unit = mapping.class.unit(metric.units).into();
    info.source = origin.source.to_owned().into();
    let help = if metric.help.is_empty() { "The program does not say what it is." } else { &metric.help };
    info.help = match mapping.class {
        Class::DoubleTotal => format!("{help} (the total since the program began)").into(),
        _ => help.to_owned().into(),
    };
    Ok((info, mapping))
}

/// Adds the clock that divides times in ns, where there are any: a base that all of them share.
fn add_clock(info: &mut CounterSetInfo, known: &mut Names) {
    let is_divided = |counter: &CounterInfo| counter.counter_type == CounterType::PRECISION_SYSTEM_TIMER;
    if !info.counters.iter().any(is_divided) {
        return;
    }
    // There are at most 4,096 others.
    let Some(id) = (0..u32::MAX).rev().find(|id| !known.ids.contains(id)) else { return };
    known.ids.insert(id);
    info.counters.iter_mut().filter(|counter| is_divided(counter)).for_each(|counter| {
        counter.base_id = Some(id);
    });
    let mut clock = CounterInfo::new(id, "", CounterType::LARGE_RAW_BASE);
    clock.help = "Not for display.".into();
    clock.attributes = Attributes::NO_DISPLAYABLE;
    info.counters.push(clock);
}

impl Plan {
    /// About how many bytes of memory its sets take, their rows in a sample included.
    pub(super) fn memory_bytes(&self) -> u64 {
        let of_set = |set: &SetPlan| {
            let texts = set.info.counters.iter().map(|counter| 300 + counter.name.len() + counter.help.len());
            let names = set.instances.iter().map(|instance| 100 + instance.full_name().len());
            texts.sum::<usize>() + names.sum::<usize>() + 32 * set.records.len()
        };
        self.sets.iter().map(of_set).sum::<usize>() as u64 + self.values.bytes()
    }
}

const PROVIDER_NAME: &str = "PCP MMV";

/// `mmv NAME`, or `mmv NAME SERIAL` of an instance domain.
fn set_name(file: &str, serial: Option<u32>) -> String {
    let file = for_path(file);
    match serial {
        None => format!("mmv {file}"),
        Some(serial) => format!("mmv {file} {serial}"),
    }
}

/// The GUID of a counter set of this name that is not in a table.
fn guid(name: &str) -> Guid {
    let sets = Uuid::new_v5(&Uuid::NAMESPACE_URL, b"urn:tachograph:counter-sets");
    Guid::from_u128(Uuid::new_v5(&sets, name.as_bytes()).as_u128())
}

/// What tells an instance of a file from all others that ever have its name. Never 0.
fn identity(file: u64, place: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    (file, place).hash(&mut hasher);
    hasher.finish().max(1)
}
