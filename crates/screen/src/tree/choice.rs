//! The paths of rows, and the paths that the user has marked, selected or entered.

use tachograph_counters::path::PathPattern;

use super::{Node, Tree};

impl Tree {
    /// The path of a row, which selects the counters of all rows below it.
    pub(crate) fn path_of(&self, node: &Node) -> Option<String> {
        let (Node::Set(set) | Node::Counter(set, _) | Node::Instance(set, ..) | Node::Message(set, ..)) =
            node;
        let set = self.sets.get(*set)?;
        let name = &set.name;
        let counter = |index: usize| set.counters.get(index).map(|entry| &entry.counter.name);
        let all = if set.has_instances { "(*)" } else { "" };
        Some(match node {
            Node::Set(_) => format!(r"\{name}{all}\*"),
            Node::Counter(_, index) => format!(r"\{name}{all}\{}", counter(*index)?),
            Node::Instance(_, index, instance) => format!(r"\{name}({instance})\{}", counter(*index)?),
            Node::Message(..) => return None,
        })
    }

    /// The help, type and unit of a row.
    pub(crate) fn help_of(&self, node: &Node) -> Option<String> {
        match node {
            Node::Set(set) => Some(self.sets.get(*set)?.help.to_string()),
            Node::Counter(set, index) | Node::Instance(set, index, _) | Node::Message(set, index, _) => {
                let entry = self.sets.get(*set)?.counters.get(*index)?;
                let kind = entry.counter.counter_type.to_string();
                let unit = entry.counter.unit();
                let unit = if unit.is_empty() { String::new() } else { format!(", {unit}") };
                Some(format!("{} ({kind}{unit})", entry.help).trim_start().to_owned())
            }
        }
    }

    pub(crate) fn is_marked(&self, node: &Node) -> bool {
        self.path_of(node).is_some_and(|path| self.marked.contains(&path))
    }

    pub(crate) fn mark_count(&self) -> usize {
        self.marked.len()
    }

    /// Marks the selected row, or removes its mark.
    pub(crate) fn toggle_mark(&mut self) {
        let Some(path) = self.node().and_then(|node| self.path_of(node)) else { return };
        match self.marked.iter().position(|known| *known == path) {
            Some(index) => {
                self.marked.remove(index);
            }
            None => self.marked.push(path),
        }
    }

    /// The chosen paths: the entered one, the marked ones, or the selected one.
    pub(crate) fn chosen_paths(&self) -> Result<Vec<PathPattern>, String> {
        let parse = |text: &String| PathPattern::parse(text).map_err(|error| format!("'{text}': {error}"));
        if self.search.trim_start().starts_with('\\') {
            return parse(&self.search.trim().to_owned()).map(|path| vec![path]);
        }
        if !self.marked.is_empty() {
            return self.marked.iter().map(parse).collect();
        }
        self.node().and_then(|node| self.path_of(node)).iter().map(parse).collect()
    }
}
