//! The sample table of a row group: everything about its samples that is not in the rows.
//!
//! The rows of a row group are sorted by series, so a sample is spread over the whole row group. The table lists the
//! samples, the groups of each sample, and the instances of each group, which determine the position of each row. It
//! also has the offsets and checksums of the row group's column chunks. It is stored after the chunks, as one zstd
//! frame.

use std::ops::Range;

use tachograph_counters::Status;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Clocks;
use tachograph_counters::time_zone::is_possible_bias;

use super::varint::{self, Cursor};
use super::{Damage, MAX_ROWS};

/// Maximum number of samples of a row group.
pub(super) const MAX_SAMPLES: usize = 1 << 20;

/// Maximum number of descriptions with groups in a row group.
const MAX_SLOTS: usize = 1 << 20;
/// Maximum number of groups in all samples of a row group. Each group takes time even without rows.
const MAX_GROUPS: usize = 1 << 28;

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

    fn from_numbers(numbers: [i64; 8]) -> Result<Self, Damage> {
        let [status, read_at, boot_time, ticks, frequency, system_time, object_time, object_frequency] =
            numbers;
        Ok(Self {
            status: Status(u32::try_from(status).map_err(|_| Damage("a status has more than 32 bits"))?),
            read_at: FileTime(read_at),
            boot_time: FileTime(boot_time),
            clocks: Clocks {
                ticks,
                frequency,
                system_time: FileTime(system_time),
                object_time,
                object_frequency,
            },
        })
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
    pub(super) fn present(&self) -> usize {
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

    /// Decodes and checks a table. `columns` has the number of counters of each of the file's descriptions, and `chunks` is the
    /// number of column chunks.
    pub(super) fn decode(
        bytes: &[u8],
        columns: &[usize],
        chunks: usize,
        rows: usize,
    ) -> Result<Self, Damage> {
        let mut cursor = Cursor::new(bytes);
        let chunks = read_chunks(&mut cursor, chunks)?;
        let samples = read_samples(&mut cursor)?;
        let lists = read_lists(&mut cursor, samples.len())?;
        let slots = read_slots(&mut cursor, &samples, &lists)?;
        // No group belongs to two sections, so there are at most as many sections as slots.
        let instances = read_instances(&mut cursor, slots.len())?;
        let sections = read_sections(&mut cursor, slots.len())?;
        let table = Self { chunks, samples, lists, slots, instances, sections };
        cursor.end()?;
        table.check(columns, rows)?;
        Ok(table)
    }

    /// The number of rows of a section.
    pub(super) fn rows_of(&self, section: &Section) -> usize {
        let rows: usize = self.instances[section.instances as usize].iter().map(InstanceRuns::rows).sum();
        rows.saturating_mul(section.columns.len())
    }

    fn check(&self, columns: &[usize], rows: usize) -> Result<(), Damage> {
        let widths = self.slots.iter().map(|slot| columns.get(slot.set as usize).copied());
        let widths: Option<Vec<usize>> = widths.collect();
        let widths = widths.ok_or(Damage("a group has an unknown description"))?;
        // Checked before memory is allocated for each column.
        let expected = widths.iter().fold(0usize, |sum, &width| sum.saturating_add(width));
        if expected != self.sections.iter().map(|section| section.columns.len()).sum::<usize>() {
            return Err(Damage("the sections and the groups do not have the same columns"));
        }
        let mut unused: Vec<Vec<bool>> = widths.iter().map(|&width| vec![true; width]).collect();
        let present: Vec<usize> = self.slots.iter().map(|slot| slot.heads.present()).collect();
        let mut found = 0usize;
        let mut instances_of: Vec<Option<u32>> = vec![None; self.slots.len()];
        for section in &self.sections {
            let instances = self.instances.get(section.instances as usize);
            let instances = instances.ok_or(Damage("a section has unknown instances"))?;
            let end = instances
                .iter()
                .filter_map(|instance| instance.runs.last())
                .map(|run| run.end as usize)
                .max();
            // Only the group of a set without counters has no columns.
            if section.columns.is_empty() && end.is_some() {
                return Err(Damage("a section without columns has rows"));
            }
            for &(slot, column) in &section.columns {
                let is_new =
                    unused.get_mut(slot as usize).and_then(|columns| columns.get_mut(column as usize));
                if !is_new.is_some_and(std::mem::take) {
                    return Err(Damage("a section has an unknown column, or one that occurs twice"));
                }
                if instances_of[slot as usize]
                    .replace(section.instances)
                    .is_some_and(|other| other != section.instances)
                {
                    return Err(Damage("the columns of a group have different instances"));
                }
                if end.is_some_and(|end| end > present[slot as usize]) {
                    return Err(Damage("an instance has more rows than its group has samples"));
                }
            }
            found = found.saturating_add(self.rows_of(section));
        }
        if unused.iter().flatten().any(|&is_unused| is_unused) {
            return Err(Damage("a column of a group is in no section"));
        }
        if found != rows || rows > MAX_ROWS {
            return Err(Damage("the number of rows differs from that of the row group"));
        }
        Ok(())
    }
}

fn read_chunks(cursor: &mut Cursor<'_>, expected: usize) -> Result<Vec<Chunk>, Damage> {
    if cursor.count()? != expected {
        return Err(Damage("the number of columns is wrong"));
    }
    let chunk = |_| {
        Ok(Chunk {
            offset: cursor.number()?,
            bytes: cursor.number_up_to(super::MAX_CHUNK_BYTES)?,
            crc: u32::try_from(cursor.number()?).map_err(|_| Damage("a checksum has more than 32 bits"))?,
        })
    };
    (0..expected).map(chunk).collect()
}

fn read_samples(cursor: &mut Cursor<'_>) -> Result<Vec<SampleHead>, Damage> {
    let count = cursor.number_up_to(MAX_SAMPLES)?;
    let fields = [(); 6].map(|()| cursor.series(count));
    let [utc, bias, baseline, log, boot_time, list] = fields;
    let (utc, bias, baseline, log, boot_time, list) = (utc?, bias?, baseline?, log?, boot_time?, list?);
    let sample = |index: usize| {
        let bias_minutes = i32::try_from(bias[index]).ok().filter(|&bias| is_possible_bias(bias));
        Ok(SampleHead {
            at: Moment {
                utc: FileTime(utc[index]),
                bias_minutes: bias_minutes.ok_or(Damage("a UTC offset is out of range"))?,
            },
            is_baseline: baseline[index] != 0,
            log: u32::try_from(log[index]).map_err(|_| Damage("a log id has more than 32 bits"))?,
            boot_time: FileTime(boot_time[index]),
            list: u32::try_from(list[index]).map_err(|_| Damage("a list index has more than 32 bits"))?,
        })
    };
    (0..count).map(sample).collect()
}

fn read_lists(cursor: &mut Cursor<'_>, max: usize) -> Result<Vec<Vec<u32>>, Damage> {
    let list = |cursor: &mut Cursor<'_>| {
        let count = cursor.count()?;
        (0..count).map(|_| index(cursor)).collect()
    };
    let count = cursor.number_up_to(max)?;
    (0..count).map(|_| list(cursor)).collect()
}

fn index(cursor: &mut Cursor<'_>) -> Result<u32, Damage> {
    u32::try_from(cursor.number()?).map_err(|_| Damage("an index has more than 32 bits"))
}

/// Reads the slots. Each has one head per sample whose list contains the slot.
fn read_slots(
    cursor: &mut Cursor<'_>,
    samples: &[SampleHead],
    lists: &[Vec<u32>],
) -> Result<Vec<Slot>, Damage> {
    let slots = cursor.number_up_to(MAX_SLOTS)?;
    let mut samples_of_list = vec![0usize; lists.len()];
    for sample in samples {
        let samples = samples_of_list.get_mut(sample.list as usize);
        *samples.ok_or(Damage("a sample has an unknown list of groups"))? += 1;
    }
    let mut counts = vec![0usize; slots];
    for (list, samples) in lists.iter().zip(samples_of_list) {
        if has_duplicates(list) {
            return Err(Damage("a list of groups has a group twice"));
        }
        for &slot in list {
            *counts.get_mut(slot as usize).ok_or(Damage("a list of groups has an unknown group"))? += samples;
        }
    }
    if counts.iter().fold(0usize, |sum, &count| sum.saturating_add(count)) > MAX_GROUPS {
        return Err(Damage("the samples have too many groups"));
    }
    let slot = |count: usize| {
        let set = index(cursor)?;
        let distinct = if cursor.byte()? != 0 { count } else { count.min(1) };
        let fields = (0..8).map(|_| cursor.series(distinct)).collect::<Result<Vec<_>, _>>()?;
        let head = |index: usize| {
            let mut numbers = [0; 8];
            numbers.iter_mut().zip(&fields).for_each(|(number, field)| *number = field[index]);
            GroupHead::from_numbers(numbers)
        };
        let heads = (0..distinct).map(head).collect::<Result<_, _>>()?;
        Ok(Slot { set, heads: GroupHeads { heads, count } })
    };
    counts.into_iter().map(slot).collect()
}

fn has_duplicates(list: &[u32]) -> bool {
    let mut sorted = list.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

fn read_instances(cursor: &mut Cursor<'_>, max: usize) -> Result<Vec<Vec<InstanceRuns>>, Damage> {
    let instance = |cursor: &mut Cursor<'_>| {
        let parent = if cursor.byte()? != 0 { Some(cursor.text()?.to_owned()) } else { None };
        let name = cursor.text()?.to_owned();
        let index = index(cursor)?;
        let count = cursor.count()?;
        let mut end = 0u32;
        let mut run = |_| {
            let start = cursor.number_up_to(MAX_SAMPLES)?;
            let len = cursor.number_up_to(MAX_SAMPLES)?;
            let start = end as usize + start;
            // Checked so that ranges ascend and their ends are bounded.
            if len == 0 || start + len > MAX_SAMPLES {
                return Err(Damage("a range of samples is empty or too long"));
            }
            let run = start as u32..(start + len) as u32;
            end = run.end;
            Ok(run)
        };
        let runs = (0..count).map(&mut run).collect::<Result<_, _>>()?;
        Ok(InstanceRuns { parent, name, index, runs })
    };
    let list = |cursor: &mut Cursor<'_>| {
        let count = cursor.count()?;
        (0..count).map(|_| instance(cursor)).collect()
    };
    let count = cursor.number_up_to(max)?;
    (0..count).map(|_| list(cursor)).collect()
}

fn read_sections(cursor: &mut Cursor<'_>, max: usize) -> Result<Vec<Section>, Damage> {
    let section = |cursor: &mut Cursor<'_>| {
        let count = cursor.count()?;
        let columns = (0..count).map(|_| Ok((index(cursor)?, index(cursor)?))).collect::<Result<_, _>>()?;
        Ok(Section { columns, instances: index(cursor)?, is_by_instance: cursor.byte()? != 0 })
    };
    let count = cursor.number_up_to(max)?;
    (0..count).map(|_| section(cursor)).collect()
}

#[cfg(test)]
#[allow(clippy::single_range_in_vec_init, reason = "a list of ranges often has one")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table() -> SampleTable {
        let head = |index: i64| SampleHead {
            at: Moment { utc: FileTime(index * 10_000_000), bias_minutes: 60 },
            is_baseline: index == 0,
            log: 3,
            boot_time: FileTime(5),
            list: u32::from(index == 2),
        };
        let group = |status| GroupHead {
            status,
            read_at: FileTime(0),
            clocks: Clocks { ticks: 9, ..Clocks::default() },
            boot_time: FileTime(0),
        };
        let mut of_all = GroupHeads::default();
        (0..3).for_each(|_| of_all.push(group(Status::VALID_DATA)));
        let mut of_some = GroupHeads::default();
        of_some.push(group(Status::VALID_DATA));
        of_some.push(group(Status::ITEM_NOT_VALIDATED));
        let instance = |name: &str, runs: &[Range<u32>]| InstanceRuns {
            parent: (name == "b").then(|| "parent".to_owned()),
            name: name.to_owned(),
            index: 2,
            runs: runs.to_vec(),
        };
        SampleTable {
            chunks: vec![
                Chunk { offset: 4, bytes: 10, crc: 7 },
                Chunk { offset: 14, bytes: 20, crc: u32::MAX },
            ],
            samples: (0..3).map(head).collect(),
            lists: vec![vec![0, 1], vec![0]],
            slots: vec![Slot { set: 0, heads: of_all }, Slot { set: 1, heads: of_some }],
            instances: vec![
                vec![instance("a", &[0..1, 2..3]), instance("b", &[1..3])],
                vec![instance("c", &[0..1])],
            ],
            sections: vec![
                Section { columns: vec![(0, 1), (0, 0)], instances: 0, is_by_instance: false },
                Section { columns: vec![(1, 0)], instances: 1, is_by_instance: true },
            ],
        }
    }

    #[test]
    fn a_table_is_read_back() {
        let table = table();
        assert_eq!(SampleTable::decode(&table.encode(), &[2, 1], 2, 9), Ok(table));
    }

    #[test]
    fn inconsistent_tables_are_rejected() {
        let refused = |columns: &[usize], rows: usize, change: fn(&mut SampleTable)| {
            let mut table = table();
            change(&mut table);
            assert!(SampleTable::decode(&table.encode(), columns, 2, rows).is_err());
        };
        refused(&[2, 1], 8, |_| {});
        refused(&[3, 1], 9, |_| {});
        refused(&[2], 9, |_| {});
        refused(&[2, 1], 9, |table| table.samples[1].list = 2);
        refused(&[2, 1], 9, |table| table.samples[1].at.bias_minutes = 100_000);
        refused(&[2, 1], 9, |table| table.lists[0].push(1));
        refused(&[2, 1], 9, |table| table.lists[0].push(2));
        refused(&[2, 1], 9, |table| table.sections[0].columns[1] = (0, 1));
        refused(&[2, 1], 9, |table| table.sections[0].columns[1] = (0, 2));
        refused(&[2, 1], 9, |table| table.sections[1].instances = 2);
        refused(&[2, 1], 9, |table| table.sections[0].instances = 1);
        refused(&[2, 1], 9, |table| table.instances[1][0].runs = vec![1..2]);
        refused(&[2, 1], 9, |table| table.instances[0][0].runs = vec![0..1, 3..4]);
        refused(&[2, 1], 9, |table| table.slots[0].set = 7);
        refused(&[2, 1], 9, |table| table.chunks.truncate(1));
        refused(&[usize::MAX, 1], 9, |_| {});
        refused(&[2, 1], 9, |table| table.lists.extend([vec![], vec![]]));
        refused(&[2, 1], 9, |table| table.instances.push(Vec::new()));
        // A section without columns takes time for each group, but adds nothing to the number of rows.
        let mut table = table();
        table.slots.push(Slot { set: 2, heads: GroupHeads::default() });
        table.sections.push(Section { columns: Vec::new(), instances: 1, is_by_instance: false });
        assert!(SampleTable::decode(&table.encode(), &[2, 1, 0], 2, 9).is_err());
        table.sections[2].instances = 2;
        table.instances.push(Vec::new());
        assert!(SampleTable::decode(&table.encode(), &[2, 1, 0], 2, 9).is_ok());
        table.sections.push(table.sections[2].clone());
        assert!(SampleTable::decode(&table.encode(), &[2, 1, 0], 2, 9).is_err());
    }

    proptest! {
        #[test]
        fn damaged_tables_cause_no_panic(changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4)) {
            let mut bytes = table().encode();
            for (at, byte) in changes {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            let _ = SampleTable::decode(&bytes, &[2, 1], 2, 9);
        }
    }
}
