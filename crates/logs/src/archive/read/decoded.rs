//! A decoded row group.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use tachograph_counters::sample::{Group, Sample};
use tachograph_counters::set::{CounterSet, Instances};
use tachograph_counters::{CounterType, Formula, RawValue, Status};

use super::super::block::for_each_series;
use super::super::columns::{COLUMNS, column_index};
use super::super::file::ArchiveFile;
use super::super::interval::{IntervalNumbers, restore};
use super::super::parquet::{NumberCursor, OptionalNumbers, Texts};
use super::super::ranges::ReadRanges;
use super::super::table::{GroupHeads, InstanceRuns, SampleTable};
use crate::{CounterFilter, LogError};

mod interner;

pub(super) use interner::Interner;

/// The columns from which raw values are restored.
const DECODED_COLUMNS: [usize; 7] = [
    column_index::NUM,
    column_index::DEN,
    column_index::VALUE,
    column_index::RAW_FIRST,
    column_index::RAW_SECOND,
    column_index::MULTI_COUNT,
    column_index::STATUS,
];

/// The status of values that are not needed.
const NOT_READ: Status = Status::NO_DATA;

/// The counters whose values are needed, and their rows.
struct NeededCounters {
    /// For each slot, whether each counter is needed; empty if all are.
    counters: Vec<Vec<bool>>,
    /// Ascending ranges of rows.
    rows: Vec<Range<usize>>,
}

impl NeededCounters {
    fn new(table: &SampleTable, sets: &[Arc<CounterSet>], filter: Option<&CounterFilter>) -> Self {
        let of_set = |set: &CounterSet, filter: &CounterFilter| -> Vec<bool> {
            set.counters.iter().map(|counter| filter(set, counter)).collect()
        };
        let counters = filter.map(|filter| {
            let of_sets: Vec<_> = sets.iter().map(|set| of_set(set, filter)).collect();
            table.slots.iter().map(|slot| of_sets[slot.set as usize].clone()).collect()
        });
        let mut needed = Self { counters: counters.unwrap_or_default(), rows: Vec::new() };
        let (mut row, mut rows) = (0, Vec::<Range<usize>>::new());
        for section in &table.sections {
            let runs = &table.instances[section.instances as usize];
            for_each_series(section, runs.len(), |slot, column, instance| {
                let series = row..row + runs[instance].rows();
                row = series.end;
                match rows.last_mut() {
                    _ if series.is_empty() || !needed.has(slot, column) => {}
                    Some(last) if last.end == series.start => last.end = series.end,
                    _ => rows.push(series),
                }
            });
        }
        needed.rows = rows;
        needed
    }

    fn has(&self, slot: usize, counter: usize) -> bool {
        self.counters.is_empty() || self.counters[slot][counter]
    }
}

/// The groups of one description.
struct DecodedSlot {
    set: Arc<CounterSet>,
    heads: GroupHeads,
    /// The values of all groups, concatenated.
    values: Vec<RawValue>,
    /// The lists of instances, each with the index of the first group that has it.
    instances: Arc<[(u32, Instances)]>,
    /// The position of the next group.
    next: SlotPosition,
}

/// For the next group of a slot: the index of its head, its index among the groups with rows, and the indexes of its first
/// value and of the next list of instances.
#[derive(Clone, Copy, Default)]
struct SlotPosition {
    head: usize,
    group: u32,
    value: usize,
    instances: usize,
}

/// The samples of a row group.
pub(super) struct DecodedBlock {
    table: SampleTable,
    slots: Vec<DecodedSlot>,
    next: usize,
    /// No longer needed; the next row group reuses the memory.
    columns: Columns,
}

/// The decoded columns of the needed rows.
#[derive(Default)]
struct Columns {
    num: OptionalNumbers,
    den: OptionalNumbers,
    value: OptionalNumbers,
    raw_first: OptionalNumbers,
    raw_second: OptionalNumbers,
    multi_count: OptionalNumbers,
    /// Ranges of rows with a status.
    statuses: Vec<(Range<usize>, Status)>,
}

/// Reads columns in ascending order of rows.
struct ColumnCursors<'a> {
    num: NumberCursor<'a>,
    den: NumberCursor<'a>,
    value: NumberCursor<'a>,
    raw_first: NumberCursor<'a>,
    raw_second: NumberCursor<'a>,
    multi_count: NumberCursor<'a>,
    /// The ranges of rows with a status, from the current row on.
    statuses: &'a [(Range<usize>, Status)],
}

impl DecodedBlock {
    /// Reads and decodes a row group. Reuses the memory of the earlier one. With a filter, values of other counters are not
    /// read, and have an error status.
    pub(super) fn read<R: ReadRanges>(
        file: &mut ArchiveFile<R>,
        index: usize,
        interner: &mut Interner,
        earlier: Option<Self>,
        filter: Option<&CounterFilter>,
    ) -> Result<Self, LogError> {
        let table = file.table(index)?;
        let (earlier_slots, earlier) =
            earlier.map_or_else(Default::default, |earlier| (earlier.slots, earlier.columns));
        let values = value_buffers(earlier_slots, &table, &file.sets);
        let needed = NeededCounters::new(&table, &file.sets, filter);
        if filter.is_none() {
            // The other columns repeat the sample table. They are only verified, so that any damage is detected.
            for column in (0..COLUMNS.len()).filter(|column| !DECODED_COLUMNS.contains(column)) {
                file.chunk(index, &table, column)?;
            }
        }
        let mut numbers = |column, reused| file.numbers_in_rows(index, &table, column, &needed.rows, reused);
        let columns = Columns {
            num: numbers(column_index::NUM, earlier.num)?,
            den: numbers(column_index::DEN, earlier.den)?,
            value: numbers(column_index::VALUE, earlier.value)?,
            raw_first: numbers(column_index::RAW_FIRST, earlier.raw_first)?,
            raw_second: numbers(column_index::RAW_SECOND, earlier.raw_second)?,
            multi_count: numbers(column_index::MULTI_COUNT, earlier.multi_count)?,
            statuses: read_statuses(file, index, &table, &needed.rows)?,
        };
        interner.begin_block(&file.sets);
        let mut slots: Vec<DecodedSlot> = Vec::with_capacity(table.slots.len());
        for (slot, values) in table.slots.iter().zip(values) {
            slots.push(DecodedSlot {
                set: Arc::clone(interner.shared_set(slot.set as usize)),
                heads: slot.heads.clone(),
                values,
                instances: Arc::default(),
                next: SlotPosition::default(),
            });
        }
        let mut cursors = columns.cursors();
        let mut row = 0;
        for section in table.sections.iter().filter(|section| !section.columns.is_empty()) {
            let runs = &table.instances[section.instances as usize];
            let groups =
                runs.iter().filter_map(|instance| instance.runs.last()).map(|run| run.end).max().unwrap_or(0);
            let starts = row_starts(runs, groups as usize);
            let mut lists: HashMap<*const str, Arc<[(u32, Instances)]>> = HashMap::new();
            for &(slot, _) in &section.columns {
                let slot = &mut slots[slot as usize];
                if slot.instances.is_empty() {
                    let set = Arc::clone(&slot.set);
                    let lists = lists
                        .entry(Arc::as_ptr(&set.name))
                        .or_insert_with(|| instance_lists(runs, &set, interner));
                    slot.instances = Arc::clone(lists);
                }
            }
            // For each group, the number of restored rows of the current column.
            let mut restored_rows = vec![0u32; groups as usize];
            // For each value of the instance, the index of its row among the rows of all groups.
            let mut targets: Vec<usize> = Vec::new();
            let mut last_instance = None;
            for_each_series(section, runs.len(), |slot, column, instance| {
                let is_other = last_instance != Some(instance);
                if is_other {
                    match last_instance {
                        Some(last) if last < instance => count_rows(&runs[last], &mut restored_rows),
                        last => clear_rows(&runs[..last.map_or(0, |last| last + 1)], &mut restored_rows),
                    }
                    last_instance = Some(instance);
                } else if !section.is_by_instance {
                    // The section has a single instance, and this is its next column.
                    clear_rows(&runs[..=instance], &mut restored_rows);
                }
                if is_other || !section.is_by_instance {
                    let groups = runs[instance].runs.iter().flat_map(Clone::clone);
                    let target = |group: u32| starts[group as usize] + restored_rows[group as usize] as usize;
                    targets.clear();
                    targets.extend(groups.map(target));
                }
                let is_needed = needed.has(slot, column);
                let slot = &mut slots[slot];
                let mut series = SeriesValues {
                    targets: &targets,
                    width: slot.set.counters.len(),
                    column,
                    values: &mut slot.values,
                };
                if is_needed {
                    restore_series(&mut cursors, row, slot.set.counters[column].counter_type, series);
                    row += runs[instance].rows();
                } else {
                    (0..targets.len()).for_each(|index| series.set(index, RawValue::error(NOT_READ)));
                }
            });
        }
        interner.end_block();
        Ok(Self { table, slots, next: 0, columns })
    }

    /// The index of the next sample.
    pub(super) fn position(&self) -> usize {
        self.next
    }

    /// Moves to a sample.
    pub(super) fn seek(&mut self, sample: usize) {
        if sample < self.next {
            self.slots.iter_mut().for_each(|slot| slot.next = SlotPosition::default());
            self.next = 0;
        }
        while self.next < sample.min(self.table.samples.len()) {
            let list = &self.table.lists[self.table.samples[self.next].list as usize];
            list.iter().for_each(|&slot| self.slots[slot as usize].skip());
            self.next += 1;
        }
    }

    /// Fills in the next sample; returns false at the end.
    pub(super) fn next(&mut self, sample: &mut Sample) -> bool {
        let Some(head) = self.table.samples.get(self.next) else { return false };
        self.next += 1;
        sample.at = head.at;
        sample.is_baseline = head.is_baseline;
        sample.log = head.log;
        sample.boot_time = head.boot_time;
        let list = &self.table.lists[head.list as usize];
        sample.groups.truncate(list.len());
        for (index, &slot) in list.iter().enumerate() {
            let slot = &mut self.slots[slot as usize];
            if index == sample.groups.len() {
                sample.groups.push(Group::new(Arc::clone(&slot.set)));
            }
            slot.fill(&mut sample.groups[index]);
        }
        true
    }
}

impl DecodedSlot {
    /// Fills in the next group.
    fn fill(&mut self, group: &mut Group) {
        group.describe(&self.set);
        group.clear_values();
        if let Some(head) = self.heads.get(self.next.head) {
            group.status = head.status;
            group.read_at = head.read_at;
            group.clocks = head.clocks;
            group.boot_time = head.boot_time;
        }
        if !group.is_present() {
            group.clear_rows();
            self.skip();
            return;
        }
        let start = self.next.value;
        self.skip();
        group.values.extend_from_slice(self.values.get(start..self.next.value).unwrap_or_default());
        match self.current_instances() {
            Some(instances) => group.set_rows(instances),
            None => group.clear_rows(),
        }
    }

    /// The instances of the last group before the current position.
    fn current_instances(&self) -> Option<&Instances> {
        self.instances.get(self.next.instances.checked_sub(1)?).map(|(_, instances)| instances)
    }

    /// Moves past the next group.
    fn skip(&mut self) {
        let is_present = self.heads.get(self.next.head).is_some_and(|head| head.is_present());
        self.next.head += 1;
        if !is_present {
            return;
        }
        if self.instances.get(self.next.instances).is_some_and(|(from, _)| *from == self.next.group) {
            self.next.instances += 1;
        }
        let rows = self.current_instances().map_or(0, |instances| instances.len());
        self.next.value += rows * self.set.counters.len();
        self.next.group += 1;
    }
}

/// Returns a buffer for the values of each slot of a row group. All values will be overwritten. A buffer of the earlier row
/// group is reused if it has about the needed size, because the system fills each page of new memory with zeros.
fn value_buffers(
    earlier: Vec<DecodedSlot>,
    table: &SampleTable,
    sets: &[Arc<CounterSet>],
) -> Vec<Vec<RawValue>> {
    let mut lens = vec![0; table.slots.len()];
    for section in &table.sections {
        let rows: usize = table.instances[section.instances as usize].iter().map(InstanceRuns::rows).sum();
        for &(slot, _) in &section.columns {
            lens[slot as usize] = rows * sets[table.slots[slot as usize].set as usize].counters.len();
        }
    }
    let mut reusable: Vec<_> = earlier.into_iter().map(|slot| slot.values).collect();
    reusable.sort_unstable_by_key(Vec::capacity);
    let mut reusable = reusable.into_iter().peekable();
    let mut by_len: Vec<usize> = (0..lens.len()).collect();
    by_len.sort_unstable_by_key(|&slot| lens[slot]);
    let mut buffers = vec![Vec::new(); lens.len()];
    for slot in by_len {
        while reusable.next_if(|buffer| buffer.capacity() < lens[slot]).is_some() {}
        if let Some(buffer) = reusable.next_if(|buffer| buffer.capacity() / 2 <= lens[slot]) {
            buffers[slot] = buffer;
        }
    }
    drop(reusable);
    for (buffer, len) in buffers.iter_mut().zip(lens) {
        buffer.truncate(len);
        buffer.reserve_exact(len - buffer.len());
        buffer.resize(len, RawValue::default());
    }
    buffers
}

/// For one column: the first row of each group, followed by the total number of rows.
fn row_starts(runs: &[InstanceRuns], groups: usize) -> Vec<usize> {
    let mut changes = vec![0isize; groups + 1];
    for run in runs.iter().flat_map(|instance| &instance.runs) {
        changes[run.start as usize] += 1;
        changes[run.end as usize] -= 1;
    }
    let (mut rows, mut start) = (0isize, 0usize);
    let mut starts = vec![0];
    for change in &changes[..groups] {
        rows += change;
        start += rows.unsigned_abs();
        starts.push(start);
    }
    starts
}

fn count_rows(instance: &InstanceRuns, restored_rows: &mut [u32]) {
    for run in &instance.runs {
        restored_rows[run.start as usize..run.end as usize].iter_mut().for_each(|rows| *rows += 1);
    }
}

/// Resets the counts for these instances, in time proportional to their rows, not to the number of groups.
fn clear_rows(instances: &[InstanceRuns], restored_rows: &mut [u32]) {
    for run in instances.iter().flat_map(|instance| &instance.runs) {
        restored_rows[run.start as usize..run.end as usize].fill(0);
    }
}

/// The lists of instances, each with the index of the first group that has it.
fn instance_lists(
    runs: &[InstanceRuns],
    set: &CounterSet,
    interner: &mut Interner,
) -> Arc<[(u32, Instances)]> {
    let instances: Vec<_> = runs.iter().map(|instance| interner.intern_instance(set, instance)).collect();
    // The group at which a run begins or ends, the instance, and whether the run begins.
    let mut changes: Vec<(u32, u32, bool)> = Vec::new();
    for (index, instance) in runs.iter().enumerate() {
        for run in &instance.runs {
            changes.extend([(run.start, index as u32, true), (run.end, index as u32, false)]);
        }
    }
    changes.sort_unstable();
    let mut lists = Vec::new();
    let mut active: Vec<u32> = Vec::new();
    for changes in changes.chunk_by(|one, other| one.0 == other.0) {
        let is_listed =
            |index: u32, begins: bool| changes.binary_search(&(changes[0].0, index, begins)).is_ok();
        // An instance stays in the list if its next run begins at the group at which a run ends.
        active.retain(|&index| !is_listed(index, false) || is_listed(index, true));
        let begun = changes.iter().filter(|&&(_, index, begins)| begins && !is_listed(index, false));
        active.extend(begun.map(|&(_, index, _)| index));
        active.sort_unstable();
        lists.push((
            changes[0].0,
            active.iter().map(|&index| Arc::clone(&instances[index as usize])).collect(),
        ));
    }
    lists.into()
}

/// The values of a series within those of its slot.
struct SeriesValues<'a> {
    /// The row of each value.
    targets: &'a [usize],
    /// The number of values in a row.
    width: usize,
    /// The position of the series' values in their rows.
    column: usize,
    values: &'a mut [RawValue],
}

impl SeriesValues<'_> {
    #[inline(always)]
    fn set(&mut self, index: usize, raw: RawValue) {
        let at = self.targets[index] * self.width + self.column;
        self.values[at] = raw;
    }
}

/// Restores the raw values of a series whose first row is `row`.
fn restore_series(
    columns: &mut ColumnCursors<'_>,
    row: usize,
    counter_type: CounterType,
    mut series: SeriesValues<'_>,
) {
    let formula = counter_type.formula();
    let rows = row..row + series.targets.len();
    let mut previous = RawValue::new(0, 0);
    for (index, row) in rows.clone().enumerate() {
        previous = columns.restore(row, formula, &previous);
        series.set(index, previous);
        // Usually only the first row has values in other columns than `num` and `den`.
        if index == 0
            && let Some((num, den)) = columns.plain(row + 1..rows.end)
        {
            for (index, (&num, &den)) in num.iter().zip(den).enumerate() {
                let interval = IntervalNumbers { num: Some(num), den: Some(den), value: None };
                previous = restore(formula, &previous, &interval, previous.multi_count, Status::VALID_DATA);
                series.set(index + 1, previous);
            }
            return;
        }
    }
}

impl Columns {
    fn cursors(&self) -> ColumnCursors<'_> {
        let Self { num, den, value, raw_first, raw_second, multi_count, statuses } = self;
        ColumnCursors {
            num: num.cursor(),
            den: den.cursor(),
            value: value.cursor(),
            raw_first: raw_first.cursor(),
            raw_second: raw_second.cursor(),
            multi_count: multi_count.cursor(),
            statuses,
        }
    }
}

impl<'a> ColumnCursors<'a> {
    /// Restores the raw value of a row from that of the row before.
    fn restore(&mut self, row: usize, formula: Option<Formula>, previous: &RawValue) -> RawValue {
        let interval = IntervalNumbers {
            num: self.num.get(row),
            den: self.den.get(row),
            value: self.value.get(row).map(|bits| f64::from_bits(bits as u64)),
        };
        let multi_count = self.multi_count.get(row).map_or(previous.multi_count, |count| count as u32);
        let status = self.next_status(row).filter(|(rows, _)| rows.contains(&row));
        let status = status.map_or(Status::VALID_DATA, |(_, status)| *status);
        let mut raw = restore(formula, previous, &interval, multi_count, status);
        if let Some(first) = self.raw_first.get(row) {
            raw.first = first;
        }
        if let Some(second) = self.raw_second.get(row) {
            raw.second = second;
        }
        raw
    }

    /// The numerators and denominators of these rows, if each row has both, and nothing else.
    fn plain(&mut self, rows: Range<usize>) -> Option<(&'a [i64], &'a [i64])> {
        let numbers = (self.num.all(rows.clone())?, self.den.all(rows.clone())?);
        let others = [&mut self.value, &mut self.raw_first, &mut self.raw_second, &mut self.multi_count];
        let have_none = others.into_iter().all(|column| column.has_none(rows.clone()));
        let next_status = self.next_status(rows.start);
        (have_none && next_status.is_none_or(|(with_status, _)| with_status.start >= rows.end))
            .then_some(numbers)
    }

    /// The first range with a status that ends after a row.
    fn next_status(&mut self, row: usize) -> Option<&'a (Range<usize>, Status)> {
        while let [(rows, _), rest @ ..] = self.statuses
            && rows.end <= row
        {
            self.statuses = rest;
        }
        self.statuses.first()
    }
}

/// Reads the ranges of rows that have a status, among the wanted rows.
fn read_statuses<R: ReadRanges>(
    file: &mut ArchiveFile<R>,
    index: usize,
    table: &SampleTable,
    wanted: &[Range<usize>],
) -> Result<Vec<(Range<usize>, Status)>, LogError> {
    let mut texts = file.texts(index, table, column_index::STATUS)?;
    texts.keep(wanted);
    let Texts { dictionary, runs } = texts;
    let statuses: Vec<Status> = dictionary.iter().map(|text| parse_status(text)).collect();
    let mut ranges = Vec::new();
    let mut row = 0;
    for (status, len) in runs {
        if let Some(status) = status {
            ranges.push((row..row + len, statuses[status as usize]));
        }
        row += len;
    }
    Ok(ranges)
}

/// Parses the name or number of a status.
fn parse_status(text: &str) -> Status {
    let number = || u32::from_str_radix(text.strip_prefix("0x")?, 16).ok().map(Status);
    Status::from_name(text).or_else(number).unwrap_or(Status::CSTATUS_INVALID_DATA)
}
