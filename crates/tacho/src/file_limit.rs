//! The limit of open files (`RLIMIT_NOFILE`): `tacho` raises its own, and the libraries work within it. Commands that `tacho`
//! starts have the limit that it was started with.

use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// More than any use of `tacho` needs; the kernel allows no higher limit by default (`fs.nr_open`).
const ENOUGH: u64 = 1 << 20;

/// The limit that `tacho` was started with.
static INHERITED: OnceLock<Rlimit> = OnceLock::new();

/// Raises the soft limit to the hard one.
pub(crate) fn raise() {
    let inherited = INHERITED.get_or_init(|| getrlimit(Resource::Nofile));
    let highest = inherited.maximum.unwrap_or(ENOUGH).min(ENOUGH);
    if inherited.current.is_some_and(|current| current < highest) {
        // Where that is forbidden, fewer files stay open.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(highest), maximum: inherited.maximum });
    }
}

/// Runs `start`, which starts another program and opens no files, with the limit that `tacho` was started with.
pub(crate) fn inherited<T>(start: impl FnOnce() -> T) -> T {
    if let Some(inherited) = INHERITED.get() {
        let _ = setrlimit(Resource::Nofile, *inherited);
    }
    let started = start();
    raise();
    started
}
