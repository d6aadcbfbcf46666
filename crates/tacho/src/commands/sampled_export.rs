//! An export that takes its own samples, on a thread.

use std::sync::Arc;
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tachograph_counters::sample::Sample;
use tachograph_export::Export;
use tachograph_flow::Source as _;
use tachograph_flow::live::{LiveOptions, Schedule, Stop};
use tachograph_machine::Machine;
use tachograph_metrics::MetricsOptions;

use crate::arguments::SampledExportArguments;
use crate::failure::{Failure, notify};
use crate::{exports, this_machine};

/// A thread that samples and sends until it is stopped.
pub(crate) struct SampledExport {
    stop: Stop,
    thread: JoinHandle<()>,
}

/// Starts to sample and send these counters, if the arguments request it.
pub(crate) fn start(
    arguments: &SampledExportArguments,
    machine: &Arc<Machine>,
    metrics: MetricsOptions,
) -> Result<Option<SampledExport>, Failure> {
    match exports::start(&arguments.export, &machine.registry(), metrics)? {
        Some(export) => run(export, machine, arguments.to_interval).map(Some),
        None => Ok(None),
    }
}

fn run(mut export: Export, machine: &Arc<Machine>, interval: Duration) -> Result<SampledExport, Failure> {
    let stop = Stop::default();
    let schedule =
        Schedule { interval, samples: None, duration: None, has_baseline: false, stop: stop.clone() };
    let mut live =
        this_machine::open(&machine.registry(), &export.paths(), LiveOptions::default(), schedule)?;
    let machine = Arc::clone(machine);
    live.source.follow(Box::new(move || machine.refresh()));
    let sample = move || {
        let mut next = Sample::default();
        let mut registry = None;
        loop {
            match live.source.next(&mut next) {
                Ok(true) => {
                    let Some(source) = live.source.this_machine() else { break };
                    export.push(source.query(), next.at.utc);
                    // From the next sample on, include sets that were published in the meantime.
                    let now = Arc::clone(source.registry());
                    if registry.as_ref().is_some_and(|before| !Arc::ptr_eq(before, &now)) {
                        source.set_paths(&export.paths());
                    }
                    registry = Some(now);
                }
                Ok(false) => break,
                Err(error) => {
                    notify(error);
                    break;
                }
            }
        }
        exports::finish(export);
    };
    let thread =
        thread::Builder::new().name("samples to send".to_owned()).spawn(sample).map_err(Failure::runtime)?;
    Ok(SampledExport { stop, thread })
}

impl SampledExport {
    /// Ends the thread, and waits while it sends remaining samples.
    pub(crate) fn finish(self) {
        self.stop.stop();
        // A panic has already been reported by the panic hook.
        let _ = self.thread.join();
    }
}
