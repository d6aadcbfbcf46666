//! The counters of a thread, shared by all [`Cpi`](crate::Cpi) objects that the thread creates.

use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use rustix::io::Errno;

use crate::Error;
use crate::describe::{self, Requested};
use crate::event::{Event, Excluded, Target};
use crate::group::{Group, OpenError, RawReading, ReadFailure, Reading};
use crate::instance::Events;
use crate::kernel::Kernel;
use crate::plan::Plans;
use crate::user_read::generation;

/// The counters of a thread.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    kernel: Arc<dyn Kernel>,
    groups: Vec<Group>,
    /// The unique id of the thread that owns the counters.
    owner: u64,
    /// The fork generation (see [`generation`]) of the process that opened the counters. In a forked child, the counters
    /// still count the parent's thread.
    generation: u32,
    /// Whether readings contain reference cycles, in addition to cycles and instructions.
    has_reference: bool,
    user_only: bool,
}

thread_local! {
    /// An id that is unique to the thread, assigned when counters are opened; 0 before. (The standard library's
    /// `ThreadId` is equivalent, but reading it takes too many instructions within a measured region.)
    static THREAD_ID: Cell<u64> = const { Cell::new(0) };
    /// The counters that [`Cpi`](crate::Cpi) objects of this thread currently use, each with its `user_only` flag and its events.
    static SHARED: RefCell<Vec<(bool, Events, Weak<ThreadCounters>)>> = const { RefCell::new(Vec::new()) };
}

impl ThreadCounters {
    /// The counters shared by all [`Cpi`](crate::Cpi) objects of this thread.
    pub(crate) fn for_this_thread(
        kernel: &Arc<dyn Kernel>,
        events: Events,
        user_only: bool,
    ) -> Result<Arc<Self>, Error> {
        let shared = |own: &mut Vec<(bool, Events, Weak<Self>)>| {
            own.retain(|(_, _, counters)| counters.strong_count() > 0);
            let known = own.iter().filter(|(own_user_only, own_events, _)| {
                (*own_user_only, *own_events) == (user_only, events)
            });
            let mut living = known.filter_map(|(_, _, counters)| counters.upgrade());
            let is_own = |counters: &Arc<Self>| {
                Arc::ptr_eq(&counters.kernel, kernel) && counters.generation == generation()
            };
            if let Some(counters) = living.find(is_own) {
                return Ok(counters);
            }
            let counters = Arc::new(Self::open(kernel, events, user_only)?);
            own.push((user_only, events, Arc::downgrade(&counters)));
            Ok(counters)
        };
        match SHARED.try_with(|own| shared(&mut own.borrow_mut())) {
            Ok(counters) => counters,
            // The thread is ending, so its counters can no longer be shared.
            Err(_) => Ok(Arc::new(Self::open(kernel, events, user_only)?)),
        }
    }

    fn open(kernel: &Arc<dyn Kernel>, events: Events, user_only: bool) -> Result<Self, Error> {
        let target = Target::Thread(None);
        let opened = open_groups(kernel, events, target, user_only, |event| event);
        let groups = opened.map_err(|(refusal, user_only)| {
            describe::open_error(
                &**kernel,
                refusal,
                Requested { target, user_only, targets: 1, files_each: 2 },
            )
        })?;
        Ok(Self {
            has_reference: has_reference(&groups),
            user_only: is_user_only(&groups),
            groups,
            owner: own_id(),
            generation: generation(),
            kernel: Arc::clone(kernel),
        })
    }

    #[inline(always)]
    pub(crate) fn read(&self, into: &mut RawReading) -> Result<(), ReadFailure> {
        match self.groups.as_slice() {
            [group] => match group.has_pages() && self.is_on_owner() && group.read_without_kernel(into) {
                true => Ok(()),
                false => group.read_raw(into),
            },
            groups => read_kinds(groups, into),
        }
    }

    /// Whether the calling thread and process are those that opened the counters. For any other thread the registers are not
    /// valid.
    #[inline]
    fn is_on_owner(&self) -> bool {
        THREAD_ID.get() == self.owner && self.generation == generation()
    }

    pub(crate) fn evaluate(&self, raw: &RawReading) -> Reading {
        match (raw, self.groups.as_slice()) {
            (RawReading::Sum(reading), _) => *reading,
            (raw, [group, ..]) => group.evaluate(raw),
            (_, []) => Reading::default(),
        }
    }

    /// Whether readings contain reference cycles, in addition to cycles and instructions.
    pub(crate) fn has_reference(&self) -> bool {
        self.has_reference
    }

    /// Whether the kernel's work is not counted.
    pub(crate) fn is_user_only(&self) -> bool {
        self.user_only
    }
}

/// The name of the event in the error message for a kernel before 5.14, which cannot select a kind of core.
const SEVERAL_KINDS: &str =
    "cycles and instructions on more than one kind of core (needs Linux 5.14 or later)";

/// The unique id of the calling thread.
fn own_id() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    if THREAD_ID.get() == 0 {
        THREAD_ID.set(NEXT.fetch_add(1, Ordering::Relaxed));
    }
    THREAD_ID.get()
}

#[cold]
fn read_kinds(groups: &[Group], into: &mut RawReading) -> Result<(), ReadFailure> {
    *into = RawReading::Sum(sum_of(groups)?);
    Ok(())
}

/// The sum over the kinds of cores.
pub(crate) fn sum_of(groups: &[Group]) -> Result<Reading, ReadFailure> {
    let mut sum = Reading::default();
    for group in groups {
        sum.add_kind(&group.read()?);
    }
    Ok(sum)
}

/// Whether all groups of a thread count reference cycles.
pub(crate) fn has_reference(groups: &[Group]) -> bool {
    groups.iter().all(Group::has_reference_cycles)
}

/// Whether the groups of a thread exclude the kernel's work.
pub(crate) fn is_user_only(groups: &[Group]) -> bool {
    groups.iter().all(|group| group.excluded != Excluded::Nothing)
}

/// Opens the groups of a thread, one per kind of core. If counting kernel work is not permitted, only user code is
/// counted.
///
/// The `bool` in the error is true if the last attempt counted only user code.
pub(crate) fn open_groups(
    kernel: &Arc<dyn Kernel>,
    events: Events,
    target: Target,
    user_only: bool,
    change: impl Fn(Event) -> Event + Copy,
) -> Result<Vec<Group>, (OpenError, bool)> {
    let plans = Plans::new(&**kernel, events).for_thread(change);
    let open_all = |excluded| -> Result<Vec<Group>, OpenError> {
        let opened = plans.iter().map(|plan| Group::open(kernel, plan, target, excluded)).collect();
        match opened {
            // A plain event would count on one kind of core only, and ignore the other.
            Err(OpenError { errno: Errno::INVAL | Errno::NOENT, .. }) if plans.len() > 1 => {
                Err(OpenError { event: SEVERAL_KINDS, errno: Errno::OPNOTSUPP })
            }
            opened => opened,
        }
    };
    if !user_only {
        match open_all(Excluded::Nothing) {
            Err(OpenError { errno: Errno::ACCESS, .. }) => {}
            opened => return opened.map_err(|refusal| (refusal, false)),
        }
    }
    open_all(Excluded::KernelAndHypervisor).map_err(|refusal| (refusal, true))
}
