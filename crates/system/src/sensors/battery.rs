//! `Battery Status`: the batteries of `/sys/class/power_supply`.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use crate::folder::{FolderEntries, read_text};
use crate::number_file::SmallFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::parse_signed;
use crate::table::{CounterInfo, SetTable};

const CHARGE: u32 = 1;
const DISCHARGE_RATE: u32 = 2;
const CHARGE_RATE: u32 = 3;
const REMAINING: u32 = 4;
const FULL: u32 = 5;
const DESIGN: u32 = 6;
const VOLTAGE: u32 = 7;
const CYCLES: u32 = 8;

#[rustfmt::skip]
pub(super) static TABLE: SetTable = SetTable {
    name: "Battery Status",
    guid: 0xdc541b91_ae56_5412_a359_3306eeb2469c,
    instance_type: InstanceType::Multiple,
    help: "Batteries of the machine and of devices such as a wireless mouse: their charge, and how fast they charge or discharge.",
    instances: "The batteries under the kernel's name, such as `BAT0`.",
    total: "",
    repeats: None,
    counters: &[
        row(CHARGE, "% Charge", "%", 0, "/sys/class/power_supply/*/capacity",
            "The charge of the battery in percent of its full charge."),
        row(DISCHARGE_RATE, "Discharge Rate", "mW", -3, "/sys/class/power_supply/*: status, power_now, or current_now and voltage_now",
            "The power in thousandths of a watt that the battery supplies; 0 if it does not discharge."),
        row(CHARGE_RATE, "Charge Rate", "mW", -3, "/sys/class/power_supply/*: status, power_now, or current_now and voltage_now",
            "The power in thousandths of a watt with which the battery is charged; 0 if it is not."),
        row(REMAINING, "Remaining Capacity", "mWh", -3, "/sys/class/power_supply/*: energy_now, or charge_now and voltage_now",
            "The energy in the battery, in thousandths of a watt-hour."),
        row(FULL, "Full Charged Capacity", "mWh", -3, "/sys/class/power_supply/*: energy_full, or charge_full and voltage_now",
            "The energy in the full battery, in thousandths of a watt-hour. It falls as the battery ages."),
        row(DESIGN, "Designed Capacity", "mWh", -3, "/sys/class/power_supply/*: energy_full_design, or charge_full_design and voltage_now",
            "The energy in the full battery when it was new, in thousandths of a watt-hour."),
        row(VOLTAGE, "Voltage", "mV", -3, "/sys/class/power_supply/*/voltage_now",
            "The voltage in thousandths of a volt."),
        row(CYCLES, "Charge Cycles", "", 0, "/sys/class/power_supply/*/cycle_count",
            "How often the battery was charged, as the battery counts it."),
    ],
};

const fn row(
    id: u32,
    name: &'static str,
    unit: &'static str,
    scale: i32,
    source: &'static str,
    help: &'static str,
) -> CounterInfo {
    CounterInfo::row(id, name, CounterType::LARGE_RAWCOUNT, unit, scale, source, help)
}

/// The provider, if this machine has a battery.
pub(super) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let supplies = FolderEntries::new(roots.sys.join("class/power_supply")).ok()?;
    let batteries = list(&supplies);
    if batteries.is_empty() {
        return None;
    }
    let info = TABLE.info_of(|id| batteries.iter().any(|battery| battery.has_counter(id)));
    let missing = "/sys/class/power_supply: a file of the battery cannot be read".into();
    Some(Box::new(Batteries { info, supplies, batteries, missing }))
}

/// Checks that this machine has a battery.
pub(super) fn check(roots: &Roots) -> Result<(), String> {
    match provider(roots) {
        Some(_) => Ok(()),
        None => Err("the kernel shows no battery in /sys/class/power_supply".to_owned()),
    }
}

struct Batteries {
    info: Arc<CounterSetInfo>,
    supplies: FolderEntries,
    batteries: Vec<Battery>,
    /// The reason for missing values.
    missing: Arc<str>,
}

struct Battery {
    key: Arc<InstanceKey>,
    status: SmallFile,
    percent: Option<SmallFile>,
    voltage: Option<SmallFile>,
    cycles: Option<SmallFile>,
    power: Amount,
    remaining: Amount,
    full: Amount,
    design: Amount,
}

/// A power or an energy.
enum Amount {
    /// A file in millionths of a watt or watt-hour.
    Direct(SmallFile),
    /// A file in millionths of an ampere or ampere-hour, to be multiplied by the voltage.
    TimesVoltage(SmallFile),
    Absent,
}

fn list(supplies: &FolderEntries) -> Vec<Battery> {
    let folder = supplies.folder();
    let is_battery =
        |name: &&String| read_text(&folder.join(name).join("type")).as_deref() == Some("Battery");
    supplies.names().iter().filter(is_battery).map(|name| Battery::new(&folder.join(name), name)).collect()
}

impl Battery {
    fn new(folder: &Path, name: &str) -> Self {
        let file = |name: &str| {
            let file = SmallFile::new(folder.join(name));
            file.is_readable(|text| parse(text).is_some()).then_some(file)
        };
        let amount = |direct: &str, by_voltage: &str| match (file(direct), file(by_voltage)) {
            (Some(file), _) => Amount::Direct(file),
            (None, Some(file)) => Amount::TimesVoltage(file),
            (None, None) => Amount::Absent,
        };
        Self {
            key: Arc::new(InstanceKey::new(name, 0, 0)),
            status: SmallFile::new(folder.join("status")),
            percent: file("capacity"),
            voltage: file("voltage_now"),
            cycles: file("cycle_count"),
            power: amount("power_now", "current_now"),
            remaining: amount("energy_now", "charge_now"),
            full: amount("energy_full", "charge_full"),
            design: amount("energy_full_design", "charge_full_design"),
        }
    }

    fn has_counter(&self, id: u32) -> bool {
        match id {
            CHARGE => self.percent.is_some(),
            DISCHARGE_RATE | CHARGE_RATE => self.power.is_present(),
            REMAINING => self.remaining.is_present(),
            FULL => self.full.is_present(),
            DESIGN => self.design.is_present(),
            VOLTAGE => self.voltage.is_some(),
            _ => self.cycles.is_some(),
        }
    }

    /// Closes the files until the next read.
    fn close(&mut self) {
        let Self { key: _, status, percent, voltage, cycles, power, remaining, full, design } = self;
        let optional = [percent, voltage, cycles].into_iter().flatten();
        let amounts = [power, remaining, full, design].into_iter().filter_map(Amount::file);
        optional.chain(amounts).chain([status]).for_each(SmallFile::close);
    }

    /// The value of a counter, given the voltage in microvolts; `None` if it cannot be read.
    fn value(&mut self, id: u32, voltage_uv: Option<i64>) -> Option<i64> {
        match id {
            CHARGE => number(self.percent.as_mut()?),
            VOLTAGE => Some(voltage_uv? / 1000),
            CYCLES => number(self.cycles.as_mut()?),
            REMAINING => self.remaining.read(voltage_uv),
            FULL => self.full.read(voltage_uv),
            DESIGN => self.design.read(voltage_uv),
            _ => {
                let mut buffer = [0; 64];
                let is_charging = match self.status.read(&mut buffer).ok()?.trim_ascii() {
                    b"Charging" => true,
                    b"Discharging" => false,
                    b"Full" | b"Not charging" | b"Unknown" => return Some(0),
                    _ => return None,
                };
                // Some drivers report a negative current while the battery discharges.
                let power = self.power.read(voltage_uv)?.saturating_abs();
                Some(if is_charging == (id == CHARGE_RATE) { power } else { 0 })
            }
        }
    }
}

impl Amount {
    fn is_present(&self) -> bool {
        !matches!(self, Self::Absent)
    }

    fn file(&mut self) -> Option<&mut SmallFile> {
        match self {
            Self::Direct(file) | Self::TimesVoltage(file) => Some(file),
            Self::Absent => None,
        }
    }

    /// Reads the amount, in thousandths of a watt or watt-hour.
    fn read(&mut self, voltage_uv: Option<i64>) -> Option<i64> {
        match self {
            Self::Direct(file) => Some(number(file)? / 1000),
            Self::TimesVoltage(file) => {
                let product = i128::from(number(file)?) * i128::from(voltage_uv?) / 1_000_000_000;
                product.try_into().ok()
            }
            Self::Absent => None,
        }
    }
}

fn number(file: &mut SmallFile) -> Option<i64> {
    let mut buffer = [0; 64];
    parse(file.read(&mut buffer).ok()?)
}

fn parse(text: &[u8]) -> Option<i64> {
    parse_signed(split_complete_lines(text).0.trim_ascii())
}

impl Provider for Batteries {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { supplies, batteries, missing, .. } = self;
        if supplies.update()? {
            *batteries = list(supplies);
        }
        for battery in batteries {
            if !rows.wants_instance(battery.key.name(), 0) {
                continue;
            }
            let mut row = rows.push(&battery.key);
            let voltage_uv = battery.voltage.as_mut().and_then(number);
            for id in CHARGE..=CYCLES {
                if !row.wants(id) {
                    continue;
                }
                match battery.value(id, voltage_uv) {
                    Some(value) => row.set(id, value as u64),
                    None if battery.has_counter(id) => row.fail(id, missing),
                    None => row.omit(id),
                }
            }
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.batteries.iter_mut().for_each(Battery::close);
    }
}

#[cfg(test)]
mod tests {
    use tachograph_counters::Status;

    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    const FOLDER: &str = "sys/class/power_supply";

    fn machine() -> Machine {
        let machine = Machine::new(&[]);
        for (path, content) in [
            ("AC/type", "Mains\n"),
            ("BAT0/type", "Battery\n"),
            ("BAT0/status", "Discharging\n"),
            ("BAT0/capacity", "83\n"),
            ("BAT0/power_now", "12345678\n"),
            ("BAT0/energy_now", "41500000\n"),
            ("BAT0/energy_full", "50000000\n"),
            ("BAT0/energy_full_design", "57020000\n"),
            ("BAT0/voltage_now", "12040000\n"),
            ("BAT0/cycle_count", "123\n"),
            ("BAT1/type", "Battery\n"),
            ("BAT1/status", "Charging\n"),
            ("BAT1/current_now", "-2000000\n"),
            ("BAT1/charge_now", "3000000\n"),
            ("BAT1/voltage_now", "11500000\n"),
        ] {
            machine.write(&format!("{FOLDER}/{path}"), content);
        }
        machine
    }

    #[test]
    fn every_counter_has_its_value() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(1));
        assert_eq!(names(&rows), ["BAT0", "BAT1"]);
        let all = [CHARGE, DISCHARGE_RATE, CHARGE_RATE, REMAINING, FULL, DESIGN, VOLTAGE, CYCLES];
        let found = all.map(|id| first_value(&rows, "BAT0", id));
        assert_eq!(found, [83, 12_345, 0, 41_500, 50_000, 57_020, 12_040, 123]);
        // 2 A at 11.5 V, and 3 Ah.
        let found =
            [DISCHARGE_RATE, CHARGE_RATE, REMAINING, VOLTAGE].map(|id| first_value(&rows, "BAT1", id));
        assert_eq!(found, [0, 23_000, 34_500, 11_500]);
        for id in [CHARGE, FULL, DESIGN, CYCLES] {
            assert_eq!(value(&rows, "BAT1", id).status, Status::NO_INSTANCE);
        }
        machine.write(&format!("{FOLDER}/BAT0/status"), "Full\n");
        let rows = collect(&mut *provider, at(2));
        assert_eq!([DISCHARGE_RATE, CHARGE_RATE].map(|id| first_value(&rows, "BAT0", id)), [0, 0]);
    }

    #[test]
    fn added_and_removed_batteries_are_found_and_malformed_files_are_errors() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        machine.remove(&format!("{FOLDER}/BAT1"));
        machine.write(&format!("{FOLDER}/mouse/type"), "Battery\n");
        machine.write(&format!("{FOLDER}/mouse/capacity"), "5\n");
        let rows = collect(&mut *provider, at(1));
        assert_eq!(names(&rows), ["mouse", "BAT0"]);
        assert_eq!(first_value(&rows, "mouse", CHARGE), 5);
        for broken in ["", "x\n", "99999999999999999999\n"] {
            machine.write(&format!("{FOLDER}/BAT0/capacity"), broken);
            machine.write(&format!("{FOLDER}/BAT0/status"), broken);
            let rows = collect(&mut *provider, at(2));
            for id in [CHARGE, CHARGE_RATE, DISCHARGE_RATE] {
                assert!(!value(&rows, "BAT0", id).status.is_good());
            }
            assert_eq!(rows.errors().len(), 3, "{:?}", rows.errors());
        }
    }

    #[test]
    fn without_a_battery_there_is_no_set_but_a_reason() {
        let machine = machine();
        assert_eq!(check(&machine.roots), Ok(()));
        machine.remove(&format!("{FOLDER}/BAT0"));
        machine.remove(&format!("{FOLDER}/BAT1"));
        assert!(provider(&machine.roots).is_none());
        assert!(check(&machine.roots).is_err());
    }

    #[test]
    fn an_idle_set_closes_its_files() {
        let machine = machine();
        check_idle(&machine, "", &mut *provider(&machine.roots).expect("a provider"));
    }
}
