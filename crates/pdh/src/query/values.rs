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
    /// The instance as PDH names it in arrays: `parent/instance` where there are parents, and *without* `#n`, so that
    /// instances of one name have equal names here.
    pub name: String,
    /// 0 for the first instance of the name, 1 for the next: what tells them apart.
    pub index: u32,
    /// The value, or why there is none.
    pub value: FormattedValue,
}

/// The raw value of one instance.
#[derive(Clone, Debug, PartialEq)]
#[doc(alias = "PDH_RAW_COUNTER_ITEM_W")]
#[doc(alias = "PDH_RAW_COUNTER_ITEM_A")]
pub struct RawItem {
    /// As [`FormattedItem::name`].
    pub name: String,
    /// As [`FormattedItem::index`].
    pub index: u32,
    /// The raw value.
    pub value: RawCounter,
}

impl Query {
    /// The formatted value of a counter of one instance, from the last two collections.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`] where the query does not have the counter, [`PdhStatus::INVALID_ARGUMENT`] for a path
    /// with wildcards, [`PdhStatus::INVALID_INSTANCE`] for one without an instance where several processes publish the set.
    /// [`PdhStatus::INVALID_DATA`] before the first collection, after the first of a type that needs two samples, and where
    /// the last one gave no raw value: then the value's status says why ([`PdhStatus::NO_INSTANCE`], ...). For all else [`calculate_from_raw`](crate::calculate_from_raw).
    #[doc(alias = "PdhGetFormattedCounterValue")]
    pub fn formatted_value(
        &self,
        id: CounterId,
        format: Format,
    ) -> std::result::Result<FormattedValue, NoValue> {
        let counter = self.counter(id).map_err(NoValue::of_call)?;
        match counter.one().map_err(NoValue::of_call)? {
            Some(row) => value_of(counter, row, format),
            None => Err(NoValue { status: PdhStatus::INVALID_DATA, value_status: counter.status() }),
        }
    }

    /// The formatted values of all instances of a counter. A path without wildcards gives an array of one.
    ///
    /// An instance without a value has a status that says why; it does not keep the others out.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`]; [`PdhStatus::INVALID_DATA`] before the first collection;
    /// [`PdhStatus::NO_DATA`] where there are no instances. Where no instance has a value, the status of the first: so
    /// [`PdhStatus::INVALID_DATA`] after the first collection of a type that needs two samples.
    #[doc(alias = "PdhGetFormattedCounterArrayW")]
    #[doc(alias = "PdhGetFormattedCounterArrayA")]
    pub fn formatted_array(&self, id: CounterId, format: Format) -> Result<Vec<FormattedItem>> {
        let counter = self.counter(id)?;
        let mut refusal = None;
        let mut has_value = false;
        let items = rows_there(counter)?.map(|row| {
            let value = value_of(counter, row, format).unwrap_or_else(|none| {
                refusal.get_or_insert(none.status);
                none.in_place(format)
            });
            has_value |= !value.status.is_error();
            FormattedItem { name: full_name(&row.instance), index: row.instance.index(), value }
        });
        let items: Vec<_> = items.collect();
        match refusal {
            Some(status) if !has_value => Err(status),
            None if items.is_empty() => Err(PdhStatus::NO_DATA),
            _ => Ok(items),
        }
    }

    /// The raw value of a counter of one instance at the last collection. Its own status says whether it may be used:
    /// [`PdhStatus::ITEM_NOT_VALIDATED`] before the first collection.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`]; [`PdhStatus::INVALID_ARGUMENT`] as for
    /// [`formatted_value`](Self::formatted_value).
    #[doc(alias = "PdhGetRawCounterValue")]
    pub fn raw_value(&self, id: CounterId) -> Result<RawCounter> {
        let counter = self.counter(id)?;
        let none = RawCounter { status: counter.status(), ..RawCounter::default() };
        Ok(counter.one()?.map_or(none, |row| row.newer))
    }

    /// The raw values of all instances of a counter at the last collection. A path without wildcards gives an array of one.
    ///
    /// # Errors
    ///
    /// [`PdhStatus::INVALID_HANDLE`]; [`PdhStatus::INVALID_DATA`] before the first collection;
    /// [`PdhStatus::NO_DATA`] where there are no instances.
    #[doc(alias = "PdhGetRawCounterArrayW")]
    #[doc(alias = "PdhGetRawCounterArrayA")]
    pub fn raw_array(&self, id: CounterId) -> Result<Vec<RawItem>> {
        let items: Vec<_> = rows_there(self.counter(id)?)?
            .map(|row| RawItem {
                name: full_name(&row.instance),
                index: row.instance.index(),
                value: row.newer,
            })
            .collect();
        if items.is_empty() { Err(PdhStatus::NO_DATA) } else { Ok(items) }
    }
}

/// The instances of the last collection. Of a pattern, an instance that does not have the counter is left out.
fn rows_there(counter: &QueryCounter) -> Result<impl Iterator<Item = &Row>> {
    if counter.status() == PdhStatus::ITEM_NOT_VALIDATED {
        return Err(PdhStatus::INVALID_DATA);
    }
    let is_wild = counter.is_wild();
    let is_there = move |row: &&Row| !is_wild || row.newer.status != PdhStatus::NO_INSTANCE;
    Ok(counter.rows().iter().filter(is_there))
}

fn value_of(
    counter: &QueryCounter,
    row: &Row,
    format: Format,
) -> std::result::Result<FormattedValue, NoValue> {
    calculate_from_raw(&counter.kind(), format, &row.newer, row.older.as_ref())
}
