//! The columns that identify a row of a report: the same in all reports.

use std::sync::Arc;

use serde::ser::SerializeStruct as _;
use serde::{Serialize, Serializer};
use tachograph_counters::set::{Counter, CounterSet, Instance};

/// The counter and the instance of a row. Serialized as [`IDENTITY_COLUMNS`].
pub(in crate::sinks) struct RowIdentity<'a> {
    /// The full counter path.
    pub(super) path: &'a str,
    /// The machine, without backslashes.
    pub(super) machine: Option<&'a str>,
    /// The counter set.
    pub(super) set: &'a str,
    /// The parent of the instance.
    pub(super) parent: Option<&'a str>,
    /// The instance, without parent and index.
    pub(super) instance: Option<&'a str>,
    /// Index of the instance among those with its name.
    pub(super) index: Option<u32>,
    /// The counter.
    pub(super) counter: &'a Counter,
}

/// The columns of [`RowIdentity`], in order.
pub(in crate::sinks) const IDENTITY_COLUMNS: [&str; 9] =
    ["path", "machine", "set", "parent", "instance", "index", "counter", "type", "unit"];

impl<'a> RowIdentity<'a> {
    pub(in crate::sinks) fn new(
        path: &'a str,
        machine: Option<&'a Arc<str>>,
        set: &'a CounterSet,
        counter: &'a Counter,
        instance: Option<&'a Arc<Instance>>,
    ) -> Self {
        Self {
            path,
            machine: machine.map(|machine| &**machine),
            set: &set.name,
            parent: instance.and_then(|instance| instance.parent()),
            instance: instance.map(|instance| instance.name()),
            index: instance.map(|instance| instance.index()),
            counter,
        }
    }
}

impl Serialize for RowIdentity<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let [path, machine, set, parent, instance, index, counter, counter_type, unit] = IDENTITY_COLUMNS;
        let mut columns = serializer.serialize_struct("RowIdentity", IDENTITY_COLUMNS.len())?;
        columns.serialize_field(path, self.path)?;
        columns.serialize_field(machine, &self.machine)?;
        columns.serialize_field(set, self.set)?;
        columns.serialize_field(parent, &self.parent)?;
        columns.serialize_field(instance, &self.instance)?;
        columns.serialize_field(index, &self.index)?;
        columns.serialize_field(counter, &*self.counter.name)?;
        // The Windows name of the counter type, or its number as `0x...`.
        columns.serialize_field(counter_type, &self.counter.counter_type.to_string())?;
        // Empty if the counter has no unit.
        columns.serialize_field(unit, &self.counter.unit())?;
        columns.end()
    }
}
