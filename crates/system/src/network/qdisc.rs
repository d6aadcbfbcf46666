//! `Queueing Discipline`: drops and backlog of network interfaces, from the kernel (rtnetlink(7), RTM_GETQDISC).

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::sync::Arc;

use rustix::net::netdevice::index_to_name_inlined;
use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use super::qdisc_message::{
    Entry, Location, MAX_KIND, RTM_GETQDISC, RTM_NEWQDISC, Statistics, TC_H_ROOT, TCMSG_BYTES, parse,
};
use crate::error_texts::unreadable_failure;
use crate::netlink::NetlinkSocket;
use crate::ordered::move_if_present;
use crate::roots::Roots;
use crate::table::{CounterInfo, SetTable};
use crate::wrapping_sum::WrappingSum;

const BYTES: u32 = 1;
const PACKETS: u32 = 2;
const DROPS: u32 = 3;
const OVERLIMITS: u32 = 4;
const REQUEUES: u32 = 5;
const BACKLOG_BYTES: u32 = 6;
const BACKLOG_PACKETS: u32 = 7;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Queueing Discipline",
    guid: 0x7b2bf688_ea62_50a0_b2a3_b3a9d194c634,
    instance_type: InstanceType::Multiple,
    help: "The queues from which network interfaces send: packets sent, dropped and waiting. Network Interface does \
           not include these drops.",
    instances: "The interface, and its queueing disciplines as tc lists them: eth0/mq 0: root, eth0/fq_codel 0: parent :1, \
                eth0/htb 1: root. In the kernel's order, of this network namespace.",
    total: "",
    repeats: None,
    counters: &[
        rate(BYTES, "Bytes Sent/sec", "bytes/s", -4, "TCA_STATS_BASIC: bytes",
            "Bytes that were sent. A discipline with classes counts what its classes sent."),
        rate(PACKETS, "Packets Sent/sec", "1/s", 0, "TCA_STATS_BASIC: packets", "Packets that were sent."),
        rate(DROPS, "Packets Dropped/sec", "1/s", 0, "TCA_STATS_QUEUE: drops",
            "Packets that were dropped because the queue was full or to slow down their senders."),
        rate(OVERLIMITS, "Overlimits/sec", "1/s", 0, "TCA_STATS_QUEUE: overlimits",
            "How often sending was delayed to keep a rate limit."),
        rate(REQUEUES, "Requeues/sec", "1/s", 0, "TCA_STATS_QUEUE: requeues",
            "Packets that were requeued because the device could not accept them."),
        CounterInfo::row(BACKLOG_BYTES, "Backlog Bytes", CounterType::LARGE_RAWCOUNT, "bytes", 0,
            "RTM_GETQDISC, TCA_STATS_QUEUE: backlog", "Bytes that are waiting to be sent."),
        CounterInfo::row(BACKLOG_PACKETS, "Backlog Packets", CounterType::LARGE_RAWCOUNT, "", 0,
            "RTM_GETQDISC, TCA_STATS_QUEUE: qlen", "Packets that are waiting to be sent."),
    ],
};

const fn rate(
    id: u32,
    name: &'static str,
    unit: &'static str,
    scale: i32,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::BULK_COUNT, unit, scale, source, help)
}

/// The maximum number of queueing disciplines.
const MAX_QDISCS: usize = 65_536;

/// A queueing discipline of an interface.
struct Qdisc {
    location: Location,
    /// The name of the kind, such as `fq_codel`, padded with zeros.
    kind: [u8; MAX_KIND],
    key: Arc<InstanceKey>,
    /// The bytes sent, as last read.
    bytes: u64,
    /// Packets, drops, overlimits and requeues, extended to 64 bits because the kernel's numbers have 32 bits and wrap.
    sums: [WrappingSum; 4],
    /// Whether [`push`](Self::push) has not been called yet.
    is_new: bool,
    /// The last statistics.
    current: Statistics,
}

struct QueueingDisciplines {
    info: Arc<CounterSetInfo>,
    socket: Option<NetlinkSocket>,
    buffer: Vec<u8>,
    /// The kernel's list.
    entries: Vec<Entry>,
    qdiscs: Vec<Qdisc>,
    /// The identity of the last new instance.
    identity: u64,
}

/// The size of the buffer for answers; the kernel's answers have at most 32 KiB.
const BUFFER_BYTES: usize = 64 << 10;

/// The provider, if the kernel lists queueing disciplines. Netlink always describes this machine, so with any other
/// `/proc` the set is absent.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    if roots.proc != Path::new("/proc") {
        return None;
    }
    let mut set = QueueingDisciplines::new();
    set.update().ok()?;
    Some(Box::new(set))
}

impl QueueingDisciplines {
    fn new() -> Self {
        let (entries, qdiscs) = (Vec::new(), Vec::new());
        Self { info: TABLE.info(), socket: None, buffer: Vec::new(), entries, qdiscs, identity: 0 }
    }

    /// Reads the kernel's list and updates the queueing disciplines.
    fn update(&mut self) -> io::Result<()> {
        let mut socket = match self.socket.take() {
            Some(socket) => socket,
            None => NetlinkSocket::open(None)?,
        };
        self.buffer.resize(BUFFER_BYTES, 0);
        let Self { buffer, entries, .. } = self;
        entries.clear();
        // After an error, part of the answer can be left in the socket, which is then closed.
        socket.dump(RTM_GETQDISC, &[0; TCMSG_BYTES], buffer, RTM_NEWQDISC, &mut |message| {
            if entries.len() < MAX_QDISCS {
                entries.push(parse(message)?);
            }
            Ok(())
        })?;
        self.update_qdiscs(|interface| {
            index_to_name_inlined(socket.as_fd(), u32::try_from(interface).ok()?).ok()
        });
        self.socket = Some(socket);
        Ok(())
    }

    /// Updates the queueing disciplines from the list. `name_of` returns the name of an interface.
    fn update_qdiscs<N: AsRef<str>>(&mut self, name_of: impl Fn(i32) -> Option<N>) {
        let Self { entries, qdiscs, identity, .. } = self;
        let mut next = 0;
        let mut interface = None;
        for entry in &*entries {
            let index = entry.location.interface;
            // The entries of an interface are consecutive.
            if interface.as_ref().is_none_or(|(known, _)| *known != index) {
                interface = name_of(index).map(|name| (index, name));
            }
            // If there is no name, the interface was removed in the meantime.
            let Some((_, name)) = &interface else { continue };
            let name = name.as_ref();
            let is_wanted = |known: &Qdisc| {
                known.location == entry.location
                    && known.kind == entry.kind
                    && known.key.parent() == Some(name)
                    && known.bytes <= entry.current.bytes
            };
            if !move_if_present(qdiscs, next, is_wanted) {
                *identity += 1;
                qdiscs.insert(next, Qdisc::new(entry, name, *identity));
            }
            qdiscs[next].push(&entry.current);
            next += 1;
        }
        qdiscs.truncate(next);
    }
}

impl Qdisc {
    fn new(entry: &Entry, interface: &str, identity: u64) -> Self {
        let Entry { location, kind, .. } = *entry;
        let key = InstanceKey::with_parent(interface, &name_of(&location, &kind), 0, identity);
        let sums = [WrappingSum::default(); 4];
        Self {
            location,
            kind,
            key: Arc::new(key),
            bytes: 0,
            sums,
            is_new: true,
            current: Statistics::default(),
        }
    }

    /// Sets the current statistics.
    fn push(&mut self, current: &Statistics) {
        self.current = *current;
        self.bytes = current.bytes;
        let is_new = std::mem::take(&mut self.is_new);
        let numbers =
            [current.packets, current.drops.into(), current.overlimits.into(), current.requeues.into()];
        for (sum, number) in self.sums.iter_mut().zip(numbers) {
            sum.current = number;
            sum.update(is_new, true);
        }
    }
}

/// The name as `tc` prints it: `fq_codel 0: parent :1`.
fn name_of(location: &Location, kind: &[u8]) -> String {
    let kind = kind.split(|&byte| byte == 0).next().unwrap_or_default();
    let mut name = String::from_utf8_lossy(kind).into_owned();
    let (major, minor) = (location.parent >> 16, location.parent & 0xffff);
    let _ = write!(name, " {:x}:", location.handle >> 16);
    let _ = match (location.parent, major) {
        (TC_H_ROOT, _) => write!(name, " root"),
        (_, 0) => write!(name, " parent :{minor:x}"),
        _ => write!(name, " parent {major:x}:{minor:x}"),
    };
    name
}

impl Provider for QueueingDisciplines {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        self.update().map_err(|error| unreadable_failure("RTM_GETQDISC", &error))?;
        for Qdisc { key, bytes, sums, current, .. } in &self.qdiscs {
            if !rows.wants_instance(key.full_name(), key.id()) {
                continue;
            }
            let mut row = rows.push(key);
            row.set(BYTES, *bytes);
            for (id, sum) in [PACKETS, DROPS, OVERLIMITS, REQUEUES].into_iter().zip(sums) {
                row.set(id, sum.total);
            }
            row.set(BACKLOG_BYTES, current.backlog_bytes.into());
            row.set(BACKLOG_PACKETS, current.backlog_packets.into());
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.socket = None;
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::network::qdisc_message::tests::message;
    use crate::testing::{at, collect, first_value, names};

    const ROOT: Location = Location { interface: 2, handle: 0x1_0000, parent: TC_H_ROOT };
    const CHILD: Location = Location { interface: 2, handle: 0, parent: 3 };
    const CLASS: Location = Location { interface: 3, handle: 0x8001_0000, parent: 0x1_0010 };

    /// Updates the set from these messages. Returns the name and the statistics of each queueing discipline.
    fn update(messages: &[Vec<u8>], set: &mut QueueingDisciplines) -> Vec<(String, Statistics)> {
        set.entries = messages.iter().map(|message| parse(message).expect("whole")).collect();
        set.update_qdiscs(|interface| Some(format!("eth{interface}")));
        set.qdiscs.iter().map(|qdisc| (qdisc.key.full_name().to_owned(), qdisc.current)).collect()
    }

    #[test]
    fn names_are_those_of_tc() {
        let all = [
            message(ROOT, "htb", [1000, 10, 1, 60, 7, 8, 9]),
            message(CHILD, "fq_codel", [0; 7]),
            message(CLASS, "tbf", [0; 7]),
        ];
        let mut qdiscs = QueueingDisciplines::new();
        let listed = update(&all, &mut qdiscs);
        let names: Vec<&str> = listed.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["eth2/htb 1: root", "eth2/fq_codel 0: parent :3", "eth3/tbf 8001: parent 1:10"]);
        let Statistics { bytes, packets, backlog_packets, backlog_bytes, drops, requeues, overlimits } =
            listed[0].1;
        assert_eq!((bytes, packets, backlog_packets, backlog_bytes), (1000, 10, 1, 60));
        assert_eq!((drops, requeues, overlimits), (7, 8, 9));
    }

    #[test]
    fn counts_wrap_and_replaced_disciplines_are_new_instances() {
        let mut qdiscs = QueueingDisciplines::new();
        update(&[message(ROOT, "htb", [1000, u32::MAX, 0, 0, 5, 0, 0])], &mut qdiscs);
        let first = qdiscs.qdiscs[0].key.identity();
        update(&[message(ROOT, "htb", [1001, 9, 0, 0, 6, 0, 0])], &mut qdiscs);
        assert_eq!(qdiscs.qdiscs[0].sums.map(|sum| sum.total), [(1 << 32) + 9, 6, 0, 0]);
        assert_eq!(qdiscs.qdiscs[0].key.identity(), first);
        update(&[message(ROOT, "htb", [1, 1, 0, 0, 0, 0, 0])], &mut qdiscs);
        assert_ne!(qdiscs.qdiscs[0].key.identity(), first, "it counts from 0 again");
        assert_eq!(qdiscs.qdiscs[0].sums[0].total, 1);
        let second = qdiscs.qdiscs[0].key.identity();
        update(&[message(ROOT, "fq", [1, 1, 0, 0, 0, 0, 0])], &mut qdiscs);
        assert_ne!(qdiscs.qdiscs[0].key.identity(), second);
    }

    #[test]
    fn counts_of_this_machine_are_those_of_tc() {
        let Some(mut provider) = provider(&Roots::of_this_machine()) else { return };
        let tc = || -> Option<Vec<(String, u64)>> {
            let output = Command::new("tc").args(["-s", "qdisc", "show"]).output().ok()?;
            let text = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut lines = text.lines();
            let mut listed = Vec::new();
            while let Some(line) = lines.next() {
                let Some(line) = line.strip_prefix("qdisc ") else { continue };
                let words: Vec<&str> = line.split_whitespace().collect();
                let place = if words[4] == "root" { "root".into() } else { format!("parent {}", words[5]) };
                let sent = lines.next()?.split_whitespace().nth(1)?.parse().ok()?;
                listed.push((format!("{}/{} {} {place}", words[3], words[0], words[1]), sent));
            }
            Some(listed)
        };
        let Some(before) = tc().filter(|listed| !listed.is_empty()) else { return };
        let rows = collect(&mut *provider, at(1));
        let after = tc().expect("as before");
        let mut compared = 0;
        for ((name, sent), (other, later)) in before.iter().zip(&after) {
            if name == other && names(&rows).contains(&name.as_str()) {
                let ours = first_value(&rows, name, BYTES) as u64;
                assert!((*sent..=*later).contains(&ours), "{name}: {sent} {ours} {later}");
                compared += 1;
            }
        }
        assert!(compared > 0 || before != after, "{before:?} {:?}", names(&rows));
    }
}
