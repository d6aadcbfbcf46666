//! The counter set `Processor CPI`: cycles per instruction as performance counters, which can be listed, queried, recorded
//! and averaged as any other.
//!
//! The raw values are sums over intervals that follow each other without a gap, so counts that were scaled because others
//! had the hardware in turns are scaled interval by interval, and never fall. Ratios have both sums as raw values: their
//! averages are ratios of sums, over any time and any processors.

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

use sums::{NoCounts, ProcessorSums, Told};
use table::{CORE_CPI, CORE_CYCLES, CPI, CPI_WHILE_BUSY, INSTRUCTIONS, PROCESSOR_CPI, RUNNING, SHOWN};

/// The tables of the sets of this module.
const TABLES: &[&SetTable] = &[&PROCESSOR_CPI];

/// The provider of `Processor CPI` on this machine.
///
/// Counters are opened when something is asked of it, and stay open. Whether the machine has any is tried here by counting
/// the calling thread for a moment.
///
/// # Errors
///
/// When the machine has no such counters, with the cause in a sentence. That they may not be used (and whatever else may
/// pass) is told when values are asked for.
pub fn provider(roots: &Roots) -> Result<Box<dyn Provider>, Error> {
    match Cpi::new(Mode::ON_THREAD) {
        Err(error) if is_absence(error.kind()) => Err(error),
        _ => Ok(Box::new(ProcessorCpi::new(roots))),
    }
}

/// Every counter set that this module knows, whether this machine has it or not. Why it has not,
/// [`provider`] tells.
pub fn known_sets() -> impl Iterator<Item = Arc<CounterSetInfo>> {
    TABLES.iter().map(|set| set.info())
}

/// Whether an error says that the machine has no counters, now or ever.
fn is_absence(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::EventNotSupported { .. } | ErrorKind::NotSupported | ErrorKind::NoSystemCall)
}

/// Whether what went wrong may be over at the next sample.
fn may_pass(kind: ErrorKind) -> bool {
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

/// The set.
#[derive(Debug)]
struct ProcessorCpi {
    info: Arc<CounterSetInfo>,
    roots: Roots,
    counting: Counting,
    /// Who is online, where the counters do not tell.
    times: ProcessorTimes,
    online: Vec<u32>,
    instances: ProcessorInstances,
    sums: ProcessorSums,
    reasons: Reasons,
}

/// Where the counters are.
#[derive(Debug)]
enum Counting {
    /// Not asked for yet, or to be tried again.
    Closed,
    Open(Box<Cpi>),
    /// They cannot be opened.
    Refused,
}

/// Why values cannot be told, each made once.
#[derive(Debug)]
struct Reasons {
    never_ran: Arc<str>,
    no_counters: Arc<str>,
    no_busy_share: Arc<str>,
    /// The last error of opening or reading.
    error: Option<Arc<str>>,
    /// Whether that holds for this moment.
    has_error: bool,
}

impl Provider for ProcessorCpi {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if rows.wants_any(SHOWN) {
            self.measure();
        }
        self.look()?;
        self.tell(rows);
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
                    "the counters of a processor never ran in the interval, as others had the hardware: the \
                    next interval covers this one too; longer ones help"
                        .into(),
                no_counters: "a processor has no hardware counters".into(),
                no_busy_share: "this machine does not tell how busy a processor was".into(),
                error: None,
                has_error: false,
            },
        }
    }

    /// Reads the counters; opens them at first.
    fn measure(&mut self) {
        match &mut self.counting {
            Counting::Refused => {}
            Counting::Closed => match Cpi::new(Mode::SCALED) {
                Ok(cpi) => self.begin(cpi),
                Err(error) => {
                    if !may_pass(error.kind()) {
                        self.counting = Counting::Refused;
                    }
                    self.reasons.keep(&error);
                }
            },
            Counting::Open(cpi) => match complete(cpi.get_and_start().err()) {
                Ok(()) => {
                    self.reasons.has_error = false;
                    self.sums.add(cpi.last());
                }
                Err(error) => self.reasons.keep(&error),
            },
        }
    }

    /// Begins with counters that were opened: what they counted up to now belongs to no interval.
    fn begin(&mut self, mut cpi: Cpi) {
        match complete(cpi.get_and_start().err()) {
            Ok(()) => {
                self.reasons.has_error = false;
                self.sums.begin(cpi.last());
                self.counting = Counting::Open(Box::new(cpi));
            }
            Err(error) => self.reasons.keep(&error),
        }
    }

    /// Sees which processors are online.
    fn look(&mut self) -> Result<(), Failure> {
        self.online.clear();
        match self.counting {
            Counting::Open(_) => self.online.extend(self.sums.online()),
            Counting::Closed | Counting::Refused => {
                self.times.read()?;
                self.online.extend(self.times.processors().iter().map(|processor| processor.number));
                self.online.sort_unstable();
            }
        }
        self.instances.update(&self.roots, &self.online);
        Ok(())
    }

    fn tell(&self, rows: &mut Rows) {
        let wants_all = rows.wants_all_instances();
        for instance in self.instances.instances() {
            let key = &instance.key;
            if wants_all || rows.wants_instance(key.full_name(), key.id()) {
                let numbers = &self.instances.processors()[instance.members.clone()];
                set(&mut rows.push(key), &self.sums.over(numbers), &self.reasons);
            }
        }
    }
}

fn set(row: &mut Row<'_>, told: &Told, reasons: &Reasons) {
    let reason = match told.no_counts {
        _ if reasons.has_error => reasons.error.as_ref(),
        Some(NoCounts::NeverRan) => Some(&reasons.never_ran),
        Some(NoCounts::NoCounters) => Some(&reasons.no_counters),
        None => None,
    };
    if let Some(reason) = reason {
        return row.fail_all(SHOWN, reason);
    }
    let sums = &told.sums;
    row.set_with_base(CPI, sums.cycles, sums.elapsed_instructions);
    match told.has_busy_share {
        true => row.set_with_base(CPI_WHILE_BUSY, sums.busy_cycles, sums.busy_instructions),
        false => row.fail(CPI_WHILE_BUSY, &reasons.no_busy_share),
    }
    row.set_with_base(CORE_CPI, sums.core_cycles, sums.instructions);
    row.set(INSTRUCTIONS, sums.instructions);
    row.set(CORE_CYCLES, sums.core_cycles);
    row.set_with_base(RUNNING, sums.running_ns, sums.enabled_ns);
}

/// That counters never ran is told processor by processor: the reading is complete.
fn complete(error: Option<Error>) -> Result<(), Error> {
    match error {
        Some(error) if error.kind() != ErrorKind::NeverRan => Err(error),
        _ => Ok(()),
    }
}

impl Reasons {
    fn keep(&mut self, error: &Error) {
        self.has_error = true;
        let text = error.to_string();
        if self.error.as_deref() != Some(text.as_str()) {
            self.error = Some(text.into());
        }
    }
}

#[cfg(test)]
mod tests;
