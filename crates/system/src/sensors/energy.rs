//! `Energy Meter`: the power of processors and memory, from the energy counters of `/sys/class/powercap` (RAPL).

use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::error_texts::{LastReason, error_text};
use crate::folder::{FolderEntries, read_text};
use crate::number_file::SmallFile;
use crate::roots::Roots;
use crate::scan::parse_single_number;
use crate::table::{CounterInfo, SetTable};

const POWER: u32 = 1;
const ENERGY: u32 = 2;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Energy Meter",
    guid: 0xacb1e715_57ac_5887_853d_1006034cdb08,
    instance_type: InstanceType::Multiple,
    help: "The power of processors, their parts and the memory, which the hardware measures or estimates (RAPL).",
    instances: "Domains by the kernel's name, each followed by its parts: `package-0`, `package-0 core`, \
        `package-0 dram`, `psys`. The energy of a part is included in that of its domain, except dram.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(POWER, "Power", CounterType::BULK_COUNT, "mW", -3, "/sys/class/powercap/*/energy_uj",
            "The average power in thousandths of a watt: the increase of the energy counter per time. Wraps of \
             the counter are corrected."),
        CounterInfo::row(ENERGY, "Energy", CounterType::LARGE_RAWCOUNT, "mJ", -6, "/sys/class/powercap/*/energy_uj",
            "The energy in thousandths of a joule, counted from the first sample on."),
    ],
};

/// The provider, if the energy of a domain can be read.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let zones = FolderEntries::new(roots.sys.join("class/powercap")).ok()?;
    let domains = list(&zones);
    let is_readable = domains.iter().any(|domain| domain.energy.has_number());
    is_readable.then(|| Box::new(EnergyMeters { info: TABLE.info(), zones, domains }) as Box<dyn Provider>)
}

/// Checks that the energy of a domain can be read; otherwise returns the reason.
pub(super) fn check(roots: &Roots) -> Result<(), String> {
    let mut reason = "the kernel shows no energy counters in /sys/class/powercap \
                      (hardware with RAPL and the driver intel_rapl_msr; virtual machines have none)"
        .to_owned();
    let zones = FolderEntries::new(roots.sys.join("class/powercap"));
    for mut domain in zones.iter().flat_map(list) {
        match domain.energy.read_number() {
            Ok(_) => return Ok(()),
            // Since 2020, only root can read the counters, because they reveal what programs compute.
            Err(error) => reason = error,
        }
    }
    Err(reason)
}

struct EnergyMeters {
    info: Arc<CounterSetInfo>,
    zones: FolderEntries,
    domains: Vec<Domain>,
}

struct Domain {
    /// The name of the folder in `/sys/class/powercap`.
    zone: String,
    key: Arc<InstanceKey>,
    energy: SmallFile,
    /// The value at which the counter wraps to 0, in microjoules.
    range: u64,
    /// The last value of the counter, in microjoules.
    last: Option<u64>,
    /// The energy since the first sample, in microjoules.
    total: u64,
    reason: LastReason,
}

/// The domains; the parts of a domain follow it.
fn list(zones: &FolderEntries) -> Vec<Domain> {
    let folder = zones.folder();
    let mut found: Vec<(String, String)> = zones
        .names()
        .iter()
        // `intel-rapl:0` is a package and `intel-rapl:0:1` a part of it; `intel-rapl` is the driver.
        .filter(|zone| zone.contains(':'))
        .filter_map(|zone| Some((zone.clone(), domain_name(folder, zone)?)))
        .collect();
    found.sort();
    let domain = |(zone, name): (String, String)| {
        let path = folder.join(&zone);
        Domain {
            key: Arc::new(InstanceKey::new(name, 0, 0)),
            energy: SmallFile::new(path.join("energy_uj")),
            range: SmallFile::new(path.join("max_energy_range_uj")).read_number().unwrap_or_default(),
            zone,
            last: None,
            total: 0,
            reason: LastReason::default(),
        }
    };
    found.into_iter().map(domain).collect()
}

/// The name of a domain. For a part of a domain, it begins with the name of the whole: `package-0 core`.
fn domain_name(folder: &std::path::Path, zone: &str) -> Option<String> {
    let mut name = read_text(&folder.join(zone).join("name"))?;
    let (driver, numbers) = zone.split_once(':')?;
    if let Some((whole, _)) = numbers.rsplit_once(':') {
        let whole = read_text(&folder.join(format!("{driver}:{whole}")).join("name"))?;
        name = format!("{whole} {name}");
    }
    // The same domains can be read through memory-mapped registers (intel-rapl-mmio).
    if driver != "intel-rapl" {
        name = format!("{name} ({driver})");
    }
    Some(name)
}

impl Provider for EnergyMeters {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { zones, domains, .. } = self;
        if zones.update()? {
            let mut known = std::mem::replace(domains, list(zones));
            for domain in domains {
                // Known domains continue.
                if let Some(known) = known
                    .iter_mut()
                    .find(|known| known.zone == domain.zone && known.key.name() == domain.key.name())
                {
                    std::mem::swap(domain, known);
                }
            }
        }
        for domain in &mut self.domains {
            if !rows.wants_instance(domain.key.name(), domain.key.id()) {
                continue;
            }
            let read = domain.read();
            let mut row = rows.push(&domain.key);
            match read {
                Ok(()) => [POWER, ENERGY].into_iter().for_each(|id| row.set(id, domain.total / 1000)),
                Err(reason) => row.fail_all([POWER, ENERGY], &reason),
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.domains.iter_mut().for_each(|domain| domain.energy.close());
    }
}

impl Domain {
    /// Adds the growth of the counter since the last read.
    fn read(&mut self) -> Result<(), Arc<str>> {
        let mut buffer = [0; 64];
        let read = self.energy.read(&mut buffer).map(parse_single_number);
        let now = match read {
            Ok(Some(now)) => now,
            other => {
                let text = match other {
                    Err(error) => error_text(self.energy.path().display(), &error),
                    Ok(_) => format!("{}: no number", self.energy.path().display()),
                };
                return Err(Arc::clone(self.reason.intern(&text)));
            }
        };
        let last = self.last.replace(now).unwrap_or(now);
        let growth = match now.checked_sub(last) {
            Some(growth) => growth,
            // The counter has wrapped, or was reset, as after suspend. If the growth across the wrap would exceed half of the
            // range, it was reset.
            None => match self.range.saturating_sub(last).saturating_add(now) {
                growth if growth <= self.range / 2 => growth,
                _ => now,
            },
        };
        self.total = self.total.wrapping_add(growth);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    const FOLDER: &str = "sys/class/powercap";

    fn machine() -> Machine {
        let machine = Machine::new(&[]);
        for (path, content) in [
            ("intel-rapl/enabled", "1\n"),
            ("intel-rapl:0/name", "package-0\n"),
            ("intel-rapl:0/energy_uj", "262143000000\n"),
            ("intel-rapl:0/max_energy_range_uj", "262143328850\n"),
            ("intel-rapl:0:0/name", "core\n"),
            ("intel-rapl:0:0/energy_uj", "5000\n"),
            ("intel-rapl:0:1/name", "dram\n"),
            ("intel-rapl:0:1/energy_uj", "7\n"),
            ("intel-rapl:1/name", "psys\n"),
            ("intel-rapl:1/energy_uj", "1\n"),
            ("intel-rapl-mmio:0/name", "package-0\n"),
            ("intel-rapl-mmio:0/energy_uj", "1\n"),
        ] {
            machine.write(&format!("{FOLDER}/{path}"), content);
        }
        machine
    }

    #[test]
    fn the_power_is_the_growth_of_the_energy() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(1));
        let package =
            ["package-0 (intel-rapl-mmio)", "package-0", "package-0 core", "package-0 dram", "psys"];
        assert_eq!(names(&rows), package);
        assert_eq!(first_value(&rows, "package-0", POWER), 0);
        machine.write(&format!("{FOLDER}/intel-rapl:0:0/energy_uj"), "2505000\n");
        // The counter wraps after 328,850 microjoules, and continues with 5,000,000.
        machine.write(&format!("{FOLDER}/intel-rapl:0/energy_uj"), "5000000\n");
        let rows = collect(&mut *provider, at(2));
        assert_eq!(first_value(&rows, "package-0 core", POWER), 2500);
        assert_eq!(first_value(&rows, "package-0", POWER), 5_328);
        assert_eq!(first_value(&rows, "package-0", ENERGY), 5_328);
        // The fraction that was cut off is not lost.
        machine.write(&format!("{FOLDER}/intel-rapl:0/energy_uj"), "5000200\n");
        assert_eq!(first_value(&collect(&mut *provider, at(3)), "package-0", ENERGY), 5_329);
        // The machine was suspended, and the counter restarted from 0. This is not a wrap.
        machine.write(&format!("{FOLDER}/intel-rapl:0/energy_uj"), "1000000\n");
        assert_eq!(first_value(&collect(&mut *provider, at(4)), "package-0", ENERGY), 6_329);
    }

    #[test]
    fn new_and_removed_domains_are_found() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        collect(&mut *provider, at(1));
        machine.write(&format!("{FOLDER}/intel-rapl:0/energy_uj"), "262143100000\n");
        machine.remove(&format!("{FOLDER}/intel-rapl:1"));
        machine.remove(&format!("{FOLDER}/intel-rapl-mmio:0"));
        let rows = collect(&mut *provider, at(2));
        assert_eq!(names(&rows), ["package-0", "package-0 core", "package-0 dram"]);
        machine.write(&format!("{FOLDER}/intel-rapl:0/energy_uj"), "262143200000\n");
        assert_eq!(first_value(&collect(&mut *provider, at(3)), "package-0", ENERGY), 200);
    }

    #[test]
    fn malformed_files_are_errors_and_lose_nothing() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        collect(&mut *provider, at(1));
        for broken in ["", "x\n", "99999999999999999999\n"] {
            machine.write(&format!("{FOLDER}/intel-rapl:1/energy_uj"), broken);
            let rows = collect(&mut *provider, at(2));
            assert!(!value(&rows, "psys", POWER).status.is_good(), "{broken:?}");
            assert!(rows.errors()[0].reason.ends_with("intel-rapl:1/energy_uj: no number"));
        }
        machine.write(&format!("{FOLDER}/intel-rapl:1/energy_uj"), "9001\n");
        assert_eq!(first_value(&collect(&mut *provider, at(3)), "psys", ENERGY), 9);
    }

    #[test]
    fn a_machine_without_energy_counters_says_why() {
        let machine = Machine::new(&[(&format!("{FOLDER}/dtpm/x"), "")]);
        assert!(provider(&machine.roots).is_none());
        assert!(check(&machine.roots).expect_err("a reason").contains("no energy counters"));
        machine.write(&format!("{FOLDER}/intel-rapl:0/name"), "package-0\n");
        assert!(provider(&machine.roots).is_none());
        assert!(check(&machine.roots).expect_err("a reason").contains("energy_uj: No such file"));
        assert_eq!(check(&self::machine().roots), Ok(()));
    }

    #[test]
    fn an_idle_set_closes_its_files() {
        let machine = machine();
        check_idle(&machine, "", &mut *provider(&machine.roots).expect("a provider"));
    }
}
