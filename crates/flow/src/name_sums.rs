//! Sums over instances with the same name (`svchost`, `svchost#1`, ... become `svchost`), or over all instances.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, Instances};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_counters::{Calculator, CounterType, Formula, Origin, Pairer, RawValue, Status};

use crate::{FlowError, Sink, Source};

/// Replaces the instances of one name (`svchost`, `svchost#1`; in `Process V2` `svchost:1234`) with a single instance, whose
/// raw values are the sums over the replaced instances.
///
/// For counter types that need two samples, a sum is a running total: in each sample, it grows by the increases of the
/// instances since the previous sample. So an instance that appears or disappears does not change the sum. Sums of averages
/// per operation and of fractions are averages and fractions too: their numerators and bases are summed. If the value
/// of one instance cannot be read, the sum has the status of that value.
///
/// Some counters cannot be summed: inverse timers, elapsed times, formatted values, hexadecimal numbers, ids,
/// priorities and states. Such a counter has a value only while a single instance has the name. Sets without instances
/// are unchanged.
#[derive(Default)]
pub struct NameSums {
    /// For sums over all instances: which instances stand for others, such as `_Total`.
    is_total: Option<IsTotal>,
    sample: Sample,
    sets: Vec<SummedSet>,
    by_key: HashMap<SetKey, usize>,
    /// The groups of the last sample.
    inputs: Vec<Input>,
}

/// Returns whether an instance of the set with this name stands for several others, such as `_Total`.
pub type IsTotal = fn(&str, &Instance) -> bool;

/// The machine, the set, and its counters with their types and time bases. Groups with the same key are summed together: a log can have a
/// group for each instance.
type SetKey = (Arc<str>, Arc<str>, Vec<(Arc<str>, CounterType, i64)>);

/// A group of the last sample.
struct Input {
    set: Arc<CounterSet>,
    instances: Instances,
    is_present: bool,
    /// The index of the group in the result.
    output: usize,
    /// The index in [`NameSums::sets`], and the index in [`SummedSet::members`] of the group's first row; `None` for a
    /// set without instances.
    target: Option<(usize, usize)>,
}

/// The instances of a set in the last sample that contained it, and their names.
struct SummedSet {
    set: Arc<CounterSet>,
    columns: Vec<Column>,
    members: Vec<Member>,
    names: Vec<Name>,
    instances: Instances,
    /// The index of the group in the result.
    output: usize,
    /// Whether the set is part of the sample.
    is_present: bool,
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
struct Member {
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

/// Whether the names of a set's instances end in the id of a process.
fn has_ids(set: &CounterSet) -> bool {
    eq_ignore_case(set.english_name.as_deref().unwrap_or(&set.name), PROCESS_V2)
}

impl NameSums {
    /// The instance that is the sum of all instances with the name of this one: its parent and name, without `#n`.
    pub fn name_of(set: &CounterSet, instance: &Instance) -> Instance {
        summed_instance(instance, has_ids(set))
    }

    /// The name of the instance that is the sum of all instances of a set.
    pub const ALL: &str = "*";

    /// Sums all instances of a set on a machine, whatever their names: the sum is the instance [`ALL`](Self::ALL). Instances for which
    /// `is_total` is true are excluded if the set has others in the sample.
    pub fn of_all_instances(is_total: IsTotal) -> Self {
        Self { is_total: Some(is_total), ..Self::default() }
    }

    /// Whether the values of several instances of this counter have a sum.
    pub fn can_sum(counter: &Counter) -> bool {
        Column::new(counter).is_summable
    }

    /// Sums a sample. The result is valid until the next call.
    pub fn push(&mut self, sample: &Sample) -> &Sample {
        self.sample.copy_head(sample);
        if !self.has_layout_of(sample) {
            self.rebuild(sample);
        }
        for set in &mut self.sets {
            set.begin();
        }
        for (input, group) in self.inputs.iter().zip(&sample.groups) {
            match input.target {
                Some((set, member)) if input.is_present => {
                    self.sets[set].add(group, member, sample.boot_time_of(group));
                }
                Some(_) => {}
                None => copy_values(group, &mut self.sample.groups[input.output]),
            }
        }
        for set in &mut self.sets {
            // A set that is not in the sample has no group.
            if let Some(group) = self.sample.groups.get_mut(set.output) {
                set.write(group);
            }
        }
        for (input, group) in self.inputs.iter().zip(&sample.groups).filter(|(input, _)| input.is_present) {
            let sums = &mut self.sample.groups[input.output];
            (sums.read_at, sums.clocks, sums.boot_time) = (group.read_at, group.clocks, group.boot_time);
        }
        &self.sample
    }

    /// Whether a sample has the same groups and instances as the last one.
    fn has_layout_of(&self, sample: &Sample) -> bool {
        self.inputs.len() == sample.groups.len()
            && self.inputs.iter().zip(&sample.groups).all(|(input, group)| {
                Arc::ptr_eq(&input.set, &group.set)
                    && Arc::ptr_eq(&input.instances, &group.instances)
                    && input.is_present == group.is_present()
            })
    }

    /// Determines to which sum each row of the sample is added. Sets that are not in the sample keep their instances,
    /// since the sample may be from another log.
    fn rebuild(&mut self, sample: &Sample) {
        self.inputs.clear();
        self.sample.groups.clear();
        self.sets.iter_mut().for_each(|set| set.output = usize::MAX);
        let mut rebuilt: HashMap<usize, HashMap<Box<str>, Member>> = HashMap::new();
        for group in &sample.groups {
            let mut target = None;
            let mut output = self.sample.groups.len();
            if group.set.has_instances {
                let index = self.set_of(group);
                let set = &mut self.sets[index];
                if set.output == usize::MAX {
                    (set.output, set.is_present) = (output, false);
                    self.sample.groups.push(Group::new(Arc::clone(&set.set)));
                } else {
                    output = set.output;
                }
                target = Some((index, 0));
                if group.is_present() {
                    set.is_present = true;
                    let before = rebuilt.entry(index).or_insert_with(|| set.take_members());
                    target = Some((index, set.members.len()));
                    set.add_members(&group.instances, before);
                }
            } else {
                self.sample.groups.push(group.clone());
            }
            self.inputs.push(Input {
                set: Arc::clone(&group.set),
                instances: Arc::clone(&group.instances),
                is_present: group.is_present(),
                output,
                target,
            });
        }
        for index in rebuilt.into_keys() {
            self.sets[index].update_names();
        }
    }

    /// The index in `sets` of the set to which a group belongs. Adds the set if it is new.
    fn set_of(&mut self, group: &Group) -> usize {
        let lower_case = |name: &str| Arc::from(name.to_lowercase());
        let counters = group.set.counters.iter();
        let key = (
            lower_case(&group.set.machine),
            lower_case(&group.set.name),
            counters.map(|it| (lower_case(&it.name), it.counter_type, it.time_base)).collect(),
        );
        let next = self.sets.len();
        let index = *self.by_key.entry(key).or_insert(next);
        if index == next {
            self.sets.push(SummedSet::new(&group.set, self.is_total));
        }
        index
    }
}

impl SummedSet {
    fn new(set: &Arc<CounterSet>, is_total: Option<IsTotal>) -> Self {
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
    fn take_members(&mut self) -> HashMap<Box<str>, Member> {
        self.members.drain(..).map(|member| (member.label.label().into(), member)).collect()
    }

    /// Appends the instances of a group. Those in `before` keep their state.
    fn add_members(&mut self, instances: &Instances, before: &mut HashMap<Box<str>, Member>) {
        for instance in instances.iter() {
            let known = before.remove(instance.label());
            let pairers = known.map_or_else(|| vec![Pairer::default(); self.columns.len()], |it| it.pairers);
            self.members.push(Member { label: Arc::clone(instance), name: None, pairers });
        }
    }

    /// Determines the names of the members. A name that existed before keeps its sums.
    fn update_names(&mut self) {
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
    fn begin(&mut self) {
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
    fn add(&mut self, group: &Group, first_member: usize, boot_time: FileTime) {
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
    fn write(&mut self, group: &mut Group) {
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

/// Copies the values of a group that has the same description and instances.
fn copy_values(from: &Group, to: &mut Group) {
    to.values.clone_from(&from.values);
    to.identities.clone_from(&from.identities);
    to.status = from.status;
}

/// Sums the samples of another source with [`NameSums`].
pub struct NameSumsSource<S> {
    source: S,
    sums: NameSums,
    /// Buffer for the source's sample.
    sample: Sample,
}

impl<S> NameSumsSource<S> {
    /// A stage over `source`.
    pub fn new(source: S) -> Self {
        Self { source, sums: NameSums::default(), sample: Sample::default() }
    }
}

impl<S: Source> Source for NameSumsSource<S> {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        if !self.source.next(&mut self.sample)? {
            return Ok(false);
        }
        let summed = self.sums.push(&self.sample);
        sample.copy_head(summed);
        sample.groups.truncate(summed.groups.len());
        for (known, group) in sample.groups.iter_mut().zip(&summed.groups) {
            known.describe(&group.set);
            known.set_rows(&group.instances);
            copy_values(group, known);
            (known.read_at, known.clocks, known.boot_time) = (group.read_at, group.clocks, group.boot_time);
        }
        let added = summed.groups.get(sample.groups.len()..).unwrap_or_default();
        sample.groups.extend_from_slice(added);
        Ok(true)
    }
}

/// Sums each sample with [`NameSums`] and passes the result to another sink.
pub struct NameSumsSink<S> {
    sums: NameSums,
    /// The sink of the sums.
    pub sink: S,
}

impl<S> NameSumsSink<S> {
    /// A sink that passes sums to `sink`.
    pub fn new(sink: S) -> Self {
        Self { sums: NameSums::default(), sink }
    }
}

impl<S: Sink> Sink for NameSumsSink<S> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.sink.push(self.sums.push(sample))
    }

    fn finish(&mut self) -> Result<(), FlowError> {
        self.sink.finish()
    }
}
