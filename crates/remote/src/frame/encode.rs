//! Encoding the last collection of a query as a frame.

use tachograph_counters::Status;
use tachograph_perflib::{CounterError, ErrorCode, QueriedSet, Query, SetSelection};

use super::{Attributes, FrameTimes, HEADER_BYTES};
use crate::limits::{MAX_ERRORS, MAX_FRAME_BYTES};
use crate::wire::{pad_to_8, push_u32, push_u64, truncated};

/// The set of a query that a selection refers to.
pub fn selected_set<'a>(query: &'a Query, selection: &SetSelection) -> Option<&'a QueriedSet> {
    query.sets().iter().find(|set| set.rows().info().guid == selection.set)
}

/// Encodes the last collection of a query. `selections` are exactly those that were added to the query, one for each set.
/// `block` is a scratch buffer. `out` is overwritten.
///
/// # Errors
///
/// [`ErrorCode::OUT_OF_MEMORY`] if the frame would exceed [`MAX_FRAME_BYTES`]; the errors of [`Query::data_within`].
pub fn encode(
    query: &Query,
    selections: &[SetSelection],
    times: FrameTimes,
    block: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Result<(), ErrorCode> {
    query.data_within(MAX_FRAME_BYTES - HEADER_BYTES, block)?;
    out.clear();
    out.resize(HEADER_BYTES, 0);
    out.extend_from_slice(block);
    let attributes_begin = out.len();
    for selection in selections {
        for_each_row(query, selection, |set, row| {
            Attributes::from_key(&set.rows().instances()[row]).push(out)
        });
    }
    let statuses_begin = out.len();
    for (result, selection) in (0_u32..).zip(selections) {
        push_statuses(query, result, selection, out);
    }
    let errors_begin = out.len();
    push_errors(query, selections, out);
    pad_to_8(out);
    if out.len() > MAX_FRAME_BYTES {
        return Err(ErrorCode::OUT_OF_MEMORY);
    }
    let header = [
        times.wall.0.cast_unsigned(),
        times.boot_time.0.cast_unsigned(),
        block.len() as u64,
        (statuses_begin - attributes_begin) as u64,
        (errors_begin - statuses_begin) as u64,
        0,
    ];
    for (index, field) in header.into_iter().enumerate() {
        out[8 * index..][..8].copy_from_slice(&field.to_le_bytes());
    }
    Ok(())
}

/// Calls `visit` for each row of a selection's result.
fn for_each_row(query: &Query, selection: &SetSelection, mut visit: impl FnMut(&QueriedSet, usize)) {
    let Some(set) = selected_set(query, selection).filter(|set| set.outcome().is_ok()) else { return };
    let is_unfiltered = !set.rows().info().has_instances();
    for (row, instance) in set.rows().instances().iter().enumerate() {
        let is_match =
            selection.instances.iter().any(|filter| filter.can_match(instance.full_name(), instance.id()));
        if is_unfiltered || is_match {
            visit(set, row);
        }
    }
}

/// Appends the statuses of missing values, except the default `CSTATUS_INVALID_DATA`.
fn push_statuses(query: &Query, result: u32, selection: &SetSelection, out: &mut Vec<u8>) {
    let mut value = 0;
    for_each_row(query, selection, |set, row| {
        let rows = set.rows();
        for &id in &selection.counter_ids {
            let status = rows.column(id).map(|column| rows.values(row)[column].status);
            if let Some(status) = status
                && !status.is_good()
                && status != Status::CSTATUS_INVALID_DATA
            {
                push_u32(out, result);
                push_u32(out, value);
                push_u32(out, status.0);
                push_u32(out, 0);
            }
            value += 1;
        }
    });
}

/// Appends the error messages of failed sets and of values that could not be read.
fn push_errors(query: &Query, selections: &[SetSelection], out: &mut Vec<u8>) {
    let mut max_errors = MAX_ERRORS;
    for (result, selection) in (0_u32..).zip(selections) {
        let Some(set) = selected_set(query, selection) else { continue };
        if let Err(failure) = set.outcome() {
            push_error(result, u32::MAX, 1, ["", &failure.reason], &mut max_errors, out);
        }
        for CounterError { counter_id, instance, reason, count } in set.rows().errors() {
            push_error(result, *counter_id, *count, [instance.full_name(), reason], &mut max_errors, out);
        }
    }
}

/// Appends one error: the result, the counter (`u32::MAX` for the whole set), the number of occurrences, and as texts the
/// instance and the reason. `max_errors` is the number of errors that may still be appended.
fn push_error(
    result: u32,
    counter: u32,
    count: u64,
    texts: [&str; 2],
    max_errors: &mut usize,
    out: &mut Vec<u8>,
) {
    if *max_errors == 0 {
        return;
    }
    *max_errors -= 1;
    push_u32(out, result);
    push_u32(out, counter);
    push_u64(out, count);
    let texts = texts.map(truncated);
    texts.iter().for_each(|text| push_u32(out, text.len() as u32));
    texts.iter().for_each(|text| out.extend_from_slice(text.as_bytes()));
    pad_to_8(out);
}
