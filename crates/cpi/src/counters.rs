//! The counter set `Processor CPI`: cycles per instruction as performance counters, which can be listed, queried, recorded and
//! averaged like any other.
//!
//! Raw values are running totals over consecutive intervals. When the kernel multiplexes counters, counts are scaled
//! separately for each interval, so the totals never decrease. A ratio has two totals as raw values, so its average
//! over any time range or set of processors is a ratio of sums.

use std::sync::Arc;

use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Provider, Row, Rows};
use tachograph_system::table::SetTable;
use tachograph_system::{ProcessorInstances, ProcessorTimes, Roots};

use crate::{Cpi, Error, ErrorKind, Mode};

mod sums;
mod table;
#[cfg(test)]
mod tables_tests;

use sums::{NoCounts, ProcessorSums, Totals};
use table::{ALL_COUNTERS, CORE_CPI, CORE_CYCLES, CPI, CPI_WHILE_BUSY, INSTRUCTIONS, PROCESSOR_CPI, RUNNING};

const TABLES: &[&SetTable] = &[&PROCESSOR_CPI];

/// The provider of `Processor CPI` on this machine.
///
/// The first collection opens the hardware counters, which then stay open. To determine whether the machine has hardware
/// counters, this function briefly counts the events of the calling thread.
///
/// # Errors
///
/// If the machine has no hardware counters; the error gives the cause. Missing permission and other conditions that can
/// change are reported as errors of the values instead.
pub fn provider(roots: &Roots) -> Result<Box<dyn Provider>, Error> {
    match Cpi::new(Mode::ON_THREAD) {
        Err(error) if is_absence(error.kind()) => Err(error),
        _ => Ok(Box::new(ProcessorCpi::new(roots))),
    }
}

/// All counter sets of this module, including those that this machine lacks; [`provider`] returns why one is missing.
pub fn known_sets() -> impl Iterator<Item = Arc<CounterSetInfo>> {
    TABLES.iter().map(|set| set.info())
}

/// Whether an error means that the machine has no hardware counters and never will.
fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::EventNotSupported { .. } | ErrorKind::NotSupported | ErrorKind::NoSystemCall)
}

/// Whether the cause may have disappeared by the next sample.
fn is_transient(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TooManyFiles
            | ErrorKind::Busy
            | ErrorKind::OutOfMemory
            | ErrorKind::AllCountersInUse
            | ErrorKind::ProcessorOffline
            | ErrorKind::System
    )
}

/// The provider of `Processor CPI`.
#[derive(Debug)]
struct ProcessorCpi {
    info: Arc<CounterSetInfo>,
    roots: Roots,
    counting: Counting,
    /// Lists the online processors while the counters are not open.
    times: ProcessorTimes,
    online: Vec<u32>,
    instances: ProcessorInstances,
    sums: ProcessorSums,
    reasons: Reasons,
}

/// The state of the hardware counters.
#[derive(Debug)]
enum Counting {
    /// Not open; the next collection tries to open them.
    Closed,
    Open(Box<Cpi>),
    /// Opening failed, and is not retried.
    Refused,
}

/// The reasons for missing values, each created once.
#[derive(Debug)]
struct Reasons {
    never_ran: Arc<str>,
    no_counters: Arc<str>,
    no_busy_time: Arc<str>,
    /// The last error from opening or reading the counters.
    error: Option<Arc<str>>,
    /// Whether `error` applies to the current collection.
    has_error: bool,
}

impl Provider for ProcessorCpi {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if rows.wants_any(ALL_COUNTERS) {
            self.measure();
        }
        self.update_online()?;
        self.report(rows);
        Ok(())
    }
}

impl ProcessorCpi {
    fn new(roots: &Roots) -> Self {
        Self {
            info: PROCESSOR_CPI.info(),
            roots: roots.clone(),
            counting: Counting::Closed,
            times: ProcessorTimes::new(roots),
            online: Vec::new(),
            instances: ProcessorInstances::default(),
            sums: ProcessorSums::default(),
            reasons: Reasons {
                never_ran:
                    "the counters of a processor never ran in the interval, because other programs used the hardware counters: \
                    the next interval includes this one; use longer intervals"
                        .into(),
                no_counters: "a processor has no hardware counters".into(),
                no_busy_time: "this machine does not provide the busy time of its processors".into(),
                error: None,
                has_error: false,
            },
        }
    }

    /// Reads the counters; the first call opens them.
    fn measure(&mut self) {
        match &mut self.counting {
            Counting::Refused => {}
            Counting::Closed => match Cpi::new(Mode::SCALED) {
                Ok(cpi) => self.begin(cpi),
                Err(error) => {
                    if !is_transient(error.kind()) {
                        self.counting = Counting::Refused;
                    }
                    self.reasons.record(&error);
                }
            },
            Counting::Open(cpi) => match ignore_never_ran(cpi.get_and_start().err()) {
                Ok(()) => {
                    self.reasons.has_error = false;
                    self.sums.add(cpi.last());
                }
                Err(error) => self.reasons.record(&error),
            },
        }
    }

    /// Reads counters that were just opened. Counts before this reading are not part of any interval.
    fn begin(&mut self, mut cpi: Cpi) {
        match ignore_never_ran(cpi.get_and_start().err()) {
            Ok(()) => {
                self.reasons.has_error = false;
                self.sums.begin(cpi.last());
                self.counting = Counting::Open(Box::new(cpi));
            }
            Err(error) => self.reasons.record(&error),
        }
    }

    /// Updates the online processors and the instances.
    fn update_online(&mut self) -> Result<(), Failure> {
        self.online.clear();
        match self.counting {
            Counting::Open(_) => self.online.extend(self.sums.online()),
            Counting::Closed | Counting::Refused => {
                self.times.read()?;
                self.online.extend(self.times.processors().iter().map(|processor| processor.id));
                self.online.sort_unstable();
            }
        }
        self.instances.update(&self.roots, &self.online);
        Ok(())
    }

    fn report(&self, rows: &mut Rows) {
        let wants_all = rows.wants_all_instances();
        for instance in self.instances.instances() {
            let key = &instance.key;
            if wants_all || rows.wants_instance(key.full_name(), key.id()) {
                let processors = &self.instances.processors()[instance.members.clone()];
                fill_row(&mut rows.push(key), &self.sums.totals_of(processors), &self.reasons);
            }
        }
    }
}

/// Sets the values of an instance, or reports why they are missing.
fn fill_row(row: &mut Row<'_>, totals: &Totals, reasons: &Reasons) {
    let reason = match totals.no_counts {
        _ if reasons.has_error => reasons.error.as_ref(),
        Some(NoCounts::NeverRan) => Some(&reasons.never_ran),
        Some(NoCounts::NoCounters) => Some(&reasons.no_counters),
        None => None,
    };
    if let Some(reason) = reason {
        return row.fail_all(ALL_COUNTERS, reason);
    }
    let sums = &totals.sums;
    row.set_with_base(CPI, sums.elapsed_cycles, sums.elapsed_instructions);
    match totals.has_busy_share {
        true => row.set_with_base(CPI_WHILE_BUSY, sums.busy_cycles, sums.busy_instructions),
        false => row.fail(CPI_WHILE_BUSY, &reasons.no_busy_time),
    }
    row.set_with_base(CORE_CPI, sums.core_cycles, sums.instructions);
    row.set(INSTRUCTIONS, sums.instructions);
    row.set(CORE_CYCLES, sums.core_cycles);
    row.set_with_base(RUNNING, sums.running_ns, sums.enabled_ns);
}

/// Ignores [`ErrorKind::NeverRan`], which is reported per processor.
fn ignore_never_ran(error: Option<Error>) -> Result<(), Error> {
    match error {
        Some(error) if error.kind() != ErrorKind::NeverRan => Err(error),
        _ => Ok(()),
    }
}

impl Reasons {
    fn record(&mut self, error: &Error) {
        self.has_error = true;
        let text = error.to_string();
        if self.error.as_deref() != Some(text.as_str()) {
            self.error = Some(text.into());
        }
    }
}

#[cfg(test)]
mod tests;
