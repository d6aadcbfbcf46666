//! Properties of processes and control groups that a table shows beside their counters.

use std::ops::Range;
use std::sync::Arc;

use super::columns::{ColumnContent, TableColumn};
use super::{RowId, TableLine, TableModel, TableRow, TreeKind};

/// Properties of a running process that are not counters. A property that cannot be read is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessProperties {
    /// The kernel's letter for the state, such as `R` (running), `S` (sleeping) or `D` (waiting for a device).
    pub state: Option<char>,
    /// The name of the user that it runs as, or the user's id if it has no name.
    pub user: Option<Arc<str>>,
    /// The path of its control group.
    pub cgroup: Option<Arc<str>>,
    /// The command line, its arguments separated by spaces. Kernel threads have none.
    pub command: Option<Arc<str>>,
    /// The id of the parent.
    pub parent: Option<u32>,
    /// The score by which the kernel chooses a process to kill when memory runs out.
    pub oom_score: Option<i64>,
}

/// Reads the properties of processes. Only a monitor of this machine has a reader, because logs do not store properties.
pub trait RowProperties: Send {
    /// The properties of the process with this id; `None` if it has ended.
    fn process(&mut self, id: u32) -> Option<ProcessProperties>;

    /// The name of the container to which the control group with this path belongs; `None` if unknown.
    fn container(&mut self, path: &str) -> Option<Arc<str>> {
        let _ = path;
        None
    }
}

impl TableModel {
    /// The properties of a row, if they have been read.
    pub fn properties(&self, id: RowId) -> Option<&ProcessProperties> {
        self.properties.get(&id)
    }

    /// The processes whose properties should be read now: the processes on these lines, and all new processes if the
    /// arrangement of the lines depends on properties.
    pub fn wanted_properties(&self, lines: Range<usize>) -> Vec<(RowId, u32)> {
        let has_properties = |column: &TableColumn| matches!(column.content, ColumnContent::Property(_));
        if !self.layout.columns.iter().any(has_properties) {
            return Vec::new();
        }
        let process = |row: &TableRow| Some((row.id, u32::try_from(row.process?).ok()?));
        let end = lines.end.min(self.lines.len());
        let visible = (lines.start.min(end)..end).filter_map(|line| self.row_of(line));
        let mut wanted: Vec<_> = visible.filter_map(process).collect();
        if self.depends_on_properties() {
            let is_new = |row: &&TableRow| !self.properties.contains_key(&row.id);
            wanted.extend(self.rows.rows.iter().filter(is_new).filter_map(process));
            wanted.sort_unstable();
            wanted.dedup();
        }
        wanted
    }

    /// The paths of the control groups on these lines. A line can be a control group, a process (which belongs to one), or the
    /// heading of a control group's processes.
    pub fn group_paths(&self, lines: Range<usize>) -> impl Iterator<Item = &str> {
        let end = lines.end.min(self.lines.len());
        self.lines[lines.start.min(end)..end].iter().filter_map(|line| match line {
            TableLine::Group { name, .. } => Some(&**name),
            TableLine::Row { row, .. } => {
                let row = self.row(*row)?;
                let group = self.properties.get(&row.id).and_then(|properties| properties.cgroup.as_deref());
                group.or(Some(row.label()))
            }
        })
    }

    fn depends_on_properties(&self) -> bool {
        self.tree == TreeKind::Cgroup
            || !self.filter.is_empty()
            || self
                .layout
                .columns
                .get(self.order.column)
                .is_some_and(|column| matches!(column.content, ColumnContent::Property(_)))
    }

    /// Adds properties that were read; they are `None` for a process that has ended.
    pub fn set_properties(&mut self, read: Vec<(RowId, Option<ProcessProperties>)>) {
        let mut has_changed = false;
        for (id, properties) in read {
            let properties = properties.unwrap_or_default();
            has_changed |= self.properties.get(&id) != Some(&properties);
            self.properties.insert(id, properties);
        }
        if has_changed && self.depends_on_properties() {
            self.arrange();
        }
    }
}
