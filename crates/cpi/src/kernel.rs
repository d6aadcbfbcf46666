//! The kernel's interface to counters, processors and time; tests replace it by a fake machine.

use std::fmt::Debug;
use std::fs;
use std::io::Read as _;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::AtomicU8;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};
use tachograph_counters::IgnorePoison;
use tachograph_system::{OnlineProcessors, ProcessorTimes, Roots, processor_list};

use crate::event::{Event, Target};
use crate::perf_event;
use crate::user_read::{self, UserPage};

/// The system calls, files and instructions that this crate uses.
pub(crate) trait Kernel: Debug + Send + Sync {
    /// Opens a counter: a member of the leader's group, or without a leader, a new group, which
    /// [`enable`](Self::enable) starts.
    fn open(&self, event: &Event, target: Target, leader: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno>;

    /// Starts the counters of a leader's group.
    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno>;

    /// Reads a group: number of members, time enabled, time running, one value per member. Returns the number of words.
    fn read(&self, leader: BorrowedFd<'_>, words: &mut [u64; GROUP_WORDS]) -> Result<usize, Errno>;

    /// Maps the page through which a counter of the calling thread is read without the kernel, if this is allowed.
    fn map(&self, counter: BorrowedFd<'_>) -> Option<UserPage>;

    /// Marks the start of an instance's reading. See [`begin_reading`].
    #[cfg(any(test, feature = "fake-machine"))]
    fn begin_reading(&self) {}

    /// The clock of intervals. See [`clock_ticks`].
    #[cfg_attr(
        not(any(test, feature = "fake-machine")),
        expect(dead_code, reason = "real machines read the clock directly")
    )]
    fn clock_ticks(&self) -> u64;

    /// Whether [`clock_ticks`](Self::clock_ticks) runs at the rate of reference cycles, even in idle, so that its ticks
    /// are elapsed cycles.
    fn clock_counts_cycles(&self) -> bool;

    /// Whether the cycle counter runs in idle, if known: an [`InIdle`] as a number.
    ///
    /// [`InIdle`]: crate::processors::InIdle
    fn in_idle(&self) -> &AtomicU8;

    /// The time of a monotonic clock.
    fn now(&self) -> Duration;

    /// Suspends the calling thread.
    fn sleep(&self, time: Duration);

    /// The online processors, in ascending order.
    fn online(&self, into: &mut Vec<u32>) -> Result<(), String>;

    /// Busy and total time of each online processor.
    fn times(&self, into: &mut Vec<Times>) -> Result<(), String>;

    /// The id of the calling thread.
    fn thread(&self) -> u32;

    /// The units that count cycles and instructions; several if there are several kinds of cores.
    fn core_units(&self) -> Vec<CoreUnit>;

    /// Whether any unit counts events of cores.
    fn has_core_unit(&self) -> bool;

    /// Type and configuration of an event of the `msr` unit of x86, such as `tsc`.
    fn msr_event(&self, name: &str) -> Option<(u32, u64)>;

    /// The value of a kernel setting, such as `perf_event_paranoid`.
    fn setting(&self, name: &str) -> Option<i64>;

    /// Whether this is a virtual machine; `false` if unknown.
    fn is_virtual(&self) -> bool;

    /// The maximum number of open files of this process; `None` if unlimited.
    fn file_limit(&self) -> Option<u64>;
}

/// The number of words in a group's reading: a header of three, and one for each of up to three members.
pub(crate) const GROUP_WORDS: usize = 6;

/// Limit for processor ids: higher than any Linux supports.
const MAX_PROCESSORS: u32 = 65_536;

/// The busy time and the total time of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(crate) struct Times {
    pub(crate) processor: u32,
    pub(crate) busy: u64,
    /// Busy and idle, in the same unit.
    pub(crate) total: u64,
}

/// A performance monitoring unit of cores of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CoreUnit {
    /// The unit's name in sysfs: `cpu_core`, `armv8_cortex_a53`.
    pub(crate) name: String,
    /// The unit's type, for `perf_event_attr`.
    pub(crate) kind: u32,
    /// The unit's processors.
    pub(crate) processors: Vec<u32>,
}

/// A real machine.
#[derive(Debug)]
pub(crate) struct Linux {
    roots: Roots,
    online: Mutex<OnlineProcessors>,
    times: Mutex<ProcessorTimes>,
    in_idle: AtomicU8,
    clock_counts_cycles: bool,
}

impl Linux {
    pub(crate) fn new(roots: Roots) -> Self {
        Self {
            online: Mutex::new(OnlineProcessors::new(&roots)),
            times: Mutex::new(ProcessorTimes::new(&roots)),
            in_idle: AtomicU8::new(0),
            // The time stamp counter has a constant rate, in idle too, if the kernel lists these flags.
            clock_counts_cycles: cfg!(target_arch = "x86_64")
                && ["constant_tsc", "nonstop_tsc"].iter().all(|flag| has_flag(&roots, flag)),
            roots,
        }
    }

    fn file(&self, path: &str) -> Option<String> {
        fs::read_to_string(self.roots.sys.join(path)).ok()
    }
}

impl Kernel for Linux {
    fn open(&self, event: &Event, target: Target, leader: Option<BorrowedFd<'_>>) -> Result<OwnedFd, Errno> {
        perf_event::open(event, target, leader)
    }

    fn enable(&self, leader: BorrowedFd<'_>) -> Result<(), Errno> {
        perf_event::enable(leader)
    }

    #[inline]
    fn read(&self, leader: BorrowedFd<'_>, words: &mut [u64; GROUP_WORDS]) -> Result<usize, Errno> {
        loop {
            match rustix::io::read(leader, zerocopy::IntoBytes::as_mut_bytes(words)) {
                Ok(bytes) => return Ok(bytes / size_of::<u64>()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn map(&self, counter: BorrowedFd<'_>) -> Option<UserPage> {
        UserPage::map(counter)
    }

    #[inline]
    fn clock_ticks(&self) -> u64 {
        user_read::clock_ticks()
    }

    fn clock_counts_cycles(&self) -> bool {
        self.clock_counts_cycles
    }

    fn in_idle(&self) -> &AtomicU8 {
        &self.in_idle
    }

    fn now(&self) -> Duration {
        let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
        Duration::new(now.tv_sec.try_into().unwrap_or_default(), now.tv_nsec.try_into().unwrap_or_default())
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }

    fn online(&self, into: &mut Vec<u32>) -> Result<(), String> {
        let mut online = self.online.lock().ignore_poison();
        let ids = online.read().map_err(|error| {
            format!("{}: {error}", self.roots.sys.join("devices/system/cpu/online").display())
        })?;
        into.clear();
        into.extend(ids.iter().filter(|&&id| id < MAX_PROCESSORS));
        Ok(())
    }

    fn times(&self, into: &mut Vec<Times>) -> Result<(), String> {
        let mut times = self.times.lock().ignore_poison();
        times.read().map_err(|failure| failure.reason.to_string())?;
        into.clear();
        into.extend(times.processors().iter().filter_map(|line| {
            let ticks = line.ticks.filter(|_| line.id < MAX_PROCESSORS)?;
            Some(Times { processor: line.id, busy: ticks.busy(), total: ticks.total() })
        }));
        Ok(())
    }

    fn thread(&self) -> u32 {
        rustix::thread::gettid().as_raw_nonzero().get().unsigned_abs()
    }

    fn core_units(&self) -> Vec<CoreUnit> {
        let folder = self.roots.sys.join("bus/event_source/devices");
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut units: Vec<CoreUnit> = entries
            .filter_map(|entry| {
                // Units of cores list their processors in `cpus`, other units in `cpumask` or not at all.
                let processors = processor_list(&fs::read(entry.path().join("cpus")).ok()?);
                let kind = fs::read_to_string(entry.path().join("type")).ok()?.trim().parse().ok()?;
                let name = entry.file_name().to_string_lossy().into_owned();
                (!processors.is_empty()).then_some(CoreUnit { name, kind, processors })
            })
            .collect();
        units.sort_by(|one, other| one.name.cmp(&other.name));
        units
    }

    fn has_core_unit(&self) -> bool {
        // With one kind of core, the unit on x86 is named `cpu` and lists no processors.
        self.roots.sys.join("bus/event_source/devices/cpu").exists() || !self.core_units().is_empty()
    }

    fn msr_event(&self, name: &str) -> Option<(u32, u64)> {
        let kind = self.file("bus/event_source/devices/msr/type")?.trim().parse().ok()?;
        let event = self.file(&format!("bus/event_source/devices/msr/events/{name}"))?;
        let config = u64::from_str_radix(event.trim().strip_prefix("event=0x")?, 16).ok()?;
        Some((kind, config))
    }

    fn setting(&self, name: &str) -> Option<i64> {
        let text = fs::read_to_string(self.roots.proc.join("sys/kernel").join(name)).ok()?;
        text.trim().parse().ok()
    }

    fn is_virtual(&self) -> bool {
        // Virtual machines on x86 set a bit in the processor's identification; others use a file, or cannot be
        // detected.
        has_flag(&self.roots, "hypervisor")
            || self.roots.sys.join("hypervisor/type").exists()
            || self.roots.proc.join("device-tree/hypervisor").exists()
    }

    fn file_limit(&self) -> Option<u64> {
        getrlimit(Resource::Nofile).current
    }
}

/// Announces a reading to a fake machine. A real one does not need this, and would count the call.
#[inline]
pub(crate) fn begin_reading(_kernel: &dyn Kernel) {
    #[cfg(any(test, feature = "fake-machine"))]
    _kernel.begin_reading();
}

/// The machine's clock; inlined and without dispatch on a real machine, because it is read next to the region.
#[inline]
pub(crate) fn clock_ticks(_kernel: &dyn Kernel) -> u64 {
    #[cfg(any(test, feature = "fake-machine"))]
    return _kernel.clock_ticks();
    #[cfg(not(any(test, feature = "fake-machine")))]
    user_read::clock_ticks()
}

/// Whether the first processor has a flag (x86).
fn has_flag(roots: &Roots, flag: &str) -> bool {
    // All processors have the same flags.
    let mut text = vec![0; 8192];
    let mut file = fs::File::open(roots.proc.join("cpuinfo")).ok();
    let length = file.as_mut().and_then(|file| file.read(&mut text).ok()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[..length]);
    let mut flags = text.lines().filter(|line| line.starts_with("flags")).take(1);
    flags.any(|line| line.split_ascii_whitespace().any(|word| word == flag))
}

/// The machine for new instances; `None` until it is first needed.
static MACHINE: Mutex<Option<Arc<dyn Kernel>>> = Mutex::new(None);

/// The machine for new instances: the real one except in tests.
pub(crate) fn machine() -> Arc<dyn Kernel> {
    let mut machine = MACHINE.lock().ignore_poison();
    let this = || -> Arc<dyn Kernel> { Arc::new(Linux::new(Roots::of_this_machine())) };
    Arc::clone(machine.get_or_insert_with(this))
}

/// Replaces the machine.
#[cfg(feature = "fake-machine")]
pub(crate) fn set_machine(kernel: Arc<dyn Kernel>) {
    *MACHINE.lock().ignore_poison() = Some(kernel);
}
