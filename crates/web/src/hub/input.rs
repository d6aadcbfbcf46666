//! Where the collector's samples come from: this machine, or several machines.

use std::collections::HashSet;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;
use tachograph_flow::Selection;
use tachograph_flow::live::{Collect as _, LiveOptions, LiveReport, LiveSource, MachinesSource};
use tachograph_perflib::Registry;

use super::Shared;

pub(super) enum Input {
    ThisMachine(Box<ThisMachine>),
    Machines(Box<MachinesSource>),
}

pub(super) struct ThisMachine {
    source: LiveSource,
    registry: Arc<Registry>,
}

/// The paths that select nothing, each with the reason.
pub(super) type Missing = Vec<(String, String)>;

impl Input {
    /// Opens the counters that the paths select; `None` if that fails.
    pub(super) fn open(shared: &Shared, paths: &[PathPattern]) -> Option<(Self, Missing)> {
        if let Some(machines) = &shared.options.machines {
            let mut source = Box::new(machines.source(shared.options.interval).ok()?);
            let missing = missing_there(&source.set_paths(paths));
            return Some((Self::Machines(source), missing));
        }
        let registry = shared.registry();
        let options = LiveOptions {
            bias_minutes: shared.options.zone.bias_minutes,
            boot_time: shared.options.boot_time,
            ..LiveOptions::default()
        };
        let (source, selection) = LiveSource::open(&registry, paths, options).ok()?;
        Some((Self::ThisMachine(Box::new(ThisMachine { source, registry })), missing_here(&selection)))
    }

    pub(super) fn set_paths(&mut self, paths: &[PathPattern]) -> Missing {
        match self {
            Self::ThisMachine(this) => missing_here(&this.source.set_paths(paths)),
            Self::Machines(source) => missing_there(&source.set_paths(paths)),
        }
    }

    /// Reads the current counter sets of this machine. Returns whether they have changed, so that the paths must be set
    /// again. The source of several machines checks their sets itself.
    pub(super) fn refresh(&mut self, shared: &Shared) -> bool {
        let Self::ThisMachine(this) = self else { return false };
        let registry = shared.registry();
        if Arc::ptr_eq(&registry, &this.registry) {
            return false;
        }
        this.source.set_registry(&registry);
        this.registry = registry;
        true
    }

    pub(super) fn collect(&mut self, sample: &mut Sample) {
        match self {
            Self::ThisMachine(this) => this.source.collect(sample),
            Self::Machines(source) => source.collect(sample),
        }
    }

    /// The registry of one of several machines; `None` before one was reached.
    pub(super) fn any_registry(&self) -> Option<&Arc<Registry>> {
        match self {
            Self::ThisMachine(_) => None,
            Self::Machines(source) => source.any_registry(),
        }
    }

    pub(super) fn report(&self) -> LiveReport {
        match self {
            Self::ThisMachine(this) => this.source.report(),
            Self::Machines(source) => source.report(),
        }
    }

    /// The descriptions of the groups of the next sample, by address.
    pub(super) fn descriptions(&self) -> HashSet<*const CounterSet> {
        match self {
            Self::ThisMachine(this) => this.source.descriptions().map(Arc::as_ptr).collect(),
            Self::Machines(source) => source.descriptions().iter().map(Arc::as_ptr).collect(),
        }
    }
}

fn missing_here(selection: &Selection) -> Missing {
    missing(selection, "not on this machine")
}

fn missing_there(selection: &Selection) -> Missing {
    missing(selection, "not on these machines")
}

fn missing(selection: &Selection, cause: &str) -> Missing {
    let reason = |advice: Option<String>| match advice {
        Some(advice) => format!("{cause}: {advice}"),
        None => cause.to_owned(),
    };
    selection.unmatched().into_iter().map(|(path, advice)| (path, reason(advice))).collect()
}
