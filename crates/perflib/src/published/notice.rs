//! What there is to tell about published sets beside their values.

use std::fmt;
use std::sync::Arc;

use super::file::count_instances;
use super::group::Group;
use super::member::Member;
use super::names::cleaned;

/// Something about published sets that a person should know: what cannot be read, or is not shown, and why. Printed, it is
/// one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    set: Option<Arc<str>>,
    text: String,
}

impl Notice {
    /// A notice about a set, or about a folder or a file. Control characters are replaced.
    pub fn new(set: Option<Arc<str>>, text: impl AsRef<str>) -> Self {
        Self { set, text: cleaned(text.as_ref()) }
    }

    /// A set that is not shown.
    pub(super) fn refused(set: &str, member: Option<&Member>, why: &str) -> Self {
        let who = member.map_or_else(String::new, |member| format!(" of {}", who(member)));
        Self::new(Some(set.into()), format!("the counter set '{set}'{who} is left out: {why}"))
    }

    /// A process that describes a set in another way than the one that was started last.
    pub(super) fn described_otherwise(set: &str, member: &Member, newest: &Member) -> Self {
        let (who, newest) = (who(member), who(newest));
        let text = format!(
            "the counter set '{set}' of {who} is another version than that of {newest}: counters with another type are \
             left out"
        );
        Self::new(Some(set.into()), text)
    }

    /// The name of the set that it is about; nothing where it is about a folder or a file.
    pub fn set(&self) -> Option<&str> {
        self.set.as_deref()
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn who(member: &Member) -> String {
    format!("{} (process {}, uid {})", member.program(), member.process(), member.key().owner)
}

/// A process that publishes a counter set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Publisher {
    /// The number of the process, as it sees itself.
    pub process: u64,
    /// The program's name; `process` where it cannot be seen.
    pub program: Arc<str>,
    /// The user who owns the file.
    pub user: u32,
    /// When it was published: nanoseconds since the machine was started.
    pub started_ns: u64,
    /// How many instances it has now.
    pub instances: usize,
}

/// The processes of a group that live.
pub(crate) fn publishers_of(group: &Group) -> Vec<Publisher> {
    let members = group.members();
    let living = members.iter().filter(|member| member.is_alive());
    let publisher = |member: &Arc<Member>| Publisher {
        process: member.process(),
        program: Arc::clone(member.program()),
        user: member.key().owner,
        started_ns: member.started(),
        instances: count_instances(member),
    };
    living.map(publisher).collect()
}
