//! What only the C library does for a process: which signals its threads take, and whose it is.

#![allow(unsafe_code, reason = "the signal mask and the user of a process are those of the C library")]

use std::mem::MaybeUninit;
use std::ptr;

/// Signals that say what the thread itself did wrong. A thread that blocks them is killed without the application's
/// handler having seen them.
const OWN_FAULTS: [libc::c_int; 6] =
    [libc::SIGSEGV, libc::SIGBUS, libc::SIGFPE, libc::SIGILL, libc::SIGTRAP, libc::SIGSYS];

/// Does `work` with all signals blocked but those of faults. A thread that is started in it takes no signal that is meant
/// for the application: it has the mask of the thread that starts it.
pub(crate) fn blocked<T>(work: impl FnOnce() -> T) -> T {
    let _restored_at_the_end = Mask::block();
    work()
}

/// The signal mask that this thread had; dropping it sets that again.
struct Mask(libc::sigset_t);

impl Mask {
    fn block() -> Self {
        let (mut all, mut before) = (MaybeUninit::uninit(), MaybeUninit::<libc::sigset_t>::zeroed());
        // SAFETY: `sigfillset` fills the set, which the calls after it change and read. `pthread_sigmask` writes the mask
        // that was set; would it fail, which it cannot with these arguments, the zeros stay, which are an empty set.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            for signal in OWN_FAULTS {
                libc::sigdelset(all.as_mut_ptr(), signal);
            }
            libc::pthread_sigmask(libc::SIG_BLOCK, all.as_ptr(), before.as_mut_ptr());
            Self(before.assume_init())
        }
    }
}

impl Drop for Mask {
    fn drop(&mut self) {
        // SAFETY: the mask was written by `pthread_sigmask`, or is an empty set.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.0, ptr::null_mut()) };
    }
}

/// The effective user, whose the files are that this process makes.
pub(crate) fn effective_user() -> u32 {
    // SAFETY: it has no conditions.
    unsafe { libc::geteuid() }
}
