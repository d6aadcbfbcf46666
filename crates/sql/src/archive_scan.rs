//! Reads the files of archives as batches of rows.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream;
use futures::stream;
use tachograph_logs::LogError;
use tachograph_logs::archive::{PathFacts, RowColumn, RowGroup};

use crate::batches::{Block, BlockColumn, DATE, MACHINE, column_at, one_date, one_text};
use crate::damage::{Damage, MOVE_AWAY};
use crate::filters::Filters;
use crate::location::{ArchiveFile, ArchiveLocation};
use crate::progress::BytesRead;

/// The files of a scan, shared by its partitions. Each partition takes files; when none are left, it helps with the row
/// groups of files that others are reading.
#[derive(Debug)]
pub(crate) struct FileQueue {
    files: Vec<QueuedFile>,
    next: AtomicUsize,
    damage: Damage,
}

#[derive(Debug)]
struct QueuedFile {
    location: ArchiveLocation,
    /// The next row group.
    next: AtomicUsize,
    /// The number of row groups; set when the file is opened.
    row_groups: OnceLock<usize>,
}

impl FileQueue {
    pub(crate) fn new(files: Vec<ArchiveLocation>, damage: Damage) -> Self {
        let queued =
            |location| QueuedFile { location, next: AtomicUsize::new(0), row_groups: OnceLock::new() };
        Self { files: files.into_iter().map(queued).collect(), next: AtomicUsize::new(0), damage }
    }

    /// Returns the index of a file to read.
    fn take_file(&self) -> Option<usize> {
        let index = self.next.fetch_add(1, Ordering::Relaxed);
        if index < self.files.len() {
            return Some(index);
        }
        let has_groups = |file: &QueuedFile| {
            file.row_groups.get().is_some_and(|&groups| file.next.load(Ordering::Relaxed) < groups)
        };
        self.files.iter().rposition(has_groups)
    }
}

/// A partition of a scan of archives.
pub(crate) struct ArchivePartition {
    /// The schema of the batches.
    schema: SchemaRef,
    /// The positions in the table of the columns of the batches.
    projection: Arc<[usize]>,
    queue: Arc<FileQueue>,
    filters: Arc<Filters>,
    read: BytesRead,
}

impl std::fmt::Debug for ArchivePartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ArchivePartition: {} files", self.queue.files.len())
    }
}

impl ArchivePartition {
    pub(crate) fn new(
        schema: SchemaRef,
        projection: Arc<[usize]>,
        queue: Arc<FileQueue>,
        filters: Arc<Filters>,
        read: BytesRead,
    ) -> Self {
        Self { schema, projection, queue, filters, read }
    }
}

impl PartitionStream for ArchivePartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let reader = PartitionReader {
            schema: Arc::clone(&self.schema),
            projection: Arc::clone(&self.projection),
            queue: Arc::clone(&self.queue),
            filters: Arc::clone(&self.filters),
            read: self.read.clone(),
            batch_rows: context.session_config().batch_size(),
            file: None,
            block: None,
        };
        let batches = stream::try_unfold(reader, |mut reader| async move {
            let batch = reader.next()?;
            Ok(batch.map(|batch| (batch, reader)))
        });
        Box::pin(RecordBatchStreamAdapter::new(Arc::clone(&self.schema), batches))
    }
}

/// Converts the error of a file to one of a query.
fn log_error(error: LogError) -> DataFusionError {
    DataFusionError::External(Box::new(error.with_advice(MOVE_AWAY)))
}

/// Reads the row groups of one partition.
struct PartitionReader {
    schema: SchemaRef,
    projection: Arc<[usize]>,
    queue: Arc<FileQueue>,
    filters: Arc<Filters>,
    read: BytesRead,
    batch_rows: usize,
    file: Option<OpenFile>,
    block: Option<Block>,
}

struct OpenFile {
    /// The file's index in the queue.
    index: usize,
    rows: ArchiveFile,
    /// The number of the file's bytes that were already reported as read.
    reported: u64,
}

impl PartitionReader {
    fn next(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(batch) = self.block.as_mut().and_then(|block| block.next_batch(self.batch_rows)) {
                return batch.map(Some);
            }
            self.block = None;
            let queue = Arc::clone(&self.queue);
            let Some(file) = &mut self.file else {
                let Some(index) = queue.take_file() else { return Ok(None) };
                self.open(index)?;
                continue;
            };
            let group = queue.files[file.index].next.fetch_add(1, Ordering::Relaxed);
            let Some(span) = file.rows.row_groups().nth(group) else {
                self.file = None;
                continue;
            };
            if self.filters.time.overlaps(span.first, span.last) {
                let block = read_block(
                    &mut file.rows,
                    group,
                    span.rows,
                    &self.schema,
                    &self.projection,
                    &self.filters,
                );
                self.block = block?;
            }
            let read = file.rows.bytes_read();
            self.read.add(read - file.reported);
            file.reported = read;
        }
    }

    /// Opens a file, unless it is damaged and skipped, or its path, or the filter over `machine` and `date`, excludes it.
    fn open(&mut self, index: usize) -> Result<()> {
        let queued = &self.queue.files[index];
        if is_excluded(&self.filters, &queued.location)? {
            let _ = queued.row_groups.set(0);
            return Ok(());
        }
        let rows = match queued.location.open() {
            Ok(rows) => rows,
            Err(error) => {
                let _ = queued.row_groups.set(0);
                let skipped = self.queue.damage.skip_file(error);
                return skipped.map_err(|error| DataFusionError::External(Box::new(error)));
            }
        };
        self.queue.damage.add_intact();
        let groups = rows.row_groups().count();
        let is_wanted = match (&self.filters.file, rows.row_groups().next()) {
            (Some(filter), Some(first)) => {
                let column = |&position: &usize| match position {
                    MACHINE => one_text(&rows.facts().machine),
                    _ => one_date(unix_microseconds(first.first.0)),
                };
                filter.evaluate(filter.columns.iter().map(column).collect())?.value(0)
            }
            _ => true,
        };
        let _ = queued.row_groups.set(if is_wanted { groups } else { 0 });
        if is_wanted {
            let reported = rows.bytes_read();
            self.read.add(reported);
            self.file = Some(OpenFile { index, rows, reported });
        }
        Ok(())
    }
}

/// Whether filters exclude a file by its path.
pub(crate) fn is_excluded(filters: &Filters, location: &ArchiveLocation) -> Result<bool> {
    let facts = PathFacts::of(location.path());
    if facts.times.is_some_and(|times| !filters.time.overlaps(times.first, times.last)) {
        return Ok(true);
    }
    let Some(filter) = &filters.file else { return Ok(false) };
    let column = |&position: &usize| match position {
        MACHINE => facts.machine.as_deref().map(one_text),
        _ => facts.date.map(|date| one_date(unix_microseconds(date.0))),
    };
    match filter.columns.iter().map(column).collect::<Option<Vec<_>>>() {
        Some(columns) => Ok(!filter.evaluate(columns)?.value(0)),
        None => Ok(false),
    }
}

/// A time in microseconds since 1970.
fn unix_microseconds(utc: i64) -> i64 {
    utc.div_euclid(10) - 11_644_473_600_000_000
}

/// Reads the rows of a row group that satisfy the filters; `None` if there are none.
fn read_block(
    file: &mut ArchiveFile,
    index: usize,
    rows: usize,
    schema: &SchemaRef,
    projection: &[usize],
    filters: &Filters,
) -> Result<Option<Block>> {
    // Without columns or a filter, the number of rows in the footer suffices.
    let has_columns = projection.iter().any(|&position| position != MACHINE && position != DATE);
    let group = match has_columns || filters.series.is_some() {
        true => Some(file.row_group(index).map_err(log_error)?),
        false => None,
    };
    let all = 0..rows;
    let mut wanted = vec![all];
    if let (Some(filter), Some(group)) = (&filters.series, &group) {
        let mut values = Vec::new();
        let columns: Vec<RowColumn> = filter.row_columns().collect();
        file.prepare(group, &columns, &wanted).map_err(log_error)?;
        for column in columns {
            values.push((column, file.column(group, column, &wanted).map_err(log_error)?));
        }
        wanted = filter.ranges(values, rows)?;
    }
    let wanted_rows = wanted.iter().map(ExactSizeIterator::len).sum();
    if wanted_rows == 0 {
        return Ok(None);
    }
    if let Some(group) = &group {
        let columns: Vec<RowColumn> = projection.iter().copied().filter_map(column_at).collect();
        file.prepare(group, &columns, &wanted).map_err(log_error)?;
    }
    let columns: Result<Vec<_>> = projection
        .iter()
        .map(|&position| column_of(file, group.as_ref(), position, &wanted, wanted_rows))
        .collect();
    Ok(Some(Block::new(Arc::clone(schema), columns?, wanted_rows)))
}

fn column_of(
    file: &mut ArchiveFile,
    group: Option<&RowGroup>,
    position: usize,
    wanted: &[Range<usize>],
    rows: usize,
) -> Result<BlockColumn> {
    match (column_at(position), group) {
        (Some(column), Some(group)) => {
            let values = file.column(group, column, wanted).map_err(log_error)?;
            Ok(BlockColumn::new(column, values))
        }
        _ if position == MACHINE => Ok(BlockColumn::constant(one_text(&file.facts().machine), rows)),
        _ => {
            // A file never spans two dates.
            let first = file.row_groups().next().map_or(0, |group| group.first.0);
            Ok(BlockColumn::constant(one_date(unix_microseconds(first)), rows))
        }
    }
}
