//! Calls to the C library: the signal mask of threads, and the effective user.

#![allow(unsafe_code, reason = "calls to the C library")]

use std::mem::MaybeUninit;
use std::ptr;

/// Signals that report a fault of the thread itself. If a thread blocks them, a fault kills the process without calling
/// the application's handler.
const FAULT_SIGNALS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Calls `work` while this thread blocks all signals except fault signals. A thread that `work` starts inherits the
/// mask, so it receives none of the application's signals.
pub(crate) fn with_signals_blocked<T>(work: impl FnOnce() -> T) -> T {
    let _restored_on_drop = SavedMask::block();
    work()
}

/// The previous signal mask of this thread, which is restored on drop.
struct SavedMask(libc::sigset_t);

impl SavedMask {
    fn block() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::<libc::sigset_t>::zeroed());
        // SAFETY: `sigfillset` initializes the set, which the next calls change and read. `pthread_sigmask` writes the
        // previous mask. It cannot fail with these arguments; if it did, the zeros would be an empty set.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in FAULT_SIGNALS {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for SavedMask {
    fn drop(&mut self) {
        // SAFETY: the mask was written by `pthread_sigmask`, or is an empty set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// The effective user, the owner of files that this process creates.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: the call has no preconditions.
    unsafe { libc::geteuid() }
}
