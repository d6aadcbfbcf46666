//! `Temperature Sensor`, `Fan`, `Voltage Sensor`, `Current Sensor`, `Power Sensor`: the sensors of
//! `/sys/class/hwmon`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::io::Errno;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, InstanceKey, Provider, Rows};

use super::hwmon_tables::*;
use crate::error_texts::ErrorTexts;
use crate::folder::{FolderEntries, read_text, sorted_entries};
use crate::number_file::SmallFile;
use crate::ordered::split_complete_lines;
use crate::roots::Roots;
use crate::scan::parse_signed;
use crate::table::SetTable;

/// The maximum number of sensors of a set.
const MAX_SENSORS: usize = 4096;

/// A kind of sensor. Each kind is a counter set.
struct Kind {
    table: &'static SetTable,
    /// The beginning of the file names.
    prefix: &'static str,
    /// The name of the values, for messages.
    plural: &'static str,
    /// The possible endings of the name of the file with the value, the preferred one first.
    inputs: &'static [&'static str],
    /// The other files: the id of the counter and the ending of the name.
    limits: &'static [(u32, &'static str)],
    /// Values and limits are divided by this number.
    divisor: i64,
    /// Whether the set has the counter `PRECISE`, with the undivided value.
    is_precise: bool,
}

static KINDS: [Kind; 5] = [
    Kind {
        table: &TEMPERATURE,
        prefix: "temp",
        plural: "temperatures",
        inputs: &["_input"],
        limits: &[(UPPER, "_max"), (CRITICAL, "_crit")],
        divisor: 1000,
        is_precise: true,
    },
    Kind {
        table: &FAN,
        prefix: "fan",
        plural: "fans",
        inputs: &["_input"],
        limits: &[(LOWER, "_min")],
        divisor: 1,
        is_precise: false,
    },
    Kind {
        table: &VOLTAGE,
        prefix: "in",
        plural: "voltages",
        inputs: &["_input"],
        limits: &[(LOWER, "_min"), (UPPER, "_max")],
        divisor: 1,
        is_precise: false,
    },
    Kind {
        table: &CURRENT,
        prefix: "curr",
        plural: "currents",
        inputs: &["_input"],
        limits: &[(UPPER, "_max")],
        divisor: 1,
        is_precise: false,
    },
    Kind {
        table: &POWER,
        prefix: "power",
        plural: "power",
        inputs: &["_average", "_input"],
        limits: &[(UPPER, "_cap")],
        divisor: 1000,
        is_precise: false,
    },
];

/// The providers of the kinds of sensors that this machine has.
pub(super) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let sets = KINDS.iter().filter_map(|kind| Sensors::new(roots, kind));
    sets.map(|sensors| Box::new(sensors) as Box<dyn Provider>).collect()
}

/// Checks that this machine has sensors of a kind, by its index.
pub(super) fn check<const KIND: usize>(roots: &Roots) -> Result<(), String> {
    let kind = &KINDS[KIND];
    match Sensors::new(roots, kind) {
        Some(_) => Ok(()),
        None => Err(format!(
            "no driver reports {} in /sys/class/hwmon (the drivers of the mainboard may have to be loaded: sensors-detect)",
            kind.plural
        )),
    }
}

struct Sensors {
    info: Arc<CounterSetInfo>,
    kind: &'static Kind,
    chips: FolderEntries,
    sensors: Vec<Sensor>,
}

struct Sensor {
    key: Arc<InstanceKey>,
    input: Input,
    limits: Vec<(u32, Input)>,
}

/// A file with a number.
struct Input {
    file: SmallFile,
    reasons: ErrorTexts,
    malformed: Arc<str>,
}

impl Sensors {
    fn new(roots: &Roots, kind: &'static Kind) -> Option<Self> {
        let chips = FolderEntries::new(roots.sys.join("class/hwmon")).ok()?;
        let sensors = list(&chips, kind);
        if sensors.is_empty() {
            return None;
        }
        let has_limit = |id| sensors.iter().any(|sensor| sensor.limits.iter().any(|(limit, _)| *limit == id));
        let info = kind.table.info_of(|id| match id {
            VALUE | PRECISE => true,
            limit => has_limit(limit),
        });
        Some(Self { info, kind, chips, sensors })
    }
}

/// The sensors of this kind, of all chips.
fn list(chips: &FolderEntries, kind: &Kind) -> Vec<Sensor> {
    let mut sensors = Vec::new();
    for chip in chips.names() {
        let path = chips.folder().join(chip);
        let Some(chip_name) = chip_name(&path) else { continue };
        let Ok(files) = sorted_entries(&path) else { continue };
        let mut numbers: Vec<u64> = files
            .iter()
            .filter_map(|file| {
                let (number, end) = file.strip_prefix(kind.prefix)?.split_once('_')?;
                let is_input = kind.inputs.iter().any(|input| input[1..] == *end);
                crate::scan::parse_number(number.as_bytes()).filter(|_| is_input)
            })
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        for number in numbers {
            let stem = format!("{}{number}", kind.prefix);
            let has_file = |end: &&str| files.iter().any(|file| *file == format!("{stem}{end}"));
            let open = |end: &str| Input::new(path.join(format!("{stem}{end}")));
            let Some(input) = kind.inputs.iter().copied().find(|end| has_file(end)) else { continue };
            let label = read_text(&path.join(format!("{stem}_label"))).unwrap_or(stem.clone());
            let name = format!("{chip_name} {label}");
            let limits = kind.limits.iter().filter(|(_, end)| has_file(end));
            if sensors.len() < MAX_SENSORS {
                sensors.push(Sensor {
                    key: Arc::new(InstanceKey::new(name, sensors.len() as u32, 0)),
                    input: open(input),
                    limits: limits.map(|(id, end)| (*id, open(end))).collect(),
                });
            }
        }
    }
    sensors
}

/// The name of a chip. That of a disk includes the name of the device (`nvme0`, `drivetemp sda`).
fn chip_name(chip: &Path) -> Option<String> {
    let name = read_text(&chip.join("name"))?;
    let device = chip.join("device");
    let disks = sorted_entries(&device.join("block")).unwrap_or_default();
    if let Some(disk) = disks.first() {
        return Some(format!("{name} {disk}"));
    }
    let target = std::fs::read_link(&device).ok();
    let target = target.as_deref().and_then(Path::file_name).map(|target| target.to_string_lossy());
    match target {
        // Such as nvme0 (a disk named nvme), but not coretemp.0.
        Some(target) if target.starts_with(&name) && !target.contains('.') => Some(target.into_owned()),
        _ => Some(name),
    }
}

impl Provider for Sensors {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { kind, chips, sensors, .. } = self;
        if chips.update()? {
            *sensors = list(chips, kind);
        }
        let mut is_gone = false;
        for sensor in sensors {
            if !rows.wants_instance(sensor.key.name(), sensor.key.id()) {
                continue;
            }
            let mut row = rows.push(&sensor.key);
            // Some chips take milliseconds to answer, so read only what is requested.
            if row.wants(VALUE) || row.wants(PRECISE) {
                match sensor.input.read() {
                    Ok(value) => {
                        row.set(VALUE, divide(value, kind.divisor) as u64);
                        if kind.is_precise {
                            row.set(PRECISE, value as u64);
                        }
                    }
                    Err(error) => {
                        row.fail_all([VALUE, PRECISE], &error.reason);
                        is_gone |= error.is_gone;
                    }
                }
            }
            for (id, _) in kind.limits {
                match sensor.limits.iter_mut().find(|(limit, _)| limit == id) {
                    Some((_, input)) if row.wants(*id) => match input.read() {
                        Ok(value) => row.set(*id, divide(value, kind.divisor) as u64),
                        Err(error) => row.fail(*id, &error.reason),
                    },
                    Some(_) => {}
                    None => row.omit(*id),
                }
            }
        }
        if is_gone {
            // The chip may have been replaced by another one with the same number.
            chips.forget();
        }
        Ok(())
    }

    fn idle(&mut self) {
        for sensor in &mut self.sensors {
            sensor.input.file.close();
            sensor.limits.iter_mut().for_each(|(_, limit)| limit.file.close());
        }
    }
}

/// Divides and rounds to the nearest integer.
fn divide(value: i64, divisor: i64) -> i64 {
    value.saturating_add(divisor / 2).div_euclid(divisor)
}

impl Input {
    fn new(path: PathBuf) -> Self {
        let malformed = format!("{}: no number", path.display()).into();
        Self { file: SmallFile::new(path), reasons: ErrorTexts::default(), malformed }
    }

    fn read(&mut self) -> Result<i64, InputError> {
        let mut buffer = [0; 64];
        match self.file.read(&mut buffer) {
            Ok(text) => parse_signed(split_complete_lines(text).0.trim_ascii())
                .ok_or_else(|| InputError { reason: Arc::clone(&self.malformed), is_gone: false }),
            Err(error) => Err(InputError {
                is_gone: matches!(Errno::from_io_error(&error), Some(Errno::NOENT | Errno::NODEV)),
                reason: self.reasons.get(&error, self.file.path().display()),
            }),
        }
    }
}

/// Why a sensor has no value. Except for removed chips, such errors are common and can persist: the device sleeps, or nothing
/// is connected.
struct InputError {
    reason: Arc<str>,
    /// Whether the chip was removed.
    is_gone: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at, check_idle, collect, first_value, names, value};

    const FOLDER: &str = "sys/class/hwmon";

    fn machine() -> Machine {
        let machine = Machine::new(&[]);
        for (path, content) in [
            ("hwmon10/name", "nct6775\n"),
            ("hwmon10/fan2_input", "1200\n"),
            ("hwmon10/fan2_min", "300\n"),
            ("hwmon10/fan1_input", "0\n"),
            ("hwmon10/fan1_label", "CPU Fan\n"),
            ("hwmon10/in0_input", "1016\n"),
            ("hwmon10/in0_min", "0\n"),
            ("hwmon10/in0_max", "1744\n"),
            ("hwmon10/in10_input", "-11880\n"),
            ("hwmon10/temp3_crit", "100000\n"),
            ("hwmon2/name", "coretemp\n"),
            ("hwmon2/temp10_input", "40500\n"),
            ("hwmon2/temp1_input", "45499\n"),
            ("hwmon2/temp1_label", "Package id 0\n"),
            ("hwmon2/temp1_max", "84000\n"),
            ("hwmon2/temp1_crit", "100000\n"),
            ("hwmon3/name", "amdgpu\n"),
            ("hwmon3/power1_average", "65432100\n"),
            ("hwmon3/power1_input", "1\n"),
            ("hwmon3/power1_cap", "200000000\n"),
            ("hwmon3/curr1_input", "1500\n"),
            ("hwmon4/name", "drivetemp\n"),
            ("hwmon4/temp1_input", "-1500\n"),
            ("hwmon4/device/block/sda/size", "1\n"),
            ("hwmon5/name", "nvme\n"),
            ("hwmon5/temp1_input", "38850\n"),
            ("hwmon5/temp1_label", "Composite\n"),
            ("hwmon6/temp1_input", "1\n"),
        ] {
            machine.write(&format!("{FOLDER}/{path}"), content);
        }
        std::os::unix::fs::symlink("../../nvme0", machine.path(&format!("{FOLDER}/hwmon5/device")))
            .expect("linked");
        machine
    }

    fn provider(machine: &Machine, set: &str) -> Box<dyn Provider> {
        let found = providers(&machine.roots).into_iter().find(|provider| &*provider.info().name == set);
        found.expect("a provider")
    }

    #[test]
    fn temperatures_have_names_that_people_use() {
        let machine = machine();
        let rows = collect(&mut *provider(&machine, "Temperature Sensor"), at(1));
        assert_eq!(
            names(&rows),
            ["coretemp Package id 0", "coretemp temp10", "drivetemp sda temp1", "nvme0 Composite"]
        );
        let package = |id| first_value(&rows, "coretemp Package id 0", id);
        assert_eq!([VALUE, PRECISE, UPPER, CRITICAL].map(package), [45, 45_499, 84, 100]);
        assert_eq!(first_value(&rows, "coretemp temp10", VALUE), 41);
        assert_eq!(first_value(&rows, "drivetemp sda temp1", VALUE), -1);
        assert_eq!(first_value(&rows, "drivetemp sda temp1", PRECISE), -1500);
        let limit = value(&rows, "nvme0 Composite", UPPER);
        assert_eq!(limit.status, tachograph_counters::Status::NO_INSTANCE);
        assert!(rows.errors().is_empty());
    }

    #[test]
    fn every_kind_has_its_values() {
        let machine = machine();
        let rows = collect(&mut *provider(&machine, "Fan"), at(1));
        assert_eq!(names(&rows), ["nct6775 CPU Fan", "nct6775 fan2"]);
        assert_eq!(first_value(&rows, "nct6775 CPU Fan", VALUE), 0);
        assert_eq!([VALUE, LOWER].map(|id| first_value(&rows, "nct6775 fan2", id)), [1200, 300]);
        let rows = collect(&mut *provider(&machine, "Voltage Sensor"), at(1));
        assert_eq!(names(&rows), ["nct6775 in0", "nct6775 in10"]);
        assert_eq!([VALUE, LOWER, UPPER].map(|id| first_value(&rows, "nct6775 in0", id)), [1016, 0, 1744]);
        assert_eq!(first_value(&rows, "nct6775 in10", VALUE), -11_880);
        let rows = collect(&mut *provider(&machine, "Power Sensor"), at(1));
        assert_eq!([VALUE, UPPER].map(|id| first_value(&rows, "amdgpu power1", id)), [65_432, 200_000]);
        let rows = collect(&mut *provider(&machine, "Current Sensor"), at(1));
        assert_eq!(first_value(&rows, "amdgpu curr1", VALUE), 1500);
        assert!(rows.info().position(UPPER).is_none(), "no sensor has this limit");
    }

    #[test]
    fn added_and_removed_chips_are_found() {
        let machine = machine();
        let mut fans = provider(&machine, "Fan");
        collect(&mut *fans, at(1));
        machine.write(&format!("{FOLDER}/hwmon11/fan1_input"), "5\n");
        machine.write(&format!("{FOLDER}/hwmon11/name"), "dell_smm\n");
        assert_eq!(first_value(&collect(&mut *fans, at(2)), "dell_smm fan1", VALUE), 5);
        machine.remove(&format!("{FOLDER}/hwmon10"));
        assert_eq!(names(&collect(&mut *fans, at(3))), ["dell_smm fan1"]);
    }

    #[test]
    fn malformed_files_are_errors() {
        let machine = machine();
        let mut fans = provider(&machine, "Fan");
        for broken in ["", "1200", "\n", "x\n", "99999999999999999999\n", "-\n"] {
            machine.write(&format!("{FOLDER}/hwmon10/fan2_input"), broken);
            let rows = collect(&mut *fans, at(1));
            assert!(!value(&rows, "nct6775 fan2", VALUE).status.is_good(), "{broken:?}");
            assert!(rows.errors()[0].reason.ends_with("fan2_input: no number"), "{:?}", rows.errors());
            assert_eq!(first_value(&rows, "nct6775 CPU Fan", VALUE), 0);
        }
    }

    #[test]
    fn a_machine_without_sensors_has_no_sets_and_says_why() {
        let machine = Machine::new(&[(&format!("{FOLDER}/hwmon0/name"), "acpitz\n")]);
        assert!(providers(&machine.roots).is_empty());
        assert!(check::<1>(&machine.roots).expect_err("a reason").starts_with("no driver reports fans"));
        assert!(providers(&Machine::new(&[]).roots).is_empty());
        assert_eq!(check::<0>(&self::machine().roots), Ok(()));
    }

    #[test]
    fn an_idle_set_closes_its_files() {
        let machine = machine();
        for set in ["Temperature Sensor", "Voltage Sensor"] {
            check_idle(&machine, "", &mut *provider(&machine, set));
        }
    }
}
