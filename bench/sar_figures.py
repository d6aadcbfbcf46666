"""The figures of `sar -A`, as `sadf -j` prints them, and the counters of tacho with the same meaning."""

# Section, figure, counter, factor from the counter's unit to sar's. Rates are averages over the whole interval.
RATES = [
    ("process-and-context-switch", "proc", r"\System\Forks/sec", 1),
    ("process-and-context-switch", "cswch", r"\System\Context Switches/sec", 1),
    ("swap-pages", "pswpin", r"\Memory\Pages Input/sec", 1),
    ("swap-pages", "pswpout", r"\Memory\Pages Output/sec", 1),
    ("paging", "pgpgin", r"\Paging Activity\Page In Bytes/sec", 1 / 1024),
    ("paging", "pgpgout", r"\Paging Activity\Page Out Bytes/sec", 1 / 1024),
    ("paging", "fault", r"\Memory\Page Faults/sec", 1),
    ("paging", "majflt", r"\Memory\Page Reads/sec", 1),
    ("paging", "pgfree", r"\Paging Activity\Pages Freed/sec", 1),
    ("paging", "pgscank", r"\Paging Activity\Background Pages Scanned/sec", 1),
    ("paging", "pgscand", r"\Paging Activity\Direct Pages Scanned/sec", 1),
    ("network.net-ip", "irec", r"\IPv4\Datagrams Received/sec", 1),
    ("network.net-ip", "fwddgm", r"\IPv4\Datagrams Forwarded/sec", 1),
    ("network.net-ip", "idel", r"\IPv4\Datagrams Received Delivered/sec", 1),
    ("network.net-ip", "orq", r"\IPv4\Datagrams Sent/sec", 1),
    ("network.net-ip6", "irec6", r"\IPv6\Datagrams Received/sec", 1),
    ("network.net-ip6", "fwddgm6", r"\IPv6\Datagrams Forwarded/sec", 1),
    ("network.net-ip6", "idel6", r"\IPv6\Datagrams Received Delivered/sec", 1),
    ("network.net-ip6", "orq6", r"\IPv6\Datagrams Sent/sec", 1),
    ("network.net-icmp", "imsg", r"\ICMP\Messages Received/sec", 1),
    ("network.net-icmp", "omsg", r"\ICMP\Messages Sent/sec", 1),
    ("network.net-tcp", "iseg", r"\TCPv4\Segments Received/sec", 1),
    ("network.net-tcp", "oseg", r"\TCPv4\Segments Sent/sec", 1),
    ("network.net-etcp", "retrans", r"\TCPv4\Segments Retransmitted/sec", 1),
    ("network.net-etcp", "orsts", r"\TCPv4\Resets Sent/sec", 1),
    ("network.net-udp", "idgm", r"\UDPv4\Datagrams Received/sec", 1),
    ("network.net-udp", "odgm", r"\UDPv4\Datagrams Sent/sec", 1),
    ("network.net-udp", "noport", r"\UDPv4\Datagrams No Port/sec", 1),
    ("network.net-udp6", "idgm6", r"\UDPv6\Datagrams Received/sec", 1),
    ("network.net-udp6", "odgm6", r"\UDPv6\Datagrams Sent/sec", 1),
]

# Amounts at the end of the interval.
AMOUNTS = [
    ("memory", "memfree", r"\Memory\Free & Zero Page List Bytes", 1 / 1024),
    ("memory", "avail", r"\Memory\Available Bytes", 1 / 1024),
    ("memory", "commit", r"\Memory\Committed Bytes", 1 / 1024),
    ("memory", "dirty", r"\Memory\Modified Page List Bytes", 1 / 1024),
    ("memory", "active", r"\Memory\Active Bytes", 1 / 1024),
    ("memory", "inactive", r"\Memory\Inactive Bytes", 1 / 1024),
    ("memory", "anonpg", r"\Memory\Anonymous Bytes", 1 / 1024),
    ("memory", "kstack", r"\Memory\Kernel Stack Bytes", 1 / 1024),
    ("memory", "pgtbl", r"\Memory\Page Table Bytes", 1 / 1024),
    ("memory", "vmused", r"\Memory\Vmalloc Used Bytes", 1 / 1024),
    ("memory", "swpused", r"\Memory\Swap Used Bytes", 1 / 1024),
    ("memory", "swpcad", r"\Memory\Swap Cached Bytes", 1 / 1024),
    ("kernel", "dentunusd", r"\System\Unused Directory Entries", 1),
    ("kernel", "file-nr", r"\System\File Handles", 1),
    ("kernel", "inode-nr", r"\System\Inodes In Use", 1),
    ("kernel", "pty-nr", r"\System\Pseudo Terminals", 1),
    ("queue", "runq-sz", r"\System\Threads Runnable", 1),
    ("queue", "plist-sz", r"\System\Threads", 1),
    ("queue", "ldavg-1", r"\System\Load Average, 1 min", 1),
    ("queue", "ldavg-5", r"\System\Load Average, 5 min", 1),
    ("queue", "ldavg-15", r"\System\Load Average, 15 min", 1),
    ("queue", "blocked", r"\System\Processes Blocked", 1),
    ("network.net-sock", "totsck", r"\Socket\Sockets Used", 1),
    ("network.net-sock", "tcpsck", r"\Socket\TCP Sockets In Use", 1),
    ("network.net-sock", "udpsck", r"\Socket\UDP Sockets In Use", 1),
    ("network.net-sock", "rawsck", r"\Socket\RAW Sockets In Use", 1),
    ("network.net-sock", "ip-frag", r"\Socket\Fragment Queues In Use", 1),
    ("network.net-sock", "tcp-tw", r"\Socket\TCP Sockets Time Wait", 1),
]

# Without areq-sz, in which sar counts discarded bytes as transferred.
# Section, key of the instance, figure, counter (or the sum of two) with {} for the instance, factor.
RATES_OF_INSTANCES = [
    ("disk", "disk-device", "tps", r"\PhysicalDisk({0})\Disk Transfers/sec + \PhysicalDisk({0})\Disk Discards/sec", 1),
    ("disk", "disk-device", "rkB", r"\PhysicalDisk({})\Disk Read Bytes/sec", 1 / 1024),
    ("disk", "disk-device", "wkB", r"\PhysicalDisk({})\Disk Write Bytes/sec", 1 / 1024),
    ("disk", "disk-device", "dkB", r"\PhysicalDisk({})\Disk Discard Bytes/sec", 1 / 1024),
    ("disk", "disk-device", "aqu-sz", r"\PhysicalDisk({})\Avg. Disk Queue Length", 1),
    ("disk", "disk-device", "await", r"\PhysicalDisk({})\Avg. Disk sec/Transfer", 1000),
    ("network.net-dev", "iface", "rxpck", r"\Network Interface({})\Packets Received/sec", 1),
    ("network.net-dev", "iface", "txpck", r"\Network Interface({})\Packets Sent/sec", 1),
    ("network.net-dev", "iface", "rxkB", r"\Network Interface({})\Bytes Received/sec", 1 / 1024),
    ("network.net-dev", "iface", "txkB", r"\Network Interface({})\Bytes Sent/sec", 1 / 1024),
    ("network.net-dev", "iface", "rxcmp", r"\Network Interface({})\Packets Received Compressed/sec", 1),
    ("network.net-dev", "iface", "txcmp", r"\Network Interface({})\Packets Sent Compressed/sec", 1),
    ("network.net-dev", "iface", "rxmcst", r"\Network Interface({})\Packets Received Non-Unicast/sec", 1),
    ("network.net-edev", "iface", "rxerr", r"\Network Interface({})\Packets Received Errors/sec", 1),
    ("network.net-edev", "iface", "txerr", r"\Network Interface({})\Packets Outbound Errors/sec", 1),
    ("network.net-edev", "iface", "rxdrop", r"\Network Interface({})\Packets Received Discarded/sec", 1),
    ("network.net-edev", "iface", "txdrop", r"\Network Interface({})\Packets Outbound Discarded/sec", 1),
    ("network.softnet", "cpu", "total", r"\Processor Information({})\Network Packets Processed/sec", 1),
    ("network.softnet", "cpu", "dropd", r"\Processor Information({})\Network Packets Dropped/sec", 1),
    ("network.softnet", "cpu", "squeezd", r"\Processor Information({})\Network Time Squeezes/sec", 1),
    ("network.softnet", "cpu", "rx_rps", r"\Processor Information({})\Network RPS Wakeups/sec", 1),
    ("network.softnet", "cpu", "flw_lim", r"\Processor Information({})\Network Flow Limit Drops/sec", 1),
]

# Shares of time in percent.
SHARES = [
    ("psi.psi-cpu", "some_avg", r"\Pressure Stall(cpu)\% Some Stall Time"),
    ("psi.psi-io", "some_avg", r"\Pressure Stall(io)\% Some Stall Time"),
    ("psi.psi-io", "full_avg", r"\Pressure Stall(io)\% Full Stall Time"),
    ("psi.psi-mem", "some_avg", r"\Pressure Stall(memory)\% Some Stall Time"),
    ("psi.psi-mem", "full_avg", r"\Pressure Stall(memory)\% Full Stall Time"),
]

# Amounts of file systems, by device, at the end of the interval.
FILE_SYSTEMS = [
    ("MBfsfree", r"Free Bytes", 1 / (1 << 20)),
    ("MBfsused", r"Used Bytes", 1 / (1 << 20)),
    ("Ifree", r"Free Inodes", 1),
    ("Iused", r"Used Inodes", 1),
]


def section(statistics, path):
    """A section of the statistics, such as network.net-dev; None if sar has none."""
    for key in path.split("."):
        statistics = statistics.get(key) if statistics else None
    return statistics


def instance_of(key, name):
    """The name that tacho gives to an instance (disk, interface, processor) in the output of sar."""
    if key == "cpu":
        return "_Total" if name == "all" else f"0,{name}"
    return name


def mount_points():
    """The first mount point of each device."""
    points = {}
    with open("/proc/self/mounts", encoding="utf-8") as mounts:
        for line in mounts:
            device, point, *_ = line.split()
            points.setdefault(device, point)
    return points


def figures(statistics):
    """Yields kind ("rate", "amount" or "share"), sar's name of the figure, counter path, sar's value, and factor, for each
    figure of one interval that has a corresponding counter."""
    for kind, rows in (("rate", RATES), ("amount", AMOUNTS)):
        for path, key, counter, factor in rows:
            found = section(statistics, path)
            if found and key in found:
                yield kind, key, counter, float(found[key]), factor
    for path, name, key, counter, factor in RATES_OF_INSTANCES:
        for entry in section(statistics, path) or ():
            if key in entry and not str(entry[name]).startswith(("loop", "zram", "dm-")):
                yield "rate", key, counter.format(instance_of(name, entry[name])), float(entry[key]), factor
    for path, key, counter in SHARES:
        found = section(statistics, path)
        if found and key in found:
            yield "share", f"{path.removeprefix('psi.')} {key}", counter, float(found[key]), 1
    points = mount_points()
    for entry in statistics.get("filesystems", ()):
        point = points.get(entry["filesystem"])
        for key, counter, factor in FILE_SYSTEMS:
            if point and key in entry:
                yield "amount", key, rf"\File System({point})\{counter}", float(entry[key]), factor
