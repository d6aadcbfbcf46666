//! The sums of one set: which instances belong to which name, and the running totals of each counter.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Group;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{Calculator, CounterType, Formula, Origin, Pairer, RawValue, Status};

use super::{IsTotal, NameSums};

/// The instances of a set in the last sample that contained it, and their names.
pub(super) struct SummedSet {
    pub(super) set: Arc<CounterSet>,
    columns: Vec<Column>,
    pub(super) members: Vec<Member>,
    names: Vec<Name>,
    instances: Instances,
    /// The index of the group in the result.
    pub(super) output: usize,
    /// Whether the set is part of the sample.
    pub(super) is_present: bool,
    /// Whether the names of instances end in the id of a process: `svchost:1234`.
    has_ids: bool,
    /// For a sum over all instances: which instances stand for others, such as `_Total`.
    is_total: Option<IsTotal>,
}

/// How a counter is summed.
struct Column {
    calculator: Calculator,
    formula: Option<Formula>,
    /// Whether the second number of a raw value is a base, which is summed too. Otherwise it is a time.
    has_base: bool,
    is_summable: bool,
}

/// An instance of the last sample.
pub(super) struct Member {
    label: Arc<Instance>,
    /// The index in [`SummedSet::names`]; `None` if the instance is excluded from the sums.
    name: Option<usize>,
    /// One per counter.
    pairers: Vec<Pairer>,
}

/// A name, and the sums over the instances that have it.
struct Name {
    /// Parent and name, without `#n`.
    label: Arc<Instance>,
    /// One per counter.
    sums: Vec<Sum>,
    /// Changes when no instance is the same as in the previous sample, so that the sums are not paired.
    identity: u64,
    /// The number of instances in this sample.
    count: usize,
    /// Whether a value of an instance was paired with its previous value in this sample.
    is_paired: bool,
}

/// The sum of one counter.
#[derive(Clone, Copy, Default)]
struct Sum {
    /// For counter types that need two samples, `first` and `second` are running totals.
    first: i64,
    second: i64,
    multi_count: u32,
    /// The running totals of the previous sample.
    before: [i64; 2],
    /// For the first and the second number: whether that number of an instance has decreased since the previous sample.
    has_decreased: [bool; 2],
    /// Whether an instance has a value in this sample.
    has_value: bool,
    /// The first status of an instance that could not be read in this sample.
    error: Option<Status>,
}

/// The set whose instances are named `NAME:PID`.
const PROCESS_V2: &str = "Process V2";

/// The name of an instance, without the id of its process if `has_id`.
fn name_of(instance: &Instance, has_id: bool) -> &str {
    let name = instance.name();
    match name.rsplit_once(':').filter(|_| has_id) {
        Some((plain, id)) if !id.is_empty() && id.bytes().all(|digit| digit.is_ascii_digit()) => plain,
        _ => name,
    }
}

/// The sum to which an instance belongs.
fn summed_instance(instance: &Instance, has_id: bool) -> Instance {
    Instance::new(instance.parent(), name_of(instance, has_id), 0)
}

/// The sum to which an instance of a set belongs.
pub(super) fn sum_of(set: &CounterSet, instance: &Instance) -> Instance {
    summed_instance(instance, has_ids(set))
}

/// Whether the values of several instances of this counter have a sum.
pub(super) fn can_sum(counter: &Counter) -> bool {
    Column::new(counter).is_summable
}

/// Whether the names of a set's instances end in the id of a process.
fn has_ids(set: &CounterSet) -> bool {
    eq_ignore_case(set.english_name.as_deref().unwrap_or(&set.name), PROCESS_V2)
}

impl SummedSet {
    pub(super) fn new(set: &Arc<CounterSet>, is_total: Option<IsTotal>) -> Self {
        let summed = match &set.instance {
            None => Arc::clone(set),
            Some(_) => {
                let all = CounterSet::clone(set);
                Arc::new(CounterSet { instance: None, extent: Extent::Columns, ..all })
            }
        };
        Self {
            columns: set.counters.iter().map(Column::new).collect(),
            has_ids: has_ids(set),
            set: summed,
            members: Vec::new(),
            names: Vec::new(),
            instances: Instances::default(),
            output: usize::MAX,
            is_present: false,
            is_total,
        }
    }

    /// Removes the members, and returns them by label.
    pub(super) fn take_members(&mut self) -> HashMap<Box<str>, Member> {
        self.members.drain(..).map(|member| (member.label.label().into(), member)).collect()
    }

    /// Appends the instances of a group. Those in `before` keep their state.
    pub(super) fn add_members(&mut self, instances: &Instances, before: &mut HashMap<Box<str>, Member>) {
        for instance in instances.iter() {
            let known = before.remove(instance.label());
            let pairers = known.map_or_else(|| vec![Pairer::default(); self.columns.len()], |it| it.pairers);
            self.members.push(Member { label: Arc::clone(instance), name: None, pairers });
        }
    }

    /// Determines the names of the members. A name that existed before keeps its sums.
    pub(super) fn update_names(&mut self) {
        let mut before: HashMap<Box<str>, Name> =
            self.names.drain(..).map(|name| (name.label.label().into(), name)).collect();
        let mut by_label: HashMap<Box<str>, usize> = HashMap::new();
        let (set, is_total) = (Arc::clone(&self.set), self.is_total);
        let stands_for_others =
            |member: &Member| is_total.is_some_and(|is_total| is_total(&set.name, &member.label));
        let has_parts = !self.members.iter().all(stands_for_others);
        for member in &mut self.members {
            if has_parts && stands_for_others(member) {
                member.name = None;
                // If the member is summed again later, its first value must not be paired with an older one.
                member.pairers.fill_with(Pairer::default);
                continue;
            }
            let plain = match is_total {
                Some(_) => Instance::new(None, NameSums::ALL, 0),
                None => summed_instance(&member.label, self.has_ids),
            };
            let index = *by_label.entry(plain.label().into()).or_insert_with(|| {
                let known = before.remove(plain.label());
                self.names.push(known.unwrap_or_else(|| Name::new(plain, self.columns.len())));
                self.names.len() - 1
            });
            member.name = Some(index);
        }
        self.instances = self.names.iter().map(|name| Arc::clone(&name.label)).collect();
    }

    /// Prepares for the values of a sample.
    pub(super) fn begin(&mut self) {
        for name in &mut self.names {
            (name.count, name.is_paired) = (0, false);
            for (sum, column) in name.sums.iter_mut().zip(&self.columns) {
                (sum.has_value, sum.error) = (false, None);
                (sum.before, sum.has_decreased) = ([sum.first, sum.second], [false; 2]);
                if !column.is_running_total() {
                    (sum.first, sum.second) = (0, 0);
                }
            }
        }
    }

    /// Adds the values of a group, whose first row is the member with the index `first_member`.
    pub(super) fn add(&mut self, group: &Group, first_member: usize, boot_time: FileTime) {
        let members = self.members.iter_mut().skip(first_member);
        for (row, (member, values)) in members.zip(group.rows()).enumerate() {
            let Some(name) = member.name else { continue };
            let name = &mut self.names[name];
            name.count += usize::from(values.iter().any(|raw| raw.status != Status::NO_INSTANCE));
            let identity = group.identities.get(row).copied().unwrap_or_default();
            for (index, (raw, column)) in values.iter().zip(&self.columns).enumerate() {
                let pairer = &mut member.pairers[index];
                pairer.follow(Origin::new(&column.calculator, identity, boot_time));
                let older = pairer.pair(raw);
                name.is_paired |= older.is_some();
                name.sums[index].add(column, older.filter(|older| older.status.is_good()), raw);
            }
        }
    }

    /// Writes the sums as a group.
    pub(super) fn write(&mut self, group: &mut Group) {
        if !self.is_present {
            group.clear();
            group.status = Status::ITEM_NOT_VALIDATED;
            return;
        }
        group.clear_values();
        group.set_rows(&self.instances);
        for name in &mut self.names {
            if !name.is_paired {
                name.identity += 1;
            }
            group.identities.push(name.identity);
            let is_single = name.count == 1;
            let values = name.sums.iter_mut().zip(&self.columns);
            group.values.extend(values.map(|(sum, column)| sum.raw(column.is_summable || is_single)));
        }
    }
}

impl Name {
    fn new(label: Instance, columns: usize) -> Self {
        Self {
            label: Arc::new(label),
            sums: vec![Sum::default(); columns],
            identity: 0,
            count: 0,
            is_paired: false,
        }
    }
}

impl Sum {
    /// Adds the value of an instance. `older` is its previous value, if there is a valid one.
    fn add(&mut self, column: &Column, older: Option<RawValue>, raw: &RawValue) {
        if raw.status == Status::NO_INSTANCE {
            return;
        }
        if raw.status.is_error() {
            self.error.get_or_insert(raw.status);
            return;
        }
        self.multi_count = raw.multi_count;
        let is_first = !std::mem::replace(&mut self.has_value, true);
        if !column.is_running_total() {
            self.add_once(column, raw, is_first);
            return;
        }
        if !column.has_base {
            self.second = raw.second;
        }
        let Some(older) = older else { return };
        self.add_increase(0, raw.first, older.first);
        if column.has_base {
            self.add_increase(1, raw.second, older.second);
        }
    }

    /// Adds `newer - older` to a running total: `first` if `which` is 0, otherwise `second`.
    fn add_increase(&mut self, which: usize, newer: i64, older: i64) {
        let total = if which == 0 { &mut self.first } else { &mut self.second };
        match newer.checked_sub(older).filter(|increase| *increase >= 0) {
            Some(increase) => *total = total.wrapping_add(increase),
            None => self.has_decreased[which] = true,
        }
    }

    /// Adds a value of a counter type that needs only one sample.
    fn add_once(&mut self, column: &Column, raw: &RawValue, is_first: bool) {
        self.first = if is_first { raw.first } else { self.first.saturating_add(raw.first) };
        self.second = match column.formula {
            Some(Formula::Fraction) if !is_first => self.second.saturating_add(raw.second),
            _ => raw.second,
        };
    }

    /// The sum in this sample.
    fn raw(&mut self, is_shown: bool) -> RawValue {
        // If a number of an instance has decreased, the total decreases too, so that the sum is an error in this interval, and only
        // in this one.
        if self.has_decreased[0] {
            self.first = self.before[0].wrapping_sub(1);
        }
        if self.has_decreased[1] {
            self.second = self.before[1].wrapping_sub(1);
        }
        match self.error {
            _ if !is_shown => RawValue::error(Status::NO_INSTANCE),
            Some(status) => RawValue::error(status),
            None if !self.has_value => RawValue::error(Status::NO_INSTANCE),
            None => RawValue { multi_count: self.multi_count, ..RawValue::new(self.first, self.second) },
        }
    }
}

impl Column {
    fn new(counter: &Counter) -> Self {
        let (counter_type, formula) = (counter.counter_type, counter.counter_type.formula());
        let is_linear = !matches!(
            formula,
            None | Some(
                Formula::InversePercent | Formula::MultiInversePercent | Formula::Elapsed | Formula::Double
            )
        );
        let name = counter.english_name.as_deref().unwrap_or(&counter.name);
        Self {
            calculator: counter.calculator(),
            formula,
            has_base: matches!(
                counter_type,
                CounterType::AVERAGE_TIMER | CounterType::AVERAGE_BULK | CounterType::SAMPLE_FRACTION
            ),
            is_summable: is_linear && !counter_type.is_hexadecimal() && !is_label(name),
        }
    }

    fn is_running_total(&self) -> bool {
        self.formula.is_some_and(Formula::needs_two_samples)
    }
}

/// Whether the numbers of a counter are ids, codes or addresses, so that their sum is meaningless.
fn is_label(counter: &str) -> bool {
    const LABELS: [&str; 5] =
        ["Priority Base", "Priority Current", "Thread State", "Thread Wait Reason", "Start Address"];
    LABELS.iter().any(|label| label.eq_ignore_ascii_case(counter))
        || counter.split(' ').any(|word| word.eq_ignore_ascii_case("ID"))
}
