//! The sample table of a row group: everything about its samples that is not in the rows.
//!
//! The rows of a row group are sorted by series, so a sample is spread over the whole row group. The table lists the
//! samples, the groups of each sample, and the instances of each group, which determine the position of each row. It
//! also has the offsets and checksums of the row group's column chunks. It is stored after the chunks, as one zstd
//! frame.

mod decode;

use std::ops::Range;

use tachograph_counters::Status;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Clocks;

use super::varint;

/// Maximum number of samples of a row group.
pub(super) const MAX_SAMPLES: usize = 1 << 20;

/// The bytes of one column in a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk {
    pub(super) offset: u64,
    pub(super) bytes: usize,
    /// CRC-32 of these bytes.
    pub(super) crc: u32,
}

/// A sample without its groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SampleHead {
    pub(super) at: Moment,
    pub(super) is_baseline: bool,
    pub(super) log: u32,
    pub(super) boot_time: FileTime,
    /// The index of the sample's list of groups in [`SampleTable::lists`].
    pub(super) list: u32,
}

/// The properties of a group of a sample, besides its rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupHead {
    pub(super) status: Status,
    pub(super) read_at: FileTime,
    pub(super) clocks: Clocks,
    pub(super) boot_time: FileTime,
}

impl GroupHead {
    /// Whether the group is part of its sample and therefore has rows.
    pub(super) fn is_present(&self) -> bool {
        self.status != Status::ITEM_NOT_VALIDATED
    }

    fn numbers(&self) -> [i64; 8] {
        let Clocks { ticks, frequency, system_time, object_time, object_frequency } = self.clocks;
        [
            i64::from(self.status.0),
            self.read_at.0,
            self.boot_time.0,
            ticks,
            frequency,
            system_time.0,
            object_time,
            object_frequency,
        ]
    }
}

/// The groups of one description in all samples of the row group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Slot {
    /// The index of the description in the file's list.
    pub(super) set: u32,
    pub(super) heads: GroupHeads,
}

/// The heads of a slot's groups, one for each sample whose list has the slot. In most logs, all heads are equal.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct GroupHeads {
    /// A single head if all are equal.
    heads: Vec<GroupHead>,
    /// The number of groups.
    count: usize,
}

impl GroupHeads {
    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn push(&mut self, head: GroupHead) {
        match self.heads.as_slice() {
            [] => self.heads.push(head),
            [only] if *only == head => {}
            [only] => {
                let only = *only;
                self.heads.resize(self.count, only);
                self.heads.push(head);
            }
            _ => self.heads.push(head),
        }
        self.count += 1;
    }

    pub(super) fn get(&self, index: usize) -> Option<&GroupHead> {
        self.heads.get(if self.heads.len() == 1 { 0 } else { index })
    }

    /// The number of samples in which the group has rows.
    pub(super) fn present_groups(&self) -> usize {
        match self.heads.as_slice() {
            [only] if only.is_present() => self.count,
            heads => heads.iter().filter(|head| head.is_present()).count(),
        }
    }
}

/// An instance, and the groups that have it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct InstanceRuns {
    pub(super) parent: Option<String>,
    pub(super) name: String,
    pub(super) index: u32,
    /// The groups with a row for the instance, as ascending ranges of indexes. Only groups that are part of their
    /// sample are counted.
    pub(super) runs: Vec<Range<u32>>,
}

impl InstanceRuns {
    /// The number of rows that each counter of the instance has.
    pub(super) fn rows(&self) -> usize {
        self.runs.iter().map(|run| run.len()).sum()
    }
}

/// Consecutive rows of slots with the same instances.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    /// Pairs of the index of a slot and the index of one of its counters, in the order of rows.
    pub(super) columns: Vec<(u32, u32)>,
    /// The index of the instances in [`SampleTable::instances`].
    pub(super) instances: u32,
    /// Whether rows are ordered by instance and then by column; otherwise, by column and then by instance.
    pub(super) is_by_instance: bool,
}

/// The sample table of a row group.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub(super) struct SampleTable {
    /// The column chunks, in the order of columns.
    pub(super) chunks: Vec<Chunk>,
    pub(super) samples: Vec<SampleHead>,
    /// The distinct lists of slots. Each sample refers to one of these lists.
    pub(super) lists: Vec<Vec<u32>>,
    pub(super) slots: Vec<Slot>,
    pub(super) instances: Vec<Vec<InstanceRuns>>,
    pub(super) sections: Vec<Section>,
}

impl SampleTable {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        varint::push(&mut out, self.chunks.len() as u64);
        for chunk in &self.chunks {
            for number in [chunk.offset, chunk.bytes as u64, u64::from(chunk.crc)] {
                varint::push(&mut out, number);
            }
        }
        varint::push(&mut out, self.samples.len() as u64);
        // Each field is a separate list, because consecutive numbers of a field are often equal.
        let fields: [fn(&SampleHead) -> i64; 6] = [
            |sample| sample.at.utc.0,
            |sample| i64::from(sample.at.bias_minutes),
            |sample| i64::from(sample.is_baseline),
            |sample| i64::from(sample.log),
            |sample| sample.boot_time.0,
            |sample| i64::from(sample.list),
        ];
        for field in fields {
            varint::push_series(&mut out, self.samples.iter().map(field));
        }
        varint::push(&mut out, self.lists.len() as u64);
        for list in &self.lists {
            varint::push(&mut out, list.len() as u64);
            list.iter().for_each(|&slot| varint::push(&mut out, u64::from(slot)));
        }
        varint::push(&mut out, self.slots.len() as u64);
        for slot in &self.slots {
            varint::push(&mut out, u64::from(slot.set));
            let heads = &slot.heads.heads;
            out.push(u8::from(heads.len() > 1));
            for field in 0..8 {
                varint::push_series(&mut out, heads.iter().map(|head| head.numbers()[field]));
            }
        }
        varint::push(&mut out, self.instances.len() as u64);
        for instances in &self.instances {
            varint::push(&mut out, instances.len() as u64);
            for instance in instances {
                out.push(u8::from(instance.parent.is_some()));
                instance.parent.iter().for_each(|parent| varint::push_text(&mut out, parent));
                varint::push_text(&mut out, &instance.name);
                varint::push(&mut out, u64::from(instance.index));
                varint::push(&mut out, instance.runs.len() as u64);
                let mut end = 0;
                for run in &instance.runs {
                    varint::push(&mut out, u64::from(run.start - end));
                    varint::push(&mut out, u64::from(run.end - run.start));
                    end = run.end;
                }
            }
        }
        varint::push(&mut out, self.sections.len() as u64);
        for section in &self.sections {
            varint::push(&mut out, section.columns.len() as u64);
            for &(slot, column) in &section.columns {
                varint::push(&mut out, u64::from(slot));
                varint::push(&mut out, u64::from(column));
            }
            varint::push(&mut out, u64::from(section.instances));
            out.push(u8::from(section.is_by_instance));
        }
        out
    }

    /// The number of rows of a section.
    pub(super) fn rows_of(&self, section: &Section) -> usize {
        let rows: usize = self.instances[section.instances as usize].iter().map(InstanceRuns::rows).sum();
        rows.saturating_mul(section.columns.len())
    }
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges often has one")]
mod tests;
