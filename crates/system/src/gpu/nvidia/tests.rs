//! Reads a card from a fake of NVIDIA's library, which these tests compile.

use std::path::{Path, PathBuf};
use std::process::Command;

use tachograph_perflib::{Provider, Rows};

use super::*;
use crate::gpu::tables::*;
use crate::gpu::{check_clients, check_nvidia, providers_with};
use crate::testing::{Machine, at, collect, first_value, names, value};

const CARD: &str = "nvidia 0000:41:00.0";
const LUID: &str = "luid_0x00000000_0x00004100_phys_0";

/// Compiles the fake library. Files in the folder `state` change what it does.
fn library(folder: &Path, state: &Path) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gpu/nvidia/fake_nvml.c");
    let library = folder.join("libnvidia-ml-fake.so");
    let define = format!("-DSTATE={:?}", state.display().to_string());
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args(["-shared", "-fPIC", "-o"])
        .arg(&library)
        .args([define.as_str(), source])
        .output()
        .expect("a C compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    library
}

/// A machine with NVIDIA's driver and two processes that use the card.
fn machine() -> (Machine, PathBuf) {
    let machine = Machine::new(&[
        ("proc/driver/nvidia/version", "NVRM version: 580\n"),
        ("proc/driver/nvidia/gpus/0000:41:00.0/information", "Model: \t\t Fake\n"),
        // The checks search for the library under its usual name.
        ("usr/lib64/libnvidia-ml.so.1", ""),
    ]);
    std::fs::create_dir(machine.path("state")).expect("created");
    for (pid, start) in [(20, 120), (30, 130)] {
        machine.write(
            &format!("proc/{pid}/stat"),
            format!("{pid} (game) S 1 1 1 0 -1 0 1 0 2 0 5 6 0 0 20 0 3 0 {start} 409600 25\n"),
        );
    }
    let library = library(&machine.path(""), &machine.path("state"));
    (machine, library)
}

fn provider(machine: &Machine, library: &Path, set: &str) -> Box<dyn Provider> {
    let mut sets = providers_with(&machine.roots, library.as_os_str()).into_iter();
    sets.find(|provider| &*provider.info().name == set).expect("a provider")
}

#[test]
fn a_card_has_load_temperature_power_and_memory() {
    let (machine, library) = machine();
    let rows = collect(&mut *provider(&machine, &library, "GPU Adapter"), at(1));
    assert_eq!(names(&rows), [CARD]);
    let all = [BUSY, MEMORY_BUSY, TEMPERATURE, POWER];
    assert_eq!(all.map(|id| first_value(&rows, CARD, id)), [73, 21, 64, 187_654]);
    let rows = collect(&mut *provider(&machine, &library, "GPU Adapter Memory"), at(1));
    let memory = [DEDICATED, COMMITTED, DEDICATED_LIMIT].map(|id| first_value(&rows, LUID, id));
    assert_eq!(memory, [3 << 30, 3 << 30, 8 << 30]);
    assert!(!value(&rows, LUID, SHARED).status.is_good() && rows.info().position(SHARED_LIMIT).is_none());
    assert!(rows.errors().is_empty(), "{:?}", rows.errors());
}

#[test]
fn a_card_that_is_also_in_sysfs_is_listed_once() {
    let (machine, library) = machine();
    let uevent = "DRIVER=nvidia\nPCI_SLOT_NAME=0000:41:00.0\n";
    machine.write("sys/class/drm/card3/device/uevent", uevent);
    let rows = collect(&mut *provider(&machine, &library, "GPU Adapter"), at(1));
    assert_eq!(names(&rows), ["card3 nvidia 0000:41:00.0"]);
}

#[test]
fn processes_have_memory_and_work() {
    let (machine, library) = machine();
    let rows = collect(&mut *provider(&machine, &library, "GPU Process Memory"), at(1));
    let names_of = |ends: [&str; 2]| ends.map(|pid| format!("pid_{pid}_{LUID}"));
    assert_eq!(names(&rows), names_of(["20", "30"]));
    assert_eq!(names_of(["20", "30"]).map(|name| first_value(&rows, &name, DEDICATED)), [1 << 30, 5000]);
    assert_eq!(rows.instances()[0].identity(), 120 << 22 | 20);

    let mut set = provider(&machine, &library, "GPU Engine");
    assert_eq!(busy(&collect(&mut *set, at(1))), [0; 3], "the first interval is unknown");
    // The newer sample: 50 % and 25 % of 2 s, in 100 ns.
    assert_eq!(busy(&collect(&mut *set, at(3))), [10_000_000, 0, 5_000_000]);
    assert_eq!(busy(&collect(&mut *set, at(4))), [15_000_000, 0, 7_500_000]);
}

#[test]
fn a_library_that_hangs_is_an_error_and_recovers() {
    let (machine, library) = machine();
    let mut set = provider(&machine, &library, "GPU Adapter");
    assert!(value(&collect(&mut *set, at(0)), CARD, BUSY).status.is_good());
    machine.write("state/hang", "");
    for second in 1..4 {
        let rows = collect(&mut *set, at(second));
        assert!(!value(&rows, CARD, BUSY).status.is_good());
        assert_eq!(&*rows.errors()[0].reason, "NVML: no answer within 500 ms");
    }
    std::fs::remove_file(machine.path("state/hang")).expect("removed");
    let recovered = (4..100_000).find(|second| {
        std::thread::yield_now();
        value(&collect(&mut *set, at(*second)), CARD, BUSY).status.is_good()
    });
    assert!(recovered.is_some());
}

/// The busy times of the engines for process 20, in units of 100 ns.
fn busy(rows: &Rows) -> [i64; 3] {
    ["eng_0_engtype_3D", "eng_1_engtype_VideoEncode", "eng_2_engtype_VideoDecode"]
        .map(|engine| first_value(rows, &format!("pid_20_{LUID}_{engine}"), UTILIZATION))
}

#[test]
fn the_last_load_holds_for_a_second_without_newer_samples() {
    let (machine, library) = machine();
    let mut set = provider(&machine, &library, "GPU Engine");
    collect(&mut *set, at(1));
    assert_eq!(busy(&collect(&mut *set, at(2))), [5_000_000, 0, 2_500_000]);
    machine.write("state/quiet", "");
    assert_eq!(busy(&collect(&mut *set, at(3))), [10_000_000, 0, 5_000_000]);
    for second in [4, 5, 60] {
        let rows = collect(&mut *set, at(second));
        assert_eq!(busy(&rows), [10_000_000, 0, 5_000_000], "an idle process keeps its engines");
    }
    std::fs::remove_file(machine.path("state/quiet")).expect("removed");
    assert_eq!(busy(&collect(&mut *set, at(61))), [15_000_000, 0, 7_500_000]);
    // Another process has newer samples, so this one is idle.
    machine.write("state/other", "");
    let rows = collect(&mut *set, at(62));
    assert_eq!((busy(&rows), names(&rows).len()), ([15_000_000, 0, 7_500_000], 6));
    machine.remove("proc/20");
    let rows = collect(&mut *set, at(63));
    assert!(names(&rows).iter().all(|name| name.starts_with("pid_30_")) && names(&rows).len() == 3);
}

#[test]
fn invalid_loads_are_skipped() {
    let (machine, library) = machine();
    machine.write("state/invalid", "");
    let mut set = provider(&machine, &library, "GPU Engine");
    collect(&mut *set, at(1));
    assert_eq!(busy(&collect(&mut *set, at(2))), [0, 0, 2_500_000]);
}

#[test]
fn processes_on_a_card_without_an_address_are_omitted() {
    let (machine, library) = machine();
    machine.write("sys/class/drm/card0/device/uevent", "DRIVER=simple-framebuffer\n");
    machine.write("state/no-pci", "");
    let rows = collect(&mut *provider(&machine, &library, "GPU Process Memory"), at(1));
    assert!(names(&rows).is_empty(), "{:?}", names(&rows));
}

#[test]
fn the_library_is_loaded_only_while_a_set_is_in_use() {
    let (machine, library) = machine();
    let is_closed = || {
        let until = Instant::now() + Duration::from_secs(20);
        while machine.open_files("state") > 0 && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(1));
        }
        machine.open_files("state") == 0
    };
    let mut sets = providers_with(&machine.roots, library.as_os_str());
    assert_eq!(sets.len(), 4);
    assert_eq!((check_clients(&machine.roots), check_nvidia(&machine.roots)), (Ok(()), Ok(())));
    assert!(!machine.path("state/dev").exists(), "the library is loaded before the first collection");
    for second in [1, 2] {
        for set in &mut sets {
            collect(&mut **set, at(second));
        }
    }
    let before = busy(&collect(&mut *sets[0], at(2)));
    for set in &mut sets[1..] {
        set.idle();
        set.idle();
    }
    assert_eq!(machine.open_files("state"), 1, "a set is still in use");
    sets[0].idle();
    assert!(is_closed());
    assert_eq!(busy(&collect(&mut *sets[0], at(9))), before, "the loads of the pause are unknown");
    assert_eq!(machine.open_files("state"), 1);
    drop(sets);
    assert!(is_closed());
}

#[test]
fn without_the_library_there_are_no_sets_but_a_reason() {
    let (machine, _) = machine();
    machine.remove("usr/lib64/libnvidia-ml.so.1");
    assert!(providers_with(&machine.roots, LIBRARY.as_ref()).is_empty());
    let absences = crate::absences(&machine.roots);
    for set in ["GPU Engine", "GPU Process Memory", "GPU Adapter Memory", "GPU Adapter"] {
        let absence = absences.iter().find(|absence| absence.set == set).expect("an absence");
        assert!(absence.reason.contains("libnvidia-ml.so.1 is not installed"), "{absence}");
    }
}

#[test]
fn a_removed_library_is_an_error_until_it_is_installed_again() {
    let (machine, library) = machine();
    let path = machine.path("libnone.so");
    machine.write("libnone.so", "");
    let mut sets = providers_with(&machine.roots, path.as_os_str());
    machine.remove("libnone.so");
    let last = sets.last_mut().expect("a set");
    let rows = collect(&mut **last, at(1));
    let reason = rows.errors()[0].reason.to_string();
    assert!(reason.contains("libnone.so") && reason.contains("cannot open"), "{reason}");
    std::fs::rename(library, &path).expect("renamed");
    assert_eq!(*collect(&mut **last, at(60)).errors()[0].reason, *reason);
    assert_eq!(first_value(&collect(&mut **last, at(61)), CARD, BUSY), 73);
}

#[test]
fn a_thread_that_has_ended_is_not_late() {
    let (requests, _) = sync_channel(1);
    let (_, answers) = sync_channel(1);
    let thread = std::thread::spawn(|| {});
    let mut worker = Worker { requests, answers, late: Some(MAX_WAIT), thread };
    assert_eq!(worker.update(Vec::new(), MAX_WAIT).err(), Some(Unanswered::Ended));
    worker.late = None;
    assert_eq!(worker.update(Vec::new(), MAX_WAIT).err(), Some(Unanswered::Ended));
}

#[test]
fn without_cards_there_are_no_sets_but_a_reason() {
    let (machine, library) = machine();
    machine.remove("proc/driver/nvidia/gpus");
    assert!(providers_with(&machine.roots, library.as_os_str()).is_empty());
    let reason = addresses(&machine.roots, LIBRARY.as_ref()).expect_err("a reason");
    assert_eq!(reason, "NVIDIA's driver shows no cards in /proc/driver/nvidia/gpus");
    machine.remove("proc/driver");
    let reason = addresses(&machine.roots, LIBRARY.as_ref()).expect_err("a reason");
    assert_eq!(reason, "NVIDIA's driver is not loaded");
    assert!(check_clients(&machine.roots).expect_err("a reason").ends_with(&reason));
    assert!(check_nvidia(&machine.roots).expect_err("a reason").starts_with(&reason));
}
