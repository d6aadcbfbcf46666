//! `Socket`: sockets, their memory, and errors of TCP connections. Linux only.

use tachograph_perflib::registration::InstanceType;

use super::named::named;
use crate::table::SetTable;

pub(super) static TABLE: SetTable = SetTable {
    name: "Socket",
    guid: 0xcdff718ca40657779a90e95f34380e48,
    instance_type: InstanceType::Single,
    help: "Sockets of this network namespace, and how TCP connections fare; buffers' memory is that of the whole machine.",
    instances: "",
    total: "",
    counters: ROWS,
};

named! { ROWS, COUNTS;
    1 "Sockets Used" RAWCOUNT "" 0 ["net/sockstat: sockets used"] "Sockets of all kinds, Unix domain sockets included.";
    2 "TCP Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: TCP inuse"]
        "TCP sockets over IPv4 that are open or listening; those in TIME-WAIT are not among them.";
    3 "TCP Sockets Orphaned" RAWCOUNT "" 0 ["net/sockstat: TCP orphan"] "TCP sockets that belong to no process any more, on the whole machine.";
    4 "TCP Sockets Time Wait" RAWCOUNT "" 0 ["net/sockstat: TCP tw"] "TCP connections in TIME-WAIT.";
    5 "TCP Sockets Allocated" RAWCOUNT "" 0 ["net/sockstat: TCP alloc"]
        "TCP sockets of all states and both families, on the whole machine.";
    6 "TCP Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat: TCP mem"] pages
        "Memory in the buffers of TCP sockets, on the whole machine.";
    7 "UDP Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: UDP inuse"] "UDP sockets over IPv4.";
    8 "UDP Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat: UDP mem"] pages
        "Memory in the buffers of UDP sockets, on the whole machine.";
    9 "UDPLITE Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: UDPLITE inuse"] "UDP-Lite sockets over IPv4.";
    10 "RAW Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: RAW inuse"] "Raw sockets over IPv4.";
    11 "Fragment Queues In Use" RAWCOUNT "" 0 ["net/sockstat: FRAG inuse"]
        "IPv4 datagrams of which fragments are awaited.";
    12 "Fragment Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat: FRAG memory"]
        "Memory in IPv4 fragments that wait for others.";
    13 "TCPv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: TCP6 inuse"]
        "TCP sockets over IPv6 that are open or listening; those in TIME-WAIT are not among them.";
    14 "UDPv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: UDP6 inuse"] "UDP sockets over IPv6.";
    15 "UDPLITEv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: UDPLITE6 inuse"] "UDP-Lite sockets over IPv6.";
    16 "RAWv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: RAW6 inuse"] "Raw sockets over IPv6.";
    17 "Fragment Queues v6 In Use" RAWCOUNT "" 0 ["net/sockstat6: FRAG6 inuse"]
        "IPv6 datagrams of which fragments are awaited.";
    18 "Fragment v6 Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat6: FRAG6 memory"]
        "Memory in IPv6 fragments that wait for others.";
    30 "Listen Overflows/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt ListenOverflows"]
        "Connections not taken because the queue of those that wait to be accepted was full.";
    31 "Listen Drops/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt ListenDrops"]
        "Connections not taken for any reason, full queues included.";
    32 "Backlog Drops/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPBacklogDrop"]
        "Segments lost because the queue of a socket in use was full.";
    33 "Request Queue Full Drops/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPReqQFullDrop"]
        "Requests for a connection lost because the queue of half-open ones was full.";
    34 "SYN Cookies Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt SyncookiesSent"]
        "Half-open connections that were remembered in a cookie because their queue was full.";
    35 "SYN Cookies Received/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt SyncookiesRecv"]
        "Connections that came back with a right cookie.";
    36 "SYN Cookies Failed/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt SyncookiesFailed"]
        "Connections that came back with a wrong cookie.";
    37 "Retransmission Timeouts/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPTimeouts"]
        "Times at which nothing came back before a connection's timer ran out.";
    38 "Fast Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPFastRetrans"]
        "Segments sent again because acknowledgements indicated their loss.";
    39 "Slow Start Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPSlowStartRetrans"]
        "Segments sent again after a timeout.";
    40 "Lost Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPLostRetransmit"]
        "Segments sent again that were lost again.";
    41 "SYN Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPSynRetrans"]
        "Requests for a connection, and answers to them, sent again.";
    42 "Spurious Timeouts/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPSpuriousRTOs"]
        "Timeouts after which it turned out that nothing was lost.";
    43 "Tail Loss Probes/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPLossProbes"]
        "Segments sent again on suspicion that the last of a train was lost.";
    44 "Out Of Order Segments/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPOFOQueue"]
        "Segments received before one that should have come first.";
    45 "Receive Buffer Pruned/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt RcvPruned"]
        "Segments thrown away because the receive buffer of their socket was full.";
    46 "Receive Buffer Collapsed/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPRcvCollapsed"]
        "Segments joined in a receive buffer to make room.";
    47 "Memory Pressures/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPMemoryPressures"]
        "Times at which the memory for TCP grew scarce.";
    48 "Aborted On Timeout/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPAbortOnTimeout"]
        "Connections given up because nothing came back.";
    49 "Aborted On Data/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPAbortOnData"]
        "Connections reset because data came after they were closed from here, or lay there unread.";
    50 "Aborted On Memory/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPAbortOnMemory"]
        "Connections reset for lack of memory, or because there were too many orphaned ones.";
    51 "Time Wait Overflows/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPTimeWaitOverflow"]
        "Connections that did not get into TIME-WAIT because there were too many.";
    52 "Keepalives Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPKeepAlive"]
        "Probes sent to see whether the other side is still there.";
}
