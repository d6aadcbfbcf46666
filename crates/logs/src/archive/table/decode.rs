//! Decodes and checks sample tables.

use tachograph_counters::Status;
use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Clocks;
use tachograph_counters::time_zone::is_possible_bias;

use super::super::varint::Cursor;
use super::super::{Damage, MAX_CHUNK_BYTES, MAX_ROWS};
use super::{
    Chunk, GroupHead, GroupHeads, InstanceRuns, MAX_SAMPLES, SampleHead, SampleTable, Section, Slot,
};

/// Maximum number of descriptions with groups in a row group.
const MAX_SLOTS: usize = 1 << 20;
/// Maximum number of groups in all samples of a row group. Each group takes time even without rows.
const MAX_GROUPS: usize = 1 << 28;

impl SampleTable {
    /// Decodes and checks a table. `columns` has the number of counters of each of the file's descriptions, and `chunks` is the
    /// number of column chunks.
    pub(in super::super) fn decode(
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
        let present: Vec<usize> = self.slots.iter().map(|slot| slot.heads.present_groups()).collect();
        let mut total_rows = 0usize;
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
                let is_unused =
                    unused.get_mut(slot as usize).and_then(|columns| columns.get_mut(column as usize));
                if !is_unused.is_some_and(std::mem::take) {
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
            total_rows = total_rows.saturating_add(self.rows_of(section));
        }
        if unused.iter().flatten().any(|&is_unused| is_unused) {
            return Err(Damage("a column of a group is in no section"));
        }
        if total_rows != rows || rows > MAX_ROWS {
            return Err(Damage("the number of rows differs from that of the row group"));
        }
        Ok(())
    }
}

impl GroupHead {
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

fn read_chunks(cursor: &mut Cursor<'_>, expected: usize) -> Result<Vec<Chunk>, Damage> {
    if cursor.count()? != expected {
        return Err(Damage("the number of columns is wrong"));
    }
    let chunk = |_| {
        Ok(Chunk {
            offset: cursor.number()?,
            bytes: cursor.number_up_to(MAX_CHUNK_BYTES)?,
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
        (0..count).map(|_| read_index(cursor)).collect()
    };
    let count = cursor.number_up_to(max)?;
    (0..count).map(|_| list(cursor)).collect()
}

fn read_index(cursor: &mut Cursor<'_>) -> Result<u32, Damage> {
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
        let set = read_index(cursor)?;
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
        let index = read_index(cursor)?;
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
        let columns =
            (0..count).map(|_| Ok((read_index(cursor)?, read_index(cursor)?))).collect::<Result<_, _>>()?;
        Ok(Section { columns, instances: read_index(cursor)?, is_by_instance: cursor.byte()? != 0 })
    };
    let count = cursor.number_up_to(max)?;
    (0..count).map(|_| section(cursor)).collect()
}
