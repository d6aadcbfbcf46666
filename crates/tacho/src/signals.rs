//! Signals: which are handled, each handler on a thread of its own.

use std::sync::Arc;
use std::thread;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::iterator::Signals;
use tachograph_flow::live::Stop;

use crate::failure::{Failure, reason};

/// Calls the handler for each of these signals that comes, on a thread of its own.
pub(crate) fn handle(signals: &[i32], mut handler: impl FnMut(i32) + Send + 'static) -> Result<(), Failure> {
    let failed = |error| Failure::work(format!("signals cannot be handled: {}", reason(&error)));
    let mut signals = Signals::new(signals).map_err(failed)?;
    let pump = move || signals.forever().for_each(&mut handler);
    thread::Builder::new().name("signals".to_owned()).spawn(pump).map(drop).map_err(failed)
}

/// Those of these signals that this process did not inherit as ignored. `nohup`, and shells that start commands in the
/// background, ignore signals for what they start; a handler would undo that.
pub(crate) fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let ignored = ignored_signals();
    signals.iter().copied().filter(|signal| ignored & (1 << (signal - 1)) == 0).collect()
}

/// Stops the source on Ctrl-C, SIGTERM and SIGHUP. The second signal ends the process, since writing may wait for a reader.
pub(crate) fn stop_on_signals(stop: &Stop) -> Result<(), Failure> {
    stop_on(stop, &[SIGINT, SIGTERM, SIGHUP])
}

/// Stops the source on those of these signals that are not ignored; the second one ends the process. SIGHUP never counts as
/// the second: a closing terminal sends it twice, by its shell and by the kernel.
pub(crate) fn stop_on(stop: &Stop, signals: &[i32]) -> Result<(), Failure> {
    let stop = stop.clone();
    handle(&not_ignored(signals), move |signal| {
        if stop.is_stopped() && signal != SIGHUP {
            exit(signal);
        }
        stop.stop();
    })
}

/// Ends the process with the status that shells give for a signal.
pub(crate) fn exit(signal: i32) -> ! {
    std::process::exit(128 + signal)
}

/// Has writes beyond the limit of file sizes (`ulimit -f`) fail with an error, as on a full disk. By default SIGXFSZ kills
/// the process.
pub(crate) fn survive_file_limit() {
    if let [signal] = not_ignored(&[SIGXFSZ])[..] {
        // A handler, even one that does nothing, is enough. Where there can be none, the default remains.
        let _ = signal_hook::flag::register(signal, Arc::default());
    }
}

/// The signals that this process ignores, bit 0 for signal 1. None where /proc is unavailable.
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
    fn ignored_signals_are_those_of_the_status_file() {
        assert_eq!(ignored_of("Name:\tx\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001003\n"), 0x1003);
        assert_eq!(ignored_of("SigIgn:\tx\n"), 0);
        assert_eq!(ignored_of(""), 0);
    }
}
