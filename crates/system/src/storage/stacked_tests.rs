//! Stacked devices, compressed memory and network file systems of fake machines.

use std::process::Command;

use super::io as disk;
use super::tests::{MOUNTS, fake_calls, identity, pair, provider};
use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

const STACK: &str = "   8       0 sda 100 10 2000 300 50 5 1000 400 2 500 700 7 1 80 9 3 4
   8       1 sda1 90 10 1800 250 50 5 1000 400 0 450 650 7 1 80 9 0 0
   8      17 sdb1 10 0 200 30 0 0 0 0 0 30 30 0 0 0 0 0 0
   7       0 loop0 5 0 10 1 0 0 0 0 0 1 1 0 0 0 0 0 0
   7       1 loop1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
 252       0 zram0 6 0 48 1 0 0 0 0 0 1 1 0 0 0 0 0 0
   9       0 md0 120 0 2400 500 0 0 0 0 0 400 500 0 0 0 0 0 0
 253       0 dm-0 140 0 3000 700 0 0 0 0 0 500 700 0 0 0 0 0 0
 253       1 dm-1 1 0 8 7 0 0 0 0 0 5 7 0 0 0 0 0 0
";

fn stacked() -> Machine {
    let machine = Machine::new(&[("proc/diskstats", STACK), ("proc/self/mountinfo", MOUNTS)]);
    machine.write("sys/block/dm-0/dm/name", "vg0-root\n");
    for (above, below) in [("md0", "sda1"), ("md0", "sdb1"), ("dm-0", "md0"), ("dm-1", "gone")] {
        machine.write(&format!("sys/block/{above}/slaves/{below}/size"), "1\n");
    }
    machine
}

#[test]
fn stacked_devices_have_display_names() {
    let machine = stacked();
    let mut set = provider(&machine, "Block Device", fake_calls());
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["loop0", "zram0", "md0", "vg0-root", "dm-1"], "loop1 was never used");
    assert_eq!(first_value(&rows, "vg0-root", disk::READS), 140);
    assert_eq!(pair(&rows, "md0", disk::SECONDS_PER_READ), (5_000_000, 120));
    // Another volume gets the device dm-0.
    machine.write(
        "proc/diskstats",
        STACK.lines().filter(|line| !line.contains("dm-0")).collect::<Vec<_>>().join("\n") + "\n",
    );
    collect(&mut *set, at(2));
    machine.write("sys/block/dm-0/dm/name", "vg0-home\n");
    machine.write("proc/diskstats", STACK);
    assert_eq!(names(&collect(&mut *set, at(3)))[3], "vg0-home");
}

#[test]
fn underlying_devices_are_members() {
    let machine = stacked();
    let mut set = provider(&machine, "Block Device Member", fake_calls());
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["md0/sda1", "md0/sdb1", "vg0-root/md0"]);
    assert_eq!(first_value(&rows, "md0/sda1", disk::READS), 90);
    assert_eq!(first_value(&rows, "vg0-root/md0", disk::READS), 120);
    let before = rows.instances()[2].clone();
    // A disk is removed from the array. The members are compared only every few samples.
    machine.remove("sys/block/md0/slaves/sdb1");
    let last = (2..20).map(|second| collect(&mut *set, at(second))).last().expect("samples");
    assert_eq!(names(&last), ["md0/sda1", "vg0-root/md0"]);
    assert_eq!(last.instances()[1], before);
}

/// A RAID 5 with a disk that is being rebuilt, and a RAID 0, which has no redundancy.
#[test]
fn arrays_have_a_state_and_progress() {
    let machine = stacked();
    machine.write("proc/diskstats", format!("{STACK}   9       1 md1 1 0 8 5 0 0 0 0 0 4 5 0 0 0 0 0 0\n"));
    for (file, text) in [
        ("raid_disks", "3"),
        ("degraded", "1"),
        ("array_state", "active"),
        ("sync_action", "recover"),
        ("sync_completed", "123456 / 987654"),
        ("sync_speed", "20480"),
        ("mismatch_cnt", "128"),
    ] {
        machine.write(&format!("sys/block/md0/md/{file}"), format!("{text}\n"));
    }
    machine.write("sys/block/md1/md/raid_disks", "2\n");
    machine.write("sys/block/md1/md/array_state", "clean\n");
    // Checks only sys, because the file /proc/diskstats is shared with other sets and stays open.
    check_idle(&machine, "sys", &mut *provider(&machine, "RAID Array", fake_calls()));
    let mut set = provider(&machine, "RAID Array", fake_calls());
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["md0", "md1"]);
    assert_eq!([1, 2, 3, 4, 7, 8].map(|id| first_value(&rows, "md0", id)), [3, 1, 6, 2, 20480 * 1024, 128]);
    assert_eq!(pair(&rows, "md0", 5), (123_456, 987_654));
    assert_eq!([1, 3].map(|id| first_value(&rows, "md1", id)), [2, 5]);
    assert!(!value(&rows, "md1", 2).status.is_good() && rows.errors().is_empty(), "{:?}", rows.errors());

    for (file, text) in [("sync_action", "idle\n"), ("sync_completed", "none\n"), ("sync_speed", "none\n")] {
        machine.write(&format!("sys/block/md0/md/{file}"), text);
    }
    machine.write("sys/block/md0/md/array_state", "new-in-linux-9\n");
    let rows = collect(&mut *set, at(2));
    assert_eq!([4, 7].map(|id| first_value(&rows, "md0", id)), [0, 0]);
    assert!(!value(&rows, "md0", 5).status.is_good());
    assert_eq!(rows.errors().len(), 1, "only the state: {:?}", rows.errors());
    assert!(rows.errors()[0].reason.contains("array_state: unexpected content"));
}

#[test]
fn compressed_memory_has_sizes_and_a_ratio() {
    let machine = stacked();
    let other = format!("{STACK} 252       1 zram1 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
    machine.write("proc/diskstats", &other);
    machine.write(
        "sys/block/zram0/mm_stat",
        "  4096000  1024000  1200000 8000000  1300000      11       12       13       14\n",
    );
    machine.write("sys/block/zram0/disksize", "1073741824\n");
    machine.write("sys/block/zram1/mm_stat", "0 0 0 0 0 0 0 0 0\n");
    machine.write("sys/block/zram1/disksize", "0\n");
    check_idle(&machine, "sys", &mut *provider(&machine, "Zram", fake_calls()));
    let mut set = provider(&machine, "Zram", fake_calls());
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["zram0", "zram1", "_Total"]);
    let expected = [4_096_000, 1_024_000, 1_200_000, 8_000_000, 1_300_000, 11, 12, 13, 1 << 30];
    assert_eq!([1, 2, 3, 4, 5, 6, 7, 8, 9].map(|id| first_value(&rows, "zram0", id)), expected);
    assert_eq!(pair(&rows, "_Total", 10), (1_024_000, 4_096_000));
    assert!(
        !value(&rows, "zram1", 10).status.is_good() && rows.errors().is_empty(),
        "an empty device has no ratio"
    );
    machine.write("sys/block/zram0/mm_stat", "4096000 10");
    let rows = collect(&mut *set, at(2));
    assert!(!value(&rows, "zram0", 1).status.is_good() && !value(&rows, "_Total", 1).status.is_good());
    assert_eq!(first_value(&rows, "_Total", 9), 1 << 30);
}

const MOUNTSTATS: &str = "device /dev/vda mounted on / with fstype ext4
device server:/export mounted on /mnt/my\\040data with fstype nfs4 statvers=1.1
\topts:\trw,vers=4.2,rsize=1048576
\tage:\t1000
\tcaps:\tcaps=0x3fffbfff,wtmult=512
\tnfsv4:\tbm0=0xfdffbfff,bm1=0x40f9be3e,bm2=0x60803,acl=0x3,sessions,pnfs=not configured
\tsec:\tflavor=1,pseudoflavor=1
\tevents:\t52 226 0 0 27 35 296 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0
\tbytes:\t100 200 300 400 5000000 6000000 7 8
\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)
\txprt:\ttcp 803 1 1 0 24 394 394 0 394 0 2 0 0
\tper-op statistics
\t        NULL: 1 1 0 44 24 0 0 0 0
\t        READ: 100 103 1 20000 5010000 30 400 450 2
\t       WRITE: 40 40 0 6020000 8000 100 800 920 0
\t     GETATTR: 9 10 0 900 2100 0 5 6 0
device tmpfs mounted on /run with fstype tmpfs
";

#[test]
fn nfs_mounts_have_operations_and_their_times() {
    let machine = stacked();
    machine.write("proc/self/mountstats", MOUNTSTATS);
    // Checks only this file, because other sets open /proc/diskstats and /proc/self/mountinfo.
    check_idle(&machine, "proc/self/mountstats", &mut *provider(&machine, "NFS Mount", fake_calls()));
    let mut set = provider(&machine, "NFS Mount", fake_calls());
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["/mnt/my data"]);
    let values_of = |rows: &tachograph_perflib::Rows, ids: &[u32]| -> Vec<i64> {
        ids.iter().map(|id| first_value(rows, "/mnt/my data", *id)).collect()
    };
    assert_eq!(
        values_of(&rows, &[1, 2, 3]),
        [150, 4, 1],
        "operations, retransmissions, timeouts of all requests"
    );
    assert_eq!(values_of(&rows, &[10, 11, 15, 16]), [100, 5_000_000, 3, 2]);
    assert_eq!(values_of(&rows, &[20, 21, 25, 26]), [40, 6_000_000, 0, 0]);
    // Each pair is a time in units of 100 ns and a number of operations.
    assert_eq!(
        [12, 13, 14].map(|id| pair(&rows, "/mnt/my data", id)),
        [(4_500_000, 100), (4_000_000, 100), (300_000, 100)]
    );
    assert_eq!(
        [22, 23, 24].map(|id| pair(&rows, "/mnt/my data", id)),
        [(9_200_000, 40), (8_000_000, 40), (1_000_000, 40)]
    );
    let old = identity(&rows, "/mnt/my data");

    // Linux before 5.3 does not count errors. The file system was mounted again, so its counts restarted from 0.
    machine.write(
        "proc/self/mountstats",
        MOUNTSTATS.replace("READ: 100 103 1 20000 5010000 30 400 450 2", "READ: 1 1 0 2 3 4 5 6"),
    );
    let rows = collect(&mut *set, at(2));
    assert_ne!(identity(&rows, "/mnt/my data"), old);
    assert!(!value(&rows, "/mnt/my data", 16).status.is_good() && rows.errors().is_empty());
    machine.write("proc/self/mountstats", MOUNTSTATS.replace("READ: 100", "READ: x"));
    let rows = collect(&mut *set, at(3));
    assert!(!value(&rows, "/mnt/my data", 1).status.is_good());
    for length in 0..MOUNTSTATS.len() {
        machine.write("proc/self/mountstats", &MOUNTSTATS[..length]);
        let rows = collect(&mut *set, at(4));
        for name in names(&rows) {
            let reads = value(&rows, name, 10);
            assert!(!reads.status.is_good() || reads.first == 100, "{length}");
        }
    }
}

/// `mountstats` of nfs-utils computes the same times from the same text.
#[test]
fn times_of_nfs_are_those_of_mountstats() {
    let machine = stacked();
    machine.write("proc/self/mountstats", MOUNTSTATS);
    let path = machine.path("proc/self/mountstats");
    let output = Command::new("mountstats").args(["mountstats", "-f"]).arg(path).output();
    let Some(output) = output.ok().filter(|output| output.status.success()) else {
        eprintln!("skipped: mountstats is not installed");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout);
    let read = text.split("READ:").nth(1).unwrap_or_else(|| panic!("no READ in {text}"));
    let reported_value = |label: &str| -> f64 {
        let words: Vec<&str> = read.split_whitespace().collect();
        let index =
            words.iter().position(|word| *word == label).unwrap_or_else(|| panic!("no {label} in {text}"));
        words[index + 1].parse().expect("a number")
    };
    let rows = collect(&mut *provider(&machine, "NFS Mount", fake_calls()), at(1));
    let milliseconds = |id| {
        let (time, count) = pair(&rows, "/mnt/my data", id);
        time as f64 / count as f64 / 10_000.0
    };
    assert!((milliseconds(12) - reported_value("time:")).abs() < 0.001, "{text}");
    assert!((milliseconds(13) - reported_value("RTT:")).abs() < 0.001, "{text}");
    assert!((milliseconds(14) - reported_value("wait:")).abs() < 0.001, "{text}");
}
