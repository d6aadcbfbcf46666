//! The rows of the sets `Process` and `Process V2` that are not processes: `Idle`, `_Exited`, `_Unattributed`, `_Total`.

use std::sync::Arc;

use tachograph_perflib::{InstanceKey, Row, Rows};

use super::amounts::{Amounts, Outcome};
use super::machine_times::MachineTimes;
use super::process::RequestedFiles;
use super::process_set::{
    BLOCK_IO_WAIT, DELAYS, FAULTS, ProcessSet, RUN_QUEUE_WAIT, SYSTEM, USER, boot_time, set_delays, set_io,
    set_waits,
};
use super::table::*;
use super::value_error::{Reasons, ValueError};

/// The requested rows, and what they need.
#[derive(Clone, Copy, Debug)]
pub(super) struct WantedRows {
    pub(super) idle: bool,
    exited: bool,
    unattributed: bool,
    pub(super) total: bool,
    /// `None` if the times are not requested or cannot be read.
    pub(super) times: Option<MachineTimes>,
}

/// User time, system time and page faults.
type Values = [u64; 3];

impl ProcessSet {
    /// Whether the time of ended processes is requested.
    pub(super) fn wants_ended(&self, rows: &Rows) -> bool {
        rows.wants_any([PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME])
            && [&self.keys.exited, &self.keys.unattributed]
                .iter()
                .any(|key| rows.wants_instance(key.full_name(), 0))
    }

    /// Determines which of these rows are requested, and reads the machine's times if they need them.
    pub(super) fn wanted_machine_rows(&mut self, rows: &Rows) -> WantedRows {
        let wants = |key: &InstanceKey| rows.wants_instance(key.full_name(), 0);
        let mut wanted = WantedRows {
            idle: wants(&self.keys.idle),
            exited: wants(&self.keys.exited),
            unattributed: wants(&self.keys.unattributed),
            total: wants(&self.keys.total),
            times: None,
        };
        let needs_times = wanted.idle || wanted.unattributed || wanted.total;
        if needs_times && rows.wants_any([PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME, THREAD_COUNT]) {
            wanted.times = self.machine.read(rows.timestamps());
        }
        wanted
    }

    /// Adds the row of the idle threads.
    pub(super) fn push_idle(&self, rows: &mut Rows, times: Option<MachineTimes>) {
        let mut row = push(rows, &self.keys.idle);
        self.set_times(&mut row, times.map(|times| [0, times.idle, 0]));
        match times {
            Some(times) => row.set(THREAD_COUNT, times.processors),
            None => row.fail(THREAD_COUNT, &self.machine.reason),
        }
    }

    /// Adds the rows that follow the processes.
    pub(super) fn push_machine_rows(
        &mut self,
        rows: &mut Rows,
        wanted: WantedRows,
        amounts: Option<&Amounts>,
        requested: RequestedFiles,
    ) {
        let ended = *self.ended.ended_counts();
        // The counts that no process's row shows in the current interval.
        let exited = add_values(ended, *self.ended.started_counts());
        // The counts of all processes, from the start of each to its end.
        let processes = add_values([USER, SYSTEM, FAULTS].map(|index| self.sums.get(index)), ended);
        let remainder = wanted.times.map(|times| {
            let max_excess = self.ticks.per_second().saturating_mul(times.processors);
            let [user, system, _] = processes;
            self.unattributed.update([times.user, times.system], [user, system], max_excess);
            let [user, system] = self.unattributed.totals();
            [user, system, 0]
        });
        if wanted.exited {
            let mut row = push(rows, &self.keys.exited);
            self.set_times(&mut row, Some(exited));
            if self.exit_records.is_lossy {
                for id in [PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME] {
                    row.report_incomplete(id, &self.exit_records.loss);
                }
            }
        }
        if wanted.unattributed {
            let mut row = push(rows, &self.keys.unattributed);
            self.set_times(&mut row, remainder);
        }
        if let Some(amounts) = amounts {
            let times = wanted.times.zip(remainder);
            self.push_total(rows, amounts, processes, times, requested);
        }
    }

    fn push_total(
        &self,
        rows: &mut Rows,
        amounts: &Amounts,
        processes: Values,
        times: Option<(MachineTimes, Values)>,
        requested: RequestedFiles,
    ) {
        let mut row = push(rows, &self.keys.total);
        let all =
            times.map(|(times, remainder)| add_values(add_values(processes, remainder), [0, times.idle, 0]));
        self.set_times(&mut row, all);
        row.set(PAGE_FAULTS, processes[FAULTS]);
        row.set(VIRTUAL_BYTES, amounts.virtual_bytes);
        match times {
            Some((times, _)) => row.set(THREAD_COUNT, amounts.threads + times.processors),
            None => row.fail(THREAD_COUNT, &self.machine.reason),
        }
        if requested.memory {
            match amounts.memory.reason() {
                None => {
                    row.set(VIRTUAL_BYTES_PEAK, amounts.virtual_peak);
                    row.set(WORKING_SET_PEAK, amounts.resident_peak);
                    row.set(WORKING_SET, amounts.resident);
                    row.set(PAGE_FILE_BYTES, amounts.swapped);
                    row.set(PRIVATE_BYTES, amounts.anonymous + amounts.swapped);
                    row.set(WORKING_SET_PRIVATE, amounts.anonymous);
                }
                Some(reason) => {
                    row.fail_all(FROM_STATUS.into_iter().chain(FROM_STATM), self.memory_reasons.text(reason));
                }
            }
        }
        if requested.handles {
            match amounts.handles_read.reason() {
                None => row.set(HANDLE_COUNT, amounts.handles),
                Some(reason) => row.fail(HANDLE_COUNT, self.handles_reasons.text(reason)),
            }
        }
        if requested.io {
            match amounts.io.reason() {
                None => set_io(&mut row, self.all_io.ended_counts()),
                Some(reason) => row.fail_all(FROM_IO, self.io_reasons.text(reason)),
            }
        }
        if requested.waits.any() {
            match amounts.waits.reason() {
                None => {
                    let (run_queue, block_io) = (self.sums.get(RUN_QUEUE_WAIT), self.sums.get(BLOCK_IO_WAIT));
                    set_waits(&mut row, run_queue, block_io, self.ticks);
                }
                Some(reason) => row.fail_all(FROM_WAITS, self.waits_reasons.text(reason)),
            }
        }
        if requested.delays {
            match amounts.delays.reason() {
                None => set_delays(&mut row, |index| self.sums.get(DELAYS + index)),
                Some(reason) => row.fail_all(FROM_DELAYS, self.delays_reasons.text(reason)),
            }
        }
        report_denied(&mut row, &amounts.io, FROM_IO, &self.io_reasons);
        report_denied(&mut row, &amounts.handles_read, [HANDLE_COUNT], &self.handles_reasons);
        report_denied(&mut row, &amounts.waits, FROM_WAITS, &self.waits_reasons);
        report_denied(&mut row, &amounts.delays, FROM_DELAYS, &self.delays_reasons);
    }

    /// Sets times and page faults.
    fn set_times(&self, row: &mut Row<'_>, values: Option<Values>) {
        let Some([user, system, faults]) = values else {
            return row.fail_all([PROCESSOR_TIME, USER_TIME, PRIVILEGED_TIME], &self.machine.reason);
        };
        row.set(PROCESSOR_TIME, self.ticks.hundred_ns(user.saturating_add(system)));
        row.set(USER_TIME, self.ticks.hundred_ns(user));
        row.set(PRIVILEGED_TIME, self.ticks.hundred_ns(system));
        row.set(PAGE_FAULTS, faults);
    }
}

/// Reports sums that lack processes of other users.
fn report_denied(
    row: &mut Row<'_>,
    outcome: &Outcome,
    ids: impl IntoIterator<Item = u32>,
    reasons: &Reasons,
) {
    if outcome.is_incomplete() {
        ids.into_iter().for_each(|id| row.report_incomplete(id, reasons.text(ValueError::Denied)));
    }
}

/// Adds a row whose values are 0, with the uptime as elapsed time.
fn push<'a>(rows: &'a mut Rows, key: &Arc<InstanceKey>) -> Row<'a> {
    let boot = boot_time(rows.timestamps());
    let mut row = rows.push(key);
    let others = [HANDLE_COUNT, ID_PROCESS];
    let of_files = FROM_STAT.into_iter().chain(FROM_STATM).chain(FROM_STATUS).chain(FROM_IO);
    for id in of_files.chain(FROM_WAITS).chain(FROM_DELAYS).chain(others) {
        row.set(id, 0);
    }
    row.set(ELAPSED_TIME, boot);
    row
}

fn add_values(left: Values, right: Values) -> Values {
    std::array::from_fn(|index| left[index].saturating_add(right[index]))
}
