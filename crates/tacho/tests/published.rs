//! The command with published counter sets; the test itself is the publishing program.

use std::io::{BufRead as _, BufReader, Lines};
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::Value;
use tachograph_publish::{Average, Counter, CounterSet, Gauge, Publisher, Timer};
use tempfile::TempDir;

/// What the shop did.
#[derive(CounterSet)]
#[counter_set(name = "Tacho Test Shop")]
struct Shop {
    /// Requests that were answered.
    #[counter(name = "Requests/sec")]
    requests: Counter,
    /// Orders that are not paid yet.
    #[counter(name = "Open Orders")]
    open: Gauge,
    /// How long a request takes.
    #[counter(name = "Avg. sec/Request", base = "Requests Base")]
    time: Timer,
}

/// Carts, and what is in them.
#[derive(CounterSet)]
#[counter_set(name = "Tacho Test Carts", instances = "multiple_aggregate")]
struct Carts {
    /// Things in the cart.
    #[counter(name = "Things", aggregate = "sum")]
    things: Gauge,
    /// Bytes of a reply.
    #[counter(name = "Avg. Bytes/Reply", base = "Replies Base")]
    bytes: Average,
}

/// A runtime folder, with a place for logs.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        Self(TempDir::new().expect("a temporary folder"))
    }

    fn runtime(&self) -> PathBuf {
        self.0.path().join("run")
    }

    fn publisher(&self) -> Publisher {
        Publisher::new().folder(self.runtime())
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tacho"));
        command
            .args(arguments)
            .current_dir(self.0.path())
            .env("TACHO_RUNTIME_DIR", self.runtime())
            .env("TACHO_MANIFEST_DIR", self.0.path().join("manifests"))
            .env("TACHO_MMV_DIR", "")
            .env_remove("XDG_RUNTIME_DIR")
            .stdin(Stdio::null());
        command
    }

    fn run(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().expect("start command")
    }

    /// The output of a command that must succeed.
    #[track_caller]
    fn prints(&self, arguments: &[&str]) -> String {
        let output = self.run(arguments);
        let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.success(), "{stderr}");
        String::from_utf8(output.stdout).expect("UTF-8")
    }

    /// The exit status and the messages of a command, without notices of a busy machine.
    fn messages(&self, arguments: &[&str]) -> (Option<i32>, String) {
        let output = self.run(arguments);
        let stderr = String::from_utf8(output.stderr).expect("UTF-8");
        let on_time = |line: &&str| !line.contains(" missed because ");
        (output.status.code(), stderr.split_inclusive('\n').filter(on_time).collect())
    }
}

/// The name of this program in the kernel (`comm`).
fn program() -> String {
    std::fs::read_to_string("/proc/self/comm").expect("the name").trim().to_owned()
}

#[test]
fn published_sets_are_listed_separately() {
    let folder = Folder::new();
    assert!(!folder.prints(&["list"]).contains("published by programs"));
    let shop = folder.publisher().start::<Shop>().expect("the set");
    let carts = folder.publisher().start_set::<Carts>().expect("the set");
    let _cart = carts.instance("checkout").expect("an instance");
    let listed = folder.prints(&["list"]);
    let (machine, programs) = listed.split_once("\n\npublished by programs").expect("two lists");
    assert!(!machine.contains("Tacho Test"), "{machine}");
    let rows: Vec<_> = programs.lines().skip(1).collect();
    assert!(rows[0].starts_with("Tacho Test Carts  ") && rows[0].ends_with("  Carts, and what is in them."));
    assert!(
        rows[1].starts_with("Tacho Test Shop  ") && rows[1].ends_with("  What the shop did."),
        "{rows:?}"
    );
    let words: Vec<_> = rows[1].split_whitespace().collect();
    assert_eq!(words[3..5], ["yes", "3"]);
    drop(shop);
    assert!(!folder.prints(&["list"]).contains("Tacho Test Shop"), "the program has ended");
}

#[test]
fn publishers_are_listed() {
    let folder = Folder::new();
    let _shop = folder.publisher().label("till 7").start::<Shop>().expect("the set");
    let text = folder.prints(&["list", "tacho test shop"]);
    let process = std::process::id();
    let line = format!("  published by: {} (process {process}, uid ", program());
    assert!(text.contains(&line) && text.contains(", 1 instance\n"), "{text}");
    assert!(text.contains("\n  instances: till 7\n"), "{text}");
    let json: Value =
        serde_json::from_str(&folder.prints(&["list", "-f", "json", "Tacho Test Shop"])).expect("JSON");
    let publisher = &json[0]["publishers"][0];
    assert_eq!(publisher["process"], u64::from(process));
    assert_eq!(
        (publisher["program"].as_str(), publisher["instance_count"].as_u64()),
        (Some(&*program()), Some(1))
    );
    assert!(publisher["since"].as_str().is_some_and(|since| since.len() > 19), "{json}");
    let memory: Value =
        serde_json::from_str(&folder.prints(&["list", "-f", "json", "Memory"])).expect("JSON");
    assert!(memory[0].get("publishers").is_none());
}

#[test]
fn a_path_without_instance_means_all_processes() {
    let folder = Folder::new();
    let shop = folder.publisher().start::<Shop>().expect("the set");
    shop.open.set(42);
    let arguments = ["query", r"\Tacho Test Shop\Open Orders", "-sc", "1", "-si", "0.05", "-f", "csv"];
    let text = folder.prints(&arguments);
    let mut lines = text.lines();
    let header = lines.next().expect("a header");
    assert!(header.ends_with(&format!(r"\Tacho Test Shop({})\Open Orders{}", program(), '"')), "{header}");
    assert!(lines.next().is_some_and(|line| line.ends_with(",\"42\"")), "{text}");
    // This also holds for a path with the name of the machine, and for all counters.
    let text =
        folder.prints(&["query", r"\\localhost\Tacho Test Shop\*", "-sc", "1", "-si", "0.05", "-f", "csv"]);
    assert_eq!(text.lines().next().map(|line| line.matches(',').count()), Some(3), "{text}");
    let other = folder.publisher().start::<Shop>().expect("the set, again");
    other.open.set(7);
    let text = folder.prints(&arguments);
    assert!(text.lines().nth(1).is_some_and(|line| line.ends_with(",\"42\",\"7\"")), "{text}");
    assert!(text.contains(&format!("({}#1)", program())), "{text}");
}

/// A running command, which is killed when dropped.
struct Running {
    command: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Running {
    fn start(mut command: Command) -> Self {
        let mut command = command.stdout(Stdio::piped()).spawn().expect("start command");
        let out = command.stdout.take().expect("its output");
        Self { command, lines: BufReader::new(out).lines() }
    }

    /// The next line that meets a condition.
    #[track_caller]
    fn line(&mut self, event: &str, matches: impl Fn(&str) -> bool) -> String {
        let mut last = String::new();
        for line in self.lines.by_ref() {
            last = line.expect("a line");
            if matches(&last) {
                return last;
            }
        }
        panic!("{event} did not happen; last line: {last}")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.command.kill();
        let _ = self.command.wait();
    }
}

#[test]
fn a_set_that_is_published_later_is_included() {
    let folder = Folder::new();
    // Creates the folder, so that it is not reported as missing.
    let _carts = folder.publisher().start_set::<Carts>().expect("the set");
    let orders = r"\Tacho Test Shop\Open Orders";
    // Query the set by name and by wildcard, for at most one minute.
    for path in [orders, r"\Tacho Test*(*)\Open*"] {
        let query = |format| {
            folder.command(&["query", r"\System\Processes", path, "-si", "0.1", "-sc", "600", "-f", format])
        };
        let mut json = Running::start(query("json"));
        let mut table = Running::start(query("table"));
        json.line("a sample", |line| line.contains("Processes") && !line.contains("Open Orders"));
        table.line("a heading", |line| line.contains(r"\Processes") && !line.contains("Open Orders"));
        let shop = folder.publisher().start::<Shop>().expect("the set");
        shop.open.set(42);
        let key = format!(r#"\\Tacho Test Shop({})\\Open Orders":42"#, program());
        let line = json.line("the value", |line| line.contains("Open Orders"));
        assert!(line.contains("Processes") && line.contains(&key), "{line}");
        table.line("the column", |line| line.contains(r"\Processes") && line.contains(r"\Open Orders"));
        table.line("the value", |line| line.ends_with(" 42") || line.ends_with(" 42.000"));
        drop(shop);
        json.line("without it", |line| !line.contains("Open Orders"));
        table.line("a heading without it", |line| {
            line.contains(r"\Processes") && !line.contains("Open Orders")
        });
    }
}

#[test]
fn published_sets_are_recorded() {
    let folder = Folder::new();
    let shop = folder.publisher().start::<Shop>().expect("the set");
    let carts = folder.publisher().start_set::<Carts>().expect("the set");
    let [first, second] = ["a", "b"].map(|name| carts.instance(name).expect("an instance"));
    first.things.set(3);
    second.things.set(4);
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                shop.requests.add(1);
                shop.time.record(Duration::from_millis(2));
                first.bytes.add(100);
                second.bytes.add(300);
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let paths = [r"\Tacho Test Shop\*", r"\Tacho Test Carts(*)\*"];
        let output = folder.run(&["record", paths[0], paths[1], "-si", "0.1", "-sc", "6", "-o", "shop.blg"]);
        is_over.store(true, Ordering::Relaxed);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    });
    let rows: Value =
        serde_json::from_str(&folder.prints(&["stats", "-f", "json", "shop.blg"])).expect("JSON");
    let average = |path: &str| {
        let rows = rows.as_array().expect("rows");
        let row = rows.iter().find(|row| row["path"].as_str().is_some_and(|full| full.ends_with(path)));
        row.unwrap_or_else(|| panic!("no {path} in {rows:#?}"))["average"].as_f64().expect("a number")
    };
    let program = program();
    assert!(average(&format!(r"Shop({program})\Requests/sec")) > 10.0);
    let time = average(&format!(r"Shop({program})\Avg. sec/Request"));
    assert!((time - 0.002).abs() < 1e-9, "{time}");
    assert_eq!(average(r"Carts(_Total)\Things"), 7.0);
    assert_eq!(average(r"Carts(a)\Avg. Bytes/Reply"), 100.0);
    // The average is that of all replies, not the mean of the averages.
    let total = average(r"Carts(_Total)\Avg. Bytes/Reply");
    assert!((total - 200.0).abs() < 20.0, "{total}");
}

#[test]
fn a_refused_file_is_reported_once() {
    let folder = Folder::new();
    let shop = folder.publisher().start::<Shop>().expect("the set");
    shop.open.set(1);
    symlink("/etc/passwd", folder.runtime().join("planted.tacho")).expect("a link");
    let (status, stderr) = folder.messages(&["list"]);
    assert_eq!(status, Some(0));
    assert_eq!(stderr.matches("planted.tacho: a symbolic link, not a file").count(), 1, "{stderr}");
    // The problem does not concern these counters.
    let query = ["query", r"\Tacho Test Shop\Open Orders", "-sc", "1", "-si", "0.05"];
    assert_eq!(folder.messages(&query), (Some(0), String::new()));
    assert_eq!(folder.messages(&["list", "Memory"]), (Some(0), String::new()));
    // The problem can be the cause of a missing counter.
    let (status, stderr) = folder.messages(&["query", r"\Tacho Test Till\Open Orders", "-sc", "1"]);
    assert!(
        status == Some(2) && stderr.contains("planted.tacho: ") && stderr.contains("'Tacho Test Shop'"),
        "{stderr}"
    );
    // Words of a name find the set.
    let found = folder.prints(&["list", "test", "shop", "open"]);
    assert!(found.contains(r"\Tacho Test Shop(*)\Open Orders"), "{found}");
    let (status, stderr) = folder.messages(&["list", "Tacho Test Till"]);
    assert!(status == Some(2) && stderr.contains("planted.tacho: "), "{stderr}");
}

#[test]
fn a_missing_folder_is_reported() {
    let folder = Folder::new();
    let (status, stderr) = folder.messages(&["list"]);
    assert_eq!(status, Some(0));
    assert!(stderr.contains("/run: no such folder (set by TACHO_RUNTIME_DIR): "), "{stderr}");
    assert_eq!(folder.messages(&["list", "Memory"]), (Some(0), String::new()));
    let _shop = folder.publisher().start::<Shop>().expect("the set");
    assert!(!folder.messages(&["list"]).1.contains("no such folder"));
}

#[test]
fn verbose_list_shows_all_notices() {
    let folder = Folder::new();
    let _shop = folder.publisher().start::<Shop>().expect("the set");
    for number in 0..12 {
        let name = format!("planted{number}.tacho");
        symlink("/etc/passwd", folder.runtime().join(name)).expect("a link");
    }
    let (_, stderr) = folder.messages(&["list"]);
    assert!(
        stderr.matches("planted").count() == 10 && stderr.contains("('tacho list -v' shows all)"),
        "{stderr}"
    );
    let (_, stderr) = folder.messages(&["list", "-v"]);
    assert!(stderr.matches("planted").count() == 12 && !stderr.contains("shows all"), "{stderr}");
}

/// A set that cannot be read can have instances.
#[test]
fn a_text_log_of_an_unreadable_set_is_an_error() {
    let folder = Folder::new();
    let carts = folder.publisher().control(|_| Err(5)).start_set::<Carts>().expect("the set");
    let _cart = carts.instance("checkout").expect("an instance");
    let things = r"\Tacho Test Carts(*)\Things";
    let (status, stderr) = folder.messages(&["query", things, "-sc", "1", "-f", "csv"]);
    assert_eq!(status, Some(1), "{stderr}");
    assert!(stderr.contains("Tacho Test Carts") && !stderr.contains("no instance exists"), "{stderr}");
    assert!(
        stderr
            .trim_end()
            .ends_with("no column: no instance could be read; -f json and -f table wait until one can be")
    );
}

#[test]
fn a_registered_set_has_no_instances_until_a_program_runs() {
    let folder = Folder::new();
    let manifests = folder.0.path().join("manifests");
    std::fs::create_dir(&manifests).expect("a folder");
    let shop = include_str!("../../perflib/tests/manifest/shop.man");
    std::fs::write(manifests.join("shop.man"), shop).expect("writable");
    let listed = folder.prints(&["list"]);
    let row = listed.lines().find(|line| line.starts_with("Shop Carts  ")).expect("the set");
    assert_eq!(row.split_whitespace().collect::<Vec<_>>()[2..5], ["none", "now", "4"], "{row}");
}

/// A set with the name of a counter set of the machine.
#[derive(CounterSet)]
#[counter_set(name = "Memory", guid = "{00000000-0000-0000-0000-00000000abcd}")]
struct Memory {
    /// Never read.
    #[counter(name = "Available Bytes")]
    bytes: Gauge,
}

#[test]
fn published_sets_cannot_replace_sets_of_the_machine() {
    let folder = Folder::new();
    let memory = folder.publisher().start::<Memory>().expect("the set");
    memory.bytes.set(1);
    let (status, stderr) = folder.messages(&["query", r"\Memory\Available Bytes", "-sc", "1", "-si", "0.05"]);
    assert_eq!(status, Some(0));
    assert!(stderr.contains("the counter set 'Memory' of ") && stderr.lines().count() == 1, "{stderr}");
    let text = folder.prints(&["query", r"\Memory\Available Bytes", "-sc", "1", "-si", "0.05", "-f", "csv"]);
    assert!(!text.ends_with(",\"1\"\n") && !text.contains("Memory("), "{text}");
}

#[test]
fn a_link_as_runtime_folder_is_refused() {
    let folder = Folder::new();
    let elsewhere = TempDir::new().expect("a folder");
    let _shop = Publisher::new().folder(elsewhere.path()).start::<Shop>().expect("the set");
    symlink(elsewhere.path(), folder.runtime()).expect("a link");
    let (status, stderr) = folder.messages(&["list"]);
    assert_eq!(status, Some(0));
    assert_eq!(stderr.lines().filter(|line| line.contains("/run: ")).count(), 1, "{stderr}");
    assert!(!folder.prints(&["list"]).contains("Tacho Test Shop"));
}
