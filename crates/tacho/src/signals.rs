//! Signal handling on background threads.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use tachograph_flow::live::Stop;

use crate::failure::Failure;

/// Starts a thread that calls `handler` whenever one of these signals arrives.
pub(crate) fn handle(signals: &[i32], mut handler: impl FnMut(i32) + Send + 'static) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::runtime(format!("cannot handle signals: {error}"));
    let mut signals = Signals::new(signals).map_err(failed)?;
    start_thread("signals", move || signals.forever().for_each(&mut handler))
}

pub(crate) fn start_thread(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), Failure> {
    let started = thread::Builder::new().name(name.to_owned()).spawn(work);
    started.map(drop).map_err(|error| Failure::runtime(format!("cannot start a thread: {error}")))
}

/// Returns `signals` without those that this process inherited as ignored. `nohup`, and shells that start background
/// commands, ignore signals; installing a handler would undo that.
pub(crate) fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored_signals();
    signals.iter().copied().filter(|signal| ignored & (1 << (signal - 1)) == 0).collect()
}

/// Stops the source on Ctrl-C, SIGTERM and SIGHUP. A second Ctrl-C or SIGTERM ends the process, because writing to a
/// pipe may block indefinitely.
pub(crate) fn stop_on_signals(stop: &Stop) -> Result<(), Failure> {
    stop_on(stop, &[SIGINT, SIGTERM, SIGHUP])
}

/// Stops the source on these signals, unless they are ignored; a second signal ends the process. A SIGHUP never counts
/// as the second signal: when a terminal closes, both its shell and the kernel send one.
pub(crate) fn stop_on(stop: &Stop, signals: &[i32]) -> Result<(), Failure> {
    let stop = stop.clone();
    handle(&not_ignored(signals), move |signal| {
        // Later signals do not change the exit status.
        let _ = FIRST_SIGNAL.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed);
        if stop.is_stopped() && signal != SIGHUP {
            exit(signal);
        }
        stop.stop();
    })
}

/// The signal that stopped a source; 0 if none has.
static FIRST_SIGNAL: AtomicI32 = AtomicI32::new(0);

/// The exit status of a command that a signal of [`stop_on`] has stopped: the one that shells report for the signal.
pub(crate) fn stopped_status() -> ExitCode {
    ExitCode::from(u8::try_from(128 + FIRST_SIGNAL.load(Ordering::Relaxed)).unwrap_or(1))
}

/// Exits with the status that shells report for a signal.
pub(crate) fn exit(signal: i32) -> ! {
    std::process::exit(128 + signal)
}

/// Makes writes beyond the file size limit (`ulimit -f`) fail with an error, as on a full disk. By default SIGXFSZ
/// kills the process.
pub(crate) fn survive_file_limit() {
    if let [signal] = not_ignored(&[SIGXFSZ])[..] {
        // Any handler is enough, even one that does nothing. If it cannot be installed, the default remains.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}

/// Ignores Ctrl-C in this process, because another process of the terminal handles it.
pub(crate) fn survive_interrupts() {
    if let [signal] = not_ignored(&[SIGINT])[..] {
        // Any handler is enough, even one that does nothing. If it cannot be installed, the default remains.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}

/// The signals that this process ignores; bit 0 is signal 1. 0 if /proc is unavailable.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ignored_of(&status)
}

fn ignored_of(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_read_from_the_status_file() {
        assert_eq!(ignored_of("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001003\n"), 0x1003);
        assert_eq!(ignored_of("SigIgn:\tx\n"), 0);
        assert_eq!(ignored_of(""), 0);
    }
}
