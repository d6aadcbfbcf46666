//! The prefixes and labels of the metrics of the machine's own counter sets.

use super::labels::Labelling::{self, Id, Mount, NamedPair, Pair, Whole};

/// How the metrics of a counter set are named.
#[derive(Debug)]
pub(super) struct SetNames {
    /// The name of the counter set.
    pub(super) set: &'static str,
    /// The words after `tacho_`, instead of the words of the set's name.
    pub(super) prefix: &'static str,
    /// Words that are omitted from the names of the set's counters, because the prefix says the same.
    pub(super) omitted: &'static [&'static str],
    /// The labels of its instances.
    pub(super) labelling: Labelling,
}

const fn set(
    set: &'static str,
    prefix: &'static str,
    omitted: &'static [&'static str],
    labelling: Labelling,
) -> SetNames {
    SetNames { set, prefix, omitted, labelling }
}

/// The labelling of sets without instances. It is not used, because they have no labels.
const NONE: Labelling = Labelling::NameAndParent;

#[rustfmt::skip]
pub(super) static SETS: &[SetNames] = &[
    set("Processor Information", "cpu", &["processor"], Id("cpu")),
    set("Processor", "processor", &[], Id("cpu")),
    set("Processor CPI", "perf", &[], Id("cpu")),

    set("Memory", "memory", &[], NONE),
    set("Cache", "cache", &[], NONE),
    set("Paging File", "paging_file", &[], Whole("device")),
    set("Paging Activity", "vmstat", &[], NONE),
    set("NUMA Node Memory", "numa_memory", &[], Whole("node")),
    set("Kernel Samepage Merging", "ksm", &[], NONE),
    set("Huge Page", "huge_page", &[], Whole("page_size")),
    set("Buddy Allocator", "buddy", &[], Whole("order")),
    set("System", "system", &[], NONE),

    set("PhysicalDisk", "disk", &["disk"], Whole("device")),
    set("LogicalDisk", "logical_disk", &["disk"], Mount),
    set("File System", "filesystem", &[], Mount),
    set("Block Device", "block_device", &["disk"], Whole("device")),
    set("Block Device Member", "block_device_member", &["disk"], NamedPair("device", "member")),
    set("RAID Array", "raid", &[], Whole("device")),
    set("Zram", "zram", &[], Whole("device")),
    set("NFS Mount", "nfs", &[], Mount),
    set("ZFS ARC", "zfs_arc", &[], NONE),
    set("Btrfs Device", "btrfs_device", &[], NamedPair("filesystem", "device")),

    set("Network Interface", "network", &[], Whole("device")),
    set("Bonding", "bonding", &[], NamedPair("bond", "device")),
    set("Queueing Discipline", "qdisc", &[], NamedPair("device", "kind")),
    set("Neighbor Cache", "neighbor_cache", &[], Whole("protocol")),
    set("Connection Tracking", "conntrack", &[], NONE),
    set("Socket", "socket", &["sockets"], NONE),
    set("TCPv4", "tcpv4", &[], NONE),
    set("TCPv6", "tcpv6", &[], NONE),
    set("UDPv4", "udpv4", &[], NONE),
    set("UDPv6", "udpv6", &[], NONE),
    set("IPv4", "ipv4", &[], NONE),
    set("IPv6", "ipv6", &[], NONE),
    set("ICMP", "icmp", &[], NONE),
    set("ICMPv6", "icmpv6", &[], NONE),

    set("Process", "process", &[], Whole("name")),
    set("Process V2", "process_v2", &[], Pair { first: "name", second: "pid", separator: ':', is_last: true }),
    set("Thread", "thread", &["thread"], NamedPair("process", "thread")),

    set("Pressure Stall", "pressure", &["stall"], Whole("resource")),
    set("Cgroup", "cgroup", &[], Whole("cgroup")),
    set("Container", "container", &[], Whole("container")),
    set("Cgroup Disk", "cgroup_disk", &[], Pair { first: "cgroup", second: "device", separator: ' ', is_last: true }),
    set("Interrupt", "interrupt", &[], Pair { first: "interrupt", second: "device", separator: ' ', is_last: false }),
    set("SoftIRQ", "softirq", &[], Whole("type")),
    set("Thermal Zone", "thermal_zone", &[], Pair { first: "zone", second: "type", separator: ' ', is_last: false }),

    set("Temperature Sensor", "hwmon_temperature", &["temperature"], SENSOR),
    set("Fan", "hwmon_fan", &[], SENSOR),
    set("Voltage Sensor", "hwmon_voltage", &["voltage"], SENSOR),
    set("Current Sensor", "hwmon_current", &["current"], SENSOR),
    set("Power Sensor", "hwmon_power", &["power"], SENSOR),
    set("Energy Meter", "rapl", &[], Whole("domain")),
    set("Battery Status", "battery", &[], Whole("battery")),

    set("GPU Engine", "gpu_engine", &[], Whole("engine")),
    set("GPU Adapter Memory", "gpu_memory", &[], Whole("adapter")),
    set("GPU Process Memory", "gpu_process_memory", &[], Whole("process")),
    set("GPU Adapter", "gpu", &[], Whole("adapter")),
];

/// For names such as `nvme Composite`: the chip, then the sensor.
const SENSOR: Labelling = Pair { first: "chip", second: "sensor", separator: ' ', is_last: false };

/// The names of one of the machine's own sets; `None` for other sets.
pub(super) fn of_set(set: &str) -> Option<&'static SetNames> {
    SETS.iter().find(|names| names.set == set)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_set_of_the_machine_has_one_row() {
        let known: BTreeSet<String> = tachograph_system::known_sets()
            .chain(tachograph_cpi::counters::known_sets())
            .map(|set| set.name.to_string())
            .collect();
        let rows: BTreeSet<String> = SETS.iter().map(|row| row.set.to_owned()).collect();
        assert_eq!(rows, known);
        assert_eq!(rows.len(), SETS.len());
        let prefixes: BTreeSet<&str> = SETS.iter().map(|row| row.prefix).collect();
        assert_eq!(prefixes.len(), SETS.len());
    }

    #[test]
    fn sets_with_instances_have_labels_of_their_own() {
        for set in tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets()) {
            let row = of_set(&set.name).expect("a row");
            assert_eq!(row.labelling == NONE, !set.has_instances(), "{}", set.name);
        }
    }
}
