//! The tree of counter sets, counters and instances.

mod choice;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_monitor::{Hit, SearchIndex, SetEntry};

/// The instances of a set, or why they are not available.
pub type Instances = Result<Vec<String>, String>;

pub(crate) struct Tree {
    sets: Arc<[SetEntry]>,
    index: SearchIndex,
    /// The matches of the search, best first.
    hits: Vec<Hit>,
    /// The instances that have been loaded, by set name.
    instances: HashMap<String, Instances>,
    open_sets: HashSet<usize>,
    open_counters: HashSet<(usize, usize)>,
    pub(crate) search: String,
    pub(crate) is_searching: bool,
    rows: Vec<Node>,
    selected_index: usize,
    /// The first row on the screen.
    pub(crate) top: usize,
    marked: Vec<String>,
    /// Paths that the user is asked to confirm, and the number of lines that they add to the chart.
    pub(crate) question: Option<(Vec<PathPattern>, usize)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Set(usize),
    Counter(usize, usize),
    Instance(usize, usize, String),
    /// A message in place of the instances, for example why they are not available.
    Message(usize, usize, String),
}

impl Tree {
    pub(crate) fn new(sets: Arc<[SetEntry]>, is_searching: bool) -> Self {
        let mut tree = Self {
            index: SearchIndex::new(&sets),
            hits: Vec::new(),
            sets,
            instances: HashMap::new(),
            open_sets: HashSet::new(),
            open_counters: HashSet::new(),
            search: String::new(),
            is_searching,
            rows: Vec::new(),
            selected_index: 0,
            top: 0,
            marked: Vec::new(),
            question: None,
        };
        tree.rebuild_rows();
        tree
    }

    pub(crate) fn rows(&self) -> &[Node] {
        &self.rows
    }

    pub(crate) fn selected_index(&self) -> usize {
        self.selected_index
    }

    pub(crate) fn node(&self) -> Option<&Node> {
        self.rows.get(self.selected_index)
    }

    pub(crate) fn set(&self, index: usize) -> Option<&SetEntry> {
        self.sets.get(index)
    }

    pub(crate) fn is_open(&self, node: &Node) -> bool {
        match node {
            Node::Set(set) => self.open_sets.contains(set) || self.is_listed_for_counters(*set),
            Node::Counter(set, counter) => self.open_counters.contains(&(*set, *counter)),
            Node::Instance(..) | Node::Message(..) => false,
        }
    }

    pub(crate) fn can_open(&self, node: &Node) -> bool {
        match node {
            Node::Set(_) => true,
            Node::Counter(set, _) => self.sets.get(*set).is_some_and(|set| set.has_instances),
            Node::Instance(..) | Node::Message(..) => false,
        }
    }

    /// Whether the set is listed because the search finds counters in it.
    fn is_listed_for_counters(&self, set: usize) -> bool {
        self.hits.iter().any(|hit| hit.set == set && hit.counter.is_some())
    }

    /// The listed sets: all sets, or those that the search finds, best first.
    fn listed_sets(&self) -> Vec<usize> {
        if self.search.trim().is_empty() {
            return (0..self.sets.len()).collect();
        }
        let mut listed: Vec<usize> = Vec::new();
        for hit in &self.hits {
            if !listed.contains(&hit.set) {
                listed.push(hit.set);
            }
        }
        listed
    }

    /// Rebuilds the rows. The selected row stays selected if it still exists.
    fn rebuild_rows(&mut self) {
        let before = self.node().cloned();
        let mut rows = Vec::new();
        for set_index in self.listed_sets() {
            let set = &self.sets[set_index];
            rows.push(Node::Set(set_index));
            let is_open = self.open_sets.contains(&set_index);
            for index in 0..set.counters.len() {
                let is_hit = |hit: &Hit| hit.set == set_index && hit.counter == Some(index);
                if !is_open && !self.hits.iter().any(is_hit) {
                    continue;
                }
                rows.push(Node::Counter(set_index, index));
                if !self.open_counters.contains(&(set_index, index)) {
                    continue;
                }
                match self.instances.get(&*set.name) {
                    Some(Ok(instances)) if instances.is_empty() => {
                        rows.push(Node::Message(set_index, index, "no instances now".to_owned()));
                    }
                    Some(Ok(instances)) => rows
                        .extend(instances.iter().map(|name| Node::Instance(set_index, index, name.clone()))),
                    Some(Err(error)) => rows.push(Node::Message(set_index, index, error.clone())),
                    None => rows.push(Node::Message(set_index, index, "...".to_owned())),
                }
            }
        }
        self.rows = rows;
        let index = before.and_then(|node| self.rows.iter().position(|row| *row == node));
        self.selected_index = index.unwrap_or(0);
    }

    /// Moves the selection by this number of rows: down if positive, up if negative.
    pub(crate) fn select_by(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected_index = self.selected_index.saturating_add_signed(by).min(last);
    }

    pub(crate) fn select(&mut self, row: usize) {
        self.selected_index = row.min(self.rows.len().saturating_sub(1));
    }

    /// Changes the search string, and selects the best match.
    pub(crate) fn set_search(&mut self, search: String) {
        self.search = search;
        self.hits = self.index.search(&self.search);
        self.rebuild_rows();
        let search = self.search.trim();
        if search.is_empty() {
            return;
        }
        // Selects the set with exactly this name, or else the best match.
        let is_named = |row: &Node| {
            let Node::Set(set) = row else { return false };
            self.sets.get(*set).is_some_and(|set| eq_ignore_case(&set.name, search))
        };
        let best = self.hits.first().map(|hit| match hit.counter {
            Some(counter) => Node::Counter(hit.set, counter),
            None => Node::Set(hit.set),
        });
        let is_best = |row: &Node| best.as_ref() == Some(row);
        let found = self.rows.iter().position(is_named).or_else(|| self.rows.iter().position(is_best));
        self.selected_index = found.unwrap_or(0);
    }

    /// Opens the selected row; returns the name of the set whose instances must be loaded.
    pub(crate) fn open(&mut self) -> Option<String> {
        let mut set_to_load = None;
        match self.node().cloned()? {
            Node::Set(set) => {
                self.open_sets.insert(set);
            }
            Node::Counter(set, counter) => {
                let entry = self.sets.get(set)?;
                if entry.has_instances {
                    self.open_counters.insert((set, counter));
                    let name = entry.name.to_string();
                    set_to_load = (!self.instances.contains_key(&name)).then_some(name);
                }
            }
            Node::Instance(..) | Node::Message(..) => {}
        }
        self.rebuild_rows();
        set_to_load
    }

    /// Closes the selected row, or selects its parent.
    pub(crate) fn close(&mut self) {
        let Some(node) = self.node().cloned() else { return };
        let parent = match node {
            Node::Set(set) => {
                self.open_sets.remove(&set);
                None
            }
            Node::Counter(set, counter) => {
                if self.open_counters.remove(&(set, counter)) {
                    None
                } else {
                    Some(Node::Set(set))
                }
            }
            Node::Instance(set, counter, _) | Node::Message(set, counter, _) => {
                Some(Node::Counter(set, counter))
            }
        };
        if let Some(index) = parent.and_then(|parent| self.rows.iter().position(|row| *row == parent)) {
            self.selected_index = index;
        }
        self.rebuild_rows();
    }

    pub(crate) fn set_instances(&mut self, set: String, instances: Instances) {
        self.instances.insert(set, instances);
        self.rebuild_rows();
    }

    pub(crate) fn set_sets(&mut self, sets: Arc<[SetEntry]>) {
        let names = |indices: &HashSet<usize>| -> HashSet<Arc<str>> {
            indices.iter().filter_map(|&index| Some(Arc::clone(&self.sets.get(index)?.name))).collect()
        };
        let open_names = names(&self.open_sets);
        let selected = self.node().and_then(|node| self.path_of(node));
        self.open_counters.clear();
        self.instances.clear();
        self.open_sets = (0..sets.len()).filter(|&index| open_names.contains(&sets[index].name)).collect();
        self.index = SearchIndex::new(&sets);
        self.hits = self.index.search(&self.search);
        self.sets = sets;
        self.rebuild_rows();
        // Rows are compared by path, because the indexes of sets may have changed.
        let is_selected = |row: &Node| selected.is_some() && self.path_of(row) == selected;
        match self.rows.iter().position(is_selected) {
            Some(index) => self.selected_index = index,
            // The search was perhaps entered before the sets were available.
            None => self.set_search(self.search.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tachograph_counters::CounterType;
    use tachograph_counters::set::Counter;
    use tachograph_monitor::CounterEntry;

    fn set(name: &str, has_instances: bool, counters: &[&str]) -> SetEntry {
        let entry = |name: &&str| CounterEntry {
            counter: Counter::new(*name, CounterType::RAWCOUNT, 1),
            help: "what it counts".into(),
        };
        let counters = counters.iter().map(entry).collect();
        SetEntry { machine: None, name: name.into(), help: "a set".into(), has_instances, counters }
    }

    fn tree() -> Tree {
        let sets = [
            set("Memory", false, &["Available Bytes", "Cache Bytes"]),
            set("Process", true, &["IO Bytes", "ID"]),
        ];
        Tree::new(sets.into(), false)
    }

    fn shown(tree: &Tree) -> Vec<String> {
        tree.rows().iter().map(|row| tree.path_of(row).unwrap_or_default()).collect()
    }

    #[test]
    fn rows_open_and_close() {
        let mut tree = tree();
        assert_eq!(shown(&tree), [r"\Memory\*", r"\Process(*)\*"]);
        tree.select_by(1);
        assert_eq!(tree.open(), None);
        tree.select_by(1);
        assert_eq!(tree.open(), Some("Process".to_owned()));
        tree.set_instances("Process".to_owned(), Ok(vec!["a".to_owned(), "b#1".to_owned()]));
        assert_eq!(
            shown(&tree)[1..],
            [
                r"\Process(*)\*",
                r"\Process(*)\IO Bytes",
                r"\Process(a)\IO Bytes",
                r"\Process(b#1)\IO Bytes",
                r"\Process(*)\ID"
            ]
        );
        tree.select_by(2);
        tree.close();
        assert_eq!(tree.path_of(tree.node().expect("a row")).as_deref(), Some(r"\Process(*)\IO Bytes"));
        tree.close();
        tree.close();
        tree.close();
        assert_eq!(shown(&tree).len(), 2);
    }

    #[test]
    fn the_search_matches_sets_and_counters() {
        let mut tree = tree();
        tree.set_search("bytes".to_owned());
        assert_eq!(shown(&tree).len(), 5);
        tree.set_search("proces BYT".to_owned());
        assert_eq!(shown(&tree), [r"\Process(*)\*", r"\Process(*)\IO Bytes"]);
        assert_eq!(tree.chosen_paths().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
        tree.set_search("memory".to_owned());
        assert_eq!(shown(&tree), [r"\Memory\*"]);
        tree.set_search("nothing".to_owned());
        assert!(tree.rows().is_empty() && tree.chosen_paths().expect("none").is_empty());
        // As in `tacho list`, terms from other tools and everyday words match too.
        tree.set_search("ram".to_owned());
        assert_eq!(tree.chosen_paths().expect("paths")[0].to_string(), r"\Memory\Available Bytes");
        tree.set_search(r"\Any(thing)\at all".to_owned());
        assert_eq!(tree.chosen_paths().expect("a path")[0].to_string(), r"\Any(thing)\at all");
        tree.set_search(r"\broken".to_owned());
        assert!(tree.chosen_paths().is_err());
    }

    #[test]
    fn an_exactly_named_set_is_selected_first() {
        let sets = [set("Cgroup", true, &["% Processor Time"]), set("Processor", true, &["% Idle Time"])];
        let mut tree = Tree::new(sets.into(), true);
        let chosen = |tree: &Tree| tree.chosen_paths().expect("paths")[0].to_string();
        // Of equally good matches, the set whose name has fewer other words is selected.
        tree.set_search("processo".to_owned());
        assert_eq!(chosen(&tree), r"\Processor(*)\*");
        tree.set_search(" processor".to_owned());
        assert_eq!(chosen(&tree), r"\Processor(*)\*");
    }

    #[test]
    fn the_selection_is_kept_with_new_sets() {
        let mut tree = tree();
        tree.set_search("process io".to_owned());
        assert_eq!(tree.chosen_paths().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
        let sets = [
            set("Application", false, &["Orders"]),
            set("Memory", false, &["Bytes"]),
            set("Process", true, &["IO Bytes"]),
        ];
        tree.set_sets(sets.into());
        assert_eq!(tree.chosen_paths().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
        tree.set_sets([].into());
        assert!(tree.chosen_paths().expect("none").is_empty());
        tree.set_sets([set("Process", true, &["IO Bytes"])].into());
        assert_eq!(tree.chosen_paths().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
    }

    #[test]
    fn marked_rows_are_chosen() {
        let mut tree = tree();
        tree.toggle_mark();
        tree.select_by(1);
        tree.toggle_mark();
        tree.select(0);
        let paths = |tree: &Tree| {
            tree.chosen_paths().expect("paths").iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(paths(&tree), [r"\Memory\*", r"\Process(*)\*"]);
        tree.toggle_mark();
        assert_eq!((paths(&tree), tree.mark_count()), (vec![r"\Process(*)\*".to_owned()], 1));
    }
}
