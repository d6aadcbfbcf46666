//! The measured values of an interval: a row for each scope.

use serde::Serialize;
use tachograph_counters::civil::Moment;
use tachograph_cpi::{Counts, CpiData, Measured, ProcessorData, ProcessorState};

#[derive(Debug)]
pub(super) struct Sample {
    pub(super) at: Moment,
    pub(super) seconds: f64,
    /// The command or process, with its children.
    pub(super) process: Option<Row>,
    /// The sums over the processors.
    pub(super) system: Option<Row>,
    pub(super) processors: Vec<Row>,
}

/// The subject of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Process,
    System,
    Processor(usize),
}

/// The values of a scope. A missing value is `None`, not 0.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(skip)]
    pub(super) scope: Scope,
    pub(super) user_only: bool,
    pub(super) instructions: Option<u64>,
    pub(super) cycles: Option<u64>,
    pub(super) cycles_scaled: Option<u64>,
    pub(super) core_cycles: Option<u64>,
    pub(super) cpi: Option<f64>,
    pub(super) cpi_wb: Option<f64>,
    pub(super) core_cpi: Option<f64>,
    pub(super) idle_percent: Option<f64>,
    pub(super) busy_percent: Option<f64>,
    pub(super) counters_running_percent: Option<f64>,
}

impl Row {
    /// A row without any value.
    fn empty(scope: Scope, user_only: bool) -> Self {
        Self {
            scope,
            user_only,
            instructions: None,
            cycles: None,
            cycles_scaled: None,
            core_cycles: None,
            cpi: None,
            cpi_wb: None,
            core_cpi: None,
            idle_percent: None,
            busy_percent: None,
            counters_running_percent: None,
        }
    }

    /// The row of a command or process; without values if it was not counted.
    pub(super) fn from_process(counts: Option<&Counts>, user_only: bool) -> Self {
        let empty = Self::empty(Scope::Process, user_only);
        let Some(counts) = counts else { return empty };
        Self {
            instructions: Some(counts.instructions),
            cycles: Some(counts.cycles),
            core_cycles: Some(counts.core_cycles),
            cpi: counts.cpi(),
            core_cpi: counts.core_cpi(),
            counters_running_percent: counts.running_share().map(|share| 100.0 * share),
            ..empty
        }
    }

    fn from_measured(scope: Scope, measured: &Measured, is_counted: bool, data: &CpiData) -> Self {
        let mut row = Self::empty(scope, data.is_user_only);
        if data.is_scaled {
            row.busy_percent = measured.busy_percent();
            row.idle_percent = row.busy_percent.map(|busy| 100.0 - busy);
        }
        if is_counted {
            row.instructions = Some(measured.instructions);
            row.cycles = known_cycles(measured.cycles, measured);
            row.core_cycles = Some(measured.core_cycles);
            row.cpi = measured.cpi();
            row.core_cpi = measured.core_cpi();
            row.counters_running_percent = measured.running_share().map(|share| 100.0 * share);
        }
        if is_counted && row.busy_percent.is_some() {
            row.cycles_scaled = known_cycles(measured.cycles_scaled, measured);
            row.cpi_wb = measured.cpi_scaled();
        }
        row
    }
}

/// Returns `None` if instructions were counted but `cycles` is 0, which means that cycles were not counted.
fn known_cycles(cycles: u64, measured: &Measured) -> Option<u64> {
    (cycles != 0 || measured.instructions == 0).then_some(cycles)
}

impl Sample {
    /// Creates a sample without the system.
    pub(super) fn new(at: Moment, seconds: f64, process: Option<Row>) -> Self {
        Self { at, seconds, process, system: None, processors: Vec::new() }
    }

    /// Adds the system and, if requested, its online processors.
    pub(super) fn add_system(&mut self, data: &CpiData, with_processors: bool) {
        let is_counted = |processor: &ProcessorData| processor.state == ProcessorState::Measured;
        let has_counts = data.processors.iter().any(is_counted);
        self.system = Some(Row::from_measured(Scope::System, &data.system, has_counts, data));
        if with_processors {
            let online = data.processors.iter().enumerate();
            let online = online.filter(|(_, processor)| processor.state != ProcessorState::Offline);
            self.processors.extend(online.map(|(index, processor)| {
                let scope = Scope::Processor(index);
                Row::from_measured(scope, &processor.measured, is_counted(processor), data)
            }));
        }
    }

    /// All rows: the process, the system, the processors.
    pub(super) fn rows(&self) -> impl Iterator<Item = &Row> {
        self.process.iter().chain(&self.system).chain(&self.processors)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use tachograph_counters::civil::FileTime;

    use super::*;

    /// A processor that is 50 % busy.
    fn processor(state: ProcessorState, instructions: u64) -> ProcessorData {
        let measured = Measured {
            instructions,
            cycles: 4000,
            cycles_scaled: 2000,
            core_cycles: 1500,
            busy_ticks: 50,
            elapsed_ticks: 100,
            enabled_ns: 1000,
            running_ns: 250,
        };
        ProcessorData { state, measured }
    }

    /// Processors 0 and 2 are measured, 1 is offline.
    pub(crate) fn cpi_data() -> CpiData {
        let offline = ProcessorData::default();
        let processors = vec![
            processor(ProcessorState::Measured, 1000),
            offline,
            processor(ProcessorState::Measured, 3000),
        ];
        let mut system = Measured::default();
        processors.iter().for_each(|processor| system.add(&processor.measured));
        CpiData { processors, system, is_scaled: true, ..CpiData::default() }
    }

    /// A process and the system of [`cpi_data`].
    pub(crate) fn sample() -> Sample {
        let counts = Counts {
            instructions: 1_000_000,
            cycles: 2_000_000,
            core_cycles: 1_500_000,
            enabled_ns: 1000,
            running_ns: 500,
        };
        let at = Moment::from_local(FileTime(130_057_734_178_440_000), 480);
        let mut sample = Sample::new(at, 1.5, Some(Row::from_process(Some(&counts), true)));
        sample.add_system(&cpi_data(), true);
        sample
    }

    #[test]
    fn offline_processors_have_no_row() {
        let sample = sample();
        let scopes: Vec<Scope> = sample.rows().map(|row| row.scope).collect();
        assert_eq!(scopes, [Scope::Process, Scope::System, Scope::Processor(0), Scope::Processor(2)]);
        let system = sample.system.expect("the system");
        assert_eq!((system.instructions, system.cpi, system.cpi_wb), (Some(4000), Some(2.0), Some(1.0)));
        assert_eq!((system.core_cpi, system.counters_running_percent), (Some(0.75), Some(25.0)));
        assert_eq!((system.idle_percent, system.busy_percent), (Some(50.0), Some(50.0)));
        assert_eq!(sample.processors[1].cpi, Some(4.0 / 3.0));
    }

    #[test]
    fn missing_values_are_none() {
        let mut data = cpi_data();
        data.processors[0].state = ProcessorState::NoCounters;
        data.processors[2].state = ProcessorState::NeverRan;
        let mut sample = Sample::new(Moment::default(), 1.0, Some(Row::from_process(None, false)));
        sample.add_system(&data, true);
        for row in sample.rows() {
            assert_eq!((row.instructions, row.cycles_scaled, row.cpi), (None, None, None), "{row:?}");
            assert_eq!(row.busy_percent.is_some(), row.scope != Scope::Process, "{row:?}");
        }
        // A measurement without utilization, and an interval that is too short for shares.
        let (mut unscaled, mut short) = (cpi_data(), cpi_data());
        unscaled.is_scaled = false;
        short.system.elapsed_ticks = 0;
        for data in [unscaled, short] {
            let mut sample = Sample::new(Moment::default(), 1.0, None);
            sample.add_system(&data, false);
            let system = sample.system.expect("the system");
            assert_eq!((system.instructions, system.cpi), (Some(4000), Some(2.0)));
            assert_eq!((system.cycles_scaled, system.cpi_wb), (None, None));
            assert_eq!((system.idle_percent, system.busy_percent), (None, None));
            assert!(sample.processors.is_empty());
        }
    }
}
