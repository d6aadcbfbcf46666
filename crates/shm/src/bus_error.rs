//! SIGBUS, the signal that a read of mapped memory raises where its file was cut.
//!
//! Nothing keeps a program from cutting a file that another has mapped, and a reader must not depend on the writer's good
//! will. Copies that the kernel makes (`pread`, `process_vm_readv`) fail with an error code instead, but do not promise to
//! read a word at once, which cells count on. So a handler of the signal is needed: it puts zeros in place of the mapping that
//! this thread reads under a guard, and the guard reports it.
//!
//! All other signals go to the handler that is displaced. A program may install a handler of its own at any time; the next
//! guard then displaces that one. Each displacement has its own entry point, so a handler that calls the one it found before
//! it gets to the handler that was displaced first, not back to itself. A handler that was installed a second time found the
//! entry point that leads to itself: [`Visited`] breaks that loop.

#![allow(unsafe_code, reason = "a signal handler")]

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, compiler_fence};
use std::sync::{Mutex, PoisonError};

/// The file was cut while it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WasCut;

/// Runs `look`, which may read the read-only mapping of these addresses.
///
/// # Errors
///
/// The file had been cut short of what `look` read. The whole mapping is zeros then.
pub(crate) fn guarded<T>(start: usize, end: usize, look: impl FnOnce() -> T) -> Result<T, WasCut> {
    ensure_handled();
    let before = GUARDED.replace(Guarded { start, end, was_cut: false });
    let restore = Restore(before);
    // The handler runs in this thread: what it reads and changes must be in place before and after the look.
    compiler_fence(Ordering::SeqCst);
    let seen = look();
    compiler_fence(Ordering::SeqCst);
    let was_cut = GUARDED.get().was_cut;
    drop(restore);
    if was_cut { Err(WasCut) } else { Ok(seen) }
}

/// What this thread reads under a guard.
#[derive(Clone, Copy)]
struct Guarded {
    start: usize,
    end: usize,
    was_cut: bool,
}

thread_local! {
    static GUARDED: Cell<Guarded> = const { Cell::new(Guarded { start: 0, end: 0, was_cut: false }) };
}

/// Restores what was guarded before, also when `look` panics.
struct Restore(Guarded);

impl Drop for Restore {
    fn drop(&mut self) {
        GUARDED.set(self.0);
    }
}

/// A handler with three arguments, as `SA_SIGINFO` asks for.
type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// Different handlers that are displaced in the life of a process. Once there are more, the last one stays in place: who
/// displaces ours again and again is a handler that calls ours.
const MAX_DISPLACED: usize = 8;
// `Visited` has a bit for each.
const _: () = assert!(MAX_DISPLACED <= 8);

/// Our entry points: the handler in place of `DISPLACED[N]` is `HANDLERS[N]`.
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

/// How many of `DISPLACED` are in use, for those that add to them.
static USED: Mutex<usize> = Mutex::new(0);

/// A handler that ours is in place of.
struct Displaced {
    handler: AtomicUsize,
    flags: AtomicUsize,
    /// The signals that are blocked while it runs: signal 1 is bit 0.
    mask: AtomicU64,
}

impl Displaced {
    const fn new() -> Self {
        Self { handler: AtomicUsize::new(libc::SIG_DFL), flags: AtomicUsize::new(0), mask: AtomicU64::new(0) }
    }

    fn set(&self, action: &libc::sigaction) {
        // SAFETY: the set is one that the kernel has filled.
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

    fn is(&self, action: &libc::sigaction) -> bool {
        self.handler.load(Ordering::Relaxed) == action.sa_sigaction
            && self.flags.load(Ordering::Relaxed) == action.sa_flags as usize
    }
}

/// The place among ours of the handler at an address.
fn place_of(handler: usize) -> Option<usize> {
    HANDLERS.iter().position(|&ours| ours as *const () as usize == handler)
}

fn in_force() -> libc::sigaction {
    // SAFETY: all zeros is a valid value of the structure, which the kernel fills.
    unsafe {
        let mut action = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, std::ptr::null(), &raw mut action);
        action
    }
}

/// Displaces the handler in force, unless it is ours.
fn ensure_handled() {
    if place_of(in_force().sa_sigaction).is_none() {
        displace();
    }
}

#[cold]
fn displace() {
    let mut used = USED.lock().unwrap_or_else(PoisonError::into_inner);
    let found = in_force();
    if place_of(found.sa_sigaction).is_some() {
        return;
    }
    let known = DISPLACED[..*used].iter().position(|displaced| displaced.is(&found));
    let place = known.unwrap_or(*used);
    let Some(displaced) = DISPLACED.get(place) else { return };
    *used = (*used).max(place + 1);
    // Before ours is in force: it may be called at once.
    displaced.set(&found);
    // SAFETY: all zeros is a valid value of these structures. The handler has the form that SA_SIGINFO asks for, and does only
    // what a handler may.
    let before = unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = HANDLERS[place] as *const () as usize;
        // What is interrupted is continued as it would have been without ours.
        let restarts = if found.sa_sigaction == libc::SIG_IGN { libc::SA_RESTART } else { 0 };
        action.sa_flags = libc::SA_SIGINFO
            | libc::SA_ONSTACK
            | libc::SA_NODEFER
            | (found.sa_flags & libc::SA_RESTART)
            | restarts;
        let mut before: libc::sigaction = std::mem::zeroed();
        libc::sigaction(libc::SIGBUS, &raw const action, &raw mut before);
        before
    };
    // Another thread may have installed one since `found` was read: that is the one that ours is in place of.
    match place_of(before.sa_sigaction) {
        Some(ours) => displaced.copy_from(&DISPLACED[ours]),
        None => displaced.set(&before),
    }
}

extern "C" fn on_bus_error<const PLACE: usize>(
    signal: libc::c_int,
    info: *mut libc::siginfo_t,
    context: *mut libc::c_void,
) {
    // SAFETY: the kernel, or the handler that calls this one, passes a valid structure.
    let (code, address) = unsafe { ((*info).si_code, (*info).si_addr() as usize) };
    // Positive codes are the kernel's own: an instruction failed at this address.
    let is_fault = code > 0;
    let guarded = GUARDED.get();
    if is_fault && (guarded.start..guarded.end).contains(&address) {
        // All of the mapping, since what is left of it is of no use: it is dropped after this look.
        let length = guarded.end - guarded.start;
        let kind = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        // SAFETY: it replaces the mapping under the guard by zeros. It is read-only, so nothing that was written is lost, and
        // its owner unmaps it as before.
        let zeros =
            unsafe { libc::mmap(guarded.start as *mut libc::c_void, length, libc::PROT_READ, kind, -1, 0) };
        if zeros != libc::MAP_FAILED {
            GUARDED.set(Guarded { was_cut: true, ..guarded });
            return;
        }
    }
    // A handler that calls this entry point again has found itself: what was displaced before it comes next.
    let place = (0..=PLACE).rev().find(|&place| !Visited::of(info).contains(place));
    match place {
        Some(place) => {
            Visited::add(info, place);
            pass_on(&DISPLACED[place], is_fault, signal, info, context);
            Visited::remove(info, place);
        }
        None => end_process(is_fault, signal),
    }
}

/// The places whose displaced handlers run for one signal, the one inside the other. They are kept in the bytes of its
/// `siginfo_t` that Linux leaves unused and sets to zero for each signal: unlike a count of this thread, that is right also
/// after a handler that ended in `siglongjmp`, and for a signal that arrives during a handler.
#[derive(Clone, Copy)]
struct Visited(u64);

/// In the upper bytes, so that bytes of another origin are not mistaken for places.
const IS_VISITED: u64 = 0x5441_4348_4f42_5500;

impl Visited {
    fn word(info: *mut libc::siginfo_t) -> *mut u64 {
        info.cast::<u64>().wrapping_add(size_of::<libc::siginfo_t>() / size_of::<u64>() - 1)
    }

    fn of(info: *mut libc::siginfo_t) -> Self {
        // SAFETY: the last word of a valid structure.
        let word = unsafe { Self::word(info).read_unaligned() };
        Self(if word & !0xff == IS_VISITED { word } else { IS_VISITED })
    }

    fn contains(self, place: usize) -> bool {
        self.0 & 1 << place != 0
    }

    fn add(info: *mut libc::siginfo_t, place: usize) {
        let Self(word) = Self::of(info);
        // SAFETY: the last word of a valid structure, which is this signal's own.
        unsafe { Self::word(info).write_unaligned(word | 1 << place) }
    }

    fn remove(info: *mut libc::siginfo_t, place: usize) {
        let Self(word) = Self::of(info);
        // SAFETY: the last word of a valid structure, which is this signal's own.
        unsafe { Self::word(info).write_unaligned(word & !(1 << place)) }
    }
}

/// The default: the process ends when the instruction is tried again, or by the signal that is raised here.
fn end_process(is_fault: bool, signal: libc::c_int) {
    // SAFETY: plain system calls, which a handler may make.
    unsafe {
        libc::signal(signal, libc::SIG_DFL);
        if !is_fault {
            libc::raise(signal);
        }
    }
}

/// Does what would have been done without our handler.
fn pass_on(
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
    // SAFETY: the set is emptied before it is used, and the signals are valid numbers. The kernel restores the mask of the
    // interrupted code when the outermost handler returns.
    unsafe {
        let mut blocked = std::mem::zeroed();
        libc::sigemptyset(&raw mut blocked);
        for number in (1..=64).filter(|number| mask & 1 << (number - 1) != 0) {
            libc::sigaddset(&raw mut blocked, number);
        }
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const blocked, std::ptr::null_mut());
    }
    if flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with this flag, the address is that of a function of this form.
        let handler: Handler = unsafe { std::mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: without the flag, the address is that of a function of this form.
        let handler: extern "C" fn(libc::c_int) = unsafe { std::mem::transmute(handler) };
        handler(signal);
    }
}
