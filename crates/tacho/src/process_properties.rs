//! Properties of processes for the table of the monitor.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_monitor::{ProcessProperties, RowProperties};
use tachograph_system::{ContainerNames, ProcessReader, Roots};

/// How long properties that seldom change are shown before they are read again: user, control group, command line, OOM score.
const MAX_AGE: Duration = Duration::from_secs(5);

/// Reads properties of the processes of a machine.
pub(crate) struct MachineProperties {
    reader: ProcessReader,
    containers: ContainerNames,
    /// The properties that were read recently, by process id.
    known: HashMap<u32, Known>,
    /// When old entries were last removed from `known`.
    cleaned: Instant,
    max_age: Duration,
}

struct Known {
    identity: u64,
    read: Instant,
    properties: ProcessProperties,
}

impl MachineProperties {
    pub(crate) fn new(roots: &Roots) -> Self {
        Self {
            reader: ProcessReader::new(roots),
            containers: ContainerNames::new(roots),
            known: HashMap::new(),
            cleaned: Instant::now(),
            max_age: MAX_AGE,
        }
    }

    /// The properties of a process that were read recently, with its current state and parent.
    fn known(&mut self, id: u32, now: Instant) -> Option<ProcessProperties> {
        let known = self.known.get_mut(&id).filter(|known| now.duration_since(known.read) < self.max_age)?;
        let (state, parent) = self.reader.state(id, known.identity).ok().flatten()?;
        known.properties.state = Some(state.letter());
        known.properties.parent = Some(parent);
        Some(known.properties.clone())
    }

    fn clean(&mut self, now: Instant) {
        if now.duration_since(self.cleaned) >= self.max_age {
            self.known.retain(|_, known| now.duration_since(known.read) < self.max_age);
            self.cleaned = now;
        }
    }
}

impl RowProperties for MachineProperties {
    fn process(&mut self, id: u32) -> Option<ProcessProperties> {
        let now = Instant::now();
        if let Some(properties) = self.known(id, now) {
            return Some(properties);
        }
        self.clean(now);
        // A process that cannot be read is shown without properties, like one that has ended.
        let read = self.reader.read(id, None).ok().flatten()?;
        let user = || read.user_id.map(|id| id.to_string().into());
        let properties = ProcessProperties {
            state: Some(read.state.letter()),
            user: read.user.or_else(user),
            cgroup: read.cgroup.map(Into::into),
            command: read.command_line.map(Into::into),
            parent: Some(read.parent),
            oom_score: read.oom_score.map(i64::from),
        };
        let known = Known { identity: read.identity, read: now, properties: properties.clone() };
        self.known.insert(id, known);
        Some(properties)
    }

    fn container(&mut self, path: &str) -> Option<Arc<str>> {
        self.containers.find(path).map(Arc::from)
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[test]
    fn a_process_of_this_machine_has_its_properties() {
        let mut reader = MachineProperties::new(&Roots::of_this_machine());
        let id = std::process::id();
        let properties = reader.process(id).expect("this process");
        let status = std::fs::read_to_string("/proc/self/status").expect("read");
        let parent = status.lines().find_map(|line| line.strip_prefix("PPid:")).expect("a parent");
        assert_eq!(properties.parent, parent.trim().parse().ok());
        let command = std::fs::read_to_string("/proc/self/cmdline").expect("read");
        assert_eq!(properties.command.as_deref(), Some(&*command.trim_end_matches('\0').replace('\0', " ")));
        assert!(properties.user.is_some_and(|user| !user.is_empty()));
        assert!(properties.state.is_some() && properties.oom_score.is_some());
        // No process has this id.
        assert_eq!(reader.process(u32::MAX), None);
    }

    #[test]
    fn the_state_is_always_current() {
        let mut child = Command::new("sleep").arg("600").stdin(Stdio::null()).spawn().expect("sleep runs");
        let mut reader = MachineProperties::new(&Roots::of_this_machine());
        // The test does not depend on how fast it runs.
        reader.max_age = Duration::MAX;
        let id = child.id();
        // It has started when it sleeps.
        while reader.process(id).expect("a process").state != Some('S') {
            std::thread::yield_now();
        }
        child.kill().expect("killed");
        while reader.process(id).expect("a zombie").state != Some('Z') {
            std::thread::yield_now();
        }
        child.wait().expect("waited for");
        assert_eq!(reader.process(id), None);
    }

    #[test]
    fn properties_that_seldom_change_are_read_again_after_a_while() {
        let mut reader = MachineProperties::new(&Roots::of_this_machine());
        let id = std::process::id();
        let properties = reader.process(id).expect("this process");
        let old = || Some("old".into());
        reader.known.get_mut(&id).expect("known").properties.command = old();
        reader.max_age = Duration::MAX;
        assert_eq!(reader.process(id).expect("this process").command, old());
        reader.max_age = Duration::ZERO;
        assert_eq!(reader.process(id).expect("this process").command, properties.command);
        // Entries of other processes are removed.
        reader.known.insert(0, Known { identity: 0, read: Instant::now(), properties });
        reader.process(id);
        assert!(!reader.known.contains_key(&0));
    }
}
