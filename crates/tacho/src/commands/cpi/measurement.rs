//! Taking samples: when, and of what.

use std::time::{Duration, Instant, SystemTime};

use jiff::Zoned;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_cpi::{Cpi, CpiData, Error, ErrorKind, Mode, Options, ProcessCpi, ProcessorState};
use tachograph_flow::Cadence;
use tachograph_system::{Roots, processor_list};

use super::events::{Awaited, Events};
use super::report::Report;
use super::result::{Row, Sample};
use crate::arguments::CpiArguments;
use crate::failure::{Failure, say};

/// The counters of the system; shares of time alone, where counters are not to be had and shares are wanted.
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
    /// User code alone was asked for.
    user_only: bool,
    start_after: Option<Duration>,
    run: Option<Duration>,
    interval: Option<Duration>,
    /// When the interval began.
    begin: Instant,
    /// The bias of this machine at the start, in minutes, which holds for the whole run.
    bias_minutes: i32,
    /// The processors of the sample before; at first, those that are online.
    online: Vec<u32>,
    /// What was said: each thing once.
    said: Vec<String>,
}

/// The process that is measured.
enum Process {
    None,
    /// A command that could not be counted.
    Uncounted,
    Counted(ProcessCpi),
}

impl Measurement {
    /// A measurement that writes here. Where the system cannot be measured, that is said.
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
            bias_minutes: -(Zoned::now().offset().seconds() / 60),
            online: Vec::new(),
            said: Vec::new(),
        };
        match system {
            Ok(system) => {
                if let Some(error) = system.why_no_cpi() {
                    measurement.say_once(error);
                }
                measurement.system = Some(system);
                let [present, online] = ["present", "online"].map(listed_processors);
                let offline: Vec<String> = present
                    .iter()
                    .filter(|number| !online.contains(number))
                    .map(|number| format!("CPU{number}"))
                    .collect();
                if !offline.is_empty() {
                    measurement.say_once(format_args!("offline, and left out: {}", offline.join(", ")));
                }
                measurement.online = online;
            }
            Err(error) => {
                measurement.say_once(error);
                if arguments.trace.is_some() {
                    measurement.say_once("--trace: hooks hold what the system does, so that there are none");
                }
            }
        }
        measurement
    }

    /// Measures this process too, from now on. Where it cannot be counted, that is said.
    pub(super) fn add_process(&mut self, process: Result<ProcessCpi, Error>) {
        self.process = match process {
            Ok(process) => Process::Counted(process),
            Err(error) => {
                self.say_once(error);
                Process::Uncounted
            }
        };
        // The same interval for both. What cannot be read now cannot be read at the end either, and is said then.
        if let Some(system) = &mut self.system {
            let _ = system.start();
        }
        self.begin = Instant::now();
    }

    /// Says what a reader should know of how the system is measured.
    fn say_notes(&mut self) {
        if let Some(system) = self.system.take() {
            system.notes().iter().for_each(|note| self.say_once(note));
            self.system = Some(system);
        }
    }

    fn say_once(&mut self, what: impl ToString) {
        let what = what.to_string();
        if !self.said.contains(&what) {
            say(&what);
            self.said.push(what);
        }
    }

    /// Takes samples until the end; `false` where it came before the begin.
    pub(super) fn run(&mut self, events: &Events) -> Result<bool, Failure> {
        if let Some(delay) = self.start_after {
            if events.wait(Some(Instant::now() + delay)) != Awaited::Moment {
                return Ok(false);
            }
            self.start()?;
        }
        let begin = self.begin;
        let end = self.run.map(|run| begin + run);
        let mut cadence = self.interval.map(|interval| Cadence::new(begin, interval));
        // The interval before the first sample begins here.
        cadence.iter_mut().for_each(|cadence| cadence.advance(begin));
        loop {
            let next = cadence.as_ref().map(Cadence::due);
            let until = [end, next].into_iter().flatten().min();
            let awaited = events.wait(until);
            self.take()?;
            if awaited != Awaited::Moment || until == end {
                return Ok(true);
            }
            cadence.iter_mut().for_each(|cadence| cadence.advance(Instant::now()));
        }
    }

    fn start(&mut self) -> Result<(), Failure> {
        if let Process::Counted(process) = &mut self.process {
            process.start().map_err(Failure::work)?;
        }
        if let Some(system) = &mut self.system {
            system.start().map_err(Failure::work)?;
        }
        self.begin = Instant::now();
        Ok(())
    }

    /// Takes a sample and writes it. The next interval begins here.
    fn take(&mut self) -> Result<(), Failure> {
        let process = self.take_process();
        // Before the system is measured, which may look at idle processors for a while.
        let (now, utc) = (Instant::now(), FileTime::from_system_time(SystemTime::now()));
        let mut trouble = None;
        let data = match &mut self.system {
            None => None,
            Some(system) => match system.get_and_start() {
                Ok(_) => Some(system.last()),
                // Shares of time are there all the same.
                Err(error) if error.kind() == ErrorKind::NeverRan => {
                    trouble = Some(error);
                    Some(system.last())
                }
                // The process is still counted.
                Err(error) if process.is_some() => {
                    trouble = Some(error);
                    None
                }
                Err(error) => return Err(Failure::work(error)),
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
        let online: Vec<u32> = data.map(there).unwrap_or_default();
        self.report.write(&sample, data)?;
        let gone: Vec<u32> = self.online.iter().copied().filter(|number| !online.contains(number)).collect();
        for number in gone {
            self.say_once(format_args!(
                "processor {number} was offline in an interval, and is left out of it"
            ));
        }
        self.online = online;
        self.say_notes();
        if let Some(error) = trouble {
            self.say_once(error);
        }
        Ok(())
    }

    fn take_process(&mut self) -> Option<Row> {
        let process = match &mut self.process {
            Process::None => return None,
            Process::Uncounted => return Some(Row::of_process(None, self.user_only)),
            Process::Counted(process) => process,
        };
        let user_only = process.is_user_only();
        let counts = process.get_and_start();
        let row = Row::of_process(counts.as_ref().ok(), user_only);
        if let Err(error) = counts {
            self.say_once(error);
        }
        Some(row)
    }

    /// Ends what is written.
    pub(super) fn finish(&self) -> Result<(), Failure> {
        self.report.finish()
    }
}

/// The processors that the kernel lists in a file of this name.
fn listed_processors(name: &str) -> Vec<u32> {
    let file = Roots::of_this_machine().sys.join("devices/system/cpu").join(name);
    processor_list(&std::fs::read(file).unwrap_or_default())
}

/// The processors that were there in the whole interval.
fn there(data: &CpiData) -> Vec<u32> {
    let states = (0..).zip(&data.processors).map(|(number, processor)| (number, processor.state));
    states.filter(|(_, state)| *state != ProcessorState::Offline).map(|(number, _)| number).collect()
}
