//! A machine whose processes and clocks the tests set.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use tachograph_counters::CounterType;
use tachograph_counters::civil::FileTime;
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tachograph_perflib::{Clock, ErrorCode, FREQUENCY, Failure, Guid, InstanceKey, Provider, Registry, Rows};

const TICKS: u32 = 0;
const ID_PROCESS: u32 = 1;

/// A process. By default, its values and its identity equal its id.
#[derive(Clone)]
pub(crate) struct Process {
    key: Arc<InstanceKey>,
    shown: u32,
}

impl Process {
    /// A total instance with this identity, whose name is reserved.
    pub(crate) fn total(identity: u32) -> Self {
        let key = InstanceKey::new("_Total", 0, identity.into()).reserved();
        Self { key: Arc::new(key), shown: identity }
    }

    /// The same process with `shown` as its values.
    #[allow(dead_code, reason = "not all tests that share this file use it")]
    pub(crate) fn showing(self, shown: u32) -> Self {
        Self { shown, ..self }
    }

    pub(crate) fn new(name: &str, pid: u32) -> Self {
        Self { key: Arc::new(InstanceKey::new(name, pid, pid.into())), shown: pid }
    }
}

type State = Arc<Mutex<Result<Vec<Process>, Failure>>>;

/// The machine FAKE: its clock advances by a second with every collection.
pub(crate) struct Machine {
    state: State,
    ticks: Arc<AtomicI64>,
}

impl Default for Machine {
    fn default() -> Self {
        Self { state: Arc::new(Mutex::new(Ok(Vec::new()))), ticks: Arc::default() }
    }
}

impl Machine {
    pub(crate) fn set(&self, processes: &[Process]) {
        *self.state.lock().expect("no panic") = Ok(processes.to_vec());
    }

    pub(crate) fn fail(&self, reason: &str) {
        *self.state.lock().expect("no panic") = Err(Failure::new(ErrorCode::NO_DATA, reason));
    }

    /// The last value of the performance clock.
    pub(crate) fn ticks(&self) -> i64 {
        self.ticks.load(Ordering::SeqCst)
    }

    pub(crate) fn registry(&self) -> Arc<Registry> {
        let ticks = Arc::clone(&self.ticks);
        let clock = Clock::new(move || {
            let ticks = ticks.fetch_add(FREQUENCY, Ordering::SeqCst) + FREQUENCY;
            (ticks, FileTime(133_000_000_000_000_000 + ticks))
        });
        let mut registry = Registry::new("FAKE", clock);
        let mut info = CounterSetInfo::new("Process", Guid::from_u128(1), InstanceType::Multiple);
        info.counters = vec![
            CounterInfo::new(TICKS, "Ticks/sec", CounterType::BULK_COUNT),
            CounterInfo::new(ID_PROCESS, "ID Process", CounterType::RAWCOUNT),
        ];
        let processes = Processes { info: Arc::new(info), state: Arc::clone(&self.state) };
        registry.register(Box::new(processes)).expect("new");
        Arc::new(registry)
    }
}

struct Processes {
    info: Arc<CounterSetInfo>,
    state: State,
}

impl Provider for Processes {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        for process in self.state.lock().expect("no panic").clone()? {
            if rows.wants_instance(process.key.full_name(), process.key.id()) {
                let mut row = rows.push(&process.key);
                row.set(TICKS, process.shown.into());
                row.set(ID_PROCESS, process.shown.into());
            }
        }
        Ok(())
    }
}
