//! Reasons that values could not be read.

use std::sync::Arc;

use crate::InstanceKey;

/// A reason that values of a counter could not be read or are incomplete, and how often it occurred in this collection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CounterError {
    /// The counter's id.
    pub counter_id: u32,
    /// The first instance that was affected.
    pub instance: Arc<InstanceKey>,
    /// The cause, as a message.
    pub reason: Arc<str>,
    /// The number of values affected.
    pub count: u64,
}

impl CounterError {
    /// An error that has occurred once.
    pub(crate) fn new(counter_id: u32, instance: &Arc<InstanceKey>, reason: &Arc<str>) -> Self {
        Self { counter_id, instance: Arc::clone(instance), reason: Arc::clone(reason), count: 1 }
    }
}
