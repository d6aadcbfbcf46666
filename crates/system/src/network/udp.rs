//! `UDPv4` and `UDPv6`.

use tachograph_perflib::registration::InstanceType;

use super::named::named;
use crate::table::SetTable;

pub(super) static TABLE_V4: SetTable = SetTable {
    name: "UDPv4",
    guid: 0x9788f29fb3d85b4c9f7b450b1b6f005c,
    instance_type: InstanceType::Single,
    help: "UDP datagrams over IPv4 in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V4,
};

pub(super) static TABLE_V6: SetTable = SetTable {
    name: "UDPv6",
    guid: 0x6396914c10ba57f189a91f102e086548,
    instance_type: InstanceType::Single,
    help: "UDP datagrams over IPv6 in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V6,
};

macro_rules! udp {
    ($rows:ident $counts:ident $received:literal $sent:literal $no_port:literal $errors:literal $in_full:literal
     $out_full:literal $checksum:literal) => {
        named! { $rows, $counts;
            1 "Datagrams/sec" COUNTER_COUNTER "1/s" -1 [$received + $sent] "Datagrams received and sent.";
            2 "Datagrams Received/sec" COUNTER_COUNTER "1/s" -1 [$received] "Datagrams delivered to sockets.";
            3 "Datagrams No Port/sec" COUNTER_COUNTER "1/s" 0 [$no_port]
                "Datagrams received for a port on which no socket is open.";
            4 "Datagrams Received Errors" RAWCOUNT "" 0 [$errors]
                "Datagrams that could not be delivered since boot, for instance because of a full receive buffer or a wrong checksum.";
            5 "Datagrams Sent/sec" COUNTER_COUNTER "1/s" -1 [$sent] "Datagrams sent.";
            6 "Datagrams Receive Buffer Full/sec" COUNTER_COUNTER "1/s" 0 [$in_full]
                "Datagrams lost because the receive buffer of their socket was full. Linux only.";
            7 "Datagrams Send Buffer Full/sec" COUNTER_COUNTER "1/s" 0 [$out_full]
                "Datagrams not sent because the send buffer of their socket was full. Linux only.";
            8 "Datagrams Checksum Errors/sec" COUNTER_COUNTER "1/s" 0 [$checksum]
                "Datagrams with a wrong checksum. Linux only.";
        }
    };
}

udp!(ROWS_V4 COUNTS_V4 "net/snmp: Udp InDatagrams" "net/snmp: Udp OutDatagrams" "net/snmp: Udp NoPorts"
    "net/snmp: Udp InErrors" "net/snmp: Udp RcvbufErrors" "net/snmp: Udp SndbufErrors" "net/snmp: Udp InCsumErrors");
udp!(ROWS_V6 COUNTS_V6 "net/snmp6: Udp6InDatagrams" "net/snmp6: Udp6OutDatagrams" "net/snmp6: Udp6NoPorts"
    "net/snmp6: Udp6InErrors" "net/snmp6: Udp6RcvbufErrors" "net/snmp6: Udp6SndbufErrors" "net/snmp6: Udp6InCsumErrors");
