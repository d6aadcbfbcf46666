//! Providers for the counter sets of MMV files.

use std::path::Path;
use std::sync::Arc;

use tachograph_perflib::registration::{CounterInfo, CounterSetInfo};
use tachograph_perflib::{ErrorCode, Failure, Provider, Rows, SharedReading};

use super::plan::{NO_ENTRY, Plan, SetPlan};
use super::raw::RawEntry;
use super::value::Value;
use super::watched_file::WatchedFile;

/// The provider of a counter set in an MMV file.
pub(super) struct MmvSet {
    info: Arc<CounterSetInfo>,
    /// The serial number of the instance domain; `None` for the set of metrics without instances.
    serial: Option<u32>,
    file: SharedReading<WatchedFile>,
    /// The value of `WatchedFile::loads` when this set was last searched for in the file, and the index of the set, if
    /// found.
    found: Option<(u64, Option<usize>)>,
    /// Returned while the file describes other counters for this set.
    changed: Failure,
    reasons: Reasons,
}

/// Why a value is invalid, as reported for a counter. The strings are allocated once.
pub(super) struct Reasons {
    too_large: Arc<str>,
    not_finite: Arc<str>,
    /// For an interval in progress whose start is invalid.
    bad_start: Arc<str>,
    no_value: Arc<str>,
}

impl Reasons {
    pub(super) fn new() -> Self {
        Self {
            too_large: "the value does not fit in a signed 64-bit integer".into(),
            not_finite: "the value is not a finite number".into(),
            bad_start: "the interval in progress began before 1970".into(),
            no_value: "the value is outside the values section".into(),
        }
    }
}

impl MmvSet {
    pub(super) fn new(
        serial: Option<u32>,
        info: Arc<CounterSetInfo>,
        path: &Path,
        file: SharedReading<WatchedFile>,
    ) -> Self {
        let changed = format!("{}: the counters that the file describes have changed", path.display());
        Self {
            info,
            serial,
            file,
            found: None,
            changed: Failure::new(ErrorCode::INVALID_REGISTRATION, changed),
            reasons: Reasons::new(),
        }
    }
}

impl Provider for MmvSet {
    fn info(&self) -> &Arc<CounterSetInfo> {
        &self.info
    }

    fn collect(&mut self, rows: &mut Rows) -> Result<(), Failure> {
        let Self { info, serial, file, found, changed, reasons } = self;
        file.at(rows.timestamps(), |file| {
            let Some(opened) = file.opened_file() else { return Ok(()) };
            let loads = file.loads();
            let sets = &opened.plan.sets;
            let index = match *found {
                Some((searched, index)) if searched == loads => index,
                _ => sets.iter().position(|set| set.serial == *serial && has_same_counters(&set.info, info)),
            };
            *found = Some((loads, index));
            let set = index.and_then(|index| sets.get(index)).ok_or_else(|| changed.clone())?;
            fill(set, &opened.plan, &opened.values, rows, reasons);
            Ok(())
        })?
    }
}

/// Whether two sets have the same counters, apart from help texts.
fn has_same_counters(a: &CounterSetInfo, b: &CounterSetInfo) -> bool {
    let is_same_counter = |(a, b): (&CounterInfo, &CounterInfo)| {
        (a.id, &a.name, a.counter_type, &a.unit, a.base_id)
            == (b.id, &b.name, b.counter_type, &b.unit, b.base_id)
    };
    a.counters.len() == b.counters.len() && a.counters.iter().zip(&b.counters).all(is_same_counter)
}

/// Adds a row for each wanted instance of the set, with the values in the bytes of the values section.
pub(super) fn fill(set: &SetPlan, plan: &Plan, values: &[u8], rows: &mut Rows, reasons: &Reasons) {
    let timestamps = rows.timestamps();
    let wants_all = rows.wants_all_instances();
    for (instance, indexes) in set.instances.iter().zip(set.entry_indexes.chunks(set.fields.len().max(1))) {
        if !wants_all && !rows.wants_instance(instance.full_name(), instance.id()) {
            continue;
        }
        let mut row = rows.push(instance);
        for (field, &index) in set.fields.iter().zip(indexes) {
            if !row.wants(field.id) {
                continue;
            }
            if index == NO_ENTRY {
                row.omit(field.id);
                continue;
            }
            let Some(entry) = RawEntry::at(values, index) else {
                row.fail(field.id, &reasons.no_value);
                continue;
            };
            match field.mapping.value(entry, plan.has_sentinels, &timestamps) {
                Value::Number(number) => row.set(field.id, number.cast_unsigned()),
                Value::WithBase(number, base) => {
                    row.set_with_base(field.id, number.cast_unsigned(), base.cast_unsigned());
                }
                Value::Absent => row.omit(field.id),
                Value::TooLarge => row.fail(field.id, &reasons.too_large),
                Value::NotFinite => row.fail(field.id, &reasons.not_finite),
                Value::BadStart => row.fail(field.id, &reasons.bad_start),
            }
        }
    }
}
