//! The aggregate function `average(*)`.

use std::mem::size_of;
use std::sync::Arc;

use datafusion::arrow::array::{
    Array as _, ArrayRef, BinaryArray, BinaryBuilder, BooleanArray, Float64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::{DataFusionError, Result, ScalarValue, internal_datafusion_err};
use datafusion::logical_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion::logical_expr::utils::AggregateOrderSensitivity;
use datafusion::logical_expr::utils::format_state_name;
use datafusion::logical_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use tachograph_logs::archive::RowNumbers;

use self::group_state::{GroupState, RowKind};
use self::rows::{Rows, cast};
use crate::batches::time_type;

mod group_state;
mod rows;
#[cfg(test)]
mod tests;

/// The name of the function.
pub(crate) const AVERAGE: &str = "average";

/// The columns that `average(*)` stands for, in the order of the function's arguments.
pub(crate) const ARGUMENTS: [&str; 9] =
    ["type", "factor", "num", "den", "value", "multi_count", "time", "unit", "counter"];

/// The aggregate function: averages rows by the formula of their counter type, as `tacho stats` does.
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct AverageFunction {
    signature: Signature,
}

impl AverageFunction {
    pub(crate) fn new() -> Self {
        Self { signature: Signature::user_defined(Volatility::Immutable) }
    }
}

impl AggregateUDFImpl for AverageFunction {
    fn name(&self) -> &str {
        AVERAGE
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, arg_types: &[DataType]) -> Result<Vec<DataType>> {
        let expected = [
            DataType::Utf8View,
            DataType::Float64,
            DataType::Int64,
            DataType::Int64,
            DataType::Float64,
            DataType::Int32,
            time_type(),
            DataType::Utf8View,
            DataType::Utf8View,
        ];
        match arg_types.len() == expected.len() {
            true => Ok(expected.into()),
            false => Err(DataFusionError::Plan(
                "average takes no columns: write average(*) for the average of rows of samples, or avg(COLUMN) for an arithmetic mean"
                    .to_owned(),
            )),
        }
    }

    fn return_type(&self, _arg_types: &[DataType]) -> Result<DataType> {
        Ok(DataType::Float64)
    }

    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format_state_name(args.name, "sums"), DataType::Binary, true))])
    }

    fn order_sensitivity(&self) -> AggregateOrderSensitivity {
        AggregateOrderSensitivity::Insensitive
    }

    fn accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        Ok(Box::new(OneAverage::default()))
    }

    fn groups_accumulator_supported(&self, _args: AccumulatorArgs<'_>) -> bool {
        true
    }

    fn create_groups_accumulator(&self, _args: AccumulatorArgs<'_>) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(GroupAverages::default()))
    }
}

/// The state of a group; `None` before the first row with a value.
type State = Option<GroupState>;

#[inline]
fn add(state: &mut State, kind: RowKind<'_>, numbers: &RowNumbers) -> Result<()> {
    state.get_or_insert_with(|| GroupState::new(kind)).add(kind, numbers)
}

fn merge(state: &mut State, bytes: &[u8]) -> Result<()> {
    let wrong = || internal_datafusion_err!("average: invalid state of {} bytes", bytes.len());
    let other = GroupState::decode(bytes).ok_or_else(wrong)?;
    match state {
        Some(state) => state.merge(&other)?,
        None => *state = Some(other),
    }
    Ok(())
}

/// Encodes states as a binary array; `None` becomes null.
fn encode(states: &[State]) -> ArrayRef {
    let mut builder = BinaryBuilder::with_capacity(states.len(), states.len() * 128);
    let mut bytes = Vec::new();
    for state in states {
        bytes.clear();
        match state {
            Some(state) => {
                state.encode(&mut bytes);
                builder.append_value(&bytes);
            }
            None => builder.append_null(),
        }
    }
    Arc::new(builder.finish())
}

/// The average of all rows.
#[derive(Debug, Default)]
struct OneAverage {
    state: State,
}

impl Accumulator for OneAverage {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let mut rows = Rows::new(values)?;
        for row in 0..rows.len() {
            if let Some((kind, numbers)) = rows.get(row)? {
                add(&mut self.state, kind, &numbers)?;
            }
        }
        Ok(())
    }

    fn evaluate(&mut self) -> Result<ScalarValue> {
        Ok(ScalarValue::Float64(self.state.as_ref().and_then(GroupState::value)))
    }

    fn size(&self) -> usize {
        size_of::<Self>() + self.state.as_ref().map_or(0, GroupState::heap_bytes)
    }

    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let bytes = self.state.as_ref().map(|state| {
            let mut bytes = Vec::new();
            state.encode(&mut bytes);
            bytes
        });
        Ok(vec![ScalarValue::Binary(bytes)])
    }

    fn merge_batch(&mut self, states: &[ArrayRef]) -> Result<()> {
        let [states] = states else {
            return Err(internal_datafusion_err!("average: expected one state column"));
        };
        cast::<BinaryArray>(states)?.iter().flatten().try_for_each(|bytes| merge(&mut self.state, bytes))
    }
}

/// The averages of groups.
#[derive(Default)]
struct GroupAverages {
    states: Vec<State>,
    /// Number of heap bytes that the elements of `states` own.
    heap_bytes: usize,
}

impl GroupAverages {
    fn change(&mut self, group: usize, change: impl FnOnce(&mut State) -> Result<()>) -> Result<()> {
        let state = &mut self.states[group];
        let heap_bytes = |state: &State| state.as_ref().map_or(0, GroupState::heap_bytes);
        let before = heap_bytes(state);
        change(state)?;
        self.heap_bytes = (self.heap_bytes + heap_bytes(state)).saturating_sub(before);
        Ok(())
    }

    fn take(&mut self, emit_to: EmitTo) -> Vec<State> {
        let taken = emit_to.take_needed(&mut self.states);
        let heap_bytes: usize = taken.iter().flatten().map(GroupState::heap_bytes).sum();
        self.heap_bytes = self.heap_bytes.saturating_sub(heap_bytes);
        taken
    }
}

impl GroupsAccumulator for GroupAverages {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        opt_filter: Option<&BooleanArray>,
        total_num_groups: usize,
    ) -> Result<()> {
        self.states.resize(total_num_groups, None);
        let mut rows = Rows::new(values)?;
        let mut row = 0;
        while let Some(&group) = group_indices.get(row) {
            // The rows of a series follow each other, so most rows are in long runs, whose sums are added at once.
            if opt_filter.is_none()
                && let Some(kind) = rows.summed_kind(row)?
                && let end = rows.end_of_run(row, group_indices)
                && end > row
            {
                let factor = rows.factors.value(row);
                let sums = rows.sums(row..end);
                self.change(group, |state| {
                    state.get_or_insert_with(|| GroupState::new(kind)).add_sums(kind, factor, &sums)
                })?;
                row = end;
                continue;
            }
            let is_filtered = opt_filter.is_some_and(|filter| filter.is_null(row) || !filter.value(row));
            if !is_filtered && let Some((kind, numbers)) = rows.get(row)? {
                self.change(group, |state| add(state, kind, &numbers))?;
            }
            row += 1;
        }
        Ok(())
    }

    fn evaluate(&mut self, emit_to: EmitTo) -> Result<ArrayRef> {
        let states = self.take(emit_to);
        let values = states.iter().map(|state| state.as_ref().and_then(GroupState::value));
        Ok(Arc::new(values.collect::<Float64Array>()))
    }

    fn state(&mut self, emit_to: EmitTo) -> Result<Vec<ArrayRef>> {
        Ok(vec![encode(&self.take(emit_to))])
    }

    fn merge_batch(
        &mut self,
        values: &[ArrayRef],
        group_indices: &[usize],
        total_num_groups: usize,
    ) -> Result<()> {
        self.states.resize(total_num_groups, None);
        let [states] = values else {
            return Err(internal_datafusion_err!("average: expected one state column"));
        };
        for (bytes, &group) in cast::<BinaryArray>(states)?.iter().zip(group_indices) {
            if let Some(bytes) = bytes {
                self.change(group, |state| merge(state, bytes))?;
            }
        }
        Ok(())
    }

    fn convert_to_state(
        &self,
        values: &[ArrayRef],
        opt_filter: Option<&BooleanArray>,
    ) -> Result<Vec<ArrayRef>> {
        let mut rows = Rows::new(values)?;
        let mut states: Vec<State> = vec![None; rows.len()];
        for (row, state) in states.iter_mut().enumerate() {
            let is_filtered = opt_filter.is_some_and(|filter| filter.is_null(row) || !filter.value(row));
            if !is_filtered && let Some((kind, numbers)) = rows.get(row)? {
                add(state, kind, &numbers)?;
            }
        }
        Ok(vec![encode(&states)])
    }

    fn size(&self) -> usize {
        self.states.capacity() * size_of::<State>() + self.heap_bytes
    }
}
