//! Control groups of containers: their names, or the first digits of their ids.

use tachograph_monitor::View;
use tachograph_screen::{Input, Request, Theme};

use crate::test_screen::{Line, TestScreen};

const WEB: &str =
    "/system.slice/docker-0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.scope";
const OTHER: &str = "/docker/fedcba9876543210fedcba9876543210fedcba9876543210fedcba9876543210";

const fn line(instance: &'static str, value: fn(u64) -> Option<f64>) -> Line {
    Line { set: "Cgroup", instance: Some(instance), counter: "% Processor Time", scale: 0, value }
}

const LINES: [Line; 3] =
    [line(WEB, |_| Some(50.0)), line(OTHER, |_| Some(20.0)), line("/user.slice", |_| Some(10.0))];

/// A screen with two panels of control groups.
fn screen(is_live: bool) -> TestScreen {
    let panel = "[[panel]]\n[[panel.counter]]\npath = '\\Cgroup(*)\\% Processor Time'\n";
    let text = format!("version = 2\n{panel}{panel}");
    let view = View::parse(&text).expect("a view");
    TestScreen::with_view(is_live, (120, 30), 20, Theme::default(), &LINES, view)
}

/// The control groups whose containers the screen has asked for.
fn asked(screen: &TestScreen) -> Vec<String> {
    let groups = screen.requests.iter().filter_map(|request| match request {
        Request::Containers(groups) => Some(groups),
        _ => None,
    });
    groups.flatten().map(ToString::to_string).collect()
}

#[test]
fn groups_have_the_names_of_their_containers() {
    let mut screen = screen(true);
    let text = screen.text();
    assert!(text.contains("ker-0123456789ab 50.0 %") && text.contains("ker/fedcba987654 20.0 %"), "{text}");
    // Not with each of the 20 samples.
    let asked = asked(&screen);
    assert!(asked.starts_with(&[WEB.to_owned(), OTHER.to_owned()]) && asked.len() < 20, "{asked:?}");
    screen.input(Input::Containers(vec![(WEB.into(), Some("web".into())), (OTHER.into(), None)]));
    let text = screen.text();
    assert!(text.contains(".slice/web 50.0 %") && text.contains("ker/fedcba987654 20.0 %"), "{text}");
    // The legend too; the path of the selected counter is complete.
    screen.type_in("z");
    let text = screen.text();
    assert!(text.contains("/system.slice/web ") && text.contains("/docker/fedcba987654 "), "{text}");
    assert!(text.contains("0123456789abcdef.scope)"), "{text}");
}

#[test]
fn logs_show_short_ids() {
    let mut screen = screen(false);
    let text = screen.text();
    assert!(text.contains("ker-0123456789ab ") && !text.contains("0123456789abc"), "{text}");
    assert_eq!(asked(&screen), [""; 0]);
}
