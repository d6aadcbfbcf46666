//! All counters and properties of a row.

use ratatui::Frame;
use tachograph_monitor::figures::{escape_controls, shown};

use super::super::overlay::wrap;
use crate::app::App;

impl App {
    pub(in super::super) fn draw_row(&self, frame: &mut Frame<'_>, top: &mut usize) {
        let Some(table) = self.table() else { return };
        let model = &table.model;
        let found = table.selected.and_then(|id| model.rows().iter().find(|row| row.id == id));
        let Some(row) = found else {
            let gone = vec![(String::new(), "the row is no longer in the table".to_owned())];
            return self.draw_lines(frame, "Details (Esc closes)", 60, &gone, top);
        };
        let mut lines: Vec<(String, String)> = Vec::new();
        let columns = self.areas.screen.width.min(110);
        let room = usize::from(columns).saturating_sub(34).max(16);
        let mut property = |name: &str, value: Option<String>| {
            let mut name = name.to_owned();
            let Some(value) = value.filter(|value| !value.is_empty()) else { return };
            wrap(&value, room, |line| lines.push((std::mem::take(&mut name), line)));
        };
        property("Process", row.process.map(|id| id.to_string()));
        property("Thread", row.thread.map(|id| id.to_string()));
        let parent = row.parent.filter(|_| !row.is_reserved).map(|id| {
            let parent = model.rows().iter().find(|other| other.process == Some(id) && !other.is_reserved);
            format!("{id} {}", parent.map_or("", |parent| parent.name()))
        });
        property("Parent", parent);
        if let Some(properties) = model.properties(row.id) {
            property("User", properties.user.as_ref().map(ToString::to_string));
            property("State", properties.state.map(state_text));
            property("Control group", properties.cgroup.as_ref().map(ToString::to_string));
            property("OOM score", properties.oom_score.map(|score| score.to_string()));
        }
        property("Machine", Some(row.machine().to_owned()));
        lines.push((String::new(), String::new()));
        // A counter that several paths select is listed once, and ids only as properties.
        let mut listed: Vec<&str> = Vec::new();
        for series in model.all_figures(row.id) {
            let name = &*series.info.counter.name;
            if listed.contains(&name) || is_property(name) {
                continue;
            }
            listed.push(name);
            let (counter, summary) = (&series.info.counter, &series.summary);
            let format = |value| shown(counter, value, self.numbers);
            let text = if summary.values > 1 {
                format!(
                    "{:>12}  average; {} to {}, last {}",
                    format(summary.average),
                    format(summary.minimum),
                    format(summary.maximum),
                    format(summary.last)
                )
            } else {
                format!("{:>12}", format(summary.last))
            };
            lines.push((counter.name.to_string(), text));
        }
        // The command line is last, because it can be long.
        let command = model.properties(row.id).and_then(|properties| properties.command.as_deref());
        if let Some(command) = command.filter(|command| !command.is_empty()) {
            lines.push((String::new(), String::new()));
            let mut name = "Command".to_owned();
            wrap(command, room, |line| lines.push((std::mem::take(&mut name), line)));
        }
        let title = format!("{} (Esc closes)", escape_controls(row.label()));
        self.draw_lines(frame, &title, columns, &lines, top);
    }
}

/// Whether a counter is an id that the list shows as a property.
fn is_property(counter: &str) -> bool {
    ["ID Process", "Process ID", "ID Thread", "Creating Process ID"].contains(&counter)
}

/// The meaning of the kernel's letter for a state.
fn state_text(state: char) -> String {
    let meaning = match state {
        'R' => "running or ready to run",
        'S' => "sleeping",
        'D' => "waiting for a device, cannot be interrupted",
        'T' => "stopped",
        't' => "stopped by a debugger",
        'Z' => "ended, not yet collected by its parent",
        'I' => "idle kernel thread",
        _ => "",
    };
    format!("{state} {meaning}").trim_end().to_owned()
}
