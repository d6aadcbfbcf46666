//! The table of `Network Interface`, and the columns of `/proc/net/dev` that its counters use.

use tachograph_counters::CounterType as T;
use tachograph_perflib::registration::InstanceType;

use crate::table::{CounterInfo, SetTable};

pub(super) const BYTES: u32 = 1;
pub(super) const PACKETS: u32 = 2;
pub(super) const PACKETS_RECEIVED: u32 = 3;
pub(super) const PACKETS_SENT: u32 = 4;
pub(super) const BANDWIDTH: u32 = 5;
pub(super) const BYTES_RECEIVED: u32 = 6;
pub(super) const RECEIVED_MULTICAST: u32 = 7;
pub(super) const RECEIVED_DISCARDED: u32 = 8;
pub(super) const RECEIVED_ERRORS: u32 = 9;
pub(super) const BYTES_SENT: u32 = 10;
pub(super) const SENT_DISCARDED: u32 = 11;
pub(super) const SENT_ERRORS: u32 = 12;
pub(super) const RECEIVED_FIFO: u32 = 20;
pub(super) const RECEIVED_FRAME: u32 = 21;
pub(super) const SENT_FIFO: u32 = 22;
pub(super) const SENT_CARRIER: u32 = 23;
pub(super) const COLLISIONS: u32 = 24;
pub(super) const RECEIVED_COMPRESSED: u32 = 25;
pub(super) const SENT_COMPRESSED: u32 = 26;
pub(super) const RECEIVED_DISCARDED_RATE: u32 = 27;
pub(super) const RECEIVED_ERROR_RATE: u32 = 28;
pub(super) const SENT_DISCARDED_RATE: u32 = 29;
pub(super) const SENT_ERROR_RATE: u32 = 30;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Network Interface",
    guid: 0xfe745151e7b25bfb9ec21225f4d886e5,
    instance_type: InstanceType::Multiple,
    help: "Bytes and packets of the network interfaces of this network namespace.",
    instances: "One per interface, including loopback, by name, in the order of /proc/net/dev; the id is \
                the kernel's interface index. As on Windows, there is no _Total: bridges, bonds and tunnels forward packets that other \
                interfaces count too. An interface that was recreated, or whose driver reset its \
                counters, is a new instance.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(BYTES, "Bytes Total/sec", T::BULK_COUNT, "bytes/s", -4,
            "/proc/net/dev: bytes, received and sent",
            "Bytes received and sent, including link headers."),
        CounterInfo::row(PACKETS, "Packets/sec", T::BULK_COUNT, "packets/s", -1,
            "/proc/net/dev: packets, received and sent",
            "Packets received and sent."),
        CounterInfo::row(PACKETS_RECEIVED, "Packets Received/sec", T::BULK_COUNT, "packets/s", -1,
            "/proc/net/dev: packets received",
            "Packets received: unicast, multicast and broadcast."),
        CounterInfo::row(PACKETS_SENT, "Packets Sent/sec", T::BULK_COUNT, "packets/s", -1,
            "/proc/net/dev: packets sent",
            "Packets sent."),
        CounterInfo::row(BANDWIDTH, "Current Bandwidth", T::LARGE_RAWCOUNT, "bits/s", -6,
            "/sys/class/net/NAME/speed",
            "Link speed in bits per second, read every ten seconds. Loopback, most virtual interfaces and interfaces \
             without a cable have none."),
        CounterInfo::row(BYTES_RECEIVED, "Bytes Received/sec", T::BULK_COUNT, "bytes/s", -4,
            "/proc/net/dev: bytes received",
            "Bytes received, including link headers."),
        CounterInfo::row(RECEIVED_MULTICAST, "Packets Received Non-Unicast/sec", T::BULK_COUNT, "packets/s", -1,
            "/proc/net/dev: multicast",
            "Multicast packets received. Windows also counts broadcasts; few Linux drivers do."),
        CounterInfo::row(RECEIVED_DISCARDED, "Packets Received Discarded", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: drop, received",
            "Error-free packets that were discarded since the interface was created: no room in the device \
             or the kernel, or no receiver."),
        CounterInfo::row(RECEIVED_ERRORS, "Packets Received Errors", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: errs, received",
            "Packets received with errors since the interface was created."),
        CounterInfo::row(BYTES_SENT, "Bytes Sent/sec", T::BULK_COUNT, "bytes/s", -4, "/proc/net/dev: bytes sent",
            "Bytes sent, including link headers."),
        CounterInfo::row(SENT_DISCARDED, "Packets Outbound Discarded", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: drop, sent",
            "Error-free packets that were discarded instead of sent since the interface was created."),
        CounterInfo::row(SENT_ERRORS, "Packets Outbound Errors", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: errs, sent",
            "Packets that could not be sent because of errors since the interface was created."),
        CounterInfo::row(RECEIVED_FIFO, "Packets Received FIFO Errors", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: fifo, received",
            "Packets that the device lost because its buffer was full. Linux only."),
        CounterInfo::row(RECEIVED_FRAME, "Packets Received Frame Errors", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: frame",
            "Packets received with a wrong length, checksum or alignment. Linux only."),
        CounterInfo::row(SENT_FIFO, "Packets Outbound FIFO Errors", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: fifo, sent",
            "Packets not sent because the device ran out of data (underrun). Linux only."),
        CounterInfo::row(SENT_CARRIER, "Packets Outbound Carrier Errors", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: carrier",
            "Packets not sent because the link was lost, and other errors of the link. Linux only."),
        CounterInfo::row(COLLISIONS, "Packets Outbound Collisions", T::LARGE_RAWCOUNT, "", 0,
            "/proc/net/dev: colls",
            "Collisions while sending. Linux only."),
        CounterInfo::row(RECEIVED_COMPRESSED, "Packets Received Compressed/sec", T::BULK_COUNT, "packets/s", -1,
            "/proc/net/dev: compressed, received",
            "Compressed packets received (PPP, SLIP). Linux only."),
        CounterInfo::row(SENT_COMPRESSED, "Packets Sent Compressed/sec", T::BULK_COUNT, "packets/s", -1,
            "/proc/net/dev: compressed, sent",
            "Compressed packets sent (PPP, SLIP). Linux only."),
        CounterInfo::row(RECEIVED_DISCARDED_RATE, "Packets Received Discarded/sec", T::BULK_COUNT, "packets/s", 0,
            "/proc/net/dev: drop, received",
            "Error-free packets that were discarded: no room in the device or the kernel, or no receiver. The rate of Packets \
             Received Discarded. Linux only."),
        CounterInfo::row(RECEIVED_ERROR_RATE, "Packets Received Errors/sec", T::BULK_COUNT, "packets/s", 0,
            "/proc/net/dev: errs, received",
            "Packets received with errors. The rate of Packets Received Errors. Linux only."),
        CounterInfo::row(SENT_DISCARDED_RATE, "Packets Outbound Discarded/sec", T::BULK_COUNT, "packets/s", 0,
            "/proc/net/dev: drop, sent",
            "Error-free packets that were discarded instead of sent. The rate of Packets Outbound Discarded. Linux only."),
        CounterInfo::row(SENT_ERROR_RATE, "Packets Outbound Errors/sec", T::BULK_COUNT, "packets/s", 0,
            "/proc/net/dev: errs, sent",
            "Packets that could not be sent because of errors. The rate of Packets Outbound Errors. Linux only."),
    ],
};

/// The columns of `/proc/net/dev`, named as in the file's second line: first received, then sent.
pub(super) const COLUMNS: [&[&str]; 2] = [
    &["bytes", "packets", "errs", "drop", "fifo", "frame", "compressed", "multicast"],
    &["bytes", "packets", "errs", "drop", "fifo", "colls", "carrier", "compressed"],
];
/// The numbers of a line of the file. The indexes are those of [`COLUMNS`], plus [`RECEIVED`] or [`SENT`].
pub(super) type Numbers = [u64; 16];
/// The index of the first number of received data.
pub(super) const RECEIVED: usize = 0;
/// The index of the first number of sent data.
pub(super) const SENT: usize = 8;

/// Counters that have one column.
pub(super) const SINGLE: &[(u32, usize)] = &[
    (PACKETS_RECEIVED, RECEIVED + 1),
    (PACKETS_SENT, SENT + 1),
    (BYTES_RECEIVED, RECEIVED),
    (RECEIVED_MULTICAST, RECEIVED + 7),
    (RECEIVED_DISCARDED, RECEIVED + 3),
    (RECEIVED_ERRORS, RECEIVED + 2),
    (BYTES_SENT, SENT),
    (SENT_DISCARDED, SENT + 3),
    (SENT_ERRORS, SENT + 2),
    (RECEIVED_FIFO, RECEIVED + 4),
    (RECEIVED_FRAME, RECEIVED + 5),
    (SENT_FIFO, SENT + 4),
    (SENT_CARRIER, SENT + 6),
    (COLLISIONS, SENT + 5),
    (RECEIVED_COMPRESSED, RECEIVED + 6),
    (SENT_COMPRESSED, SENT + 7),
    (RECEIVED_DISCARDED_RATE, RECEIVED + 3),
    (RECEIVED_ERROR_RATE, RECEIVED + 2),
    (SENT_DISCARDED_RATE, SENT + 3),
    (SENT_ERROR_RATE, SENT + 2),
];
/// Counters that add up two columns.
pub(super) const DOUBLE: &[(u32, [usize; 2])] =
    &[(BYTES, [RECEIVED, SENT]), (PACKETS, [RECEIVED + 1, SENT + 1])];
