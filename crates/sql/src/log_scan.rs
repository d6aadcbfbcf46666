//! Reads logs other than archives as batches of rows, with the code that writes archives.

use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::compute::{and, filter_record_batch};
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_plan::stream::RecordBatchReceiverStream;
use datafusion::physical_plan::streaming::PartitionStream;
use tachograph_counters::sample::Sample;
use tachograph_flow::FlowError;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::{LogQuery, Pipeline};
use tachograph_logs::archive::{ColumnValues, MachineBlock, RowColumn, SampleRows};
use tachograph_logs::{Grouping, LogError};

use crate::batches::{Block, BlockColumn, DATE, MACHINE, column_at, one_text, samples_schema};
use crate::damage::Damage;
use crate::filters::{ColumnFilter, Filters, needed};
use crate::progress::BytesRead;

/// Number of rows that are collected before they are sorted by counter and emitted.
const BLOCK_ROWS: usize = 1 << 16;

/// The logs of one machine.
pub(crate) struct LogPartition {
    /// The schema of the batches.
    schema: SchemaRef,
    /// The positions in the table of the columns of the batches.
    projection: Arc<[usize]>,
    paths: Vec<PathBuf>,
    filters: Arc<Filters>,
    read: BytesRead,
    damage: Damage,
}

impl std::fmt::Debug for LogPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "LogPartition: {} logs", self.paths.len())
    }
}

impl LogPartition {
    pub(crate) fn new(
        schema: SchemaRef,
        projection: Arc<[usize]>,
        paths: Vec<PathBuf>,
        filters: Arc<Filters>,
        read: BytesRead,
        damage: Damage,
    ) -> Self {
        Self { schema, projection, paths, filters, read, damage }
    }
}

/// Creates a query of logs that groups the columns of text logs as statistics do.
pub(crate) fn log_query(paths: Vec<PathBuf>) -> LogQuery {
    let mut query = LogQuery::new(paths);
    query.reading.grouping = Grouping::Neighbours;
    query
}

/// Groups logs by machine.
///
/// # Errors
///
/// When a log cannot be opened.
pub(crate) fn by_machine(logs: &[PathBuf]) -> Result<Vec<Vec<PathBuf>>, FlowError> {
    if logs.is_empty() {
        return Ok(Vec::new());
    }
    let query = log_query(logs.to_vec());
    let machines = query.logs_by_machine()?;
    Ok(machines
        .into_iter()
        .map(|indexes| indexes.into_iter().map(|index| query.paths[index].clone()).collect())
        .collect())
}

impl PartitionStream for LogPartition {
    fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    fn execute(&self, context: Arc<TaskContext>) -> SendableRecordBatchStream {
        let mut builder = RecordBatchReceiverStream::builder(Arc::clone(&self.schema), 2);
        let batches = builder.tx();
        let reader = LogRows {
            schema: Arc::clone(&self.schema),
            projection: Arc::clone(&self.projection),
            filters: Arc::clone(&self.filters),
            batch_rows: context.session_config().batch_size(),
        };
        let (paths, read, damage) = (self.paths.clone(), self.read.clone(), self.damage.clone());
        builder.spawn_blocking(move || {
            // The receiver is closed when the query needs no more rows.
            let mut send = |batch| batches.blocking_send(Ok(batch)).map_err(|_| ReadError::Closed);
            match reader.read(paths, &read, &damage, &mut send) {
                Ok(()) | Err(ReadError::Closed) => Ok(()),
                Err(ReadError::Query(error)) => Err(*error),
            }
        });
        builder.build()
    }
}

/// Why reading ended early.
enum ReadError {
    /// The query needs no more rows.
    Closed,
    Query(Box<DataFusionError>),
}

impl From<DataFusionError> for ReadError {
    fn from(error: DataFusionError) -> Self {
        Self::Query(Box::new(error))
    }
}

impl From<FlowError> for ReadError {
    fn from(error: FlowError) -> Self {
        DataFusionError::External(Box::new(error)).into()
    }
}

impl From<LogError> for ReadError {
    fn from(error: LogError) -> Self {
        FlowError::from(error).into()
    }
}

/// Converts logs to batches.
struct LogRows {
    schema: SchemaRef,
    projection: Arc<[usize]>,
    filters: Arc<Filters>,
    batch_rows: usize,
}

impl LogRows {
    fn read(
        &self,
        paths: Vec<PathBuf>,
        read: &BytesRead,
        damage: &Damage,
        send: &mut dyn FnMut(RecordBatch) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut query = log_query(paths);
        query.selection = self.filters.selection();
        query.bounds = self.filters.time.bounds();
        if query.bounds.are_empty() {
            return Ok(());
        }
        let mut pipeline = query.samples()?;
        let outcome = self.read_samples(&mut pipeline, read, send);
        damage.add_logs(&pipeline.reports);
        outcome
    }

    fn read_samples(
        &self,
        pipeline: &mut Pipeline,
        read: &BytesRead,
        send: &mut dyn FnMut(RecordBatch) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let mut reported = 0;
        let mut rows = SampleRows::default();
        let mut sample = Sample::default();
        while pipeline.source.next(&mut sample).map_err(|error| with_path(error, &pipeline.reports))? {
            rows.push(&sample, BLOCK_ROWS, |block| self.emit(&block, send))?;
            let now = pipeline.reports.iter().map(LogReport::bytes_read).sum();
            read.add(now - reported);
            reported = now;
        }
        for block in rows.finish() {
            self.emit(&block, send)?;
        }
        Ok(())
    }

    fn emit(
        &self,
        block: &MachineBlock,
        send: &mut dyn FnMut(RecordBatch) -> Result<(), ReadError>,
    ) -> Result<(), ReadError> {
        let filters = [self.filters.file.as_ref(), self.filters.series.as_ref()];
        let needed = needed(&self.projection, &filters);
        let schema = Arc::new(samples_schema().project(&needed).map_err(DataFusionError::from)?);
        let columns = needed.iter().map(|&position| column_of(block, position)).collect();
        let mut batches = Block::new(schema, columns, block.len());
        while let Some(batch) = batches.next_batch(self.batch_rows) {
            let batch = self.filter(batch?, &needed, &filters)?;
            if batch.num_rows() > 0 {
                send(batch)?;
            }
        }
        Ok(())
    }

    /// Keeps the rows that satisfy the filters, and the columns of the projection.
    fn filter(
        &self,
        batch: RecordBatch,
        needed: &[usize],
        filters: &[Option<&ColumnFilter>],
    ) -> Result<RecordBatch> {
        let index = |position: &usize| needed.binary_search(position).unwrap_or_default();
        let mut kept = None;
        for filter in filters.iter().flatten() {
            let columns: Vec<ArrayRef> =
                filter.columns.iter().map(|position| Arc::clone(batch.column(index(position)))).collect();
            let mask = filter.evaluate(columns)?;
            kept = Some(match &kept {
                None => mask,
                Some(kept) => and(kept, &mask)?,
            });
        }
        let projection: Vec<usize> = self.projection.iter().map(index).collect();
        let batch = batch.project(&projection)?.with_schema(Arc::clone(&self.schema))?;
        Ok(match kept {
            Some(kept) => filter_record_batch(&batch, &kept)?,
            None => batch,
        })
    }
}

fn column_of(block: &MachineBlock, position: usize) -> BlockColumn {
    match column_at(position) {
        Some(column) => BlockColumn::new(column, block.column(column)),
        None if position == MACHINE => BlockColumn::constant(one_text(&block.machine), block.len()),
        None => {
            debug_assert_eq!(position, DATE);
            match block.column(RowColumn::Time) {
                ColumnValues::Numbers(times) => BlockColumn::Dates(times),
                _ => BlockColumn::constant(one_text(""), block.len()),
            }
        }
    }
}

/// Adds the path of the first log to an error without a path.
fn with_path(error: FlowError, reports: &[LogReport]) -> FlowError {
    match (error, reports) {
        (FlowError::Log(error), [log, ..]) => error.at_path(log.path()).into(),
        (error, _) => error,
    }
}
