//! The step of a plan that reads files.
//!
//! Its input is a table in memory that lists the files, because the scheduler divides tables in memory among tasks, but
//! would run an unknown step without an input completely in every task.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fmt;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef, BinaryArray, RecordBatch, UInt32Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, internal_datafusion_err, internal_err};
use datafusion::datasource::memory::MemorySourceConfig;
use datafusion::execution::{SendableRecordBatchStream, SessionState, SessionStateBuilder, TaskContext};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::EquivalenceProperties;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::streaming::PartitionStream as _;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PhysicalExpr, PlanProperties,
};
use futures::{StreamExt as _, TryStreamExt as _, stream};

use super::table::Table;
use crate::archive_scan::{ArchivePartition, FileQueue};
use crate::damage::Damage;
use crate::filters::Filters;
use crate::inventory::{Inventory, SharedInventory};
use crate::location::ArchiveLocation;
use crate::log_scan::LogPartition;
use crate::progress::BytesRead;

/// Files that are read together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Files of archives.
    Archive(Vec<PathBuf>),
    /// The logs of one machine.
    Logs(Vec<PathBuf>),
}

/// Reads the files that its input lists.
#[derive(Debug)]
pub(super) struct ScanExec {
    pub(super) table: Table,
    /// The positions in the table of the columns of the batches.
    pub(super) projection: Vec<usize>,
    /// The filters that are applied while files are read.
    pub(super) filters: Vec<Expr>,
    input: Arc<dyn ExecutionPlan>,
    reader: Reader,
    properties: Arc<PlanProperties>,
}

impl ScanExec {
    /// A scan whose partitions read these sources.
    pub(super) fn from_sources(
        table: Table,
        projection: Vec<usize>,
        filters: Vec<Expr>,
        partitions: &[Vec<Source>],
    ) -> Result<Self> {
        let batches: Result<Vec<Vec<RecordBatch>>> =
            partitions.iter().map(|sources| Ok(vec![batch_of(sources)?])).collect();
        let input = MemorySourceConfig::try_new_exec(&batches?, files_schema(), None)?;
        Self::new(table, projection, filters, input)
    }

    /// A scan of the files that `input` lists.
    pub(super) fn new(
        table: Table,
        projection: Vec<usize>,
        filters: Vec<Expr>,
        input: Arc<dyn ExecutionPlan>,
    ) -> Result<Self> {
        if input.schema() != files_schema() {
            return internal_err!("the input of a scan is not a list of files");
        }
        let schema: SchemaRef = Arc::new(table.schema().project(&projection)?);
        let reader = Reader {
            table,
            schema: Arc::clone(&schema),
            projection: projection.as_slice().into(),
            filters: Arc::new(Filters::new(&planning_session(), &table.schema(), &filters)?),
        };
        let partitions = input.properties().output_partitioning().partition_count();
        let properties = PlanProperties::new(
            EquivalenceProperties::new(schema),
            Partitioning::UnknownPartitioning(partitions),
            EmissionType::Incremental,
            Boundedness::Bounded,
        );
        Ok(Self { table, projection, filters, input, reader, properties: Arc::new(properties) })
    }
}

/// Reads files.
#[derive(Clone, Debug)]
struct Reader {
    table: Table,
    /// The schema of the batches.
    schema: SchemaRef,
    projection: Arc<[usize]>,
    filters: Arc<Filters>,
}

impl Reader {
    /// Reads the rows of the files that `input` lists.
    async fn read(
        self,
        input: SendableRecordBatchStream,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let batches: Vec<RecordBatch> = input.try_collect().await?;
        let sources = sources_of(&batches)?;
        let schema = Arc::clone(&self.schema);
        Ok(match self.table {
            Table::Samples => {
                let rows = stream::iter(sources).map(move |source| self.samples(source, &context)).flatten();
                Box::pin(RecordBatchStreamAdapter::new(schema, rows))
            }
            Table::Inventory(which) => {
                let batch = stream::once(inventory(which, sources, self.projection));
                Box::pin(RecordBatchStreamAdapter::new(schema, batch))
            }
        })
    }

    fn samples(&self, source: Source, context: &Arc<TaskContext>) -> SendableRecordBatchStream {
        let (schema, projection) = (Arc::clone(&self.schema), Arc::clone(&self.projection));
        let (filters, read) = (Arc::clone(&self.filters), BytesRead::default());
        let context = Arc::clone(context);
        match source {
            Source::Archive(files) => {
                let files = files.into_iter().map(ArchiveLocation::File).collect();
                let queue = Arc::new(FileQueue::new(files, Damage::default()));
                ArchivePartition::new(schema, projection, queue, filters, read).execute(context)
            }
            Source::Logs(logs) => {
                let damage = Damage::default();
                LogPartition::new(schema, projection, logs, filters, read, damage).execute(context)
            }
        }
    }
}

/// A session that only plans filters; the functions of the filters are already known.
fn planning_session() -> SessionState {
    SessionStateBuilder::new().build()
}

/// Reads the rows of an inventory.
async fn inventory(which: Inventory, sources: Vec<Source>, projection: Arc<[usize]>) -> Result<RecordBatch> {
    let (mut archive_files, mut logs) = (Vec::new(), Vec::new());
    for source in sources {
        match source {
            Source::Archive(files) => archive_files.extend(files.into_iter().map(ArchiveLocation::File)),
            Source::Logs(paths) => logs.push(paths),
        }
    }
    let read = move || SharedInventory::new(archive_files, logs, Damage::default()).batches();
    let batches = tokio::task::spawn_blocking(read)
        .await
        .map_err(|error| DataFusionError::External(Box::new(error)))??;
    Ok(batches[which as usize].project(&projection)?)
}

impl DisplayAs for ScanExec {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<_> = self.schema().fields().iter().map(|field| field.name().clone()).collect();
        write!(f, "ScanExec: table={:?}, projection=[{}]", self.table, columns.join(", "))?;
        if !self.filters.is_empty() {
            let filters: Vec<_> = self.filters.iter().map(Expr::to_string).collect();
            write!(f, ", filters=[{}]", filters.join(", "))?;
        }
        Ok(())
    }
}

impl ExecutionPlan for ScanExec {
    fn name(&self) -> &str {
        Self::static_name()
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.input]
    }

    /// Each row of the input is a file, so distributing rows would not balance the work.
    fn benefits_from_input_partitioning(&self) -> Vec<bool> {
        vec![false]
    }

    fn apply_expressions(
        &self,
        _f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let [input] = children.as_slice() else {
            return internal_err!("a scan has one input, not {}", children.len());
        };
        let (projection, filters) = (self.projection.clone(), self.filters.clone());
        Ok(Arc::new(Self::new(self.table, projection, filters, Arc::clone(input))?))
    }

    fn execute(&self, partition: usize, context: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let input = self.input.execute(partition, Arc::clone(&context))?;
        let rows = stream::once(self.reader.clone().read(input, context)).try_flatten();
        Ok(Box::pin(RecordBatchStreamAdapter::new(self.schema(), rows)))
    }
}

/// The columns of a list of files: for each file, the number of its source, which is 0 for files of archives, and its path.
fn files_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("source", DataType::UInt32, false),
        Field::new("path", DataType::Binary, false),
    ]))
}

/// Lists the files of sources.
fn batch_of(sources: &[Source]) -> Result<RecordBatch> {
    let (mut numbers, mut paths) = (Vec::new(), Vec::new());
    let mut next = 0;
    for source in sources {
        let (number, files) = match source {
            Source::Archive(files) => (0, files),
            Source::Logs(logs) => {
                next += 1;
                (next, logs)
            }
        };
        for file in files {
            numbers.push(number);
            paths.push(file.as_os_str().as_bytes());
        }
    }
    let columns: Vec<ArrayRef> =
        vec![Arc::new(UInt32Array::from(numbers)), Arc::new(BinaryArray::from_iter_values(paths))];
    Ok(RecordBatch::try_new(files_schema(), columns)?)
}

/// The sources of a list of files.
fn sources_of(batches: &[RecordBatch]) -> Result<Vec<Source>> {
    let wrong = || internal_datafusion_err!("the input of a scan is not a list of files");
    let mut sources: BTreeMap<u32, Vec<PathBuf>> = BTreeMap::new();
    for batch in batches {
        let [numbers, paths] = batch.columns() else { return Err(wrong()) };
        let numbers = numbers.as_any().downcast_ref::<UInt32Array>().ok_or_else(wrong)?;
        let paths = paths.as_any().downcast_ref::<BinaryArray>().ok_or_else(wrong)?;
        for (number, path) in numbers.values().iter().zip(paths.iter().flatten()) {
            sources.entry(*number).or_default().push(PathBuf::from(OsStr::from_bytes(path)));
        }
    }
    let source = |(number, paths)| match number {
        0 => Source::Archive(paths),
        _ => Source::Logs(paths),
    };
    Ok(sources.into_iter().map(source).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_survive_a_list_of_files() {
        let path = |bytes: &'static [u8]| PathBuf::from(OsStr::from_bytes(bytes));
        let sources = [
            Source::Archive(vec![path(b"/a/1.parquet"), path(b"/a/\xff.parquet")]),
            Source::Logs(vec![path(b"/b.blg"), path(b"/c.blg")]),
            Source::Logs(vec![path(b"SQL:/d.db!x")]),
        ];
        let batch = batch_of(&sources).expect("a batch");
        assert_eq!(sources_of(std::slice::from_ref(&batch)).expect("sources"), sources);
        // DataFusion can split batches.
        let parts = [batch.slice(0, 3), batch.slice(3, 2)];
        assert_eq!(sources_of(&parts).expect("sources"), sources);
        assert!(sources_of(&[]).expect("no sources").is_empty());
    }
}
