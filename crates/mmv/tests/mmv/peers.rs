//! Files written by PCP's own library, and values compared with PCP's `mmvdump`.
//!
//! Skipped without libpcp_mmv and its headers (Debian: libpcp-mmv1-dev, libpcp3-dev), or without mmvdump (Debian: pcp; or
//! `TACHO_MMVDUMP`).

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use tachograph_counters::CounterType;
use tachograph_mmv::{image_providers, providers};
use tachograph_perflib::{Clock, Provider};

use crate::sampling::{collect, names, raw, set};
use crate::writer::File;

/// A running program that uses PCP's library. It ends when this is dropped.
struct Peer {
    child: Child,
    folder: tempfile::TempDir,
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.end();
    }
}

impl Peer {
    fn start() -> Option<Self> {
        if !Path::new("/usr/include/pcp/mmv_stats.h").exists() {
            eprintln!("skipped: no headers of libpcp_mmv");
            return None;
        }
        let folder = tempfile::tempdir().expect("a folder");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mmv/peer.c");
        let program = folder.path().join("peer");
        let built =
            Command::new("cc").arg(source).arg("-o").arg(&program).args(["-lpcp_mmv", "-lpcp"]).status();
        match built {
            Err(error) => {
                eprintln!("skipped: no C compiler: {error}");
                return None;
            }
            Ok(status) => assert!(status.success(), "peer.c does not compile"),
        }
        std::fs::create_dir(folder.path().join("mmv")).expect("created");
        let mut child = Command::new(program)
            .env("PCP_TMP_DIR", folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("started");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("its output")).read_line(&mut line).expect("read");
        assert_eq!(line, "ready\n");
        Some(Self { child, folder })
    }

    /// Ends the program; its files remain.
    fn end(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }

    fn files(&self) -> PathBuf {
        self.folder.path().join("mmv")
    }
}

#[test]
fn files_of_pcps_library_are_read() {
    let Some(mut peer) = Peer::start() else { return };
    let mut found = providers(&[peer.files()], &|_, _| false);
    let problems: Vec<_> = found.problems.iter().map(|problem| problem.to_string()).collect();
    assert_eq!(problems.len(), 3, "{problems:?}");
    let expected = "metric 'text' is skipped: its values are strings";
    assert!(problems.iter().all(|problem| problem.ends_with(expected)), "{problems:?}");

    let clock = Clock::of_this_machine();
    for version in [1, 2, 3] {
        let single = set(&mut found.providers, &format!("mmv peer{version}"));
        let rows = collect(single, clock.now());
        let first = |name| raw(&rows, "", name).first;
        assert_eq!(first("i32"), -2_147_483_648);
        assert_eq!(first("u32"), 4_294_967_295);
        assert_eq!(first("i64"), -5_000_000_000);
        assert_eq!(raw(&rows, "", "float").as_double(), 0.5);
        assert_eq!(raw(&rows, "", "double").as_double(), -0.1);
        assert_eq!(first("elapsed"), 9_876_543_210, "in 100 ns");
        assert!(
            (0..600_000_000).contains(&first("waiting")),
            "microseconds since the start: {}",
            first("waiting")
        );
        let units: Vec<_> = rows.info().counters.iter().take(6).map(|counter| &*counter.unit).collect();
        assert_eq!(units, ["", "KiB/s", "MiB/s", "", "ms/count", "%"]);
        if version > 1 {
            assert_eq!(
                rows.info().counters.last().map(|counter| (counter.name.len(), counter.id)),
                Some((76, 12))
            );
        }

        let products = set(&mut found.providers, &format!("mmv peer{version} 61"));
        assert!(products.info().help.starts_with("Products. What is made ("), "{}", products.info().help);
        assert_eq!(&*products.info().counters[0].help, "Made. Since start");
        let rows = collect(products, clock.now());
        assert_eq!(names(&rows), ["Anvils", "Rockets", "Giant_Rubber_Bands"]);
        assert_eq!(raw(&rows, "Anvils", "products.count").first, 1_234_567_890_123);
        assert_eq!(raw(&rows, "Rockets", "products.count").first, 0);
        assert_eq!(raw(&rows, "Rockets", "products.time").first, 25_000_000, "in 100 ns");

        let rows = collect(set(&mut found.providers, &format!("mmv peer{version} 62")), clock.now());
        assert_eq!(names(&rows), ["north", "south"]);
        assert_eq!(rows.instances()[1].id(), 20);
        assert_eq!(raw(&rows, "south", "shops.open").first, -1);
    }

    // The third file has the flag PROCESS.
    let dependent = set(&mut found.providers, "mmv peer3");
    assert_eq!(names(&collect(dependent, clock.now())), [""]);
    peer.end();
    assert_eq!(names(&collect(dependent, clock.now())), [""; 0]);
    let remaining = providers(&[peer.files()], &|_, _| false);
    assert!(remaining.providers.iter().all(|set| !set.info().name.contains("peer3")));
    assert_eq!(remaining.providers.len(), 6);
}

fn mmvdump() -> Option<PathBuf> {
    let folders =
        ["/usr/libexec/pcp/bin", "/usr/lib/pcp/bin", "/usr/lib/pcp/pmdas/mmv", "/var/lib/pcp/pmdas/mmv"];
    let configured = std::env::var_os("TACHO_MMVDUMP").map(PathBuf::from);
    let known = folders.iter().map(|folder| Path::new(folder).join("mmvdump"));
    let found = configured.into_iter().chain(known).find(|path| path.exists());
    if found.is_none() {
        eprintln!("skipped: no mmvdump");
    }
    found
}

/// Parses the metrics, instances and values that mmvdump prints.
fn dumped(mmvdump: &Path, file: &Path) -> Vec<(String, String, f64)> {
    let output = Command::new(mmvdump).arg(file).output().expect("run");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    let value = |line: &str| {
        // `  [7/712] products.count[0 or "Anvils"] = 10`; for an interval in progress the value before its start.
        let (name, value) = line.trim_start().strip_prefix('[')?.split_once("] ")?.1.split_once(" = ")?;
        let value = match value.split_once("(value=") {
            Some((_, counted)) => counted.split('/').next()?,
            None => value,
        };
        let (name, instance) = match name.split_once("[") {
            Some((name, instance)) => (name, instance.split('"').nth(1)?),
            None => (name, ""),
        };
        Some((name.to_owned(), instance.to_owned(), value.trim().parse().ok()?))
    };
    text.lines().filter_map(value).collect()
}

/// Compares every number that mmvdump prints with the collected value, in the unit of the counter's type.
fn compare(mmvdump: &Path, file: &Path, sets: &mut [Box<dyn Provider>]) -> usize {
    let clock = Clock::of_this_machine();
    let rows: Vec<_> = sets.iter_mut().map(|set| collect(&mut **set, clock.now())).collect();
    let dumped = dumped(mmvdump, file);
    for (name, instance, expected) in &dumped {
        let has = |info: &tachograph_perflib::registration::CounterSetInfo| {
            info.counters.iter().find(|counter| *counter.name == **name).map(|counter| counter.counter_type)
        };
        let (rows, kind) = rows.iter().find_map(|rows| Some((rows, has(rows.info())?))).expect("the metric");
        let raw = raw(rows, instance, name);
        let found = match kind {
            CounterType::DOUBLE_RAW => raw.as_double(),
            CounterType::TIMER_100NS => raw.first as f64 / 10.0,
            // For an interval in progress, the value before its start is 0.
            _ if name == "waiting" => 0.0,
            _ => raw.first as f64,
        };
        // mmvdump prints six digits after the point.
        assert!((found - expected).abs() < 1e-6, "{name}[{instance}]: {found}, mmvdump {expected}");
    }
    dumped.len()
}

#[test]
fn mmvdump_prints_the_same_values() {
    let Some(mmvdump) = mmvdump() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    for version in [1, 2, 3] {
        let file = folder.path().join(format!("shop{version}"));
        let bytes = File::shop(version).image().bytes;
        std::fs::write(&file, &bytes).expect("written");
        let mut sets = image_providers("shop", &bytes).expect("read");
        assert_eq!(compare(&mmvdump, &file, &mut sets), 7);
    }
    let Some(peer) = Peer::start() else { return };
    for (name, values) in [("peer1", 15), ("peer2", 16), ("peer3", 16)] {
        let file = peer.files().join(name);
        let mut sets = image_providers(name, &std::fs::read(&file).expect("read")).expect("read");
        assert_eq!(compare(&mmvdump, &file, &mut sets), values, "{name}");
    }
}
