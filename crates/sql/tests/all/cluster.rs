//! Queries on a cluster of processes: a scheduler and executors.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::command::{fails, prints};
use crate::generated::{TempFolder, files, recording, write};
use crate::log_fixture::mixed;
use crate::overlap::write_common_samples;
use crate::page_archive::write_archive_of_page;
use crate::sql_logs::write_sql;

/// How long processes may take to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that is killed at the end of a test.
struct Process {
    child: Child,
    /// Its first line on standard output.
    first_line: String,
}

impl Process {
    fn start(words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_tacho-sql"))
            .args(words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("tacho-sql runs");
        let mut first_line = String::new();
        let out = child.stdout.take().expect("its output");
        BufReader::new(out).read_line(&mut first_line).expect("a line");
        Self { child, first_line }
    }

    fn kill(&mut self) {
        self.child.kill().expect("the process can be killed");
        self.child.wait().expect("wait for the process");
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A scheduler and its executors.
struct TestCluster {
    executors: Vec<Process>,
    scheduler: Process,
    url: String,
    /// Contains a folder for each executor.
    folder: TempFolder,
    started: usize,
}

impl TestCluster {
    fn start(executors: usize) -> Self {
        let scheduler = Process::start(&["scheduler", "--listen", "127.0.0.1:0"]);
        let url = scheduler.first_line.trim().rsplit(' ').next().expect("a URL").to_owned();
        assert!(url.starts_with("http://127.0.0.1:"), "{}", scheduler.first_line);
        let folder = TempFolder::new();
        let mut cluster = Self { executors: Vec::new(), scheduler, url, folder, started: 0 };
        for _ in 0..executors {
            cluster.add_executor();
        }
        cluster
    }

    fn folder_of(&self, executor: usize) -> PathBuf {
        self.folder.0.join(executor.to_string())
    }

    /// Starts an executor, and waits until the scheduler has one. Returns its number.
    fn add_executor(&mut self) -> usize {
        let number = self.started;
        self.started += 1;
        let folder = self.folder_of(number);
        std::fs::create_dir(&folder).expect("a folder");
        let temp = folder.to_str().expect("UTF-8");
        let words = ["executor", "--scheduler", &self.url, "--tasks", "1", "--temp-folder", temp];
        let process = Process::start(&words);
        assert!(process.first_line.contains("1 tasks at a time"), "{}", process.first_line);
        self.executors.push(process);
        let start = Instant::now();
        while !self.has_executors() {
            assert!(start.elapsed() < PATIENCE, "the executor does not reach the scheduler");
            std::thread::sleep(Duration::from_millis(20));
        }
        number
    }

    /// Whether the scheduler reports that it has executors.
    fn has_executors(&self) -> bool {
        let mut connection =
            TcpStream::connect(self.url.strip_prefix("http://").expect("a URL")).expect("connected");
        let request = "GET /readyz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
        connection.write_all(request.as_bytes()).expect("sent");
        let mut response = String::new();
        connection.read_to_string(&mut response).expect("a response");
        assert!(response.contains("server: tacho-sql/"), "{response}");
        response.starts_with("HTTP/1.1 200")
    }

    fn prints(&self, folder: &TempFolder, words: &[&str]) -> String {
        let mut words = words.to_vec();
        words.extend(["--cluster", self.url.as_str()]);
        prints(folder, &words)
    }

    fn fails(&self, folder: &TempFolder, words: &[&str]) -> String {
        let mut words = words.to_vec();
        words.extend(["--cluster", self.url.as_str()]);
        fails(folder, &words).0
    }
}

/// The lines in any order, after the header.
fn unordered(text: &str) -> (Option<&str>, BTreeSet<&str>) {
    let mut lines = text.lines();
    (lines.next(), lines.collect())
}

/// Three machines in one archive, each with several files, another machine in two BLG files and one in a database.
fn write_inputs(folder: &TempFolder) -> Vec<String> {
    let archive = folder.0.join("archive");
    for (machine, start) in [("WEB1", 0), ("WEB2", 5000), ("DB 1", 90_000)] {
        for part in 0..3 {
            write(&archive, &mixed(machine, start + part * 200, 200).samples, 300);
        }
    }
    mixed("LOG1", 0, 150).write(&folder.0.join("a.blg"));
    mixed("LOG1", 150, 150).write(&folder.0.join("b.blg"));
    write_sql(&folder.0.join("c.db"), "march", &mixed("SQL1", 0, 100).samples);
    assert!(files(&archive).len() >= 5, "{:?}", files(&archive));
    ["archive", "a.blg", "b.blg", "SQL:c.db!march"].map(str::to_owned).into()
}

/// Queries whose results do not depend on an order of rows.
const QUERIES: [&str; 14] = [
    r#"SELECT machine, "set", instance, counter, average, intervals, first_time, last_time FROM averages"#,
    r#"SELECT machine, date_trunc('hour', time) AS hour, average(*) FROM samples WHERE counter = 'Avg. Disk sec/Read' GROUP BY machine, hour"#,
    r#"SELECT average(*), count(*), min(time), max(time) FROM samples WHERE counter = 'Avg. Disk sec/Read'"#,
    r#"SELECT instance, average(*) FROM samples WHERE "set" = 'Processor' AND machine LIKE 'WEB%' GROUP BY instance"#,
    r#"SELECT machine, average(*) FILTER (WHERE counter = 'Context Switches/sec') AS switches, average(*) FILTER (WHERE counter = 'Available Bytes') AS free FROM samples GROUP BY machine"#,
    r#"SELECT machine, counter, sum(CAST(num AS DECIMAL(38,0))), sum(CAST(den AS DECIMAL(38,0))), count(*), max(value) FROM samples GROUP BY 1, 2"#,
    r#"SELECT * FROM samples WHERE time >= '2024-03-05T09:01:00Z' AND time < '2024-03-05T09:01:03Z'"#,
    r#"SELECT DISTINCT date, machine FROM samples"#,
    r#"SELECT * FROM machines"#,
    r#"SELECT machine, "set", counter, type, unit, has_instances FROM counters"#,
    r#"SELECT m.machine, m.samples, average(s.*) FROM samples s JOIN machines m ON s.machine = m.machine WHERE s.counter = 'Available Bytes' GROUP BY 1, 2"#,
    r#"SELECT machine, average(*) FROM samples WHERE counter = 'Available Bytes' AND machine IN (SELECT machine FROM machines WHERE samples > 150) GROUP BY machine"#,
    r#"SELECT machine, count(*) FROM (SELECT machine, time, lag(time) OVER (PARTITION BY machine ORDER BY time) AS previous FROM (SELECT DISTINCT machine, time FROM samples)) WHERE time - previous >= INTERVAL '1 second' GROUP BY machine"#,
    r#"SELECT machine, counter FROM samples WHERE num < 0 UNION ALL SELECT machine, 'none' FROM machines"#,
];

/// The answers equal those of one process in every digit.
#[test]
fn a_cluster_gives_the_answers_of_one_process() {
    let cluster = TestCluster::start(2);
    let folder = TempFolder::new();
    let inputs = write_inputs(&folder);
    for query in QUERIES {
        let mut words = vec![query];
        words.extend(inputs.iter().map(String::as_str));
        words.extend(["-f", "csv"]);
        let (local, remote) = (prints(&folder, &words), cluster.prints(&folder, &words));
        assert!(local.lines().count() > 1, "{query}: no rows");
        assert_eq!(unordered(&remote), unordered(&local), "{query}");
        assert_eq!(remote.lines().count(), local.lines().count(), "{query}");
    }
    // Both executors run tasks. The second one may not have started when the first queries ran.
    let start = Instant::now();
    while !(0..2).all(|executor| has_results(&cluster.folder_of(executor))) {
        assert!(start.elapsed() < PATIENCE, "an executor has no tasks");
        cluster.prints(&folder, &[QUERIES[0], "archive"]);
    }
}

#[test]
fn the_queries_of_docs_sql_print_the_same_on_a_cluster() {
    const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/sql.md");
    let page = std::fs::read_to_string(PAGE).expect("docs/sql.md");
    let cluster = TestCluster::start(2);
    let folder = TempFolder::new();
    write_archive_of_page(&folder);
    for block in page.split("```sql\n").skip(1) {
        let (query, _) = block.split_once("```\n").expect("the end of the block");
        let words = [query, "ARCHIVE"];
        let (local, remote) = (prints(&folder, &words), cluster.prints(&folder, &words));
        match query.contains("ORDER BY") {
            true => assert_eq!(remote, local, "{query}"),
            false => assert_eq!(unordered(&remote), unordered(&local), "{query}"),
        }
    }
}

#[test]
fn common_samples_are_refused_on_a_cluster() {
    let cluster = TestCluster::start(1);
    let folder = TempFolder::new();
    write_common_samples(&folder.0);
    for query in
        ["SELECT count(*) FROM samples", "SELECT average FROM averages", "SELECT samples FROM machines"]
    {
        let message = cluster.fails(&folder, &[query, "a", "a.blg"]);
        assert!(
            message.contains("a.blg both contain a sample of the same machine at 2024-03-05T10:00:00"),
            "{message}"
        );
        assert!(message.starts_with("tacho sql: /") && message.ends_with("-e ...'"), "{message}");
    }
}

/// Whether the folder of an executor has results of tasks.
fn has_results(folder: &Path) -> bool {
    let entries = |folder: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(folder).map(|entries| entries.flatten().map(|entry| entry.path()));
        entries.map(Iterator::collect).unwrap_or_default()
    };
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            match path.is_dir() {
                true => folders.push(path),
                false if path.metadata().is_ok_and(|metadata| metadata.len() > 0) => return true,
                false => {}
            }
        }
    }
    false
}

/// An executor that has results which the query still needs is killed: others repeat its tasks.
#[test]
fn a_killed_executor_changes_no_answer() {
    let mut cluster = TestCluster::start(2);
    let folder = TempFolder::new();
    let archive = folder.0.join("archive");
    for machine in 0..4 {
        write(&archive.join(machine.to_string()), &recording(machine, 40), 20_000);
    }
    // The first step groups rows, of which later steps need all results. A join of groups makes the query long enough.
    let query = r#"WITH sums AS (SELECT machine, "set", counter, instance, time, sum(num) AS num, count(*) AS rows
                                    FROM samples GROUP BY 1, 2, 3, 4, 5)
                   SELECT a.counter, count(*) AS pairs, sum(a.rows) AS rows, max(a.num) AS num
                   FROM sums a JOIN sums b ON a.machine = b.machine AND a."set" = b."set" AND a.counter = b.counter
                                          AND a.instance = b.instance AND a.time < b.time
                   GROUP BY a.counter ORDER BY a.counter"#;
    let inputs = ["archive/0", "archive/1", "archive/2", "archive/3"];
    let words = [&[query][..], &inputs, &["-f", "csv"]].concat();
    let expected = prints(&folder, &words);
    assert!(expected.lines().count() > 2, "{expected}");
    let mut victim = 0;
    for _ in 0..5 {
        let mut client = Command::new(env!("CARGO_BIN_EXE_tacho-sql"))
            .current_dir(&folder.0)
            .args(&words)
            .args(["--cluster", &cluster.url])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("tacho-sql runs");
        let is_running = |client: &mut Child| client.try_wait().expect("its status").is_none();
        while !has_results(&cluster.folder_of(victim)) && is_running(&mut client) {
            std::thread::sleep(Duration::from_millis(5));
        }
        cluster.executors[victim].kill();
        let was_running = is_running(&mut client);
        let killed_at = Instant::now();
        let ran = client.wait_with_output().expect("wait for the client");
        println!("the query ended {:?} after the kill", killed_at.elapsed());
        let message = String::from_utf8_lossy(&ran.stderr).into_owned();
        if was_running {
            assert!(ran.status.success(), "{message}");
            assert_eq!(String::from_utf8_lossy(&ran.stdout), expected);
            assert_eq!(message, "");
            return;
        }
        // The query had already ended; another executor takes the place of the killed one.
        victim = cluster.add_executor();
    }
    panic!("all queries ended before the executor was killed");
}

/// Another program can then listen on the scheduler's port.
#[test]
fn executors_end_with_their_scheduler() {
    let mut cluster = TestCluster::start(1);
    cluster.scheduler.kill();
    let executor = &mut cluster.executors[0].child;
    let start = Instant::now();
    let status = loop {
        if let Some(status) = executor.try_wait().expect("its status") {
            break status;
        }
        assert!(start.elapsed() < PATIENCE, "the executor still runs");
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.code(), Some(1));
}

/// A query fails if its scheduler is killed.
#[test]
fn clients_end_with_their_scheduler() {
    let mut cluster = TestCluster::start(1);
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &recording(0, 40), 20_000);
    // The first step ends soon, the last one never.
    let query = r#"WITH sums AS (SELECT "set", counter, instance, time, sum(num) AS num FROM samples GROUP BY 1, 2, 3, 4)
                   SELECT count(*) FROM sums a, sums b, sums c WHERE a.num < b.num + c.num"#;
    let mut client = Command::new(env!("CARGO_BIN_EXE_tacho-sql"))
        .current_dir(&folder.0)
        .args([query, "archive", "--cluster", &cluster.url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("tacho-sql runs");
    while !has_results(&cluster.folder_of(0)) {
        assert!(client.try_wait().expect("its status").is_none(), "the query has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    cluster.scheduler.kill();
    let start = Instant::now();
    while client.try_wait().expect("its status").is_none() {
        assert!(start.elapsed() < PATIENCE, "the client still runs");
        std::thread::sleep(Duration::from_millis(20));
    }
    let ran = client.wait_with_output().expect("the ended client");
    assert_eq!(ran.status.code(), Some(1));
    assert!(ran.stdout.is_empty() && !ran.stderr.is_empty());
}

/// Failures of tasks are reported with the file, as in one process.
#[test]
fn errors_name_the_cause() {
    let cluster = TestCluster::start(1);
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &mixed("WEB1", 0, 500).samples, 10_000);
    let file = files(&folder.0.join("archive")).pop().expect("a file");
    let mixed_types = cluster.fails(&folder, &["SELECT average(*) FROM samples", "archive"]);
    assert!(mixed_types.contains("have no common average: select one counter"), "{mixed_types}");
    assert_eq!(mixed_types, fails(&folder, &["SELECT average(*) FROM samples", "archive"]).0);
    let whole = std::fs::read(&file).expect("a file");
    let mut damaged = whole.clone();
    damaged[whole.len() / 3] ^= 4;
    std::fs::write(&file, &damaged).expect("written");
    let words = ["SELECT * FROM samples", "archive", "-f", "csv"];
    let local = fails(&folder, &words).0;
    let remote = cluster.fails(&folder, &words);
    // Executors have absolute paths.
    let name = file.file_name().expect("a name").to_str().expect("UTF-8");
    let cause = local.split(name).nth(1).expect("the cause");
    assert!(remote.contains(name) && remote.ends_with(cause), "{remote}\nnot {local}");
    assert_eq!(remote.lines().count(), 1, "{remote}");
    let unknown = cluster.fails(&folder, &["SELECT x FROM samples", "archive"]);
    assert!(unknown.contains("there is no column 'x'"), "{unknown}");
    for changing in ["CREATE TABLE x AS SELECT 1", "COPY samples TO 'x.csv'", "SET x = 1"] {
        assert!(
            !cluster.fails(&folder, &[changing, "archive"]).is_empty() && !folder.0.join("x.csv").exists()
        );
    }
    // The executor still works.
    std::fs::write(&file, &whole).expect("written");
    assert!(cluster.prints(&folder, &["SELECT count(*) FROM samples", "archive"]).contains("3500"));
    // A condition with many terms is a deep tree.
    let terms: Vec<String> = (0..300).map(|number| format!("num + {number} = {}", 2 * number)).collect();
    let deep = format!("SELECT count(*) > 0 AS found FROM samples WHERE {}", terms.join(" OR "));
    assert!(cluster.prints(&folder, &[&deep, "archive"]).starts_with("found\n"));
    // Statements that read no table do not need the executors.
    let described = cluster.prints(&folder, &["DESCRIBE samples", "archive"]);
    assert_eq!(described, prints(&folder, &["DESCRIBE samples", "archive"]));
    let explained = cluster.prints(&folder, &["EXPLAIN SELECT count(*) FROM samples", "archive"]);
    assert!(explained.contains("ScanExec"), "{explained}");
    let measured = cluster.prints(&folder, &["EXPLAIN ANALYZE SELECT count(*) FROM samples", "archive"]);
    assert!(measured.contains("ScanExec"), "{measured}");
}

/// A server that sends the same response to every request.
fn respond(response: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    std::thread::spawn(move || {
        for connection in listener.incoming().flatten() {
            let mut request = BufReader::new(connection.try_clone().expect("a connection"));
            let mut line = String::new();
            while request.read_line(&mut line).is_ok_and(|len| len > 2) {
                line.clear();
            }
            let _ = (&connection).write_all(response.as_bytes());
        }
    });
    url
}

#[test]
fn messages_say_what_is_missing() {
    let folder = TempFolder::new();
    mixed("WEB1", 0, 20).write(&folder.0.join("a.blg"));
    let with = |url: &str| fails(&folder, &["SELECT count(*) FROM samples", "a.blg", "--cluster", url]);
    let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port");
    let (nobody, status) = with(&format!("http://{free}"));
    assert!(nobody.contains("no scheduler answers: ") && nobody.contains("tacho-sql scheduler"), "{nobody}");
    assert_eq!(status, 1);
    let (executor, _) = fails(&folder, &["executor", "--scheduler", &free.to_string()]);
    assert!(executor.contains("no scheduler answers: "), "{executor}");
    for far in ["http://10.0.0.1:50050", "0.0.0.0:50050"] {
        let (far, status) = with(far);
        assert!(far.contains("only loopback addresses") && status == 2, "{far}");
    }
    let (wrong, status) = with("scheduler.example:1");
    assert!(wrong.contains("not the address of a scheduler") && status == 2, "{wrong}");
    let (foreign, _) = with(&respond("HTTP/1.1 200 OK\r\nServer: nginx\r\nContent-Length: 0\r\n\r\n"));
    assert!(foreign.contains("not a scheduler of tacho-sql"), "{foreign}");
    let newer = respond("HTTP/1.1 200 OK\r\nServer: tacho-sql/99.0.0\r\nContent-Length: 0\r\n\r\n");
    let (newer, _) = with(&newer);
    assert!(newer.contains("is tacho-sql 99.0.0") && newer.contains("use the same version"), "{newer}");
    for listen in ["0.0.0.0:0", "[::]:0", "192.168.1.1:50050"] {
        let (message, status) = fails(&folder, &["scheduler", "--listen", listen]);
        assert!(message.contains("only loopback addresses") && status == 2, "{message}");
    }
    let cluster = TestCluster::start(0);
    let (idle, status) = with(&cluster.url);
    assert!(
        idle.contains("has no executors: start some with 'tacho-sql executor --scheduler http://"),
        "{idle}"
    );
    assert_eq!(status, 1);
    let taken = cluster.url.strip_prefix("http://").expect("a URL");
    let (taken, _) = fails(&folder, &["scheduler", "--listen", taken]);
    assert!(taken.contains("cannot listen: "), "{taken}");
    assert!(prints(&folder, &["executor", "--help"]).contains("--scheduler"));
}

fn interrupt(process: &Child) {
    let sent = Command::new("kill").args(["-INT", &process.id().to_string()]).status().expect("kill runs");
    assert!(sent.success());
}

/// Ctrl-C ends the client, and then the executor and the scheduler, which remove their files.
#[test]
fn an_interrupt_ends_each_process() {
    let mut cluster = TestCluster::start(1);
    let folder = TempFolder::new();
    write(&folder.0.join("archive"), &recording(1, 100), 50_000);
    let query = "SELECT count(*) FROM samples a, samples b WHERE a.num + b.num = 12345";
    let mut client = Command::new(env!("CARGO_BIN_EXE_tacho-sql"))
        .current_dir(&folder.0)
        .args([query, "archive", "--cluster", &cluster.url])
        .stderr(Stdio::piped())
        .spawn()
        .expect("tacho-sql runs");
    let start = Instant::now();
    while !has_results(&cluster.folder_of(0)) {
        assert!(client.try_wait().expect("its status").is_none(), "the query ended before the signal");
        assert!(start.elapsed() < PATIENCE, "the query does not run");
        std::thread::sleep(Duration::from_millis(5));
    }
    interrupt(&client);
    assert_eq!(client.wait().expect("wait for the client").code(), Some(130));
    // Two signals: the first waits for the tasks of the query that was cancelled.
    let executor = &mut cluster.executors[0].child;
    interrupt(executor);
    interrupt(executor);
    executor.wait().expect("wait for the executor");
    interrupt(&cluster.scheduler.child);
    assert!(cluster.scheduler.child.wait().expect("wait for the scheduler").success());
}
