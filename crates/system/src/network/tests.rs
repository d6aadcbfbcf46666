//! Networks of fake machines, and of this one.

use std::net::{TcpListener, TcpStream, UdpSocket};
use tachograph_counters::Status;

use tachograph_perflib::{Clock, Provider, Rows};

use super::interface_table as nic;
use super::providers;
use crate::roots::Roots;
use crate::testing::{Machine, at, collect, first_value, names, value};

const DEV: &str = "Inter-|   Receive                                                |  Transmit
 face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed
    lo:    3193      29    0    0    0     0          0         0     3193      29    0    0    0     0       0          0
  eth0: 1000 10 1 2 3 4 5 6 2000 20 7 8 9 11 12 13
veth#(1):123 1 0 0 0 0 0 0 5 1 0 0 0 0 0 0
";
const SNMP: &str = "Ip: Forwarding DefaultTTL InReceives InHdrErrors InAddrErrors ForwDatagrams InUnknownProtos InDiscards InDelivers OutRequests OutDiscards OutNoRoutes ReasmTimeout ReasmReqds ReasmOKs ReasmFails FragOKs FragFails FragCreates
Ip: 2 64 1350 1 2 3 4 5 1349 1006 6 7 8 9 10 11 12 13 14
Icmp: InMsgs InErrors InCsumErrors InDestUnreachs OutMsgs
Icmp: 5 1 0 4 6
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens PassiveOpens AttemptFails EstabResets CurrEstab InSegs OutSegs RetransSegs InErrs OutRsts InCsumErrors
Tcp: 1 200 120000 -1 16 2 3 4 5 1321 985 17 0 10 0
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 28 1 2 29 3 4 5 0 0
";
const NETSTAT: &str = "TcpExt: SyncookiesSent ListenOverflows
TcpExt: 7 8
IpExt: InOctets OutOctets
IpExt: 33970407 90969
";
const SNMP6: &str = "Ip6InReceives                   \t1
Ip6OutRequests                  \t10
Icmp6InMsgs                     \t1
Icmp6OutMsgs                    \t9
Icmp6InType1                    \t1
Udp6InDatagrams                 \t3
Udp6OutDatagrams                \t4
";
const SOCKSTAT: &str = "sockets: used 15
TCP: inuse 1 orphan 2 tw 3 alloc 4 mem 140
UDP: inuse 5 mem 6
FRAG: inuse 0 memory 77
";

fn machine() -> Machine {
    let machine = Machine::new(&[
        ("proc/net/dev", DEV),
        ("proc/net/snmp", SNMP),
        ("proc/net/netstat", NETSTAT),
        ("proc/net/snmp6", SNMP6),
        ("proc/net/sockstat", SOCKSTAT),
        ("sys/class/net/lo/ifindex", "1\n"),
        ("sys/class/net/eth0/ifindex", "4\n"),
        ("sys/class/net/eth0/speed", "10000\n"),
        ("sys/class/net/bonding_masters", "\n"),
    ]);
    machine.write("sys/class/net/veth#(1)/ifindex", "7\n");
    machine.write("sys/class/net/veth#(1)/speed", "-1\n");
    machine
}

fn provider(machine: &Machine, set: &str) -> Box<dyn Provider> {
    let found = providers(&machine.roots).into_iter().find(|provider| &*provider.info().name == set);
    found.unwrap_or_else(|| panic!("no set {set}"))
}

fn identity(rows: &Rows, name: &str) -> u64 {
    rows.instances().iter().find(|key| key.name() == name).expect("the instance").identity()
}

/// The value of a counter of a set without instances, by its name.
fn named_value(rows: &Rows, name: &str) -> i64 {
    let counter = rows.info().counters.iter().find(|counter| &*counter.name == name);
    first_value(rows, "", counter.unwrap_or_else(|| panic!("no {name}")).id)
}

#[test]
fn every_counter_of_an_interface_has_its_value() {
    let machine = machine();
    let mut interfaces = provider(&machine, "Network Interface");
    let rows = collect(&mut *interfaces, at(1));
    assert_eq!(names(&rows), ["lo", "eth0", "veth#(1)"]);
    assert_eq!(rows.instances()[1].id(), 4);
    let value_of = |id| first_value(&rows, "eth0", id);
    assert_eq!(
        (value_of(nic::BYTES), value_of(nic::BYTES_RECEIVED), value_of(nic::BYTES_SENT)),
        (3000, 1000, 2000)
    );
    assert_eq!(
        (value_of(nic::PACKETS), value_of(nic::PACKETS_RECEIVED), value_of(nic::PACKETS_SENT)),
        (30, 10, 20)
    );
    assert_eq!(
        (
            value_of(nic::RECEIVED_ERRORS),
            value_of(nic::RECEIVED_DISCARDED),
            value_of(nic::RECEIVED_MULTICAST)
        ),
        (1, 2, 6)
    );
    assert_eq!((value_of(nic::SENT_ERRORS), value_of(nic::SENT_DISCARDED)), (7, 8));
    assert_eq!(
        (value_of(nic::RECEIVED_ERROR_RATE), value_of(nic::SENT_ERROR_RATE)),
        (value_of(nic::RECEIVED_ERRORS), 7)
    );
    let discarded = (value_of(nic::RECEIVED_DISCARDED_RATE), value_of(nic::SENT_DISCARDED_RATE));
    assert_eq!(discarded, (value_of(nic::RECEIVED_DISCARDED), 8));
    let extra: Vec<i64> = (20..=26).map(value_of).collect();
    assert_eq!(extra, [3, 4, 9, 12, 11, 5, 13]);
    assert_eq!(value_of(nic::BANDWIDTH), 10_000_000_000);
    assert_eq!(first_value(&rows, "veth#(1)", nic::BYTES_RECEIVED), 123);
    for name in ["lo", "veth#(1)"] {
        // Neither a value nor an error.
        assert_eq!(value(&rows, name, nic::BANDWIDTH).status, Status::NO_INSTANCE);
    }
    assert!(rows.errors().is_empty());
}

#[test]
fn the_speed_is_read_every_ten_seconds() {
    let machine = machine();
    let mut interfaces = provider(&machine, "Network Interface");
    let mut speed = |moment| first_value(&collect(&mut *interfaces, at(moment)), "eth0", nic::BANDWIDTH);
    assert_eq!(speed(1), 10_000_000_000);
    machine.write("sys/class/net/eth0/speed", "100\n");
    assert_eq!(speed(10), 10_000_000_000);
    assert_eq!(speed(11), 100_000_000);
}

#[test]
fn a_recreated_interface_is_another_instance() {
    let machine = machine();
    let mut interfaces = provider(&machine, "Network Interface");
    let before = collect(&mut *interfaces, at(1));
    assert_eq!(identity(&before, "eth0"), identity(&collect(&mut *interfaces, at(2)), "eth0"));
    machine.write("proc/net/dev", DEV.replace("eth0: 1000 10", "eth0: 30 1"));
    machine.write("sys/class/net/eth0/ifindex", "9\n");
    let after = collect(&mut *interfaces, at(3));
    assert_ne!(identity(&before, "eth0"), identity(&after, "eth0"));
    assert_eq!(after.instances()[1].id(), 9);
    assert_eq!(first_value(&after, "eth0", nic::BYTES_RECEIVED), 30);
    // Absent for one sample, then back with larger counts.
    let without: String =
        DEV.lines().filter(|line| !line.contains("eth0")).map(|line| format!("{line}\n")).collect();
    machine.write("proc/net/dev", without);
    assert_eq!(names(&collect(&mut *interfaces, at(4))), ["lo", "veth#(1)"]);
    machine.write("proc/net/dev", DEV);
    assert_ne!(identity(&collect(&mut *interfaces, at(5)), "eth0"), identity(&after, "eth0"));
}

#[test]
fn a_recreated_interface_with_larger_counts_is_recognised_by_its_folder() {
    let machine = machine();
    let mut interfaces = provider(&machine, "Network Interface");
    let before = collect(&mut *interfaces, at(1));
    // The old folder is kept, so that its inode is not reused.
    let class = machine.path("sys/class/net");
    std::fs::rename(class.join("eth0"), class.join("old")).expect("renamed");
    machine.write("sys/class/net/eth0/ifindex", "12\n");
    let after = collect(&mut *interfaces, at(2));
    assert_ne!(identity(&before, "eth0"), identity(&after, "eth0"));
    assert_eq!(after.instances()[1].id(), 12);
    assert_eq!(first_value(&after, "eth0", nic::BYTES_RECEIVED), 1000);
    assert_eq!(identity(&before, "lo"), identity(&after, "lo"));
}

#[test]
fn losses_never_decrease() {
    let machine = machine();
    let mut interfaces = provider(&machine, "Network Interface");
    let before = collect(&mut *interfaces, at(1));
    machine.write("proc/net/dev", DEV.replace("1000 10 1 2 3", "1000 10 1 1 3"));
    let after = collect(&mut *interfaces, at(2));
    assert_eq!(first_value(&after, "eth0", nic::RECEIVED_DISCARDED), 2);
    assert_eq!(identity(&before, "eth0"), identity(&after, "eth0"));
}

#[test]
fn columns_are_found_by_name() {
    let machine = machine();
    let dev = "Inter-| Receive | Transmit\n face |packets new bytes|drop bytes\n eth0: 1 2 3 4 5\n";
    machine.write("proc/net/dev", dev);
    let mut interfaces = provider(&machine, "Network Interface");
    let has_counter = |id| interfaces.info().position(id).is_some();
    assert!(
        has_counter(nic::BYTES)
            && !has_counter(nic::PACKETS)
            && has_counter(nic::PACKETS_RECEIVED)
            && !has_counter(nic::PACKETS_SENT)
    );
    let rows = collect(&mut *interfaces, at(1));
    let value_of = |id| first_value(&rows, "eth0", id);
    assert_eq!(
        (value_of(nic::PACKETS_RECEIVED), value_of(nic::BYTES), value_of(nic::SENT_DISCARDED)),
        (1, 8, 4)
    );
}

#[test]
fn malformed_lines_are_errors_of_their_interface() {
    for broken in ["eth0: 1000 10 1\n", "eth0: 1000 x 1 2 3 4 5 6 2000 20 7 8 9 11 12 13\n", "eth0:\n"] {
        let machine = machine();
        let mut interfaces = provider(&machine, "Network Interface");
        let before = collect(&mut *interfaces, at(1));
        let text: String = DEV
            .lines()
            .map(|line| if line.contains("eth0") { broken.into() } else { format!("{line}\n") })
            .collect();
        machine.write("proc/net/dev", text);
        let rows = collect(&mut *interfaces, at(2));
        assert!(!value(&rows, "eth0", nic::BYTES).status.is_good());
        assert_eq!(first_value(&rows, "lo", nic::BYTES), 6386);
        machine.write("proc/net/dev", DEV);
        let after = collect(&mut *interfaces, at(3));
        assert_eq!(identity(&before, "eth0"), identity(&after, "eth0"));
    }
    let machine = machine();
    let mut interfaces = provider(&machine, "Network Interface");
    for length in 0..DEV.len() {
        machine.write("proc/net/dev", &DEV[..length]);
        let mut rows = Rows::unfiltered(interfaces.info().clone());
        rows.clear(at(length as i64));
        let outcome = interfaces.collect(&mut rows);
        assert_eq!(outcome.is_err(), !DEV[..length].contains("compressed\n"), "{length}: {outcome:?}");
    }
}

#[test]
fn counters_of_protocols_have_their_values() {
    let machine = machine();
    let tcp = collect(&mut *provider(&machine, "TCPv4"), at(1));
    assert_eq!(named_value(&tcp, "Segments/sec"), 1321 + 985);
    assert_eq!(named_value(&tcp, "Connections Established"), 5);
    assert_eq!(named_value(&tcp, "Connection Failures"), 3);
    assert_eq!(named_value(&tcp, "Segments Retransmitted/sec"), 17);
    let udp = collect(&mut *provider(&machine, "UDPv4"), at(1));
    assert_eq!(named_value(&udp, "Datagrams/sec"), 57);
    assert_eq!(named_value(&udp, "Datagrams No Port/sec"), 1);
    let ip = collect(&mut *provider(&machine, "IPv4"), at(1));
    assert_eq!(named_value(&ip, "Datagrams/sec"), 1350 + 1006);
    assert_eq!(named_value(&ip, "Fragments Created/sec"), 14);
    assert_eq!(named_value(&ip, "Bytes Received/sec"), 33_970_407);
    let icmp = collect(&mut *provider(&machine, "ICMP"), at(1));
    assert_eq!(named_value(&icmp, "Messages/sec"), 11);
    assert_eq!(named_value(&icmp, "Received Dest. Unreachable"), 4);
    assert!(
        icmp.info().counters.iter().all(|counter| &*counter.name != "Received Echo/sec"),
        "not in this file"
    );
    let udp = collect(&mut *provider(&machine, "UDPv6"), at(1));
    assert_eq!(named_value(&udp, "Datagrams/sec"), 7);
    assert_eq!(named_value(&collect(&mut *provider(&machine, "IPv6"), at(1)), "Datagrams Sent/sec"), 10);
    assert_eq!(named_value(&collect(&mut *provider(&machine, "ICMPv6"), at(1)), "Messages Sent/sec"), 9);
    let sockets = collect(&mut *provider(&machine, "Socket"), at(1));
    assert_eq!(named_value(&sockets, "Sockets Used"), 15);
    assert_eq!(named_value(&sockets, "TCP Sockets Time Wait"), 3);
    assert_eq!(named_value(&sockets, "TCP Memory Bytes"), 140 * 4096);
    assert_eq!(named_value(&sockets, "Fragment Memory Bytes"), 77);
    assert_eq!(named_value(&sockets, "Listen Overflows/sec"), 8);
}

#[test]
fn sets_without_counters_are_absent() {
    let machine = Machine::new(&[
        ("proc/net/snmp", "Udp: InDatagrams OutDatagrams\nUdp: 1 2\n"),
        ("proc/net/snmp6", ""),
    ]);
    let sets: Vec<_> =
        providers(&machine.roots).iter().map(|provider| provider.info().name.clone()).collect();
    assert_eq!(sets, ["UDPv4"]);
}

#[test]
fn moved_fields_are_found_and_removed_ones_are_errors() {
    let machine = machine();
    let mut udp = provider(&machine, "UDPv4");
    collect(&mut *udp, at(1));
    machine.write("proc/net/snmp", "Tcp: InSegs\nTcp: 1\nUdp: OutDatagrams New InDatagrams\nUdp: 31 9 30\n");
    let rows = collect(&mut *udp, at(2));
    assert_eq!(named_value(&rows, "Datagrams/sec"), 61);
    assert!(!value(&rows, "", 3).status.is_good());
    assert!(rows.errors().iter().any(|error| error.reason.contains("NoPorts")));
    machine.write("proc/net/snmp", SNMP);
    assert_eq!(named_value(&collect(&mut *udp, at(3)), "Datagrams No Port/sec"), 1);
}

#[test]
fn malformed_files_are_errors() {
    let machine = machine();
    let files = [("snmp", SNMP), ("netstat", NETSTAT), ("snmp6", SNMP6), ("sockstat", SOCKSTAT)];
    let mut all = providers(&machine.roots);
    let mut moment = 1;
    for (file, text) in files {
        let path = format!("proc/net/{file}");
        for length in (0..text.len()).step_by(7) {
            machine.write(&path, &text[..length]);
            for provider in &mut all {
                let rows = collect(&mut **provider, at(moment));
                // A truncated number is not used.
                for raw in rows
                    .all_values()
                    .iter()
                    .filter(|raw| raw.status.is_good() && &*provider.info().name == "TCPv4")
                {
                    assert!(
                        [2306, 5, 16, 2, 3, 4, 1321, 985, 17, 0, 10].contains(&raw.first),
                        "{length} {raw:?}"
                    );
                }
            }
            moment += 1;
        }
        machine.write(&path, text);
    }
    machine.write("proc/net/snmp", SNMP.replace("1321", "99999999999999999999999"));
    let rows = collect(&mut *provider(&machine, "TCPv4"), at(moment));
    assert!(!value(&rows, "", 7).status.is_good() && value(&rows, "", 8).status.is_good());
}

#[test]
fn open_connections_over_ipv6_are_counted() {
    let machine = machine();
    let open = "   1: 00000000000000000000000001000000:0016 B80D0120000000000000000001000000:D3A2 01 00000000:00000000\n";
    let mapped = "   2: 0000000000000000FFFF00000100007F:0016 0000000000000000FFFF00000100007F:D3A2 01 00000000:00000000\n";
    let listens = open.replace(" 01 ", " 0A ");
    let closing = open.replace(" 01 ", " 08 ");
    let many = open.repeat(3000);
    machine.write("proc/net/tcp6", format!("  sl  local_address\n{open}{mapped}{listens}{closing}{many}"));
    let mut tcp = provider(&machine, "TCPv6");
    let rows = collect(&mut *tcp, at(1));
    assert_eq!(
        named_value(&rows, "Connections Established"),
        if cfg!(target_endian = "little") { 3002 } else { 3003 }
    );
    machine.write("proc/net/tcp6", "x".repeat(100_000));
    let mut rows = Rows::unfiltered(tcp.info().clone());
    assert!(tcp.collect(&mut rows).is_err());
    machine.write("proc/net/tcp6", "");
    assert_eq!(named_value(&collect(&mut *tcp, at(2)), "Connections Established"), 0);
}

#[test]
fn traffic_of_this_machine_is_counted() {
    let roots = Roots::of_this_machine();
    let clock = Clock::of_this_machine();
    let mut all = providers(&roots);
    let before: Vec<Rows> = all.iter_mut().map(|provider| collect(&mut **provider, clock.now())).collect();
    // Traffic of a known minimum size.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let stream = TcpStream::connect(listener.local_addr().expect("an address")).expect("connected");
    let accepted = listener.accept().expect("accepted");
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = socket.local_addr().expect("an address");
    for _ in 0..100 {
        socket.send_to(&[0; 1000], address).expect("sent");
    }
    for (provider, before) in all.iter_mut().zip(before) {
        let after = collect(&mut **provider, clock.now());
        let set = provider.info().name.clone();
        let difference = |name: &str, id| first_value(&after, name, id) - first_value(&before, name, id);
        match &*set {
            "Network Interface" => {
                assert!(difference("lo", nic::BYTES_SENT) >= 100_000);
                assert!(difference("lo", nic::PACKETS_RECEIVED) >= 100);
            }
            "TCPv4" => {
                assert!(difference("", 3) >= 1 && difference("", 4) >= 1 && first_value(&after, "", 2) >= 2)
            }
            "UDPv4" => assert!(difference("", 5) >= 100),
            "IPv4" => assert!(difference("", 9) >= 100 && difference("", 18) >= 100_000),
            "Bonding" | "Queueing Discipline" => {}
            _ => assert!(!after.instances().is_empty(), "{set}"),
        }
    }
    drop((stream, accepted));
}
