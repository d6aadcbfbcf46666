//! `TCPv4` and the table of `TCPv6`.

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;

use super::named::named;
use crate::table::{CounterInfo, SetTable};

pub(super) static TABLE_V4: SetTable = SetTable {
    name: "TCPv4",
    guid: 0x25a04d9e89dc5783bcbb09bb2b89b992,
    instance_type: InstanceType::Single,
    help: "TCP segments and connections in this network namespace. The kernel counts those over IPv4 and over IPv6 \
           together, so this set contains both.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V4,
};

named! { ROWS_V4, COUNTS_V4;
    1 "Segments/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp InSegs" + "net/snmp: Tcp OutSegs"]
        "Segments received and sent, over IPv4 and IPv6, without those that contain only retransmitted data.";
    2 "Connections Established" RAWCOUNT "" 0 ["net/snmp: Tcp CurrEstab"]
        "Open connections (established, or closed by the remote end only), over IPv4 and IPv6.";
    3 "Connections Active" RAWCOUNT "" 0 ["net/snmp: Tcp ActiveOpens"]
        "Connections opened by this machine since boot, over IPv4 and IPv6.";
    4 "Connections Passive" RAWCOUNT "" 0 ["net/snmp: Tcp PassiveOpens"]
        "Connections opened by the remote end since boot, over IPv4 and IPv6.";
    5 "Connection Failures" RAWCOUNT "" 0 ["net/snmp: Tcp AttemptFails"]
        "Connection attempts that failed since boot, over IPv4 and IPv6.";
    6 "Connections Reset" RAWCOUNT "" 0 ["net/snmp: Tcp EstabResets"]
        "Open connections that were reset since boot, over IPv4 and IPv6.";
    7 "Segments Received/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp InSegs"]
        "Segments received, including those with errors, over IPv4 and IPv6.";
    8 "Segments Sent/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp OutSegs"]
        "Segments sent, without those that contain only retransmitted data, over IPv4 and IPv6.";
    9 "Segments Retransmitted/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp RetransSegs"]
        "Segments retransmitted, over IPv4 and IPv6.";
    10 "Segments Received Errors" RAWCOUNT "" 0 ["net/snmp: Tcp InErrs"]
        "Segments received with errors since boot. Linux only.";
    11 "Resets Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Tcp OutRsts"]
        "Resets (RST) sent. Linux only.";
}

pub(super) const ESTABLISHED_V6: u32 = 2;

#[rustfmt::skip]
pub(super) static TABLE_V6: SetTable = SetTable {
    name: "TCPv6",
    guid: 0x09a81725d6645be2b4b44b88d2355597,
    instance_type: InstanceType::Single,
    help: "TCP connections over IPv6 in this network namespace. Linux counts segments and connection attempts of both address families \
           together; see TCPv4.",
    instances: "",
    total: "",
    repeats: None,
    counters: &[CounterInfo::row(ESTABLISHED_V6, "Connections Established", CounterType::RAWCOUNT, "", 0,
        "inet_diag of netlink, else /proc/net/tcp6: st",
        "Open connections over IPv6 (established, or closed by the remote end only). If netlink is not allowed, \
         the kernel's whole table of connections is read instead, which takes milliseconds if there is much memory or \
         there are many connections.")],
};
