//! A fake machine with a controlled clock and controlled values, and logs of it.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_pdh::{DataSource, LogHandle, PdhStatus, Query, RawCounter, access};
use tachograph_perflib::registration::{Attributes, CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{
    Clock, Connector, ErrorCode, FREQUENCY, Failure, Guid, InstanceKey, Provider, Registry, Rows,
};

/// The wall clock at the machine's start.
const START: i64 = 133_000_000_000_000_000;

/// The values of the machine's sets.
#[derive(Clone, Default)]
pub(crate) struct Values {
    /// `System`: total context switches.
    pub(crate) switches: u64,
    /// `Processor(0)` and `Processor(1)`: total busy time in 100 ns.
    pub(crate) busy: [u64; 2],
    /// `Process`: name, id, total ticks.
    pub(crate) processes: Vec<(String, u32, u64)>,
    /// `LogicalDisk`: name, free, size.
    pub(crate) disks: Vec<(String, u64, u64)>,
    /// `Shop`: the processes that publish it, with their sales.
    pub(crate) shops: Vec<(String, u64)>,
    /// The error of collecting `Process`.
    pub(crate) failure: Option<ErrorCode>,
}

/// A fake machine.
#[derive(Clone)]
pub(crate) struct Machine {
    pub(crate) values: Arc<Mutex<Values>>,
    ticks: Arc<AtomicI64>,
    registry: Arc<Mutex<Arc<Registry>>>,
    clock: Clock,
    pub(crate) source: DataSource,
}

struct FakeProvider {
    info: Arc<CounterSetInfo>,
    values: Arc<Mutex<Values>>,
    fill: fn(&Values, &mut Rows),
}

impl Provider for FakeProvider {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let values = self.values.lock().expect("no panic").clone();
        match values.failure.filter(|_| eq_ignore_case(&self.info.name, "Process")) {
            // The code of a machine that cannot be reached.
            Some(code @ ErrorCode::SERVER_UNAVAILABLE) => Err(Failure::new(code, "no link").of_machine()),
            Some(code) => Err(Failure::new(code, "a failure of the test")),
            None => {
                (self.fill)(&values, rows);
                Ok(())
            }
        }
    }
}

fn push(rows: &mut Rows, key: InstanceKey, values: &[(u32, u64, u64)]) {
    if !rows.wants_instance(key.full_name(), key.id()) {
        return;
    }
    let mut row = rows.push(&Arc::new(key));
    for &(id, value, base) in values {
        if base == 0 { row.set(id, value) } else { row.set_with_base(id, value, base) }
    }
}

impl Machine {
    /// The machine FAKE.
    pub(crate) fn new() -> Self {
        Self::named("FAKE")
    }

    pub(crate) fn named(name: &str) -> Self {
        let ticks = Arc::new(AtomicI64::new(100 * FREQUENCY));
        let values = Arc::new(Mutex::new(Values {
            switches: 1000,
            busy: [0, 0],
            processes: ["bash", "bash", "init"]
                .iter()
                .zip(1..)
                .map(|(name, pid)| (name.to_string(), pid, 10 * u64::from(pid)))
                .collect(),
            disks: vec![("/".into(), 1, 4), ("/home".into(), 1, 2)],
            shops: vec![("shop".into(), 3)],
            failure: None,
        }));
        let clock_ticks = Arc::clone(&ticks);
        let clock = Clock::new(move || {
            let ticks = clock_ticks.load(Ordering::SeqCst);
            (ticks, FileTime(START + ticks))
        });
        let registry = Arc::new(Mutex::new(registry_of(name, &clock, &values, &[])));
        let now = Arc::clone(&registry);
        let source = DataSource::of_changing_machine(move || Arc::clone(&now.lock().expect("no panic")));
        Self { values, ticks, registry, clock, source }
    }

    /// The counter sets that the machine has now.
    pub(crate) fn registry(&self) -> Arc<Registry> {
        Arc::clone(&self.registry.lock().expect("no panic"))
    }

    /// Installs a connector to other machines.
    pub(crate) fn connect(&self, connector: Arc<dyn Connector>) {
        let mut registry = Registry::new("FAKE", self.clock.clone());
        let known = self.registry();
        known.counter_sets().for_each(|info| assert!(registry.share_from(&known, info)));
        registry.set_connector(connector);
        *self.registry.lock().expect("no panic") = Arc::new(registry);
    }

    /// Removes sets; all others are available.
    pub(crate) fn without(&self, sets: &[&str]) {
        *self.registry.lock().expect("no panic") = registry_of("FAKE", &self.clock, &self.values, sets);
    }

    /// Advances the clock, and changes values.
    pub(crate) fn after(&self, seconds: i64, change: impl FnOnce(&mut Values)) {
        self.ticks.fetch_add(seconds * FREQUENCY, Ordering::SeqCst);
        change(&mut self.values.lock().expect("no panic"));
    }

    pub(crate) fn query(&self, paths: &[&str]) -> (Query, Vec<tachograph_pdh::CounterId>) {
        query_of(&self.source, paths)
    }

    /// A log of five samples, one second apart. With each sample, there are 10 more context switches, half a second more
    /// busy time of processor 0, and one more tick of every process. In the third sample, `init` is absent.
    pub(crate) fn log(&self, path: &Path, log_type: u32, paths: &[&str]) -> PathBuf {
        let (mut query, _) = self.query(paths);
        let bits = access::WRITE | access::CREATE_NEW;
        let mut log = LogHandle::open(path, bits, log_type, Some(&query), 0, None).expect("a new log");
        for number in 0..5 {
            self.after(1, |values| {
                values.switches += 10;
                values.busy[0] += 5_000_000;
                values.processes.retain(|(name, ..)| name != "init");
                if number != 2 {
                    values.processes.push(("init".into(), 3, 30 + number));
                }
                values.processes.iter_mut().for_each(|(_, _, ticks)| *ticks += 1);
            });
            log.update(&mut query, None).expect("write log");
        }
        log.close().expect("complete log");
        path.to_path_buf()
    }
}

pub(crate) fn query_of(source: &DataSource, paths: &[&str]) -> (Query, Vec<tachograph_pdh::CounterId>) {
    let mut query = Query::open(source, 7);
    let ids = paths.iter().map(|path| query.add_counter(path, 0).expect("an existing counter")).collect();
    (query, ids)
}

pub(crate) fn log_source(path: PathBuf) -> DataSource {
    DataSource::of_logs(vec![path]).expect("a log")
}

/// A valid raw value.
pub(crate) fn raw(first: i64, second: i64) -> RawCounter {
    RawCounter { first, second, multi_count: 1, ..RawCounter::default() }
}

/// A raw value with an error.
pub(crate) fn bad(status: PdhStatus) -> RawCounter {
    RawCounter { status, ..RawCounter::default() }
}

fn registry_of(name: &str, clock: &Clock, values: &Arc<Mutex<Values>>, without: &[&str]) -> Arc<Registry> {
    let mut registry = Registry::new(name, clock.clone());
    for (info, fill) in sets().into_iter().filter(|(info, _)| !without.contains(&&*info.name)) {
        let provider = FakeProvider { info: Arc::new(info), values: Arc::clone(values), fill };
        registry.register(Box::new(provider)).expect("a new, complete set");
    }
    Arc::new(registry)
}

type Set = (CounterSetInfo, fn(&Values, &mut Rows));

fn set(name: &str, number: u128, instances: InstanceType, counters: Vec<CounterInfo>) -> CounterSetInfo {
    let mut info = CounterSetInfo::new(name, Guid::from_u128(number), instances);
    info.counters = counters;
    info
}

fn sets() -> Vec<Set> {
    let sales = CounterInfo::new(1, "Sales", CounterType::RAWCOUNT);
    let mut shop = set("Shop", 7, InstanceType::Single, vec![sales]);
    shop.is_per_process = true;
    let with_help = |id, name: &str, kind, help: &str| {
        let mut counter = CounterInfo::new(id, name, kind);
        counter.help = help.to_owned().into();
        counter
    };
    let mut free = CounterInfo::new(1, "% Free Space", CounterType::RAW_FRACTION);
    free.base_id = Some(2);
    free.default_scale = -1;
    let mut base = CounterInfo::new(2, "Size", CounterType::RAW_BASE);
    base.attributes = Attributes::NO_DISPLAYABLE;
    let mut advanced = CounterInfo::new(3, "ID Process", CounterType::RAWCOUNT);
    advanced.detail_level = 200;
    vec![
        (
            set(
                "System",
                1,
                InstanceType::Single,
                vec![
                    with_help(1, "System Up Time", CounterType::LARGE_RAWCOUNT, "Seconds since the start."),
                    CounterInfo::new(2, "Context Switches/sec", CounterType::BULK_COUNT),
                ],
            ),
            |values, rows| push(rows, InstanceKey::default(), &[(1, 42, 0), (2, values.switches, 0)]),
        ),
        (
            set(
                "Processor",
                2,
                InstanceType::Multiple,
                vec![CounterInfo::new(1, "% Processor Time", CounterType::TIMER_100NS)],
            ),
            |values, rows| {
                for (name, busy) in ["0", "1"].iter().zip(values.busy) {
                    push(rows, InstanceKey::new(*name, 0, 0), &[(1, busy, 0)]);
                }
                let total = InstanceKey::new("_Total", 0, 0).reserved();
                push(rows, total, &[(1, values.busy.iter().sum::<u64>() / 2, 0)]);
            },
        ),
        (
            set(
                "Process",
                3,
                InstanceType::Multiple,
                vec![CounterInfo::new(1, "Ticks/sec", CounterType::BULK_COUNT), advanced],
            ),
            |values, rows| {
                for (name, pid, ticks) in &values.processes {
                    let key = InstanceKey::new(name.as_str(), *pid, (*pid).into());
                    push(rows, key, &[(1, *ticks, 0), (3, (*pid).into(), 0)]);
                }
            },
        ),
        (set("LogicalDisk", 4, InstanceType::Multiple, vec![free, base]), |values, rows| {
            for (name, free, size) in &values.disks {
                push(rows, InstanceKey::new(name.as_str(), 0, 0), &[(1, *free, *size)]);
            }
        }),
        (
            set(
                "Thread",
                5,
                InstanceType::Multiple,
                vec![CounterInfo::new(1, "ID Thread", CounterType::RAWCOUNT)],
            ),
            |_, rows| {
                for (process, number) in [("bash", "0"), ("bash", "1")] {
                    let key = InstanceKey::with_parent(process, number, 0, 0);
                    push(rows, key, &[(1, 5, 0)]);
                }
            },
        ),
        (
            set(
                "Empty",
                6,
                InstanceType::Multiple,
                vec![CounterInfo::new(1, "Count", CounterType::RAWCOUNT)],
            ),
            |_, _| {},
        ),
        (shop, |values, rows| {
            for (name, sales) in &values.shops {
                push(rows, InstanceKey::new(name.as_str(), 0, 0), &[(1, *sales, 0)]);
            }
        }),
    ]
}
