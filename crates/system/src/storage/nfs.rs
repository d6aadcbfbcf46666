//! `NFS Mount`: the operations of NFS clients, from `/proc/self/mountstats`.

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows};

use super::diskstats::MS;
use crate::open_file::OpenFile;
use crate::ordered::{move_if_present, split_complete_lines};
use crate::roots::Roots;
use crate::scan::{lines, parse_number, unescape, words};
use crate::table::{CounterInfo, SetTable};

const OPERATIONS: u32 = 1;
const RETRANSMISSIONS: u32 = 2;
const TIMEOUTS: u32 = 3;
/// The ids of the first counters of reads and of writes; the others follow as in [`set_transfers`].
const READS: u32 = 10;
const WRITES: u32 = 20;
const READ_BASE: u32 = 30;
const WRITE_BASE: u32 = 31;

const SOURCE: &str = "/proc/self/mountstats: all operations";
const READ: &str = "/proc/self/mountstats: READ";
const WRITE: &str = "/proc/self/mountstats: WRITE";

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "NFS Mount",
    guid: 0x12687fd4_f3e7_500d_9548_8f5221ccc11e,
    instance_type: InstanceType::Multiple,
    help: "The operations of mounted NFS file systems: their number, times and retransmissions.",
    instances: "NFS file systems by their mount point, in the order of /proc/self/mountstats. A file \
                system that was mounted again is a new instance.",
    total: "",
    repeats: None,
    counters: &[
        rate(OPERATIONS, "Operations/sec", SOURCE, "Finished requests of all kinds."),
        rate(RETRANSMISSIONS, "Retransmissions/sec", SOURCE,
            "Requests of all kinds that were retransmitted because they were not answered."),
        rate(TIMEOUTS, "Timeouts/sec", SOURCE, "Requests of all kinds whose last retransmission also timed out."),
        rate(READS, "Reads/sec", READ, "Finished READ requests."),
        CounterInfo::row(READS + 1, "Read Bytes/sec", CounterType::BULK_COUNT, "bytes/s", -4,
            "/proc/self/mountstats: bytes, fifth number", "Bytes read from the server."),
        average(READS + 2, "Avg. sec/Read", READ, READ_BASE,
            "Average time of a read, from the program's request to the answer: avg exe of nfsiostat, in seconds."),
        average(READS + 3, "Avg. Round Trip sec/Read", READ, READ_BASE,
            "Average time from sending a read to its answer: avg RTT of nfsiostat, in seconds."),
        average(READS + 4, "Avg. Queue sec/Read", READ, READ_BASE,
            "Average time that a read waited to be sent: avg queue of nfsiostat, in seconds."),
        rate(READS + 5, "Read Retransmissions/sec", READ, "READ requests that were retransmitted because they were not answered."),
        rate(READS + 6, "Read Errors/sec", READ, "READ requests that failed (Linux 5.3 and later)."),
        rate(WRITES, "Writes/sec", WRITE, "Finished WRITE requests."),
        CounterInfo::row(WRITES + 1, "Write Bytes/sec", CounterType::BULK_COUNT, "bytes/s", -4,
            "/proc/self/mountstats: bytes, sixth number", "Bytes written to the server."),
        average(WRITES + 2, "Avg. sec/Write", WRITE, WRITE_BASE,
            "Average time of a write, from the program's request to the answer: avg exe of nfsiostat, in seconds."),
        average(WRITES + 3, "Avg. Round Trip sec/Write", WRITE, WRITE_BASE,
            "Average time from sending a write to its answer: avg RTT of nfsiostat, in seconds."),
        average(WRITES + 4, "Avg. Queue sec/Write", WRITE, WRITE_BASE,
            "Average time that a write waited to be sent: avg queue of nfsiostat, in seconds."),
        rate(WRITES + 5, "Write Retransmissions/sec", WRITE, "WRITE requests that were retransmitted because they were not answered."),
        rate(WRITES + 6, "Write Errors/sec", WRITE, "WRITE requests that failed (Linux 5.3 and later)."),
        CounterInfo::companion(READ_BASE, "Reads Base", CounterType::AVERAGE_BASE),
        CounterInfo::companion(WRITE_BASE, "Writes Base", CounterType::AVERAGE_BASE),
    ],
};

const fn rate(id: u32, name: &'static str, source: &'static str, help: &'static str) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::BULK_COUNT, "1/s", 0, source, help)
}

const fn average(
    id: u32,
    name: &'static str,
    source: &'static str,
    base: u32,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::AVERAGE_TIMER, "seconds", 3, source, help).base(base)
}

/// A line of per-operation statistics: `READ: ops transmissions timeouts sent received queue rtt execute [errors]`.
/// Times are in milliseconds.
#[derive(Clone, Copy, Default)]
struct Operation {
    count: u64,
    transmissions: u64,
    timeouts: u64,
    queue_ms: u64,
    round_trip_ms: u64,
    execute_ms: u64,
    errors: Option<u64>,
}

/// The statistics of a mount.
#[derive(Clone, Copy, Default)]
struct Statistics {
    /// The sums of all operations.
    all: Operation,
    read: Option<Operation>,
    write: Option<Operation>,
    /// Bytes read from the server and written to it.
    bytes: Option<[u64; 2]>,
}

struct NfsMounts {
    info: Arc<CounterSetInfo>,
    file: OpenFile,
    mounts: Vec<Mount>,
    /// The identity of the last new instance.
    identity: u64,
    /// The reason for missing values.
    missing: Arc<str>,
}

struct Mount {
    /// The mount point as written in the file.
    written: Vec<u8>,
    key: Arc<InstanceKey>,
    /// The number of operations at the last sample.
    operations: u64,
}

/// The provider, if the file can be read.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let mut file = OpenFile::new(roots.proc.join("self/mountstats"));
    let missing = format!("{}: the statistics of the mount are malformed", file.path().display()).into();
    file.is_readable().then(|| -> Box<dyn Provider> {
        Box::new(NfsMounts { info: TABLE.info(), file, mounts: Vec::new(), identity: 0, missing })
    })
}

impl Provider for NfsMounts {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { file, mounts, identity, missing, .. } = self;
        let (text, _) = split_complete_lines(file.read_or_fail()?);
        let mut lines = lines(text).peekable();
        let mut next = 0;
        while let Some(line) = lines.next() {
            let Some(point) = nfs_mount_point(line) else { continue };
            let mut statistics = Some(Statistics::default());
            while let Some(line) = lines.next_if(|line| !line.starts_with(b"device ")) {
                if let Some(known) = &mut statistics
                    && known.push(line).is_none()
                {
                    statistics = None;
                }
            }
            if !move_if_present(mounts, next, |mount| mount.written == point) {
                mounts.insert(next, Mount::new(point, identity));
            }
            let mount = &mut mounts[next];
            next += 1;
            let operations = statistics.map_or(mount.operations, |statistics| statistics.all.count);
            if operations < mount.operations {
                *mount = Mount::new(point, identity);
            }
            mount.operations = operations;
            if rows.wants_instance(mount.key.name(), mount.key.id()) {
                fill(&mut rows.push(&mount.key), statistics, missing);
            }
        }
        mounts.truncate(next);
        Ok(())
    }

    fn idle(&mut self) {
        self.file.close();
    }
}

impl Mount {
    fn new(written: &[u8], identity: &mut u64) -> Self {
        *identity += 1;
        let name = String::from_utf8_lossy(&unescape(written)).into_owned();
        let key = Arc::new(InstanceKey::new(name, 0, *identity));
        Self { written: written.to_vec(), key, operations: 0 }
    }
}

/// The mount point of `device server:/export mounted on /mnt with fstype nfs4 statvers=1.1`.
fn nfs_mount_point(line: &[u8]) -> Option<&[u8]> {
    let mut words = words(line.strip_prefix(b"device ")?).skip(1);
    let is_mount_line = [b"mounted".as_slice(), b"on"].iter().all(|expected| words.next() == Some(*expected));
    let point = words.next().filter(|_| is_mount_line)?;
    let fs_type = words.nth(2)?;
    (fs_type == b"nfs" || fs_type == b"nfs4").then_some(point)
}

impl Statistics {
    /// Adds a line of the mount; `None` if it is malformed.
    fn push(&mut self, line: &[u8]) -> Option<()> {
        let mut words = words(line.trim_ascii());
        let Some(name) = words.next().and_then(|word| word.strip_suffix(b":")) else { return Some(()) };
        if name == b"bytes" {
            let mut numbers = words.skip(4).map(parse_number);
            self.bytes = Some([numbers.next()??, numbers.next()??]);
        } else if name.iter().all(|byte| byte.is_ascii_uppercase() || *byte == b'_' || byte.is_ascii_digit())
        {
            let operation = Operation::parse(words)?;
            self.all.add(&operation);
            match name {
                b"READ" => self.read = Some(operation),
                b"WRITE" => self.write = Some(operation),
                _ => {}
            }
        }
        Some(())
    }
}

impl Operation {
    fn parse<'a>(words: impl Iterator<Item = &'a [u8]>) -> Option<Self> {
        let mut numbers = words.map(parse_number);
        let mut next = || numbers.next().flatten();
        let (count, transmissions, timeouts) = (next()?, next()?, next()?);
        let (_sent, _received) = (next()?, next()?);
        let (queue_ms, round_trip_ms, execute_ms) = (next()?, next()?, next()?);
        let errors = next();
        Some(Self { count, transmissions, timeouts, queue_ms, round_trip_ms, execute_ms, errors })
    }

    fn add(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.transmissions = self.transmissions.saturating_add(other.transmissions);
        self.timeouts = self.timeouts.saturating_add(other.timeouts);
    }

    /// The number of retransmissions. On kernels that count a transmission before its request has finished, it includes
    /// requests in flight.
    fn retransmissions(&self) -> u64 {
        self.transmissions.saturating_sub(self.count)
    }
}

fn fill(row: &mut Row<'_>, statistics: Option<Statistics>, missing: &Arc<str>) {
    let Some(Statistics { all, read, write, bytes }) = statistics else {
        let ids = (OPERATIONS..=TIMEOUTS).chain(READS..=READS + 6).chain(WRITES..=WRITES + 6);
        return row.fail_all(ids, missing);
    };
    row.set(OPERATIONS, all.count);
    row.set(RETRANSMISSIONS, all.retransmissions());
    row.set(TIMEOUTS, all.timeouts);
    set_transfers(row, READS, read, bytes.map(|bytes| bytes[0]), missing);
    set_transfers(row, WRITES, write, bytes.map(|bytes| bytes[1]), missing);
}

fn set_transfers(
    row: &mut Row<'_>,
    first: u32,
    operation: Option<Operation>,
    bytes: Option<u64>,
    missing: &Arc<str>,
) {
    match bytes {
        Some(bytes) => row.set(first + 1, bytes),
        None => row.fail(first + 1, missing),
    }
    let Some(operation) = operation else {
        return row.fail_all([0, 2, 3, 4, 5, 6].map(|more| first + more), missing);
    };
    row.set(first, operation.count);
    for (more, milliseconds) in
        [(2, operation.execute_ms), (3, operation.round_trip_ms), (4, operation.queue_ms)]
    {
        row.set_with_base(first + more, milliseconds.saturating_mul(MS), operation.count);
    }
    row.set(first + 5, operation.retransmissions());
    match operation.errors {
        Some(errors) => row.set(first + 6, errors),
        None => row.omit(first + 6),
    }
}
