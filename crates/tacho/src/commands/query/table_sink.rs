//! A human-readable table: one line per sample if all counters fit side by side, otherwise a block of lines per sample.

use std::io::Write;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Counter;
use tachograph_flow::sinks::{LiveGroupValues, LiveValues};
use tachograph_flow::{FlowError, Sink};
use tachograph_monitor::figures::NumberForm;
use unicode_width::UnicodeWidthStr;

use crate::table::{escape_controls, push_padded, terminal_width, value_text};

/// The assumed width if there is no terminal.
const DEFAULT_WIDTH: usize = 120;

/// Headings are repeated after this number of lines.
const LINES_PER_HEADING: usize = 20;

/// The minimum width of a column, so that growing values rarely change it.
const MIN_WIDTH: usize = 10;

/// The width of a time such as `20:01:05.123`.
const TIME_WIDTH: usize = 12;

pub(crate) fn screen_width() -> usize {
    terminal_width().unwrap_or(DEFAULT_WIDTH)
}

/// Writes each sample as human-readable text. Instances can appear and disappear.
pub(crate) struct TableSink<W> {
    out: W,
    screen_width: usize,
    form: NumberForm,
    values: LiveValues,
    /// Whether `columns` must be rebuilt, because the instances have changed.
    is_stale: bool,
    /// `\\machine` if all columns are of this machine, otherwise empty.
    machine: String,
    columns: Vec<Column>,
    /// Whether all columns fit side by side.
    is_wide: bool,
    /// Lines since the last headings; `None` if the next line needs new headings.
    lines: Option<usize>,
    /// The date in the last headings or block; empty before the first one.
    day: String,
    cells: Vec<String>,
    text: String,
}

struct Column {
    /// `\\machine`; empty if all columns are of the same machine.
    machine: String,
    /// `\set(instance)`.
    set: String,
    /// `\counter`.
    counter: String,
    /// Empty if the values have units.
    unit: String,
    described: Counter,
    width: usize,
}

impl<W: Write> TableSink<W> {
    pub(crate) fn new(out: W, screen_width: usize, form: NumberForm) -> Self {
        Self {
            out,
            screen_width,
            form,
            values: LiveValues::default(),
            is_stale: true,
            machine: String::new(),
            columns: Vec::new(),
            is_wide: false,
            lines: None,
            day: String::new(),
            cells: Vec::new(),
            text: String::new(),
        }
    }

    fn rebuild_columns(&mut self) {
        self.is_stale = false;
        self.columns.clear();
        self.lines = None;
        let machine_of =
            |group: &LiveGroupValues| escape_controls(&format!(r"\\{}", group.set().machine)).into_owned();
        let groups = self.values.groups();
        let mut machines = groups.iter().filter(|group| !group.instances().is_empty()).map(machine_of);
        let first = machines.next().or_else(|| groups.first().map(machine_of)).unwrap_or_default();
        let is_shared = machines.all(|machine| machine == first);
        self.machine = if is_shared { first } else { String::new() };
        for group in groups {
            let set = group.set();
            let machine = if is_shared { String::new() } else { machine_of(group) };
            for (row, column) in group.cells() {
                let (instance, counter) = (&group.instances()[row], &set.counters[column]);
                let set_text = match set.has_instances {
                    true => format!(r"\{}({})", set.name, instance.label()),
                    false => format!(r"\{}", set.name),
                };
                let set_text = escape_controls(&set_text).into_owned();
                let name = escape_controls(&format!(r"\{}", counter.name)).into_owned();
                let unit = match self.form {
                    NumberForm::Units => String::new(),
                    NumberForm::Raw => counter.unit().into_owned(),
                };
                let headings = [&*machine, &set_text, &name, &unit].map(UnicodeWidthStr::width);
                let width = headings.into_iter().max();
                self.columns.push(Column {
                    machine: machine.clone(),
                    set: set_text,
                    counter: name,
                    unit,
                    described: counter.clone(),
                    width: width.unwrap_or_default().max(MIN_WIDTH),
                });
            }
        }
    }

    /// Formats the cells of the last sample, and widens columns where necessary.
    fn format_cells(&mut self) {
        self.cells.clear();
        let values =
            self.values.groups().iter().flat_map(|group| group.cells().map(move |cell| group.value(cell)));
        for (column, value) in self.columns.iter_mut().zip(values) {
            let cell = value_text(&column.described, value, self.form);
            if cell.width() > column.width {
                column.width = cell.width();
                self.lines = None;
            }
            self.cells.push(cell);
        }
        self.is_wide = self.side_by_side() <= self.screen_width;
    }

    fn side_by_side(&self) -> usize {
        self.time_width() + self.columns.iter().map(|column| column.width + 2).sum::<usize>()
    }

    fn time_width(&self) -> usize {
        self.machine.width().max(TIME_WIDTH)
    }

    /// Adds the headings: a line for the machines if there are several, two for the rest of the path, and one for the unit.
    fn push_headings(&mut self, at: &LocalTime) {
        if !self.day.is_empty() {
            self.text.push('\n');
        }
        self.day.clone_from(&at.day);
        if self.columns.iter().any(|column| !column.machine.is_empty()) {
            self.push_heading("", |column| &column.machine);
        }
        let machine = self.machine.clone();
        self.push_heading(&machine, |column| &column.set);
        self.push_heading(&at.day, |column| &column.counter);
        self.push_heading(&at.offset, |column| &column.unit);
    }

    fn push_heading(&mut self, first: &str, part: impl Fn(&Column) -> &str) {
        let time_width = self.time_width();
        push_padded(&mut self.text, first, time_width, false);
        for column in &self.columns {
            self.text.push_str("  ");
            push_padded(&mut self.text, part(column), column.width, true);
        }
        end_line(&mut self.text);
    }

    fn push_line(&mut self, at: &LocalTime) {
        let is_due = self.lines.is_none_or(|lines| lines >= LINES_PER_HEADING) || self.day != at.day;
        if is_due {
            self.push_headings(at);
            self.lines = Some(0);
        }
        self.lines = self.lines.map(|lines| lines + 1);
        let time_width = self.time_width();
        push_padded(&mut self.text, &at.time, time_width, false);
        for (column, cell) in self.columns.iter().zip(&self.cells) {
            self.text.push_str("  ");
            push_padded(&mut self.text, cell, column.width, true);
        }
        end_line(&mut self.text);
    }

    fn push_block(&mut self, at: &LocalTime) {
        if !self.day.is_empty() {
            self.text.push('\n');
        }
        self.day.clone_from(&at.day);
        self.lines = None;
        self.text += &format!("{} {} {}\n", at.day, at.time, at.offset);
        let shared = self.machine.width();
        let width =
            |column: &Column| shared + column.machine.width() + column.set.width() + column.counter.width();
        let widest = self.columns.iter().map(width).max().unwrap_or_default();
        let widest_cell = self.cells.iter().map(|cell| cell.width()).max().unwrap_or_default().max(MIN_WIDTH);
        let mut path = String::new();
        for (column, cell) in self.columns.iter().zip(&self.cells) {
            path.clear();
            path.extend([&*self.machine, &column.machine, &column.set, &column.counter]);
            push_padded(&mut self.text, &path, widest, false);
            self.text.push_str("  ");
            push_padded(&mut self.text, cell, widest_cell, true);
            self.text.push_str("  ");
            self.text.push_str(&column.unit);
            end_line(&mut self.text);
        }
    }
}

/// Removes trailing spaces and ends the line.
fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

/// The displayed parts of a time.
struct LocalTime {
    day: String,
    time: String,
    offset: String,
}

impl LocalTime {
    fn new(at: Moment) -> Self {
        let text = at.rfc3339();
        let part = |from: usize, to: usize| text.get(from..to).unwrap_or_default().to_owned();
        let offset = match text.get(23..) {
            Some("Z") | None => "+00:00",
            Some(offset) => offset,
        };
        Self { day: part(0, 10), time: part(11, 23), offset: format!("UTC{offset}") }
    }
}

impl<W: Write> Sink for TableSink<W> {
    fn push(&mut self, sample: &Sample) -> Result<(), FlowError> {
        self.values.push(sample);
        self.is_stale |= self.values.has_changed();
        if sample.is_baseline {
            return Ok(());
        }
        if self.is_stale {
            self.rebuild_columns();
        }
        self.format_cells();
        self.text.clear();
        let at = LocalTime::new(sample.at);
        if self.is_wide {
            self.push_line(&at)
        } else {
            self.push_block(&at)
        }
        self.out.write_all(self.text.as_bytes()).and_then(|()| self.out.flush()).map_err(FlowError::Output)
    }
}
