//! The source of a command.

use tachograph_counters::sample::Sample;
use tachograph_flow::live::{LiveSource, MachinesSource, Refresh, TimedSource};
use tachograph_flow::{FlowError, Source};

/// The source of a command: this machine alone, or several machines.
pub(crate) enum LiveMachines {
    This(Box<TimedSource>),
    Several(Box<TimedSource<MachinesSource>>),
}

impl LiveMachines {
    /// The paths that name instances and select a counter, but had no matching instance in the last sample.
    pub(crate) fn missing_instances(&self) -> Vec<String> {
        match self {
            Self::This(source) => source.live().missing_instances(),
            Self::Several(source) => source.live().missing_instances(),
        }
    }

    /// The source of this machine, if it is the only one.
    pub(crate) fn this_machine(&mut self) -> Option<&mut LiveSource> {
        match self {
            Self::This(source) => Some(source.live_mut()),
            Self::Several(_) => None,
        }
    }

    /// Watches for counter sets of this machine that appear and disappear, if it is the only one.
    pub(crate) fn follow(&mut self, refresh: Refresh) {
        if let Self::This(source) = self {
            source.live_mut().follow(refresh);
        }
    }
}

impl Source for LiveMachines {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        match self {
            Self::This(source) => source.next(sample),
            Self::Several(source) => source.next(sample),
        }
    }
}
