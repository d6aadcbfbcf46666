//! Properties of a table's rows that are not counters.

use std::sync::Arc;

/// Properties of a running process that are not counters; `None` if they cannot be read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessProperties {
    /// The kernel's letter for the state, such as `R` (running), `S` (sleeping) or `D` (waiting for a device).
    pub state: Option<char>,
    /// The name of the user that it runs as, or the user's id if it has no name.
    pub user: Option<Arc<str>>,
    /// The path of its control group.
    pub cgroup: Option<Arc<str>>,
    /// The command line, its arguments separated by blanks. Kernel threads have none.
    pub command: Option<Arc<str>>,
    /// The id of the parent.
    pub parent: Option<u32>,
    /// The score by which the kernel chooses a process to kill when memory runs out.
    pub oom_score: Option<i64>,
}

/// Reads the properties of processes. A monitor of this machine has one; logs do not store properties.
pub trait RowProperties: Send {
    /// The properties of the process with this id; `None` if it has ended.
    fn process(&mut self, id: u32) -> Option<ProcessProperties>;
}
