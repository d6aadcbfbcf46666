//! Notices about published sets that cannot be read or shown.

use std::fmt;
use std::sync::Arc;

use super::group::MemberGroup;
use super::member::Member;
use super::names::replace_controls;
use super::process_reader::count_instances;

/// Explains why a published set, file or folder cannot be read or shown. The text is a single line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The name of the set; `None` if the notice is about a folder or a file.
    set: Option<Arc<str>>,
    text: String,
}

impl Notice {
    /// A notice about a set, or about a folder or a file. Control characters are replaced.
    pub fn new(set: Option<Arc<str>>, text: impl AsRef<str>) -> Self {
        Self { set, text: replace_controls(text.as_ref()) }
    }

    /// A notice that a set is omitted. `member` is the process that defines the set, if known.
    pub(super) fn omitted(set: &str, member: Option<&Member>, why: &str) -> Self {
        let publisher = member.map_or_else(String::new, |member| format!(" of {}", describe(member)));
        Self::new(Some(set.into()), format!("the counter set '{set}'{publisher} is omitted: {why}"))
    }

    /// A notice that the description of a set in one process differs from the description in the process that started
    /// last.
    pub(super) fn version_conflict(set: &str, member: &Member, newest: &Member) -> Self {
        let text = format!(
            "the counter set '{set}' of {} is another version than that of {}: counters with another type are omitted",
            describe(member),
            describe(newest)
        );
        Self::new(Some(set.into()), text)
    }

    /// The name of the set; `None` for a folder or file.
    pub fn set(&self) -> Option<&str> {
        self.set.as_deref()
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn describe(member: &Member) -> String {
    format!("{} (process {}, uid {})", member.program, member.process, member.key.owner)
}

/// A process that publishes a counter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The process id, in the process's own PID namespace.
    pub process: u64,
    /// The program's name, or the word `process` if the name is unavailable.
    pub program: Arc<str>,
    /// The user who owns the file.
    pub user: u32,
    /// When the set was published, in nanoseconds since boot.
    pub started_ns: u64,
    /// The current number of instances.
    pub instances: usize,
}

/// The processes of a group that are alive.
pub(crate) fn publishers_of(group: &MemberGroup) -> Vec<Publisher> {
    let members = group.members();
    let living = members.iter().filter(|member| member.is_alive());
    let publisher = |member: &Arc<Member>| Publisher {
        process: member.process,
        program: Arc::clone(&member.program),
        user: member.key.owner,
        started_ns: member.started,
        instances: count_instances(member),
    };
    living.map(publisher).collect()
}
