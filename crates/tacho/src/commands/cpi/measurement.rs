//! Takes samples of the system and of a process.

use std::time::{Duration, Instant, SystemTime};

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_cpi::{Cpi, CpiData, Error, ErrorKind, Mode, Options, ProcessCpi, ProcessorState};
use tachograph_flow::Cadence;
use tachograph_system::{Roots, processor_list};

use super::events::{Events, WaitResult};
use super::report::Report;
use super::sample::{Row, Sample};
use crate::arguments::CpiArguments;
use crate::failure::{Failure, notify};
use crate::this_machine::current_zone;

/// Opens the system's hardware counters. If they are unavailable, only the idle and busy shares are measured; with
/// -noai, this is an error instead.
pub(super) fn open_system(arguments: &CpiArguments) -> Result<Cpi, Error> {
    let with_shares = !arguments.no_utilization;
    Cpi::new(Options {
        mode: if with_shares { Mode::RAW | Mode::SCALED } else { Mode::RAW },
        user_only: arguments.user_only,
        or_shares_only: with_shares,
        ..Options::default()
    })
}

/// A measurement of the system, and of a process or a command.
pub(super) struct Measurement {
    report: Report,
    system: Option<Cpi>,
    process: Process,
    with_processors: bool,
    user_only: bool,
    start_after: Option<Duration>,
    run: Option<Duration>,
    interval: Option<Duration>,
    /// The start of the current interval.
    begin: Instant,
    /// The number of minutes to add to local time to get UTC. Determined at the start, for the whole measurement.
    bias_minutes: i32,
    /// The processors that were online during the previous interval; initially, those that are online now.
    online: Vec<u32>,
    /// Notices that were already printed.
    notices: Vec<String>,
}

enum Process {
    None,
    /// A command that could not be counted.
    Uncounted,
    Counted(ProcessCpi),
}

impl Measurement {
    /// Creates a measurement that writes to `report`. If the system cannot be measured, prints why.
    pub(super) fn new(arguments: &CpiArguments, report: Report, system: Result<Cpi, Error>) -> Self {
        let mut measurement = Self {
            report,
            system: None,
            process: Process::None,
            with_processors: !arguments.system_only,
            user_only: arguments.user_only,
            start_after: arguments.start_after,
            run: arguments.run,
            interval: arguments.interval,
            begin: Instant::now(),
            bias_minutes: current_zone().bias_minutes,
            online: Vec::new(),
            notices: Vec::new(),
        };
        match system {
            Ok(system) => {
                if let Some(error) = system.why_no_cpi() {
                    measurement.notify_once(error);
                }
                measurement.system = Some(system);
                let [present, online] = ["present", "online"].map(listed_processors);
                let offline: Vec<String> = present
                    .iter()
                    .filter(|index| !online.contains(index))
                    .map(|index| format!("CPU{index}"))
                    .collect();
                if !offline.is_empty() {
                    measurement
                        .notify_once(format_args!("not measured, because offline: {}", offline.join(", ")));
                }
                measurement.online = online;
            }
            Err(error) => {
                measurement.notify_once(error);
                if arguments.trace.is_some() {
                    measurement
                        .notify_once("--trace: no hooks are written, because hooks describe the system");
                }
            }
        }
        measurement
    }

    /// Adds a process to the measurement. If it cannot be counted, prints why.
    pub(super) fn add_process(&mut self, process: Result<ProcessCpi, Error>) {
        self.process = match process {
            Ok(process) => Process::Counted(process),
            Err(error) => {
                self.notify_once(error);
                Process::Uncounted
            }
        };
        // Restart the system's interval, so that it starts together with that of the process. An error is reported when
        // the interval ends.
        if let Some(system) = &mut self.system {
            let _ = system.start();
        }
        self.begin = Instant::now();
    }

    /// Prints notes about how the system is measured.
    fn notify_notes(&mut self) {
        if let Some(system) = self.system.take() {
            system.notes().iter().for_each(|note| self.notify_once(note));
            self.system = Some(system);
        }
    }

    fn notify_once(&mut self, notice: impl ToString) {
        let notice = notice.to_string();
        if !self.notices.contains(&notice) {
            notify(&notice);
            self.notices.push(notice);
        }
    }

    /// Takes samples until the measurement ends; returns `false` if it ended before the delay of -s was over.
    pub(super) fn run(&mut self, events: &Events) -> Result<bool, Failure> {
        if let Some(delay) = self.start_after {
            if events.wait(Some(Instant::now() + delay)) != WaitResult::TimedOut {
                return Ok(false);
            }
            self.start()?;
        }
        let begin = self.begin;
        let end = self.run.map(|run| begin + run);
        let mut cadence = self.interval.map(|interval| Cadence::new(begin, interval));
        // The first interval starts here.
        cadence.iter_mut().for_each(|cadence| cadence.advance(begin));
        loop {
            let next = cadence.as_ref().map(Cadence::due);
            let until = [end, next].into_iter().flatten().min();
            let result = events.wait(until);
            self.sample()?;
            if result != WaitResult::TimedOut || until == end {
                return Ok(true);
            }
            cadence.iter_mut().for_each(|cadence| cadence.advance(Instant::now()));
        }
    }

    fn start(&mut self) -> Result<(), Failure> {
        if let Process::Counted(process) = &mut self.process {
            process.start().map_err(Failure::runtime)?;
        }
        if let Some(system) = &mut self.system {
            system.start().map_err(Failure::runtime)?;
        }
        self.begin = Instant::now();
        Ok(())
    }

    /// Takes and writes a sample, and starts the next interval.
    fn sample(&mut self) -> Result<(), Failure> {
        let process = self.sample_process();
        // The clocks are read before measuring the system, which can wait for idle processors.
        let (now, utc) = (Instant::now(), FileTime::from_system_time(SystemTime::now()));
        let mut system_error = None;
        let data = match &mut self.system {
            None => None,
            Some(system) => match system.get_and_start() {
                Ok(_) => Some(system.last()),
                // The idle and busy shares are still available.
                Err(error) if error.kind() == ErrorKind::NeverRan => {
                    system_error = Some(error);
                    Some(system.last())
                }
                // The process is still counted.
                Err(error) if process.is_some() => {
                    system_error = Some(error);
                    None
                }
                Err(error) => return Err(Failure::runtime(error)),
            },
        };
        let seconds = match data {
            Some(data) if process.is_none() => data.elapsed,
            _ => now - self.begin,
        };
        self.begin = now;
        let at = Moment { utc, bias_minutes: self.bias_minutes };
        let mut sample = Sample::new(at, seconds.as_secs_f64(), process);
        if let Some(data) = data {
            sample.add_system(data, self.with_processors);
        }
        let online: Vec<u32> = data.map(online_processors).unwrap_or_default();
        self.report.write(&sample, data)?;
        let offline: Vec<u32> = self.online.iter().copied().filter(|index| !online.contains(index)).collect();
        for index in offline {
            self.notify_once(format_args!(
                "processor {index} was offline during an interval, which does not include it"
            ));
        }
        self.online = online;
        self.notify_notes();
        if let Some(error) = system_error {
            self.notify_once(error);
        }
        Ok(())
    }

    fn sample_process(&mut self) -> Option<Row> {
        let process = match &mut self.process {
            Process::None => return None,
            Process::Uncounted => return Some(Row::from_process(None, self.user_only)),
            Process::Counted(process) => process,
        };
        let user_only = process.is_user_only();
        let counts = process.get_and_start();
        let row = Row::from_process(counts.as_ref().ok(), user_only);
        if let Err(error) = counts {
            self.notify_once(error);
        }
        Some(row)
    }

    pub(super) fn finish(&self) -> Result<(), Failure> {
        self.report.finish()
    }
}

/// Reads one of the kernel's processor lists, such as `online`.
fn listed_processors(name: &str) -> Vec<u32> {
    let file = Roots::of_this_machine().sys.join("devices/system/cpu").join(name);
    processor_list(&std::fs::read(file).unwrap_or_default())
}

/// The processors that were online during the whole interval.
fn online_processors(data: &CpiData) -> Vec<u32> {
    let states = (0..).zip(&data.processors).map(|(index, processor)| (index, processor.state));
    states.filter(|(_, state)| *state != ProcessorState::Offline).map(|(index, _)| index).collect()
}
