//! The machines that -s names.

use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::live::{LiveOptions, MachinesSource};
use tachograph_machine::Machine;
use tachograph_perflib::{ErrorCode, Failure as MachineFailure, Registry};
use tachograph_remote::Machines;
use tachograph_web::MachineList;

use crate::failure::Failure;
use crate::machines::{self, LESS_OFTEN, Target};
use crate::this_machine;

/// Maximum number of machines that the message at the start names.
const MAX_NAMES: usize = 20;

/// The machines of a server.
pub(super) struct ServedMachines {
    this_machine: Arc<Machine>,
    targets: Vec<Target>,
    names: Vec<Arc<str>>,
    /// Connections for reading counter sets and instances, so that these do not delay the collection.
    for_reading: Machines,
}

impl ServedMachines {
    /// Connects to the machines that a name selects.
    pub(super) fn connect(this_machine: &Arc<Machine>, name: &str) -> Result<Self, Failure> {
        let targets = machines::named(&this_machine.registry(), Some(name))?;
        let names = targets.iter().map(|target| Arc::clone(target.name())).collect();
        let for_reading = Machines::of_user().map_err(Failure::usage)?;
        Ok(Self { this_machine: Arc::clone(this_machine), targets, names, for_reading })
    }

    /// A message with the machines, which says which of them do not answer.
    pub(super) fn summary(&self) -> String {
        let shown = self.targets.iter().take(MAX_NAMES).map(|target| match target.has_failed() {
            true => format!(r"\\{} (no answer)", target.name()),
            false => format!(r"\\{}", target.name()),
        });
        let mut names: Vec<_> = shown.collect();
        if self.targets.len() > MAX_NAMES {
            names.push(format!("and {} more", self.targets.len() - MAX_NAMES));
        }
        format!("serving {}", names.join(", "))
    }
}

impl MachineList for ServedMachines {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn registry(&self, machine: &str) -> Result<Arc<Registry>, MachineFailure> {
        let target = self.targets.iter().find(|target| eq_ignore_case(target.name(), machine));
        match target {
            None => {
                let reason = format!("'{machine}' is not one of the machines that -s selects");
                Err(MachineFailure::new(ErrorCode::BAD_NETWORK_PATH, reason))
            }
            Some(target) if target.is_this_machine() => Ok(self.this_machine.refresh()),
            Some(target) => self.for_reading.machine(target.name())?.recheck(),
        }
    }

    fn known_registry(&self) -> Arc<Registry> {
        let mut known = self.targets.iter().map(Target::known_registry);
        let found = known.find(|registry| registry.counter_sets().next().is_some());
        found.unwrap_or_else(|| self.this_machine.registry())
    }

    fn source(&self, interval: Duration) -> Result<MachinesSource, MachineFailure> {
        let bias_minutes = this_machine::current_zone().bias_minutes;
        let options = LiveOptions { bias_minutes, ..LiveOptions::default() };
        let targets = self.targets.iter().map(Target::without_paths).collect();
        let this_machine = Arc::clone(&self.this_machine);
        let refresh = Box::new(move || this_machine.refresh());
        let opened = machines::source(targets, &options, interval, Some(refresh), LESS_OFTEN);
        let (mut source, _) =
            opened.map_err(|reason| MachineFailure::new(ErrorCode::NO_SYSTEM_RESOURCES, reason))?;
        source.set_on_events(Box::new(machines::notify_of_events));
        Ok(source)
    }
}
