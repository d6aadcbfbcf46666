//! The sets, counters and instances of a log, and the position of each value in a sample.

use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::sample::Group;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance, InstanceTable, Instances};
use tachograph_counters::{CounterType, RawValue, Status};

use crate::LogError;
use crate::sql::database::{Database, SqlValue};
use crate::sql::halves::join;
use crate::sql::{MAX_COUNTERS, MAX_NAME_BYTES, MAX_TOTAL_NAME_BYTES};

/// Maximum number of groups of counters with the same instances. A group takes about half a kilobyte.
const MAX_GROUPS: usize = 1 << 16;

/// The counters of a log.
pub(super) struct Layout {
    /// Counters of a set that have the same instances. So no values are missing that the log never had.
    sets: Vec<SetLayout>,
    /// Set, instance and column of each counter, by its id.
    cells: HashMap<i64, Cell>,
}

#[derive(Clone, Copy)]
struct Cell {
    set: usize,
    instance: usize,
    column: usize,
}

struct SetLayout {
    description: Arc<CounterSet>,
    /// All instances in the log, in the order of the counters' ids.
    instances: Vec<Arc<Instance>>,
    /// The values of the current sample: a row for each instance. The row is empty if the instance has no value.
    values: Vec<Vec<RawValue>>,
    /// The indexes of the instances of the last sample, and the list shared with its group.
    shown: Vec<usize>,
    shared: Instances,
}

/// A set while its counters are read.
struct Draft {
    set: CounterSet,
    instances: Vec<Arc<Instance>>,
    /// The index of each instance by its id in the table.
    by_id: HashMap<u32, usize>,
    table: InstanceTable,
    columns: HashMap<(String, u32, i64), usize>,
}

/// A row of `CounterDetails`.
struct Detail {
    id: i64,
    machine: String,
    set: String,
    counter: String,
    counter_type: u32,
    default_scale: i32,
    time_base: i64,
    instance: Option<(Option<String>, String, u32)>,
}

impl Layout {
    /// Reads the counters of a log.
    ///
    /// # Errors
    ///
    /// When reading fails; [`LogError::is_corrupt`] if a counter's description is invalid or there are too many counters.
    pub(super) fn read(database: &mut dyn Database, guid: &SqlValue) -> Result<Self, LogError> {
        let mut drafts: Vec<Draft> = Vec::new();
        let mut by_name: HashMap<(String, String), usize> = HashMap::new();
        let mut cells = HashMap::new();
        let mut name_bytes = 0;
        let mut failure = None;
        database.query(
            "SELECT CounterID, MachineName, ObjectName, CounterName, CounterType, DefaultScale, TimeBaseA, TimeBaseB, \
             InstanceName, InstanceIndex, ParentName FROM CounterDetails \
             WHERE CounterID IN (SELECT DISTINCT CounterID FROM CounterData WHERE GUID = ?) ORDER BY CounterID",
            std::slice::from_ref(guid),
            &mut |row| {
                let detail = match detail(row) {
                    Ok(_) if cells.len() >= MAX_COUNTERS => {
                        failure = Some(LogError::not_a_log(format!("more than {MAX_COUNTERS} counters")));
                        return false;
                    }
                    Ok(detail) => detail,
                    Err(what) => {
                        let id = row.first().and_then(SqlValue::integer).unwrap_or(0);
                        failure = Some(LogError::not_a_log(format!("CounterDetails of CounterID {id}: {what}")));
                        return false;
                    }
                };
                let name = (detail.machine.clone(), detail.set.clone());
                let set = *by_name.entry(name).or_insert_with(|| {
                    name_bytes += detail.machine.len() + detail.set.len();
                    drafts.push(Draft::new(&detail));
                    drafts.len() - 1
                });
                let (instance, column) = drafts[set].add(&detail, &mut name_bytes);
                cells.insert(detail.id, Cell { set, instance, column });
                if name_bytes > MAX_TOTAL_NAME_BYTES {
                    let limit = MAX_TOTAL_NAME_BYTES >> 20;
                    failure = Some(LogError::not_a_log(format!(
                        "the names of instances and counters take more than {limit} MiB"
                    )));
                }
                failure.is_none()
            },
        )?;
        match failure {
            Some(failure) => Err(failure),
            None => Self::split(&drafts, cells).ok_or_else(|| {
                LogError::not_a_log(format!(
                    "the counters have more than {MAX_GROUPS} different lists of instances"
                ))
            }),
        }
    }

    /// Splits each set into the counters that have the same instances. `None` if there are too many lists of instances.
    fn split(drafts: &[Draft], mut cells: HashMap<i64, Cell>) -> Option<Self> {
        let mut instances_of: Vec<Vec<Vec<usize>>> =
            drafts.iter().map(|draft| vec![Vec::new(); draft.set.counters.len()]).collect();
        for Cell { set, instance, column } in cells.values() {
            instances_of[*set][*column].push(*instance);
        }
        let mut sets = Vec::new();
        // For each column of each draft, the index of its set, and its column in that set.
        let mut places: Vec<Vec<(usize, usize)>> = Vec::new();
        for (draft, columns) in drafts.iter().zip(&mut instances_of) {
            let empty = CounterSet { counters: Vec::new(), ..draft.set.clone() };
            let mut by_instances: HashMap<&[usize], usize> = HashMap::new();
            let mut parts: Vec<(CounterSet, &[usize])> = Vec::new();
            let first = sets.len();
            let mut of_columns = Vec::new();
            for (counter, instances) in draft.set.counters.iter().zip(columns) {
                // Several ids can describe the same counter.
                instances.sort_unstable();
                instances.dedup();
                let part = *by_instances.entry(instances).or_insert_with(|| {
                    parts.push((empty.clone(), instances));
                    parts.len() - 1
                });
                parts[part].0.counters.push(counter.clone());
                of_columns.push((first + part, parts[part].0.counters.len() - 1));
                if first + parts.len() > MAX_GROUPS {
                    return None;
                }
            }
            places.push(of_columns);
            let instances =
                |rows: &[usize]| rows.iter().map(|&row| Arc::clone(&draft.instances[row])).collect();
            sets.extend(parts.into_iter().map(|(set, rows)| SetLayout::new(set, instances(rows))));
        }
        for cell in cells.values_mut() {
            let instances = &instances_of[cell.set][cell.column];
            let instance = instances.partition_point(|&instance| instance < cell.instance);
            let (set, column) = places[cell.set][cell.column];
            *cell = Cell { set, instance, column };
        }
        Some(Self { sets, cells })
    }

    pub(super) fn sets(&self) -> usize {
        self.sets.len()
    }

    pub(super) fn description(&self, set: usize) -> &Arc<CounterSet> {
        &self.sets[set].description
    }

    /// Removes the values of the last sample.
    pub(super) fn begin(&mut self) {
        self.sets.iter_mut().flat_map(|set| &mut set.values).for_each(Vec::clear);
    }

    /// Sets the value of a counter; false if the log does not describe it.
    pub(super) fn set(&mut self, counter: i64, raw: RawValue) -> bool {
        let Some(Cell { set, instance, column }) = self.cells.get(&counter).copied() else { return false };
        let set = &mut self.sets[set];
        let columns = set.description.counters.len();
        let values = &mut set.values[instance];
        if values.is_empty() {
            values.resize(columns, RawValue::error(Status::INVALID_DATA));
        }
        values[column] = raw;
        true
    }

    /// Moves the values of a set to its group.
    pub(super) fn fill(&mut self, set: usize, group: &mut Group) {
        let set = &mut self.sets[set];
        group.clear_values();
        if set.description.extent == Extent::Row
            && let Some(values) = set.values.first_mut()
            && values.is_empty()
        {
            // A fixed instance has a row in each sample.
            values.resize(set.description.counters.len(), RawValue::error(Status::INVALID_DATA));
        }
        let present = |(index, values): (usize, &Vec<RawValue>)| (!values.is_empty()).then_some(index);
        let is_same = set.values.iter().enumerate().filter_map(present).eq(set.shown.iter().copied());
        if !is_same {
            set.shown.clear();
            set.shown.extend(set.values.iter().enumerate().filter_map(present));
            set.shared = set.shown.iter().map(|index| Arc::clone(&set.instances[*index])).collect();
        }
        group.set_rows(&set.shared);
        for index in &set.shown {
            group.values.extend_from_slice(&set.values[*index]);
        }
    }
}

impl SetLayout {
    fn new(mut set: CounterSet, instances: Vec<Arc<Instance>>) -> Self {
        if !set.has_instances {
            // In a BLG, only single records can store counters without instances.
            set.extent = Extent::Row;
            set.instance = instances.first().cloned();
        }
        let values = vec![Vec::new(); instances.len()];
        Self {
            description: Arc::new(set),
            instances,
            values,
            shown: Vec::new(),
            shared: Instances::default(),
        }
    }
}

impl Draft {
    fn new(detail: &Detail) -> Self {
        let mut set = CounterSet::new(detail.machine.as_str(), detail.set.as_str(), Extent::Columns);
        set.has_instances = detail.instance.is_some();
        Self {
            set,
            instances: Vec::new(),
            by_id: HashMap::new(),
            table: InstanceTable::default(),
            columns: HashMap::new(),
        }
    }

    /// The indexes of the instance and of the counter, which are added if they are new. Adds the length of new names to
    /// `name_bytes`.
    fn add(&mut self, detail: &Detail, name_bytes: &mut usize) -> (usize, usize) {
        let instance = match &detail.instance {
            Some((parent, name, index)) => self.table.intern(parent.as_deref(), name, *index),
            None => self.table.intern(None, "", 0),
        };
        // A set is one with instances if any of its counters has an instance.
        self.set.has_instances |= detail.instance.is_some();
        let row = *self.by_id.entry(instance.id()).or_insert_with(|| {
            *name_bytes += instance.name().len() + instance.parent().map_or(0, str::len);
            self.instances.push(instance);
            self.instances.len() - 1
        });
        let key = (detail.counter.clone(), detail.counter_type, detail.time_base);
        let column = *self.columns.entry(key).or_insert_with(|| {
            *name_bytes += detail.counter.len();
            let counter_type = CounterType(detail.counter_type);
            let mut counter = Counter::new(detail.counter.as_str(), counter_type, detail.time_base);
            counter.default_scale = detail.default_scale;
            self.set.counters.push(counter);
            self.set.counters.len() - 1
        });
        (row, column)
    }
}

fn detail(row: &[SqlValue]) -> Result<Detail, &'static str> {
    let [id, machine, set, counter, counter_type, scale, low, high, name, index, parent] = row else {
        return Err("wrong number of columns");
    };
    let text = |value: &SqlValue, what| match value.text() {
        Some(text) if text.len() <= MAX_NAME_BYTES => Ok(text.to_owned()),
        Some(_) => Err("a name is longer than 1024 characters"),
        None => Err(what),
    };
    let counter_type = counter_type.integer().ok_or("no CounterType")?;
    let instance = match name {
        SqlValue::Null => None,
        name => {
            let index = match index {
                SqlValue::Null => 0,
                index => index
                    .integer()
                    .and_then(|index| u32::try_from(index).ok())
                    .ok_or("impossible InstanceIndex")?,
            };
            let parent = match parent {
                SqlValue::Null => None,
                parent => Some(text(parent, "ParentName is not a text")?),
            };
            Some((parent, text(name, "InstanceName is not a text")?, index))
        }
    };
    Ok(Detail {
        id: id.integer().ok_or("no CounterID")?,
        machine: text(machine, "no MachineName")?.trim_start_matches('\\').to_owned(),
        set: text(set, "no ObjectName")?,
        counter: text(counter, "no CounterName")?,
        counter_type: u32::try_from(counter_type)
            .or_else(|_| i32::try_from(counter_type).map(i32::cast_unsigned))
            .map_err(|_| "impossible CounterType")?,
        default_scale: scale.integer().and_then(|scale| i32::try_from(scale).ok()).unwrap_or(0),
        // Counters without a clock have no time base.
        time_base: join(low, high).unwrap_or(0),
        instance,
    })
}
