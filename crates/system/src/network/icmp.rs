//! `ICMP` and `ICMPv6`.

use tachograph_perflib::registration::InstanceType;

use super::named::named;
use crate::table::SetTable;

pub(super) static TABLE_V4: SetTable = SetTable {
    name: "ICMP",
    guid: 0x6f652f521e3250cebe0e68ee4b94b2fc,
    instance_type: InstanceType::Single,
    help: "ICMP messages over IPv4 in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V4,
};

named! { ROWS_V4, COUNTS_V4;
    1 "Messages/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InMsgs" + "net/snmp: Icmp OutMsgs"]
        "Messages received and sent, including those with errors.";
    2 "Messages Received/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InMsgs"]
        "Messages received, including those with errors.";
    3 "Messages Received Errors" RAWCOUNT "" 0 ["net/snmp: Icmp InErrors"]
        "Messages received with errors, such as a wrong checksum, since boot.";
    4 "Received Dest. Unreachable" RAWCOUNT "" 0 ["net/snmp: Icmp InDestUnreachs"]
        "Destination unreachable messages received since boot.";
    5 "Received Time Exceeded" RAWCOUNT "" 0 ["net/snmp: Icmp InTimeExcds"]
        "Time exceeded messages received since boot.";
    6 "Received Parameter Problem" RAWCOUNT "" 0 ["net/snmp: Icmp InParmProbs"]
        "Parameter problem messages received since boot.";
    7 "Received Source Quench" RAWCOUNT "" 0 ["net/snmp: Icmp InSrcQuenchs"]
        "Source quench messages received since boot.";
    8 "Received Redirect/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InRedirects"]
        "Redirects received.";
    9 "Received Echo/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InEchos"]
        "Echo requests (ping) received.";
    10 "Received Echo Reply/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InEchoReps"]
        "Echo replies received.";
    11 "Received Timestamp/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InTimestamps"]
        "Timestamp requests received.";
    12 "Received Timestamp Reply/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp InTimestampReps"]
        "Timestamp replies received.";
    13 "Received Address Mask" RAWCOUNT "" 0 ["net/snmp: Icmp InAddrMasks"]
        "Address mask requests received since boot.";
    14 "Received Address Mask Reply" RAWCOUNT "" 0 ["net/snmp: Icmp InAddrMaskReps"]
        "Address mask replies received since boot.";
    15 "Messages Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp OutMsgs"]
        "Messages sent, including failed attempts.";
    16 "Messages Outbound Errors" RAWCOUNT "" 0 ["net/snmp: Icmp OutErrors"]
        "Messages that could not be sent since boot, usually for lack of memory.";
    17 "Sent Destination Unreachable" RAWCOUNT "" 0 ["net/snmp: Icmp OutDestUnreachs"]
        "Destination unreachable messages sent since boot.";
    18 "Sent Time Exceeded" RAWCOUNT "" 0 ["net/snmp: Icmp OutTimeExcds"]
        "Time exceeded messages sent since boot.";
    19 "Sent Parameter Problem" RAWCOUNT "" 0 ["net/snmp: Icmp OutParmProbs"]
        "Parameter problem messages sent since boot.";
    20 "Sent Source Quench" RAWCOUNT "" 0 ["net/snmp: Icmp OutSrcQuenchs"]
        "Source quench messages sent since boot.";
    21 "Sent Redirect/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp OutRedirects"]
        "Redirects sent.";
    22 "Sent Echo/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp OutEchos"]
        "Echo requests (ping) sent.";
    23 "Sent Echo Reply/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp OutEchoReps"]
        "Echo replies sent.";
    24 "Sent Timestamp/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp OutTimestamps"]
        "Timestamp requests sent.";
    25 "Sent Timestamp Reply/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp: Icmp OutTimestampReps"]
        "Timestamp replies sent.";
    26 "Sent Address Mask" RAWCOUNT "" 0 ["net/snmp: Icmp OutAddrMasks"]
        "Address mask requests sent since boot.";
    27 "Sent Address Mask Reply" RAWCOUNT "" 0 ["net/snmp: Icmp OutAddrMaskReps"]
        "Address mask replies sent since boot.";
}

pub(super) static TABLE_V6: SetTable = SetTable {
    name: "ICMPv6",
    guid: 0x5a5a99d37f135e7e998892a1552ee3ee,
    instance_type: InstanceType::Single,
    help: "ICMP messages over IPv6 in this network namespace.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS_V6,
};

named! { ROWS_V6, COUNTS_V6;
    1 "Messages/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6InMsgs" + "net/snmp6: Icmp6OutMsgs"]
        "Messages received and sent, including those with errors.";
    2 "Messages Received/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6InMsgs"]
        "Messages received, including those with errors.";
    3 "Messages Received Errors" RAWCOUNT "" 0 ["net/snmp6: Icmp6InErrors"]
        "Messages received with errors, such as a wrong checksum, since boot.";
    4 "Received Dest. Unreachable" RAWCOUNT "" 0 ["net/snmp6: Icmp6InDestUnreachs"]
        "Destination unreachable messages received since boot.";
    5 "Received Packet Too Big" RAWCOUNT "" 0 ["net/snmp6: Icmp6InPktTooBigs"]
        "Packet too big messages received since boot.";
    6 "Received Time Exceeded" RAWCOUNT "" 0 ["net/snmp6: Icmp6InTimeExcds"]
        "Time exceeded messages received since boot.";
    7 "Received Parameter Problem" RAWCOUNT "" 0 ["net/snmp6: Icmp6InParmProblems"]
        "Parameter problem messages received since boot.";
    8 "Received Echo/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6InEchos"]
        "Echo requests (ping) received.";
    9 "Received Echo Reply/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6InEchoReplies"]
        "Echo replies received.";
    10 "Received Membership Query" RAWCOUNT "" 0 ["net/snmp6: Icmp6InGroupMembQueries"]
        "Group membership queries received since boot.";
    11 "Received Membership Report" RAWCOUNT "" 0 ["net/snmp6: Icmp6InGroupMembResponses"]
        "Group membership reports received since boot.";
    12 "Received Membership Reduction" RAWCOUNT "" 0 ["net/snmp6: Icmp6InGroupMembReductions"]
        "Group membership reductions received since boot.";
    13 "Received Router Solicit" RAWCOUNT "" 0 ["net/snmp6: Icmp6InRouterSolicits"]
        "Router solicitations received since boot.";
    14 "Received Router Advert" RAWCOUNT "" 0 ["net/snmp6: Icmp6InRouterAdvertisements"]
        "Router advertisements received since boot.";
    15 "Received Neighbor Solicit" RAWCOUNT "" 0 ["net/snmp6: Icmp6InNeighborSolicits"]
        "Neighbor solicitations received since boot.";
    16 "Received Neighbor Advert" RAWCOUNT "" 0 ["net/snmp6: Icmp6InNeighborAdvertisements"]
        "Neighbor advertisements received since boot.";
    17 "Received Redirect/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6InRedirects"]
        "Redirects received.";
    18 "Messages Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6OutMsgs"]
        "Messages sent, including failed attempts.";
    19 "Messages Outbound Errors" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutErrors"]
        "Messages that could not be sent since boot, usually for lack of memory.";
    20 "Sent Destination Unreachable" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutDestUnreachs"]
        "Destination unreachable messages sent since boot.";
    21 "Sent Packet Too Big" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutPktTooBigs"]
        "Packet too big messages sent since boot.";
    22 "Sent Time Exceeded" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutTimeExcds"]
        "Time exceeded messages sent since boot.";
    23 "Sent Parameter Problem" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutParmProblems"]
        "Parameter problem messages sent since boot.";
    24 "Sent Echo/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6OutEchos"]
        "Echo requests (ping) sent.";
    25 "Sent Echo Reply/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6OutEchoReplies"]
        "Echo replies sent.";
    26 "Sent Membership Query" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutGroupMembQueries"]
        "Group membership queries sent since boot.";
    27 "Sent Membership Report" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutGroupMembResponses"]
        "Group membership reports sent since boot.";
    28 "Sent Membership Reduction" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutGroupMembReductions"]
        "Group membership reductions sent since boot.";
    29 "Sent Router Solicit" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutRouterSolicits"]
        "Router solicitations sent since boot.";
    30 "Sent Router Advert" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutRouterAdvertisements"]
        "Router advertisements sent since boot.";
    31 "Sent Neighbor Solicit" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutNeighborSolicits"]
        "Neighbor solicitations sent since boot.";
    32 "Sent Neighbor Advert" RAWCOUNT "" 0 ["net/snmp6: Icmp6OutNeighborAdvertisements"]
        "Neighbor advertisements sent since boot.";
    33 "Sent Redirect/sec" COUNTER_COUNTER "1/s" 0 ["net/snmp6: Icmp6OutRedirects"]
        "Redirects sent.";
}
