//! The tree to choose counters from: sets, counters, instances.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::wildcard::{eq_ignore_case, fold_case};
use tachograph_monitor::SetEntry;

/// The instances of a set, or why they cannot be told.
pub type Instances = Result<Vec<String>, String>;

/// The tree with what is open, found and marked in it.
pub(crate) struct Tree {
    sets: Arc<[SetEntry]>,
    /// By the name of a set.
    instances: HashMap<String, Instances>,
    open_sets: HashSet<usize>,
    open_counters: HashSet<(usize, usize)>,
    pub(crate) search: String,
    pub(crate) is_searching: bool,
    rows: Vec<Node>,
    selected: usize,
    /// The first row on the screen.
    pub(crate) top: usize,
    marked: Vec<String>,
    /// Whether so much is to be added.
    pub(crate) question: Option<Many>,
}

/// More new lines than anybody wants by mistake.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Many {
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) lines: usize,
}

/// A row of the tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node {
    Set(usize),
    Counter(usize, usize),
    Instance(usize, usize, String),
    /// Why there are no instances.
    Nothing(usize, usize, String),
}

impl Tree {
    pub(crate) fn new(sets: Arc<[SetEntry]>, is_searching: bool) -> Self {
        let mut tree = Self {
            sets,
            instances: HashMap::new(),
            open_sets: HashSet::new(),
            open_counters: HashSet::new(),
            search: String::new(),
            is_searching,
            rows: Vec::new(),
            selected: 0,
            top: 0,
            marked: Vec::new(),
            question: None,
        };
        tree.lay_out();
        tree
    }

    pub(crate) fn rows(&self) -> &[Node] {
        &self.rows
    }

    pub(crate) fn selected(&self) -> usize {
        self.selected
    }

    pub(crate) fn node(&self) -> Option<&Node> {
        self.rows.get(self.selected)
    }

    pub(crate) fn set(&self, number: usize) -> Option<&SetEntry> {
        self.sets.get(number)
    }

    pub(crate) fn is_open(&self, node: &Node) -> bool {
        match node {
            Node::Set(set) => self.open_sets.contains(set) || self.is_found_inside(*set),
            Node::Counter(set, counter) => self.open_counters.contains(&(*set, *counter)),
            Node::Instance(..) | Node::Nothing(..) => false,
        }
    }

    pub(crate) fn can_open(&self, node: &Node) -> bool {
        match node {
            Node::Set(_) => true,
            Node::Counter(set, _) => self.sets.get(*set).is_some_and(|set| set.has_instances),
            Node::Instance(..) | Node::Nothing(..) => false,
        }
    }

    /// The words of the search, folded.
    fn words(&self) -> Vec<String> {
        self.search.split_whitespace().map(fold_case).collect()
    }

    /// Whether what is searched for is in a counter rather than in the set's own name.
    fn is_found_inside(&self, set: usize) -> bool {
        let words = self.words();
        !words.is_empty() && self.sets.get(set).is_some_and(|set| !has_all(&set.name, &words))
    }

    /// Makes the rows anew, and keeps the selected one where it is still there.
    fn lay_out(&mut self) {
        let before = self.node().cloned();
        let words = self.words();
        let mut rows = Vec::new();
        for (number, set) in self.sets.iter().enumerate() {
            let is_set_found = has_all(&set.name, &words);
            let is_found =
                |counter: &str| is_set_found || has_all(&format!("{} {counter}", set.name), &words);
            if !is_set_found && !set.counters.iter().any(|entry| is_found(&entry.counter.name)) {
                continue;
            }
            rows.push(Node::Set(number));
            if is_set_found && !self.open_sets.contains(&number) {
                continue;
            }
            for (place, entry) in set.counters.iter().enumerate() {
                if !is_found(&entry.counter.name) {
                    continue;
                }
                rows.push(Node::Counter(number, place));
                if !self.open_counters.contains(&(number, place)) {
                    continue;
                }
                match self.instances.get(&*set.name) {
                    Some(Ok(instances)) if instances.is_empty() => {
                        rows.push(Node::Nothing(number, place, "no instance now".to_owned()));
                    }
                    Some(Ok(instances)) => {
                        rows.extend(instances.iter().map(|name| Node::Instance(number, place, name.clone())))
                    }
                    Some(Err(why)) => rows.push(Node::Nothing(number, place, why.clone())),
                    None => rows.push(Node::Nothing(number, place, "...".to_owned())),
                }
            }
        }
        self.rows = rows;
        let place = before.and_then(|node| self.rows.iter().position(|row| *row == node));
        self.selected = place.unwrap_or(0);
    }

    /// Moves the selection by rows.
    pub(crate) fn select_by(&mut self, by: isize) {
        let last = self.rows.len().saturating_sub(1);
        self.selected = self.selected.saturating_add_signed(by).min(last);
    }

    pub(crate) fn select(&mut self, row: usize) {
        self.selected = row.min(self.rows.len().saturating_sub(1));
    }

    /// What is searched for changes.
    pub(crate) fn set_search(&mut self, search: String) {
        self.search = search;
        self.lay_out();
        let search = self.search.trim();
        if search.is_empty() {
            return;
        }
        // The set of this very name, or else the first counter that was found, is what is wanted mostly.
        let is_named = |row: &Node| {
            let Node::Set(set) = row else { return false };
            self.sets.get(*set).is_some_and(|set| eq_ignore_case(&set.name, search))
        };
        let is_counter = |row: &Node| matches!(row, Node::Counter(..));
        let found = self.rows.iter().position(is_named).or_else(|| self.rows.iter().position(is_counter));
        self.selected = found.unwrap_or(0);
    }

    /// Opens the selected row; gives the name of the set whose instances are to be told.
    pub(crate) fn open(&mut self) -> Option<String> {
        let mut asked = None;
        match self.node().cloned()? {
            Node::Set(set) => {
                self.open_sets.insert(set);
            }
            Node::Counter(set, counter) => {
                let entry = self.sets.get(set)?;
                if entry.has_instances {
                    self.open_counters.insert((set, counter));
                    let name = entry.name.to_string();
                    asked = (!self.instances.contains_key(&name)).then_some(name);
                }
            }
            Node::Instance(..) | Node::Nothing(..) => {}
        }
        self.lay_out();
        asked
    }

    /// Closes the selected row, or goes to what it is in.
    pub(crate) fn close(&mut self) {
        let Some(node) = self.node().cloned() else { return };
        let up = match node {
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
            Node::Instance(set, counter, _) | Node::Nothing(set, counter, _) => {
                Some(Node::Counter(set, counter))
            }
        };
        if let Some(place) = up.and_then(|up| self.rows.iter().position(|row| *row == up)) {
            self.selected = place;
        }
        self.lay_out();
    }

    /// The instances of a set have been told.
    pub(crate) fn take_instances(&mut self, set: String, instances: Instances) {
        self.instances.insert(set, instances);
        self.lay_out();
    }

    /// The sets are others now.
    pub(crate) fn take_sets(&mut self, sets: Arc<[SetEntry]>) {
        let names = |numbers: &HashSet<usize>| -> HashSet<Arc<str>> {
            numbers.iter().filter_map(|&number| Some(Arc::clone(&self.sets.get(number)?.name))).collect()
        };
        let open = names(&self.open_sets);
        let selected = self.node().and_then(|node| self.path_of(node));
        self.open_counters.clear();
        self.instances.clear();
        self.open_sets = (0..sets.len()).filter(|&number| open.contains(&sets[number].name)).collect();
        self.sets = sets;
        self.lay_out();
        // Numbers of sets may be others now; paths are not.
        let is_selected = |row: &Node| selected.is_some() && self.path_of(row) == selected;
        match self.rows.iter().position(is_selected) {
            Some(place) => self.selected = place,
            // Who types fast has searched before there was anything to find.
            None => self.set_search(self.search.clone()),
        }
    }

    /// The path that a row stands for: all below it.
    pub(crate) fn path_of(&self, node: &Node) -> Option<String> {
        let (Node::Set(number)
        | Node::Counter(number, _)
        | Node::Instance(number, ..)
        | Node::Nothing(number, ..)) = node;
        let set = self.sets.get(*number)?;
        let name = &set.name;
        let counter = |place: usize| set.counters.get(place).map(|entry| &entry.counter.name);
        let all = if set.has_instances { "(*)" } else { "" };
        Some(match node {
            Node::Set(_) => format!(r"\{name}{all}\*"),
            Node::Counter(_, place) => format!(r"\{name}{all}\{}", counter(*place)?),
            Node::Instance(_, place, instance) => format!(r"\{name}({instance})\{}", counter(*place)?),
            Node::Nothing(..) => return None,
        })
    }

    /// What is known of a row: type, unit and help.
    pub(crate) fn help_of(&self, node: &Node) -> Option<String> {
        match node {
            Node::Set(set) => Some(self.sets.get(*set)?.help.to_string()),
            Node::Counter(set, place) | Node::Instance(set, place, _) | Node::Nothing(set, place, _) => {
                let entry = self.sets.get(*set)?.counters.get(*place)?;
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

    /// How many rows are marked.
    pub(crate) fn marks(&self) -> usize {
        self.marked.len()
    }

    /// Marks the selected row, or takes the mark away.
    pub(crate) fn toggle_mark(&mut self) {
        let Some(path) = self.node().and_then(|node| self.path_of(node)) else { return };
        match self.marked.iter().position(|known| *known == path) {
            Some(place) => {
                self.marked.remove(place);
            }
            None => self.marked.push(path),
        }
    }

    /// The paths that were chosen: the marked ones, or else the selected one, or the one that was written.
    pub(crate) fn chosen(&self) -> Result<Vec<PathPattern>, String> {
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

fn has_all(name: &str, words: &[String]) -> bool {
    if words.is_empty() {
        return true;
    }
    let name = fold_case(name);
    words.iter().all(|word| name.contains(word.as_str()))
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
    fn opening_and_closing() {
        let mut tree = tree();
        assert_eq!(shown(&tree), [r"\Memory\*", r"\Process(*)\*"]);
        tree.select_by(1);
        assert_eq!(tree.open(), None);
        tree.select_by(1);
        assert_eq!(tree.open(), Some("Process".to_owned()));
        tree.take_instances("Process".to_owned(), Ok(vec!["a".to_owned(), "b#1".to_owned()]));
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
    fn searching_sets_and_counters() {
        let mut tree = tree();
        tree.set_search("bytes".to_owned());
        assert_eq!(shown(&tree).len(), 5);
        tree.set_search("proc BYT".to_owned());
        assert_eq!(shown(&tree), [r"\Process(*)\*", r"\Process(*)\IO Bytes"]);
        assert_eq!(tree.chosen().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
        tree.set_search("memory".to_owned());
        assert_eq!(shown(&tree), [r"\Memory\*"]);
        tree.set_search("nothing".to_owned());
        assert!(tree.rows().is_empty() && tree.chosen().expect("none").is_empty());
        tree.set_search(r"\Any(thing)\at all".to_owned());
        assert_eq!(tree.chosen().expect("a path")[0].to_string(), r"\Any(thing)\at all");
        tree.set_search(r"\broken".to_owned());
        assert!(tree.chosen().is_err());
    }

    #[test]
    fn the_set_of_a_name_comes_before_counters_that_contain_it() {
        let sets = [set("Cgroup", true, &["% Processor Time"]), set("Processor", true, &["% Idle Time"])];
        let mut tree = Tree::new(sets.into(), true);
        let chosen = |tree: &Tree| tree.chosen().expect("paths")[0].to_string();
        tree.set_search("processo".to_owned());
        assert_eq!(chosen(&tree), r"\Cgroup(*)\% Processor Time");
        tree.set_search(" processor".to_owned());
        assert_eq!(chosen(&tree), r"\Processor(*)\*");
    }

    #[test]
    fn other_sets_leave_the_selection() {
        let mut tree = tree();
        tree.set_search("process io".to_owned());
        assert_eq!(tree.chosen().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
        let sets = [
            set("Application", false, &["Orders"]),
            set("Memory", false, &["Bytes"]),
            set("Process", true, &["IO Bytes"]),
        ];
        tree.take_sets(sets.into());
        assert_eq!(tree.chosen().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
        tree.take_sets([].into());
        assert!(tree.chosen().expect("none").is_empty());
        tree.take_sets([set("Process", true, &["IO Bytes"])].into());
        assert_eq!(tree.chosen().expect("paths")[0].to_string(), r"\Process(*)\IO Bytes");
    }

    #[test]
    fn several_are_marked() {
        let mut tree = tree();
        tree.toggle_mark();
        tree.select_by(1);
        tree.toggle_mark();
        tree.select(0);
        let paths =
            |tree: &Tree| tree.chosen().expect("paths").iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(paths(&tree), [r"\Memory\*", r"\Process(*)\*"]);
        tree.toggle_mark();
        assert_eq!((paths(&tree), tree.marks()), (vec![r"\Process(*)\*".to_owned()], 1));
    }
}
