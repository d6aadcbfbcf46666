//! A terminal with readable content, provided by tmux.

use std::path::Path;
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// The maximum wait on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A private tmux server with a shell in one window.
pub(crate) struct Tmux {
    folder: TempDir,
}

impl Tmux {
    /// A shell in a terminal of this size; `None`, with a message, without tmux.
    pub(crate) fn start(columns: u16, rows: u16) -> Option<Self> {
        if Command::new("tmux").arg("-V").output().is_err() {
            eprintln!("skipped: tmux is missing (Debian's package tmux)");
            return None;
        }
        let tmux = Self { folder: TempDir::new().expect("a folder") };
        let size = ["-x", &columns.to_string(), "-y", &rows.to_string()].map(str::to_owned);
        let mut words = vec!["-f", "/dev/null", "new-session", "-d", "-s", "test"];
        words.extend(size.iter().map(String::as_str));
        words.extend(["env", "PS1=$ ", "TERM=screen-256color", "LC_ALL=C.UTF-8", "sh"]);
        tmux.run(&words);
        tmux.until("a prompt", |screen| screen.contains('$'));
        Some(tmux)
    }

    fn output(&self, words: &[&str]) -> Output {
        let socket = self.folder.path().join("tmux");
        let mut command = Command::new("tmux");
        // Do not use the user's tmux server.
        command.arg("-S").arg(socket).args(words).current_dir(self.folder.path());
        command.env_remove("TMUX").env("LC_ALL", "C.UTF-8").output().expect("tmux runs")
    }

    #[track_caller]
    fn run(&self, words: &[&str]) -> String {
        let output = self.output(words);
        assert!(output.status.success(), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The folder that commands run in.
    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Types a command line and Enter.
    pub(crate) fn enter(&self, line: &str) {
        self.run(&["send-keys", "-t", "test", "-l", "--", line]);
        self.keys(&["Enter"]);
    }

    /// Runs `tacho` with arguments for the shell.
    pub(crate) fn tacho(&self, arguments: &str) {
        self.enter(&format!("clear; '{}' {arguments}", env!("CARGO_BIN_EXE_tacho")));
    }

    /// Types characters.
    pub(crate) fn text(&self, text: &str) {
        self.run(&["send-keys", "-t", "test", "-l", "--", text]);
    }

    /// Presses keys by their names in tmux.
    pub(crate) fn keys(&self, keys: &[&str]) {
        self.run(&[&["send-keys", "-t", "test"], keys].concat());
    }

    /// The content of the screen.
    pub(crate) fn screen(&self) -> String {
        self.run(&["capture-pane", "-p", "-t", "test"])
    }

    /// The value of a tmux format.
    pub(crate) fn fact(&self, format: &str) -> String {
        self.run(&["display-message", "-p", "-t", "test", format]).trim().to_owned()
    }

    pub(crate) fn resize(&self, columns: u16, rows: u16) {
        self.run(&["resize-window", "-t", "test", "-x", &columns.to_string(), "-y", &rows.to_string()]);
    }

    /// Waits for a condition; returns the screen.
    #[track_caller]
    pub(crate) fn until(&self, event: &str, has_happened: impl Fn(&str) -> bool) -> String {
        let begun = Instant::now();
        loop {
            let screen = self.screen();
            if has_happened(&screen) {
                return screen;
            }
            assert!(begun.elapsed() < TIMEOUT, "never {event}:\n{screen}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until the screen contains a text.
    #[track_caller]
    pub(crate) fn shows(&self, text: &str) -> String {
        self.until(text, |screen| screen.contains(text))
    }

    /// Waits until the screen does not contain a text.
    #[track_caller]
    pub(crate) fn hides(&self, text: &str) -> String {
        self.until(&format!("without {text}"), |screen| !screen.contains(text))
    }

    /// The process id of `tacho` in the shell.
    #[track_caller]
    pub(crate) fn tacho_id(&self) -> String {
        let shell = self.fact("#{pane_pid}");
        let children = std::fs::read_to_string(format!("/proc/{shell}/task/{shell}/children"));
        children.expect("children").split_whitespace().next().expect("a child").to_owned()
    }
}

impl Drop for Tmux {
    fn drop(&mut self) {
        self.output(&["kill-server"]);
    }
}

/// The line of a screen that contains a text.
#[track_caller]
pub(crate) fn line_with<'a>(screen: &'a str, text: &str) -> &'a str {
    screen.lines().find(|line| line.contains(text)).unwrap_or_else(|| panic!("no {text} in\n{screen}"))
}
