//! The memory that the C library keeps of what was freed.
//!
//! glibc gives every thread an arena of its own, and returns of each only what is free at its end. The web monitor reads
//! logs on several threads in turn: two logs of 100,000 columns left 480 MB in it when they were closed. With one arena the
//! same logs take 230 MB at most instead of 570, and what is free within it can be returned.

#![allow(unsafe_code, reason = "two functions of the C library")]

/// Has all threads share one arena. To be called before there are other threads.
pub(crate) fn prefer_small() {
    // SAFETY: mallopt takes two numbers and keeps no pointer. It is called from the only thread of the process, before
    // anybody could allocate from an arena that is set up meanwhile. A value that glibc does not take changes nothing.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Returns freed memory to the system.
pub(crate) fn release() {
    // SAFETY: malloc_trim takes a number, locks each arena while it looks through it, and returns only pages that hold
    // nothing but free memory; it may be called from any thread at any time (MT-Safe).
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
