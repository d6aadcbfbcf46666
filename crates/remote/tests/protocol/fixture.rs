//! A machine with counter sets of every kind, and transports to its agent.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{
    Clock, ErrorCode, Failure, Guid, InstanceFilter, InstanceKey, Provider, Registry, Rows, SetSelection,
};
use tachograph_remote::frame::Frame;
use tachograph_remote::message::{CollectReply, CollectRequest, OpenReply, encode_selections};
use tachograph_remote::{
    Agent, AgentOptions, ExchangeError, Method, Peer, Received, Response, Transport, difference,
};

pub(crate) const DISK: Guid = Guid::from_u128(0xD15C);
pub(crate) const TASKS: Guid = Guid::from_u128(0x7A5C);
pub(crate) const SYSTEM: Guid = Guid::from_u128(0x5757);
pub(crate) const BROKEN: Guid = Guid::from_u128(0xBAD);
pub(crate) const LARGE: Guid = Guid::from_u128(0x1A46E);

/// Fills the rows of a collection.
pub(crate) type Fill = dyn FnMut(&mut Rows) -> Result<(), Failure> + Send;

/// A provider whose rows are filled by a function.
pub(crate) struct FakeProvider {
    pub(crate) info: Arc<CounterSetInfo>,
    pub(crate) fill: Box<Fill>,
}

impl Provider for FakeProvider {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        (self.fill)(rows)
    }
}

/// The clock of the fixture, which a collection reads once.
#[derive(Clone, Default)]
pub(crate) struct FakeTime(Arc<AtomicI64>);

pub(crate) const BOOT: i64 = 133_000_000_000_000_000;

impl FakeTime {
    pub(crate) fn advance(&self, ticks: i64) {
        self.0.fetch_add(ticks, Ordering::SeqCst);
    }

    pub(crate) fn clock(&self) -> Clock {
        let ticks = Arc::clone(&self.0);
        Clock::new(move || {
            let ticks = ticks.load(Ordering::SeqCst);
            (ticks, FileTime(BOOT + ticks))
        })
    }
}

fn set(name: &str, guid: Guid, instances: InstanceType, counters: Vec<CounterInfo>) -> Arc<CounterSetInfo> {
    let mut info = CounterSetInfo::new(name, guid, instances);
    info.help = "What the set measures.".into();
    info.counters = counters;
    Arc::new(info)
}

/// A machine: a set with bases, one with equal names, reserved names and parents, one without instances, one that fails.
pub(crate) fn machine(times: &FakeTime) -> Arc<Registry> {
    let mut registry = Registry::new("WEB1", times.clock());
    let disk = vec![
        CounterInfo::new(1, "Disk Reads/sec", CounterType::BULK_COUNT),
        CounterInfo::new(2, "Avg. Disk sec/Read", CounterType::AVERAGE_TIMER).base(3),
        CounterInfo::companion(3, "Avg. Disk sec/Read Base", CounterType::AVERAGE_BASE),
        CounterInfo::new(4, "% Idle Time", CounterType::TIMER_100NS),
        CounterInfo::new(5, "Queue Length", CounterType::RAWCOUNT),
    ];
    let mut reads = 0_u64;
    let keys: Vec<_> = ["sda", "sdb", "größe 雪"].iter().zip(0..).map(|(name, id)| (*name, id)).collect();
    let mut keys: Vec<_> =
        keys.into_iter().map(|(name, id)| Arc::new(InstanceKey::new(name, id, 0))).collect();
    keys.push(Arc::new(InstanceKey::new("_Total", 9, 0).reserved()));
    let reason: Arc<str> = "/sys/block/sdb/stat: permission denied".into();
    let fill = move |rows: &mut Rows| {
        reads += 3;
        for (index, key) in (0..).zip(&keys) {
            if !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            row.set(1, reads * (index + 1));
            row.set_with_base(2, reads * 1_000_003, reads + index);
            match index {
                1 => row.fail(4, &reason),
                2 => row.omit(4),
                _ => row.set(4, u64::MAX - reads),
            }
            row.set(5, index);
        }
        Ok(())
    };
    let provider =
        FakeProvider { info: set("PhysicalDisk", DISK, InstanceType::Multiple, disk), fill: Box::new(fill) };
    registry.register(Box::new(provider)).expect("a valid set");

    let tasks = vec![CounterInfo::new(7, "% Processor Time", CounterType::TIMER_100NS)];
    let mut round = 0;
    let fill = move |rows: &mut Rows| {
        round += 1;
        for (index, name) in ["bash", "bash", "x"].iter().enumerate().skip(usize::from(round % 2 == 0)) {
            let key = Arc::new(InstanceKey::new(*name, index as u32, 100 + index as u64));
            if rows.wants_instance(key.full_name(), key.id()) {
                rows.push(&key).set(7, round * 10 + index as u64);
            }
        }
        let thread = Arc::new(InstanceKey::with_parent("bash", "0/1", 77, 5));
        if rows.wants_instance(thread.full_name(), thread.id()) {
            rows.push(&thread).set(7, 1 << 63);
        }
        Ok(())
    };
    let provider =
        FakeProvider { info: set("Process", TASKS, InstanceType::Multiple, tasks), fill: Box::new(fill) };
    registry.register(Box::new(provider)).expect("a valid set");

    let system = vec![
        CounterInfo::new(1, "Processes", CounterType::RAWCOUNT),
        CounterInfo::new(2, "System Up Time", CounterType::ELAPSED_TIME).clock(3, 4),
        CounterInfo::companion(3, "Clock", CounterType::LARGE_RAWCOUNT),
        CounterInfo::companion(4, "Clock Frequency", CounterType::LARGE_RAWCOUNT),
    ];
    let fill = |rows: &mut Rows| {
        let mut row = rows.push(&Arc::default());
        row.set(1, 123);
        row.set(2, BOOT as u64);
        Ok(())
    };
    let provider =
        FakeProvider { info: set("System", SYSTEM, InstanceType::Single, system), fill: Box::new(fill) };
    registry.register(Box::new(provider)).expect("a valid set");

    let broken = vec![CounterInfo::new(1, "Value", CounterType::RAWCOUNT)];
    let fill = |_: &mut Rows| Err(Failure::new(ErrorCode::ACCESS_DENIED, "/proc/broken: permission denied"));
    let provider =
        FakeProvider { info: set("Broken", BROKEN, InstanceType::Multiple, broken), fill: Box::new(fill) };
    registry.register(Box::new(provider)).expect("a valid set");
    Arc::new(registry)
}

pub(crate) fn random() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(0x9E37_79B9_7F4A_7C15, Ordering::SeqCst)
}

pub(crate) fn agent(registry: &Arc<Registry>) -> Agent {
    let registry = Arc::clone(registry);
    Agent::new(AgentOptions {
        registry: Arc::new(move || Arc::clone(&registry)),
        boot_time: FileTime(BOOT),
        id: random(),
        software: "tacho test".to_owned(),
        random,
    })
}

/// Changes the body of a response.
pub(crate) type Change = Box<dyn FnMut(&str, &mut Vec<u8>) + Send>;

/// The connection between a consumer and an agent in this process. Tests can replace the agent, disconnect it, and change its responses.
#[derive(Clone)]
pub(crate) struct Network(Arc<Mutex<NetworkState>>);

pub(crate) struct NetworkState {
    pub(crate) agent: Option<Arc<Agent>>,
    pub(crate) change: Option<Change>,
    /// Whether the answer to the next exchange is lost.
    pub(crate) lose_next: bool,
    /// The name of the client, for the agent.
    pub(crate) client: String,
    /// How long the next exchange takes to connect.
    pub(crate) connect_time: Option<Duration>,
    /// How requests are sent ahead; `None` if they cannot be.
    pub(crate) ahead: Option<SentAhead>,
    /// The total sizes of the bodies of requests and of responses, in bytes.
    pub(crate) sent: usize,
    pub(crate) received: usize,
    peer: Peer,
}

/// Requests that are sent ahead.
pub(crate) struct SentAhead {
    /// Whether the answers never arrive.
    pub(crate) is_silent: bool,
    pub(crate) is_sent: bool,
    /// Is called when a request is sent (`sends METHOD`), and when its answer is received (`receives`).
    pub(crate) report: Box<dyn FnMut(&str) + Send>,
}

impl Network {
    pub(crate) fn to(agent: Agent) -> Self {
        let peer = Peer { machine: "web1".to_owned(), address: "192.0.2.1:7321".to_owned() };
        let agent = Some(Arc::new(agent));
        let state = NetworkState {
            agent,
            change: None,
            lose_next: false,
            connect_time: None,
            ahead: None,
            client: "client".to_owned(),
            sent: 0,
            received: 0,
            peer,
        };
        Self(Arc::new(Mutex::new(state)))
    }

    pub(crate) fn with_state<R>(&self, action: impl FnOnce(&mut NetworkState) -> R) -> R {
        action(&mut self.0.lock().expect("no panic in another test thread"))
    }

    pub(crate) fn transport(&self) -> Box<dyn Transport> {
        let peer = self.with_state(|state| state.peer.clone());
        Box::new(TestTransport { network: self.clone(), peer })
    }
}

struct TestTransport {
    network: Network,
    peer: Peer,
}

impl std::fmt::Debug for TestTransport {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TestTransport")
    }
}

impl Transport for TestTransport {
    fn exchange(
        &mut self,
        method: Method,
        path: &str,
        request: &[u8],
        body: &mut Vec<u8>,
        deadline: Instant,
    ) -> Result<Response, ExchangeError> {
        self.network.with_state(|state| {
            state.ahead.iter_mut().for_each(|ahead| ahead.is_sent = false);
            if state.connect_time.is_some_and(|needed| Instant::now() + needed > deadline) {
                return Err(ExchangeError::TimedOut("connecting"));
            }
            state.connect_time = None;
            let agent = state.agent.clone().ok_or(ExchangeError::Unreachable("no route".to_owned()))?;
            state.sent += request.len();
            let client = &*state.client;
            let parts: Vec<&str> = path.split('/').skip(3).collect();
            let id = |text: &str| u64::from_str_radix(text, 16).expect("an id");
            let outcome = match (method, &parts[..]) {
                (Method::Get, []) => agent.greet(client),
                (Method::Get, ["sets"]) => agent.sets(client),
                (Method::Post, ["instances"]) => agent.instances(client, request),
                (Method::Post, ["queries"]) => agent.open(client, request),
                (Method::Post, ["queries", query, "collect"]) => agent.collect(client, id(query), request),
                (Method::Delete, ["queries", query]) => agent.close(client, id(query)).map(|()| Vec::new()),
                other => panic!("{other:?}"),
            };
            let (status, mut bytes) = match outcome {
                Ok(bytes) => (200, bytes),
                Err(error) => (error.http_status(), error.to_string().into_bytes()),
            };
            if std::mem::take(&mut state.lose_next) {
                return Err(ExchangeError::TimedOut("waiting for the answer"));
            }
            if let Some(change) = &mut state.change {
                change(path, &mut bytes);
            }
            state.received += bytes.len();
            *body = bytes;
            Ok(Response { status })
        })
    }

    fn is_open(&self) -> bool {
        let is_sent = |state: &NetworkState| state.ahead.as_ref().is_some_and(|ahead| ahead.is_sent);
        self.network.with_state(|state| state.agent.is_some() && !is_sent(state))
    }

    fn close(&mut self) {}

    fn peer(&self) -> &Peer {
        &self.peer
    }

    fn send_ahead(&mut self, method: Method, _: &str, _: &[u8]) -> bool {
        self.network.with_state(|state| {
            let Some(ahead) = &mut state.ahead else { return false };
            (ahead.report)(&format!("sends {method:?}"));
            ahead.is_sent = true;
            true
        })
    }

    fn receive_ahead(&mut self) -> Received {
        self.network.with_state(|state| match &mut state.ahead {
            Some(SentAhead { is_silent: true, .. }) => Received::Part,
            Some(ahead) => {
                (ahead.report)("receives");
                Received::Complete
            }
            None => Received::Broken,
        })
    }
}

pub(crate) fn selections() -> Vec<SetSelection> {
    let selection = |set, counter_ids: &[u32], instances| SetSelection {
        set,
        counter_ids: counter_ids.to_vec(),
        instances,
    };
    let filters = vec![InstanceFilter::from_path("sd*#1"), InstanceFilter::new("*", Some(2))];
    vec![
        selection(DISK, &[1, 2, 3, 4, 5], vec![InstanceFilter::all()]),
        selection(TASKS, &[7], filters),
        selection(SYSTEM, &[1, 2], vec![InstanceFilter::all()]),
    ]
}

/// A frame with missing values, statuses and errors.
pub(crate) fn frame() -> (Vec<SetSelection>, Vec<u8>) {
    let selections = selections();
    let agent = agent(&machine(&FakeTime::default()));
    let reply = agent.open("a", &encode_selections(selections.iter())).expect("a query");
    let reply = OpenReply::decode(&reply, selections.len()).expect("a reply");
    assert_eq!(reply.statuses, [0, 0, 0]);
    let collected = agent.collect("a", reply.query, &CollectRequest { number: 1, held: 0 }.encode());
    let collected = collected.expect("a frame");
    let reply = CollectReply::decode(&collected).expect("a reply");
    let mut frame = Vec::new();
    difference::decode(&[], reply.frame_bytes, reply.differences, &mut frame).expect("a frame");
    (selections, frame)
}

pub(crate) fn is_valid_frame(frame: &[u8], selections: &[SetSelection]) -> bool {
    let selections: Vec<_> = selections.iter().collect();
    Frame::new(frame.to_vec(), &selections).is_ok()
}
