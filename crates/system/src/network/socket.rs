//! `Socket`: sockets, their memory, and errors of TCP connections. Linux only.

use tachograph_perflib::registration::InstanceType;

use super::named::named;
use crate::table::SetTable;

pub(super) static TABLE: SetTable = SetTable {
    name: "Socket",
    guid: 0xcdff718ca40657779a90e95f34380e48,
    instance_type: InstanceType::Single,
    help: "Sockets of this network namespace, and problems of TCP connections. Buffer memory is that of the whole machine.",
    instances: "",
    total: "",
    repeats: None,
    counters: ROWS,
};

named! { ROWS, COUNTS;
    1 "Sockets Used" RAWCOUNT "" 0 ["net/sockstat: sockets used"] "Sockets of all kinds, including Unix domain sockets.";
    2 "TCP Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: TCP inuse"]
        "TCP sockets over IPv4 that are open or listening, without those in TIME-WAIT.";
    3 "TCP Sockets Orphaned" RAWCOUNT "" 0 ["net/sockstat: TCP orphan"] "TCP sockets that no longer belong to a process, on the whole machine.";
    4 "TCP Sockets Time Wait" RAWCOUNT "" 0 ["net/sockstat: TCP tw"] "TCP connections in TIME-WAIT.";
    5 "TCP Sockets Allocated" RAWCOUNT "" 0 ["net/sockstat: TCP alloc"]
        "TCP sockets in all states, of both address families, on the whole machine.";
    6 "TCP Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat: TCP mem"] pages
        "Memory in the buffers of TCP sockets, on the whole machine.";
    7 "UDP Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: UDP inuse"] "UDP sockets over IPv4.";
    8 "UDP Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat: UDP mem"] pages
        "Memory in the buffers of UDP sockets, on the whole machine.";
    9 "UDPLITE Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: UDPLITE inuse"] "UDP-Lite sockets over IPv4.";
    10 "RAW Sockets In Use" RAWCOUNT "" 0 ["net/sockstat: RAW inuse"] "Raw sockets over IPv4.";
    11 "Fragment Queues In Use" RAWCOUNT "" 0 ["net/sockstat: FRAG inuse"]
        "IPv4 datagrams that are waiting for fragments.";
    12 "Fragment Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat: FRAG memory"]
        "Memory of IPv4 fragments that are waiting for reassembly.";
    13 "TCPv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: TCP6 inuse"]
        "TCP sockets over IPv6 that are open or listening, without those in TIME-WAIT.";
    14 "UDPv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: UDP6 inuse"] "UDP sockets over IPv6.";
    15 "UDPLITEv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: UDPLITE6 inuse"] "UDP-Lite sockets over IPv6.";
    16 "RAWv6 Sockets In Use" RAWCOUNT "" 0 ["net/sockstat6: RAW6 inuse"] "Raw sockets over IPv6.";
    17 "Fragment Queues v6 In Use" RAWCOUNT "" 0 ["net/sockstat6: FRAG6 inuse"]
        "IPv6 datagrams that are waiting for fragments.";
    18 "Fragment v6 Memory Bytes" LARGE_RAWCOUNT "bytes" -6 ["net/sockstat6: FRAG6 memory"]
        "Memory of IPv6 fragments that are waiting for reassembly.";
    30 "Listen Overflows/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt ListenOverflows"]
        "Incoming connections dropped because the accept queue was full.";
    31 "Listen Drops/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt ListenDrops"]
        "Incoming connections dropped for any reason, including full queues.";
    32 "Backlog Drops/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPBacklogDrop"]
        "Segments dropped because the backlog queue of a busy socket was full.";
    33 "Request Queue Full Drops/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPReqQFullDrop"]
        "Connection requests dropped because the queue of half-open connections was full.";
    34 "SYN Cookies Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt SyncookiesSent"]
        "Connection requests answered with a SYN cookie because the queue of half-open connections was full.";
    35 "SYN Cookies Received/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt SyncookiesRecv"]
        "Valid SYN cookies received.";
    36 "SYN Cookies Failed/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt SyncookiesFailed"]
        "Invalid SYN cookies received.";
    37 "Retransmission Timeouts/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPTimeouts"]
        "Retransmission timers that expired before an acknowledgement arrived.";
    38 "Fast Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPFastRetrans"]
        "Segments retransmitted because acknowledgements indicated their loss.";
    39 "Slow Start Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPSlowStartRetrans"]
        "Segments retransmitted after a timeout.";
    40 "Lost Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPLostRetransmit"]
        "Retransmitted segments that were lost, too.";
    41 "SYN Retransmits/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPSynRetrans"]
        "Retransmitted connection requests and answers to them (SYN, SYN-ACK).";
    42 "Spurious Timeouts/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPSpuriousRTOs"]
        "Timeouts after which it turned out that nothing was lost.";
    43 "Tail Loss Probes/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPLossProbes"]
        "Probes sent because the last segments of a transmission may have been lost.";
    44 "Out Of Order Segments/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPOFOQueue"]
        "Segments received out of order.";
    45 "Receive Buffer Pruned/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt RcvPruned"]
        "Segments discarded because the receive buffer of their socket was full.";
    46 "Receive Buffer Collapsed/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPRcvCollapsed"]
        "Segments merged in a receive buffer to make room.";
    47 "Memory Pressures/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPMemoryPressures"]
        "How often TCP came under memory pressure.";
    48 "Aborted On Timeout/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPAbortOnTimeout"]
        "Connections aborted because the remote end did not answer.";
    49 "Aborted On Data/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPAbortOnData"]
        "Connections reset because data arrived after they were closed on this machine, or was left unread.";
    50 "Aborted On Memory/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPAbortOnMemory"]
        "Connections reset for lack of memory, or because there were too many orphaned ones.";
    51 "Time Wait Overflows/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPTimeWaitOverflow"]
        "Connections closed without TIME-WAIT because too many were in that state.";
    52 "Keepalives Sent/sec" COUNTER_COUNTER "1/s" 0 ["net/netstat: TcpExt TCPKeepAlive"]
        "Keepalive probes sent.";
}
