//! The tables of the sets of hwmon.

use tachograph_counters::CounterType;
use tachograph_perflib::registration::InstanceType;

use crate::table::{CounterInfo, SetTable};

pub(super) const VALUE: u32 = 1;
pub(super) const PRECISE: u32 = 2;
pub(super) const LOWER: u32 = 3;
pub(super) const UPPER: u32 = 4;
pub(super) const CRITICAL: u32 = 5;

const INSTANCES: &str = "The sensors by the name of their chip and their label, such as `coretemp Package id 0` or `nvme0 Composite`; \
                         without a label by the name of the file, such as `nct6775 fan2`. In the order of the chips and of \
                         the sensors. The list of sensors is updated when a chip is added or removed.";

macro_rules! table {
    ($name:ident, $title:literal, $guid:literal, $help:literal, $counters:expr) => {
        pub(crate) static $name: SetTable = SetTable {
            name: $title,
            guid: $guid,
            instance_type: InstanceType::Multiple,
            help: $help,
            instances: INSTANCES,
            total: "",
            repeats: None,
            counters: $counters,
        };
    };
}

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

table!(
    TEMPERATURE,
    "Temperature Sensor",
    0x7db6878e_4002_577e_9ddb_c155609625d5,
    "Temperatures of processors, disks, graphics cards and mainboards, as their drivers report them (hwmon).",
    &[
        row(
            VALUE,
            "Temperature",
            "°C",
            0,
            "/sys/class/hwmon/hwmon*/temp*_input",
            "The temperature in degrees Celsius, rounded to the nearest degree."
        ),
        row(
            PRECISE,
            "High Precision Temperature",
            "m°C",
            -3,
            "/sys/class/hwmon/hwmon*/temp*_input",
            "The temperature in thousandths of a degree Celsius, as the kernel reports it."
        ),
        row(
            UPPER,
            "Maximum Temperature",
            "°C",
            0,
            "/sys/class/hwmon/hwmon*/temp*_max",
            "The highest temperature at which the hardware should work, in degrees Celsius."
        ),
        row(
            CRITICAL,
            "Critical Temperature",
            "°C",
            0,
            "/sys/class/hwmon/hwmon*/temp*_crit",
            "The temperature in degrees Celsius at which the hardware slows down or switches off."
        ),
    ]
);
table!(
    FAN,
    "Fan",
    0x20dffbaa_4e01_52cc_b8e1_e9a623c3cd96,
    "Speeds of fans, as their drivers report them (hwmon).",
    &[
        row(
            VALUE,
            "Speed",
            "rpm",
            -2,
            "/sys/class/hwmon/hwmon*/fan*_input",
            "The speed in revolutions per minute; 0 if the fan does not turn."
        ),
        row(
            LOWER,
            "Minimum Speed",
            "rpm",
            -2,
            "/sys/class/hwmon/hwmon*/fan*_min",
            "The speed in revolutions per minute below which the driver reports a failure."
        ),
    ]
);
table!(
    VOLTAGE,
    "Voltage Sensor",
    0x1128523d_8332_5758_9808_290d9ce95281,
    "Voltages, as their drivers report them (hwmon).",
    &[
        row(
            VALUE,
            "Voltage",
            "mV",
            -2,
            "/sys/class/hwmon/hwmon*/in*_input",
            "The voltage in thousandths of a volt."
        ),
        row(
            LOWER,
            "Minimum Voltage",
            "mV",
            -2,
            "/sys/class/hwmon/hwmon*/in*_min",
            "The voltage in thousandths of a volt below which the driver reports a failure."
        ),
        row(
            UPPER,
            "Maximum Voltage",
            "mV",
            -2,
            "/sys/class/hwmon/hwmon*/in*_max",
            "The voltage in thousandths of a volt above which the driver reports a failure."
        ),
    ]
);
table!(
    CURRENT,
    "Current Sensor",
    0xb156d976_2047_528e_a1ad_22e4eea53171,
    "Electric currents, as their drivers report them (hwmon).",
    &[
        row(
            VALUE,
            "Current",
            "mA",
            -2,
            "/sys/class/hwmon/hwmon*/curr*_input",
            "The current in thousandths of an ampere."
        ),
        row(
            UPPER,
            "Maximum Current",
            "mA",
            -2,
            "/sys/class/hwmon/hwmon*/curr*_max",
            "The current in thousandths of an ampere above which the driver reports a failure."
        ),
    ]
);
table!(
    POWER,
    "Power Sensor",
    0x444962b8_19aa_590b_95c8_23aabb39dd89,
    "Electric power, as their drivers report it (hwmon): of graphics cards, power supplies, processors.",
    &[
        row(
            VALUE,
            "Power",
            "mW",
            -3,
            "/sys/class/hwmon/hwmon*/power*_average, else power*_input",
            "The power in thousandths of a watt."
        ),
        row(
            UPPER,
            "Power Limit",
            "mW",
            -3,
            "/sys/class/hwmon/hwmon*/power*_cap",
            "The power in thousandths of a watt to which the hardware limits itself."
        ),
    ]
);
