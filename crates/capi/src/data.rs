//! `CPI_DATA` in its C layout.

use tachograph_cpi::{CpiData, Mode, ProcessorState};

use crate::code::Code;
use crate::failure::Failure;

/// Capacity of [`CpiDataBlock`] in processors: `MAX_CPUS` of perfutil.h, part of the binary interface.
pub const MAX_CPUS: usize = 1024;

/// `CPI_DATA`. Unknown values are NaN. Values of processors that are offline or do not exist, and values that the mode
/// does not include, are 0.
#[derive(Clone, Debug, PartialEq)]
#[repr(C)]
pub struct CpiDataBlock {
    /// The highest id of a measured processor, plus 1; 0 if none is measured.
    pub num_cpus: i32,
    /// The thread that created the handle.
    pub tid: u32,
    /// Length of the interval in ticks of the clock.
    pub elapsed_cycles: u64,
    /// CPI of each processor, idle time included.
    pub raw_cpi: [f64; MAX_CPUS],
    /// CPI of the system, idle time included.
    pub raw_sys_cpi: f64,
    /// CPI of each processor while busy.
    pub scaled_cpi: [f64; MAX_CPUS],
    /// CPI of the system while busy.
    pub scaled_sys_cpi: f64,
    /// Busy share of each processor in percent.
    pub cpu_busy: [f64; MAX_CPUS],
    /// Busy share of the system in percent.
    pub sys_busy: f64,
    /// CPI of the thread that created the handle.
    pub thread_cpi: f64,
}

impl CpiDataBlock {
    /// Creates a block of zeros.
    pub(crate) fn boxed() -> Box<Self> {
        let zeros = || [0.0; MAX_CPUS];
        Box::new(Self {
            num_cpus: 0,
            tid: 0,
            elapsed_cycles: 0,
            raw_cpi: zeros(),
            raw_sys_cpi: 0.0,
            scaled_cpi: zeros(),
            scaled_sys_cpi: 0.0,
            cpu_busy: zeros(),
            sys_busy: 0.0,
            thread_cpi: 0.0,
        })
    }

    /// Copies measurements into the block.
    ///
    /// # Errors
    ///
    /// `PU_ERROR_INSUFFICIENT_BUFFER` for more processors than `MAX_CPUS`. `PU_ERROR_INVALID_CPI_DATA` for an interval
    /// without a CPI; the block is still filled.
    pub(crate) fn fill(&mut self, measured: &CpiData, mode: Mode) -> Result<(), Failure> {
        let count = measured.processors.len();
        if count > MAX_CPUS {
            return Err(Failure::new(
                Code::PU_ERROR_INSUFFICIENT_BUFFER,
                format!(
                    "The highest processor number of this machine is {}, but CPI_DATA has room for only {MAX_CPUS} processors \
                     (MAX_CPUS): use 'tacho cpi', which has no such limit.",
                    count - 1
                ),
            ));
        }
        let or_nan = |value: Option<f64>| value.unwrap_or(f64::NAN);
        let has_processors = mode.has_processors();
        let previous_count = usize::try_from(self.num_cpus).unwrap_or(MAX_CPUS).min(MAX_CPUS);
        self.num_cpus = i32::try_from(count).expect("at most MAX_CPUS");
        self.tid = measured.tid;
        self.elapsed_cycles = measured.elapsed_cycles;
        // The values of processors that have disappeared since the last call become 0 again.
        for index in 0..count.max(previous_count) {
            let processor =
                measured.processors.get(index).filter(|found| found.state != ProcessorState::Offline);
            let raw = processor.map(|processor| &processor.measured);
            self.raw_cpi[index] = raw.map_or(0.0, |values| or_nan(values.cpi()));
            let scaled = raw.filter(|_| measured.is_scaled);
            self.scaled_cpi[index] = scaled.map_or(0.0, |values| or_nan(values.cpi_scaled()));
            self.cpu_busy[index] = scaled.map_or(0.0, |values| or_nan(values.busy_percent()));
        }
        let raw = has_processors.then_some(&measured.system);
        self.raw_sys_cpi = raw.map_or(0.0, |values| or_nan(values.cpi()));
        let scaled = raw.filter(|_| measured.is_scaled);
        self.scaled_sys_cpi = scaled.map_or(0.0, |values| or_nan(values.cpi_scaled()));
        self.sys_busy = scaled.map_or(0.0, |values| or_nan(values.busy_percent()));
        self.thread_cpi = match (&measured.thread, mode.has(Mode::ON_THREAD)) {
            (Some(thread), _) => or_nan(thread.cpi()),
            (None, true) => f64::NAN,
            (None, false) => 0.0,
        };
        let cpi = if has_processors { self.raw_sys_cpi } else { self.thread_cpi };
        if cpi.is_nan() {
            return Err(Failure::new(
                Code::PU_ERROR_INVALID_CPI_DATA,
                "No instruction was counted in the interval, so there is no CPI: measure a longer interval.",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tachograph_cpi::{Counts, Measured, ProcessorData};

    use super::*;

    fn measured(instructions: u64, cycles: u64, busy_ticks: u64, elapsed_ticks: u64) -> Measured {
        let cycles_scaled = cycles * busy_ticks / elapsed_ticks;
        Measured { instructions, cycles, cycles_scaled, busy_ticks, elapsed_ticks, ..Measured::default() }
    }

    /// Two measured processors of three; the second one is offline.
    fn two_of_three() -> CpiData {
        let on = |measured| ProcessorData { state: ProcessorState::Measured, measured };
        CpiData {
            elapsed_cycles: 1_000_000,
            processors: vec![
                on(measured(400_000, 1_000_000, 50, 100)),
                ProcessorData::default(),
                on(measured(100_000, 1_000_000, 25, 100)),
            ],
            system: measured(500_000, 2_000_000, 75, 200),
            is_scaled: true,
            tid: 4242,
            thread: Some(Counts { instructions: 300_000, cycles: 450_000, ..Counts::default() }),
            ..CpiData::default()
        }
    }

    #[test]
    fn values_are_copied_to_the_members_of_the_block() {
        let mut block = CpiDataBlock::boxed();
        block.fill(&two_of_three(), Mode::RAW | Mode::SCALED | Mode::ON_THREAD).expect("a CPI");
        assert_eq!((block.num_cpus, block.tid, block.elapsed_cycles), (3, 4242, 1_000_000));
        assert_eq!(block.raw_cpi[..4], [2.5, 0.0, 10.0, 0.0]);
        assert_eq!(block.scaled_cpi[..4], [1.25, 0.0, 2.5, 0.0]);
        assert_eq!(block.cpu_busy[..4], [50.0, 0.0, 25.0, 0.0]);
        assert_eq!((block.raw_sys_cpi, block.scaled_sys_cpi), (4.0, 1.5));
        assert_eq!((block.sys_busy, block.thread_cpi), (37.5, 1.5));
    }

    #[test]
    fn values_of_missing_processors_and_unmeasured_kinds_become_zero_again() {
        let mut block = CpiDataBlock::boxed();
        let mut data = two_of_three();
        block.fill(&data, Mode::ALL).expect("a CPI");
        data.processors.truncate(1);
        data.is_scaled = false;
        data.thread = None;
        block.fill(&data, Mode::RAW).expect("a CPI");
        assert_eq!(block.num_cpus, 1);
        assert_eq!(block.raw_cpi[..3], [2.5, 0.0, 0.0]);
        assert_eq!(block.scaled_cpi[..3], [0.0; 3]);
        assert_eq!(block.cpu_busy[..3], [0.0; 3]);
        assert_eq!((block.scaled_sys_cpi, block.sys_busy, block.thread_cpi), (0.0, 0.0, 0.0));
    }

    #[test]
    fn a_thread_can_be_measured_alone() {
        let mut block = CpiDataBlock::boxed();
        let data = CpiData { processors: Vec::new(), system: Measured::default(), ..two_of_three() };
        block.fill(&data, Mode::ON_THREAD).expect("a CPI of the thread");
        assert_eq!((block.num_cpus, block.raw_sys_cpi, block.thread_cpi), (0, 0.0, 1.5));
        let idle = CpiData { thread: Some(Counts::default()), ..data };
        let failure = block.fill(&idle, Mode::ON_THREAD).expect_err("no instructions");
        assert_eq!(failure.code, Code::PU_ERROR_INVALID_CPI_DATA);
        assert!(block.thread_cpi.is_nan());
    }

    #[test]
    fn an_interval_without_instructions_fills_the_block_and_is_an_error() {
        let mut block = CpiDataBlock::boxed();
        let mut data = two_of_three();
        data.system.instructions = 0;
        data.processors[0].measured.instructions = 0;
        let failure = block.fill(&data, Mode::RAW | Mode::SCALED).expect_err("no instructions");
        assert_eq!(failure.code, Code::PU_ERROR_INVALID_CPI_DATA);
        assert!(block.raw_sys_cpi.is_nan() && block.scaled_sys_cpi.is_nan() && block.raw_cpi[0].is_nan());
        assert_eq!((block.sys_busy, block.cpu_busy[0], block.raw_cpi[2]), (37.5, 50.0, 10.0));
    }

    #[test]
    fn an_unknown_busy_share_is_nan() {
        let mut block = CpiDataBlock::boxed();
        let mut data = two_of_three();
        for measured in [&mut data.system, &mut data.processors[0].measured] {
            (measured.busy_ticks, measured.elapsed_ticks, measured.cycles_scaled) = (0, 0, 0);
        }
        block.fill(&data, Mode::RAW | Mode::SCALED).expect("raw CPI is known");
        assert!(block.sys_busy.is_nan() && block.scaled_sys_cpi.is_nan());
        assert!(block.cpu_busy[0].is_nan() && block.scaled_cpi[0].is_nan());
        assert_eq!((block.raw_cpi[0], block.cpu_busy[2]), (2.5, 25.0));
        // Idle for the whole interval: the busy share is 0, and the CPI while busy is unknown.
        data.processors[0].measured.elapsed_ticks = 100;
        block.fill(&data, Mode::RAW | Mode::SCALED).expect("raw CPI is known");
        assert_eq!(block.cpu_busy[0], 0.0);
        assert!(block.scaled_cpi[0].is_nan());
    }

    #[test]
    fn more_processors_than_max_cpus_are_an_error() {
        let mut block = CpiDataBlock::boxed();
        let mut data = two_of_three();
        data.processors.resize(MAX_CPUS, data.processors[0]);
        block.fill(&data, Mode::RAW).expect("1,024 processors fit");
        assert_eq!((block.num_cpus, block.raw_cpi[MAX_CPUS - 1]), (1024, 2.5));
        data.processors.push(data.processors[0]);
        let failure = block.fill(&data, Mode::RAW).expect_err("1,025 processors do not fit");
        assert_eq!(failure.code, Code::PU_ERROR_INSUFFICIENT_BUFFER);
        assert!(failure.text.contains("is 1024,"), "{}", failure.text);
    }
}
