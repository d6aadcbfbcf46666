//! The same counters of several machines: names, the first line, panels of parts of one whole, tables.

use std::sync::Arc;

use ratatui::crossterm::event::KeyCode;
use tachograph_counters::set::{CounterSet, Instance};
use tachograph_monitor::{Reduced, SeriesId, SeriesInfo, View};
use tachograph_screen::{Input, Theme};

use crate::panels::{LINES, overview};
use crate::test_screen::{TestScreen, reduced};

/// The series of figures, once for each of these machines.
pub(crate) fn on_machines(figures: Reduced, machines: &[&str]) -> Reduced {
    let series = figures.series.iter().flat_map(|series| {
        machines.iter().enumerate().map(|(index, machine)| {
            let info = &series.info;
            let set = CounterSet { machine: (*machine).into(), ..(*info.set).clone() };
            let instance = info.instance.as_deref().cloned().unwrap_or_else(Instance::none);
            let info = SeriesInfo {
                id: SeriesId(info.id.0 * 10 + index as u64),
                path: set.path(&instance, &info.counter),
                machine: Some((*machine).into()),
                set: Arc::new(set),
                ..(**info).clone()
            };
            tachograph_monitor::ReducedSeries { info: Arc::new(info), ..series.clone() }
        })
    });
    Reduced { series: series.collect(), ..figures }
}

/// The overview of two machines.
fn overview_of_two(size: (u16, u16)) -> TestScreen {
    let view = View::ready_made("overview").expect("the overview");
    let mut screen = TestScreen::with_view(true, size, 100, Theme::default(), &[], view);
    let (span, columns) = screen.app.required_figures().expect("figures");
    let figures = reduced(&LINES, span, columns, 100);
    screen.input(Input::Figures(on_machines(figures, &["db", "web"])));
    screen
}

#[test]
fn counters_of_several_machines_are_named_by_their_machines() {
    let mut screen = overview_of_two((200, 50));
    let first = screen.line(0);
    assert!(first.contains("  db load 0.50 1.25 2.00 up "), "{first}");
    assert!(first.contains("  web load 0.50 1.25 2.00 up "), "{first}");
    screen.line_with(" Memory  db 23.4 GiB  web 23.4 GiB ");
    for name in ["db user", "web user", "db system", "web iowait", "web available", "db read"] {
        screen.line_with(&format!("{name} "));
    }
    // A machine that does not fit into the first line is omitted as a whole.
    let first = overview_of_two((90, 30)).line(0);
    assert!(first.contains("  db load ") && !first.contains("web load"), "{first}");
    // The legend has the machines also if it has no room for other columns.
    let mut small = overview_of_two((80, 24));
    small.type_in("z");
    assert!(small.line_with("% Privileged Time").ends_with(" db"), "{}", small.text());
}

#[test]
fn parts_of_several_machines_are_not_stacked() {
    let mut one = overview((120, 40), Theme::default());
    let is_area = |text: &str| text.lines().take(12).any(|line| line.contains("███"));
    assert!(is_area(&one.text()), "{}", one.text());
    let mut screen = overview_of_two((120, 40));
    assert!(!is_area(&screen.text()), "{}", screen.text());
    // Hidden lines are no obstacle: the counters of one machine are parts of one whole.
    screen.type_in("z");
    for _ in 0..8 {
        if screen.line_with("▸").contains("web") {
            screen.type_in("x");
        }
        screen.press(KeyCode::Down);
    }
    assert!(is_area(&screen.text()), "{}", screen.text());
}
