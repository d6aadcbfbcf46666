//! `/proc/stat`: processor times, context switches, forks, running and blocked threads.

use tachograph_perflib::{Failure, Reading, SharedReading, Timestamps};

use crate::open_file::OpenFile;
use crate::roots::Roots;
use crate::scan::{parse_number, words};

/// The content of `/proc/stat` at one moment.
#[derive(Debug)]
pub(crate) struct Stat {
    file: OpenFile,
    processors: Vec<ProcessorLine>,
    context_switches: Option<u64>,
    forks: Option<u64>,
    running: Option<u64>,
    blocked: Option<u64>,
}

/// The line of an online processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessorLine {
    /// The processor's id.
    pub id: u32,
    /// The processor's times; `None` if the line is malformed.
    pub ticks: Option<ProcessorTicks>,
}

/// The times of a processor since boot, in kernel ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct ProcessorTicks {
    /// User mode at normal priority, including guests (`guest`).
    pub user: u64,
    /// User mode at low priority (nice value above 0), including guests (`guest_nice`).
    pub nice: u64,
    /// Kernel mode, without interrupts.
    pub system: u64,
    /// Idle, without `iowait`.
    pub idle: u64,
    /// Idle while a thread waits for I/O.
    pub iowait: u64,
    /// Hardware interrupts.
    pub irq: u64,
    /// Soft interrupts.
    pub softirq: u64,
    /// Time in which the hypervisor ran something else while this virtual processor had work.
    pub steal: u64,
    /// Guests at normal priority; part of `user`.
    pub guest: u64,
    /// Guests at low priority; part of `nice`.
    pub guest_nice: u64,
}

impl ProcessorTicks {
    /// Busy time. Steal time is neither included here nor in [`total`](Self::total).
    pub fn busy(&self) -> u64 {
        [self.user, self.nice, self.system, self.irq, self.softirq].into_iter().fold(0, u64::saturating_add)
    }

    /// Busy, idle and iowait.
    pub fn total(&self) -> u64 {
        self.busy().saturating_add(self.idle).saturating_add(self.iowait)
    }
}

/// The times of each processor, re-read from a file that stays open.
#[derive(Debug)]
pub struct ProcessorTimes(Stat);

impl ProcessorTimes {
    /// Creates a reader; nothing is read yet.
    pub fn new(roots: &Roots) -> Self {
        Self(Stat::new(roots))
    }

    /// Reads the current times.
    ///
    /// # Errors
    ///
    /// When the file cannot be read.
    pub fn read(&mut self) -> Result<(), Failure> {
        self.0.read(Timestamps::default())
    }

    /// The processors that were online at the last read, in the kernel's order.
    pub fn processors(&self) -> &[ProcessorLine] {
        self.0.processors()
    }
}

/// `/proc/stat`, to be shared by several providers.
pub(crate) fn shared_stat(roots: &Roots) -> SharedReading<Stat> {
    SharedReading::new(Stat::new(roots))
}

impl Stat {
    fn new(roots: &Roots) -> Self {
        Self {
            file: OpenFile::in_one_piece(roots.proc.join("stat")),
            processors: Vec::new(),
            context_switches: None,
            forks: None,
            running: None,
            blocked: None,
        }
    }

    /// The online processors, in the kernel's order.
    pub(crate) fn processors(&self) -> &[ProcessorLine] {
        &self.processors
    }

    /// Context switches since boot (`ctxt`).
    pub(crate) fn context_switches(&self) -> Option<u64> {
        self.context_switches
    }

    /// Processes and threads created since boot (`processes`).
    pub(crate) fn fork_count(&self) -> Option<u64> {
        self.forks
    }

    /// Runnable threads, including the one that reads the file (`procs_running`).
    pub(crate) fn running_threads(&self) -> Option<u64> {
        self.running
    }

    /// Threads that wait for I/O (`procs_blocked`).
    pub(crate) fn blocked_threads(&self) -> Option<u64> {
        self.blocked
    }
}

impl Reading for Stat {
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        let text = self.file.read_or_fail()?;
        // A last line without a newline can end with a truncated number.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);

        self.processors.clear();
        for line in text.split(|&byte| byte == b'\n') {
            let Some(rest) = line.strip_prefix(b"cpu") else { break };
            let mut words = words(rest);
            // The sum of all processors has a blank after "cpu".
            if rest.first().is_some_and(u8::is_ascii_digit) {
                let id = words.next().and_then(parse_number).and_then(|id| u32::try_from(id).ok());
                let Some(id) = id else { continue };
                let is_whole = line.as_ptr_range().end < text[..whole].as_ptr_range().end;
                let ticks = if is_whole { ticks(words) } else { None };
                self.processors.push(ProcessorLine { id, ticks });
            }
        }

        // Search from the end, to skip the line of interrupt counts, which is often most of the file.
        [self.context_switches, self.forks, self.running, self.blocked] = [None; 4];
        for line in text[..whole].rsplit(|&byte| byte == b'\n').filter(|line| !line.is_empty()) {
            let mut words = words(line);
            let field = match words.next() {
                Some(b"processes") => &mut self.forks,
                Some(b"procs_running") => &mut self.running,
                Some(b"procs_blocked") => &mut self.blocked,
                Some(b"ctxt") => {
                    self.context_switches = words.next().and_then(parse_number);
                    break;
                }
                _ => continue,
            };
            *field = words.next().and_then(parse_number);
        }
        Ok(())
    }
}

fn ticks<'a>(mut words: impl Iterator<Item = &'a [u8]>) -> Option<ProcessorTicks> {
    let mut ticks = [0; 10];
    for (index, ticks) in ticks.iter_mut().enumerate() {
        match words.next() {
            Some(word) => *ticks = parse_number(word)?,
            // Steal and guest times are newer than the other fields.
            None if index >= 7 => {}
            None => return None,
        }
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice] = ticks;
    Some(ProcessorTicks { user, nice, system, idle, iowait, irq, softirq, steal, guest, guest_nice })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at};

    const WHOLE: &str = "cpu  3 0 0 0 0 0 0\ncpu0 1 2 3 4 5 6 7 8 9 10\ncpu7 10 20 30 40 50 60 70\n\
        intr 900 1 2 3\nctxt 11\nbtime 12\nprocesses 13\nprocs_running 14\nprocs_blocked 15\nsoftirq 16 17\n";

    #[test]
    fn all_fields_are_read() {
        let machine = Machine::new(&[("proc/stat", WHOLE)]);
        shared_stat(&machine.roots)
            .at(at(1), |stat| {
                let numbers: Vec<_> = stat.processors().iter().map(|line| line.id).collect();
                assert_eq!(numbers, [0, 7]);
                let expected = ProcessorTicks {
                    user: 10,
                    nice: 20,
                    system: 30,
                    idle: 40,
                    iowait: 50,
                    irq: 60,
                    softirq: 70,
                    ..ProcessorTicks::default()
                };
                assert_eq!(stat.processors()[1].ticks, Some(expected));
                let first = stat.processors()[0].ticks.expect("whole");
                assert_eq!([first.steal, first.guest, first.guest_nice], [8, 9, 10]);
                let rest = [
                    stat.context_switches(),
                    stat.fork_count(),
                    stat.running_threads(),
                    stat.blocked_threads(),
                ];
                assert_eq!(rest, [Some(11), Some(13), Some(14), Some(15)]);
            })
            .expect("read");
    }

    #[test]
    fn truncated_numbers_are_not_used() {
        for length in 0..WHOLE.len() {
            let machine = Machine::new(&[("proc/stat", &WHOLE[..length])]);
            shared_stat(&machine.roots)
                .at(at(1), |stat| {
                    for line in stat.processors().iter().filter(|line| line.ticks.is_some()) {
                        assert!(line.id == 0 || line.ticks.is_some_and(|ticks| ticks.softirq == 70));
                    }
                    assert!(stat.context_switches().is_none_or(|value| value == 11), "{length}");
                    assert!(stat.blocked_threads().is_none_or(|value| value == 15), "{length}");
                })
                .expect("read");
        }
    }

    #[test]
    fn the_file_is_read_once_per_moment() {
        let machine = Machine::new(&[("proc/stat", "ctxt 1\n")]);
        let shared = shared_stat(&machine.roots);
        let context_switches = |moment| shared.at(moment, |stat| stat.context_switches()).expect("read");
        assert_eq!(context_switches(at(1)), Some(1));
        machine.write("proc/stat", "ctxt 2\n");
        assert_eq!(context_switches(at(1)), Some(1));
        assert_eq!(context_switches(at(2)), Some(2));
    }

    #[test]
    fn the_error_of_a_missing_file_names_it() {
        let machine = Machine::new(&[]);
        let failure = shared_stat(&machine.roots).at(at(1), |_| ()).expect_err("no file");
        assert!(failure.reason.contains("proc/stat"), "{failure}");
    }
}
