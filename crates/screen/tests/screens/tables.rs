//! Tables: expected screens, keys, the mouse.

use ratatui::crossterm::event::{KeyCode, MouseButton, MouseEventKind};
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::{Span, TreeKind, View, ViewKind};
use tachograph_screen::{App, Facts, Input, Request, Theme};

use crate::test_screen::{LINES, START, TestScreen};
use fixture::*;

mod fixture;
mod machines;
mod missing;

#[test]
fn tables_are_drawn_as_expected() {
    for (size, name) in
        [((80, 24), "80x24"), ((120, 40), "120x40"), ((200, 50), "200x50"), ((40, 12), "40x12")]
    {
        Tables::live(size, Theme::default()).assert_matches(&format!("table_{name}"));
    }
    let mut tables = Tables::live((120, 30), Theme::default());
    tables.type_in("T");
    tables.assert_matches("table_tree_120x30");
    tables.type_in("T");
    tables.assert_matches("table_groups_120x30");
    let mut tables = Tables::live((80, 24), Theme::default());
    tables.type_in("/rust");
    tables.assert_matches("table_filter_80x24");
    tables.press(KeyCode::Enter);
    tables.press(KeyCode::Enter);
    tables.assert_matches("table_details_80x24");
    tables.press(KeyCode::Esc);
    tables.type_in("?");
    tables.assert_matches("table_keys_80x24");
    let mut tables = Tables::log((80, 24));
    tables.assert_matches("table_log_80x24");
}

#[test]
fn the_smallest_screens_do_not_panic() {
    for size in [(24, 8), (25, 9), (30, 10), (400, 200)] {
        let mut tables = Tables::live(size, Theme::default());
        assert!(tables.text().contains("% OF 1 CPU"), "{size:?}");
        tables.type_in("T");
        tables.press(KeyCode::End);
        tables.press(KeyCode::Enter);
        tables.text();
    }
}

#[test]
fn a_table_without_unicode_is_ascii() {
    let theme = Theme { is_unicode: false, ..Theme::default() };
    let mut tables = Tables::live((100, 30), theme);
    tables.processes.retain(|process| process.0.is_ascii());
    tables.collect();
    tables.type_in("T");
    let text = tables.text();
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("`- rustc") || text.contains("`-rustc"), "{text}");
}

#[test]
fn control_characters_are_escaped() {
    let mut tables = Tables::live((200, 50), Theme::default());
    tables.press(KeyCode::Down);
    tables.press(KeyCode::Down);
    tables.press(KeyCode::Down);
    for key in [KeyCode::Null, KeyCode::Enter, KeyCode::Esc] {
        tables.press(key);
        let text = tables.text();
        assert!(!text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
        assert!(text.contains(r"evil\u{1b}[2J"), "{text}");
    }
}

#[test]
fn the_selection_moves_with_its_row() {
    let mut tables = Tables::live((80, 24), Theme::default());
    assert_eq!(tables.ids()[..4], ["[1300]", "1301", "700", "801"]);
    // Until the user selects a row, the first line is selected.
    tables.factor = 1000.0;
    tables.collect();
    assert_eq!(tables.ids()[..3], ["[977]", "1300", "1301"]);
    tables.factor = 1.0;
    tables.collect();
    tables.press(KeyCode::Down);
    tables.press(KeyCode::Down);
    assert_eq!(tables.ids()[..4], ["1300", "1301", "[700]", "801"]);
    tables.factor = 1000.0;
    tables.collect();
    assert_eq!(tables.ids()[..5], ["977", "1300", "1301", "[700]", "801"]);
    // When the selected row disappears, the selection stays on its line.
    tables.processes.retain(|process| process.2 != 700);
    tables.collect();
    assert_eq!(tables.ids()[..5], ["977", "1300", "1301", "[801]", "1201"]);
    tables.press(KeyCode::Home);
    assert_eq!(tables.ids()[0], "[977]");
}

#[test]
fn keys_sort_filter_and_limit() {
    let mut tables = Tables::live((80, 24), Theme::default());
    tables.type_in(">");
    assert!(tables.text().contains("MEMORY▾"), "{}", tables.text());
    assert_eq!(tables.ids()[..2], ["[700]", "1300"]);
    tables.type_in("o");
    assert_eq!(tables.ids()[0], "[800]");
    tables.type_in("<<<<");
    assert!(tables.text().contains("PID▾"), "{}", tables.text());
    assert_eq!(tables.ids()[0], "[1301]");
    tables.type_in("N2");
    tables.press(KeyCode::Enter);
    assert_eq!(tables.ids(), ["[1301]", "1300"]);
    tables.type_in("N0");
    tables.press(KeyCode::Enter);
    assert_eq!(tables.ids().len(), 9);
    tables.type_in("Nx");
    tables.press(KeyCode::Enter);
    assert!(tables.text().contains("enter a whole number"));
    tables.press(KeyCode::Esc);
    // While the filter is edited, keys are text.
    tables.type_in("/qqq");
    assert!(!tables.screen.requests.contains(&Request::Quit));
    assert!(tables.text().contains("no row contains these words"), "{}", tables.text());
    (0..3).for_each(|_| tables.press(KeyCode::Backspace));
    tables.type_in("postgres");
    assert_eq!(tables.ids(), ["[700]"]);
    tables.press(KeyCode::Enter);
    tables.press(KeyCode::Esc);
    assert_eq!(tables.ids().len(), 9);
    // The filter finds command lines, even of rows that were never on the screen.
    tables.type_in("/crate-name");
    assert_eq!(tables.ids(), ["[1301]", "1300"]);
}

#[test]
fn columns_can_be_chosen_and_saved() {
    let mut tables = Tables::live((120, 30), Theme::default());
    tables.type_in("<");
    tables.type_in("x");
    tables.type_in("cparent");
    tables.press(KeyCode::Enter);
    assert!(tables.text().contains("no counter of 'Process' contains these words"), "{}", tables.text());
    (0..6).for_each(|_| tables.press(KeyCode::Backspace));
    tables.type_in("creating");
    tables.press(KeyCode::Enter);
    tables.type_in("o");
    tables.type_in("T");
    tables.type_in("N5");
    tables.press(KeyCode::Enter);
    let shown = tables.screen.line(1);
    assert!(shown.contains("Creating Process ID▴") && !shown.contains(" S "), "{shown}");
    let view = View::parse(&tables.screen.app.view().to_text()).expect("a view");
    let settings = view.panels[0].table.clone();
    assert_eq!((settings.top, settings.tree), (Some(5), TreeKind::Parent));
    assert_eq!(settings.sort.as_deref(), Some("Creating Process ID"));
    assert_eq!((view.panels[0].kind, settings.reversed), (ViewKind::Table, true));
    // When it is opened again, the table is the same.
    let facts = Facts {
        is_live: true,
        name: "web1".to_owned(),
        about: String::new(),
        zone: TimeZone::utc(),
        has_properties: true,
    };
    tables.screen.app = App::new(facts, view, Theme::default());
    tables.screen.input(Input::Sets(sets()));
    tables.collect();
    tables.collect();
    assert_eq!(tables.screen.line(1), shown);
    assert_eq!(tables.screen.app.view().panels[0].table, settings);
}

#[test]
fn a_row_can_be_charted() {
    let mut tables = Tables::live((80, 24), Theme::default());
    tables.press(KeyCode::Down);
    tables.screen.requests.clear();
    tables.type_in("a");
    let path = r"\\WEB1\Process(rustc#1)\% Processor Time";
    let requested = tables.screen.requests.iter().any(
        |request| matches!(request, Request::Paths(paths) if paths.iter().any(|it| it.to_string() == path)),
    );
    assert!(requested, "{:?}", tables.screen.requests);
    assert!(tables.text().contains(r"rustc#1)\% Processor Time is on the chart"), "{}", tables.text());
    tables.type_in("a");
    assert!(tables.text().contains("is already on the chart"), "{}", tables.text());
    let view = tables.screen.app.view();
    assert_eq!(view.panels[0].kind, ViewKind::Table);
    assert_eq!(view.counters().count(), LINES.len() + 1);
}

#[test]
fn only_visible_tables_are_sampled() {
    let mut tables = Tables::live((80, 24), Theme::default());
    let charted = tables.screen.app.charted_paths();
    assert_eq!(charted.len(), LINES.len());
    let sampled = tables.screen.app.paths();
    assert!(sampled.iter().any(|path| path.to_string() == r"\Process(*)\Working Set"), "{sampled:?}");
    // While the details of a row are shown, all its counters are sampled.
    tables.press(KeyCode::Enter);
    assert!(tables.screen.app.paths().iter().any(|path| path.to_string() == r"\Process(rustc)\*"));
    tables.press(KeyCode::Esc);
    assert_eq!(tables.screen.app.paths(), sampled);
    tables.screen.requests.clear();
    tables.collect();
    assert!(tables.screen.app.required_figures().is_none(), "no chart is shown");
    tables.type_in("1");
    assert_eq!(tables.screen.app.paths(), charted);
    assert!(tables.screen.requests.contains(&Request::Paths(charted)));
    assert!(tables.screen.app.required_table(tables.last()).is_none());
}

#[test]
fn the_span_is_the_last_interval_or_that_of_the_cursor() {
    let tables = Tables::live((80, 24), Theme::default());
    let second = |second: i64| START.saturating_add(second * FileTime::PER_SECOND);
    let span = tables.screen.app.required_table(tables.last()).expect("a table").0;
    assert_eq!(span, Span::of_samples(second(1).saturating_add(1), second(2)));
    let mut tables = Tables::log((80, 24));
    let whole = tables.screen.app.required_table(tables.last()).expect("a table").0;
    assert_eq!(whole, Span::of_samples(START, second(599)).in_milliseconds());
    tables.press(KeyCode::Left);
    let moment = tables.screen.app.required_table(tables.last()).expect("a table").0;
    assert!(moment.length() < 10 * FileTime::PER_SECOND && moment.end() == whole.end(), "{moment:?}");
    tables.type_in("[");
    tables.press(KeyCode::Left);
    tables.type_in("]");
    let range = tables.screen.app.required_table(tables.last()).expect("a table").0;
    assert!(range.begin() < moment.begin() && range.end() == moment.end(), "{range:?}");
}

#[test]
fn tab_switches_to_tables_of_other_sets() {
    let mut tables = Tables::live((80, 24), Theme::default());
    tables.press(KeyCode::Tab);
    assert!(tables.text().contains("DISK"), "{}", tables.text());
    let paths: Vec<_> = tables.screen.app.paths().iter().map(ToString::to_string).collect();
    assert!(paths.contains(&r"\PhysicalDisk(*)\% Disk Time".to_owned()), "{paths:?}");
    assert!(!paths.contains(&r"\Process(*)\Working Set".to_owned()), "{paths:?}");
    // A set of the legend without predefined columns.
    tables.press(KeyCode::Tab);
    assert!(tables.screen.line_with("NAME").contains("% Disk Time"), "{}", tables.text());
    tables.press(KeyCode::Tab);
    assert!(tables.screen.line_with("% OF 1 CPU").contains("MEMORY"));
    tables.press(KeyCode::BackTab);
    assert!(tables.text().contains("Processor Information"));
}

#[test]
fn the_mouse_sorts_and_selects() {
    let mut tables = Tables::live((80, 24), Theme::default());
    let heading = tables.screen.line(1);
    let at = heading.find("MEMORY").expect("a heading") as u16;
    tables.screen.mouse(MouseEventKind::Down(MouseButton::Left), (at, 1));
    assert_eq!(tables.ids()[..2], ["[700]", "1300"]);
    tables.screen.mouse(MouseEventKind::Down(MouseButton::Left), (10, 4));
    assert_eq!(tables.ids()[..3], ["700", "1300", "[1301]"]);
    tables.screen.mouse(MouseEventKind::ScrollDown, (10, 4));
    assert_eq!(tables.ids()[5], "[410]");
}

/// Two tables and a chart.
const PANELS: &str = r"
version = 2
[[panel]]
title = 'Busy'
kind = 'table'
set = 'Process'
[[panel]]
kind = 'line'
[[panel.counter]]
path = '\Processor Information(_Total)\% Processor Time'
[[panel]]
kind = 'table'
set = 'PhysicalDisk'
[[panel]]
kind = 'table'
[[panel.counter]]
path = '\Process(*)\Working Set'
";

#[test]
fn tables_share_the_screen_with_charts() {
    for (size, name) in [((80, 24), "80x24"), ((120, 40), "120x40")] {
        Tables::of_view(size, PANELS).assert_matches(&format!("table_panels_{name}"));
    }
    let mut tables = Tables::of_view((80, 24), PANELS);
    // Each sample is reduced once for each table.
    assert_eq!(tables.tables.len(), 2 * 3);
    tables.text();
    tables.press(KeyCode::Down);
    tables.screen.mouse(MouseEventKind::Moved, (3, 3));
    tables.text();
    assert_eq!(tables.tables.len(), 2 * 3);
    let charted: Vec<_> = tables.screen.app.charted_paths().iter().map(ToString::to_string).collect();
    assert_eq!(charted, [r"\Processor Information(_Total)\% Processor Time"]);
    let sampled: Vec<_> = tables.screen.app.paths().iter().map(ToString::to_string).collect();
    for path in [r"\Process(*)\Thread Count", r"\PhysicalDisk(*)\% Disk Time"] {
        assert_eq!(sampled.iter().filter(|it| **it == path).count(), 1, "{sampled:?}");
    }
    // The keys of a table are those of the focused panel; Tab moves between panels.
    tables.type_in("/rust");
    let text = tables.text();
    assert!(text.contains("filter: rust") && text.contains("2 of 9"), "{text}");
    tables.press(KeyCode::Enter);
    tables.press(KeyCode::Tab);
    tables.type_in("T");
    assert!(tables.text().contains("unknown key"), "{}", tables.text());
    // A click on the heading of another table sorts that table.
    let memory = |tables: &mut Tables| tables.text().matches("MEMORY▾").count();
    assert_eq!(memory(&mut tables), 0);
    let text = tables.text();
    let lines: Vec<_> = text.lines().collect();
    let line = lines.iter().rposition(|line| line.contains("MEMORY")).expect("a heading");
    let begin = lines[line].rfind("MEMORY").expect("a heading");
    let column = lines[line][..begin].chars().count();
    tables.screen.mouse(MouseEventKind::Down(MouseButton::Left), (column as u16, line as u16));
    assert_eq!(memory(&mut tables), 1, "{}", tables.text());
    // While a chart is enlarged, no figures of tables are requested, but their counters are still sampled.
    tables.type_in("ww");
    tables.type_in("z");
    tables.tables.clear();
    tables.collect();
    assert!(tables.tables.is_empty(), "{}", tables.text());
    assert_eq!(tables.screen.app.paths().len(), sampled.len());
    tables.type_in("z");
    tables.text();
    assert_eq!(tables.tables.len(), 3);
}

#[test]
fn panels_with_tables_are_saved() {
    let tables = Tables::of_view((80, 24), PANELS);
    let view = View::parse(&tables.screen.app.view().to_text()).expect("a view");
    let sets: Vec<_> = view.panels.iter().map(|panel| (panel.kind, panel.table.set.as_deref())).collect();
    let table = ViewKind::Table;
    assert_eq!(
        sets,
        [
            (table, Some("Process")),
            (ViewKind::Line, None),
            (table, Some("PhysicalDisk")),
            (table, Some("Process"))
        ]
    );
}

#[test]
fn the_smallest_panels_do_not_panic() {
    for size in [(24, 8), (30, 9), (60, 12), (61, 11), (400, 200)] {
        let mut tables = Tables::of_view(size, PANELS);
        for _ in 0..4 {
            tables.press(KeyCode::End);
            tables.press(KeyCode::Tab);
            tables.text();
        }
    }
}

#[test]
fn a_table_of_an_unknown_set_is_empty() {
    let mut tables = Tables::of_view((80, 24), "version = 2\n[[panel]]\nkind = 'table'\nset = 'Fan'");
    assert!(tables.text().contains("no counter set 'Fan' here"), "{}", tables.text());
}

#[test]
fn the_first_table_is_that_of_all_instances_in_the_panel() {
    for (path, heading) in [
        (r"\PhysicalDisk(*)\% Disk Time", "DISK"),
        (r"\PhysicalDisk(sda)\% Disk Time", "% OF 1 CPU"),
        (r"\Memory\Available Bytes", "% OF 1 CPU"),
    ] {
        let text = format!("version = 2\n[[panel]]\n[[panel.counter]]\npath = '{path}'");
        let mut tables = Tables::of_view((80, 24), &text);
        tables.type_in("4");
        assert!(tables.screen.line(1).contains(heading), "{path}: {}", tables.text());
    }
}

#[test]
fn idle_kernel_threads_are_shown_with_a_key() {
    let mut tables = Tables::live((120, 40), Theme::default());
    tables.processes.extend([
        ("kthreadd", 0, 2, 0, Some(0.0), 0.0, 0.0),
        ("kworker/0:0", 0, 9, 2, Some(0.0), 0.0, 0.0),
        ("kswapd0", 0, 60, 2, Some(5.0), 0.0, 0.0),
    ]);
    tables.collect();
    let text = tables.text();
    assert!(text.contains("kswapd0") && !text.contains("kworker"), "{text}");
    assert!(text.contains("10 rows  +2 idle kernel threads (K)"), "{text}");
    tables.type_in("K");
    let text = tables.text();
    assert!(text.contains("kworker/0:0") && text.contains("12 rows  by"), "{text}");
    let saved = tables.screen.app.view().to_text();
    assert!(saved.contains("kernel_threads = true"), "{saved}");
}

#[test]
fn columns_without_values_are_named_below_the_table() {
    let mut tables = Tables::live((120, 40), Theme::default());
    tables.processes.retain_mut(|process| {
        process.4 = process.4.filter(|_| process.0.starts_with('_'));
        true
    });
    // A column counts as empty only if it never had a value, so a new table is opened.
    let mut tables = Tables {
        processes: tables.processes,
        ..Tables::new(TestScreen::live((120, 40), 0, Theme::default()))
    };
    tables.type_in("4");
    tables.collect();
    tables.collect();
    assert!(
        tables.text().contains(" % OF 1 CPU ") || tables.text().contains("% OF 1 CPU▾"),
        "{}",
        tables.text()
    );
    tables.collect();
    tables.collect();
    let text = tables.text();
    assert!(
        text.contains("no values here: % OF 1 CPU") && text.contains("by MEMORY largest first"),
        "{text}"
    );
    assert!(!text.lines().nth(1).is_some_and(|heading| heading.contains("% OF 1 CPU")), "{text}");
}

#[test]
fn the_keys_over_a_log_list_the_jump_to_a_time() {
    let mut tables = Tables::log((80, 24));
    assert!(tables.text().contains("t:jump"), "{}", tables.text());
    let mut tables = Tables::live((80, 24), Theme::default());
    assert!(!tables.text().contains("t:jump"), "{}", tables.text());
}

#[test]
fn values_above_a_limit_stand_out() {
    let text = "version = 2\n[[panel]]\nkind = 'table'\nset = 'Process'\nunit = '%'\nlimits = [60]\n";
    let mut tables = Tables::of_view((120, 30), text);
    let text = tables.text();
    let red = Some(ratatui::style::Color::Red);
    for (value, is_over) in [("98.2", true), ("64.5", true), ("33.1", false), ("12.0", false)] {
        assert_eq!(tables.screen.style_of(value).fg == red, is_over, "{value} in {text}");
    }
    // Neither totals nor columns of other units.
    assert_ne!(tables.screen.style_of("312").fg, red, "{text}");
    assert_ne!(tables.screen.style_of("22.9 GiB").fg, red, "{text}");
    assert!(!text.contains('!'));
    // Without colours, a mark.
    let theme = Theme { background: None, ..Theme::default() };
    let view = "version = 2\n[[panel]]\nkind = 'table'\nset = 'Process'\nlimits = [60]\n";
    let view = View::parse(view).expect("a view");
    let screen = TestScreen::with_view(true, (120, 30), 0, theme, &LINES, view);
    let mut tables = Tables::new(screen);
    tables.collect();
    tables.collect();
    let text = tables.text();
    // The limits are those of the sorted column if the panel names no unit.
    assert!(text.contains("!98.2") && text.contains("!64.5"), "{text}");
    assert_eq!(text.matches('!').count(), 2, "{text}");
}

#[test]
fn a_table_without_room_is_a_line() {
    let panels = "[[panel]]\n[[panel.counter]]\npath = '\\Memory\\Available Bytes'\n[[panel]]\nkind = 'table'\n\
                  set = 'Process'\nmin_size = [120, 40]\n";
    let text = format!("version = 2\n{panels}");
    let mut tables = Tables::of_view((80, 24), &text);
    let text = tables.text();
    let line = text.lines().nth(22).expect("a line").trim();
    assert_eq!(
        line, r"Process  % OF 1 CPU  rustc 98.2  rustc 64.5  postgres 33.1  evil\u{1b}[2J 12.0",
        "{text}"
    );
    // The figures of the table are read, but no properties, which the line does not show.
    assert!(tables.screen.app.paths().iter().any(|path| path.to_string().starts_with(r"\Process(")));
    assert!(!tables.tables.is_empty());
    // A smaller terminal has no line, and reads no processes.
    let mut tables = Tables::of_view((79, 24), &format!("version = 2\n{panels}"));
    assert!(!tables.text().contains("rustc"));
    assert!(!tables.screen.app.paths().iter().any(|path| path.to_string().starts_with(r"\Process(")));
    // A larger one has the table.
    let mut tables = Tables::of_view((120, 40), &format!("version = 2\n{panels}"));
    assert!(tables.text().contains("% OF 1 CPU▾"));
}
