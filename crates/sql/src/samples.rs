//! The table `samples`.

use std::path::PathBuf;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::empty::EmptyExec;
use datafusion::physical_plan::streaming::{PartitionStream, StreamingTableExec};

use crate::archive_scan::{ArchivePartition, FileQueue};
use crate::batches::samples_schema;
use crate::damage::Damage;
use crate::filters::{Filters, support};
use crate::location::ArchiveLocation;
use crate::log_scan::LogPartition;
use crate::overlap;
use crate::progress::BytesRead;

/// The rows of all inputs.
#[derive(Debug)]
pub(crate) struct Samples {
    schema: SchemaRef,
    archive_files: Vec<ArchiveLocation>,
    /// The logs of each machine.
    logs: Vec<Vec<PathBuf>>,
    read: BytesRead,
    damage: Damage,
}

impl Samples {
    pub(crate) fn new(
        archive_files: Vec<ArchiveLocation>,
        logs: Vec<Vec<PathBuf>>,
        read: BytesRead,
        damage: Damage,
    ) -> Self {
        Self { schema: samples_schema(), archive_files, logs, read, damage }
    }
}

#[async_trait]
impl TableProvider for Samples {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(support(&self.schema, filters))
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let projection: Arc<[usize]> = match projection {
            Some(projection) => projection.as_slice().into(),
            None => (0..self.schema.fields().len()).collect(),
        };
        let schema: SchemaRef = Arc::new(self.schema.project(&projection)?);
        let filters = Arc::new(Filters::new(state, &self.schema, filters)?);
        overlap::check(&self.archive_files, &self.logs, &filters).await?;
        let mut partitions: Vec<Arc<dyn PartitionStream>> = Vec::new();
        if !self.archive_files.is_empty() {
            let queue = Arc::new(FileQueue::new(self.archive_files.clone(), self.damage.clone()));
            for _ in 0..state.config().target_partitions() {
                partitions.push(Arc::new(ArchivePartition::new(
                    Arc::clone(&schema),
                    Arc::clone(&projection),
                    Arc::clone(&queue),
                    Arc::clone(&filters),
                    self.read.clone(),
                )));
            }
        }
        for logs in &self.logs {
            partitions.push(Arc::new(LogPartition::new(
                Arc::clone(&schema),
                Arc::clone(&projection),
                logs.clone(),
                Arc::clone(&filters),
                self.read.clone(),
                self.damage.clone(),
            )));
        }
        if partitions.is_empty() {
            return Ok(Arc::new(EmptyExec::new(schema)));
        }
        Ok(Arc::new(StreamingTableExec::try_new(schema, partitions, None, [], false, limit)?))
    }
}
