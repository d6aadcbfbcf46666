//! Why a value of a process is missing.

use std::sync::Arc;

use rustix::io::Errno;

use crate::open_file::OpenFile;
use crate::scan::lines;

/// Why a file has no values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ValueError {
    /// The user has no permission to read the file.
    Denied,
    /// The file has an unknown format.
    Malformed,
    /// Any other error.
    Unreadable,
}

impl ValueError {
    pub(super) fn from_errno(error: Errno) -> Self {
        match error {
            Errno::ACCESS | Errno::PERM => Self::Denied,
            _ => Self::Unreadable,
        }
    }
}

/// The texts of the reasons for one file, allocated once.
#[derive(Debug)]
pub(super) struct Reasons {
    denied: Arc<str>,
    malformed: Arc<str>,
    unreadable_failure: Arc<str>,
}

impl Reasons {
    pub(super) fn new(file: &str) -> Self {
        Self {
            denied: format!("{file}: permission denied ({})", denied_because(has_ptrace())).into(),
            malformed: format!("{file}: unknown format").into(),
            unreadable_failure: format!("{file}: cannot be read").into(),
        }
    }

    pub(super) fn text(&self, reason: ValueError) -> &Arc<str> {
        match reason {
            ValueError::Denied => &self.denied,
            ValueError::Malformed => &self.malformed,
            ValueError::Unreadable => &self.unreadable_failure,
        }
    }
}

/// The number of the capability `CAP_SYS_PTRACE`.
const CAP_SYS_PTRACE: u32 = 19;

/// Whether this process has the capability `CAP_SYS_PTRACE`.
fn has_ptrace() -> bool {
    OpenFile::new("/proc/self/status").read().is_ok_and(has_ptrace_in)
}

/// Whether the text of `/proc/PID/status` names `CAP_SYS_PTRACE` among the effective capabilities.
fn has_ptrace_in(status: &[u8]) -> bool {
    let set = lines(status).find_map(|line| line.strip_prefix(b"CapEff:"));
    let set = set.and_then(|text| std::str::from_utf8(text).ok());
    let set = set.and_then(|text| u64::from_str_radix(text.trim(), 16).ok());
    set.is_some_and(|set| set & 1 << CAP_SYS_PTRACE != 0)
}

/// Why the kernel denies a file that only a process that may trace its owner can read; `ptrace(2)`, "Ptrace access mode
/// checking".
fn denied_because(has_ptrace: bool) -> &'static str {
    if has_ptrace {
        "despite CAP_SYS_PTRACE: a security module of the kernel, such as Landlock, or another user namespace"
    } else {
        "requires CAP_SYS_PTRACE, or the user and all capabilities of the process"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_depends_on_the_capability() {
        assert!(has_ptrace_in(b"Name:\ttacho\nCapPrm:\t0\nCapEff:\t000001fffeffffff\nCapBnd:\t0\n"));
        for status in ["", "CapEff:\t0000000000000000\n", "CapEff:\tfffffffffff7ffff\n", "CapEff:\tx\n"] {
            assert!(!has_ptrace_in(status.as_bytes()), "{status}");
        }
        let text = |has| denied_because(has).to_owned();
        assert!(
            text(true).contains("despite CAP_SYS_PTRACE") && text(false).contains("requires CAP_SYS_PTRACE")
        );
    }
}
