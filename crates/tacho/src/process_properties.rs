//! Properties of processes for the table of the monitor.

use tachograph_monitor::{ProcessProperties, RowProperties};
use tachograph_system::{ProcessReader, Roots};

/// Reads properties of the processes of a machine.
pub(crate) struct MachineProperties(ProcessReader);

impl MachineProperties {
    pub(crate) fn new(roots: &Roots) -> Self {
        Self(ProcessReader::new(roots))
    }
}

impl RowProperties for MachineProperties {
    fn process(&mut self, id: u32) -> Option<ProcessProperties> {
        // A process that cannot be read is shown without properties, like one that has ended.
        let read = self.0.read(id, None).ok().flatten()?;
        let user = || read.user_id.map(|id| id.to_string().into());
        Some(ProcessProperties {
            state: Some(read.state.letter()),
            user: read.user.or_else(user),
            cgroup: read.cgroup.map(Into::into),
            command: read.command_line.map(Into::into),
            parent: Some(read.parent),
            oom_score: read.oom_score.map(i64::from),
        })
    }
}

#[cfg(test)]
mod tests {
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
}
