//! `Thermal Zone`: temperatures that the firmware and drivers report.

use std::io;
use std::mem::MaybeUninit;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
use rustix::io::Errno;
use tachograph_counters::CounterType;
use tachograph_perflib::registration::{CounterSetInfo, InstanceType};
use tachograph_perflib::{Failure, InstanceKey, Provider, Row, Rows};

use crate::error_texts::{ErrorTexts, unreadable_failure};
use crate::open_file::OpenFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::{parse_number, parse_signed};
use crate::table::{CounterInfo, SetTable};

const TEMPERATURE: u32 = 1;
const HIGH_PRECISION: u32 = 2;
const PASSIVE: u32 = 3;
const CRITICAL: u32 = 4;

/// The set `Thermal Zone`.
#[rustfmt::skip]
pub(crate) static TABLE: SetTable = SetTable {
    name: "Thermal Zone",
    guid: 0xd198a5a6eb7255a1afd124da3f3cedfa,
    instance_type: InstanceType::Multiple,
    help: "Temperatures of the machine's thermal zones. The Windows set Thermal Zone Information reports kelvins; this one reports degrees Celsius.",
    instances: "The zones of /sys/class/thermal in the order of their numbers, named by number and type, such as `0 acpitz` or `2 x86_pkg_temp`.",
    total: "",
    repeats: None,
    counters: &[
        CounterInfo::row(TEMPERATURE, "Temperature", CounterType::LARGE_RAWCOUNT, "°C", 0,
            "/sys/class/thermal/thermal_zone*/temp",
            "The temperature in degrees Celsius, rounded to the nearest degree."),
        CounterInfo::row(HIGH_PRECISION, "High Precision Temperature", CounterType::LARGE_RAWCOUNT, "m°C", -3,
            "/sys/class/thermal/thermal_zone*/temp",
            "The temperature in thousandths of a degree Celsius, as the kernel reports it."),
        CounterInfo::row(PASSIVE, "Passive Trip Point", CounterType::LARGE_RAWCOUNT, "°C", 0,
            "/sys/class/thermal/thermal_zone*/trip_point_*_temp of type passive",
            "The temperature in degrees Celsius from which the kernel throttles the zone's devices; the lowest, if there are several passive trip points."),
        CounterInfo::row(CRITICAL, "Critical Trip Point", CounterType::LARGE_RAWCOUNT, "°C", 0,
            "/sys/class/thermal/thermal_zone*/trip_point_*_temp of type critical",
            "The temperature in degrees Celsius at which the kernel shuts the machine down; the lowest, if there are several critical trip points."),
    ],
};

/// The maximum number of zones.
const MAX_ZONES: usize = 1024;
/// The maximum number of trip points; the kernel's own limit is far lower.
const MAX_TRIP_POINTS: u32 = 64;
/// The kernel shows a disabled trip point as a temperature at or below absolute zero.
const ABSOLUTE_ZERO: i64 = -273_150;

/// The provider, if there are zones.
pub(crate) fn provider(roots: &Roots) -> Option<Box<dyn Provider>> {
    let mut zones =
        ThermalZones { info: TABLE.info(), folder: roots.sys.join("class/thermal"), zones: Vec::new() };
    zones.list().ok()?;
    if zones.zones.is_empty() {
        return None;
    }
    let has_passive = zones.zones.iter().any(|zone| !zone.passive.is_empty());
    let has_critical = zones.zones.iter().any(|zone| !zone.critical.is_empty());
    zones.info = TABLE.info_of(|id| match id {
        PASSIVE => has_passive,
        CRITICAL => has_critical,
        _ => true,
    });
    Some(Box::new(zones))
}

struct ThermalZones {
    info: Arc<CounterSetInfo>,
    folder: PathBuf,
    /// Sorted by number.
    zones: Vec<Zone>,
}

struct Zone {
    number: u32,
    /// Whether the current listing has found the zone.
    is_listed: bool,
    /// Whether the zone was removed, and possibly replaced by another one with the same number.
    is_stale: bool,
    instance: Arc<InstanceKey>,
    temperature: Temperature,
    /// The trip points of passive cooling.
    passive: Vec<Temperature>,
    /// The critical trip points.
    critical: Vec<Temperature>,
    /// The reason for a missing value if there is no passive trip point.
    no_passive: Arc<str>,
    /// The reason for a missing value if there is no critical trip point.
    no_critical: Arc<str>,
}

/// A file with a temperature.
struct Temperature {
    file: OpenFile,
    /// Whether the file was missing at the last read.
    is_gone: bool,
    reasons: ErrorTexts,
    /// The message that the content is not a temperature.
    unusable: Arc<str>,
}

impl Provider for ThermalZones {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        if let Err(error) = self.list() {
            return Err(unreadable_failure(self.folder.display(), &error));
        }
        for zone in &mut self.zones {
            if !rows.wants_instance(zone.instance.name(), zone.number) {
                continue;
            }
            let mut row = rows.push(&zone.instance);
            // The firmware can take milliseconds to answer, so the temperature is read only if requested.
            if row.wants(TEMPERATURE) || row.wants(HIGH_PRECISION) {
                match zone.temperature.read() {
                    Ok(millidegrees) => {
                        row.set(TEMPERATURE, degrees(millidegrees) as u64);
                        row.set(HIGH_PRECISION, millidegrees as u64);
                    }
                    Err(reason) => {
                        row.fail_all([TEMPERATURE, HIGH_PRECISION], &reason);
                        zone.is_stale = zone.temperature.is_gone;
                    }
                }
            }
            set_lowest(&mut row, PASSIVE, &mut zone.passive, &zone.no_passive);
            set_lowest(&mut row, CRITICAL, &mut zone.critical, &zone.no_critical);
        }
        Ok(())
    }

    fn idle(&mut self) {
        self.zones.iter_mut().flat_map(Zone::temperatures).for_each(|temperature| temperature.file.close());
    }
}

impl ThermalZones {
    /// Updates the list of zones, which drivers add and remove.
    fn list(&mut self) -> io::Result<()> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = openat(CWD, &self.folder, flags, Mode::empty())?;
        self.zones.iter_mut().for_each(|zone| zone.is_listed = false);
        let count = self.zones.len();
        let mut buffer = [MaybeUninit::uninit(); 4096];
        let mut entries = RawDir::new(folder, &mut buffer);
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let Some(number) =
                entry.file_name().to_bytes().strip_prefix(b"thermal_zone").and_then(parse_number)
            else {
                continue;
            };
            let number = number as u32;
            match self.zones[..count].binary_search_by_key(&number, |zone| zone.number) {
                Ok(index) => {
                    let zone = &mut self.zones[index];
                    zone.is_listed = true;
                    if zone.is_stale {
                        *zone = Zone::new(&self.folder, number);
                    }
                }
                Err(_) if self.zones.len() < MAX_ZONES => self.zones.push(Zone::new(&self.folder, number)),
                Err(_) => {}
            }
        }
        self.zones.retain(|zone| zone.is_listed);
        self.zones.sort_unstable_by_key(|zone| zone.number);
        Ok(())
    }
}

impl Zone {
    fn new(folder: &std::path::Path, number: u32) -> Self {
        let folder = folder.join(format!("thermal_zone{number}"));
        let mut name = number.to_string();
        let mut kind = OpenFile::new(folder.join("type"));
        if let Ok(kind) = kind.read() {
            let kind = String::from_utf8_lossy(kind);
            if !kind.trim().is_empty() {
                name.push(' ');
                name.push_str(kind.trim());
            }
        }
        let mut trip_points = [Vec::new(), Vec::new()];
        for point in 0..MAX_TRIP_POINTS {
            let mut kind = OpenFile::new(folder.join(format!("trip_point_{point}_type")));
            let Ok(kind) = kind.read() else { break };
            let index = match kind.trim_ascii() {
                b"passive" => 0,
                b"critical" => 1,
                _ => continue,
            };
            trip_points[index].push(Temperature::new(folder.join(format!("trip_point_{point}_temp"))));
        }
        let [passive, critical] = trip_points;
        let missing_error =
            |kind: &str| format!("{}: the zone has no {kind} trip point", folder.display()).into();
        Self {
            number,
            is_listed: true,
            is_stale: false,
            instance: Arc::new(InstanceKey::new(name, number, 0)),
            no_passive: missing_error("passive"),
            no_critical: missing_error("critical"),
            temperature: Temperature::new(folder.join("temp")),
            passive,
            critical,
        }
    }
}

impl Zone {
    /// All files with a temperature.
    fn temperatures(&mut self) -> impl Iterator<Item = &mut Temperature> {
        std::iter::once(&mut self.temperature).chain(&mut self.passive).chain(&mut self.critical)
    }
}

impl Temperature {
    fn new(path: PathBuf) -> Self {
        let unusable = format!("{}: no temperature", path.display()).into();
        Self { file: OpenFile::new(path), is_gone: false, reasons: ErrorTexts::default(), unusable }
    }

    /// Reads the temperature, in thousandths of a degree Celsius.
    fn read(&mut self) -> Result<i64, Arc<str>> {
        self.is_gone = false;
        match self.file.read() {
            Ok(text) => match parse_signed(split_complete_lines(text).0.trim_ascii()) {
                Some(value) if value > ABSOLUTE_ZERO => Ok(value),
                _ => Err(Arc::clone(&self.unusable)),
            },
            Err(error) => {
                let number = error.raw_os_error();
                self.is_gone =
                    [Errno::NODEV, Errno::NOENT].iter().any(|gone| number == Some(gone.raw_os_error()));
                Err(self.reasons.get(&error, self.file.path().display()))
            }
        }
    }
}

fn set_lowest(row: &mut Row<'_>, id: u32, points: &mut [Temperature], no_point: &Arc<str>) {
    if !row.wants(id) {
        return;
    }
    let mut lowest: Result<i64, Arc<str>> = Err(Arc::clone(no_point));
    for point in points {
        lowest = match (lowest, point.read()) {
            (Ok(lowest), Ok(value)) => Ok(lowest.min(value)),
            (Ok(lowest), Err(_)) => Ok(lowest),
            (Err(_), read) => read,
        };
    }
    match lowest {
        Ok(millidegrees) => row.set(id, degrees(millidegrees) as u64),
        Err(reason) => row.fail(id, &reason),
    }
}

/// Rounds millidegrees to degrees.
fn degrees(millidegrees: i64) -> i64 {
    millidegrees.saturating_add(500).div_euclid(1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    const ZONE: &str = "sys/class/thermal/thermal_zone";

    fn machine() -> Machine {
        let machine = Machine::new(&[("sys/class/thermal/cooling_device0/type", "Processor\n")]);
        for (path, content) in [
            ("10/type", "x86_pkg_temp\n"),
            ("10/temp", "45500\n"),
            ("2/type", "acpitz\n"),
            ("2/temp", "-1499\n"),
            ("2/trip_point_0_type", "critical\n"),
            ("2/trip_point_0_temp", "105000\n"),
            ("2/trip_point_1_type", "passive\n"),
            ("2/trip_point_1_temp", "95000\n"),
            ("2/trip_point_2_type", "passive\n"),
            ("2/trip_point_2_temp", "-274000\n"),
            ("2/trip_point_3_type", "active\n"),
        ] {
            machine.write(&format!("{ZONE}{path}"), content);
        }
        machine
    }

    #[test]
    fn zones_are_sorted_by_number() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(10));
        assert_eq!(names(&rows), ["2 acpitz", "10 x86_pkg_temp"]);
        assert_eq!(first_value(&rows, "10 x86_pkg_temp", TEMPERATURE), 46);
        assert_eq!(first_value(&rows, "10 x86_pkg_temp", HIGH_PRECISION), 45_500);
        assert_eq!(first_value(&rows, "2 acpitz", TEMPERATURE), -1);
        assert_eq!(first_value(&rows, "2 acpitz", HIGH_PRECISION), -1499);
        // The disabled trip point is ignored.
        assert_eq!(first_value(&rows, "2 acpitz", PASSIVE), 95);
        assert_eq!(first_value(&rows, "2 acpitz", CRITICAL), 105);
        assert!(!value(&rows, "10 x86_pkg_temp", PASSIVE).status.is_good());
        assert_eq!(rows.instances()[1].id(), 10);
    }

    #[test]
    fn files_are_closed_while_the_set_is_idle() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        check_idle(&machine, "sys", &mut *provider);
    }

    #[test]
    fn zones_are_added_and_removed() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        collect(&mut *provider, at(10));
        machine.write(&format!("{ZONE}3/type"), "iwlwifi_1\n");
        machine.write(&format!("{ZONE}3/temp"), "garbage\n");
        machine.remove(&format!("{ZONE}10"));
        let rows = collect(&mut *provider, at(11));
        assert_eq!(names(&rows), ["2 acpitz", "3 iwlwifi_1"]);
        assert!(!value(&rows, "3 iwlwifi_1", TEMPERATURE).status.is_good());
        assert!(rows.errors()[0].reason.ends_with("no temperature"));
        machine.remove(&format!("{ZONE}3"));
        assert_eq!(names(&collect(&mut *provider, at(12))), ["2 acpitz"]);
        machine.write(&format!("{ZONE}3/temp"), "40000\n");
        machine.write(&format!("{ZONE}3/type"), "nvme\n");
        assert_eq!(first_value(&collect(&mut *provider, at(13)), "3 nvme", TEMPERATURE), 40);
    }

    #[test]
    fn counters_that_no_zone_has_are_absent() {
        let machine = Machine::new(&[("sys/class/thermal/thermal_zone0/temp", "1\n")]);
        let provider = provider(&machine.roots).expect("a provider");
        assert!(provider.info().position(PASSIVE).is_none());
        machine.remove("sys/class/thermal/thermal_zone0/temp");
        machine.write("sys/class/thermal/thermal_zone1/type", "x\n");
        let mut provider = crate::kernel::thermal::provider(&machine.roots).expect("a provider");
        let rows = collect(&mut *provider, at(1));
        assert_eq!(names(&rows), ["0", "1 x"]);
        assert!(rows.errors()[0].reason.contains("thermal_zone0/temp: No such file"), "{:?}", rows.errors());
    }

    #[test]
    fn malformed_files_are_errors() {
        let machine = machine();
        let mut provider = provider(&machine.roots).expect("a provider");
        for broken in ["", "4550", "\n", "99999999999999999999\n", "-9223372036854775808\n", "-\n"] {
            machine.write(&format!("{ZONE}10/temp"), broken);
            let rows = collect(&mut *provider, at(10));
            assert!(!value(&rows, "10 x86_pkg_temp", TEMPERATURE).status.is_good(), "{broken:?}");
        }
        machine.write(&format!("{ZONE}10/temp"), "9223372036854775807\n");
        collect(&mut *provider, at(10));
        machine.remove("sys/class/thermal");
        let mut rows = Rows::unfiltered(provider.info().clone());
        rows.clear(at(12));
        assert!(provider.collect(&mut rows).is_err());
        assert!(crate::kernel::thermal::provider(&machine.roots).is_none());
    }
}
