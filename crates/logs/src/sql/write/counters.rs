//! The counters of a database: rows of `CounterDetails`.

use std::collections::HashMap;

use tachograph_counters::Calculator;
use tachograph_counters::pairing::Pairer;
use tachograph_counters::set::{CounterSet, Instance};

use crate::LogError;
use crate::sql::database::{Database, SqlValue, first_integer};
use crate::sql::dialect::Ids;
use crate::sql::halves::{halves, join};
use crate::sql::{MAX_COUNTERS, MAX_NAME_BYTES, MAX_TOTAL_NAME_BYTES};

/// The counters of a database, including those of other logs.
pub(super) struct Counters {
    by_key: HashMap<CounterKey, usize>,
    pub(super) series: Vec<Series>,
    /// The id of the next counter, if it was read in this transaction.
    next_id: Option<i64>,
}

/// A counter of an instance.
pub(super) struct Series {
    /// Its id in `CounterDetails`.
    pub(super) id: i64,
    /// The record index of the sample with the counter's last value. Further values in the same sample are not written.
    pub(super) record: i64,
    pub(super) calculator: Calculator,
    pub(super) pairer: Pairer,
}

/// The key of a row of `CounterDetails`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct CounterKey {
    machine: String,
    set: String,
    counter: String,
    counter_type: u32,
    time_base: i64,
    /// Parent, name and index; `None` for a set without instances.
    instance: Option<(Option<String>, String, u32)>,
}

impl CounterKey {
    fn new(set: &CounterSet, counter: usize, instance: &Instance) -> Self {
        let counter = &set.counters[counter];
        Self {
            machine: set.machine.to_string(),
            set: set.name.to_string(),
            counter: counter.name.to_string(),
            counter_type: counter.counter_type.0,
            time_base: counter.time_base,
            instance: set.has_instances.then(|| {
                (instance.parent().map(str::to_owned), instance.name().to_owned(), instance.index())
            }),
        }
    }

    /// The key of a row with the columns of [`SELECT_KEYS`]; `None` if it is invalid.
    fn of_row(row: &[SqlValue]) -> Option<Self> {
        let [_, machine, set, counter, counter_type, low, high, name, index, parent] = row else {
            return None;
        };
        let text = |value: &SqlValue| value.text().map(str::to_owned);
        Some(Self {
            machine: text(machine)?.trim_start_matches('\\').to_owned(),
            set: text(set)?,
            counter: text(counter)?,
            counter_type: counter_type.integer()? as u32,
            time_base: join(low, high)?,
            instance: match text(name) {
                Some(name) => Some((text(parent), name, index.integer().unwrap_or(0).try_into().ok()?)),
                None => None,
            },
        })
    }

    fn name_bytes(&self) -> usize {
        let instance = self
            .instance
            .as_ref()
            .map_or(0, |(parent, name, _)| name.len() + parent.as_ref().map_or(0, String::len));
        self.machine.len() + self.set.len() + self.counter.len() + instance
    }
}

const SELECT_KEYS: &str = "SELECT CounterID, MachineName, ObjectName, CounterName, CounterType, TimeBaseA, TimeBaseB, InstanceName, \
                           InstanceIndex, ParentName FROM CounterDetails";

impl Counters {
    /// Reads the counters that the database has, so that equal ones are not added again. Counters beyond the limits of a reader are
    /// ignored.
    pub(super) fn read(database: &mut dyn Database) -> Result<Self, LogError> {
        let mut counters = Self { by_key: HashMap::new(), series: Vec::new(), next_id: None };
        let (mut name_bytes, mut rows) = (0, 0);
        database.query(SELECT_KEYS, &[], &mut |row| {
            rows += 1;
            if let (Some(key), Some(id)) = (CounterKey::of_row(row), row.first().and_then(SqlValue::integer))
            {
                name_bytes += key.name_bytes();
                let calculator = Calculator::new(key.counter_type.into(), key.time_base);
                counters.by_key.insert(key, counters.series.len());
                counters.series.push(Series { id, record: 0, calculator, pairer: Pairer::default() });
            }
            rows < MAX_COUNTERS && name_bytes <= MAX_TOTAL_NAME_BYTES
        })?;
        Ok(counters)
    }

    /// The index of a counter's series. The counter is added to the database if it is new.
    pub(super) fn find_or_add(
        &mut self,
        database: &mut dyn Database,
        set: &CounterSet,
        counter: usize,
        instance: &Instance,
    ) -> Result<usize, LogError> {
        let key = CounterKey::new(set, counter, instance);
        let counter = &set.counters[counter];
        if let Some(&known) = self.by_key.get(&key) {
            // The flag for 32-bit data is not in the database.
            self.series[known].calculator = counter.calculator();
            return Ok(known);
        }
        let is_too_long = |text: &str| text.len() > MAX_NAME_BYTES || text.chars().count() > 1024;
        let parent = instance.parent().unwrap_or_default();
        if [&*set.machine, &*set.name, &*counter.name, instance.name(), parent].into_iter().any(is_too_long) {
            return Err(LogError::unsupported(format!(
                "{}: names in a database have at most 1024 characters",
                set.path(instance, counter)
            )));
        }
        if self.series.len() >= MAX_COUNTERS {
            return Err(LogError::unsupported(format!("a database has at most {MAX_COUNTERS} counters")));
        }
        let id = self.insert(database, &key, counter.default_scale)?;
        let series = Series { id, record: 0, calculator: counter.calculator(), pairer: Pairer::default() };
        self.by_key.insert(key, self.series.len());
        self.series.push(series);
        Ok(self.series.len() - 1)
    }

    /// Adds a row to `CounterDetails`, and returns its id.
    fn insert(&mut self, database: &mut dyn Database, key: &CounterKey, scale: i32) -> Result<i64, LogError> {
        let ids = database.dialect().ids;
        let [low, high] = halves(key.time_base);
        let (name, index, parent) = match &key.instance {
            Some((parent, name, index)) => (
                SqlValue::from(name.as_str()),
                SqlValue::Integer((*index).into()),
                parent.as_deref().map_or(SqlValue::Null, SqlValue::from),
            ),
            None => (SqlValue::Null, SqlValue::Null, SqlValue::Null),
        };
        // Windows writes machine names with backslashes.
        let machine = if key.machine.is_empty() { String::new() } else { format!(r"\\{}", key.machine) };
        let mut columns = "MachineName, ObjectName, CounterName, CounterType, DefaultScale, InstanceName, InstanceIndex, ParentName, \
                           TimeBaseA, TimeBaseB"
            .to_owned();
        let mut values = vec![
            SqlValue::from(machine.as_str()),
            SqlValue::from(key.set.as_str()),
            SqlValue::from(key.counter.as_str()),
            SqlValue::Integer(key.counter_type.cast_signed().into()),
            SqlValue::Integer(scale.into()),
            name,
            index,
            parent,
            low,
            high,
        ];
        let chosen = match ids {
            Ids::Next => Some(self.next_id(database)?),
            Ids::Generated(_) => None,
        };
        if let Some(id) = chosen {
            columns.push_str(", CounterID");
            values.push(SqlValue::Integer(id));
        }
        let parameters = vec!["?"; values.len()].join(", ");
        database
            .execute(&format!("INSERT INTO CounterDetails ({columns}) VALUES ({parameters})"), &values)?;
        let id = match ids {
            Ids::Next => chosen,
            Ids::Generated(query) => first_integer(database, query, &[])?,
        };
        id.ok_or_else(|| LogError::not_a_log("CounterDetails: the database generates no CounterID"))
    }

    /// The next unused id. No other program can add counters until this transaction ends.
    fn next_id(&mut self, database: &mut dyn Database) -> Result<i64, LogError> {
        let id = match self.next_id {
            Some(id) => id,
            None => {
                let largest = first_integer(database, "SELECT MAX(CounterID) FROM CounterDetails", &[])?;
                largest.unwrap_or(0).saturating_add(1)
            }
        };
        if !(0..=i64::from(i32::MAX)).contains(&id) {
            return Err(LogError::unsupported("CounterDetails has no free CounterID below 2^31"));
        }
        self.next_id = Some(id + 1);
        Ok(id)
    }

    /// Must be called at the end of a transaction, because other programs can then add counters.
    pub(super) fn end_transaction(&mut self) {
        self.next_id = None;
    }
}
