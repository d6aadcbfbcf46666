//! Archives in S3: results equal those of a local folder, only needed ranges are requested, and failures are one sentence.

mod proxy;
mod server;

use std::process::Command;

use crate::generated::{TempFolder, recording, write};
use crate::log_fixture::mixed;
use proxy::{Fault, Proxy};
use server::Server;

/// An archive in a local folder and in a bucket.
struct Fixture {
    folder: TempFolder,
    server: &'static Server,
    proxy: Proxy,
    bucket: &'static str,
}

/// The folder of the archive below the bucket.
const PREFIX: &str = "logs/2026";

impl Fixture {
    /// Creates a bucket with an archive that `write` writes into a folder. `None` without a server.
    fn new(bucket: &'static str, write: impl FnOnce(&std::path::Path)) -> Option<Self> {
        let server = server::shared()?;
        let folder = TempFolder::new();
        write(&folder.0.join("archive"));
        server.create(bucket);
        server.put_folder(bucket, &format!("{PREFIX}/"), &folder.0.join("archive"));
        Some(Self { folder, server, proxy: Proxy::start(server.address), bucket })
    }

    /// The URL of a file or a folder of the archive.
    fn url(&self, path: &str) -> String {
        format!("s3://{}/{PREFIX}{path}", self.bucket)
    }

    fn run(&self, words: &[&str], variables: &[(&str, &str)]) -> std::process::Output {
        tacho_sql(&format!("http://{}", self.proxy.address), words, variables)
            .current_dir(&self.folder.0)
            .output()
            .expect("tacho-sql runs")
    }

    /// Runs a query that must succeed, and returns its output as CSV.
    #[track_caller]
    fn prints(&self, query: &str, inputs: &[&str]) -> String {
        let ran = self.run(&[&[query, "-f", "csv"], inputs].concat(), &[]);
        assert!(ran.status.success(), "{query}: {}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).expect("UTF-8")
    }

    /// Runs a query that must fail, and returns its message.
    #[track_caller]
    fn fails(&self, query: &str, input: &str, variables: &[(&str, &str)]) -> String {
        message(&self.run(&[query, input, "--threads", "1"], variables))
    }

    /// The keys and the contents of the objects that are files of the archive.
    fn files(&self) -> Vec<(String, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.folder.0.join("archive")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let relative =
                        path.strip_prefix(self.folder.0.join("archive")).expect("a file of the archive");
                    let key = format!("{PREFIX}/{}", relative.to_str().expect("UTF-8"));
                    files.push((key, std::fs::read(&path).expect("a file")));
                }
            }
        }
        files.sort();
        files
    }
}

/// A command with the settings of the server at `endpoint`.
fn tacho_sql(endpoint: &str, words: &[&str], variables: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tacho-sql"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AWS_") {
            command.env_remove(name);
        }
    }
    command
        .envs([
            ("AWS_ENDPOINT_URL", endpoint),
            ("AWS_ALLOW_HTTP", "true"),
            ("AWS_ACCESS_KEY_ID", "key"),
            ("AWS_SECRET_ACCESS_KEY", "secret"),
            ("AWS_REGION", "us-east-1"),
        ])
        .envs(variables.iter().copied())
        .args(words);
    command
}

/// The message of a query that must fail, without the name of the program. It is one line.
#[track_caller]
fn message(ran: &std::process::Output) -> String {
    let message = String::from_utf8_lossy(&ran.stderr);
    assert!(!ran.status.success(), "{}", String::from_utf8_lossy(&ran.stdout));
    assert_eq!((message.lines().count(), ran.status.code()), (1, Some(1)), "{message}");
    message.trim_end().strip_prefix("tacho sql: ").expect("the name of the program").to_owned()
}

const AVERAGES: &str = "SELECT * FROM averages ORDER BY 1, 2, 3, 4, 5";

#[test]
fn results_equal_those_of_the_local_folder() {
    let fixture = Fixture::new("equal", |archive| {
        write(archive, &recording(1, 90), 3000);
        // The name of the machine's folder has escapes, which are part of the keys.
        write(archive, &mixed("a b/ü%", 0, 120).samples, 400);
    });
    let Some(fixture) = fixture else { return };
    for query in [
        AVERAGES,
        "SELECT * FROM machines ORDER BY machine",
        r#"SELECT * FROM counters ORDER BY machine, "set", counter"#,
        "SELECT machine, date, count(*), sum(CAST(num AS DECIMAL(38,0))), count(status) FROM samples GROUP BY 1, 2 ORDER BY 1, 2",
        "SELECT date, count(*), average(*) FROM samples WHERE machine = 'a b/ü%' AND counter = 'Available Bytes' GROUP BY 1",
        "SELECT min(time), max(time), count(*) FROM samples WHERE date = '2026-11-26'",
        "SELECT machine, count(*) FROM samples WHERE machine <> 'web-1' OR date > '2026-11-25' GROUP BY 1 ORDER BY 1",
        "SELECT counter, count(*) FROM samples WHERE time BETWEEN '2026-11-25T23:59:50Z' AND '2026-11-26T00:00:05Z' GROUP BY 1 ORDER BY 1",
        r#"SELECT * FROM samples WHERE "set" = 'Processor' AND instance = '_Total' ORDER BY time LIMIT 50"#,
    ] {
        let local = fixture.prints(query, &["archive"]);
        assert!(local.lines().count() > 1, "{query}: {local}");
        assert_eq!(fixture.prints(query, &[&fixture.url("")]), local, "{query}");
    }
    // A machine, a date, a file, and inputs that have a file in common.
    let (key, _) = &fixture.files()[1];
    let file = key.strip_prefix(PREFIX).expect("a file of the archive");
    let date = &file[..file.rfind('/').expect("a folder")];
    let machine = &date[..date.rfind('/').expect("a folder")];
    let count = "SELECT machine, count(*), average(*) FILTER (WHERE counter = 'Counter 3') FROM samples GROUP BY 1 ORDER BY 1";
    for inputs in [&[machine][..], &[date], &[file], &[file, date]] {
        let local: Vec<String> = inputs.iter().map(|path| format!("archive{path}")).collect();
        let urls: Vec<String> = inputs.iter().map(|path| fixture.url(path)).collect();
        let [local, urls] =
            [&local, &urls].map(|inputs| inputs.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(fixture.prints(count, &urls), fixture.prints(count, &local), "{urls:?}");
    }
    // The whole bucket, although the archive is not at its root.
    let message = fixture.fails(AVERAGES, "s3://equal", &[]);
    assert_eq!(
        message,
        "s3://equal: there are no files of an archive, which are named machine=NAME/date=YYYY-MM-DD/*.parquet"
    );
}

#[test]
fn only_needed_ranges_are_requested() {
    let fixture = Fixture::new("ranges", |archive| {
        // More rows than a page has.
        write(archive, &recording(1, 290), 400_000);
        write(archive, &mixed("other", 0, 100).samples, 400);
    });
    let Some(fixture) = fixture else { return };
    let all: u64 = fixture.files().iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let url = fixture.url("");
    let requested = |query: &str| {
        fixture.prints(query, &[&url, "--threads", "1"]);
        let ranges = fixture.proxy.take_ranges();
        let bytes: u64 = ranges.iter().map(|(_, range)| range.end - range.start).sum();
        let mut keys: Vec<String> = ranges.into_iter().map(|(key, _)| key).collect();
        keys.sort();
        keys.dedup();
        (keys, bytes)
    };
    let columns = r#""set" counter parent instance time num den value kind factor unit type raw_first raw_second multi_count status"#;
    let columns: Vec<String> = columns.split(' ').map(|column| format!("max({column})")).collect();
    let (keys, bytes) = requested(&format!("SELECT {} FROM samples", columns.join(", ")));
    assert_eq!(keys.len(), fixture.files().len());
    // Gaps between close ranges are requested too, but nothing twice.
    assert!(bytes >= all * 9 / 10 && bytes <= all + all / 5, "{bytes} of {all}");
    // The names of folders and files exclude machines, dates and times without a request.
    for (filter, part) in [
        ("machine = 'other'", "machine%3Dother/"),
        ("date = '2026-11-26'", "/date%3D2026-11-26/"),
        ("time < '2026-11-25T00:00:00Z'", "machine%3Dother/"),
    ] {
        let (keys, bytes) = requested(&format!("SELECT max(num) FROM samples WHERE {filter}"));
        assert!(!keys.is_empty() && keys.iter().all(|key| key.contains(part)), "{filter}: {keys:?}");
        assert!(bytes < all, "{filter}: {bytes} of {all}");
    }
    // One counter within a file: the footer, and the pages and columns with the counter.
    let (_, bytes) =
        requested("SELECT average(*) FROM samples WHERE counter = 'Counter 3' AND machine = 'web-1'");
    assert!(bytes < all * 3 / 4, "{bytes} of {all}");
    // Footers have the number of rows.
    let (_, bytes) = requested("SELECT count(*) FROM samples");
    assert!(bytes < all / 5, "{bytes} of {all}");
}

#[test]
fn a_replaced_object_is_an_error() {
    let fixture = Fixture::new("replaced", |archive| write(archive, &recording(1, 300), 50_000));
    let Some(fixture) = fixture else { return };
    let files = fixture.files();
    let (key, bytes) = files.iter().max_by_key(|(_, bytes)| bytes.len()).expect("a file");
    let url = format!("s3://replaced/{key}");
    let complete = fixture.prints(AVERAGES, &[&url, "--threads", "1"]);
    let requests = fixture.proxy.take_ranges().len();
    assert!(requests > 4, "{requests}");
    // At the first request, in the middle, and at the last one.
    for request in [0, requests / 2, requests - 1] {
        let (server, key, other) = (fixture.server, key.clone(), bytes.clone());
        let action = move || server.put("replaced", &key, &[&other[..], b"x"].concat());
        fixture.proxy.set(Fault::Before(request, Box::new(action)));
        let message = fixture.fails(AVERAGES, &url, &[]);
        assert_eq!(message, format!("{url}: the object was replaced while it was read: run the query again"));
        fixture.server.put("replaced", &key_of(&url), bytes);
    }
    assert_eq!(fixture.prints(AVERAGES, &[&url]), complete);
    // An object that was removed after the bucket was listed.
    let (server, target) = (fixture.server, format!("/replaced/{key}"));
    let action = move || drop(server.request("DELETE", &target, b""));
    fixture.proxy.set(Fault::Before(0, Box::new(action)));
    assert_eq!(fixture.fails(AVERAGES, &url, &[]), format!("{url}: the object does not exist"));
}

/// The key in a URL of the bucket `replaced`.
fn key_of(url: &str) -> String {
    url.strip_prefix("s3://replaced/").expect("a URL of the bucket").to_owned()
}

#[test]
fn incomplete_answers_are_repeated_or_refused() {
    let fixture = Fixture::new("incomplete", |archive| write(archive, &recording(1, 90), 3000));
    let Some(fixture) = fixture else { return };
    let url = fixture.url("");
    let complete = fixture.prints(AVERAGES, &[&url]);
    fixture.proxy.take_ranges();
    // The rest of an interrupted answer is requested again.
    fixture.proxy.set(Fault::Interruption);
    assert_eq!(fixture.prints(AVERAGES, &[&url]), complete);
    let ranges = fixture.proxy.take_ranges();
    assert!(ranges.iter().any(|(_, range)| range.end - range.start == 1), "{ranges:?}");
    fixture.proxy.set(Fault::Short);
    let message = fixture.fails(AVERAGES, &url, &[]);
    assert!(message.starts_with(&format!("{url}/machine=web-1/date=")), "{message}");
    assert!(message.contains(": the store sent ") && message.contains(" bytes from offset "), "{message}");
    // A store that never answers.
    fixture.proxy.set(Fault::Silence);
    let message = fixture.fails(AVERAGES, &url, &[("AWS_TIMEOUT", "300ms")]);
    assert_eq!(
        message,
        format!("{url}: the store did not answer in time: check AWS_ENDPOINT_URL and AWS_TIMEOUT")
    );
    fixture.proxy.set(Fault::None);
    // An object that is cut short, and one that is damaged, have the errors of local files.
    let (key, bytes) = fixture.files().swap_remove(0);
    let local = fixture.folder.0.join("cut.parquet");
    let mut damaged = bytes.clone();
    damaged[100] ^= 1;
    for content in [&bytes[..bytes.len() - 1], &bytes[..bytes.len() / 2], &bytes[..3], b"", &damaged] {
        std::fs::write(&local, content).expect("written");
        fixture.server.put("incomplete", &key, content);
        let expected = fixture.fails(AVERAGES, "cut.parquet", &[]);
        let url = format!("s3://incomplete/{key}");
        assert_eq!(fixture.fails(AVERAGES, &url, &[]), expected.replacen("cut.parquet", &url, 1));
    }
}

#[test]
fn failures_name_the_url() {
    let fixture = Fixture::new("failures", |archive| write(archive, &mixed("WEB1", 0, 20).samples, 400));
    let Some(fixture) = fixture else { return };
    let fails = |url: &str| fixture.fails(AVERAGES, url, &[]);
    assert_eq!(fails("s3://missing-bucket/x"), "s3://missing-bucket/x: the bucket does not exist");
    let none = "there are no files of an archive, which are named machine=NAME/date=YYYY-MM-DD/*.parquet";
    assert_eq!(fails("s3://failures/logs/2"), format!("s3://failures/logs/2: {none}"));
    assert_eq!(fails("s3://failures/x.parquet"), "s3://failures/x.parquet: the object does not exist");
    // Files of one machine that overlap in time. Their names do, so their footers decide.
    let (key, bytes) = fixture.files().swap_remove(0);
    fixture.server.put("failures", &key.replace(".parquet", "-2.parquet"), &bytes);
    let url = fixture.url("");
    let message = fails(&url);
    assert!(message.contains(": samples overlap in time with those of s3://failures/"), "{message}");
    // A port at which nothing listens.
    let port =
        std::net::TcpListener::bind("127.0.0.1:0").expect("a port").local_addr().expect("an address").port();
    let message = fixture.fails(AVERAGES, &url, &[("AWS_ENDPOINT_URL", &format!("http://127.0.0.1:{port}"))]);
    assert_eq!(
        message,
        format!(
            "{url}: cannot connect to the store: Connection refused: check AWS_ENDPOINT_URL and AWS_REGION"
        )
    );
    let message = fixture.fails(AVERAGES, &url, &[("AWS_ALLOW_HTTP", "false")]);
    assert!(message.starts_with(&format!("{url}: ")) && message.contains("AWS_ALLOW_HTTP=true"), "{message}");
    let ran = fixture.run(&[AVERAGES, &url, "--cluster", "http://127.0.0.1:1"], &[]);
    assert_eq!(
        message_of_usage(&ran),
        format!("{url}: executors of a cluster cannot read S3: run the query without --cluster")
    );
    let ran = fixture.run(&[AVERAGES, "s3://failures//x"], &[]);
    assert!(message_of_usage(&ran).starts_with("s3://failures//x: the prefix is invalid"));
}

/// The message of a command whose arguments are wrong.
#[track_caller]
fn message_of_usage(ran: &std::process::Output) -> String {
    assert_eq!(ran.status.code(), Some(2));
    String::from_utf8_lossy(&ran.stderr).trim_end().strip_prefix("tacho sql: ").expect("a message").to_owned()
}

#[test]
fn wrong_credentials_are_named() {
    let Some(server) = Server::start(&[("INITIAL_NO_AUTH_ACTION_COUNT", "1")]) else { return };
    // This request is not checked, all others are.
    server.create("private");
    let ran = tacho_sql(&format!("http://{}", server.address), &[AVERAGES, "s3://private/x"], &[]).output();
    let message = message(&ran.expect("tacho-sql runs"));
    assert_eq!(
        message,
        "s3://private/x: access is denied (InvalidAccessKeyId): check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and \
         the permissions of the key"
    );
}
