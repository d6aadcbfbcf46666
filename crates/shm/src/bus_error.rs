//! SIGBUS, the signal that is raised when mapped memory of a truncated file is read.
//!
//! Any program can truncate a file that another has mapped, and a reader must survive that.
//! Copies by the kernel (`pread`, `process_vm_readv`) fail with an error code instead, but are not guaranteed to read a
//! word atomically, as cells require. So a signal handler is needed: it replaces the mapping that this thread's guard
//! covers with zeros, and the guard reports the truncation.
//!
//! All other signals are forwarded to the displaced handler. A program may install its own handler at any time; the
//! next guard then displaces that handler. Each displacement has its own entry point, so a handler that calls its
//! predecessor reaches the handler that was displaced before it, not itself. If a program installs the same
//! handler a second time, its predecessor is an entry point that leads back to it; [`Visited`] breaks this loop.

#![allow(unsafe_code, reason = "a signal handler")]

use std::cell::Cell;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};

use tachograph_schema::IgnorePoison;

/// The file was truncated while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Truncated;

/// Calls `read`, which may read the read-only mapping at the addresses from `start` to `end`.
///
/// # Errors
///
/// The file was truncated before the end of what `read` accessed. The whole mapping then reads as zeros.
pub(crate) fn read_guarded<T>(start: usize, end: usize, read: impl FnOnce() -> T) -> Result<T, Truncated> {
    ensure_installed();
    let before = GUARDED.replace(Guarded { start, end, is_truncated: false });
    let restore = Restore(before);
    // The handler runs in this thread: its inputs must be stored before `read`, its results loaded after it.
    compiler_fence(Ordering::SeqCst);
    let result = read();
    compiler_fence(Ordering::SeqCst);
    let is_truncated = GUARDED.get().is_truncated;
    drop(restore);
    if is_truncated { Err(Truncated) } else { Ok(result) }
}

/// The mapping that this thread reads under a guard.
#[derive(Clone, Copy)]
struct Guarded {
    /// The address of the first byte.
    start: usize,
    /// The address after the last byte.
    end: usize,
    /// Whether a read failed because the file was truncated.
    is_truncated: bool,
}

thread_local! {
    static GUARDED: Cell<Guarded> = const { Cell::new(Guarded { start: 0, end: 0, is_truncated: false }) };
}

/// Restores the previous guard, even if `read` panics.
struct Restore(Guarded);

impl Drop for Restore {
    fn drop(&mut self) {
        GUARDED.set(self.0);
    }
}

/// A handler with three arguments, as `SA_SIGINFO` requires.
type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Maximum number of different handlers that are displaced during the lifetime of a process. Later handlers stay
/// installed: a program that keeps replacing our handler probably calls it from its own handler.
const MAX_DISPLACED: usize = 8;
// `Visited` has one bit per handler.
const _: () = assert!(MAX_DISPLACED <= 8);

/// Our entry points: `HANDLERS[N]` displaces the handler in `DISPLACED[N]`.
static HANDLERS: [Handler; MAX_DISPLACED] = [
    on_bus_error::<0>,
    on_bus_error::<1>,
    on_bus_error::<2>,
    on_bus_error::<3>,
    on_bus_error::<4>,
    on_bus_error::<5>,
    on_bus_error::<6>,
    on_bus_error::<7>,
];

static DISPLACED: [Displaced; MAX_DISPLACED] = [const { Displaced::new() }; MAX_DISPLACED];

/// The number of used entries of `DISPLACED`; locked while one is added.
static USED: Mutex<usize> = Mutex::new(0);

/// A handler that was installed before ours, with the flags and the signal mask that the kernel would apply.
struct Displaced {
    handler: AtomicUsize,
    /// The flags `SA_*` of the handler.
    flags: AtomicUsize,
    /// The signals that are blocked while the handler runs; bit 0 is signal 1.
    mask: AtomicU64,
}

impl Displaced {
    const fn new() -> Self {
        Self { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicUsize::new(0), mask: AtomicU64::new(0) }
    }

    /// Stores the handler of an action.
    fn store(&self, action: &libc::sigaction) {
        // SAFETY: the kernel has filled the set.
        let is_masked = |signal: i32| unsafe { libc::sigismember(&raw const action.sa_mask, signal) } == 1;
        let mask =
            (1..=64).filter(|&signal| is_masked(signal)).fold(0, |mask, signal| mask | 1 << (signal - 1));
        self.mask.store(mask, Ordering::Relaxed);
        self.flags.store(action.sa_flags as usize, Ordering::Relaxed);
        self.handler.store(action.sa_sigaction, Ordering::Relaxed);
    }

    fn copy_from(&self, other: &Self) {
        self.mask.store(other.mask.load(Ordering::Relaxed), Ordering::Relaxed);
        self.flags.store(other.flags.load(Ordering::Relaxed), Ordering::Relaxed);
        self.handler.store(other.handler.load(Ordering::Relaxed), Ordering::Relaxed);
    }

    fn matches(&self, action: &libc::sigaction) -> bool {
        self.handler.load(Ordering::Relaxed) == action.sa_sigaction
            && self.flags.load(Ordering::Relaxed) == action.sa_flags as usize
    }
}

/// The index of an address in `HANDLERS`.
fn handler_index(handler: usize) -> Option<usize> {
    HANDLERS.iter().position(|&ours| ours as *const () as usize == handler)
}

fn installed_action() -> libc::sigaction {
    // SAFETY: all zeros is a valid value of the structure, which the kernel fills.
    unsafe {
        let mut action = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut action);
        action
    }
}

/// Displaces the installed handler, unless it is ours.
fn ensure_installed() {
    if handler_index(installed_action().sa_sigaction).is_none() {
        install_handlers();
    }
}

/// Installs one of our handlers, and stores the handler that it displaces.
#[cold]
fn install_handlers() {
    let mut used = USED.lock().ignore_poison();
    let found = installed_action();
    if handler_index(found.sa_sigaction).is_some() {
        return;
    }
    let known = DISPLACED[..*used].iter().position(|displaced| displaced.matches(&found));
    let index = known.unwrap_or(*used);
    let Some(displaced) = DISPLACED.get(index) else { return };
    *used = (*used).max(index + 1);
    // Stored first, because our handler may be called as soon as it is installed.
    displaced.store(&found);
    // SAFETY: all zeros is a valid value of these structures. The handler has the form that SA_SIGINFO requires, and is
    // async-signal-safe.
    let before = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = HANDLERS[index] as *const () as usize;
        // Interrupted system calls are restarted as with the displaced handler.
        let restart_if_ignored = if found.sa_sigaction == libc::SIG_IGN { libc::SA_RESTART } else { 0 };
        action.sa_flags = libc::SA_SIGINFO
            | libc::SA_ONSTACK
            | libc::SA_NODEFER
            | (found.sa_flags & libc::SA_RESTART)
            | restart_if_ignored;
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before);
        before
    };
    // Another thread may have installed a handler after `found` was read: then that handler was displaced.
    match handler_index(before.sa_sigaction) {
        Some(ours) => displaced.copy_from(&DISPLACED[ours]),
        None => displaced.store(&before),
    }
}

extern "C" fn on_bus_error<const INDEX: usize>(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel, or the handler that calls this one, passes a valid structure.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Positive codes come from the kernel: an instruction failed at this address.
    let is_fault = code > 0;
    let guarded = GUARDED.get();
    if is_fault && (guarded.start..guarded.end).contains(&address) {
        // The whole mapping is replaced: it is unusable, and dropped after this read.
        let length = guarded.end - guarded.start;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: this replaces the guarded mapping with zeros. It is read-only, so no written data is lost, and its
        // owner unmaps it as before.
        let zeros =
            unsafe { libc::mmap(guarded.start as *mut libc::c_void, length, libc::PROT_READ, kind, -1, 0) };
        if zeros != libc::MAP_FAILED {
            GUARDED.set(Guarded { is_truncated: true, ..guarded });
            return;
        }
    }
    // If a handler's predecessor is the entry point that called it, continue with the handler displaced before it.
    let index = (0..=INDEX).rev().find(|&index| !Visited::from_info(info).contains(index));
    match index {
        Some(index) => {
            Visited::add(info, index);
            call_displaced(&DISPLACED[index], is_fault, signal, info, context);
            Visited::remove(info, index);
        }
        None => end_process(is_fault, signal),
    }
}

/// The indexes of the displaced handlers that are running (nested) for one signal. They are stored in bytes of its
/// `siginfo_t` that Linux leaves unused and sets to zero for each signal. Unlike a thread-local counter, they stay
/// correct after a handler that ended with `siglongjmp`, and for a signal that arrives during a handler.
#[derive(Clone, Copy)]
struct Visited(u64);

/// The upper seven bytes of a word with indexes. They distinguish the word from unrelated data.
const VISITED_TAG: u64 = 0x5441_4348_4f42_5500;

impl Visited {
    fn word(info: *mut libc::siginfo_t) -> *mut u64 {
        info.cast::<u64>().wrapping_add(size_of::<libc::siginfo_t>() / size_of::<u64>() - 1)
    }

    fn from_info(info: *mut libc::siginfo_t) -> Self {
        // SAFETY: the last word of a valid structure.
        let word = unsafe { Self::word(info).read_unaligned() };
        Self(if word & !0xff == VISITED_TAG { word } else { VISITED_TAG })
    }

    fn contains(self, index: usize) -> bool {
        self.0 & 1 << index != 0
    }

    fn add(info: *mut libc::siginfo_t, index: usize) {
        let Self(word) = Self::from_info(info);
        // SAFETY: the last word of a valid structure, which belongs to this signal.
        unsafe { Self::word(info).write_unaligned(word | 1 << index) }
    }

    fn remove(info: *mut libc::siginfo_t, index: usize) {
        let Self(word) = Self::from_info(info);
        // SAFETY: the last word of a valid structure, which belongs to this signal.
        unsafe { Self::word(info).write_unaligned(word & !(1 << index)) }
    }
}

/// Performs the default action: the process ends when the instruction is retried, or by the signal raised here.
fn end_process(is_fault: bool, signal: libc::c_int) {
    // SAFETY: plain system calls, which are async-signal-safe.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if !is_fault {
            libc::raise(signal);
        }
    }
}

/// Handles the signal as if our handler were not installed.
fn call_displaced(
    displaced: &Displaced,
    is_fault: bool,
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    let handler = displaced.handler.load(Ordering::Relaxed);
    let flags = displaced.flags.load(Ordering::Relaxed) as libc::c_int;
    match handler {
        // A fault cannot be ignored: the kernel ends the process.
        libc::SIG_IGN if !is_fault => return,
        libc::SIG_DFL | libc::SIG_IGN => return end_process(is_fault, signal),
        _ => {}
    }
    if flags & libc::SA_RESETHAND != 0 {
        displaced.handler.store(libc::SIG_DFL, Ordering::Relaxed);
    }
    let mut mask = displaced.mask.load(Ordering::Relaxed);
    if flags & libc::SA_NODEFER == 0 {
        mask |= 1 << (signal - 1);
    }
    // SAFETY: the set is emptied before it is used, and the signal numbers are valid. The kernel restores the mask of the
    // interrupted code when the outermost handler returns.
    unsafe {
        let mut blocked = std::mem::zeroed();
        libc::sigemptyset(&raw mut blocked);
        for signal in (1..=64).filter(|signal| mask & 1 << (signal - 1) != 0) {
            libc::sigaddset(&raw mut blocked, signal);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut());
    }
    if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with this flag, the address is a function of this type.
        let handler: Handler = unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: without the flag, the address is a function of this type.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}
