//! Runs the command in its own folder.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// A temporary folder in which the command runs.
pub(crate) struct Folder(TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("write file");
    }

    #[track_caller]
    pub(crate) fn bytes(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).expect("read file")
    }

    #[track_caller]
    pub(crate) fn text(&self, name: &str) -> String {
        String::from_utf8(self.bytes(name)).expect("UTF-8")
    }

    /// The names of all files, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("the folder");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8")).collect();
        names.sort();
        names
    }

    /// The command, which is not started yet.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tacho"));
        command.args(arguments).current_dir(self.0.path()).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
        command
    }

    /// Like [`command`](Self::command), with default signal actions even if the tests run under `nohup` or in the
    /// background of a shell.
    pub(crate) fn command_with_default_signals<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Command {
        let mut command = Command::new("env");
        command.args(["--default-signal=HUP,INT,QUIT,TERM", env!("CARGO_BIN_EXE_tacho")]).args(arguments);
        command.current_dir(self.0.path()).stdin(Stdio::null()).env_remove("RUST_BACKTRACE");
        command
    }

    pub(crate) fn run<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        Outcome::from(self.command(arguments).output().expect("start command"))
    }

    /// Runs a shell command that fills a small temporary file system, whose content is then copied to `disk`. `None` without
    /// permission to mount.
    pub(crate) fn on_full_disk(&self, size: &str, command: &str) -> Option<Output> {
        std::fs::create_dir(self.path("disk")).expect("a folder");
        std::fs::create_dir(self.path("saved")).expect("a folder");
        let script = format!(
            "mount -t tmpfs -o size={size} none disk 2>/dev/null || exit 99; {command}; \
             status=$?; cp -r disk/. saved; umount disk; cp -r saved/. disk; exit $status"
        );
        let shell =
            Command::new("unshare").args(["-m", "sh", "-c", &script]).current_dir(self.0.path()).output();
        match shell {
            Ok(output) if output.stderr.starts_with(b"tacho: ") => Some(output),
            _ => {
                eprintln!("skipped: no permission to mount");
                None
            }
        }
    }

    /// The output of a command that must succeed without messages.
    #[track_caller]
    pub(crate) fn prints<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> String {
        let ran = self.run(arguments);
        assert_eq!((ran.status, ran.stderr.as_str()), (0, ""), "{}", ran.stdout);
        ran.stdout
    }

    /// Runs `relog`, which must succeed.
    #[track_caller]
    pub(crate) fn relog<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Outcome {
        let mut all = vec![std::ffi::OsString::from("relog")];
        all.extend(arguments.into_iter().map(|argument| argument.as_ref().to_owned()));
        let ran = self.run(all);
        assert_eq!(ran.status, 0, "{}{}", ran.stdout, ran.stderr);
        ran
    }

    /// The rows of `stats -f json`; notices are allowed.
    #[track_caller]
    pub(crate) fn stats(&self, arguments: &[&str]) -> Vec<Value> {
        let ran = self.run([&["stats", "-f", "json"], arguments].concat());
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        match serde_json::from_str(&ran.stdout).expect("JSON") {
            Value::Array(rows) => rows,
            other => panic!("an array, not {other}"),
        }
    }
}

/// The end of the notice about samples that a busy machine missed.
pub(crate) const MISSED: &str = "missed because the previous one took too long\n";

/// The result of a command; standard error without [`MISSED`].
#[derive(Debug, PartialEq)]
pub(crate) struct Outcome {
    pub(crate) status: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Outcome {
    fn from(output: Output) -> Self {
        Self {
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: without_missed(&String::from_utf8(output.stderr).expect("UTF-8")),
        }
    }
}

/// Removes notices of a busy machine.
fn without_missed(text: &str) -> String {
    text.split_inclusive('\n').filter(|line| !line.ends_with(MISSED)).collect()
}

impl Outcome {
    /// Asserts that the command failed with this one message, and printed nothing else.
    #[track_caller]
    pub(crate) fn fails_with(&self, status: i32, line: &str) {
        let expected = Self { status, stdout: String::new(), stderr: format!("tacho: {line}\n") };
        assert_eq!(*self, expected);
    }
}

/// The row of a path, without its machine.
#[track_caller]
pub(crate) fn row<'a>(rows: &'a [Value], path: &str) -> &'a Value {
    let found = rows.iter().find(|row| row["path"].as_str().is_some_and(|full| full.ends_with(path)));
    found.unwrap_or_else(|| panic!("no {path} in {rows:#?}"))
}
