use super::*;
use crate::roots::Roots;
use crate::testing::{Machine, at, collect, first_value, names, value};

const INTERRUPTS: &str = "           CPU0       CPU1       
 25:          0          1  IO-APIC   5-edge      ACPI:Ged
 36:         10      34041 PCI-MSIX-0000:00:02.0   1-edge      virtio1-req.0
LOC:      90643      92679   Local timer interrupts
ERR:          3
";

fn interrupts(machine: &Machine) -> Box<dyn Provider> {
    providers(&InterruptFiles::new(&machine.roots)).remove(0)
}

fn identity(rows: &Rows, name: &str) -> u64 {
    let row = names(rows).iter().position(|known| *known == name).expect("an instance");
    rows.instances()[row].identity()
}

#[test]
fn lines_are_summed_over_processors() {
    let machine = Machine::new(&[("proc/interrupts", INTERRUPTS)]);
    let rows = collect(&mut *interrupts(&machine), at(10));
    assert_eq!(
        names(&rows),
        ["25 ACPI:Ged", "36 virtio1-req.0", "LOC Local timer interrupts", "ERR", "_Total"]
    );
    assert_eq!(first_value(&rows, "36 virtio1-req.0", RATE), 34_051);
    assert_eq!(first_value(&rows, "LOC Local timer interrupts", RATE), 183_322);
    assert_eq!(first_value(&rows, "ERR", RATE), 3);
    assert_eq!(first_value(&rows, "_Total", RATE), 1 + 34_051 + 183_322 + 3);
    assert_eq!(rows.instances()[1].id(), 36);
}

#[test]
fn instances_are_named_by_label_and_device() {
    let name = |tail: &str| name_of(b"9", tail.as_bytes(), true);
    assert_eq!(name("IO-APIC   9-fasteoi   acpi"), "9 acpi");
    assert_eq!(name("IO-APIC-fasteoi   acpi"), "9 acpi");
    assert_eq!(name("GICv3  25 Level     vgic"), "9 vgic");
    assert_eq!(name("GICv3  27 Level     arch_timer"), "9 arch_timer");
    assert_eq!(name("IR-PCI-MSI 524288-edge      nvme0q0, nvme0q1"), "9 nvme0q0, nvme0q1");
    assert_eq!(name("IO-APIC   16-fasteoi   ehci_hcd:usb1, i801_smbus"), "9 ehci_hcd:usb1, i801_smbus");
    assert_eq!(name("IO-APIC   7-edge"), "9");
    assert_eq!(name(""), "9");
    assert_eq!(name_of(b"NMI", b"Non-maskable   interrupts", false), "NMI Non-maskable interrupts");
}

#[test]
fn softirqs_are_summed_over_processors() {
    let text = "                    CPU0       CPU1       \n          HI:          0          5\n      NET_RX:        449        622\n";
    let machine = Machine::new(&[("proc/softirqs", text)]);
    let mut provider = providers(&InterruptFiles::new(&machine.roots)).remove(0);
    let rows = collect(&mut *provider, at(10));
    assert_eq!(&*rows.info().name, "SoftIRQ");
    assert_eq!(names(&rows), ["HI", "NET_RX", "_Total"]);
    assert_eq!(first_value(&rows, "NET_RX", RATE), 1_071);
    assert_eq!(first_value(&rows, "_Total", RATE), 1_076);
}

#[test]
fn instances_restart_when_the_set_of_processors_changes() {
    let machine = Machine::new(&[("proc/interrupts", INTERRUPTS)]);
    let mut provider = interrupts(&machine);
    let before = collect(&mut *provider, at(10));
    let same = collect(&mut *provider, at(11));
    assert_eq!(identity(&before, "25 ACPI:Ged"), identity(&same, "25 ACPI:Ged"));
    assert_eq!(identity(&before, "_Total"), identity(&same, "_Total"));

    machine.write(
        "proc/interrupts",
        "           CPU0       \n 25:          0  IO-APIC   5-edge      ACPI:Ged\n",
    );
    let after = collect(&mut *provider, at(12));
    assert_ne!(identity(&same, "25 ACPI:Ged"), identity(&after, "25 ACPI:Ged"));
    assert_ne!(identity(&same, "_Total"), identity(&after, "_Total"));

    // The processor is online again, so the sums jump by its counts.
    machine.write("proc/interrupts", INTERRUPTS);
    let back = collect(&mut *provider, at(13));
    assert_ne!(identity(&after, "25 ACPI:Ged"), identity(&back, "25 ACPI:Ged"));
    assert_ne!(identity(&after, "_Total"), identity(&back, "_Total"));
}

#[test]
fn a_removed_line_that_returns_is_a_new_instance() {
    let machine = Machine::new(&[("proc/interrupts", INTERRUPTS)]);
    let mut provider = interrupts(&machine);
    let before = collect(&mut *provider, at(10));
    let without: String = INTERRUPTS
        .lines()
        .filter(|line| !line.contains("virtio1"))
        .fold(String::new(), |text, line| text + line + "\n");
    machine.write("proc/interrupts", &without);
    let gone = collect(&mut *provider, at(11));
    assert_eq!(names(&gone), ["25 ACPI:Ged", "LOC Local timer interrupts", "ERR", "_Total"]);
    assert_eq!(
        identity(&before, "LOC Local timer interrupts"),
        identity(&gone, "LOC Local timer interrupts")
    );
    assert_ne!(identity(&before, "_Total"), identity(&gone, "_Total"));
    machine.write("proc/interrupts", INTERRUPTS);
    let back = collect(&mut *provider, at(12));
    assert_ne!(identity(&before, "36 virtio1-req.0"), identity(&back, "36 virtio1-req.0"));
    assert_eq!(identity(&before, "25 ACPI:Ged"), identity(&back, "25 ACPI:Ged"));

    // The driver was reloaded between two samples.
    machine.write("proc/interrupts", INTERRUPTS.replace("34041", "7"));
    let restarted = collect(&mut *provider, at(13));
    assert_ne!(identity(&back, "36 virtio1-req.0"), identity(&restarted, "36 virtio1-req.0"));
    assert_eq!(first_value(&restarted, "36 virtio1-req.0", RATE), 17);
}

#[test]
fn values_continue_after_a_32_bit_count_wraps() {
    let text = |number: u64| format!("  CPU0  CPU1\nLOC: {number} 1000  Local timer interrupts\n");
    let machine = Machine::new(&[("proc/interrupts", &text(4_294_967_290))]);
    let mut provider = interrupts(&machine);
    let before = collect(&mut *provider, at(10));
    machine.write("proc/interrupts", text(4));
    let after = collect(&mut *provider, at(11));
    let name = "LOC Local timer interrupts";
    assert_eq!(first_value(&after, name, RATE) - first_value(&before, name, RATE), 10);
    assert_eq!(first_value(&after, "_Total", RATE) - first_value(&before, "_Total", RATE), 10);
    assert_eq!(identity(&before, name), identity(&after, name));
}

#[test]
fn malformed_files_are_errors() {
    let machine = Machine::new(&[("proc/interrupts", INTERRUPTS)]);
    let mut provider = interrupts(&machine);
    // The file is read once per moment.
    let mut moments = (1..).map(at);
    let mut moment = || moments.next().unwrap_or_default();
    for length in 0..INTERRUPTS.len() {
        machine.write("proc/interrupts", &INTERRUPTS[..length]);
        let rows = collect(&mut *provider, moment());
        let lines = INTERRUPTS[..length].matches('\n').count().saturating_sub(1);
        assert_eq!(names(&rows).len(), lines + 1, "cut at {length}");
        assert_eq!(value(&rows, "_Total", RATE).status.is_good(), lines > 0, "cut at {length}");
    }
    for line in
        ["25: 99999999999999999999 1 x 1-edge d", "25: 18446744073709551615 1 x 1-edge d", "25: x", "25:"]
    {
        machine.write("proc/interrupts", format!("  CPU0 CPU1\n{line}\n:\n\0\nwords\n"));
        let rows = collect(&mut *provider, moment());
        assert_eq!(names(&rows).len(), 2, "{line}");
        assert!(!rows.values(0)[0].status.is_good(), "{line}");
    }
    machine.remove("proc/interrupts");
    assert!(providers(&InterruptFiles::new(&machine.roots)).is_empty());
}

#[test]
fn only_requested_lines_are_collected() {
    let machine = Machine::new(&[("proc/interrupts", INTERRUPTS)]);
    let mut provider = interrupts(&machine);
    let mut rows = Rows::new(provider.info().clone());
    rows.select([RATE], vec![tachograph_perflib::InstanceFilter::new("36*", None)]);
    rows.clear(at(10));
    provider.collect(&mut rows).expect("collected");
    assert_eq!(names(&rows), ["36 virtio1-req.0"]);
}

#[test]
fn this_machine_can_be_collected() {
    for mut provider in providers(&InterruptFiles::new(&Roots::of_this_machine())) {
        let older = collect(&mut *provider, at(1));
        let newer = collect(&mut *provider, at(2));
        assert_eq!(names(&older), names(&newer));
        assert!(first_value(&newer, "_Total", RATE) > 0);
        for row in 0..newer.instances().len() {
            let (older, newer) = (older.values(row)[0], newer.values(row)[0]);
            assert!(newer.first >= older.first, "row {row}");
        }
    }
}
