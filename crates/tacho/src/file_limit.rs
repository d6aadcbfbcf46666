//! The limit on open files (`RLIMIT_NOFILE`). `tacho` raises its own limit; the libraries stay within the current one.
//! Commands that `tacho` starts get the original limit.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than `tacho` ever needs. The kernel's default maximum (`fs.nr_open`) is the same.
const ENOUGH: u64 = 1 << 20;

/// The limit that `tacho` was started with.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit to the hard limit, or to [`ENOUGH`] if that is lower.
pub(crate) fn raise() {
    let inherited = INHERITED.get_or_init(|| getrlimit(Resource::Nofile));
    let highest = inherited.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if inherited.current.is_some_and(|current| current < highest) {
        // On failure, fewer files are kept open.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(highest), maximum: inherited.maximum });
    }
}

/// Restores the original limit while `start` starts another program.
pub(crate) fn with_inherited<T>(start: impl FnOnce() -> T) -> T {
    if let Some(inherited) = INHERITED.get() {
        let _ = setrlimit(Resource::Nofile, *inherited);
    }
    let started = start();
    raise();
    started
}
