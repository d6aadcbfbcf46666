//! Tables with rows of several machines.

use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::View;
use tachograph_screen::{App, Facts, Input, Request, Theme};

use super::fixture::{PROCESSES, Tables, figures, sets};
use crate::machines::on_machines;

/// The processes of two machines, in the table of a view.
fn tables(size: (u16, u16), view: View) -> Tables {
    let mut tables = Tables::live(size, Theme::default());
    let facts = Facts {
        is_live: true,
        name: "@all".to_owned(),
        about: "2 machines".to_owned(),
        zone: TimeZone::utc(),
        has_properties: false,
    };
    tables.screen.app = App::new(facts, view, Theme::default());
    tables.screen.input(Input::Sets(sets()));
    tables.collect();
    tables.collect();
    let (span, _) = tables.screen.app.required_table(tables.last()).expect("a table");
    let of_two = on_machines(figures(span, 1.0, &PROCESSES), &["db", "web"]);
    tables.screen.input(Input::Table(tables.last(), of_two.into()));
    tables
}

#[test]
fn rows_of_several_machines_always_name_them() {
    let view = "version = 2\n[[panel]]\nkind = 'table'\nset = 'Process'\n";
    for width in [40, 80, 120] {
        let view = View::parse(view).expect("a view");
        let mut tables = tables((width, 24), view);
        let text = tables.screen.text();
        let heading: Vec<_> = text.lines().nth(1).unwrap_or_default().split_whitespace().collect();
        assert_eq!(heading[..2], ["MACHINE", "PID"], "{text}");
        let totals: Vec<_> = text.lines().filter(|line| line.contains("_Total")).collect();
        assert!(totals.iter().all(|line| line.contains("db") || line.contains("web")), "{text}");
        assert!(!totals.is_empty() && text.contains("rustc"), "{text}");
        // Other machines do not have these, so the columns would be empty.
        assert!(!heading.iter().any(|title| ["USER", "S", "COMMAND"].contains(title)), "{text}");
        let requests = &tables.screen.requests;
        assert!(!requests.iter().any(|it| matches!(it, Request::Properties(..))), "{requests:?}");
    }
}

#[test]
fn the_first_processes_in_a_line_are_named_with_their_machines() {
    let mut tables = tables((80, 24), View::ready_made("overview").expect("the overview"));
    let line = tables.screen.line_with(" Processes  ");
    assert!(line.contains("  db rustc 98.2  web rustc 98.2"), "{line}");
}
