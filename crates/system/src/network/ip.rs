//! `IPv4` and `IPv6`.

use tachograph_perflib::registration::InstanceType;

use super::named::named;
use crate::table::SetTable;

pub(super) static TABLE_V4: SetTable = SetTable {
    name: "IPv4",
    guid: 0xfdb3fb831a1c5190bf2b35c9f9f88f18,
    instance_type: InstanceType::Single,
    help: "IPv4 datagrams in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V4,
};

pub(super) static TABLE_V6: SetTable = SetTable {
    name: "IPv6",
    guid: 0xa67160bcb3625845ab05206d21ee4be1,
    instance_type: InstanceType::Single,
    help: "IPv6 datagrams in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V6,
};

macro_rules! ip {
    ($rows:ident $counts:ident; $received:literal $sent:literal $header:literal $address:literal $forwarded:literal
     $unknown:literal $discarded:literal $delivered:literal $out_discarded:literal $no_route:literal
     $to_assemble:literal $assembled:literal $not_assembled:literal $fragmented:literal $not_fragmented:literal
     $fragments:literal $in_bytes:literal $out_bytes:literal $in_multicast:literal $out_multicast:literal) => {
        named! { $rows, $counts;
            1 "Datagrams/sec" COUNTER_COUNTER "1/s" -1 [$received + $sent]
                "Datagrams received, including those with errors, and sent by this machine. Forwarded ones count as received only.";
            2 "Datagrams Received/sec" COUNTER_COUNTER "1/s" -1 [$received]
                "Datagrams received, including those with errors.";
            3 "Datagrams Received Header Errors" RAWCOUNT "" 0 [$header]
                "Datagrams discarded since boot because of an error in the header.";
            4 "Datagrams Received Address Errors" RAWCOUNT "" 0 [$address]
                "Datagrams discarded since boot because their destination address is invalid on this machine.";
            5 "Datagrams Forwarded/sec" COUNTER_COUNTER "1/s" 0 [$forwarded] "Datagrams forwarded.";
            6 "Datagrams Received Unknown Protocol" RAWCOUNT "" 0 [$unknown]
                "Datagrams discarded since boot because their protocol is unknown or not supported.";
            7 "Datagrams Received Discarded" RAWCOUNT "" 0 [$discarded]
                "Error-free datagrams discarded since boot, for instance for lack of memory.";
            8 "Datagrams Received Delivered/sec" COUNTER_COUNTER "1/s" -1 [$delivered]
                "Datagrams delivered to a protocol, such as TCP, UDP or ICMP.";
            9 "Datagrams Sent/sec" COUNTER_COUNTER "1/s" -1 [$sent]
                "Datagrams that protocols of this machine passed to IP for sending, without forwarded ones.";
            10 "Datagrams Outbound Discarded" RAWCOUNT "" 0 [$out_discarded]
                "Error-free outgoing datagrams discarded since boot, for instance for lack of memory.";
            11 "Datagrams Outbound No Route" RAWCOUNT "" 0 [$no_route]
                "Outgoing datagrams discarded since boot because there was no route to the destination.";
            12 "Fragments Received/sec" COUNTER_COUNTER "1/s" 0 [$to_assemble] "Fragments received that needed reassembly.";
            13 "Fragments Re-assembled/sec" COUNTER_COUNTER "1/s" 0 [$assembled] "Datagrams reassembled from fragments.";
            14 "Fragment Re-assembly Failures" RAWCOUNT "" 0 [$not_assembled]
                "Reassembly failures since boot.";
            15 "Fragmented Datagrams/sec" COUNTER_COUNTER "1/s" 0 [$fragmented] "Datagrams that were fragmented.";
            16 "Fragmentation Failures" RAWCOUNT "" 0 [$not_fragmented]
                "Datagrams discarded since boot because they needed fragmentation but did not allow it.";
            17 "Fragments Created/sec" COUNTER_COUNTER "1/s" 0 [$fragments] "Fragments created.";
            18 "Bytes Received/sec" BULK_COUNT "bytes/s" -4 [$in_bytes]
                "Bytes of datagrams received, including headers. Linux only.";
            19 "Bytes Sent/sec" BULK_COUNT "bytes/s" -4 [$out_bytes]
                "Bytes of datagrams sent, including headers. Linux only.";
            20 "Multicast Datagrams Received/sec" COUNTER_COUNTER "1/s" 0 [$in_multicast]
                "Multicast datagrams received. Linux only.";
            21 "Multicast Datagrams Sent/sec" COUNTER_COUNTER "1/s" 0 [$out_multicast]
                "Multicast datagrams sent. Linux only.";
        }
    };
}

ip!(ROWS_V4 COUNTS_V4;
    "net/snmp: Ip InReceives" "net/snmp: Ip OutRequests" "net/snmp: Ip InHdrErrors" "net/snmp: Ip InAddrErrors"
    "net/snmp: Ip ForwDatagrams" "net/snmp: Ip InUnknownProtos" "net/snmp: Ip InDiscards" "net/snmp: Ip InDelivers"
    "net/snmp: Ip OutDiscards" "net/snmp: Ip OutNoRoutes" "net/snmp: Ip ReasmReqds" "net/snmp: Ip ReasmOKs"
    "net/snmp: Ip ReasmFails" "net/snmp: Ip FragOKs" "net/snmp: Ip FragFails" "net/snmp: Ip FragCreates"
    "net/netstat: IpExt InOctets" "net/netstat: IpExt OutOctets" "net/netstat: IpExt InMcastPkts"
    "net/netstat: IpExt OutMcastPkts");
ip!(ROWS_V6 COUNTS_V6;
    "net/snmp6: Ip6InReceives" "net/snmp6: Ip6OutRequests" "net/snmp6: Ip6InHdrErrors" "net/snmp6: Ip6InAddrErrors"
    "net/snmp6: Ip6OutForwDatagrams" "net/snmp6: Ip6InUnknownProtos" "net/snmp6: Ip6InDiscards"
    "net/snmp6: Ip6InDelivers" "net/snmp6: Ip6OutDiscards" "net/snmp6: Ip6OutNoRoutes" "net/snmp6: Ip6ReasmReqds"
    "net/snmp6: Ip6ReasmOKs" "net/snmp6: Ip6ReasmFails" "net/snmp6: Ip6FragOKs" "net/snmp6: Ip6FragFails"
    "net/snmp6: Ip6FragCreates" "net/snmp6: Ip6InOctets" "net/snmp6: Ip6OutOctets" "net/snmp6: Ip6InMcastPkts"
    "net/snmp6: Ip6OutMcastPkts");
