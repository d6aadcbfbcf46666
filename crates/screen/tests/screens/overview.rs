//! The overview: the first line, capacities, the newest values, round times, and the menu of views.

use ratatui::crossterm::event::KeyCode;
use tachograph_monitor::{View, ViewKind};
use tachograph_screen::{Request, Theme};

use crate::panels::{LINES, line, overview};
use crate::test_screen::{Line, TestScreen};

#[test]
fn the_first_line_has_processors_load_and_up_time() {
    for width in [80, 120] {
        let mut screen = overview((width, 24), Theme::default());
        let first = screen.line(0);
        assert!(first.contains("2 processors  load 0.50 1.25 2.00  up 24,099"), "{first}");
        assert!(first.trim_end().ends_with("10:01:39"), "{first}");
        // If a panel is enlarged, the first line shows its title.
        screen.type_in("z");
        assert!(!screen.line(0).contains("load"), "{}", screen.line(0));
    }
}

#[test]
fn the_memory_panel_shows_the_total_and_an_axis_up_to_it() {
    for size in [(80, 24), (120, 40), (200, 50)] {
        let mut screen = overview(size, Theme::default());
        // 25,100,000,000 bytes.
        screen.line_with(" Memory 23.4 GiB ");
        screen.line_with("24 GiB ");
        let text = screen.text();
        assert!(text.contains("available 4.7 GiB"), "{text}");
        assert!(!text.contains("32 GiB") && !text.contains(" total "), "{text}");
    }
    // The legend of the enlarged panel contains the capacity, but no line is drawn for it.
    let mut screen = overview((120, 40), Theme::default());
    screen.press(KeyCode::Tab);
    screen.type_in("z");
    screen.line_with("Total Bytes");
    screen.line_with("24 GiB ┤");
}

#[test]
fn a_live_chart_ends_at_the_last_value() {
    // 100 intervals are in fewer columns, so the newest column has two intervals.
    const LAST: [Line; 1] =
        [line("Disk", None, "Writes", |second| Some(if second == 99 { 150.0 } else { 0.0 }))];
    let text = r"
version = 2
[[panel]]
max = 150
min = 0
[[panel.counter]]
path = '\Disk\Writes'
[[panel]]
[[panel.counter]]
path = '\Disk\Writes'
";
    let view = View::parse(text).expect("a view");
    let mut screen = TestScreen::with_view(true, (80, 24), 100, Theme::default(), &LAST, view);
    let top = screen.line_with("150 ");
    let is_braille = |character: char| ('\u{2801}'..='\u{28ff}').contains(&character);
    assert!(top.contains(is_braille), "{}", screen.text());
    // With the cursor on the newest column, the panel shows the same value.
    screen.type_in("f");
    screen.press(KeyCode::Left);
    screen.line_with("Writes   150 │");
}

#[test]
fn lists_name_the_values_that_they_show() {
    let mut screen = overview((120, 40), Theme::default());
    assert!(screen.text().contains(" last │") && !screen.text().contains(" mean │"), "{}", screen.text());
    screen.press(KeyCode::Left);
    screen.line_with("at cursor │");
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (120, 40), 100, Theme::default(), &LINES, view);
    assert!(log.text().contains(" mean │") && !log.text().contains(" last │"), "{}", log.text());
}

#[test]
fn times_are_round() {
    let mut screen = overview((120, 40), Theme::default());
    let text = screen.text();
    let times: Vec<_> = text
        .lines()
        .skip(1)
        .flat_map(|line| line.split(['─', '╰', '╯', '│', ' ']))
        .filter(|word| word.len() == 8 && word.matches(':').count() == 2)
        .collect();
    assert!(times.len() >= 3, "{text}");
    // 100 seconds in about 40 columns. A narrower chart has the first and the last time.
    let round = times.iter().filter(|time| !["09:59:59", "10:01:39"].contains(time));
    assert!(
        round.clone().count() >= 3 && round.clone().all(|time| ["00", "30"].contains(&&time[6..])),
        "{times:?}"
    );
    // Labels over two hours have no seconds.
    let mut log = TestScreen::log((120, 40), 7200);
    let line = log.line_with("└");
    assert!(line.contains(" 10:30") || line.contains("─10:30"), "{line}");
    assert!(!line.contains(":00:00"), "{line}");
}

#[test]
fn a_menu_shows_another_view() {
    let mut screen = overview((100, 30), Theme::default());
    screen.type_in("m");
    screen.line_with("Views (Enter, or the digit)");
    screen.line_with("pressure");
    screen.press(KeyCode::Esc);
    assert_eq!(screen.app.view().title.as_deref(), Some("Overview"));
    // The sets of the test machine have some counters of the view of memory.
    screen.type_in("m3");
    assert_eq!(screen.app.view().title.as_deref(), Some("Memory"));
    let paths: Vec<_> = screen.app.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, [r"\Memory\Available Bytes", r"\Memory\Cache Bytes"]);
    assert!(matches!(screen.requests.last(), Some(Request::Paths(_))), "{:?}", screen.requests);
    screen.line_with("memory: not available here: ");
    // With arrows and Enter; the current view is selected at first.
    screen.type_in("m");
    screen.press(KeyCode::Up);
    screen.press(KeyCode::Enter);
    assert!(screen.app.view().title.is_some_and(|title| title.contains("rocessor")));
    // Selecting a view for which the machine has no counters changes nothing.
    screen.type_in("m9");
    screen.line_with("nothing to show in the view 'gpu' here");
}

#[test]
fn a_panel_appears_on_a_larger_screen() {
    let mut screen = overview((100, 30), Theme::default());
    assert!(!screen.text().contains(" Processes "), "{}", screen.text());
    // The focus skips the hidden panel.
    for _ in 0..6 {
        screen.press(KeyCode::Tab);
    }
    screen.type_in("2");
    assert_eq!(screen.app.view().panels[0].kind, ViewKind::Bars);
    screen.requests.clear();
    screen.terminal.backend_mut().resize(120, 40);
    screen.app.mark_changed();
    screen.line_with(" Processes ");
    assert!(
        screen.requests.iter().any(|request| matches!(request, Request::Paths(_))),
        "{:?}",
        screen.requests
    );
}

#[test]
fn an_empty_panel_shows_the_reason() {
    const IDLE: [Line; 2] = [
        line("Network Interface", Some("eth0"), "Bytes Received/sec", |_| Some(0.0)),
        line("Cgroup", Some("/a"), "% Processor Time", |_| Some(5.0)),
    ];
    let text = r"
version = 2
[[panel]]
[[panel.counter]]
path = '\Network Interface(*)\Bytes Received/sec'
only_active = true
[[panel]]
[[panel.counter]]
path = '\Cgroup(*)\Tasks'
[[panel]]
[[panel.counter]]
path = '\Cgroup(*)\% Processor Time'
[[panel]]
[[panel.counter]]
path = '\GPU Engine(*)\Utilization Percentage'
except = ['\GPU Engine(0)\Utilization Percentage']
";
    let view = View::parse(text).expect("a view");
    let mut screen = TestScreen::with_view(true, (120, 40), 20, Theme::default(), &IDLE, view);
    screen.line_with("no activity: eth0");
    // Another panel shows that there are control groups.
    screen.line_with("no values here: Tasks");
    screen.line_with("GPU Engine has no instances except 0");
}
