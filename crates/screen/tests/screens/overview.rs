//! The overview: the first line, capacities, the newest values, round times, and the menu of views.

use ratatui::crossterm::event::{Event, KeyCode, KeyEvent, KeyModifiers};
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_monitor::Span;
use tachograph_monitor::{View, ViewKind};
use tachograph_screen::{App, Facts, Input, Request, Theme};

use crate::panels::{LINES, line, overview};
use crate::test_screen::{Line, START, TestScreen};

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
fn the_cursor_moves_ten_times_as_far_with_shift() {
    let mut screens = [0; 2].map(|_| TestScreen::log((120, 40), 60));
    screens.iter_mut().for_each(|screen| screen.press(KeyCode::Right));
    let [near, far] = &mut screens;
    (0..10).for_each(|_| near.press(KeyCode::Right));
    far.input(Input::Terminal(Event::Key(KeyEvent::new(KeyCode::Right, KeyModifiers::SHIFT))));
    assert_eq!(far.text(), near.text());
    near.press(KeyCode::Right);
    assert_ne!(far.text(), near.text());
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
    screen.line_with("counters unavailable: ! shows");
    // With arrows and Enter; the current view is selected at first.
    screen.type_in("m");
    screen.press(KeyCode::Up);
    screen.press(KeyCode::Enter);
    assert!(screen.app.view().title.is_some_and(|title| title.contains("rocessor")));
    // Selecting a view for which the machine has no counters changes nothing.
    screen.type_in("m");
    screen.line_with("GPU (nothing here)");
    screen.line_with("Temperatures, fans and power (nothing here)");
    screen.type_in("9");
    screen.line_with("nothing to show in the view 'gpu' here");
    // The menu stays open.
    screen.line_with("Views (Enter, or the digit)");
    screen.type_in("m3");
    assert_eq!(screen.app.view().title.as_deref(), Some("Memory"));
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
    const IDLE: [Line; 3] = [
        line("Network Interface", Some("eth0"), "Bytes Received/sec", |_| Some(0.0)),
        line("Network Interface", Some("eth0"), "Packets Received Errors/sec", |_| Some(0.0)),
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
path = '\Network Interface(*)\Packets Received Errors/sec'
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
    screen.line_with(" 0: eth0");
    // Another panel shows that there are control groups.
    screen.line_with("no values here: Tasks");
    screen.line_with("GPU Engine has no instances except 0");
}

#[test]
fn a_log_on_a_small_screen_has_its_range_its_times_and_single_samples() {
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (80, 24), 200, Theme::default(), &LINES, view);
    let text = log.text();
    let first = log.line(0);
    assert!(first.contains("web1.blg  Overview  mean of 2024-03-05 10:00:00 - 10:03:19.001"), "{first}");
    // A line with times below the lowest charts.
    let times: Vec<_> = text.lines().skip(16).filter(|line| line.contains("10:01")).collect();
    assert!(!times.is_empty(), "{text}");
    log.assert_matches("overview_log_80x24");
    // The cursor is on a single sample, whose values the panels show.
    log.type_in("t10:02:00");
    log.press(KeyCode::Enter);
    let first = log.line(0);
    assert!(first.contains("cursor 10:02:00 ") && !first.contains("average"), "{first}");
    assert!(first.contains(" - 10:0") && !first.contains("mean of"), "{first}");
    // 6 GB and 40 MB for each second.
    log.line_with(&format!("used {:.1} GiB", (6e9 + 4e7 * 120.0) / 1024f64.powi(3)));
    log.press(KeyCode::Right);
    assert!(log.line(0).contains("cursor 10:02:01 "), "{}", log.line(0));
    // The live overview names its values, too.
    let live = overview((80, 24), Theme::default()).line(0);
    assert!(live.ends_with("last 10:01:39"), "{live}");
}

#[test]
fn keys_wait_until_a_log_is_read() {
    let zone = TimeZone::fixed("W. Europe Standard Time", -60);
    let view = View::ready_made("overview").expect("the overview");
    let mut log = TestScreen::with_view(false, (80, 24), 600, Theme::default(), &LINES, view.clone());
    let facts = Facts {
        is_live: false,
        name: "web1.blg".to_owned(),
        about: String::new(),
        zone: zone.clone(),
        has_properties: false,
    };
    log.app = App::new(facts, view, Theme::default());
    log.input(Input::Reading(Some((0, 1))));
    // Without the waiting keys, `0` and `2` would be commands.
    log.type_in("t10:02:0");
    log.line_with("keys wait until the log is read (Esc cancels)");
    let last = START.saturating_add(599 * FileTime::PER_SECOND);
    log.input(Input::Opened(Some(Span::of_samples(START, last)), zone));
    log.type_in("5");
    log.press(KeyCode::Enter);
    assert!(!log.line(0).contains("cursor"), "{}", log.line(0));
    log.input(Input::Reading(None));
    log.app.mark_changed();
    assert!(log.line(0).contains("cursor 10:02:05"), "{}", log.text());
    // Later readings do not delay keys.
    log.input(Input::Reading(Some((0, 1))));
    log.press(KeyCode::Right);
    assert!(log.line(0).contains("cursor 10:02:06"), "{}", log.text());
}

#[test]
fn small_values_do_not_fill_a_chart() {
    const NOISE: [Line; 3] = [
        line("Pressure Stall", Some("memory"), "% Some Stall Time", |_| Some(0.0002)),
        line("Memory", None, "Swap Used Bytes", |_| Some(0.0)),
        line("Memory", None, "Swap Total Bytes", |_| Some(0.0)),
    ];
    let view = View::ready_made("memory").expect("the view of memory");
    let mut screen = TestScreen::with_view(true, (120, 40), 100, Theme::default(), &NOISE, view);
    screen.line_with("5 %");
    screen.line_with(" no swap ");
}

#[test]
fn unavailable_counters_do_not_replace_the_keys() {
    let mut screen = overview((80, 24), Theme::default());
    screen.input(Input::Unavailable("2 counters".to_owned(), vec!["a file cannot be read".to_owned()]));
    screen.line_with("2 counters unavailable: ! shows  ?:keys q:quit Tab:next panel");
    for second in 100..105 {
        screen.input(Input::Collected(START.saturating_add(second * FileTime::PER_SECOND)));
    }
    assert!(!screen.text().contains("unavailable"), "{}", screen.text());
    screen.type_in("!");
    screen.line_with("a file cannot be read");
}

#[test]
fn counters_of_earlier_charts_are_still_collected() {
    let mut screen = overview((100, 30), Theme::default());
    screen.type_in("m3");
    let background = screen.requests.iter().find_map(|request| match request {
        Request::Background(paths) => Some(paths),
        _ => None,
    });
    let texts: Vec<_> = background.expect("a request").iter().map(ToString::to_string).collect();
    assert!(texts.contains(&r"\Processor Information(_Total)\% User Time".to_owned()), "{texts:?}");
    // A sample of all processes is expensive.
    assert!(!texts.iter().any(|path| path.contains("Process(")), "{texts:?}");
    // The request comes before the new paths, with which it takes effect.
    let position = |is: fn(&Request) -> bool| screen.requests.iter().rposition(is);
    let paths = position(|request| matches!(request, Request::Paths(_)));
    assert!(position(|request| matches!(request, Request::Background(_))) < paths, "{:?}", screen.requests);
}

#[test]
fn tab_has_one_meaning() {
    let mut screen = overview((100, 40), Theme::default());
    screen.type_in("?");
    screen.line_with("Tab Shift-Tab w W   next, previous panel");
    assert_eq!(screen.text().matches("Tab Shift-Tab").count(), 1, "{}", screen.text());
    screen.press(KeyCode::Esc);
    // An enlarged panel is one of several, too.
    screen.type_in("z");
    screen.line_with("Tab:next panel");
    screen.press(KeyCode::Tab);
    screen.line_with("12 GiB ┤");
    // A single panel has no next panel.
    let mut single = TestScreen::live((100, 40), 20, Theme::default());
    single.type_in("?");
    assert!(!single.text().contains("Tab Shift-Tab"), "{}", single.text());
}
