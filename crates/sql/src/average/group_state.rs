//! The average of a group of rows.

use std::sync::Arc;

use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use tachograph_counters::CounterType;
use tachograph_logs::archive::{MixedTypes, RowAverage, RowNumbers, RowSums};

/// The properties that must be equal in all rows of an average.
#[derive(Clone, Copy)]
pub(super) struct RowKind<'a> {
    pub(super) counter_type: CounterType,
    pub(super) unit: &'a str,
    /// Whether the values identify something, such as a process.
    pub(super) is_identifier: bool,
}

/// The average of rows of one formula and one unit.
#[derive(Clone, Debug)]
pub(super) struct GroupState {
    average: RowAverage,
    unit: Arc<str>,
    /// The minimum and maximum of identifiers. As in `tacho stats`, different identifiers have no average.
    identifiers: Option<(f64, f64)>,
}

impl GroupState {
    pub(super) fn new(kind: RowKind<'_>) -> Self {
        let average = RowAverage::new(kind.counter_type);
        Self { average, unit: kind.unit.into(), identifiers: None }
    }

    #[inline]
    pub(super) fn add(&mut self, kind: RowKind<'_>, numbers: &RowNumbers) -> Result<()> {
        if kind.is_identifier
            && let Some(id) = numbers.value.or(numbers.num.map(|num| num as f64))
        {
            self.add_identifiers(Some((id, id)));
        }
        self.check(kind.unit)?;
        self.average.add(kind.counter_type, numbers).map_err(mixed_types_error)
    }

    /// Adds rows that are not identifiers.
    #[inline]
    pub(super) fn add_sums(&mut self, kind: RowKind<'_>, factor: f64, sums: &RowSums) -> Result<()> {
        self.check(kind.unit)?;
        self.average.add_sums(kind.counter_type, factor, sums).map_err(mixed_types_error)
    }

    pub(super) fn merge(&mut self, other: &Self) -> Result<()> {
        self.add_identifiers(other.identifiers);
        self.average.merge(&other.average).map_err(mixed_types_error)?;
        self.check(&other.unit)
    }

    fn add_identifiers(&mut self, other: Option<(f64, f64)>) {
        self.identifiers = match (self.identifiers, other) {
            (Some((minimum, maximum)), Some((low, high))) => Some((minimum.min(low), maximum.max(high))),
            (known, other) => known.or(other),
        };
    }

    #[inline]
    fn check(&self, unit: &str) -> Result<()> {
        match *self.unit == *unit {
            true => Ok(()),
            false => Err(mixed_units_error(&self.unit, unit)),
        }
    }

    /// The average; `None` if no row had a value, or the rows have different identifiers.
    pub(super) fn value(&self) -> Option<f64> {
        let is_average = self.identifiers.is_none_or(|(minimum, maximum)| minimum == maximum);
        self.average.value().filter(|_| is_average)
    }

    /// Number of bytes on the heap.
    pub(super) fn heap_bytes(&self) -> usize {
        self.average.heap_bytes() + self.unit.len()
    }

    /// Appends the state in the form that [`decode`](Self::decode) reads.
    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&(self.unit.len() as u32).to_le_bytes());
        out.extend_from_slice(self.unit.as_bytes());
        out.push(u8::from(self.identifiers.is_some()));
        if let Some((minimum, maximum)) = self.identifiers {
            out.extend_from_slice(&minimum.to_le_bytes());
            out.extend_from_slice(&maximum.to_le_bytes());
        }
        self.average.encode(out);
    }

    /// Reads a state that [`encode`](Self::encode) wrote; `None` if the bytes are not a valid state.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        let (len, rest) = bytes.split_first_chunk()?;
        let (unit, rest) = rest.split_at_checked(u32::from_le_bytes(*len) as usize)?;
        let (has_identifiers, mut rest) = rest.split_first()?;
        let mut identifiers = None;
        if *has_identifiers != 0 {
            let (minimum, after) = rest.split_first_chunk()?;
            let (maximum, after) = after.split_first_chunk()?;
            identifiers = Some((f64::from_le_bytes(*minimum), f64::from_le_bytes(*maximum)));
            rest = after;
        }
        let unit = std::str::from_utf8(unit).ok()?.into();
        Some(Self { average: RowAverage::decode(rest)?, unit, identifiers })
    }
}

fn mixed_types_error(error: MixedTypes) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

fn mixed_units_error(one: &str, other: &str) -> DataFusionError {
    let name = |unit: &str| if unit.is_empty() { "none".to_owned() } else { format!("'{unit}'") };
    exec_datafusion_err!(
        "counters with different units ({} and {}) have no common average: select one counter, or add \"set\" and counter to \
         GROUP BY",
        name(one),
        name(other)
    )
}
