//! Reads the samples of a query of machines.

use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::live::{
    Collect as _, LiveOptions, LiveReport, LiveSource, MachineMember, MachinesSource,
};
use tachograph_perflib::Registry;

use super::counter::QueryCounter;
use super::feed::fixed_local_zone;
use crate::{PdhStatus, Result};

/// Maximum time that a collection of several machines waits for them.
const MAX_WAIT: Duration = Duration::from_secs(1);

/// Samples of the counters of this machine and of others.
pub(super) struct LiveFeed {
    /// Returns the current counter sets of this machine.
    registry: Arc<dyn Fn() -> Arc<Registry> + Send + Sync>,
    /// Collects the query's counters; `None` before the first collection.
    source: Option<MachineSource>,
    /// Whether counters were added or removed since the source was opened.
    is_outdated: bool,
    /// The process that opened the source: a forked child has none of its threads.
    process: u32,
}

/// The machines of a query.
enum MachineSource {
    /// One machine, which the calling thread reads.
    One(Box<LiveSource>),
    /// Several machines. They are read by threads, so that a machine that does not answer does not delay the others.
    Several(Box<MachinesSource>),
}

impl LiveFeed {
    pub(super) fn new(registry: Arc<dyn Fn() -> Arc<Registry> + Send + Sync>) -> Self {
        Self { registry, source: None, is_outdated: false, process: std::process::id() }
    }

    /// Must be called after adding or removing counters.
    pub(super) fn reset_selection(&mut self) {
        self.is_outdated = true;
    }

    pub(super) fn next(&mut self, counters: &[QueryCounter], sample: &mut Sample) -> Result<()> {
        let process = std::process::id();
        if self.process != process {
            self.process = process;
            if let Some(MachineSource::Several(inherited)) = self.source.take() {
                // Its channels may be in any state, since the threads at the other ends do not exist here.
                std::mem::forget(inherited);
            }
        }
        if self.source.is_none() || self.is_outdated {
            // The previous source is dropped only after the new one is open, so no counter is released in between.
            self.source = Some(self.open(counters)?);
            self.is_outdated = false;
        }
        match &mut self.source {
            None => return Err(PdhStatus::NO_DATA),
            Some(MachineSource::One(source)) => {
                source.collect(sample);
                sample.boot_time = source.registry().clock().boot_time();
            }
            Some(MachineSource::Several(source)) => source.collect(sample),
        }
        Ok(())
    }

    fn open(&self, counters: &[QueryCounter]) -> Result<MachineSource> {
        let here = (self.registry)();
        let mut machines: Vec<(Arc<Registry>, Vec<PathPattern>)> = Vec::new();
        for counter in counters {
            let registry = match counter.registry() {
                Some(registry) if registry.machine() != here.machine() => registry,
                // The current sets, of which some may be newer than the counter.
                _ => &here,
            };
            let pattern = counter.pattern().clone();
            match machines.iter_mut().find(|(known, _)| known.machine() == registry.machine()) {
                Some((known, paths)) => {
                    // Counters that were added later were found in newer sets.
                    *known = Arc::clone(registry);
                    paths.push(pattern);
                }
                None => machines.push((Arc::clone(registry), vec![pattern])),
            }
        }
        let bias_minutes = fixed_local_zone().bias_minutes;
        let options = LiveOptions { bias_minutes, ..LiveOptions::default() };
        let mut sources = Vec::with_capacity(machines.len());
        for (registry, paths) in machines {
            let opened = LiveSource::open(&registry, &paths, options.clone());
            sources.push(opened.map_err(|_| PdhStatus::NO_MACHINE)?.0);
        }
        if let [_] = &sources[..]
            && let Some(source) = sources.pop()
        {
            return Ok(MachineSource::One(Box::new(source)));
        }
        let members = sources.into_iter().map(|source| {
            let registry = Arc::clone(source.registry());
            MachineMember { source, boot_time: Box::new(move || registry.clock().boot_time()) }
        });
        let source = MachinesSource::new(members.collect(), MAX_WAIT, bias_minutes, &LiveReport::default());
        Ok(MachineSource::Several(Box::new(source)))
    }
}
