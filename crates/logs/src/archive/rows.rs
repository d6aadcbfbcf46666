//! Reads the rows of archives and other logs by column, for SQL.

use std::collections::HashMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tachograph_counters::civil::{FileTime, Moment};
use tachograph_counters::sample::Sample;
use tachograph_counters::set::CounterSet;

use super::MAX_ROWS;
use super::block::{BlockBuilder, for_each_series};
use super::columns::{COLUMNS, column_index};
use super::description::Descriptions;
use super::file::{ArchiveFacts, ArchiveFile};
use super::folder::{TimeSpan, open_file};
use super::parquet::{Numbers, OptionalNumbers, Present, Runs};
use super::ranges::ReadRanges;
use super::table::{MAX_SAMPLES, SampleTable};
use crate::LogError;

/// The columns of a row (docs/archive.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "docs/archive.md describes the columns")]
pub enum RowColumn {
    Set,
    Counter,
    Parent,
    Instance,
    /// Microseconds since 1970, UTC.
    Time,
    Num,
    Den,
    Value,
    Kind,
    Factor,
    Unit,
    Type,
    RawFirst,
    RawSecond,
    /// Present in all rows, unlike in the file.
    MultiCount,
    Status,
}

/// The columns, in the order of the file.
pub const ARCHIVE_COLUMNS: [RowColumn; 16] = {
    use RowColumn::*;
    [
        Set, Counter, Parent, Instance, Time, Num, Den, Value, Kind, Factor, Unit, Type, RawFirst, RawSecond,
        MultiCount, Status,
    ]
};

impl RowColumn {
    fn index(self) -> usize {
        self as usize
    }

    /// The name of the column.
    pub fn name(self) -> &'static str {
        COLUMNS[self.index()].name
    }

    /// Whether the pages with the wanted rows are read, and not the whole column.
    fn is_read_by_page(self) -> bool {
        use RowColumn::*;
        !self.is_text_of_series() && !matches!(self, Factor | Status | MultiCount)
    }

    /// Whether the column is a text that is the same in all rows of a series.
    pub fn is_text_of_series(self) -> bool {
        use RowColumn::*;
        matches!(self, Set | Counter | Parent | Instance | Kind | Unit | Type)
    }
}

/// The values of a column, one per row.
#[derive(Debug)]
pub enum ColumnValues {
    /// Texts.
    Texts(Runs<String>),
    /// Doubles with few distinct values.
    Doubles(Runs<f64>),
    /// Integers, or for the column `value` the bits of doubles.
    Numbers(Numbers),
}

/// The properties of a row group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowGroupSpan {
    /// The number of rows.
    pub rows: usize,
    /// The number of samples.
    pub samples: usize,
    /// The time of the first sample, UTC.
    pub first: FileTime,
    /// The time of the last sample, UTC.
    pub last: FileTime,
}

/// Reads the rows of an archive's file by column. The checksum of everything that is read is verified.
pub struct ArchiveRows<R = std::fs::File> {
    file: ArchiveFile<R>,
    path: PathBuf,
}

/// A row group that is being read.
pub struct RowGroup {
    index: usize,
    table: SampleTable,
}

/// A sample without its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedSample {
    /// When the sample was taken.
    pub at: Moment,
    /// Whether the sample only opens the first intervals.
    pub is_baseline: bool,
    /// The index of the list of its groups in [`ListedSamples::lists`].
    pub list: usize,
}

/// The samples of a row group.
#[derive(Clone, Debug, Default)]
pub struct ListedSamples {
    /// The samples, in order of time.
    pub samples: Vec<ListedSample>,
    /// The distinct lists of the descriptions of a sample's groups.
    pub lists: Vec<Vec<Arc<CounterSet>>>,
}

impl ArchiveRows {
    /// Opens a file and reads its footer.
    ///
    /// # Errors
    ///
    /// When reading fails, or the file is damaged or does not belong to an archive.
    pub fn open(path: &Path) -> Result<Self, LogError> {
        Self::new(open_file(path)?, path)
    }
}

impl<R: ReadRanges> ArchiveRows<R> {
    /// Reads the footer. Errors name `path`.
    ///
    /// # Errors
    ///
    /// When reading fails, or the bytes are not a file of an archive, or are damaged.
    pub fn new(bytes: R, path: &Path) -> Result<Self, LogError> {
        let file = ArchiveFile::open(bytes).map_err(|error| error.at_path(path))?;
        Ok(Self { file, path: path.to_path_buf() })
    }

    /// The properties of the recording.
    pub fn facts(&self) -> &ArchiveFacts {
        &self.file.facts
    }

    /// The descriptions of the counter sets in the file.
    pub fn sets(&self) -> &[Arc<CounterSet>] {
        &self.file.sets
    }

    /// The times of the first and the last sample.
    pub fn times(&self) -> TimeSpan {
        self.file.times()
    }

    /// The row groups.
    pub fn row_groups(&self) -> impl Iterator<Item = RowGroupSpan> {
        self.file.row_groups.iter().map(|group| RowGroupSpan {
            rows: group.rows,
            samples: group.samples,
            first: group.first.utc,
            last: group.last,
        })
    }

    /// The number of bytes that were read.
    pub fn bytes_read(&self) -> u64 {
        self.file.bytes_read
    }

    /// Reads the sample table of a row group, which is needed to read columns.
    ///
    /// # Errors
    ///
    /// When the file has fewer row groups, reading fails, or the sample table is damaged.
    pub fn row_group(&mut self, index: usize) -> Result<RowGroup, LogError> {
        if index >= self.file.row_groups.len() {
            return Err(LogError::unsupported(format!("there is no row group {index}")).at_path(&self.path));
        }
        let table = self.file.table(index).map_err(|error| error.at_path(&self.path))?;
        Ok(RowGroup { index, table })
    }

    /// The samples of a row group, with the descriptions of their groups.
    pub fn samples(&self, group: &RowGroup) -> ListedSamples {
        let set = |slot: &u32| Arc::clone(&self.file.sets[group.table.slots[*slot as usize].set as usize]);
        let samples = group.table.samples.iter().map(|sample| ListedSample {
            at: sample.at,
            is_baseline: sample.is_baseline,
            list: sample.list as usize,
        });
        ListedSamples {
            samples: samples.collect(),
            lists: group.table.lists.iter().map(|slots| slots.iter().map(set).collect()).collect(),
        }
    }

    /// Announces columns that are read next, with the same rows (see [`ReadRanges::prepare`]).
    ///
    /// # Errors
    ///
    /// When reading fails, or the page index is damaged.
    pub fn prepare(
        &mut self,
        group: &RowGroup,
        columns: &[RowColumn],
        wanted: &[Range<usize>],
    ) -> Result<(), LogError> {
        let columns = columns.iter().map(|column| (column.index(), column.is_read_by_page()));
        self.file
            .prepare(group.index, &group.table, columns, wanted)
            .map_err(|error| error.at_path(&self.path))
    }

    /// Reads a column of the rows in these ascending ranges.
    ///
    /// # Errors
    ///
    /// When reading fails, or the column is damaged.
    pub fn column(
        &mut self,
        group: &RowGroup,
        column: RowColumn,
        wanted: &[Range<usize>],
    ) -> Result<ColumnValues, LogError> {
        self.read_column(group, column, wanted).map_err(|error| error.at_path(&self.path))
    }

    fn read_column(
        &mut self,
        group: &RowGroup,
        column: RowColumn,
        wanted: &[Range<usize>],
    ) -> Result<ColumnValues, LogError> {
        let RowGroup { index, table } = group;
        Ok(match column {
            RowColumn::Factor => {
                let mut doubles = self.file.doubles(*index, table, column_index::FACTOR)?;
                doubles.keep(wanted);
                ColumnValues::Doubles(doubles)
            }
            RowColumn::Status => self.texts(group, column, wanted)?,
            _ if column.is_text_of_series() => self.texts(group, column, wanted)?,
            RowColumn::MultiCount => {
                let numbers = self.file.numbers(*index, table, column_index::MULTI_COUNT)?;
                ColumnValues::Numbers(fill_multipliers(&numbers, table, wanted))
            }
            _ => {
                let new = OptionalNumbers::default();
                let numbers = self.file.numbers_in_rows(*index, table, column.index(), wanted, new)?;
                ColumnValues::Numbers(numbers.spread_over_rows())
            }
        })
    }

    fn texts(
        &mut self,
        group: &RowGroup,
        column: RowColumn,
        wanted: &[Range<usize>],
    ) -> Result<ColumnValues, LogError> {
        let mut texts = self.file.texts(group.index, &group.table, column.index())?;
        texts.keep(wanted);
        Ok(ColumnValues::Texts(texts))
    }
}

/// Returns the multiplier of each wanted row. A row without a multiplier has that of the previous row of its series, or 1
/// if it is the first row.
fn fill_multipliers(numbers: &OptionalNumbers, table: &SampleTable, wanted: &[Range<usize>]) -> Numbers {
    let rows = wanted.iter().map(ExactSizeIterator::len).sum();
    if numbers.values.is_empty() {
        return Numbers { values: vec![1; rows], present: Present::All };
    }
    let mut cursor = numbers.cursor();
    let mut filled = Vec::new();
    for section in &table.sections {
        let instances = &table.instances[section.instances as usize];
        for_each_series(section, instances.len(), |_, _, instance| {
            let mut current = 1;
            for _ in 0..instances[instance].rows() {
                current = cursor.get(filled.len()).unwrap_or(current);
                filled.push(current);
            }
        });
    }
    let values = wanted.iter().flat_map(|range| filled.get(range.clone()).unwrap_or_default()).copied();
    Numbers { values: values.collect(), present: Present::All }
}

/// Converts samples to rows, with the same code as [`ArchiveWriter`](super::ArchiveWriter).
#[derive(Default)]
pub struct SampleRows {
    machines: Vec<MachineRows>,
    by_name: HashMap<Arc<str>, usize>,
}

struct MachineRows {
    machine: Arc<str>,
    builder: BlockBuilder,
    descriptions: Descriptions,
    /// The indexes of the machine's groups in the current sample.
    groups: Vec<usize>,
}

/// Rows of one machine.
pub struct MachineBlock {
    /// The machine's name.
    pub machine: Arc<str>,
    rows: super::block::Rows,
    table: SampleTable,
}

impl SampleRows {
    /// Adds a sample. Calls `each` with the collected rows once there are at least `block_rows`.
    ///
    /// # Errors
    ///
    /// When a sample has more than 4,194,304 values, or `each` fails.
    pub fn push<E: From<LogError>>(
        &mut self,
        sample: &Sample,
        block_rows: usize,
        mut each: impl FnMut(MachineBlock) -> Result<(), E>,
    ) -> Result<(), E> {
        if sample.len() > MAX_ROWS {
            let message =
                format!("a sample has {} values, and SQL queries support at most {MAX_ROWS}", sample.len());
            return Err(LogError::unsupported(message).into());
        }
        self.machines.iter_mut().for_each(|machine| machine.groups.clear());
        for (index, group) in sample.groups.iter().enumerate() {
            let machine = self.machine(&group.set.machine);
            self.machines[machine].groups.push(index);
        }
        for machine in &mut self.machines {
            // A sample without groups belongs to all machines.
            if machine.groups.is_empty() && !sample.groups.is_empty() {
                continue;
            }
            if !machine.builder.is_later_than_last(sample) {
                machine.take().map_or(Ok(()), &mut each)?;
            }
            let MachineRows { builder, descriptions, groups, .. } = machine;
            builder.push(sample, groups, descriptions);
            if builder.value_count() >= block_rows || builder.samples().len() >= MAX_SAMPLES / 16 {
                machine.take().map_or(Ok(()), &mut each)?;
            }
        }
        Ok(())
    }

    /// Returns the rows that were not yet passed to `each`.
    pub fn finish(&mut self) -> Vec<MachineBlock> {
        self.machines.iter_mut().filter_map(MachineRows::take).collect()
    }

    /// The index of a machine. Names are case-insensitive.
    fn machine(&mut self, name: &Arc<str>) -> usize {
        if let Some(&machine) = self.by_name.get(name) {
            return machine;
        }
        let key = name.to_lowercase();
        let index = self.machines.iter().position(|known| known.machine.to_lowercase() == key);
        let machine = index.unwrap_or_else(|| {
            self.machines.push(MachineRows {
                machine: Arc::clone(name),
                builder: BlockBuilder::default(),
                descriptions: Descriptions::default(),
                groups: Vec::new(),
            });
            self.machines.len() - 1
        });
        self.by_name.insert(Arc::clone(name), machine);
        machine
    }
}

impl MachineRows {
    fn take(&mut self) -> Option<MachineBlock> {
        if self.builder.samples().is_empty() {
            return None;
        }
        let mut rows = super::block::Rows::default();
        let table = self.builder.take(&mut rows);
        (rows.len() > 0).then(|| MachineBlock { machine: Arc::clone(&self.machine), rows, table })
    }
}

impl MachineBlock {
    /// The number of rows.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there are no rows.
    pub fn is_empty(&self) -> bool {
        self.rows.len() == 0
    }

    /// The values of a column.
    pub fn column(&self, column: RowColumn) -> ColumnValues {
        if column == RowColumn::MultiCount {
            let all = 0..self.len();
            let numbers = fill_multipliers(self.rows.multi_count(), &self.table, std::slice::from_ref(&all));
            return ColumnValues::Numbers(numbers);
        }
        self.rows.column(column.index())
    }
}
