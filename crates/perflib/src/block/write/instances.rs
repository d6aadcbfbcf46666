//! Writes the instances of a result.

use super::{BlockWriter, WriteError, to_u32};
use crate::block::instance_list::push_instance;
use crate::block::raw::MultiInstances;

/// Size of a value with its header.
const VALUE_BYTES: usize = 16;

/// Writes the instances of a result: for each, call [`instance`](Self::instance) and then [`value`](Self::value) once
/// per counter id; at the end, call [`close`](Self::close). Without `close`, the result is discarded.
#[derive(Debug)]
pub struct InstancesWriter<'w, 'v> {
    block: &'w mut BlockWriter<'v>,
    /// The offset of the `PERF_MULTI_INSTANCES` in the block.
    header_offset: usize,
    /// The number of instances so far.
    count: usize,
    values_per_instance: usize,
    /// The number of values of the last instance that have not been written yet.
    missing: usize,
}

impl<'w, 'v> InstancesWriter<'w, 'v> {
    pub(super) fn open(
        block: &'w mut BlockWriter<'v>,
        values_per_instance: usize,
    ) -> Result<Self, WriteError> {
        let header_offset = block.out.len();
        block.append_bytes(&[0; size_of::<MultiInstances>()])?;
        Ok(Self { block, header_offset, count: 0, values_per_instance, missing: 0 })
    }

    /// Starts an instance; a name longer than [`MAX_NAME_UNITS`](crate::block::MAX_NAME_UNITS) is truncated at a
    /// character boundary.
    ///
    /// # Errors
    ///
    /// [`WriteError::Values`] if values of the previous instance are missing, [`WriteError::TooLarge`] if the instance
    /// and all its values do not fit. In both cases nothing is written.
    pub fn instance(&mut self, name: &str, id: u32) -> Result<(), WriteError> {
        self.expect_all_values()?;
        let begin = self.block.out.len();
        push_instance(self.block.out, name, id)?;
        // Reserves space for all values, because a partial instance would invalidate the result.
        if let Err(error) = self.block.reserve(VALUE_BYTES * self.values_per_instance) {
            self.block.out.truncate(begin);
            return Err(error);
        }
        self.count += 1;
        self.missing = self.values_per_instance;
        Ok(())
    }

    /// Writes the next value of the instance.
    ///
    /// # Errors
    ///
    /// [`WriteError::Values`] if the instance already has all values or none was started, [`WriteError::TooLarge`]. In
    /// each case nothing is written.
    pub fn value(&mut self, value: Option<u64>) -> Result<(), WriteError> {
        let Some(missing) = self.missing.checked_sub(1) else {
            let expected = if self.count == 0 { 0 } else { self.values_per_instance };
            return Err(WriteError::Values { found: expected + 1, expected });
        };
        self.block.put_value(value)?;
        self.missing = missing;
        Ok(())
    }

    /// Finishes the result.
    ///
    /// # Errors
    ///
    /// [`WriteError::Values`] if values of the last instance are missing. The result is then discarded.
    pub fn close(self) -> Result<(), WriteError> {
        self.expect_all_values()?;
        let bytes = to_u32(self.block.out.len() - self.header_offset)?;
        let count = to_u32(self.count)?;
        self.block.overwrite_number(self.header_offset, bytes);
        self.block.overwrite_number(self.header_offset + 4, count);
        self.block.finish_result()
    }

    /// Checks that the last instance has all its values.
    fn expect_all_values(&self) -> Result<(), WriteError> {
        let expected = self.values_per_instance;
        match self.missing {
            0 => Ok(()),
            missing => Err(WriteError::Values { found: expected - missing, expected }),
        }
    }
}
