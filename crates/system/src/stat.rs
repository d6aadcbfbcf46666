//! `/proc/stat`: processor times, context switches, forks, and how many threads run or wait for a device.

use tachograph_perflib::{ErrorCode, Failure, Moments};

use crate::Roots;
use crate::file::KeptFile;
use crate::scan::{number, words};
use crate::shared::{Reading, Shared};

/// The content of `/proc/stat` at one moment.
#[derive(Debug)]
pub(crate) struct Stat {
    file: KeptFile,
    processors: Vec<ProcessorLine>,
    context_switches: Option<u64>,
    forks: Option<u64>,
    running: Option<u64>,
    blocked: Option<u64>,
}

/// The line of a processor that is online.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorLine {
    /// The processor's number.
    pub number: u32,
    /// Its times; `None` where the line is broken.
    pub ticks: Option<ProcessorTicks>,
}

/// The times of a processor since the start of the machine, in the kernel's ticks. Guests' time is in `user` and `nice`
/// already.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProcessorTicks {
    /// Programs, guests included.
    pub user: u64,
    /// Programs of low priority.
    pub nice: u64,
    /// The kernel, interrupts apart.
    pub system: u64,
    /// Nothing to do.
    pub idle: u64,
    /// Nothing to do but to wait for a device.
    pub iowait: u64,
    /// Interrupts.
    pub irq: u64,
    /// Soft interrupts.
    pub softirq: u64,
}

impl ProcessorTicks {
    /// Time in which the processor did something. Time that a hypervisor gave to others is neither in it nor in
    /// [`total`](Self::total).
    pub fn busy(&self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq].into_iter().fold(0, u64::saturating_add)
    }

    /// All time of the processor: busy, idle, and waiting for a device.
    pub fn total(&self) -> u64 {
        self.busy().saturating_add(self.idle).saturating_add(self.iowait)
    }
}

/// The times of each processor, read anew each time with the file kept open.
#[derive(Debug)]
pub struct ProcessorTimes(Stat);

impl ProcessorTimes {
    /// Nothing is read yet.
    pub fn new(roots: &Roots) -> Self {
        Self(Stat::new(roots))
    }

    /// Reads them as they are now.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(&mut self) -> Result<(), Failure> {
        self.0.read(Moments::default())
    }

    /// The processors that were online at the last reading, in the kernel's order.
    pub fn processors(&self) -> &[ProcessorLine] {
        self.0.processors()
    }
}

/// The file, to be shared by those who are told from it.
pub(crate) fn shared(roots: &Roots) -> Shared<Stat> {
    Shared::new(Stat::new(roots))
}

impl Stat {
    fn new(roots: &Roots) -> Self {
        Self {
            file: KeptFile::new(roots.proc.join("stat")),
            processors: Vec::new(),
            context_switches: None,
            forks: None,
            running: None,
            blocked: None,
        }
    }

    /// The processors that are online, in the kernel's order.
    pub(crate) fn processors(&self) -> &[ProcessorLine] {
        &self.processors
    }

    /// Context switches since the start (`ctxt`).
    pub(crate) fn context_switches(&self) -> Option<u64> {
        self.context_switches
    }

    /// Processes and threads made since the start (`processes`).
    pub(crate) fn forks(&self) -> Option<u64> {
        self.forks
    }

    /// Threads that run or could run now, the reader among them (`procs_running`).
    pub(crate) fn running(&self) -> Option<u64> {
        self.running
    }

    /// Threads that wait for a device (`procs_blocked`).
    pub(crate) fn blocked(&self) -> Option<u64> {
        self.blocked
    }
}

impl Reading for Stat {
    fn read(&mut self, _at: Moments) -> Result<(), Failure> {
        let text = match self.file.read() {
            Ok(text) => text,
            Err(error) => {
                let reason = format!("{}: {error}", self.file.path().display());
                return Err(Failure::new(ErrorCode::NO_DATA, reason));
            }
        };
        // What follows the last line end was cut off within a number.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);

        self.processors.clear();
        for line in text.split(|&byte| byte == b'\n') {
            let Some(rest) = line.strip_prefix(b"cpu") else { break };
            let mut words = words(rest);
            // The sum of all processors has a blank after "cpu".
            if rest.first().is_some_and(u8::is_ascii_digit) {
                let number = words.next().and_then(number).and_then(|number| u32::try_from(number).ok());
                let Some(number) = number else { continue };
                let is_whole = line.as_ptr_range().end < text[..whole].as_ptr_range().end;
                let ticks = if is_whole { ticks(words) } else { None };
                self.processors.push(ProcessorLine { number, ticks });
            }
        }

        // From the end, so that the list of all interrupts, often most of the file, is not looked through.
        [self.context_switches, self.forks, self.running, self.blocked] = [None; 4];
        for line in text[..whole].rsplit(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let mut words = words(line);
            let field = match words.next() {
                Some(b"processes") => &mut self.forks,
                Some(b"procs_running") => &mut self.running,
                Some(b"procs_blocked") => &mut self.blocked,
                Some(b"ctxt") => {
                    self.context_switches = words.next().and_then(number);
                    break;
                }
                _ => continue,
            };
            *field = words.next().and_then(number);
        }
        Ok(())
    }
}

fn ticks<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<ProcessorTicks> {
    let mut next = || words.next().and_then(number);
    Some(ProcessorTicks {
        user: next()?,
        nice: next()?,
        system: next()?,
        idle: next()?,
        iowait: next()?,
        irq: next()?,
        softirq: next()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at};

    const WHOLE: &str = "cpu  3 0 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu7 10 20 30 40 50 60 70\n\
        intr 900 1 2 3\nctxt 11\nbtime 12\nprocesses 13\nprocs_running 14\nprocs_blocked 15\nsoftirq 16 17\n";

    #[test]
    fn fields() {
        let machine = Machine::new(&[("proc/stat", WHOLE)]);
        shared(&machine.roots)
            .at(at(1), |stat| {
                let numbers: Vec<_> = stat.processors().iter().map(|line| line.number).collect();
                assert_eq!(numbers, [0, 7]);
                let expected = ProcessorTicks {
                    user: 10,
                    nice: 20,
                    system: 30,
                    idle: 40,
                    iowait: 50,
                    irq: 60,
                    softirq: 70,
                };
                assert_eq!(stat.processors()[1].ticks, Some(expected));
                let rest = [stat.context_switches(), stat.forks(), stat.running(), stat.blocked()];
                assert_eq!(rest, [Some(11), Some(13), Some(14), Some(15)]);
            })
            .expect("read");
    }

    #[test]
    fn cut_at_every_byte() {
        for length in 0..WHOLE.len() {
            let machine = Machine::new(&[("proc/stat", &WHOLE[..length])]);
            shared(&machine.roots)
                .at(at(1), |stat| {
                    for line in stat.processors().iter().filter(|line| line.ticks.is_some()) {
                        assert!(line.number == 0 || line.ticks.is_some_and(|ticks| ticks.softirq == 70));
                    }
                    assert!(stat.context_switches().is_none_or(|value| value == 11), "{length}");
                    assert!(stat.blocked().is_none_or(|value| value == 15), "{length}");
                })
                .expect("read");
        }
    }

    #[test]
    fn read_once_a_moment() {
        let machine = Machine::new(&[("proc/stat", "ctxt 1\n")]);
        let shared = shared(&machine.roots);
        let context_switches = |moment| shared.at(moment, |stat| stat.context_switches()).expect("read");
        assert_eq!(context_switches(at(1)), Some(1));
        machine.write("proc/stat", "ctxt 2\n");
        assert_eq!(context_switches(at(1)), Some(1));
        assert_eq!(context_switches(at(2)), Some(2));
    }

    #[test]
    fn absent() {
        let machine = Machine::new(&[]);
        let failure = shared(&machine.roots).at(at(1), |_| ()).expect_err("no file");
        assert!(failure.reason.contains("proc/stat"), "{failure}");
    }
}
