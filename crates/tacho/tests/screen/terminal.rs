//! The state of the terminal.

use crate::live::{has_line, samples};
use crate::run::Folder;
use crate::tmux::{Tmux, line_with};

/// The settings of the terminal, and its state in tmux: cursor, alternate screen, mouse.
pub(crate) fn state(tmux: &Tmux, name: &str) -> (String, String) {
    let file = tmux.folder().join(name);
    tmux.enter(&format!("stty -a > {name}; echo saved-$((1))-{name}"));
    tmux.shows(&format!("saved-1-{name}"));
    let settings = std::fs::read_to_string(file).expect("the settings");
    let facts = "#{cursor_flag} #{alternate_on} #{mouse_any_flag} #{mouse_button_flag} #{mouse_sgr_flag}";
    (settings, tmux.fact(facts))
}

#[test]
fn the_terminal_is_restored() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    let before = state(&tmux, "before");
    assert!(before.1.starts_with("1 0 0"), "{before:?}");
    for (index, end) in ["q", "C-c"].into_iter().enumerate() {
        tmux.tacho("monitor; echo ended-$?");
        tmux.shows("Disk latency");
        assert!(tmux.fact("#{alternate_on} #{mouse_any_flag}").starts_with("1 1"));
        tmux.keys(&[end]);
        tmux.shows("ended-0");
        assert_eq!(state(&tmux, &format!("key{index}")), before);
    }
    for (signal, status) in [("TERM", 143), ("HUP", 129), ("INT", 130), ("QUIT", 131)] {
        tmux.tacho(&format!("; echo ended-$?-{signal}"));
        tmux.shows("Disk latency");
        let id = tmux.tacho_id();
        let killed = std::process::Command::new("kill").args(["-s", signal, &id]).status();
        assert!(killed.expect("kill runs").success());
        tmux.shows(&format!("ended-{status}-{signal}"));
        assert_eq!(state(&tmux, signal), before);
    }
}

#[test]
fn a_closed_terminal_ends_the_monitor_as_its_signal_does() {
    let folder = Folder::new();
    for errors in ["/dev/tty", "errors"] {
        let Some(tmux) = Tmux::start(80, 24) else { return };
        let errors = folder.path(errors);
        let status = folder.path("status");
        // With a handler, this shell survives the hang-up, but its commands do not inherit the handler. It has no job
        // control, which would need the terminal afterwards.
        let monitor = format!("'{}' 2> {}", env!("CARGO_BIN_EXE_tacho"), errors.display());
        folder.write("script", format!("trap : HUP\n{monitor}\necho ended-$? > {}\n", status.display()));
        tmux.enter(&format!("clear; sh {}", folder.path("script").display()));
        tmux.shows("Disk latency");
        drop(tmux);
        let begun = std::time::Instant::now();
        while std::fs::read_to_string(&status).unwrap_or_default() != "ended-129\n" {
            assert!(begun.elapsed().as_secs() < 60, "{:?}", std::fs::read_to_string(&status));
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        std::fs::remove_file(&status).expect("removed");
    }
    assert_eq!(folder.text("errors"), "");
}

#[test]
fn inherited_ignored_signals_stay_ignored() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    tmux.enter("trap '' HUP INT");
    tmux.tacho("; echo ended-$?");
    tmux.shows("Disk latency");
    let id = tmux.tacho_id();
    let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("the status");
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).expect("the ignored signals");
    let ignored = u64::from_str_radix(mask.trim(), 16).expect("a mask");
    // Signals 1 and 2.
    assert_eq!(ignored & 3, 3, "{mask}");
    let killed = std::process::Command::new("kill").args(["-s", "TERM", &id]).status();
    assert!(killed.expect("kill runs").success());
    tmux.shows("ended-143");
}

#[test]
fn suspending_restores_the_terminal() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    tmux.enter("set -m");
    let before = state(&tmux, "before");
    tmux.tacho("monitor");
    tmux.shows("Disk latency");
    tmux.keys(&["C-z"]);
    tmux.hides("Disk latency");
    assert_eq!(state(&tmux, "suspended"), before);
    tmux.enter("fg");
    tmux.shows("Disk latency");
    tmux.text("q");
    tmux.hides("Disk latency");
    assert_eq!(state(&tmux, "after"), before);
}

#[test]
fn the_screen_adapts_to_other_sizes() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    tmux.tacho(r"monitor '\Memory\Available Bytes'");
    tmux.shows("q:quit");
    tmux.resize(200, 50);
    tmux.shows("Machine");
    tmux.resize(40, 12);
    tmux.until("narrow", |screen| {
        screen.contains("Avg") && screen.lines().all(|line| line.chars().count() <= 40)
    });
    tmux.resize(20, 5);
    tmux.shows("too small");
    tmux.resize(80, 24);
    tmux.shows("every 1 s");
}

#[test]
fn the_overview_adapts_to_the_size() {
    let Some(tmux) = Tmux::start(80, 24) else { return };
    tmux.tacho("monitor -si 0.2");
    for (width, height, rows) in [(80, 24, 3), (120, 40, 4), (200, 50, 3)] {
        tmux.resize(width, height);
        // The upper edges of the panels at the right edge of the screen.
        let has_rows = |screen: &str| {
            let edges = screen
                .lines()
                .filter(|line| line.chars().count() == usize::from(width) && line.ends_with('╮'));
            edges.count() == rows
        };
        let screen = tmux.until("the panels", has_rows);
        assert!(screen.contains(" All processors ") && !screen.contains("loop0"), "{screen}");
    }
    tmux.text("z");
    tmux.shows("% User Time");
    tmux.keys(&["Escape"]);
    tmux.shows("Disk latency");
    tmux.text("q");
    tmux.hides("every 0.2 s");
}

#[test]
fn errors_before_the_screen_are_reported() {
    let Some(tmux) = Tmux::start(100, 24) else { return };
    tmux.enter("mkfifo pipe.blg");
    let cases = [
        ("no.blg", "tacho: no.blg: cannot read: No such file or directory", 1),
        (r"-c '\Nothing\There'", r"tacho: '\Nothing\There' is not on this machine", 2),
        ("memory", r"tacho: 'memory' is a counter set: write '\Memory\*' for its counters", 2),
        ("pipe.blg", "tacho: pipe.blg: a log cannot be read from a pipe", 1),
        ("--points 1", "tacho: --points 1: must be a whole number from 2 to 1000", 2),
        ("--view overviw", "tacho: overviw: is neither a ready-made view (overview, cpu,", 2),
        ("--view no.toml", "tacho: no.toml: No such file or directory", 2),
        ("-b 2024-01-01", "tacho: -b and -e select a time range of logs: name a log", 2),
        ("< /dev/null", "tacho: the monitor needs a terminal", 2),
    ];
    tmux.enter("clear; export TERM=dumb");
    tmux.tacho("monitor; echo ended-$?-dumb");
    let screen = tmux.shows("ended-2-dumb");
    assert!(screen.contains("cannot use a dumb terminal (TERM=dumb)"), "{screen}");
    tmux.enter("export TERM=screen-256color");
    for (index, (arguments, message, status)) in cases.into_iter().enumerate() {
        tmux.tacho(&format!("monitor {arguments}; echo ended-$?-{index}"));
        let screen = tmux.shows(&format!("ended-{status}-{index}"));
        assert!(screen.contains(message), "{arguments}: {screen}");
    }
}

/// Starts a monitor that reads keys from one terminal and draws on another one, which does not answer its queries.
fn drawn_elsewhere(keys: &Tmux, screen: &Tmux) -> String {
    let terminal = screen.fact("#{pane_tty}");
    keys.enter("set -m");
    keys.tacho(&format!(r"monitor '\Memory\Available Bytes' -si 0.1 > {terminal}; echo ended-$?"));
    screen.until("a line", has_line);
    terminal
}

#[test]
fn a_terminal_that_does_not_answer_queries_is_redrawn() {
    let (Some(keys), Some(screen)) = (Tmux::start(80, 24), Tmux::start(80, 24)) else { return };
    let terminal = drawn_elsewhere(&keys, &screen);
    let disturb = || {
        // The end of the last line, which does not change.
        std::fs::write(&terminal, "\u{1b}[24;70Hdisturbed").expect("written");
        screen.shows("disturbed");
    };
    disturb();
    keys.keys(&["C-l"]);
    screen.hides("disturbed");
    screen.until("a line", has_line);
    keys.keys(&["C-z"]);
    screen.hides("every 0.1 s");
    keys.enter("fg; echo brought-back-$?");
    screen.shows("every 0.1 s");
    disturb();
    keys.keys(&["C-l"]);
    screen.hides("disturbed");
    keys.text("q");
    keys.shows("brought-back-0");
}

#[test]
fn a_recording_is_complete_if_the_terminal_fails() {
    let (Some(keys), Some(screen)) = (Tmux::start(80, 24), Tmux::start(80, 24)) else { return };
    drawn_elsewhere(&keys, &screen);
    keys.text("rlost.blg");
    keys.keys(&["Enter"]);
    screen.until("ten samples", |screen| samples(screen) >= 10);
    drop(screen);
    let ended = keys.shows("ended-1");
    assert!(line_with(&ended, "samples recorded").starts_with("tacho: lost.blg: "), "{ended}");
    assert!(line_with(&ended, "terminal: ").starts_with("tacho: "), "{ended}");
    let checked = Folder::new().run(["check", &keys.folder().join("lost.blg").display().to_string()]);
    assert_eq!(checked.status, 0, "{checked:?}");
}
