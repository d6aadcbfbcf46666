//! The messages of tasks that fail.
//!
//! Ballista sends an error as its debug output. An executor therefore adds the message in a form that survives debug
//! output, so that the user sees the same message as for a query in one process.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use ballista_core::JobId;
use ballista_core::error::BallistaError;
use ballista_core::serde::protobuf::{
    RuntimeStatsReport, ShuffleWritePartition, TaskColumnStats, WindowStateReport,
};
use ballista_executor::execution_engine::{DefaultExecutionEngine, ExecutionEngine, QueryStageExecutor};
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::TaskContext;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::metrics::MetricsSet;
use datafusion::prelude::SessionConfig;

use crate::failure::Failure;

/// Begins an encoded message. Its bytes follow in hexadecimal digits, up to a semicolon.
const MARK: &str = "tacho-sql-message:";

/// Maximum length of a message in bytes.
const MAX_MESSAGE: usize = 64 << 10;

/// An error with a message for the user.
pub(super) fn with_message(message: &str) -> DataFusionError {
    let digits: String = message.bytes().take(MAX_MESSAGE).map(|byte| format!("{byte:02x}")).collect();
    DataFusionError::Execution(format!("{MARK}{digits};"))
}

/// The message that an error of a cluster contains.
pub(crate) fn message_in(error: &str) -> Option<String> {
    let (_, rest) = error.split_once(MARK)?;
    let (digits, _) = rest.split_once(';')?;
    let (pairs, []) = digits.as_bytes().as_chunks::<2>() else { return None };
    let byte = |pair: &[u8; 2]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    Some(String::from_utf8_lossy(&bytes?).into_owned())
}

/// Adds a message to an error, unless Ballista repeats a task because of this error.
fn for_user(error: DataFusionError) -> DataFusionError {
    match cause(&error) {
        None => error,
        Some(DataFusionError::Execution(text)) if text.contains(MARK) => error,
        Some(cause) => with_message(Failure::of_query(cause, &[]).message()),
    }
}

/// The cause of an error; `None` if Ballista repeats the task.
fn cause(error: &DataFusionError) -> Option<&DataFusionError> {
    match error.find_root() {
        DataFusionError::IoError(_) => None,
        DataFusionError::External(external) => match external.downcast_ref::<BallistaError>() {
            Some(BallistaError::DataFusionError(inner)) => cause(inner),
            Some(_) => None,
            None => Some(error),
        },
        _ => Some(error),
    }
}

/// Runs tasks as Ballista does, and adds messages to their errors.
pub(super) struct TaskEngine(pub(super) DefaultExecutionEngine);

impl ExecutionEngine for TaskEngine {
    fn create_query_stage_exec(
        &self,
        job_id: JobId,
        stage_id: usize,
        task_id: usize,
        global_output_partition_ids: Vec<usize>,
        plan: Arc<dyn ExecutionPlan>,
        work_dir: &str,
        config: &SessionConfig,
    ) -> Result<Arc<dyn QueryStageExecutor>> {
        let task = self.0.create_query_stage_exec(
            job_id,
            stage_id,
            task_id,
            global_output_partition_ids,
            plan,
            work_dir,
            config,
        );
        Ok(Arc::new(Task(task.map_err(for_user)?)))
    }
}

/// A task.
#[derive(Debug)]
struct Task(Arc<dyn QueryStageExecutor>);

impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[async_trait]
impl QueryStageExecutor for Task {
    async fn execute_query_stage(
        &self,
        task_id: usize,
        context: Arc<TaskContext>,
    ) -> Result<Vec<ShuffleWritePartition>> {
        self.0.execute_query_stage(task_id, context).await.map_err(for_user)
    }

    fn collect_plan_metrics(&self) -> Vec<MetricsSet> {
        self.0.collect_plan_metrics()
    }

    fn collect_runtime_stats_reports(&self) -> Vec<RuntimeStatsReport> {
        self.0.collect_runtime_stats_reports()
    }

    fn collect_window_state_reports(&self) -> Result<Vec<WindowStateReport>> {
        self.0.collect_window_state_reports()
    }

    fn collect_column_stats(&self) -> Vec<TaskColumnStats> {
        self.0.collect_column_stats()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_debug_output() {
        let text = "C:\\a \"b\";\n\u{e9}: 'x'";
        let nested = format!("Job x failed: {:?}", DataFusionError::Shared(Arc::new(with_message(text))));
        assert_eq!(message_in(&nested).as_deref(), Some(text));
        for other in ["", "x", "tacho-sql-message:", "tacho-sql-message:4;", "tacho-sql-message:zz;", MARK] {
            assert_eq!(message_in(other), None, "{other}");
        }
        let long = with_message(&"x".repeat(MAX_MESSAGE + 5)).to_string();
        assert_eq!(message_in(&long).map(|text| text.len()), Some(MAX_MESSAGE));
    }

    #[test]
    fn errors_that_repeat_a_task_are_unchanged() {
        let read = DataFusionError::IoError(std::io::Error::other("reset"));
        assert!(matches!(for_user(read), DataFusionError::IoError(_)));
        let lost = BallistaError::FetchFailed("executor".to_owned(), 1, 2, "gone".to_owned());
        let lost = for_user(DataFusionError::External(Box::new(lost)));
        assert!(matches!(lost.find_root(), DataFusionError::External(_)), "{lost:?}");
        let other = for_user(DataFusionError::Execution("damaged: x".to_owned()));
        assert_eq!(message_in(&other.to_string()).as_deref(), Some("damaged: x"));
        let nested = BallistaError::DataFusionError(Box::new(DataFusionError::Plan("wrong".to_owned())));
        let nested = DataFusionError::Shared(Arc::new(DataFusionError::External(Box::new(nested))));
        assert_eq!(message_in(&for_user(nested).to_string()).as_deref(), Some("wrong"));
        let again = for_user(with_message("a"));
        assert_eq!(message_in(&again.to_string()).as_deref(), Some("a"));
    }
}
