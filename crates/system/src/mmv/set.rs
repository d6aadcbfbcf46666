//! Providers of the counter sets of MMV files.

use std::path::Path;
use std::sync::Arc;

use tachograph_perflib::registration::{CounterInfo, CounterSetInfo};
use tachograph_perflib::{ErrorCode, Failure, Provider, Rows};

use super::file::WatchedFile;
use super::plan::{NO_RECORD, Plan, SetPlan};
use super::raw::RawRecord;
use super::value::Value;
use crate::shared::Shared;

/// One set of a file.
pub(super) struct MmvSet {
    info: Arc<CounterSetInfo>,
    serial: Option<u32>,
    file: Shared<WatchedFile>,
    /// Of which loading the file's description was compared with this set, and the set's place in it.
    checked: Option<(u64, Option<usize>)>,
    changed: Failure,
    reasons: Reasons,
}

/// Why a value is none, made once.
pub(super) struct Reasons {
    too_large: Arc<str>,
    not_finite: Arc<str>,
    bad_start: Arc<str>,
    no_value: Arc<str>,
}

impl Reasons {
    pub(super) fn new() -> Self {
        Self {
            too_large: "it does not fit a signed number of 64 bits".into(),
            not_finite: "it is not a finite number".into(),
            bad_start: "the elapsed time in progress began before 1970".into(),
            no_value: "the values section does not hold it".into(),
        }
    }
}

impl MmvSet {
    pub(super) fn new(
        serial: Option<u32>,
        info: Arc<CounterSetInfo>,
        path: &Path,
        file: Shared<WatchedFile>,
    ) -> Self {
        let changed = format!("{}: it describes other counters than when it was found", path.display());
        Self {
            info,
            serial,
            file,
            checked: None,
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
        let Self { info, serial, file, checked, changed, reasons } = self;
        file.at(rows.at(), |file| {
            let Some(opened) = file.here() else { return Ok(()) };
            let loads = file.loads();
            let place = match *checked {
                Some((known, place)) if known == loads => place,
                _ => {
                    let mut sets = opened.plan.sets.iter();
                    let place =
                        sets.position(|set| set.serial == *serial && has_same_counters(&set.info, info));
                    *checked = Some((loads, place));
                    place
                }
            };
            let set = place.and_then(|place| opened.plan.sets.get(place)).ok_or_else(|| changed.clone())?;
            fill(set, &opened.plan, &opened.values, rows, reasons);
            Ok(())
        })?
    }
}

/// Whether the counters mean the same; their texts may have changed.
fn has_same_counters(a: &CounterSetInfo, b: &CounterSetInfo) -> bool {
    let same = |(a, b): (&CounterInfo, &CounterInfo)| {
        (a.id, &a.name, a.counter_type, &a.unit, a.base_id)
            == (b.id, &b.name, b.counter_type, &b.unit, b.base_id)
    };
    a.counters.len() == b.counters.len() && a.counters.iter().zip(&b.counters).all(same)
}

/// Adds the rows of a set with their values.
pub(super) fn fill(set: &SetPlan, plan: &Plan, values: &[u8], rows: &mut Rows, reasons: &Reasons) {
    let at = rows.at();
    let all = rows.wants_all_instances();
    for (instance, records) in set.instances.iter().zip(set.records.chunks(set.fields.len().max(1))) {
        if !all && !rows.wants_instance(instance.full_name(), instance.id()) {
            continue;
        }
        let mut row = rows.push(instance);
        for (field, &record) in set.fields.iter().zip(records) {
            if !row.wants(field.id) {
                continue;
            }
            if record == NO_RECORD {
                row.leave_out(field.id);
                continue;
            }
            let Some(record) = RawRecord::at(values, record) else {
                row.fail(field.id, &reasons.no_value);
                continue;
            };
            match field.mapping.value(record, plan.is_sentinel, &at) {
                Value::Number(number) => row.set(field.id, number.cast_unsigned()),
                Value::WithBase(number, base) => {
                    row.set_with_base(field.id, number.cast_unsigned(), base.cast_unsigned());
                }
                Value::Absent => row.leave_out(field.id),
                Value::TooLarge => row.fail(field.id, &reasons.too_large),
                Value::NotFinite => row.fail(field.id, &reasons.not_finite),
                Value::BadStart => row.fail(field.id, &reasons.bad_start),
            }
        }
    }
}
