//! Sensors of the hardware: temperatures, fans, voltages, currents and power (hwmon), energy (powercap), batteries.

mod battery;
mod energy;
mod hwmon;
mod hwmon_tables;

use tachograph_perflib::Provider;

use crate::absence::Requirement;
use crate::roots::Roots;
use crate::table::SetTable;

/// The tables of these sets.
pub(crate) const TABLES: &[&SetTable] = &[
    &hwmon_tables::TEMPERATURE,
    &hwmon_tables::FAN,
    &hwmon_tables::VOLTAGE,
    &hwmon_tables::CURRENT,
    &hwmon_tables::POWER,
    &energy::TABLE,
    &battery::TABLE,
];

/// What these sets require.
pub(crate) const REQUIREMENTS: &[Requirement] = &[
    Requirement { table: &hwmon_tables::TEMPERATURE, ids: &[], check: hwmon::check::<0> },
    Requirement { table: &hwmon_tables::FAN, ids: &[], check: hwmon::check::<1> },
    Requirement { table: &hwmon_tables::VOLTAGE, ids: &[], check: hwmon::check::<2> },
    Requirement { table: &hwmon_tables::CURRENT, ids: &[], check: hwmon::check::<3> },
    Requirement { table: &hwmon_tables::POWER, ids: &[], check: hwmon::check::<4> },
    Requirement { table: &energy::TABLE, ids: &[], check: energy::check },
    Requirement { table: &battery::TABLE, ids: &[], check: battery::check },
];

/// The providers of the sets that this machine has.
pub(crate) fn providers(roots: &Roots) -> Vec<Box<dyn Provider>> {
    let mut providers = hwmon::providers(roots);
    providers.extend(energy::provider(roots));
    providers.extend(battery::provider(roots));
    providers
}
