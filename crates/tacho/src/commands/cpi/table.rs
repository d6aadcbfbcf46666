//! Samples as a human-readable table or line, in the format of Performance Inspector's cpi.

use std::fmt::Write as _;

use super::sample::{Row, Sample, Scope};
use crate::table::{escape_controls, grouped, push_padded};

const MIN_COLUMN_WIDTH: usize = 6;

const LABEL_WIDTH: usize = 6;

const PROCESS_LABEL_WIDTH: usize = 14;
const PROCESS_VALUE_WIDTH: usize = 18;

#[derive(Debug, Default)]
pub(super) struct Table {
    pub(super) process: String,
    pub(super) has_time: bool,
    /// Whether the values of the system are shown on one line, without processors.
    pub(super) is_one_line: bool,
    /// Whether the idle and busy shares and CPI while busy are omitted.
    pub(super) omits_utilization: bool,
}

/// A line of the table: its label, and a function that gets its value from a row.
type Line = (&'static str, fn(&Row) -> Option<f64>);

const RAW: [Line; 1] = [("cpi", |row| row.cpi)];

const UTILIZATION: [Line; 3] =
    [("cpi_wb", |row| row.cpi_wb), ("idle%", |row| row.idle_percent), ("busy%", |row| row.busy_percent)];

impl Table {
    /// Appends a sample; `is_first` omits the empty line before it.
    pub(super) fn push(&self, text: &mut String, sample: &Sample, is_first: bool) {
        if self.is_one_line {
            return self.push_lines(text, sample);
        }
        if !is_first {
            text.push('\n');
        }
        // Writing into a String cannot fail.
        if self.has_time {
            let _ = writeln!(text, "{}", sample.at);
        }
        if let Some(process) = &sample.process {
            self.push_process(text, sample, process);
        }
        if sample.process.is_some() && sample.system.is_some() {
            text.push('\n');
        }
        self.push_table(text, sample);
    }

    /// Appends the heading `System CPU0 CPU1 ...` and the lines of values.
    fn push_table(&self, text: &mut String, sample: &Sample) {
        let Some(system) = &sample.system else { return };
        let rows: Vec<&Row> = sample.rows().filter(|row| row.scope != Scope::Process).collect();
        let heading = |row: &Row| match row.scope {
            Scope::Processor(index) => format!("CPU{index}"),
            _ => "System".to_owned(),
        };
        let lines: &[Line] = if self.omits_utilization { &[] } else { &UTILIZATION };
        let lines = || RAW.iter().chain(lines);
        let widths: Vec<usize> = rows
            .iter()
            .map(|row| {
                let widest = lines().map(|(_, value)| two_places(value(row)).len()).max();
                widest.unwrap_or_default().max(heading(row).len()).max(MIN_COLUMN_WIDTH)
            })
            .collect();
        if system.user_only {
            text.push_str("user code only\n");
        }
        push_line(text, "", rows.iter().map(|row| heading(row)), &widths);
        for (label, value) in lines() {
            push_line(text, label, rows.iter().map(|row| two_places(value(row))), &widths);
        }
        self.push_share(text, system);
    }

    /// Appends a remark if the counters were multiplexed.
    fn push_share(&self, text: &mut String, row: &Row) {
        if let Some(share) = row.counters_running_percent.filter(|&share| share < 100.0) {
            let _ = writeln!(text, "counters ran for {share:.2} % of the time; counts are scaled");
        }
    }

    fn push_process(&self, text: &mut String, sample: &Sample, process: &Row) {
        let user_only = if process.user_only { ", user code only" } else { "" };
        let _ = writeln!(text, "{}: {:.3} s{user_only}", escape_controls(&self.process), sample.seconds);
        let count =
            |count: Option<u64>| count.map_or_else(|| "-".to_owned(), |count| grouped(&count.to_string()));
        for (label, value, remark) in [
            ("instructions", count(process.instructions), ""),
            ("cycles", count(process.cycles), ""),
            ("core cycles", count(process.core_cycles), ""),
            ("cpi", two_places(process.cpi), ""),
            ("core cpi", two_places(process.core_cpi), "  as 'perf stat' counts"),
        ] {
            push_padded(text, label, PROCESS_LABEL_WIDTH, false);
            push_padded(text, &value, PROCESS_VALUE_WIDTH, true);
            text.push_str(remark);
            text.push('\n');
        }
        self.push_share(text, process);
    }

    fn push_lines(&self, text: &mut String, sample: &Sample) {
        let mut start = String::new();
        if self.has_time {
            let _ = write!(start, "{} ", sample.at);
        }
        if let Some(row) = &sample.process {
            let _ = writeln!(
                text,
                "{start}process cpi: {:>5} core_cpi: {:>5}{}",
                two_places(row.cpi),
                two_places(row.core_cpi),
                if row.user_only { " user code only" } else { "" },
            );
        }
        if let Some(row) = &sample.system {
            let _ = write!(text, "{start}cpi: {:>5}", two_places(row.cpi));
            if !self.omits_utilization {
                let _ = write!(
                    text,
                    " cpi_wb: {:>5} idle: {} busy: {}",
                    two_places(row.cpi_wb),
                    percent(row.idle_percent),
                    percent(row.busy_percent)
                );
            }
            text.push_str(if row.user_only { " user code only\n" } else { "\n" });
        }
    }
}

fn push_line(text: &mut String, label: &str, cells: impl Iterator<Item = String>, widths: &[usize]) {
    push_padded(text, label, LABEL_WIDTH, false);
    for (cell, width) in cells.zip(widths) {
        text.push(' ');
        push_padded(text, &cell, *width, true);
    }
    text.push('\n');
}

fn two_places(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2}"))
}

/// Formats a percentage: `12.50%`, or `-` padded to the same width.
fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "    - ".to_owned(), |value| format!("{value:5.2}%"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::cpi::sample::tests::sample;

    fn table() -> Table {
        Table { process: "a \u{7}command".to_owned(), ..Table::default() }
    }

    #[track_caller]
    fn assert_table(table: &Table, sample: &Sample, expected: &[&str]) {
        let mut text = String::new();
        table.push(&mut text, sample, true);
        assert_eq!(text.lines().collect::<Vec<_>>(), expected);
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn the_process_is_shown_above_the_system() {
        let mut sample = sample();
        sample.processors[0].cpi = Some(12_345.678);
        sample.processors[1].busy_percent = None;
        assert_table(
            &table(),
            &sample,
            &[
                r"a \u{7}command: 1.500 s, user code only",
                "instructions           1,000,000",
                "cycles                 2,000,000",
                "core cycles            1,500,000",
                "cpi                         2.00",
                "core cpi                    1.50  as 'perf stat' counts",
                "counters ran for 50.00 % of the time; counts are scaled",
                "",
                "       System     CPU0   CPU2",
                "cpi      2.00 12345.68   1.33",
                "cpi_wb   1.00     2.00   0.67",
                "idle%   50.00    50.00  50.00",
                "busy%   50.00    50.00      -",
                "counters ran for 25.00 % of the time; counts are scaled",
            ],
        );
    }

    #[test]
    fn without_utilization_only_cpi_is_shown() {
        let mut sample = sample();
        sample.process = None;
        let table = Table { omits_utilization: true, has_time: true, ..table() };
        assert_table(
            &table,
            &sample,
            &[
                "2013-02-19T18:50:17.844-08:00",
                "       System   CPU0   CPU2",
                "cpi      2.00   4.00   1.33",
                "counters ran for 25.00 % of the time; counts are scaled",
            ],
        );
        let table = Table { is_one_line: true, omits_utilization: true, ..table };
        assert_table(&table, &sample, &["2013-02-19T18:50:17.844-08:00 cpi:  2.00"]);
    }

    #[test]
    fn process_and_system_have_one_line_each() {
        let mut sample = sample();
        let table = Table { is_one_line: true, ..table() };
        assert_table(
            &table,
            &sample,
            &[
                "process cpi:  2.00 core_cpi:  1.50 user code only",
                "cpi:  2.00 cpi_wb:  1.00 idle: 50.00% busy: 50.00%",
            ],
        );
        sample.process = None;
        let system = sample.system.as_mut().expect("the system");
        (system.cpi, system.cpi_wb, system.idle_percent, system.busy_percent) = (None, None, Some(5.0), None);
        assert_table(&table, &sample, &["cpi:     - cpi_wb:     - idle:  5.00% busy:     - "]);
    }

    #[test]
    fn an_empty_line_separates_samples() {
        let mut sample = sample();
        sample.process = None;
        let mut text = String::new();
        table().push(&mut text, &sample, false);
        assert!(text.starts_with("\n       System"), "{text}");
    }
}
