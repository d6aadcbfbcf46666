//! The properties of the listed processes: instances of the sets `Process` and `Process V2`.

use serde::Serialize;
use tachograph_perflib::InstanceKey;
use tachograph_system::{ProcessProperties, ProcessReader, Roots};

use crate::table::{counted, escape_controls};

/// The sets whose instances are processes.
const SETS: [&str; 2] = ["Process", "Process V2"];

/// The properties of an instance.
#[derive(Serialize)]
pub(super) struct ListedProcess {
    instance: String,
    id: u32,
    parent: u32,
    state: String,
    user_id: Option<u32>,
    user: Option<String>,
    nice: i64,
    threads: u64,
    oom_score: Option<u32>,
    cgroup: Option<String>,
    command_line: Option<String>,
}

/// Reads the properties of the processes among these instances, given with their labels. `None` if the instances of the
/// set are not processes. Processes that have ended are omitted.
pub(super) fn read<'a>(
    set: &str,
    instances: impl Iterator<Item = (&'a str, &'a InstanceKey)>,
) -> Option<Vec<ListedProcess>> {
    SETS.contains(&set).then(|| {
        let mut reader = ProcessReader::new(&Roots::of_this_machine());
        // Idle and the totals have no identity.
        let processes = instances.filter(|(_, key)| key.identity() != 0);
        let read = processes.filter_map(|(label, key)| {
            let properties = reader.read(key.id(), Some(key.identity())).ok().flatten()?;
            Some(ListedProcess::new(label, properties))
        });
        read.collect()
    })
}

impl ListedProcess {
    fn new(instance: &str, properties: ProcessProperties) -> Self {
        Self {
            instance: instance.to_owned(),
            id: properties.pid,
            parent: properties.parent,
            state: properties.state.to_string(),
            user_id: properties.user_id,
            user: properties.user.map(|user| user.to_string()),
            nice: properties.nice,
            threads: properties.threads,
            oom_score: properties.oom_score,
            cgroup: properties.cgroup,
            command_line: properties.command_line,
        }
    }

    pub(super) fn instance(&self) -> &str {
        &self.instance
    }

    /// The properties in a line: `bash: id 12, parent 7, user ann, sleeping, ...: bash -l`.
    pub(super) fn text(&self) -> String {
        let user = match (&self.user, self.user_id) {
            (Some(user), _) => format!(", user {user}"),
            (None, Some(id)) => format!(", uid {id}"),
            (None, None) => String::new(),
        };
        let threads = counted(self.threads, "thread", "threads");
        let score = self.oom_score.map(|score| format!(", OOM score {score}")).unwrap_or_default();
        let cgroup = self.cgroup.as_ref().map(|path| format!(", cgroup {path}")).unwrap_or_default();
        let command = self.command_line.as_ref().map(|line| format!(": {line}")).unwrap_or_default();
        let Self { instance, id, parent, state, nice, .. } = self;
        let text = format!(
            "{instance}: id {id}, parent {parent}{user}, {state}, nice {nice}, {threads}{score}{cgroup}{command}"
        );
        escape_controls(&text).into_owned()
    }
}
