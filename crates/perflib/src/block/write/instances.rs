//! Writing of the instances of a result.

use super::{BlockWriter, WriteError, number};
use crate::block::instance_list::push_instance;
use crate::block::raw::MultiInstances;

/// Bytes of a value as [`BlockWriter`] writes it.
const VALUE: usize = 16;

/// Writes the instances of a result: for each [`instance`](Self::instance), then [`value`](Self::value) for each counter
/// id; at the end [`close`](Self::close).
///
/// While it is there no other result can be begun; dropped without `close`, the result is given up.
#[derive(Debug)]
pub struct InstancesWriter<'w, 'v> {
    block: &'w mut BlockWriter<'v>,
    /// Where the instances' header is.
    at: usize,
    count: usize,
    values_per_instance: usize,
    /// Values of the last instance that are still to come.
    missing: usize,
}

impl<'w, 'v> InstancesWriter<'w, 'v> {
    pub(super) fn open(
        block: &'w mut BlockWriter<'v>,
        values_per_instance: usize,
    ) -> Result<Self, WriteError> {
        let at = block.out.len();
        block.put(&[0; size_of::<MultiInstances>()])?;
        Ok(Self { block, at, count: 0, values_per_instance, missing: 0 })
    }

    /// Begins an instance; a name of more than [`MAX_NAME_UNITS`](crate::block::MAX_NAME_UNITS) is cut at the boundary of a
    /// character.
    ///
    /// # Errors
    ///
    /// [`WriteError::Values`] where values of the instance before are missing, [`WriteError::TooLarge`] where there is no
    /// room for the instance with all its values. Nothing is written then.
    pub fn instance(&mut self, name: &str, id: u32) -> Result<(), WriteError> {
        self.expect_whole()?;
        let begin = self.block.out.len();
        push_instance(self.block.out, name, id)?;
        // An instance of which only some values have room would cost those that are whole.
        if let Err(error) = self.block.reserve(VALUE * self.values_per_instance) {
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
    /// [`WriteError::Values`] where all values are there already or no instance was begun. Nothing is written then.
    pub fn value(&mut self, value: Option<u64>) -> Result<(), WriteError> {
        let Some(missing) = self.missing.checked_sub(1) else {
            let expected = if self.count == 0 { 0 } else { self.values_per_instance };
            return Err(WriteError::Values { found: expected + 1, expected });
        };
        self.block.value(value)?;
        self.missing = missing;
        Ok(())
    }

    /// Ends the result.
    ///
    /// # Errors
    ///
    /// [`WriteError::Values`] where values of the last instance are missing: the result is given up then.
    pub fn close(self) -> Result<(), WriteError> {
        self.expect_whole()?;
        let bytes = number(self.block.out.len() - self.at)?;
        let count = number(self.count)?;
        self.block.patch(self.at, bytes);
        self.block.patch(self.at + 4, count);
        self.block.close()
    }

    fn expect_whole(&self) -> Result<(), WriteError> {
        let expected = self.values_per_instance;
        match self.missing {
            0 => Ok(()),
            missing => Err(WriteError::Values { found: expected - missing, expected }),
        }
    }
}
