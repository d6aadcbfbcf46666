//! The counters of a thread: shared by all instances that the thread makes.

use std::cell::RefCell;
use std::sync::{Arc, Weak};
use std::thread::ThreadId;

use rustix::io::Errno;

use crate::Error;
use crate::describe::{self, Asked};
use crate::event::{Event, Excluded, Target};
use crate::group::{Group, ReadFailure, Reading, Refusal};
use crate::instance::Events;
use crate::kernel::Kernel;
use crate::plan::Plans;

/// The counters of a thread, one group per kind of core.
#[derive(Debug)]
pub(crate) struct ThreadCounters {
    kernel: Arc<dyn Kernel>,
    groups: Vec<Group>,
    owner: ThreadId,
    /// Whether the third number tells reference cycles.
    has_reference: bool,
    user_only: bool,
}

thread_local! {
    /// Those that instances of this thread use now, by whether user code alone was asked for.
    static OWN: RefCell<Vec<(bool, Events, Weak<ThreadCounters>)>> = const { RefCell::new(Vec::new()) };
}

impl ThreadCounters {
    /// The counters that the instances of this thread share.
    pub(crate) fn of_this_thread(
        kernel: &Arc<dyn Kernel>,
        events: Events,
        user_only: bool,
    ) -> Result<Arc<Self>, Error> {
        OWN.with_borrow_mut(|own| {
            own.retain(|(_, _, counters)| counters.strong_count() > 0);
            let known = own.iter().filter(|(only, of, _)| (*only, *of) == (user_only, events));
            let mut living = known.filter_map(|(_, _, counters)| counters.upgrade());
            if let Some(counters) = living.find(|counters| Arc::ptr_eq(&counters.kernel, kernel)) {
                return Ok(counters);
            }
            let counters = Arc::new(Self::open(kernel, events, user_only)?);
            own.push((user_only, events, Arc::downgrade(&counters)));
            Ok(counters)
        })
    }

    fn open(kernel: &Arc<dyn Kernel>, events: Events, user_only: bool) -> Result<Self, Error> {
        let target = Target::Thread(None);
        let opened = open_groups(kernel, events, target, user_only, |event| event);
        let groups = opened.map_err(|(refusal, user_only)| {
            describe::refused(&**kernel, refusal, Asked { target, user_only, processors: 1 })
        })?;
        Ok(Self {
            has_reference: has_reference(&groups),
            user_only: is_user_only(&groups),
            groups,
            owner: std::thread::current().id(),
            kernel: Arc::clone(kernel),
        })
    }

    /// What has been counted so far.
    #[inline]
    pub(crate) fn read(&self) -> Result<Reading, ReadFailure> {
        match self.groups.as_slice() {
            [group] if group.has_pages() => {
                if std::thread::current().id() == self.owner {
                    group.read_own()
                } else {
                    group.read()
                }
            }
            [group] => group.read(),
            groups => sum_of(groups),
        }
    }

    /// Whether the third number of readings tells reference cycles.
    pub(crate) fn has_reference(&self) -> bool {
        self.has_reference
    }

    /// Whether the kernel's work is not counted.
    pub(crate) fn is_user_only(&self) -> bool {
        self.user_only
    }
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
    groups.iter().all(Group::has_third)
}

/// Whether the groups of a thread leave the kernel's work out.
pub(crate) fn is_user_only(groups: &[Group]) -> bool {
    groups.iter().all(|group| group.excluded != Excluded::Nothing)
}

/// Opens the groups of a thread, one per kind of core; where the kernel's work may not be counted, without it.
///
/// An error comes with whether user code alone was asked for at last.
pub(crate) fn open_groups(
    kernel: &Arc<dyn Kernel>,
    events: Events,
    target: Target,
    user_only: bool,
    change: impl Fn(Event) -> Event + Copy,
) -> Result<Vec<Group>, (Refusal, bool)> {
    let plans = Plans::new(&**kernel, events).of_thread(change);
    let open_all = |excluded| -> Result<Vec<Group>, Refusal> {
        plans.iter().map(|plan| Group::open(kernel, plan, target, excluded)).collect()
    };
    if !user_only {
        match open_all(Excluded::Nothing) {
            Err(Refusal { errno: Errno::ACCESS, .. }) => {}
            opened => return opened.map_err(|refusal| (refusal, false)),
        }
    }
    open_all(Excluded::KernelAndHypervisor).map_err(|refusal| (refusal, true))
}
