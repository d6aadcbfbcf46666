//! Encodes the results of a query as a raw data block.

use super::Query;
use super::item::QueryItem;
use crate::block::{BlockWriter, Stamp, WriteError};
use crate::{ErrorCode, FREQUENCY, Rows};

pub(super) fn encode(query: &Query, max_bytes: usize, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
    let at = query.timestamps();
    let stamp = Stamp { ticks: at.ticks, frequency: FREQUENCY, system_time: at.system_time };
    let mut block = BlockWriter::begin(out, &stamp);
    block.limit(max_bytes);
    for added in &query.items {
        let set = &query.sets[added.set];
        match set.outcome() {
            Ok(()) => write_result(added, set.rows(), &mut block),
            Err(failure) => block.error(failure.code),
        }
        .map_err(|error| error.code())?;
    }
    block.finish().map_err(|error| error.code())
}

/// The row that a name without wildcards selects. For a set with one instance per process, an empty name selects the
/// only instance; if there are several, this is an error.
fn selected_row(added: &QueryItem, rows: &Rows) -> Result<usize, ErrorCode> {
    if added.is_nameless() && rows.info().is_per_process {
        return match rows.instances().len() {
            0 => Err(ErrorCode::INSTANCE_NOT_FOUND),
            1 => Ok(0),
            _ => Err(ErrorCode::INVALID_REGISTRATION),
        };
    }
    added.row(rows.instances()).ok_or(ErrorCode::INSTANCE_NOT_FOUND)
}

/// Writes one result. A name with wildcards always produces a result for several instances, even if it matches one or
/// none.
fn write_result(added: &QueryItem, rows: &Rows, block: &mut BlockWriter<'_>) -> Result<(), WriteError> {
    let ids = &*added.ids;
    if !added.has_wildcard {
        let row = match selected_row(added, rows) {
            Ok(row) => row,
            Err(code) => return block.error(code),
        };
        return match added.counter_id {
            Some(id) if rows.has_no_data(row, id) => block.error(ErrorCode::NO_DATA),
            Some(id) => block.single_counter(rows.block_value(row, id)),
            None => {
                let values: Vec<_> = ids.iter().map(|&id| rows.block_value(row, id)).collect();
                block.multiple_counters(ids, &values)
            }
        };
    }
    let mut instances = match added.counter_id {
        Some(_) => block.multiple_instances()?,
        None => block.counterset(ids)?,
    };
    let matching = rows.instances().iter().enumerate().filter(|(_, instance)| added.can_match(instance));
    for (row, instance) in matching {
        instances.instance(instance.full_name(), instance.id())?;
        for &id in ids {
            instances.value(rows.block_value(row, id))?;
        }
    }
    instances.close()
}
