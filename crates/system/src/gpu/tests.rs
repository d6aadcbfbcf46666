//! Graphics cards and their clients on a fake machine.

use std::os::unix::fs::symlink;

use tachograph_perflib::Rows;

use super::tables::*;
use super::*;
use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

/// Adds a card whose device has these files.
fn add_card(machine: &Machine, card: u32, driver: &str, pci: &str, files: &[(&str, &str)]) {
    let device = format!("sys/class/drm/card{card}/device");
    machine.write(&format!("{device}/uevent"), format!("DRIVER={driver}\nPCI_SLOT_NAME={pci}\n"));
    machine.write(&format!("sys/class/drm/card{card}-HDMI-A-1/status"), "connected\n");
    for (name, content) in files {
        machine.write(&format!("{device}/{name}"), content);
    }
}

fn add_process(machine: &Machine, pid: u32, start: u64) {
    machine.write(
        &format!("proc/{pid}/stat"),
        format!("{pid} (game) S 1 1 1 0 -1 0 1 0 2 0 5 6 0 0 20 0 3 0 {start} 409600 25\n"),
    );
    std::fs::create_dir_all(machine.path(&format!("proc/{pid}/fd"))).expect("created");
}

fn open(machine: &Machine, pid: u32, descriptor: u32, fdinfo: &str) {
    let link = machine.path(&format!("proc/{pid}/fd/{descriptor}"));
    if !link.is_symlink() {
        symlink("/dev/dri/renderD128", link).expect("linked");
    }
    machine.write(&format!("proc/{pid}/fdinfo/{descriptor}"), fdinfo);
}

const AMD: &str = "0000:03:00.0";
const XE: &str = "0001:00:02.1";

fn amd(client: u32, gfx_ns: u64, dec_ns: u64) -> String {
    format!(
        "pos:\t0\nflags:\t02\ndrm-driver:\tamdgpu\ndrm-client-id:\t{client}\ndrm-pdev:\t{AMD}\npasid:\t32770\n\
         drm-memory-vram:\t2048 KiB\ndrm-memory-gtt: \t1 MiB\ndrm-memory-cpu: \t0 KiB\n\
         drm-total-vram:\t4096 KiB\ndrm-engine-capacity-gfx:\t2\n\
         drm-engine-gfx:\t{gfx_ns} ns\ndrm-engine-dec:\t{dec_ns} ns\n"
    )
}

fn xe(client: u32, used: u64, total: u64) -> String {
    format!(
        "drm-driver:\txe\ndrm-client-id:\t{client}\ndrm-pdev:\t{XE}\ndrm-total-system:\t8 KiB\n\
         drm-resident-system:\t4 KiB\ndrm-total-vram0:\t0\ndrm-resident-vram0:\t16 KiB\n\
         drm-cycles-rcs:\t{used}\ndrm-total-cycles-rcs:\t{total}\ndrm-cycles-bcs:\t0\ndrm-total-cycles-bcs:\t0\n"
    )
}

/// A machine with an AMD card and an Intel card, and two processes that share a client of the AMD card.
fn machine() -> Machine {
    let machine = Machine::new(&[]);
    add_card(
        &machine,
        0,
        "amdgpu",
        AMD,
        &[
            ("gpu_busy_percent", "37\n"),
            ("mem_busy_percent", "12\n"),
            ("mem_info_vram_used", "3000000\n"),
            ("mem_info_vram_total", "8000000\n"),
            ("mem_info_gtt_used", "500000\n"),
            ("mem_info_gtt_total", "16000000\n"),
        ],
    );
    add_card(&machine, 1, "xe", XE, &[]);
    for pid in [20, 30, 40] {
        add_process(&machine, pid, 100 + u64::from(pid));
    }
    symlink("/dev/null", machine.path("proc/40/fd/0")).expect("linked");
    open(&machine, 20, 3, &amd(1, 1_000, 500));
    open(&machine, 20, 4, &amd(1, 1_000, 500));
    open(&machine, 20, 5, &amd(2, 250, 0));
    open(&machine, 20, 6, &xe(1, 10, 1000));
    // A client that it shares with process 20.
    open(&machine, 30, 7, &amd(1, 1_000, 500));
    open(&machine, 30, 8, &amd(9, 77_700, 0));
    machine
}

fn provider(machine: &Machine, set: &str) -> Box<dyn Provider> {
    let found = providers(&machine.roots).into_iter().find(|provider| &*provider.info().name == set);
    found.expect("a provider")
}

const LUID_AMD: &str = "luid_0x00000000_0x00000300_phys_0";
const LUID_XE: &str = "luid_0x00000001_0x00000011_phys_0";

fn engine(rows: &Rows, pid: u32, luid: &str, end: &str) -> i64 {
    let name = format!("pid_{pid}_{luid}_{end}");
    assert_eq!(first_value(rows, &name, UTILIZATION), first_value(rows, &name, RUNNING_TIME));
    first_value(rows, &name, UTILIZATION)
}

#[test]
fn a_shared_client_is_attributed_once_to_its_first_process() {
    let machine = machine();
    let mut set = provider(&machine, "GPU Engine");
    let rows = collect(&mut *set, at(1));
    assert_eq!(
        names(&rows),
        [
            format!("pid_20_{LUID_AMD}_eng_0_engtype_3D"),
            format!("pid_20_{LUID_AMD}_eng_1_engtype_VideoDecode"),
            format!("pid_20_{LUID_XE}_eng_0_engtype_3D"),
            format!("pid_30_{LUID_AMD}_eng_0_engtype_3D"),
            format!("pid_30_{LUID_AMD}_eng_1_engtype_VideoDecode"),
        ]
    );
    // 1,000 ns of client 1 and 250 ns of client 2, in units of 100 ns.
    assert_eq!(engine(&rows, 20, LUID_AMD, "eng_0_engtype_3D"), 12);
    assert_eq!(engine(&rows, 20, LUID_AMD, "eng_1_engtype_VideoDecode"), 5);
    assert_eq!(engine(&rows, 30, LUID_AMD, "eng_0_engtype_3D"), 777);
    assert_eq!((rows.instances()[0].id(), rows.instances()[0].identity()), (20, 120 << 22 | 20));
}

#[test]
fn times_grow_and_cycles_are_converted_to_times() {
    let machine = machine();
    let mut set = provider(&machine, "GPU Engine");
    collect(&mut *set, at(1));
    open(&machine, 20, 3, &amd(1, 1_050, 500));
    open(&machine, 20, 4, &amd(1, 1_050, 500));
    // A quarter of the cycles in 2 s.
    open(&machine, 20, 6, &xe(1, 260, 2000));
    let rows = collect(&mut *set, at(3));
    // 1,250 ns and another 50 ns.
    assert_eq!(engine(&rows, 20, LUID_AMD, "eng_0_engtype_3D"), 13);
    assert_eq!(engine(&rows, 20, LUID_XE, "eng_0_engtype_3D"), 5_000_000);
    // A client ends: its time is kept.
    std::fs::remove_file(machine.path("proc/20/fd/5")).expect("removed");
    let rows = collect(&mut *set, at(4));
    assert_eq!(engine(&rows, 20, LUID_AMD, "eng_0_engtype_3D"), 13);
    // Another process gets the id.
    add_process(&machine, 20, 999);
    let rows = collect(&mut *set, at(5));
    assert_eq!(rows.instances()[0].identity(), 999 << 22 | 20);
    machine.remove("proc/20");
    assert_eq!(names(&collect(&mut *set, at(6))).len(), 2);
}

#[test]
fn a_process_that_opens_a_card_later_is_found() {
    let machine = machine();
    let mut set = provider(&machine, "GPU Engine");
    collect(&mut *set, at(1));
    open(&machine, 40, 9, &amd(50, 100, 0));
    let found = (2..13).any(|second| {
        let rows = collect(&mut *set, at(second));
        names(&rows).iter().any(|name| name.starts_with("pid_40_"))
    });
    assert!(found);
    add_process(&machine, 50, 1);
    open(&machine, 50, 9, &amd(51, 100, 0));
    let rows = collect(&mut *set, at(20));
    assert!(
        names(&rows).iter().any(|name| name.starts_with("pid_50_")),
        "a new process is found immediately"
    );
}

#[test]
fn memory_comes_from_the_clients_and_from_the_driver() {
    let machine = machine();
    let rows = collect(&mut *provider(&machine, "GPU Process Memory"), at(1));
    let values_of = |name: String| [DEDICATED, SHARED, COMMITTED].map(|id| first_value(&rows, &name, id));
    // Two clients of 2 MiB in the card (4 MiB allocated) and 1 MiB in main memory.
    assert_eq!(values_of(format!("pid_20_{LUID_AMD}")), [4 << 20, 2 << 20, 10 << 20]);
    assert_eq!(values_of(format!("pid_20_{LUID_XE}")), [16 << 10, 4 << 10, 8 << 10]);
    assert_eq!(values_of(format!("pid_30_{LUID_AMD}")), [2 << 20, 1 << 20, 5 << 20]);
    let rows = collect(&mut *provider(&machine, "GPU Adapter Memory"), at(1));
    let all = [DEDICATED, SHARED, COMMITTED, DEDICATED_LIMIT, SHARED_LIMIT];
    let found = all.map(|id| first_value(&rows, LUID_AMD, id));
    assert_eq!(found, [3_000_000, 500_000, 3_500_000, 8_000_000, 16_000_000]);
    let found = [DEDICATED, SHARED, COMMITTED].map(|id| first_value(&rows, LUID_XE, id));
    assert_eq!(found, [16 << 10, 4 << 10, 20 << 10]);
    assert!(!value(&rows, LUID_XE, DEDICATED_LIMIT).status.is_good());
    assert!(rows.errors().is_empty());
}

#[test]
fn the_load_of_a_card_is_that_of_its_driver() {
    let machine = machine();
    let mut set = provider(&machine, "GPU Adapter");
    let rows = collect(&mut *set, at(1));
    assert_eq!(names(&rows), ["card0 amdgpu 0000:03:00.0"]);
    assert_eq!([BUSY, MEMORY_BUSY].map(|id| first_value(&rows, "card0 amdgpu 0000:03:00.0", id)), [37, 12]);
    machine.write("sys/class/drm/card0/device/gpu_busy_percent", "x\n");
    let rows = collect(&mut *set, at(2));
    assert!(!value(&rows, "card0 amdgpu 0000:03:00.0", BUSY).status.is_good());
    assert!(rows.errors()[0].reason.contains("gpu_busy_percent: no number"));
}

#[test]
fn malformed_client_files_are_ignored() {
    let machine = machine();
    let mut set = provider(&machine, "GPU Engine");
    for broken in [
        "",
        "\0\n",
        "drm-client-id:\tx\n",
        "drm-client-id\ndrm-pdev\n",
        "drm-client-id:\t99999999999999999999\ndrm-pdev:\t0000:03:00.0\n",
        "drm-client-id:\t5\ndrm-engine-gfx:\t5 ns\n",
    ] {
        machine.write("proc/30/fdinfo/8", broken);
        let rows = collect(&mut *set, at(1));
        assert!(!names(&rows).iter().any(|name| name.starts_with("pid_30_")), "{broken:?}");
    }
    let many: String = (0..1000).map(|index| format!("drm-engine-x{index}:\t5 ns\n")).collect();
    machine.write("proc/30/fdinfo/8", format!("drm-client-id:\t5\ndrm-pdev:\t{AMD}\n{many}"));
    assert!(names(&collect(&mut *set, at(2))).len() < 100);
}

#[test]
fn a_machine_without_a_suitable_card_has_no_sets_and_says_why() {
    let machine = Machine::new(&[]);
    assert!(providers(&machine.roots).is_empty());
    assert_eq!(
        check_clients(&machine.roots).expect_err("a reason"),
        "the kernel shows no graphics card in /sys/class/drm; NVIDIA's driver is not loaded"
    );
    add_card(&machine, 0, "nvidia", AMD, &[]);
    assert!(providers(&machine.roots).is_empty());
    let reason = check_clients(&machine.roots).expect_err("a reason");
    assert!(reason.contains("card0 nvidia 0000:03:00.0"), "{reason}");
    assert!(check_adapter(&machine.roots).is_err());
    assert_eq!(check_clients(&self::machine().roots), Ok(()));
    assert_eq!(check_adapter(&self::machine().roots), Ok(()));
}

#[test]
fn an_idle_set_closes_its_files() {
    let machine = machine();
    for set in ["GPU Adapter", "GPU Adapter Memory"] {
        // Checks only sys: /proc is read for the clients, which other sets share.
        check_idle(&machine, "sys", &mut *provider(&machine, set));
    }
}
