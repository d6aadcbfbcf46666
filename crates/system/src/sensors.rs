//! Sensors of the hardware: temperatures, fans, voltages, currents and power (hwmon), energy (powercap), batteries.

mod battery;
mod energy;
mod hwmon;
mod hwmon_tables;

use std::mem::MaybeUninit;

use rustix::fs::{CWD, Mode, OFlags, RawDir, openat};
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

/// The names of the entries of a folder, sorted by the number at their end, then by name. At most 4,096.
fn entries(folder: &std::path::Path) -> std::io::Result<Vec<String>> {
    let names = std::fs::read_dir(folder)?.take(4096).map_while(Result::ok);
    let mut names: Vec<String> = names.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    let number = |name: &str| {
        let digits = name.len() - name.bytes().rev().take_while(u8::is_ascii_digit).count();
        crate::scan::number(&name.as_bytes()[digits..])
    };
    names.sort_by(|a, b| (number(a), a).cmp(&(number(b), b)));
    Ok(names)
}

/// Whether a folder has exactly these entries. Allocates nothing.
fn has_entries(folder: &std::path::Path, known: &[String]) -> std::io::Result<bool> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(CWD, folder, flags, Mode::empty())?;
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut names = RawDir::new(folder, &mut buffer);
    let mut count = 0;
    while let Some(entry) = names.next() {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name == b"." || name == b".." {
            continue;
        }
        if !known.iter().any(|known| known.as_bytes() == name) {
            return Ok(false);
        }
        count += 1;
    }
    Ok(count == known.len())
}

/// A short text file without the line end; `None` if it cannot be read or is empty.
fn text(path: &std::path::Path) -> Option<String> {
    let mut file = crate::open_file::OpenFile::new(path);
    let text = String::from_utf8_lossy(file.read().ok()?).trim().replace(char::is_control, "\u{fffd}");
    (!text.is_empty()).then_some(text)
}
