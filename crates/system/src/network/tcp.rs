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
           together, so that this set holds both.",
    instances: "",
    total: "",
    counters: ROWS_V4,
};

named! { ROWS_V4, COUNTS_V4;
    1 "Segments/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp InSegs" + "net/snmp: Tcp OutSegs"]
        "Segments received and sent, over IPv4 and IPv6; those that were only sent again are not among them.";
    2 "Connections Established" RAWCOUNT "" 0 ["net/snmp: Tcp CurrEstab"]
        "Connections that are open now (established, or closed by the other side only), over IPv4 and IPv6.";
    3 "Connections Active" RAWCOUNT "" 0 ["net/snmp: Tcp ActiveOpens"]
        "Connections that were opened from here since the start, over IPv4 and IPv6.";
    4 "Connections Passive" RAWCOUNT "" 0 ["net/snmp: Tcp PassiveOpens"]
        "Connections that were opened from elsewhere since the start, over IPv4 and IPv6.";
    5 "Connection Failures" RAWCOUNT "" 0 ["net/snmp: Tcp AttemptFails"]
        "Connections that failed while they were opened since the start, over IPv4 and IPv6.";
    6 "Connections Reset" RAWCOUNT "" 0 ["net/snmp: Tcp EstabResets"]
        "Open connections that ended by a reset since the start, over IPv4 and IPv6.";
    7 "Segments Received/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp InSegs"]
        "Segments received, those with errors included, over IPv4 and IPv6.";
    8 "Segments Sent/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp OutSegs"]
        "Segments sent, without those that were only sent again, over IPv4 and IPv6.";
    9 "Segments Retransmitted/sec" COUNTER_COUNTER "1/s" -1 ["net/snmp: Tcp RetransSegs"]
        "Segments sent again, over IPv4 and IPv6.";
    10 "Segments Received Errors" RAWCOUNT "" 0 ["net/snmp: Tcp InErrs"]
        "Segments received with errors since the start. Linux only.";
    11 "Resets Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Tcp OutRsts"]
        "Segments sent that reset a connection. Linux only.";
}

pub(super) const ESTABLISHED_V6: u32 = 2;

#[rustfmt::skip]
pub(super) static TABLE_V6: SetTable = SetTable {
    name: "TCPv6",
    guid: 0x09a81725d6645be2b4b44b88d2355597,
    instance_type: InstanceType::Single,
    help: "TCP connections over IPv6 in this network namespace. Linux counts segments and openings of both families \
           together: they are in TCPv4.",
    instances: "",
    total: "",
    counters: &[CounterInfo::row(ESTABLISHED_V6, "Connections Established", CounterType::RAWCOUNT, "", 0,
        "inet_diag of netlink, else /proc/net/tcp6: st",
        "Connections over IPv6 that are open now (established, or closed by the other side only). Where netlink is refused \
         the kernel lists its whole table of connections for it, which takes milliseconds where there is much memory or \
         there are many connections.")],
};
