//! Which instances of two logs are compared: each with its namesake, or the sum over the instances of a name.

use std::collections::HashMap;

use tachograph_counters::CounterType;

use super::compared_log::ComparedRows;
use crate::NameSums;
use crate::sinks::statistics::StatisticsRow;

/// How the two averages of a row were paired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstancePairing {
    /// By name and number: the same instance, or one that is not known to be another.
    Instance,
    /// By name, although another process has the name in the second log. A single process has it in each.
    Replaced,
    /// Sums over the instances of a name (`svchost`, `svchost#1`, ...), because their numbers mean other processes in the
    /// second log, or because the logs do not have as many of them.
    Sum {
        /// The number of instances with the name in the first log.
        before: usize,
        /// The number of instances with the name in the second log.
        after: usize,
    },
}

/// A process that starts earlier or later than another by less than this is the same process, if it has its id. Covers
/// steps of the wall clock between the logs. In units of 100 ns.
const SAME_START: i64 = 10 * 10_000_000;

/// The machine if machines are compared; the set, in lower case; the name without `#n`.
pub(super) type NameKey = (Option<String>, String, String);

/// The name of a row's instance; `None` for a set without instances.
pub(super) fn name_key(row: &StatisticsRow, has_machines: bool) -> Option<NameKey> {
    let instance = row.instance.as_ref()?;
    let machine = row.machine.as_ref().filter(|_| has_machines).map(|machine| machine.to_lowercase());
    Some((machine, row.set.name.to_lowercase(), NameSums::name_of(&row.set, instance).label().to_owned()))
}

/// How the instances of each name are paired; names that are not listed, by name and number.
pub(super) fn pair_all_instances(
    logs: [&ComparedRows; 2],
    has_machines: bool,
) -> HashMap<NameKey, InstancePairing> {
    if logs.iter().any(|log| log.sums.is_none()) {
        return HashMap::new();
    }
    let mut names: HashMap<NameKey, [Vec<Member<'_>>; 2]> = HashMap::new();
    for (index, log) in logs.into_iter().enumerate() {
        for member in members(log) {
            if let Some(key) = name_key(member.row, has_machines) {
                names.entry(key).or_default()[index].push(member);
            }
        }
    }
    let paired =
        names.into_iter().filter_map(|(key, [before, after])| Some((key, pair_instances(&before, &after)?)));
    paired.collect()
}

/// How the instances of a name are paired, if not by name and number.
fn pair_instances(before: &[Member<'_>], after: &[Member<'_>]) -> Option<InstancePairing> {
    let is_another = |one: &Member<'_>| {
        let label = one.label();
        after.iter().find(|other| other.label() == label).is_none_or(|other| one.is_another(other))
    };
    match (before, after) {
        // Rows of a single instance are those of the sum.
        ([before], [after]) if before.label() == after.label() => {
            let replaces = before.is_on_same_machine(after) && before.is_another(after);
            (replaces && before.identity.flatten().is_some() && after.identity.flatten().is_some())
                .then_some(InstancePairing::Replaced)
        }
        ([_], []) | ([], [_]) => None,
        _ if before.len() != after.len() || before.iter().any(is_another) => {
            Some(InstancePairing::Sum { before: before.len(), after: after.len() })
        }
        _ => None,
    }
}

/// An instance in one of the logs.
struct Member<'a> {
    /// One of its rows.
    row: &'a StatisticsRow,
    /// See [`Identities::get`].
    identity: Option<Option<u64>>,
    /// When the process started, in units of 100 ns since 1601, if the log has its age.
    start: Option<i64>,
}

impl Member<'_> {
    fn label(&self) -> &str {
        self.row.instance.as_ref().map_or("", |instance| instance.label())
    }

    fn is_on_same_machine(&self, other: &Self) -> bool {
        let machine = |member: &Self| member.row.machine.as_ref().map(|machine| machine.to_lowercase());
        machine(self) == machine(other)
    }

    /// Whether the instance is known to be another than that of the other log.
    fn is_another(&self, other: &Self) -> bool {
        let (Some(one), Some(two)) = (self.identity, other.identity) else { return false };
        let (Some(one), Some(two)) = (one, two) else { return true };
        let start_times_differ = |(one, two): (i64, i64)| one.abs_diff(two) > SAME_START.unsigned_abs();
        one != two
            || !self.is_on_same_machine(other)
            || self.start.zip(other.start).is_some_and(start_times_differ)
    }
}

/// The instances of a log.
fn members(log: &ComparedRows) -> Vec<Member<'_>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    let mut by_label: HashMap<(&str, &str, &str), usize> = HashMap::new();
    for row in &log.instances {
        let Some(instance) = &row.instance else { continue };
        let machine = row.machine.as_deref().unwrap_or_default();
        let index = *by_label.entry((machine, &row.set.name, instance.label())).or_insert(members.len());
        if index == members.len() {
            let identity = log.identities.get(machine, &row.set.name, instance.label());
            members.push(Member { row, identity, start: None });
        }
        if row.counter.counter_type == CounterType::ELAPSED_TIME {
            let age = row.summary.last.zip(row.summary.last_time);
            members[index].start = age.map(|(seconds, at)| at.utc.0.saturating_sub((seconds * 1e7) as i64));
        }
    }
    members
}

/// The rows to compare: those of instances, and those of sums where instances cannot be paired.
pub(super) fn rows_to_compare(
    log: ComparedRows,
    pairings: &HashMap<NameKey, InstancePairing>,
    has_machines: bool,
) -> Vec<StatisticsRow> {
    let is_sum = |row: &StatisticsRow| {
        let pairing = name_key(row, has_machines).and_then(|key| pairings.get(&key));
        matches!(pairing, Some(InstancePairing::Sum { .. }))
    };
    let mut rows = log.instances;
    rows.retain(|row| !is_sum(row));
    rows.extend(log.sums.into_iter().flatten().filter(is_sum));
    rows
}
