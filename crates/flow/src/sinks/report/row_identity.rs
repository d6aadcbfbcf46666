//! The columns that identify a row of a report: the same in all reports.

use std::borrow::Cow;
use std::sync::Arc;

use serde::Serialize;
use tachograph_counters::set::{Counter, CounterSet, Instance};

/// The counter and the instance of a row.
#[derive(Serialize)]
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
    pub(super) counter: &'a str,
    /// The Windows name of the counter type, or its number as `0x...`.
    #[serde(rename = "type")]
    pub(super) counter_type: String,
    /// The unit; empty if the counter has no unit.
    pub(super) unit: Cow<'a, str>,
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
            counter: &counter.name,
            counter_type: counter.counter_type.to_string(),
            unit: counter.unit(),
        }
    }
}
