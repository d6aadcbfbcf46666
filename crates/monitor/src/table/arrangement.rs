//! The order of a table's lines: sorted, filtered, grouped.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::sync::Arc;

use tachograph_counters::wildcard::fold_case;

use super::columns::is_named;
use super::{TableLine, TableModel, TreeKind};
use crate::legend::{compare_naturally, none_last};

/// The id and the name of the parent of all kernel threads on Linux.
const KTHREADD: (u64, &str) = (2, "kthreadd");

/// Kernel threads that use at least this share of a processor, in percent, are always shown.
const MIN_KERNEL_SHARE: f64 = 1.0;

/// The position of a total: first the sum, last the idle time.
fn rank_of_total(name: &str) -> u8 {
    if name.contains("_Total") {
        0
    } else if name == "Idle" || name.starts_with("Idle:") {
        2
    } else {
        1
    }
}

/// The heading of processes whose control group is unknown.
const UNKNOWN_GROUP: &str = "(unknown group)";

impl TableModel {
    /// Computes the lines again.
    pub(super) fn arrange(&mut self) {
        let rows = &self.rows.rows;
        self.reserved_rows = (0..rows.len()).filter(|&row| rows[row].is_reserved).collect();
        self.reserved_rows.sort_by_key(|&row| rank_of_total(rows[row].name()));
        let words: Vec<String> = self.filter.split_whitespace().map(fold_case).collect();
        let hidden = self.hidden_rows();
        self.hidden_threads = hidden.iter().filter(|is_hidden| **is_hidden).count();
        let all: Vec<usize> = (0..rows.len()).filter(|&row| !rows[row].is_reserved && !hidden[row]).collect();
        let is_matching = |row: usize| words.is_empty() || self.matches(row, &words);
        let mut matching = vec![false; rows.len()];
        all.iter().for_each(|&row| matching[row] = is_matching(row));
        self.matching = matching.iter().filter(|is_matching| **is_matching).count();
        let lines = match self.tree {
            TreeKind::Parent => self.tree_lines(all, &matching, &hidden),
            TreeKind::None | TreeKind::Cgroup => {
                let matching: Vec<_> = all.into_iter().filter(|&row| matching[row]).collect();
                let sorted = self.sort_rows(matching);
                let max_rows = self.max_rows.unwrap_or(usize::MAX);
                let first = sorted.into_iter().take(max_rows);
                if self.tree == TreeKind::Cgroup { self.group_lines(first) } else { plain_lines(first) }
            }
        };
        self.lines = lines;
    }

    /// For each row, whether it is a kernel thread that is not shown: one that used less than [`MIN_KERNEL_SHARE`] of a
    /// processor. With a filter, no kernel thread is hidden. The parent of kernel threads is `kthreadd`, process 2.
    fn hidden_rows(&self) -> Vec<bool> {
        let rows = &self.rows.rows;
        let mut hidden = vec![false; rows.len()];
        let is_daemon = |row: &super::TableRow| row.process == Some(KTHREADD.0) && row.name() == KTHREADD.1;
        if self.shows_kernel_threads || !self.filter.is_empty() || !rows.iter().any(is_daemon) {
            return hidden;
        }
        let machines: Vec<_> = rows.iter().filter(|row| is_daemon(row)).map(|row| row.machine()).collect();
        let is_processor_time = |column: &super::TableColumn| {
            column.counter().is_some_and(|counter| is_named(counter, "% Processor Time"))
        };
        let time = self.layout.columns.iter().position(is_processor_time);
        for (index, row) in rows.iter().enumerate().filter(|(_, row)| machines.contains(&row.machine())) {
            let is_busy =
                time.and_then(|time| self.value(index, time)).is_some_and(|it| it >= MIN_KERNEL_SHARE);
            hidden[index] = !is_busy && (is_daemon(row) || row.parent == Some(KTHREADD.0));
        }
        hidden
    }

    fn matches(&self, row: usize, words: &[String]) -> bool {
        use std::fmt::Write as _;
        let table_row = &self.rows.rows[row];
        let mut text = format!("{} {}", table_row.machine(), table_row.label());
        for id in [table_row.process, table_row.thread].into_iter().flatten() {
            // Writing into a String cannot fail.
            let _ = write!(text, " {id}");
        }
        if let Some(properties) = self.properties.get(&table_row.id) {
            let texts = [&properties.user, &properties.command, &properties.cgroup];
            for property in texts.into_iter().flatten() {
                text.push(' ');
                text.push_str(property);
            }
        }
        let text = fold_case(&text);
        words.iter().all(|word| text.contains(word))
    }

    /// Sorts rows. Rows without a value come last in both directions, and equal rows keep their order.
    fn sort_rows(&self, rows: Vec<usize>) -> Vec<usize> {
        let order = self.order;
        let with_direction =
            |ordering: Ordering| if order.is_descending { ordering.reverse() } else { ordering };
        let is_text = self.layout.columns.get(order.column).is_some_and(super::TableColumn::is_text);
        if is_text {
            let key = |row: usize| self.name(row, order.column).map(|text| fold_case(&text));
            let mut keyed: Vec<_> = rows.into_iter().map(|row| (key(row), row)).collect();
            keyed.sort_by(|(a, _), (b, _)| none_last(a, b, |a, b| with_direction(compare_naturally(a, b))));
            return keyed.into_iter().map(|(_, row)| row).collect();
        }
        let mut keyed: Vec<_> = rows.into_iter().map(|row| (self.rank(row, order.column), row)).collect();
        keyed.sort_by(|(a, _), (b, _)| none_last(a, b, |a, b| with_direction(a.total_cmp(b))));
        keyed.into_iter().map(|(_, row)| row).collect()
    }

    /// For each row, the index of its parent's row.
    fn parent_indexes(&self) -> Vec<Option<usize>> {
        let rows = &self.rows.rows;
        if &*self.layout.set == "Cgroup" {
            let by_path: HashMap<_, _> = rows
                .iter()
                .enumerate()
                .map(|(row, table_row)| ((table_row.machine(), table_row.label()), row))
                .collect();
            let parent = |table_row: &super::TableRow| {
                let (parent, _) = table_row.label().rsplit_once('/')?;
                by_path.get(&(table_row.machine(), parent)).copied()
            };
            return rows.iter().map(parent).collect();
        }
        let processes = rows.iter().enumerate().filter(|(_, row)| !row.is_reserved);
        let by_id: HashMap<_, _> = processes
            .filter_map(|(row, table_row)| Some(((table_row.machine(), table_row.process?), row)))
            .collect();
        let parent =
            |table_row: &super::TableRow| by_id.get(&(table_row.machine(), table_row.parent?)).copied();
        rows.iter().map(parent).collect()
    }

    /// Arranges rows below their parents. The parents of rows that match the filter are shown even if they do not match.
    fn tree_lines(&self, all: Vec<usize>, matching: &[bool], hidden: &[bool]) -> Vec<TableLine> {
        let mut parents = self.parent_indexes();
        parents.iter_mut().for_each(|parent| *parent = parent.filter(|&above| !hidden[above]));
        let mut is_shown = matching.to_vec();
        for &row in all.iter().filter(|&&row| matching[row]) {
            let mut next = parents[row];
            // Ends at a row that is already shown, so it also ends if the parents in a damaged log form a cycle.
            while let Some(above) = next.filter(|&above| !is_shown[above]) {
                is_shown[above] = true;
                next = parents[above];
            }
        }
        let mut sorted = self.sort_rows(all.into_iter().filter(|&row| is_shown[row]).collect());
        // A row is sorted by the first of the rows below it, so that a busy process is not far down below an idle parent.
        let mut places = vec![usize::MAX; self.rows.rows.len()];
        for (place, &row) in sorted.iter().enumerate() {
            let mut next = Some(row);
            // Ends at a row whose place is already known.
            while let Some(above) = next.filter(|&above| places[above] == usize::MAX) {
                places[above] = place;
                next = parents[above];
            }
        }
        sorted.sort_by_key(|&row| places[row]);
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); self.rows.rows.len()];
        let mut roots = Vec::new();
        for &row in sorted.iter().rev() {
            match parents[row].filter(|&above| above != row && is_shown[above]) {
                // In reverse order, because `visit` takes them from the end.
                Some(above) if !self.rows.rows[above].is_reserved => children[above].push(row),
                _ => roots.push((row, 0)),
            }
        }
        let mut lines = Vec::new();
        let mut is_visited = vec![false; self.rows.rows.len()];
        let mut visit = |mut stack: Vec<(usize, usize)>| {
            while let Some((row, depth)) = stack.pop() {
                if !std::mem::replace(&mut is_visited[row], true) {
                    lines.push(TableLine::Row { row, depth, is_context: !matching[row] });
                    stack.extend(children[row].iter().map(|&child| (child, depth + 1)));
                }
            }
        };
        visit(roots);
        // Parents that form a cycle have no root.
        sorted.iter().for_each(|&row| visit(vec![(row, 0)]));
        lines.truncate(self.max_rows.unwrap_or(usize::MAX));
        lines
    }

    /// Arranges rows below the headings of their groups. Groups are in the order of their first rows.
    fn group_lines(&self, sorted: impl Iterator<Item = usize>) -> Vec<TableLine> {
        let mut groups: Vec<(Arc<str>, Vec<usize>)> = Vec::new();
        let mut positions: HashMap<Arc<str>, usize> = HashMap::new();
        for row in sorted {
            let properties = self.properties.get(&self.rows.rows[row].id);
            let group = properties.and_then(|properties| properties.cgroup.clone());
            let group = group.unwrap_or_else(|| UNKNOWN_GROUP.into());
            let position = *positions.entry(Arc::clone(&group)).or_insert_with(|| {
                groups.push((group, Vec::new()));
                groups.len() - 1
            });
            groups[position].1.push(row);
        }
        let mut lines = Vec::new();
        for (name, rows) in groups {
            lines.push(TableLine::Group { name, rows: rows.len() });
            lines.extend(rows.into_iter().map(|row| TableLine::Row { row, depth: 1, is_context: false }));
        }
        lines
    }
}

fn plain_lines(rows: impl Iterator<Item = usize>) -> Vec<TableLine> {
    rows.map(|row| TableLine::Row { row, depth: 0, is_context: false }).collect()
}
