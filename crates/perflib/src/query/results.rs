//! The results of a query as a raw data block.

use super::Query;
use super::added::Added;
use crate::block::{BlockWriter, Stamp, WriteError};
use crate::{ErrorCode, FREQUENCY, Rows};

pub(super) fn encode(query: &Query, out: &mut Vec<u8>) -> Result<(), ErrorCode> {
    let at = query.at();
    let stamp = Stamp { ticks: at.ticks, frequency: FREQUENCY, system_time: at.system_time };
    let mut block = BlockWriter::begin(out, &stamp);
    for added in &query.added {
        let set = &query.sets[added.set()];
        match set.outcome() {
            Ok(()) => write(added, set.rows(), &mut block),
            Err(failure) => block.error(failure.code),
        }
        .map_err(|error| error.code())?;
    }
    block.finish().map_err(|error| error.code())
}

/// One result. What fits the identifier: wildcards in the name give the kinds for several instances, also where none or
/// one is there.
fn write(added: &Added, rows: &Rows, block: &mut BlockWriter<'_>) -> Result<(), WriteError> {
    let ids = added.result_ids();
    if !added.has_wildcard() {
        let Some(row) = added.row(rows.instances()) else {
            return block.error(ErrorCode::INSTANCE_NOT_FOUND);
        };
        return match added.counter_id() {
            Some(id) => block.single_counter(rows.block_value(row, id)),
            None => {
                let values: Vec<_> = ids.iter().map(|&id| rows.block_value(row, id)).collect();
                block.multiple_counters(ids, &values)
            }
        };
    }
    let mut instances = match added.counter_id() {
        Some(_) => block.multiple_instances()?,
        None => block.counterset(ids)?,
    };
    let taken = rows.instances().iter().enumerate().filter(|(_, instance)| added.takes(instance));
    for (row, instance) in taken {
        instances.instance(instance.full_name(), instance.id())?;
        for &id in ids {
            instances.value(rows.block_value(row, id))?;
        }
    }
    instances.close()
}
