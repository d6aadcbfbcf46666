//! Counter sets of this machine and of logs as JSON. Schema: docs/json.md.

use std::borrow::Cow;

use serde::Serialize;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::set::Counter;
use tachograph_perflib::published::Publisher;
use tachograph_perflib::registration::CounterInfo;

use super::chosen_set::{ChosenSet, unit_of};
use super::listed_set::{ListedSet, machines, sets};
use super::processes::ListedProcess;
use super::{Listed, ScannedLog, utc};

/// A log, or a counter set of this machine.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Object<'a> {
    Log(ListedLog<'a>),
    Set(MachineSet<'a>),
}

pub(super) fn objects(listed: &Listed) -> Vec<Object<'_>> {
    match listed {
        Listed::Log(log) => vec![Object::Log(ListedLog::new(log))],
        Listed::Found(found) => found.parts().map(|part| Object::Set(MachineSet::new(part))).collect(),
        Listed::Sets(sets) => sets.iter().map(|set| Object::Set(MachineSet::new(set))).collect(),
    }
}

#[derive(Serialize)]
pub(super) struct MachineSet<'a> {
    machine: &'a str,
    name: &'a str,
    guid: String,
    help: &'a str,
    has_instances: bool,
    instances_help: Option<&'a str>,
    instances: Option<Vec<&'a str>>,
    /// Only for processes that a path selected.
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<&'a [ListedProcess]>,
    /// Only for published sets.
    #[serde(skip_serializing_if = "Option::is_none")]
    publishers: Option<Vec<JsonPublisher<'a>>>,
    counters: Vec<MachineCounter<'a>>,
}

/// A process that publishes a set.
#[derive(Serialize)]
struct JsonPublisher<'a> {
    program: &'a str,
    process: u64,
    user: u32,
    since: String,
    instance_count: usize,
}

#[derive(Serialize)]
struct MachineCounter<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    counter_type: String,
    unit: String,
    default_scale: i32,
    source: &'a str,
    help: &'a str,
}

impl<'a> MachineSet<'a> {
    fn new(set: &'a ChosenSet) -> Self {
        let info = set.info();
        let counter = |counter: &'a CounterInfo| MachineCounter {
            name: &counter.name,
            counter_type: counter.counter_type.to_string(),
            unit: unit_of(counter),
            default_scale: counter.default_scale,
            source: &counter.source,
            help: &counter.help,
        };
        Self {
            machine: set.machine(),
            name: &info.name,
            guid: info.guid.to_string(),
            help: &info.help,
            has_instances: info.has_instances(),
            instances_help: info.has_instances().then_some(&*info.instances_help),
            instances: set
                .instances()
                .map(|instances| instances.iter().map(|instance| instance.label()).collect()),
            processes: set.processes(),
            publishers: set.publishers().map(|publishers| {
                let publisher = |(publisher, began): (&'a Publisher, Moment)| JsonPublisher {
                    program: &publisher.program,
                    process: publisher.process,
                    user: publisher.user,
                    since: began.rfc3339(),
                    instance_count: publisher.instances,
                };
                publishers.map(publisher).collect()
            }),
            counters: set.counters().map(counter).collect(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct ListedLog<'a> {
    file: Cow<'a, str>,
    format: &'static str,
    bytes: u64,
    machines: Vec<&'a str>,
    time_zone: Option<String>,
    is_time_zone_known: bool,
    first_time: Option<String>,
    last_time: Option<String>,
    first_time_utc: Option<String>,
    last_time_utc: Option<String>,
    samples: u64,
    interval_seconds: Option<f64>,
    values: u64,
    sets: Vec<JsonSet<'a>>,
}

#[derive(Serialize)]
struct JsonSet<'a> {
    machine: &'a str,
    name: &'a str,
    english_name: Option<&'a str>,
    instances: Option<Vec<&'a str>>,
    counters: Vec<JsonCounter<'a>>,
}

#[derive(Serialize)]
struct JsonCounter<'a> {
    name: &'a str,
    english_name: Option<&'a str>,
    #[serde(rename = "type")]
    counter_type: String,
    unit: Cow<'a, str>,
    default_scale: i32,
}

impl<'a> ListedLog<'a> {
    fn new(log: &'a ScannedLog) -> Self {
        let (facts, scan) = (log.facts(), &log.scan);
        let range = scan.time_range();
        Self {
            file: log.path.to_string_lossy(),
            format: facts.format.name(),
            bytes: log.bytes(),
            machines: machines(scan),
            time_zone: range.map(|(first, _)| facts.zone.name_at(&first).to_owned()),
            is_time_zone_known: facts.is_zone_known(),
            first_time: range.map(|(first, _)| first.rfc3339()),
            last_time: range.map(|(_, last)| last.rfc3339()),
            first_time_utc: range.map(|(first, _)| utc(first)),
            last_time_utc: range.map(|(_, last)| utc(last)),
            samples: scan.samples(),
            interval_seconds: scan.typical_interval().map(|units| units as f64 / FileTime::PER_SECOND as f64),
            values: scan.values(),
            sets: sets(scan).into_iter().map(JsonSet::from).collect(),
        }
    }
}

impl<'a> From<ListedSet<'a>> for JsonSet<'a> {
    fn from(listed: ListedSet<'a>) -> Self {
        Self {
            machine: &listed.set.machine,
            name: &listed.set.name,
            english_name: listed.set.english_name.as_deref(),
            instances: listed.set.has_instances.then_some(listed.instances),
            counters: listed.counters.into_iter().map(JsonCounter::from).collect(),
        }
    }
}

impl<'a> From<&'a Counter> for JsonCounter<'a> {
    fn from(counter: &'a Counter) -> Self {
        Self {
            name: &counter.name,
            english_name: counter.english_name.as_deref(),
            counter_type: counter.counter_type.to_string(),
            unit: counter.unit(),
            default_scale: counter.default_scale,
        }
    }
}
