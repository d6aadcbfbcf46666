//! Machines that cannot be read for some time.

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tachograph_perflib::{ErrorCode, Failure};

use super::super::LiveReport;

/// The beginning or the end of an outage of a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MachineEvent {
    /// The machine cannot be read. Its values are missing until it answers again.
    Silent {
        /// The machine.
        machine: Arc<str>,
        /// Why it cannot be read.
        reason: Arc<str>,
    },
    /// The machine answers again.
    Answers {
        /// The machine.
        machine: Arc<str>,
        /// The duration of the outage.
        after: Duration,
    },
}

impl fmt::Display for MachineEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Silent { machine, reason } => write!(f, r"\\{machine}: {reason}; continuing without it"),
            Self::Answers { machine, after } => {
                write!(f, r"\\{machine}: answers again after {:.1} s", after.as_secs_f64())
            }
        }
    }
}

/// Receives the events of each sample in which there are any.
pub type OnMachineEvents = Box<dyn FnMut(&[MachineEvent]) + Send>;

/// Why a machine has no values in a sample.
pub(super) struct MissingAnswer {
    pub(super) reason: Arc<str>,
    /// Whether the next sample usually has values, so that one such sample is no outage.
    pub(super) is_usually_brief: bool,
}

impl MissingAnswer {
    pub(super) fn of_failure(failure: &Failure) -> Self {
        // Without data: the agent was restarted, and answers.
        let is_usually_brief = matches!(failure.code, ErrorCode::TIMEOUT | ErrorCode::NO_DATA);
        Self { reason: Arc::clone(&failure.reason), is_usually_brief }
    }

    pub(super) fn late(reason: &Arc<str>) -> Self {
        Self { reason: Arc::clone(reason), is_usually_brief: true }
    }
}

/// The state of a machine over its samples.
#[derive(Default)]
pub(super) enum Availability {
    #[default]
    Answering,
    /// The last sample had no values, for a reason that is usually brief.
    Missed { since: Instant, reason: Arc<str> },
    /// In an outage, which was reported.
    Silent { since: Instant },
}

impl Availability {
    /// Records that a sample has no values. Returns the event if an outage begins.
    pub(super) fn miss(
        &mut self,
        machine: &Arc<str>,
        missing: MissingAnswer,
        report: &LiveReport,
    ) -> Option<MachineEvent> {
        let since = match self {
            Self::Answering if missing.is_usually_brief => {
                *self = Self::Missed { since: Instant::now(), reason: missing.reason };
                return None;
            }
            Self::Answering => Instant::now(),
            Self::Missed { since, .. } => {
                report.count_silent();
                *since
            }
            Self::Silent { .. } => {
                report.count_silent();
                return None;
            }
        };
        *self = Self::Silent { since };
        report.begin_outage(machine, &missing.reason);
        report.count_silent();
        Some(MachineEvent::Silent { machine: Arc::clone(machine), reason: missing.reason })
    }

    /// Records that a sample has values. Returns the event if an outage ends.
    pub(super) fn answer(&mut self, machine: &Arc<str>, report: &LiveReport) -> Option<MachineEvent> {
        match std::mem::take(self) {
            Self::Answering => None,
            Self::Missed { reason, .. } => {
                report.add_machine_error(machine, &reason);
                None
            }
            Self::Silent { since } => {
                report.end_outage(machine);
                Some(MachineEvent::Answers { machine: Arc::clone(machine), after: since.elapsed() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_sample_without_an_answer_is_no_outage_if_the_reason_is_usually_brief() {
        let (machine, report) = (Arc::from("db"), LiveReport::default());
        let late = Arc::from("no answer in time");
        let mut availability = Availability::default();
        for _ in 0..2 {
            assert_eq!(availability.miss(&machine, MissingAnswer::late(&late), &report), None);
            assert_eq!(availability.answer(&machine, &report), None);
        }
        // Such samples are one cause.
        let errors = report.errors();
        assert_eq!((errors.len(), errors[0].count, report.outages().len()), (1, 2, 0));

        availability.miss(&machine, MissingAnswer::late(&late), &report);
        let begins = availability.miss(&machine, MissingAnswer::late(&late), &report);
        assert!(matches!(begins, Some(MachineEvent::Silent { .. })) && report.outages().len() == 1);
        assert_eq!(availability.miss(&machine, MissingAnswer::late(&late), &report), None);
        let ends = availability.answer(&machine, &report);
        assert!(matches!(ends, Some(MachineEvent::Answers { .. })) && report.outages().is_empty());

        let refused = Failure::new(ErrorCode::SERVER_UNAVAILABLE, "refused").of_machine();
        let begins = availability.miss(&machine, MissingAnswer::of_failure(&refused), &report);
        assert_eq!(
            begins.map(|event| event.to_string()).as_deref(),
            Some(r"\\db: refused; continuing without it")
        );
    }
}
