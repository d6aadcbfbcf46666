//! Several panels on one screen.

use ratatui::crossterm::event::{KeyCode, MouseButton, MouseEventKind};
use tachograph_counters::path::PathPattern;
use tachograph_monitor::figures::NumberForm;
use tachograph_monitor::{AxisScale, View, ViewKind};
use tachograph_screen::{ColourDepth, Request, Theme};

use crate::test_screen::{Line, TestScreen};

/// A counter whose default scale does not matter.
pub(crate) const fn line(
    set: &'static str,
    instance: Option<&'static str>,
    counter: &'static str,
    value: fn(u64) -> Option<f64>,
) -> Line {
    Line { set, instance, counter, scale: 0, value }
}

/// A wave around `middle`.
fn wave(second: u64, period: f64, middle: f64) -> Option<f64> {
    Some(middle * (1.0 + 0.6 * (second as f64 / period).sin()))
}

/// The counters of the overview, with an interface that is down and one that is up.
pub(crate) const LINES: [Line; 22] = [
    line("Processor Information", Some("_Total"), "% User Time", |second| wave(second, 9.0, 40.0)),
    line("Processor Information", Some("_Total"), "% Privileged Time", |second| wave(second, 5.0, 12.0)),
    line("Processor Information", Some("_Total"), "% IO Wait Time", |second| wave(second, 3.0, 6.0)),
    line("Processor Information", Some("_Total"), "% Steal Time", |_| Some(0.0)),
    line("Memory", None, "Used Bytes", |second| Some(6e9 + 4e7 * second as f64)),
    line("Memory", None, "Cache Bytes", |_| Some(5_368_709_120.0)),
    line("Memory", None, "Available Bytes", |second| Some(9e9 - 4e7 * second as f64)),
    line("Memory", None, "Swap Used Bytes", |_| Some(0.0)),
    line("Memory", None, "Total Bytes", |_| Some(25_100_000_000.0)),
    line("PhysicalDisk", Some("_Total"), "Disk Read Bytes/sec", |second| wave(second, 6.0, 28_800_000.0)),
    line("PhysicalDisk", Some("_Total"), "Disk Write Bytes/sec", |second| wave(second, 11.0, 90_000_000.0)),
    line("PhysicalDisk", Some("_Total"), "Avg. Disk sec/Read", |second| wave(second, 7.0, 0.000_9)),
    line("PhysicalDisk", Some("_Total"), "Avg. Disk sec/Write", |second| wave(second, 13.0, 0.004)),
    line("Network Interface", Some("eth0"), "Bytes Received/sec", |second| wave(second, 8.0, 1_200_000.0)),
    line("Network Interface", Some("eth1"), "Bytes Received/sec", |_| Some(0.0)),
    line("Pressure Stall", Some("cpu"), "% Some Stall Time", |second| wave(second, 9.0, 30.0)),
    line("Pressure Stall", Some("memory"), "% Some Stall Time", |_| Some(0.0)),
    line("Pressure Stall", Some("io"), "% Some Stall Time", |second| wave(second, 4.0, 8.0)),
    line("System", None, "Load Average, 1 min", |_| Some(0.5)),
    line("System", None, "Load Average, 5 min", |_| Some(1.25)),
    line("System", None, "Load Average, 15 min", |_| Some(2.0)),
    line("System", None, "System Up Time", |second| Some(24_000.0 + second as f64)),
];

pub(crate) fn overview(size: (u16, u16), theme: Theme) -> TestScreen {
    let view = View::ready_made("overview").expect("the overview");
    TestScreen::with_view(true, size, 100, theme, &LINES, view)
}

/// The panels of the current view.
fn kinds(screen: &TestScreen) -> Vec<ViewKind> {
    screen.app.view().panels.iter().map(|panel| panel.kind).collect()
}

#[test]
fn the_overview_fills_the_screen() {
    for (width, height) in [(80, 24), (120, 40), (200, 50)] {
        let mut screen = overview((width, height), Theme::default());
        let text = screen.text();
        for title in ["All processors", "Memory", "Disk throughput", "Disk latency", "Network", "Pressure"] {
            assert!(text.contains(&format!(" {title} ")), "{title} in\n{text}");
        }
        // The interface that is down is omitted.
        assert!(text.contains("eth0 in") && !text.contains("eth1"), "{text}");
        // No text is truncated.
        assert!(!text.contains('…') && !text.contains('#'), "{text}");
        let rows = text.lines().filter(|line| line.ends_with('╮')).count();
        // Large screens have a table of processes below the charts.
        assert_eq!(
            (rows, text.contains(" Processes ")),
            if width == 120 { (4, true) } else { (3, width == 200) }
        );
        screen.assert_matches(&format!("overview_{width}x{height}"));
    }
}

#[test]
fn the_overview_without_unicode_and_colours_is_ascii() {
    let theme = Theme { background: None, depth: ColourDepth::Ansi, is_unicode: false };
    let mut screen = overview((80, 24), theme);
    let text = screen.text();
    assert!(text.replace('µ', "u").is_ascii(), "{text}");
    screen.assert_matches("overview_ascii_80x24");
}

#[test]
fn a_small_screen_shows_the_focused_panel() {
    let mut screen = overview((40, 12), Theme::default());
    screen.line_with(" All processors ");
    for _ in 0..5 {
        screen.press(KeyCode::Tab);
    }
    screen.line_with(" Pressure ");
    assert!(!screen.text().contains(" All processors "));
    screen.press(KeyCode::BackTab);
    screen.type_in("w");
    screen.press(KeyCode::Tab);
    screen.line_with(" All processors ");
}

#[test]
fn a_panel_is_enlarged() {
    let mut screen = overview((80, 24), Theme::default());
    screen.press(KeyCode::Tab);
    screen.type_in("z");
    // The legend of the panel, and the unit on its axis.
    screen.line_with("12 GiB ┤");
    screen.line_with("Used Bytes");
    assert!(!screen.text().contains("Disk latency"));
    // Esc clears the cursor first.
    screen.press(KeyCode::Left);
    screen.press(KeyCode::Esc);
    screen.line_with("Used Bytes");
    screen.press(KeyCode::Esc);
    screen.line_with("Disk latency");
    screen.press(KeyCode::Enter);
    screen.line_with("Used Bytes");
    screen.type_in("z");
    screen.line_with("Disk latency");
}

#[test]
fn all_panels_share_one_cursor() {
    let mut screen = overview((120, 40), Theme::default());
    let used = |second: f64| format!("{:.1} GiB", (6e9 + 4e7 * second) / 1024f64.powi(3));
    let read = |second: f64| 28.8 * (1.0 + 0.6 * (second / 6.0).sin());
    // The last values.
    screen.line_with(&used(99.0));
    screen.line_with(&format!("{:.1} MB/s", read(99.0)));
    screen.press(KeyCode::Left);
    for _ in 0..10 {
        screen.press(KeyCode::Left);
    }
    // The tenth column before the last; each column is a second.
    screen.line_with(&used(89.0));
    screen.line_with(&format!("{:.1} MB/s", read(89.0)));
    let cursors = screen.text().lines().map(|line| line.matches("│").count()).max();
    // A row has the four edges of two panels and a cursor in each.
    assert_eq!(cursors, Some(6), "{}", screen.text());
}

#[test]
fn panels_are_added_and_removed() {
    let mut screen = TestScreen::live((120, 40), 50, Theme::default());
    screen.type_in("v");
    screen.line_with("Add counters");
    screen.press(KeyCode::Esc);
    screen.line_with("no counters: press a to add some");
    assert_eq!(kinds(&screen), [ViewKind::Line; 2]);
    screen.type_in("6");
    assert_eq!(kinds(&screen), [ViewKind::Line, ViewKind::Stacked]);
    // The first panel shares the screen and keeps its own scales.
    screen.line_with(" Processor Information ");
    screen.type_in("V");
    assert_eq!(kinds(&screen), [ViewKind::Line]);
    // The last panel is not removed, but emptied.
    screen.type_in("V");
    assert_eq!(screen.app.view().counters().count(), 0);
    assert_eq!(screen.requests.pop(), Some(Request::Paths(Vec::new())));
    screen.type_in("z");
    screen.line_with("there is only one panel; v adds one");
}

#[test]
fn paths_of_all_panels_are_sampled() {
    let text = r"
version = 2
[[panel]]
[[panel.counter]]
path = '\A\a'
[[panel.counter]]
path = '\B\b'
[[panel]]
[[panel.counter]]
path = '\B\b'
";
    let view = View::parse(text).expect("a view");
    let screen = TestScreen::with_view(true, (80, 24), 5, Theme::default(), &LINES, view);
    let paths: Vec<_> = screen.app.paths().iter().map(ToString::to_string).collect();
    assert_eq!(paths, [r"\A\a", r"\B\b"]);
}

#[test]
fn axes_and_limits_can_be_changed() {
    let mut screen = overview((120, 40), Theme::default());
    screen.type_in("wwwz");
    screen.line_with("8 ms ┤");
    screen.type_in("l");
    screen.line_with("axis: logarithmic");
    assert_eq!(screen.app.view().panels[3].axis.scale, AxisScale::Logarithmic);
    screen.line_with("100 µs ┤");
    screen.type_in("L");
    screen.type_in("0.002 x");
    screen.press(KeyCode::Enter);
    screen.line_with("'x' is not a number");
    screen.press(KeyCode::Backspace);
    screen.press(KeyCode::Backspace);
    screen.press(KeyCode::Enter);
    assert_eq!(screen.app.view().panels[3].limits, [0.002]);
    screen.line_with("╌╌╌╌");
    screen.assert_matches("panel_logarithmic_120x40");
    screen.type_in("l");
    screen.line_with("100 ┤");
}

#[test]
fn stacked_areas_reach_the_sum() {
    let text = r"
version = 2
[[panel]]
kind = 'stacked'
min = 0
max = 100
[[panel.counter]]
path = '\Memory\Swap Used Bytes'
[[panel.counter]]
path = '\Pressure Stall(cpu)\% Half'
[[panel.counter]]
path = '\Pressure Stall(io)\% Quarter'
";
    const CONSTANT: [Line; 2] = [
        line("Pressure Stall", Some("cpu"), "% Half", |_| Some(50.0)),
        line("Pressure Stall", Some("io"), "% Quarter", |_| Some(25.0)),
    ];
    let view = View::parse(text).expect("a view");
    let theme = Theme { background: None, depth: ColourDepth::Ansi, is_unicode: false };
    let mut screen = TestScreen::with_view(true, (80, 24), 100, theme, &CONSTANT, view);
    let text = screen.text();
    // In a column in the middle of the plot, a quarter is empty, a quarter is the upper area, and half is the lower area.
    let column: Vec<char> = text.lines().filter_map(|line| line.chars().nth(40)).collect();
    let count = |mark: char| column.iter().filter(|found| **found == mark).count();
    let (lower, upper) = (count('+'), count('o'));
    assert!(lower.abs_diff(2 * upper) <= 1 && upper >= 3, "{lower} and {upper} in\n{text}");
}

#[test]
fn the_legend_is_filtered() {
    let mut screen = overview((120, 40), Theme::default());
    screen.type_in("F");
    screen.type_in("priv");
    screen.press(KeyCode::Enter);
    screen.line_with(" All processors ");
    screen.line_with("system");
    assert!(!screen.text().contains("iowait"));
    screen.type_in("F");
    screen.press(KeyCode::Backspace);
    for _ in 0..4 {
        screen.press(KeyCode::Backspace);
    }
    screen.press(KeyCode::Enter);
    screen.line_with("iowait");
    // Only the selected counter.
    screen.type_in("e");
    assert!(screen.text().contains("system") && !screen.text().contains("iowait"));
    screen.type_in("e");
    screen.line_with("iowait");
}

#[test]
fn a_report_scrolls_within_its_panel() {
    let mut screen = overview((80, 24), Theme::default());
    screen.press(KeyCode::Tab);
    screen.type_in("3");
    screen.line_with("Used Bytes");
    for _ in 0..50 {
        screen.press(KeyCode::Down);
        screen.draw();
    }
    screen.line_with("Total Bytes");
    // Scrolling ends when the last line is visible, so a single key scrolls back.
    screen.press(KeyCode::Up);
    assert!(!screen.text().contains("Total Bytes"), "{}", screen.text());
}

#[test]
fn a_click_moves_the_focus() {
    let mut screen = overview((120, 40), Theme::default());
    screen.mouse(MouseEventKind::Down(MouseButton::Left), (90, 12));
    screen.mouse(MouseEventKind::Up(MouseButton::Left), (90, 12));
    screen.type_in("2");
    assert_eq!(kinds(&screen)[3], ViewKind::Bars);
}

#[test]
fn missing_counters_are_omitted_and_reported() {
    let mut screen = overview((120, 40), Theme::default());
    screen.app.resolve(&[], |path: &PathPattern| !path.set().to_string().contains("Pressure"), false);
    assert_eq!(kinds(&screen).len(), 6);
    let paths: Vec<_> = screen.app.paths().iter().map(ToString::to_string).collect();
    assert!(!paths.iter().any(|path| path.contains("Pressure")), "{paths:?}");
    screen.app.mark_changed();
    screen.line_with(r"not in the log: \Pressure Stall(cpu)\% Some Stall Time, \Pressure Stall(memory)");
}

#[test]
fn stacked_areas_of_sparse_samples_have_no_gaps() {
    let view = View::ready_made("overview").expect("the overview");
    let theme = Theme { background: None, depth: ColourDepth::Ansi, is_unicode: false };
    // 20 samples, more columns.
    let mut screen = TestScreen::with_view(false, (120, 40), 20, theme, &LINES, view);
    screen.type_in("z");
    let text = screen.text();
    let bottom = text.lines().find(|line| line.starts_with("  0 % +")).unwrap_or_else(|| panic!("{text}"));
    let plot = bottom.split('+').nth(1).expect("a plot");
    assert!(plot.trim_start().len() > 100 && !plot.trim().contains(' '), "{text}");
}

#[test]
fn raw_numbers_have_no_units() {
    let view = View::ready_made("overview").expect("the overview");
    let mut screen = TestScreen::with_view(true, (120, 40), 100, Theme::default(), &LINES, view);
    screen.line_with("5.0 GiB");
    screen.app.set_numbers(NumberForm::Raw);
    screen.line_with("5,368,709,120.000");
    screen.line_with("25,769,803,776");
}

#[test]
fn the_view_is_saved_with_its_panels() {
    let screen = overview((120, 40), Theme::default());
    let view = screen.app.view();
    assert_eq!(View::parse(&view.to_text()).as_ref(), Ok(&view));
    assert_eq!((view.title.as_deref(), view.panels.len()), (Some("Overview"), 7));
    assert_eq!(view.panels[0].counters[0].label.as_deref(), Some("user"));
}

#[test]
fn no_sequence_of_keys_panics() {
    let mut screen = overview((90, 30), Theme::default());
    let keys = "wWzveFlLg12345VxhcdDasbf.,+-=*";
    let mut state: u64 = 7;
    for _ in 0..600 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let choice = (state >> 33) as usize % (keys.len() + 6);
        match keys.chars().nth(choice) {
            Some(key) => screen.press(KeyCode::Char(key)),
            None => screen.press(
                [KeyCode::Tab, KeyCode::Enter, KeyCode::Esc, KeyCode::Left, KeyCode::Down, KeyCode::Esc]
                    [choice - keys.len()],
            ),
        }
        screen.draw();
    }
}

/// A view of these paths in one panel; `keys` are lines of TOML with settings of the panel.
fn one_panel(keys: &str, paths: &[&str]) -> View {
    let counters: String = paths.iter().map(|path| format!("[[panel.counter]]\npath = '{path}'\n")).collect();
    View::parse(&format!("version = 2\n[[panel]]\n{keys}\n{counters}")).expect("a view")
}

const LATENCY_AND_RATE: [&str; 2] =
    [r"\PhysicalDisk(_Total)\Disk Read Bytes/sec", r"\PhysicalDisk(_Total)\Avg. Disk sec/Read"];

#[test]
fn counters_of_two_units_have_an_axis_each() {
    let axis = |line: &str| -> (String, String) {
        let ends: Vec<_> = line.split(['┤', '⠀']).collect();
        let left = ends[0].trim().to_owned();
        let right: Vec<_> = line.split_whitespace().rev().take(2).collect();
        (left, right.into_iter().rev().collect::<Vec<_>>().join(" "))
    };
    for (keys, left, right) in [
        ("kind = 'line'", "50 MB/s", "2 ms"),
        // The unit of the panel is on the left.
        ("kind = 'line'\nunit = 'seconds'", "2 ms", "50 MB/s"),
        // Fixed ends apply to the axis on the left.
        ("kind = 'area'\nmax = 80e6", "80 MB/s", "2 ms"),
    ] {
        let view = one_panel(keys, &LATENCY_AND_RATE);
        let mut screen = TestScreen::with_view(true, (120, 40), 100, Theme::default(), &LINES, view);
        let text = screen.text();
        let top = text.lines().find(|line| line.contains('┤')).expect("a label");
        assert_eq!(axis(top), (left.to_owned(), right.to_owned()), "{text}");
        let bottom = text
            .lines()
            .find(|line| line.starts_with("   0") || line.starts_with("  0") || line.starts_with(" 0"));
        assert!(bottom.is_some_and(|line| line.trim_end().ends_with('s')), "{text}");
    }
    // Both lines fill their axes: from 40 % of the mean to 160 %.
    let view = one_panel("kind = 'line'\nmin = 0\nmax = 28.8e6", &LATENCY_AND_RATE);
    let mut screen = TestScreen::with_view(true, (120, 40), 100, Theme::default(), &LINES, view);
    screen.assert_matches("panel_two_axes_120x40");
    // With three units, each counter has its own scale; with stacked areas, two units suffice.
    let three = [&LATENCY_AND_RATE[..], &[r"\Pressure Stall(cpu)\% Some Stall Time"]].concat();
    for (keys, paths) in [("kind = 'line'", &three[..]), ("kind = 'stacked'", &LATENCY_AND_RATE)] {
        let mut screen =
            TestScreen::with_view(true, (120, 40), 100, Theme::default(), &LINES, one_panel(keys, paths));
        screen.line_with("100 ┤");
    }
}

#[test]
fn the_axis_of_each_counter_is_shown_beside_other_panels() {
    let counters = LATENCY_AND_RATE.map(|path| format!("[[panel.counter]]\npath = '{path}'\n")).concat();
    let text = format!("version = 2\n[[panel]]\n{counters}[[panel]]\n");
    let view = View::parse(&text).expect("a view");
    let mut screen = TestScreen::with_view(true, (120, 40), 100, Theme::default(), &LINES, view);
    let found = screen.line_with("Avg. Disk sec/Read");
    assert!(found.contains("ms →"), "{found}");
    assert!(!screen.line_with("Disk Read Bytes/sec").contains("MB/s →"));
}

#[test]
fn titles_name_the_counter_that_all_lines_have() {
    let title = |paths: &[&str]| -> String {
        let mut view = one_panel("", paths);
        view.panels.push(tachograph_monitor::Panel::default());
        let mut screen = TestScreen::with_view(true, (80, 24), 100, Theme::default(), &LINES, view);
        screen.text().lines().nth(1).expect("a line").chars().skip(3).take(40).collect()
    };
    let stalls = title(&[r"\Pressure Stall(*)\% Some Stall Time"]);
    assert!(stalls.starts_with("Pressure Stall: % Some Stall Time "), "{stalls}");
    let memory = title(&[r"\Memory\Used Bytes", r"\Memory\Cache Bytes"]);
    assert!(memory.starts_with("Memory ─"), "{memory}");
    // The title for a set without instances is its name, and the panel says that it has none.
    let nothing = title(&[r"\Bonding(*)\*"]);
    assert!(nothing.starts_with("Bonding ─"), "{nothing}");
    let view = one_panel("", &[r"\Bonding(*)\*"]);
    let mut screen = TestScreen::with_view(true, (80, 24), 100, Theme::default(), &LINES, view);
    screen.line_with("Bonding has no instances");
}

#[test]
fn several_panels_show_the_time_of_the_cursor() {
    let mut screen = overview((120, 40), Theme::default());
    screen.press(KeyCode::Left);
    let header = screen.text().lines().next().map(str::to_owned).expect("a line");
    assert!(header.contains("cursor 10:01:39"), "{header}");
    screen.press(KeyCode::Left);
    screen.line_with("cursor 10:01:38");
    screen.press(KeyCode::Esc);
    assert!(!screen.text().contains("cursor"));
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (80, 24), 100, Theme::default(), &LINES, view);
    log.line_with("t:jump");
    log.press(KeyCode::Right);
    log.line_with("cursor 10:00:0");
}

/// The width of the values beside a chart must not change the columns, because the columns would then change the values.
#[test]
fn columns_do_not_depend_on_values() {
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (120, 40), 300, Theme::default(), &LINES, view);
    let (_, columns) = log.app.required_figures().expect("samples");
    for second in [0, 10, 100, 200] {
        log.type_in(&format!("t10:0{}:{:02}", second / 60, second % 60));
        log.press(KeyCode::Enter);
        let first = log.text();
        assert_eq!(log.app.required_figures().expect("samples").1, columns);
        assert_eq!(log.text(), first);
    }
}

/// The values at a sample are those of the interval that ends there.
#[test]
fn a_typed_time_shows_the_sample_whose_interval_contains_it() {
    for size in [(80, 24), (120, 40), (200, 50)] {
        let view = View::ready_made("overview").expect("the overview");
        let mut log = TestScreen::with_view(false, size, 20, Theme::default(), &LINES, view);
        for (typed, shown) in [("04.4", "05"), ("05", "05"), ("05.001", "06"), ("18.999", "19")] {
            log.type_in(&format!("t10:00:{typed}"));
            log.press(KeyCode::Enter);
            log.line_with(&format!("cursor 10:00:{shown}"));
        }
    }
}

/// If there are few columns, each has several samples, so the header says that the values are averages. Zooming in divides
/// the columns.
#[test]
fn a_cursor_over_several_samples_shows_averages() {
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (80, 24), 300, Theme::default(), &LINES, view);
    log.press(KeyCode::Right);
    log.line_with("(average of ");
    for _ in 0..3 {
        log.type_in("+");
    }
    log.line_with("cursor 10:00:0");
    assert!(!log.text().contains("(average of "), "{}", log.text());
}

#[test]
fn the_key_that_shows_the_table_shows_the_chart_again() {
    let mut screen = overview((120, 40), Theme::default());
    let kind = |screen: &TestScreen| screen.app.view().panels[0].kind;
    let before = (kind(&screen), screen.text());
    screen.line_with("All processors");
    screen.type_in("4");
    assert_eq!(kind(&screen), tachograph_monitor::ViewKind::Table);
    screen.type_in("4");
    assert_eq!((kind(&screen), screen.text()), before);
    // An enlarged panel names the key that shows the others.
    screen.type_in("z");
    screen.line_with("z:all panels");
    screen.type_in("z");
    assert!(!screen.text().contains("z:all panels"));
}

/// There are more columns than samples, so most times are in a column without values.
#[test]
fn a_typed_time_between_two_samples_shows_values() {
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (200, 50), 20, Theme::default(), &LINES, view);
    let missing = |screen: &mut TestScreen| screen.text().matches("---").count();
    log.press(KeyCode::Right);
    let expected = missing(&mut log);
    for second in 1..19 {
        log.type_in(&format!("t10:00:{second:02}.4"));
        log.press(KeyCode::Enter);
        assert_eq!(missing(&mut log), expected, "second {second}: {}", log.text());
    }
}

#[test]
fn a_message_does_not_hide_the_keys() {
    let mut screen = overview((80, 24), Theme::default());
    screen.input(tachograph_screen::Input::Notice("x".repeat(200)));
    let text = screen.text();
    let last = text.lines().last().expect("a line");
    assert!(last.starts_with("xxxxx") && last.ends_with("?:keys q:quit"), "{last}");
}

#[test]
fn a_live_chart_grows_with_its_samples() {
    let width_of = |seconds: u64| {
        let view = View::ready_made("overview").expect("the overview");
        let mut screen = TestScreen::with_view(true, (120, 40), seconds, Theme::default(), &LINES, view);
        let header = screen.text().lines().next().map(str::to_owned).expect("a line");
        let (span, _) = screen.app.required_figures().expect("samples");
        (span.length() / 10_000_000, header)
    };
    for (seconds, points, text) in [
        (3, 20, "range 20 s"),
        (21, 20, "range 20 s"),
        (22, 50, "range 50 s"),
        (51, 50, "range 50 s"),
        (52, 100, "  range 100 s"),
        (500, 100, "  range 100 s"),
    ] {
        let (found, header) = width_of(seconds);
        assert!(found == points && header.contains(text), "{seconds}: {found} {header}");
    }
}

#[test]
fn settings_of_counters_survive_while_a_table_is_shown() {
    let mut view = one_panel("", &[r"\Network Interface(*)\Bytes Received/sec"]);
    view.panels.push(tachograph_monitor::Panel::default());
    let mut screen = TestScreen::with_view(true, (120, 40), 100, Theme::default(), &LINES, view);
    screen.type_in("xjh");
    let counters = |screen: &TestScreen| screen.app.view().panels[0].counters.clone();
    let before = counters(&screen);
    assert!(before.iter().any(|chosen| !chosen.settings.is_shown), "{before:?}");
    assert!(before.iter().any(|chosen| chosen.settings.is_highlighted), "{before:?}");
    screen.type_in("4");
    // The figures lack the counters of panels that show tables.
    let (span, columns) = screen.app.required_figures().expect("another panel has a chart");
    let none = tachograph_monitor::Reduced { span, columns, series: Vec::new() };
    screen.input(tachograph_screen::Input::Figures(none.clone()));
    screen.input(tachograph_screen::Input::Figures(none));
    assert_eq!(counters(&screen), before);
}
