//! NVIDIA's cards of a fake library, which is compiled here.

use std::path::{Path, PathBuf};
use std::process::Command;

use tachograph_perflib::{Provider, Rows};

use super::*;
use crate::gpu::tables::*;
use crate::gpu::{check_clients, check_nvidia, providers_with};
use crate::testing::{Machine, at, collect, first_value, names, value};

const CARD: &str = "nvidia 0000:41:00.0";
const LUID: &str = "luid_0x00000000_0x00004100_phys_0";

/// Compiles the library. It hangs while the file `hang` exists.
fn library(folder: &Path, hang: &Path) -> PathBuf {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src/gpu/nvidia/fake_nvml.c");
    let library = folder.join("libnvidia-ml-fake.so");
    let define = format!("-DHANG={:?}", hang.display().to_string());
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
    let machine = Machine::new(&[("proc/driver/nvidia/version", "NVRM version: 580\n")]);
    for (pid, start) in [(20, 120), (30, 130)] {
        machine.write(
            &format!("proc/{pid}/stat"),
            format!("{pid} (game) S 1 1 1 0 -1 0 1 0 2 0 5 6 0 0 20 0 3 0 {start} 409600 25\n"),
        );
    }
    let library = library(&machine.path(""), &machine.path("hang"));
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
fn a_card_of_sysfs_is_listed_once() {
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
    let busy = |rows: &Rows| {
        ["eng_0_engtype_3D", "eng_1_engtype_VideoEncode", "eng_2_engtype_VideoDecode"]
            .map(|engine| first_value(rows, &format!("pid_20_{LUID}_{engine}"), UTILIZATION))
    };
    assert_eq!(busy(&collect(&mut *set, at(1))), [0; 3], "the first interval is unknown");
    // The newer sample: 50 % and 25 % of 2 s, in 100 ns.
    assert_eq!(busy(&collect(&mut *set, at(3))), [10_000_000, 0, 5_000_000]);
    assert_eq!(busy(&collect(&mut *set, at(4))), [15_000_000, 0, 7_500_000]);
}

#[test]
fn a_library_that_hangs_is_an_error_and_recovers() {
    let (machine, library) = machine();
    let mut set = provider(&machine, &library, "GPU Adapter");
    machine.write("hang", "");
    for second in 1..4 {
        let rows = collect(&mut *set, at(second));
        assert!(!value(&rows, CARD, BUSY).status.is_good());
        assert_eq!(&*rows.errors()[0].reason, "NVML: no answer within 500 ms");
    }
    machine.remove("hang");
    let recovered = (4..100_000).find(|second| {
        std::thread::yield_now();
        value(&collect(&mut *set, at(*second)), CARD, BUSY).status.is_good()
    });
    assert!(recovered.is_some());
}

#[test]
fn without_the_library_there_are_no_sets_and_a_reason() {
    let (machine, _) = machine();
    let missing = machine.path("libnone.so");
    assert!(providers_with(&machine.roots, missing.as_os_str()).is_empty());
    let reason = Nvidia::open(&machine.roots, missing.as_os_str()).err().expect("a reason");
    assert!(reason.contains("libnone.so") && reason.contains("cannot open"), "{reason}");
    machine.remove("proc/driver");
    let reason = Nvidia::open(&machine.roots, LIBRARY.as_ref()).err().expect("a reason");
    assert_eq!(reason, "NVIDIA's driver is not loaded");
    assert!(check_clients(&machine.roots).expect_err("a reason").ends_with(&reason));
    assert!(check_nvidia(&machine.roots).expect_err("a reason").starts_with(&reason));
}
