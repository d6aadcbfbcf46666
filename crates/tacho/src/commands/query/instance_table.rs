//! `query --sort`: a table of instances for each sample, sorted by a counter.

use std::collections::HashMap;
use std::io::Write;
use std::sync::Arc;

use tachograph_counters::sample::Sample;
use tachograph_counters::set::{Counter, Instance};
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::sinks::{LiveGroupValues, LiveValues};
use tachograph_flow::{FlowError, Selection, Sink};
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::has_no_rank;

use crate::commands::list::local;
use crate::failure::notify;
use crate::ranking::descending;
use crate::table::{Column, line, value_text, write_columns};

/// Writes each sample as tables, one for each counter set. The rows are instances, in descending order of a counter.
pub(super) struct InstanceTableSink<W> {
    out: W,
    values: LiveValues,
    /// The name of the counter by which rows are sorted.
    key: String,
    top: Option<usize>,
    /// The paths of the command. Totals that they name are ranked.
    selection: Selection,
    max_width: Option<usize>,
    form: NumberForm,
    is_first: bool,
    /// Whether the omitted row `_Exited` has been reported.
    is_exited_explained: bool,
    text: Vec<u8>,
}

/// A counter set of a sample, which can have several groups.
struct Table<'a> {
    groups: Vec<&'a LiveGroupValues>,
    rows: Vec<Row<'a>>,
    /// Row `_Exited`, if it is omitted although it would be among the first.
    exited: Option<Row<'a>>,
}

struct Row<'a> {
    instance: &'a Arc<Instance>,
    /// The row of the instance in each of the table's groups; `None` if the group lacks it.
    rows: Vec<Option<usize>>,
}

impl<W: Write> InstanceTableSink<W> {
    /// Creates a sink whose tables are at most `max_width` wide.
    pub(super) fn new(
        out: W,
        (key, top): (String, Option<usize>),
        selection: Selection,
        max_width: Option<usize>,
        form: NumberForm,
    ) -> Self {
        Self {
            out,
            values: LiveValues::default(),
            key,
            top,
            selection,
            max_width,
            form,
            is_first: true,
            is_exited_explained: false,
            text: Vec::new(),
        }
    }

    fn write_sample(&mut self, sample: &Sample) -> std::io::Result<()> {
        self.text.clear();
        if !std::mem::replace(&mut self.is_first, false) {
            self.text.push(b'\n');
        }
        self.text.extend(line(local(sample.at)).bytes());
        for mut table in tables(self.values.groups()) {
            table.sort(&self.key, self.top, &self.selection);
            table.write(&mut self.text, &self.key, self.max_width, self.form)?;
            if !self.is_exited_explained
                && let Some(figure) = table.exited_figure(&self.key, self.form)
            {
                self.is_exited_explained = true;
                notify(format_args!(
                    "--top omits _Exited, the time of processes that started or ended since the last sample: now {figure}"
                ));
            }
        }
        self.out.write_all(&self.text)?;
        self.out.flush()
    }
}

/// The counter sets, in the order in which they appear.
fn tables(groups: &[LiveGroupValues]) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for group in groups {
        match tables.iter_mut().find(|table| table.groups[0].set().is_same_set(group.set())) {
            Some(table) => table.groups.push(group),
            None => tables.push(Table { groups: vec![group], rows: Vec::new(), exited: None }),
        }
    }
    for Table { groups, rows, .. } in &mut tables {
        let mut by_label: HashMap<&str, usize> = HashMap::new();
        for (index, group) in groups.iter().enumerate() {
            for (row, instance) in group.instances().iter().enumerate() {
                let known = *by_label.entry(instance.label()).or_insert_with(|| {
                    rows.push(Row { instance, rows: vec![None; groups.len()] });
                    rows.len() - 1
                });
                rows[known].rows[index] = Some(row);
            }
        }
    }
    tables
}

impl Table<'_> {
    /// All counters, with the indexes of their group and column. A counter of several groups is listed for the first
    /// one.
    fn counters(&self) -> Vec<(usize, usize, &Counter)> {
        let mut counters: Vec<(usize, usize, &Counter)> = Vec::new();
        for (index, group) in self.groups.iter().enumerate() {
            for (column, counter) in group.set().counters.iter().enumerate() {
                if !counters.iter().any(|(_, _, known)| eq_ignore_case(&known.name, &counter.name)) {
                    counters.push((index, column, counter));
                }
            }
        }
        counters
    }

    fn value(&self, row: &Row<'_>, group: usize, column: usize) -> Option<f64> {
        row.rows[group].and_then(|row| self.groups[group].value((row, column)))
    }

    /// Sorts the rows by a counter. A set without this counter keeps its order.
    fn sort(&mut self, key: &str, top: Option<usize>, selection: &Selection) {
        let key = self.counters().into_iter().find(|(.., counter)| eq_ignore_case(&counter.name, key));
        let Some((group, column, _)) = key else { return };
        let mut rows = std::mem::take(&mut self.rows);
        let known = self.groups[group];
        let (set, counter) = (known.set(), &known.set().counters[column]);
        let is_named = |row: &Row<'_>| selection.names_instance(set, counter, Some(row.instance));
        let has_no_rank = |row: &Row<'_>| has_no_rank(&set.name, row.instance) && !is_named(row);
        let mut exited = None;
        if top.is_some() {
            let is_omitted = |row: &Row<'_>| is_exited(row.instance) && !is_named(row);
            exited = rows.iter().position(is_omitted).map(|index| rows.swap_remove(index));
            rows.retain(|row| !has_no_rank(row));
        }
        rows.sort_by_cached_key(|row| row.instance.label().to_owned());
        rows.sort_by(|one, other| {
            let lasts = has_no_rank(one).cmp(&has_no_rank(other));
            let values = [one, other].map(|row| self.value(row, group, column));
            lasts.then(descending(values[0], values[1]))
        });
        rows.truncate(top.unwrap_or(usize::MAX));
        let last = rows.last().and_then(|row| self.value(row, group, column)).unwrap_or(0.0);
        self.exited = exited.filter(|row| self.value(row, group, column).is_some_and(|value| value > last));
        self.rows = rows;
    }

    fn write(
        &self,
        out: &mut Vec<u8>,
        key: &str,
        max_width: Option<usize>,
        form: NumberForm,
    ) -> std::io::Result<()> {
        let counters = self.counters();
        let set = self.groups[0].set();
        let mut columns = vec![Column {
            heading: format!(r"\\{}\{}", set.machine, set.name),
            is_number: false,
            drop_rank: 0,
            can_shrink: true,
            shortens_to: usize::MAX,
        }];
        columns.extend(counters.iter().enumerate().map(|(index, (.., counter))| Column {
            heading: match form {
                NumberForm::Units => counter.name.to_string(),
                NumberForm::Raw => heading(counter),
            },
            is_number: true,
            // Columns of counters that were requested later are dropped first. The sort counter is always shown.
            drop_rank: match eq_ignore_case(&counter.name, key) {
                true => 0,
                false if counter.is_identifier() => 1,
                false => u8::try_from(index + 1).unwrap_or(u8::MAX),
            },
            can_shrink: false,
            shortens_to: usize::MAX,
        }));
        write_columns(out, &columns, max_width, &self.rows, |row| {
            // The ids of totals do not identify processes.
            let is_total = has_no_rank(&set.name, row.instance);
            let cell = |&(group, column, counter): &(usize, usize, &Counter)| match is_total {
                true if counter.is_identifier() => String::new(),
                _ => value_text(counter, self.value(row, group, column), form),
            };
            let label = row.instance.label().to_owned();
            std::iter::once(label).chain(counters.iter().map(cell)).collect()
        })
        .map(drop)
    }

    /// The figure of the omitted row `_Exited` in the sort column; `None` if the row would not be among the first.
    fn exited_figure(&self, key: &str, form: NumberForm) -> Option<String> {
        let exited = self.exited.as_ref()?;
        let counters = self.counters();
        let (group, column, counter) =
            counters.iter().find(|(.., counter)| eq_ignore_case(&counter.name, key))?;
        Some(value_text(counter, self.value(exited, *group, *column), form))
    }
}

/// Whether an instance is `_Exited` or `_Exited:0`: the time of processes that started or ended since the last sample.
fn is_exited(instance: &Instance) -> bool {
    instance.index() == 0 && matches!(instance.name(), "_Exited" | "_Exited:0")
}

/// The name of a counter, with its unit if the name does not contain it.
fn heading(counter: &Counter) -> String {
    let unit = counter.unit();
    let name = counter.name.to_lowercase();
    let is_evident = unit.is_empty()
        || unit.split('/').all(|part| match part {
            "1" => true,
            "s" => name.contains("/sec"),
            "seconds" => name.contains(" sec"),
            part => name.contains(&part.to_lowercase()),
        });
    if is_evident { counter.name.to_string() } else { format!("{} ({unit})", counter.name) }
}

impl<W: Write> Sink for InstanceTableSink<W> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.values.push(sample);
        if sample.is_baseline { Ok(()) } else { self.write_sample(sample).map_err(FlowError::Output) }
    }
}
