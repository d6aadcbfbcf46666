//! Missing columns and panels without values: their reasons, and the states of processes as a substitute.

use std::sync::Arc;

use ratatui::crossterm::event::KeyCode;
use tachograph_counters::set::{Counter, CounterSet, Extent, Instance};
use tachograph_counters::{CounterType, Summary};
use tachograph_monitor::{
    CounterEntry, Reduced, ReducedSeries, SeriesId, SeriesInfo, SetEntry, View, ViewKind,
};
use tachograph_screen::{CounterName, Input, Request, Theme};

use super::fixture::Tables;
use crate::panels::LINES;
use crate::test_screen::{START, TestScreen};

const PROCESSES: &str = r"
version = 2
[[panel]]
title = 'Processes'
kind = 'table'
set = 'Process'
width = 2
[[panel]]
title = 'Stalls'
[[panel.counter]]
path = '\Cgroup(*)\% CPU Some Stall Time'
[[panel]]
title = 'Load'
[[panel.counter]]
path = '\Processor Information(_Total)\% Processor Time'
";

const SETTING: &str = "needs 'sysctl kernel.task_delayacct=1'";

/// Answers the requests for reasons; returns the counters that were asked for.
fn answer(tables: &mut Tables) -> Vec<CounterName> {
    tables.text();
    let mut asked = Vec::new();
    for request in std::mem::take(&mut tables.screen.requests) {
        let Request::Reasons(counters) = request else { continue };
        let reason = |name: &CounterName| match (&*name.0, &*name.1) {
            ("Process", "% Block IO Wait Time") => Some(SETTING.to_owned()),
            ("Cgroup", _) => Some("cgroup v2: no groups".to_owned()),
            _ => None,
        };
        asked.extend(counters.iter().cloned());
        let found = counters
            .into_iter()
            .map(|name| {
                let why = reason(&name);
                (name, why)
            })
            .collect();
        tables.screen.input(Input::Reasons(found));
    }
    asked
}

#[test]
fn a_missing_column_has_its_reason_on_the_edge_of_the_panel() {
    for size in [(80, 24), (120, 40), (200, 50)] {
        let mut tables = Tables::of_view(size, PROCESSES);
        assert!(!tables.text().contains("DISK WAIT"), "{}", tables.text());
        let asked = answer(&mut tables);
        assert!(asked.contains(&("Process".to_owned(), "% Block IO Wait Time".to_owned())), "{asked:?}");
        tables.screen.line_with(&format!("─ no DISK WAIT %: {SETTING} ─"));
        // Reasons are requested once, and only for counters that are missing.
        tables.collect();
        assert!(answer(&mut tables).iter().all(|(set, _)| set == "Cgroup"));
        assert!(!asked.iter().any(|(_, counter)| counter == "Working Set"), "{asked:?}");
        // The list of messages also names the substitute.
        tables.type_in("!");
        tables.screen.line_with("Process: % Block IO Wait Time: needs");
        assert!(tables.text().contains("state D"), "{}", tables.text());
    }
    // When the counters of the machine change, the reasons are requested again.
    let mut tables = Tables::of_view((80, 24), PROCESSES);
    answer(&mut tables);
    tables.screen.input(Input::Sets(super::fixture::sets().iter().take(2).cloned().collect()));
    assert!(!answer(&mut tables).is_empty());
}

#[test]
fn processes_that_wait_for_a_device_come_first_by_state() {
    let mut tables = Tables::live((80, 24), Theme::default());
    assert_eq!(tables.ids()[0], "[1300]");
    tables.type_in("<");
    tables.screen.line_with(" S▴");
    // 977 is in state D, 1300 in state R.
    assert_eq!(tables.ids()[..2], ["[977]", "1300"]);
    tables.type_in("/state:d");
    assert_eq!(tables.ids(), ["[977]"]);
    tables.press(KeyCode::Esc);
    // The states of all processes are read with each sample.
    tables.screen.requests.clear();
    tables.screen.input(Input::Collected(START.saturating_add(90_000_000)));
    let Some(id) = tables.screen.requests.iter().find_map(|request| match request {
        Request::Table(id) => Some(*id),
        _ => None,
    }) else {
        panic!("no figures requested: {:?}", tables.screen.requests)
    };
    let span = tables.screen.app.required_table(id).expect("a table").0;
    let figures = super::fixture::figures(span, 1.0, &tables.processes);
    tables.screen.input(Input::Table(id, figures.into()));
    let read = tables.screen.requests.iter().find_map(|request| match request {
        Request::Properties(_, read) => Some(read.len()),
        _ => None,
    });
    assert_eq!(read, Some(9), "{:?}", tables.screen.requests);
}

#[test]
fn panels_without_values_leave_their_room_to_the_table() {
    let mut tables = Tables::of_view((80, 24), PROCESSES);
    assert!(tables.text().contains(" Stalls "), "{}", tables.text());
    tables.collect();
    tables.collect();
    let text = tables.text();
    assert!(!text.contains(" Stalls ") && text.contains(" Load "), "{text}");
    // The focus is never on a panel that is not shown.
    for _ in 0..3 {
        tables.press(KeyCode::Tab);
        assert!(tables.text().contains(" Processes "), "{}", tables.text());
    }
    let mut large = Tables::of_view((120, 40), PROCESSES);
    large.collect();
    large.collect();
    answer(&mut large);
    let text = large.text();
    assert!(
        text.contains("no values here: % CPU Some Stall Time") && text.contains(" cgroup v2: no groups "),
        "{text}"
    );
}

#[test]
fn the_overview_shows_its_table_of_processes_on_the_whole_screen() {
    let view = View::ready_made("overview").expect("the overview");
    for size in [(80, 24), (120, 40)] {
        let screen = TestScreen::with_view(true, size, 0, Theme::default(), &LINES, view.clone());
        let mut tables = Tables::new(screen);
        tables.collect();
        tables.collect();
        assert!(tables.text().contains(" Disk latency "), "{}", tables.text());
        tables.type_in("4");
        let text = tables.text();
        assert!(text.lines().nth(1).is_some_and(|line| line.trim_start().starts_with("PID")), "{text}");
        assert!(text.contains("bash") && !text.contains(" Disk latency "), "{text}");
        tables.type_in("4");
        assert!(tables.text().contains(" Disk latency "), "{}", tables.text());
        // The panel that had the focus has it again.
        assert_eq!(tables.screen.app.view().panels[0].kind, ViewKind::Stacked);
        tables.type_in("4");
        tables.press(KeyCode::Esc);
        assert!(tables.text().contains(" Disk latency "), "{}", tables.text());
    }
}

#[test]
fn a_log_on_a_small_screen_has_a_line_with_the_first_processes() {
    let view = View::ready_made("overview").expect("the overview");
    let screen = TestScreen::with_view(false, (80, 24), 600, Theme::default(), &LINES, view);
    let mut tables = Tables::new(screen);
    tables.screen.input(Input::Reading(None));
    let text = tables.text();
    let line = text.lines().nth(22).expect("a line");
    assert!(line.starts_with(" Processes  % OF 1 CPU  rustc 98.2  rustc 64.5"), "{text}");
}

#[test]
fn the_details_of_a_row_list_ids_once() {
    let mut tables = Tables::live((80, 24), Theme::default());
    tables.press(KeyCode::Enter);
    let text = tables.text();
    assert!(text.contains("Process ") && text.contains("1300") && text.contains("Working Set"), "{text}");
    assert!(!text.contains("ID Process") && !text.contains("Creating Process ID"), "{text}");
}

/// A control group and its memory in bytes.
const GROUPS: [(&str, f64); 2] = [("/", 19e9), ("/a", 20e9)];

#[test]
fn a_group_with_more_memory_than_the_root_is_explained() {
    let counter = Counter::new("Memory Current Bytes", CounterType::LARGE_RAWCOUNT, 1);
    let entry = SetEntry {
        machine: None,
        name: "Cgroup".into(),
        help: "".into(),
        has_instances: true,
        counters: vec![CounterEntry { counter: counter.clone(), help: "".into() }],
    };
    let text = "version = 2\n[[panel]]\nkind = 'table'\nset = 'Cgroup'\n";
    for factor in [1.0, 0.5] {
        let view = View::parse(text).expect("a view");
        let mut screen = TestScreen::with_view(true, (80, 24), 3, Theme::default(), &[], view);
        screen.input(Input::Sets(vec![entry.clone()].into()));
        screen.input(Input::Collected(START.saturating_add(30_000_000)));
        let id = screen.requests.iter().find_map(|request| match request {
            Request::Table(id) => Some(*id),
            _ => None,
        });
        let id = id.expect("a table");
        let span = screen.app.required_table(id).expect("a table").0;
        let mut set = CounterSet::new("WEB1", "Cgroup", Extent::Table);
        set.counters = vec![counter.clone()];
        let set = Arc::new(set);
        let series = GROUPS.iter().enumerate().map(|(index, (name, bytes))| {
            let value = Some(if *name == "/" { *bytes } else { bytes * factor });
            let instance = Arc::new(Instance::new(None, name, 0));
            let info = SeriesInfo {
                id: SeriesId(index as u64),
                path: set.path(&instance, &counter),
                machine: None,
                set: Arc::clone(&set),
                counter: counter.clone(),
                instance: Some(instance),
            };
            let summary =
                Summary { values: 1, intervals: 1, average: value, last: value, ..Summary::default() };
            ReducedSeries { info: Arc::new(info), summary, columns: Vec::new() }
        });
        let reduced = Reduced { span, columns: 0, series: series.collect() };
        screen.input(Input::Table(id, reduced.into()));
        let text = screen.text();
        assert_eq!(text.contains("; / is without kernel memory (cgroup v1)"), factor == 1.0, "{text}");
    }
}
