//! Settings of the C library's allocator.
//!
//! glibc gives each thread its own arena, and returns only the free memory at the end of an arena to the system. The
//! web monitor reads logs on several threads: after two logs of 100,000 columns were closed, 480 MB remained allocated.
//! With a single arena, the same logs need at most 230 MB instead of 570, and [`release`] can return free memory within
//! the arena.

#![allow(unsafe_code, reason = "functions of the C library")]

/// Makes all threads share one arena. Must be called before other threads start.
pub(crate) fn prefer_small() {
    // SAFETY: mallopt takes two numbers and keeps no pointer. It is called from the only thread of the process, before any
    // other arena exists. A value that glibc rejects has no effect.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Makes the allocator return large blocks to the system when they are freed. By default, after glibc has freed a large block,
/// it takes later blocks up to that size from an arena and keeps them there: after a burst of processes, the monitor's samples
/// would keep 200 MB. Must be called before other threads start.
#[cfg(feature = "screen")]
pub(crate) fn return_large_blocks() {
    /// The size from which a block has its own pages; glibc's default at the start of a program.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    const LARGE: libc::c_int = 128 << 10;
    // SAFETY: as in `prefer_small`. Blocks that are already allocated are not affected.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE);
    }
}

/// Returns freed memory to the system.
#[cfg(feature = "web")]
pub(crate) fn release() {
    // SAFETY: malloc_trim takes a number, locks each arena while it scans it, and returns only pages that are entirely
    // free; it is MT-Safe.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    unsafe {
        libc::malloc_trim(0);
    }
}
