//! The values of a query's counters.

use super::Query;
use super::counter::{CounterId, QueryCounter, Row};
use crate::objects::full_name;
use crate::{Format, FormattedValue, NoValue, PdhStatus, RawCounter, Result, calculate_from_raw};

/// The formatted value of one instance.
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PDH_FMT_COUNTERVALUE_ITEM_W")]
#[doc(alias = "PDH_FMT_COUNTERVALUE_ITEM_A")]
pub struct FormattedItem {
    /// The instance's name, preceded by `parent/` if it has a parent, and *without* `#n`. Several items may thus have the
    /// same name.
    pub name: String,
    /// 0 for the first instance with this name, 1 for the next.
    pub index: u32,
    /// The value, or why it is missing.
    pub value: FormattedValue,
}

/// The raw value of one instance.
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PDH_RAW_COUNTER_ITEM_W")]
#[doc(alias = "PDH_RAW_COUNTER_ITEM_A")]
pub struct RawItem {
    /// Same as [`FormattedItem::name`].
    pub name: String,
    /// Same as [`FormattedItem::index`].
    pub index: u32,
    /// The raw value.
    pub value: RawCounter,
}

impl Query {
    /// The formatted value of a counter with a single instance, computed from the last two collections.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`] if the query does not have the counter, [`PdhStatus::INVALID_ARGUMENT`] for a path
    /// with wildcards, [`PdhStatus::INVALID_INSTANCE`] for a path without an instance if several processes publish the
    /// set. [`PdhStatus::INVALID_DATA`] before the first collection, after the first one for types that need two
    /// samples, and if the last one has no raw value; the status of the value then gives the cause
    /// ([`PdhStatus::NO_INSTANCE`], ...). Otherwise the errors of [`calculate_from_raw`](crate::calculate_from_raw).
    #[doc(alias = "PdhGetFormattedCounterValue")]
    pub fn formatted_value(
        &self,
        id: CounterId,
        format: Format,
    ) -> std::result::Result<FormattedValue, NoValue> {
        let counter = self.counter(id).map_err(NoValue::from_call_status)?;
        match counter.only_row().map_err(NoValue::from_call_status)? {
            Some(row) => value_of(counter, row, format),
            None => Err(NoValue { status: PdhStatus::INVALID_DATA, value_status: counter.status() }),
        }
    }

    /// The formatted values of all instances of a counter; a single one for a path without wildcards.
    ///
    /// A missing value does not prevent the other instances from being returned; its status gives the cause.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`]; [`PdhStatus::INVALID_DATA`] before the first collection; [`PdhStatus::NO_DATA`]
    /// if no instances exist. If no instance has a value, the error of the first one, such as
    /// [`PdhStatus::INVALID_DATA`] after the first collection of a type that needs two samples.
    #[doc(alias = "PdhGetFormattedCounterArrayW")]
    #[doc(alias = "PdhGetFormattedCounterArrayA")]
    pub fn formatted_array(&self, id: CounterId, format: Format) -> Result<Vec<FormattedItem>> {
        let counter = self.counter(id)?;
        let mut error = None;
        let mut has_value = false;
        let items = present_rows(counter)?.map(|row| {
            let value = value_of(counter, row, format).unwrap_or_else(|missing| {
                error.get_or_insert(missing.status);
                missing.to_value(format)
            });
            has_value |= !value.status.is_error();
            FormattedItem { name: full_name(&row.instance), index: row.instance.index(), value }
        });
        let items: Vec<_> = items.collect();
        match error {
            Some(status) if !has_value => Err(status),
            None if items.is_empty() => Err(PdhStatus::NO_DATA),
            _ => Ok(items),
        }
    }

    /// The raw value that the last collection read for a counter with a single instance. Its status shows whether it is
    /// valid; before the first collection, it is [`PdhStatus::ITEM_NOT_VALIDATED`].
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`]; [`PdhStatus::INVALID_ARGUMENT`] and [`PdhStatus::INVALID_INSTANCE`] as for
    /// [`formatted_value`](Self::formatted_value).
    #[doc(alias = "PdhGetRawCounterValue")]
    pub fn raw_value(&self, id: CounterId) -> Result<RawCounter> {
        let counter = self.counter(id)?;
        let missing = RawCounter { status: counter.status(), ..RawCounter::default() };
        Ok(counter.only_row()?.map_or(missing, |row| row.newer))
    }

    /// The raw values that the last collection read for all instances of a counter; a single one for a path without
    /// wildcards.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`]; [`PdhStatus::INVALID_DATA`] before the first collection; [`PdhStatus::NO_DATA`]
    /// if no instances exist.
    #[doc(alias = "PdhGetRawCounterArrayW")]
    #[doc(alias = "PdhGetRawCounterArrayA")]
    pub fn raw_array(&self, id: CounterId) -> Result<Vec<RawItem>> {
        let items: Vec<_> = present_rows(self.counter(id)?)?
            .map(|row| RawItem {
                name: full_name(&row.instance),
                index: row.instance.index(),
                value: row.newer,
            })
            .collect();
        if items.is_empty() { Err(PdhStatus::NO_DATA) } else { Ok(items) }
    }
}

/// The rows of the last collection. With wildcards, instances with the status `NO_INSTANCE` are skipped.
fn present_rows(counter: &QueryCounter) -> Result<impl Iterator<Item = &Row>> {
    if counter.status() == PdhStatus::ITEM_NOT_VALIDATED {
        return Err(PdhStatus::INVALID_DATA);
    }
    let has_wildcard = counter.has_wildcard();
    let is_present = move |row: &&Row| !has_wildcard || row.newer.status != PdhStatus::NO_INSTANCE;
    Ok(counter.rows.iter().filter(is_present))
}

fn value_of(
    counter: &QueryCounter,
    row: &Row,
    format: Format,
) -> std::result::Result<FormattedValue, NoValue> {
    calculate_from_raw(&counter.kind(), format, &row.newer, row.older.as_ref())
}
