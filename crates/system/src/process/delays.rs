//! How long a process waited for memory, from the kernel's statistics of tasks (generic netlink, taskstats).
//!
//! `struct taskstats` is described in the kernel's documents "Delay accounting" and "The struct taskstats".

use std::io;

use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use rustix::io::Errno;

use super::taskstats::{Statistics, Taskstats, unavailable_reason};
use super::value_error::ValueError;
use super::waits::check_delay_accounting;
use crate::roots::Roots;

/// The number of kinds of delays.
pub(super) const KINDS: usize = 4;

/// The nanoseconds that the threads of a process, including ended ones, have waited: for swap, for memory reclaim, for pages
/// that had just been evicted (thrashing), and for memory compaction. In the order of the counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Delays(pub(super) [u64; KINDS]);

/// Offsets in `struct taskstats`: `swapin_delay_total`, `freepages_delay_total`, `thrashing_delay_total` (Linux 5.0),
/// `compact_delay_total` (Linux 5.17).
const OFFSETS: [usize; KINDS] = [56, 320, 336, 360];

/// Reads the delays of processes, one request each.
#[derive(Debug)]
pub(super) struct DelayReader {
    /// Opened when delays are requested.
    taskstats: Option<Taskstats>,
}

impl DelayReader {
    pub(super) fn new() -> Self {
        Self { taskstats: None }
    }

    /// The delays of a process. The outer error means that the process has ended.
    pub(super) fn read(&mut self, pid: u32) -> Result<Result<Delays, ValueError>, Errno> {
        match self.try_read(pid) {
            Ok(delays) => Ok(delays.ok_or(ValueError::Malformed)),
            Err(error) => match error.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::SRCH) => Err(Errno::SRCH),
                error => {
                    // A late answer must not be mistaken for the answer about another process.
                    self.taskstats = None;
                    Ok(Err(error.map_or(ValueError::Unreadable, ValueError::from_errno)))
                }
            },
        }
    }

    fn try_read(&mut self, pid: u32) -> io::Result<Option<Delays>> {
        let taskstats = match &mut self.taskstats {
            Some(taskstats) => taskstats,
            none => none.insert(Taskstats::open()?),
        };
        let mut delays = None;
        taskstats.query_process(pid, &mut |statistics| delays = parse(statistics))?;
        Ok(delays)
    }

    #[cfg(test)]
    pub(super) fn is_open(&self) -> bool {
        self.taskstats.is_some()
    }

    /// Closes the socket until the next read.
    pub(super) fn close(&mut self) {
        self.taskstats = None;
    }
}

/// Checks that the kernel returns delays; otherwise returns the reason.
pub(super) fn check(roots: &Roots) -> Result<(), String> {
    check_delay_accounting(roots)?;
    // The kernel returns delays of this machine's processes, even if `roots.proc` is a copy of another machine's `/proc`.
    let is_procfs = statfs(&roots.proc).is_ok_and(|found| found.f_type == PROC_SUPER_MAGIC);
    if !is_procfs {
        return Err("taskstats: the processes are not those of this machine".to_owned());
    }
    let mut taskstats = Taskstats::open().map_err(|error| reason(&error))?;
    let mut delays = None;
    let own = taskstats.query_process(std::process::id(), &mut |statistics| delays = parse(statistics));
    own.map_err(|error| reason(&error))?;
    delays.map(drop).ok_or_else(|| "taskstats: too old (requires Linux 5.17)".to_owned())
}

fn reason(error: &io::Error) -> String {
    format!("taskstats: {}", unavailable_reason(error))
}

/// The delays in a `struct taskstats`; `None` if it is too short, as before Linux 5.17.
fn parse(statistics: Statistics<'_>) -> Option<Delays> {
    let mut delays = Delays::default();
    for (delay, offset) in delays.0.iter_mut().zip(OFFSETS) {
        *delay = statistics.number(offset)?;
    }
    Some(delays)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Like the kernel's getdelays: requests the delays of processes, and decodes them with the fields of
    /// linux/taskstats.h. Prints the offsets of the delays, then a line per process.
    const SCRIPT: &str = r#"
import ctypes, socket, struct, sys
u64, u32, u8 = ctypes.c_uint64, ctypes.c_uint32, ctypes.c_uint8
NAMES = """ac_sched:u32 ac_uid:u32 ac_gid:u32 ac_pid:u32 ac_ppid:u32 ac_btime:u32 ac_etime ac_utime ac_stime ac_minflt
ac_majflt coremem virtmem hiwater_rss hiwater_vm read_char write_char read_syscalls write_syscalls read_bytes write_bytes
cancelled_write_bytes nvcsw nivcsw ac_utimescaled ac_stimescaled cpu_scaled_run_real_total freepages_count
freepages_delay_total thrashing_count thrashing_delay_total ac_btime64 compact_count compact_delay_total""".split()
FIELDS = [("version", ctypes.c_uint16), ("ac_exitcode", u32), ("ac_flag", u8), ("ac_nice", u8)]
FIELDS += [(name, u64) for name in ("cpu_count", "cpu_delay_total", "blkio_count", "blkio_delay_total", "swapin_count",
           "swapin_delay_total", "cpu_run_real_total", "cpu_run_virtual_total")]
# ac_sched and ac_uid are aligned to 8 bytes.
FIELDS += [("ac_comm", u8 * 32), ("ac_sched", u8), ("ac_pad", u8 * 7), ("ac_uid", u32)]
FIELDS += [(name.split(":")[0], u32 if ":" in name else u64) for name in NAMES[2:]]
class Taskstats(ctypes.Structure):
    _fields_ = FIELDS
WANTED = ["swapin_delay_total", "freepages_delay_total", "thrashing_delay_total", "compact_delay_total"]
print(*(getattr(Taskstats, name).offset for name in WANTED))
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16)
def attributes(data):
    while len(data) >= 4:
        length, kind = struct.unpack_from("HH", data)
        yield kind & 0x3fff, data[4:length]
        data = data[(length + 3) & ~3:]
def ask(kind, command, number, value):
    attribute = struct.pack("HH", 4 + len(value), number) + value
    attribute += bytes(-len(attribute) % 4)
    body = struct.pack("BBH", command, 1, 0) + attribute
    netlink.send(struct.pack("IHHII", 16 + len(body), kind, 1, 7, 0) + body)
    data = netlink.recv(65536)
    length, kind = struct.unpack_from("IH", data)
    return None if kind == 2 else dict(attributes(data[20:length]))
family = ask(16, 3, 2, b"TASKSTATS\0")
family = struct.unpack("H", family[1])[0]
for pid in map(int, sys.argv[1:]):
    answer = ask(family, 1, 2, struct.pack("I", pid))
    if answer is None or 5 not in answer:
        continue
    stats = Taskstats.from_buffer_copy(dict(attributes(answer[5]))[3])
    print(pid, *(getattr(stats, name) for name in WANTED))
"#;

    fn numbers(line: &str) -> Vec<u64> {
        line.split_whitespace().map(|word| word.parse().expect("a number")).collect()
    }

    #[test]
    fn delays_equal_those_that_a_python_script_decodes() {
        let mut reader = DelayReader::new();
        if let Ok(Err(_)) = reader.read(std::process::id()) {
            return println!("skipped: the kernel does not permit taskstats here");
        }
        let entries = std::fs::read_dir("/proc").expect("/proc can be listed").flatten();
        let ids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        let mut read = |pid| reader.read(pid).ok().map(|delays| delays.expect("permitted").0);
        let before: Vec<_> = ids.iter().map(|pid| read(*pid)).collect();
        let script = Command::new("python3")
            .args(["-c", SCRIPT])
            .args(ids.iter().map(u32::to_string))
            .output()
            .expect("python3 runs");
        assert!(script.status.success(), "{}", String::from_utf8_lossy(&script.stderr));
        let text = String::from_utf8(script.stdout).expect("UTF-8");
        let mut lines = text.lines();
        assert_eq!(numbers(lines.next().expect("offsets")), OFFSETS.map(|offset| offset as u64));
        let mut compared = 0;
        for line in lines.map(numbers) {
            let index = ids.iter().position(|pid| u64::from(*pid) == line[0]).expect("a listed process");
            let (Some(before), Some(after)) = (before[index], read(ids[index])) else { continue };
            for kind in 0..KINDS {
                assert!(
                    (before[kind]..=after[kind]).contains(&line[1 + kind]),
                    "{line:?}: {before:?}, {after:?}"
                );
            }
            compared += 1;
        }
        assert!(compared > 0);
        println!("{compared} processes: {text}");
    }

    #[test]
    fn delays_are_read_at_their_offsets_and_old_statistics_have_none() {
        let mut bytes = vec![0; 368];
        for (delay, offset) in (1_u64..).zip(OFFSETS) {
            bytes[offset..offset + 8].copy_from_slice(&delay.to_ne_bytes());
        }
        assert_eq!(parse(Statistics(&bytes)), Some(Delays([1, 2, 3, 4])));
        for length in 0..bytes.len() {
            assert_eq!(parse(Statistics(&bytes[..length])), None, "{length}");
        }
    }

    #[test]
    fn an_ended_process_has_no_delays() {
        let mut child = Command::new("true").spawn().expect("the command starts");
        child.wait().expect("the command ends");
        match DelayReader::new().read(child.id()) {
            Err(error) => assert_eq!(error, Errno::SRCH),
            Ok(delays) => assert!(delays.is_err(), "a process that has ended has delays: {delays:?}"),
        }
    }
}
