//! Disks and mounts of fake machines, and of this one.

use std::io;
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tachograph_counters::RawValue;
use tachograph_perflib::{Clock, Provider, Rows};

use super::space::{FileSystemCalls, MAX_WAIT, Space};
use super::{Mounts, file_system, io as disk, logical, providers_of};
use crate::roots::Roots;
use crate::testing::{Machine, at, collect, first_value, names, value};

pub(super) const STATS: &str = "   8       0 sda 100 10 2000 300 50 5 1000 400 2 500 700 7 1 80 9 3 4
   8       1 sda1 90 10 1800 250 50 5 1000 400 0 450 650 7 1 80 9 0 0
   8      16 sdb 10 0 200 30 0 0 0 0 0 30 30 0 0 0 0 0 0
   7       0 loop0 5 0 10 1 0 0 0 0 0 1 1 0 0 0 0 0 0
 253       0 dm-0 140 0 3000 700 0 0 0 0 0 500 700 0 0 0 0 0 0
";
pub(super) const MOUNTS: &str = "27 1 8:1 / / rw - ext4 /dev/sda1 rw
28 27 0:40 / /pool rw - zfs pool rw
29 27 8:16 / /mnt/my\\040disk rw - xfs /dev/sdb rw
30 27 0:41 / /data rw - btrfs /dev/mapper/data rw
31 27 0:42 / /run ro - tmpfs tmpfs rw
";

/// Fake system calls: every file system has 1,000 blocks of 4,096 bytes, 300 free, 100 of them for root, and 10 inodes, 4 free.
pub(super) fn fake_calls() -> FileSystemCalls {
    FileSystemCalls {
        space: Arc::new(|_| Ok(SPACE)),
        is_folder: |_| true,
        block_device: |path| (path == Path::new("/dev/mapper/data")).then_some((253, 0)),
    }
}

const SPACE: Space =
    Space { block_bytes: 4096, blocks: 1000, free: 300, available: 200, inodes: 10, free_inodes: 4 };

pub(super) fn machine(stats: &str, mounts: &str) -> Machine {
    let machine = Machine::new(&[("proc/diskstats", stats), ("proc/self/mountinfo", mounts)]);
    for name in ["sda", "sdb", "loop0", "dm-0"] {
        machine.write(&format!("sys/block/{name}/diskseq"), "1\n");
    }
    machine
}

pub(super) fn provider(machine: &Machine, set: &str, calls: FileSystemCalls) -> Box<dyn Provider> {
    let providers = providers_of(&machine.roots, Mounts::new(&machine.roots, calls));
    providers.into_iter().find(|provider| &*provider.info().name == set).expect("the set")
}

pub(super) fn identity(rows: &Rows, name: &str) -> u64 {
    rows.instances().iter().find(|key| key.name() == name).expect("the instance").identity()
}

/// Both numbers of a valid raw value.
pub(super) fn pair(rows: &Rows, name: &str, id: u32) -> (i64, i64) {
    let RawValue { first, second, status, .. } = value(rows, name, id);
    assert!(status.is_good(), "{name} {id}");
    (first, second)
}

#[test]
fn every_counter_of_a_disk_has_its_value() {
    let machine = machine(STATS, MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let rows = collect(&mut *disks, at(1000));
    assert_eq!(names(&rows), ["sda", "sdb", "_Total"]);
    let now = at(1000).system_time.0;
    assert_eq!(first_value(&rows, "sda", disk::CURRENT_QUEUE), 2);
    assert_eq!(pair(&rows, "sda", disk::DISK_TIME), (5_000_000, now));
    assert_eq!(pair(&rows, "sda", disk::READ_TIME), (3_000_000, now));
    assert_eq!(pair(&rows, "sda", disk::WRITE_TIME), (4_000_000, now));
    assert_eq!(pair(&rows, "sda", disk::IDLE_TIME), (now - 5_000_000, now));
    assert_eq!(pair(&rows, "sda", disk::QUEUE), (7_000_000, now));
    assert_eq!(first_value(&rows, "sda", disk::READ_QUEUE), 3_000_000);
    assert_eq!(first_value(&rows, "sda", disk::WRITE_QUEUE), 4_000_000);
    assert_eq!(pair(&rows, "sda", disk::SECONDS_PER_TRANSFER), (7_000_000, 150));
    assert_eq!(pair(&rows, "sda", disk::SECONDS_PER_READ), (3_000_000, 100));
    assert_eq!(pair(&rows, "sda", disk::SECONDS_PER_WRITE), (4_000_000, 50));
    assert_eq!(first_value(&rows, "sda", disk::TRANSFERS), 150);
    assert_eq!(first_value(&rows, "sda", disk::READS), 100);
    assert_eq!(first_value(&rows, "sda", disk::WRITES), 50);
    assert_eq!(first_value(&rows, "sda", disk::BYTES), 3000 * 512);
    assert_eq!(first_value(&rows, "sda", disk::READ_BYTES), 2000 * 512);
    assert_eq!(first_value(&rows, "sda", disk::WRITE_BYTES), 1000 * 512);
    assert_eq!(pair(&rows, "sda", disk::BYTES_PER_TRANSFER), (3000 * 512, 150));
    assert_eq!(pair(&rows, "sda", disk::BYTES_PER_READ), (2000 * 512, 100));
    assert_eq!(pair(&rows, "sda", disk::BYTES_PER_WRITE), (1000 * 512, 50));
    assert_eq!(first_value(&rows, "sda", disk::MERGED_READS), 10);
    assert_eq!(first_value(&rows, "sda", disk::MERGED_WRITES), 5);
    assert_eq!(first_value(&rows, "sda", disk::DISCARDS), 7);
    assert_eq!(first_value(&rows, "sda", disk::MERGED_DISCARDS), 1);
    assert_eq!(first_value(&rows, "sda", disk::DISCARD_BYTES), 80 * 512);
    assert_eq!(pair(&rows, "sda", disk::SECONDS_PER_DISCARD), (90_000, 7));
    assert_eq!(first_value(&rows, "sda", disk::FLUSHES), 3);
    assert_eq!(pair(&rows, "sda", disk::SECONDS_PER_FLUSH), (40_000, 3));
    // In the total, percentages are means and all other values are sums.
    assert_eq!(first_value(&rows, "_Total", disk::DISK_TIME), 5_300_000 / 2);
    assert_eq!(first_value(&rows, "_Total", disk::IDLE_TIME), now - 5_300_000 / 2);
    assert_eq!(first_value(&rows, "_Total", disk::READS), 110);
    assert_eq!(pair(&rows, "_Total", disk::SECONDS_PER_READ), (3_300_000, 110));
}

#[test]
fn older_kernels_have_fewer_counters() {
    let machine = machine("   8 0 sda 1 2 3 4 5 6 7 8 9 10 11\n", MOUNTS);
    let disks = provider(&machine, "PhysicalDisk", fake_calls());
    let has_counter = |id| disks.info().position(id).is_some();
    assert!(
        has_counter(disk::IDLE_TIME)
            && has_counter(disk::TIME_BASE)
            && !has_counter(disk::DISCARDS)
            && !has_counter(disk::DISCARD_BASE)
    );
    machine.write("proc/diskstats", "   8 0 sda 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\n");
    let disks = provider(&machine, "PhysicalDisk", fake_calls());
    let has_counter = |id| disks.info().position(id).is_some();
    assert!(has_counter(disk::DISCARDS) && !has_counter(disk::FLUSHES));
}

#[test]
fn without_sysfs_partitions_are_recognised_by_name() {
    let machine = Machine::new(&[("proc/diskstats", STATS), ("proc/self/mountinfo", MOUNTS)]);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    assert_eq!(names(&collect(&mut *disks, at(1))), ["sda", "sdb", "_Total"]);
}

#[test]
fn times_continue_after_32_bit_milliseconds_wrap() {
    let machine = machine("8 0 sda 1 0 1 4294967290 1 0 1 0 0 4294967295 0\n", MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let before = collect(&mut *disks, at(1));
    machine.write("proc/diskstats", "8 0 sda 2 0 2 4 1 0 1 0 0 9 0\n");
    let after = collect(&mut *disks, at(2));
    let difference = |id| first_value(&after, "sda", id) - first_value(&before, "sda", id);
    assert_eq!(difference(disk::READ_TIME), 10 * 10_000);
    assert_eq!(difference(disk::DISK_TIME), 10 * 10_000);
    assert_eq!(identity(&before, "sda"), identity(&after, "sda"));
}

#[test]
fn times_never_decrease() {
    let machine = machine("8 0 sda 1 0 1 50 1 0 1 0 0 60 100\n", MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let queue = |disks: &mut Box<dyn Provider>, moment| {
        first_value(&collect(&mut **disks, at(moment)), "sda", disk::QUEUE)
    };
    assert_eq!(queue(&mut disks, 1), 1_000_000);
    machine.write("proc/diskstats", "8 0 sda 1 0 1 50 1 0 1 0 0 60 99\n");
    assert_eq!(queue(&mut disks, 2), 1_000_000);
    machine.write("proc/diskstats", "8 0 sda 1 0 1 50 1 0 1 0 0 60 101\n");
    assert_eq!(queue(&mut disks, 3), 1_010_000);
}

#[test]
fn idle_time_does_not_decrease_when_busy_time_exceeds_the_interval() {
    let machine = machine("8 0 sda 1 0 1 0 1 0 1 0 0 1000 0\n", MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let before = collect(&mut *disks, at(10));
    machine.write("proc/diskstats", "8 0 sda 1 0 1 0 1 0 1 0 0 2004 0\n");
    let after = collect(&mut *disks, at(11));
    assert_eq!(first_value(&before, "sda", disk::IDLE_TIME), first_value(&after, "sda", disk::IDLE_TIME));
}

#[test]
fn another_disk_under_the_same_name_is_another_instance() {
    let machine = machine(STATS, MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let one = collect(&mut *disks, at(1));
    let same = collect(&mut *disks, at(2));
    assert_eq!(identity(&one, "sda"), identity(&same, "sda"));
    assert_eq!(identity(&one, "_Total"), identity(&same, "_Total"));
    machine.write("sys/block/sda/diskseq", "9\n");
    let other = collect(&mut *disks, at(3));
    assert_ne!(identity(&one, "sda"), identity(&other, "sda"));
    assert_eq!(identity(&one, "sdb"), identity(&other, "sdb"));
    assert_ne!(identity(&one, "_Total"), identity(&other, "_Total"));
    // Restarted counts also mean that it is another disk.
    machine.write("proc/diskstats", STATS.replace("sda 100 10 2000 300", "sda 3 0 20 3"));
    let restarted = collect(&mut *disks, at(4));
    assert_ne!(identity(&restarted, "sda"), identity(&other, "sda"));
    assert_eq!(first_value(&restarted, "sda", disk::READS), 3);
}

#[test]
fn disks_are_added_and_removed() {
    let machine = machine(STATS, MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let before = collect(&mut *disks, at(1));
    let without: String =
        STATS.lines().filter(|line| !line.contains("sda")).map(|line| format!("{line}\n")).collect();
    machine.write("proc/diskstats", &without);
    let during = collect(&mut *disks, at(2));
    assert_eq!(names(&during), ["sdb", "_Total"]);
    assert_ne!(identity(&before, "_Total"), identity(&during, "_Total"));
    machine.write("proc/diskstats", STATS);
    let after = collect(&mut *disks, at(3));
    assert_eq!(names(&after), ["sda", "sdb", "_Total"]);
    assert_ne!(identity(&before, "sda"), identity(&after, "sda"));
    machine.write("proc/diskstats", "");
    let none = collect(&mut *disks, at(4));
    assert_eq!(names(&none), ["_Total"]);
    assert!(none.errors().iter().any(|error| error.reason.contains("no disk")));
}

#[test]
fn malformed_lines_are_errors_of_their_device() {
    for broken in [
        "8 0 sda 1 2 3\n8 16 sdb 10 0 200 30 0 0 0 0 0 30 30 0 0 0 0 0 0\n",
        "8 0 sda 1 2 x 4 5 6 7 8 9 10 11 12 13 14 15 16 17\n8 16 sdb 10 0 200 30 0 0 0 0 0 30 30 0 0 0 0 0 0\n",
        "8 16 sdb 10 0 200 30 0 0 0 0 0 30 30 0 0 0 0 0 0\n8 0 sda 100 10 2000 300 50 5 1000 400 2 500 700 7 1 80 9 3 4",
        "8 0 sda 1 2 99999999999999999999999 4 5 6 7 8 9 10 11\n8 16 sdb 10 0 200 30 0 0 0 0 0 30 30 0 0 0 0 0 0\n",
    ] {
        let machine = machine(STATS, MOUNTS);
        let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
        collect(&mut *disks, at(1));
        machine.write("proc/diskstats", broken);
        let rows = collect(&mut *disks, at(2));
        assert!(!value(&rows, "sda", disk::READS).status.is_good(), "{broken}");
        assert_eq!(first_value(&rows, "sdb", disk::READS), 10, "{broken}");
        assert!(!value(&rows, "_Total", disk::READS).status.is_good(), "{broken}");
        machine.write("proc/diskstats", STATS);
        assert_eq!(first_value(&collect(&mut *disks, at(3)), "sda", disk::READS), 100);
    }
    // Other lines and the largest numbers must not panic.
    let most = format!("8 0 sda {}\n", [u64::MAX.to_string().as_str(); 17].join(" "));
    for text in ["\n\n", "8", "8 0", "8 0 sda", "x y z\n", "\0\0", &most] {
        let machine = machine(STATS, MOUNTS);
        let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
        machine.write("proc/diskstats", text);
        collect(&mut *disks, at(1));
        machine.write("proc/diskstats", STATS);
        collect(&mut *disks, at(2));
    }
}

#[test]
fn truncated_numbers_are_not_used() {
    let machine = machine(STATS, MOUNTS);
    let mut disks = provider(&machine, "PhysicalDisk", fake_calls());
    let mut mounted = provider(&machine, "LogicalDisk", fake_calls());
    for length in (0..STATS.len()).step_by(3) {
        machine.write("proc/diskstats", &STATS[..length]);
        machine.write("proc/self/mountinfo", &MOUNTS[..length.min(MOUNTS.len())]);
        collect(&mut *disks, at(length as i64));
        collect(&mut *mounted, at(length as i64));
    }
}

#[test]
fn every_counter_of_a_mounted_disk_has_its_value() {
    let machine = machine(STATS, MOUNTS);
    let mut mounted = provider(&machine, "LogicalDisk", fake_calls());
    let rows = collect(&mut *mounted, at(1));
    assert_eq!(names(&rows), ["/", "/pool", "/mnt/my disk", "/data", "_Total"]);
    assert_eq!(pair(&rows, "/", logical::FREE_SPACE), (200 * 4096, 900 * 4096));
    assert_eq!(first_value(&rows, "/", logical::FREE_MEGABYTES), 200 * 4096 / 1_048_576);
    assert_eq!(pair(&rows, "_Total", logical::FREE_SPACE), (4 * 200 * 4096, 4 * 900 * 4096));
    // The I/O is that of sda1, not of sda, and for btrfs that of its source device.
    assert_eq!(first_value(&rows, "/", disk::READS), 90);
    assert_eq!(first_value(&rows, "/mnt/my disk", disk::READS), 10);
    assert_eq!(first_value(&rows, "/data", disk::READS), 140);
    assert!(!value(&rows, "/pool", disk::READS).status.is_good());
    assert_eq!(first_value(&rows, "_Total", disk::READS), 90 + 10 + 140);
    let error = rows.errors().iter().find(|error| error.counter_id == disk::READS).expect("an error");
    assert!(error.reason.contains("block device") && error.instance.name() == "/pool");
}

#[test]
fn mounts_are_added_and_removed() {
    let machine = machine(STATS, MOUNTS);
    let mut mounted = provider(&machine, "LogicalDisk", fake_calls());
    let before = collect(&mut *mounted, at(1));
    assert_eq!(identity(&before, "_Total"), identity(&collect(&mut *mounted, at(2)), "_Total"));
    machine.write("proc/self/mountinfo", MOUNTS.replace("29 27 8:16", "33 27 8:0"));
    let after = collect(&mut *mounted, at(3));
    assert_eq!(first_value(&after, "/mnt/my disk", disk::READS), 100);
    assert_ne!(identity(&before, "/mnt/my disk"), identity(&after, "/mnt/my disk"));
    assert_ne!(identity(&before, "_Total"), identity(&after, "_Total"));
    assert_eq!(identity(&before, "/"), identity(&after, "/"));
    machine.remove("proc/diskstats");
    machine.write("proc/self/mountinfo", "");
    assert_eq!(names(&collect(&mut *mounted, at(4))), ["_Total"]);
}

#[test]
fn space_is_known_without_diskstats() {
    let machine = Machine::new(&[("proc/self/mountinfo", MOUNTS)]);
    let providers = providers_of(&machine.roots, Mounts::new(&machine.roots, fake_calls()));
    assert_eq!(providers.len(), 2);
    let mut mounted = provider(&machine, "LogicalDisk", fake_calls());
    assert!(mounted.info().position(disk::READS).is_none());
    let rows = collect(&mut *mounted, at(1));
    assert_eq!(pair(&rows, "/", logical::FREE_SPACE), (200 * 4096, 900 * 4096));
}

#[test]
fn every_counter_of_a_file_system_has_its_value() {
    let machine = machine(STATS, MOUNTS);
    let mut systems = provider(&machine, "File System", fake_calls());
    let rows = collect(&mut *systems, at(1));
    assert_eq!(names(&rows), ["/", "/pool", "/mnt/my disk", "/data", "/run"]);
    assert_eq!(first_value(&rows, "/run", file_system::SIZE), 1000 * 4096);
    assert_eq!(first_value(&rows, "/run", file_system::USED), 700 * 4096);
    assert_eq!(first_value(&rows, "/run", file_system::FREE), 300 * 4096);
    assert_eq!(first_value(&rows, "/run", file_system::AVAILABLE), 200 * 4096);
    assert_eq!(pair(&rows, "/run", file_system::USED_PERCENT), (700 * 4096, 900 * 4096));
    assert_eq!(first_value(&rows, "/run", file_system::INODES), 10);
    assert_eq!(first_value(&rows, "/run", file_system::USED_INODES), 6);
    assert_eq!(first_value(&rows, "/run", file_system::FREE_INODES), 4);
    assert_eq!(pair(&rows, "/run", file_system::INODES_PERCENT), (6, 10));
    assert_eq!(first_value(&rows, "/run", file_system::READ_ONLY), 1);
    assert_eq!(first_value(&rows, "/", file_system::READ_ONLY), 0);
}

#[test]
fn unknown_space_is_an_error() {
    let machine = machine(STATS, MOUNTS);
    let space = |path: &Path| match path.to_str() {
        Some("/") => Ok(Space { inodes: 0, free_inodes: 0, ..SPACE }),
        Some("/pool") => Ok(Space::default()),
        Some("/data") => Err(io::Error::from_raw_os_error(13)),
        _ => Ok(SPACE),
    };
    let calls = FileSystemCalls { space: Arc::new(space), ..fake_calls() };
    let mut systems = provider(&machine, "File System", calls);
    let rows = collect(&mut *systems, at(1));
    let is_good = |name, id| value(&rows, name, id).status.is_good();
    assert!(is_good("/", file_system::SIZE) && !is_good("/", file_system::INODES));
    assert!(!is_good("/pool", file_system::SIZE));
    assert!(!is_good("/data", file_system::SIZE) && is_good("/data", file_system::READ_ONLY));
    let of_size = |name: &str| {
        rows.errors()
            .iter()
            .find(|error| error.counter_id == file_system::SIZE && error.instance.name() == name)
    };
    assert!(of_size("/data").is_some_and(|error| error.reason.contains("Permission denied")));
}

/// Fake system calls with a remote file system at /nfs. It reports each request to the receiver, and answers when the sender sends
/// or is dropped.
fn server() -> (FileSystemCalls, Sender<()>, Receiver<()>) {
    let (answer, answers) = channel::<()>();
    let (request, requests) = channel::<()>();
    let answers = Mutex::new(answers);
    let request = Mutex::new(request);
    let space = move |path: &Path| {
        if path.starts_with("/nfs") {
            let _ = request.lock().expect("no panic").send(());
            let _ = answers.lock().expect("no panic").recv();
        }
        Ok(SPACE)
    };
    (FileSystemCalls { space: Arc::new(space), ..fake_calls() }, answer, requests)
}

#[test]
fn an_unreachable_server_delays_a_sample_only_briefly() {
    let mounts = format!(
        "{MOUNTS}40 27 0:60 / /nfs rw - nfs4 server:/x rw\n41 40 8:0 / /nfs/below rw - ext4 /dev/sda rw\n"
    );
    let machine = machine(STATS, &mounts);
    let (calls, answer, requests) = server();
    let mut mounted = provider(&machine, "LogicalDisk", calls);
    let start = Instant::now();
    let rows = collect(&mut *mounted, at(1));
    assert!(start.elapsed() >= MAX_WAIT, "both share one deadline");
    assert_eq!(first_value(&rows, "/", logical::FREE_MEGABYTES), 0);
    for name in ["/nfs", "/nfs/below"] {
        assert!(!value(&rows, name, logical::FREE_SPACE).status.is_good());
        assert!(
            rows.errors()
                .iter()
                .any(|error| error.instance.name() == name && error.reason.contains("no answer"))
        );
    }
    // The total is incomplete, because /nfs/below is a local file system.
    assert!(!value(&rows, "_Total", logical::FREE_SPACE).status.is_good());
    (0..2).for_each(|_| requests.recv_timeout(Duration::from_secs(20)).expect("requested"));
    for moment in 2..5 {
        let rows = collect(&mut *mounted, at(moment));
        assert!(!value(&rows, "/nfs", logical::FREE_SPACE).status.is_good());
    }
    assert!(requests.try_recv().is_err(), "no further request before the answer");
    // Both file systems now answer. Their late answers are used, and they are queried again.
    drop(answer);
    let mut moment = 5;
    loop {
        let rows = collect(&mut *mounted, at(moment));
        if ["/nfs", "/nfs/below"].iter().all(|name| value(&rows, name, logical::FREE_SPACE).status.is_good())
        {
            assert_eq!(pair(&rows, "/nfs", logical::FREE_SPACE), (200 * 4096, 900 * 4096));
            break;
        }
        moment += 1;
        assert!(start.elapsed() < Duration::from_secs(60), "the answers arrive");
    }
}

#[test]
fn many_blocked_file_systems_use_few_threads() {
    let mounts: String =
        (0..50).map(|n| format!("{} 27 0:{} / /nfs{n} rw - nfs s:/{n} rw\n", n + 100, n + 100)).collect();
    let machine = machine(STATS, &mounts);
    let (block, blocked) = channel::<()>();
    let blocked = Mutex::new(blocked);
    let space = move |_: &Path| {
        let _ = blocked.lock().expect("no panic").recv();
        Ok(SPACE)
    };
    let mut mounts = Mounts::new(&machine.roots, FileSystemCalls { space: Arc::new(space), ..fake_calls() });
    use tachograph_perflib::Reading;
    mounts.read(at(1)).expect("read");
    assert_eq!(mounts.mounts.len(), 50);
    mounts.measure(at(1), |_| true);
    assert_eq!(mounts.threads(), 16);
    assert!(mounts.mounts.iter().all(|mount| mount.space.is_err()));
    drop(block);
    let start = Instant::now();
    let mut moment = 2;
    while mounts.mounts.iter().any(|mount| mount.space.is_err()) {
        mounts.measure(at(moment), |_| true);
        moment += 1;
        assert!(start.elapsed() < Duration::from_secs(60), "all answers arrive");
    }
    assert!(mounts.threads() <= 16);
}

#[test]
fn only_requested_file_systems_are_queried() {
    let machine = machine(STATS, MOUNTS);
    let requests = Arc::new(Mutex::new(Vec::new()));
    let log = Arc::clone(&requests);
    let space = move |path: &Path| {
        log.lock().expect("no panic").push(path.to_string_lossy().into_owned());
        Ok(SPACE)
    };
    let mut mounted =
        provider(&machine, "LogicalDisk", FileSystemCalls { space: Arc::new(space), ..fake_calls() });
    let mut rows = Rows::new(mounted.info().clone());
    rows.select([disk::READS], vec![tachograph_perflib::InstanceFilter::all()]);
    rows.clear(at(1));
    mounted.collect(&mut rows).expect("collected");
    assert!(requests.lock().expect("no panic").is_empty());
    rows.select([logical::FREE_SPACE], vec![tachograph_perflib::InstanceFilter::new("/pool", None)]);
    rows.clear(at(2));
    mounted.collect(&mut rows).expect("collected");
    assert_eq!(*requests.lock().expect("no panic"), ["/pool"]);
    assert_eq!(names(&rows), ["/pool"]);
}

#[test]
fn values_of_this_machine_are_plausible() {
    let roots = Roots::of_this_machine();
    let clock = Clock::of_this_machine();
    for mut provider in super::providers(&roots) {
        let set = provider.info().name.clone();
        let before = collect(&mut *provider, clock.now());
        let after = collect(&mut *provider, clock.now());
        let has_io = ["PhysicalDisk", "LogicalDisk", "Block Device", "Block Device Member"].contains(&&*set);
        let has_root = ["LogicalDisk", "File System"].contains(&&*set);
        assert!(!has_root || !before.instances().is_empty(), "{set}");
        if &*set == "File System" {
            let said = rustix::fs::statvfs("/").expect("statvfs");
            let size = first_value(&after, "/", file_system::SIZE) as u64;
            assert_eq!(size, said.f_blocks * said.f_frsize);
            continue;
        }
        for (row, key) in after.instances().iter().enumerate().filter(|_| has_io) {
            let old = before.instances().iter().position(|old| old == key);
            let Some(old) = old else { continue };
            for column in 0..after.width() {
                let (old, new) = (before.values(old)[column], after.values(row)[column]);
                let name = &after.counter(column).name;
                let is_gauge = name.contains("Free") || name.contains("Current");
                assert!(is_gauge || !new.status.is_good() || new.first >= old.first, "{set} {key} {name}");
            }
        }
    }
}
