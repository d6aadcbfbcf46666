//! A server with a fake machine and generated logs.

use std::collections::HashSet;
use std::fs::File;
use std::io::BufWriter;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::Sink;
use tachograph_flow::live::{LiveOptions as SourceOptions, LiveSource};
use tachograph_flow::sinks::LogSink;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Budget, TextEncoding};
use tachograph_monitor::{ProcessProperties, RowProperties, View};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, FREQUENCY, Failure, Guid, InstanceKey, Provider, Registry, Rows};
use tachograph_remote::ClientTrust;
use tachograph_web::{
    Embedding, HostFacts, LiveOptions, MachineList, RecordingOptions, ServeError, ServeOptions, Server,
    Services, Stopper, Token, Uploads,
};

const RATE: u32 = 0;
const NUMBER: u32 = 1;
/// The start of the clock: 2022-06-18.
const START: i64 = 133_000_000_000_000_000;

/// The machine FAKE: instance `pN` has the number N and counts N things per second. Every collection advances the clock by a
/// second.
pub(crate) struct Machine {
    /// How often the provider was called.
    pub(crate) collections: Arc<AtomicU64>,
    /// How often the provider became idle.
    pub(crate) idle_count: Arc<AtomicU64>,
    /// Whether the last collection read the rate.
    pub(crate) is_rate_read: Arc<AtomicBool>,
    /// The names of the instances.
    pub(crate) names: Arc<Mutex<Vec<Arc<InstanceKey>>>>,
    /// Whether the machine has no counter set.
    pub(crate) is_bare: Arc<AtomicBool>,
    registry: Arc<Registry>,
    /// The registry without the counter set.
    bare: Arc<Registry>,
}

/// Process 7 runs as alice; no other process exists.
struct TestProcesses;

impl RowProperties for TestProcesses {
    fn process(&mut self, id: u32) -> Option<ProcessProperties> {
        (id == 7).then(|| ProcessProperties {
            state: Some('S'),
            user: Some("alice".into()),
            cgroup: Some("/user.slice".into()),
            command: Some("sleep 1".into()),
            parent: Some(1),
            oom_score: None,
        })
    }
}

struct Things {
    info: Arc<CounterSetInfo>,
    names: Arc<Mutex<Vec<Arc<InstanceKey>>>>,
    collections: Arc<AtomicU64>,
    idle_count: Arc<AtomicU64>,
    is_rate_read: Arc<AtomicBool>,
}

impl Machine {
    pub(crate) fn new(instances: u32) -> Self {
        let collections = Arc::new(AtomicU64::new(0));
        let seconds = Arc::new(AtomicI64::new(0));
        let clock = |seconds: &Arc<AtomicI64>| {
            let seconds = Arc::clone(seconds);
            Clock::new(move || {
                let ticks = (seconds.fetch_add(1, Ordering::SeqCst) + 1) * FREQUENCY;
                (ticks, FileTime(START + ticks))
            })
        };
        let bare = Arc::new(Registry::new("FAKE", clock(&seconds)));
        let mut registry = Registry::new("FAKE", clock(&seconds));
        let mut info = CounterSetInfo::new("Things", Guid::from_u128(1), InstanceType::Multiple);
        info.counters = vec![
            CounterInfo::new(RATE, "Things/sec", CounterType::BULK_COUNT),
            CounterInfo::new(NUMBER, "Number", CounterType::RAWCOUNT),
        ];
        let key = |id: u32| Arc::new(InstanceKey::new(format!("p{id}"), id, id.into()));
        let names = Arc::new(Mutex::new((0..instances).map(key).collect()));
        let (idle_count, is_rate_read) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let things = Things {
            info: Arc::new(info),
            names: Arc::clone(&names),
            collections: Arc::clone(&collections),
            idle_count: Arc::clone(&idle_count),
            is_rate_read: Arc::clone(&is_rate_read),
        };
        registry.register(Box::new(things)).expect("a new set");
        let (is_bare, registry) = (Arc::default(), Arc::new(registry));
        Self { collections, idle_count, is_rate_read, names, is_bare, registry, bare }
    }

    pub(crate) fn options(&self, interval: Duration) -> LiveOptions {
        let (registry, bare, is_bare) =
            (Arc::clone(&self.registry), Arc::clone(&self.bare), Arc::clone(&self.is_bare));
        LiveOptions {
            registry: Arc::new(move || {
                Arc::clone(if is_bare.load(Ordering::SeqCst) { &bare } else { &registry })
            }),
            machines: None,
            interval,
            points: 30,
            max_bytes: 64 << 20,
            zone: TimeZone::utc(),
            boot_time: FileTime(START),
            facts: Some(Arc::new(|| HostFacts {
                operating_system: Some("Fake 1.0".to_owned()),
                processors: Some(3),
            })),
            default_paths: vec![r"\Things(p1)\Things/sec".to_owned()],
            history: Vec::new(),
        }
    }

    /// Writes a log; its samples are a second apart.
    pub(crate) fn write_log(&self, file: &Path, samples: usize) {
        let paths = [PathPattern::parse(r"\Things(*)\*").expect("a path")];
        let (mut source, _) =
            LiveSource::open(&self.registry, &paths, SourceOptions::default()).expect("this machine");
        let mut options = BlgWriterOptions::new(TimeZone::utc());
        options.performance_frequency = FREQUENCY;
        let out = BufWriter::new(File::create(file).expect("a file"));
        let mut sink = LogSink::new(BlgWriter::new(out, options).expect("a writer"));
        let mut sample = Sample::default();
        for _ in 0..samples {
            source.collect(&mut sample);
            sink.push(&sample).expect("written");
        }
        sink.finish().expect("written");
    }
}

impl Provider for Things {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.collections.fetch_add(1, Ordering::SeqCst);
        self.is_rate_read.store(rows.wants(RATE), Ordering::SeqCst);
        let seconds = (rows.timestamps().ticks / FREQUENCY).unsigned_abs();
        for key in self.names.lock().expect("no panic").iter() {
            if rows.wants_instance(key.full_name(), key.id()) {
                let mut row = rows.push(key);
                row.set(RATE, seconds * u64::from(key.id()));
                row.set(NUMBER, key.id().into());
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.idle_count.fetch_add(1, Ordering::SeqCst);
    }
}

/// A server that runs until it is dropped.
pub(crate) struct TestServer {
    pub(crate) address: SocketAddr,
    pub(crate) folder: tempfile::TempDir,
    stopper: Stopper,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// Options of the server of a test.
pub(crate) struct TestOptions {
    pub(crate) interval: Duration,
    pub(crate) token: Option<&'static str>,
    pub(crate) hosts: Vec<String>,
    pub(crate) max_upload: u64,
    pub(crate) max_uploads: usize,
    pub(crate) memory: Budget,
    pub(crate) encoding: Option<TextEncoding>,
    pub(crate) tls: Option<(PathBuf, PathBuf)>,
    pub(crate) clients: Option<ClientTrust>,
    pub(crate) services: Services,
    pub(crate) view: Option<View>,
    pub(crate) views: Option<PathBuf>,
    pub(crate) history: Vec<PathPattern>,
    /// The machines that are collected instead of the fake one.
    pub(crate) machines: Option<Arc<dyn MachineList>>,
    /// The maximum memory of the kept samples.
    pub(crate) max_bytes: usize,
    pub(crate) embedding: Embedding,
    /// The limits of recordings into the folder `records`, if they are allowed: size, duration, free space.
    pub(crate) recordings: Option<(u64, Duration, u64)>,
}

impl Default for TestOptions {
    fn default() -> Self {
        Self {
            interval: Duration::from_millis(20),
            token: None,
            hosts: Vec::new(),
            max_upload: 4 << 20,
            max_uploads: 4,
            memory: Budget::default(),
            encoding: None,
            tls: None,
            clients: None,
            services: Services::All,
            view: None,
            views: None,
            history: Vec::new(),
            machines: None,
            max_bytes: 64 << 20,
            embedding: Embedding::default(),
            recordings: None,
        }
    }
}

impl TestServer {
    /// A server for a machine, `server.blg`, and the folder `logs` with `a.blg` and `deep/b.blg`. It must not serve `secret.blg`.
    pub(crate) fn start(machine: &Machine, options: TestOptions) -> Self {
        let folder = tempfile::Builder::new().prefix("tacho-web-test-").tempdir().expect("a folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["logs/deep", "uploads", "records"] {
            std::fs::create_dir_all(at(name)).expect("a folder");
        }
        machine.write_log(&at("server.blg"), 101);
        machine.write_log(&at("secret.blg"), 3);
        machine.write_log(&at("logs/a.blg"), 11);
        machine.write_log(&at("logs/deep/b.blg"), 11);
        let server = Server::bind(ServeOptions {
            services: options.services,
            metrics: Default::default(),
            repeating_sets: vec![("Things", "Others")],
            processes: Some(Box::new(TestProcesses)),
            address: SocketAddr::from(([127, 0, 0, 1], 0)),
            tls: options.tls,
            clients: options.clients,
            token: options.token.map(|token| Token::new(token).expect("a token")),
            embedding: options.embedding,
            hosts: options.hosts,
            live: LiveOptions {
                history: options.history,
                machines: options.machines,
                max_bytes: options.max_bytes,
                ..machine.options(options.interval)
            },
            recordings: options.recordings.map(|(max_bytes, max_duration, min_free_bytes)| {
                RecordingOptions { folder: at("records"), max_bytes, max_duration, min_free_bytes }
            }),
            logs: vec![at("server.blg"), at("logs")],
            uploads: Uploads {
                folder: at("uploads"),
                max_bytes: options.max_upload,
                max_count: options.max_uploads,
                ..Uploads::default()
            },
            memory: options.memory,
            encoding: options.encoding,
            release: None,
            log: None,
            notices: None,
            view: options.view,
            views: options.views,
        })
        .expect("a server");
        let (address, stopper) = (server.address(), server.stopper());
        let thread = Some(std::thread::spawn(move || server.run()));
        Self { address, folder, stopper, thread }
    }

    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Stops the server.
    pub(crate) fn stop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no panic").expect("the server ended without an error");
        }
    }

    /// Waits until this process has `expected` open files of uploads and downloads. These files have no names.
    pub(crate) fn wait_for_uploads(&self, expected: usize) {
        let folder = self.file("uploads");
        let end = Instant::now() + Duration::from_secs(20);
        loop {
            assert_eq!(std::fs::read_dir(&folder).expect("a folder").count(), 0, "a file has a name");
            let open = std::fs::read_dir("/proc/self/fd").expect("procfs").flatten();
            let open = open.filter_map(|entry| std::fs::read_link(entry.path()).ok());
            // A reader can open the same file again.
            let files: HashSet<_> = open.filter(|path| path.starts_with(&folder)).collect();
            if files.len() == expected {
                return;
            }
            assert!(Instant::now() < end, "{files:?}, expected {expected}");
            std::thread::yield_now();
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let outcome = thread.join();
            if !std::thread::panicking() {
                outcome.expect("no panic").expect("the server ended without an error");
            }
        }
    }
}
