//! The layout of a file, computed before it is created.

use crate::layout::{HEADER_BYTES, LINE_BYTES, MAX_FILE, PAGE};
use crate::problem::{Problem, WriteError};
use crate::{CounterSetInfo, InstanceType, encoding};

/// The sizes and offsets of a file.
pub(super) struct Plan {
    pub(super) description: CounterSetInfo,
    /// The encoded description.
    pub(super) encoded: Vec<u8>,
    /// Offset of the slots in bytes.
    pub(super) slots_at: usize,
    pub(super) slot_bytes: usize,
    /// Maximum number of slots.
    pub(super) capacity: u32,
    /// For each counter, the index of the first cache line of its cell in a slot, and the number of lines.
    pub(super) cells: Vec<(u32, u32)>,
}

impl Plan {
    pub(super) fn new(description: CounterSetInfo, capacity: u32) -> Result<Self, WriteError> {
        encoding::check(&description).map_err(WriteError::CounterSetInfo)?;
        let encoded = encoding::encode(&description);
        let slots_at = (HEADER_BYTES + encoded.len()).next_multiple_of(PAGE);
        let slot_bytes = description.slot_lines() * LINE_BYTES;
        let max = MAX_FILE.saturating_sub(slots_at) / slot_bytes;
        if max == 0 {
            let found = format!("{slot_bytes} bytes per instance");
            let problem = Problem::new(0, found, "at most 1 GiB for the description and one instance");
            return Err(WriteError::CounterSetInfo(problem));
        }
        let requested = if capacity == 0 { 65_536 } else { capacity as usize };
        // The history has a slot of its own.
        let capacity = (requested
            + usize::from(description.instance_type == InstanceType::SingleAggregateHistory))
        .min(max);
        let mut first = 1;
        let cell = |lines: usize| {
            let cell = (first, lines as u32);
            first += lines as u32;
            cell
        };
        let cells = description.counters.iter().map(|counter| counter.lines()).map(cell).collect();
        Ok(Self { description, encoded, slots_at, slot_bytes, capacity: capacity as u32, cells })
    }

    /// Maximum size of the file in bytes.
    pub(super) fn length(&self) -> usize {
        self.slots_at + self.capacity as usize * self.slot_bytes
    }
}
