//! The client: plans queries and sends them to a scheduler.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use ballista_core::execution_plans::DistributedQueryExec;
use ballista_core::extension::{SessionConfigExt as _, SessionStateExt as _};
use ballista_core::planner::BallistaQueryPlanner;
use ballista_core::serde::protobuf::CancelJobParams;
use ballista_core::serde::protobuf::scheduler_grpc_client::SchedulerGrpcClient;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result};
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::QueryPlanner;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_planner::{DefaultPhysicalPlanner, PhysicalPlanner as _};
use datafusion::prelude::{SessionConfig, SessionContext};
use datafusion_proto::protobuf::LogicalPlanNode;
use tachograph_counters::IgnorePoison as _;

use super::codec::LogicalCodec;
use super::table::{ClusterTable, Table, absolute};
use super::{MAX_MESSAGE_BYTES, address, readiness};
use crate::failure::Failure;
use crate::inputs::Inputs;
use crate::inventory::Inventory;
use crate::query::{EngineOptions, Tables};

/// The number of tasks into which each step of a query is divided.
const PARTITIONS: usize = 16;

/// How long to wait for a query to be cancelled.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

/// A scheduler, and the query that it runs for this process.
#[derive(Debug)]
pub(crate) struct Cluster {
    scheduler: SocketAddr,
    running: Running,
}

/// The query that was sent to the scheduler.
type Running = Arc<Mutex<Option<Arc<dyn ExecutionPlan>>>>;

impl Cluster {
    /// The scheduler at a URL.
    pub(crate) fn new(scheduler: &str) -> Result<Self, Failure> {
        let scheduler =
            address::parse(scheduler).map_err(|error| Failure::usage(format!("--cluster: {error}")))?;
        Ok(Self { scheduler, running: Running::default() })
    }

    /// Connects to the scheduler. The result resolves to the failure to report when the scheduler has ended.
    ///
    /// # Errors
    ///
    /// When the scheduler cannot run queries.
    pub(crate) async fn connect(&self) -> Result<impl Future<Output = Failure> + use<>, Failure> {
        let connection = readiness::Connection::open(self.scheduler).await?;
        connection.check_executors()?;
        connection.watch()
    }

    /// Creates the context in which queries are planned.
    ///
    /// # Errors
    ///
    /// When DataFusion rejects an option.
    pub(crate) fn context(&self, options: &EngineOptions) -> Result<SessionContext, Failure> {
        let url = address::url(self.scheduler);
        let partitions = if options.threads == 0 { PARTITIONS } else { options.threads };
        let config = SessionConfig::new_with_ballista()
            .with_target_partitions(partitions)
            .with_ballista_grpc_client_max_message_size(MAX_MESSAGE_BYTES);
        let planner = ClusterPlanner {
            cluster: BallistaQueryPlanner::with_extension(
                url.clone(),
                config.ballista_config(),
                Arc::new(LogicalCodec::default()),
            ),
            local: DefaultPhysicalPlanner::default(),
            running: Arc::clone(&self.running),
        };
        let config = config.with_ballista_query_planner(Arc::new(planner));
        let failed = |error: DataFusionError| Failure::runtime(error);
        let runtime = RuntimeEnvBuilder::new().build_arc().map_err(failed)?;
        let state = SessionStateBuilder::new()
            .with_default_features()
            .with_config(config)
            .with_runtime_env(runtime)
            .build()
            .upgrade_for_ballista(url)
            .map_err(failed)?;
        Ok(SessionContext::new_with_state(state))
    }

    /// The tables of a query. Their paths are absolute, because executors may have another working folder.
    ///
    /// # Errors
    ///
    /// When the working folder is unknown, or an archive is in S3.
    pub(crate) fn tables(&self, inputs: &Inputs, logs: &[Vec<PathBuf>]) -> Result<Tables, Failure> {
        let failed = |error: std::io::Error| Failure::runtime(format!("the working folder: {error}"));
        let all = |paths: &[PathBuf]| paths.iter().map(|path| absolute(path)).collect::<Result<Vec<_>, _>>();
        let archive_files = all(&inputs.local_archive_files()?).map_err(failed)?;
        let logs: Result<Vec<Vec<PathBuf>>, _> = logs.iter().map(|paths| all(paths)).collect();
        let logs = logs.map_err(failed)?;
        let table = |table| -> Arc<dyn TableProvider> {
            Arc::new(ClusterTable { table, archive_files: archive_files.clone(), logs: logs.clone() })
        };
        Ok(vec![
            ("samples", table(Table::Samples)),
            ("machines", table(Table::Inventory(Inventory::Machines))),
            ("counters", table(Table::Inventory(Inventory::Counters))),
        ])
    }

    /// Cancels the query that was sent to the scheduler: no more of its tasks start.
    pub(crate) async fn cancel(&self) {
        let plan = self.running.lock().ignore_poison().take();
        let query =
            plan.as_ref().and_then(|plan| plan.downcast_ref::<DistributedQueryExec<LogicalPlanNode>>());
        let Some(job_id) = query.and_then(DistributedQueryExec::job_id) else { return };
        let cancel = async {
            let mut scheduler = SchedulerGrpcClient::connect(address::url(self.scheduler)).await.ok()?;
            scheduler.cancel_job(CancelJobParams { job_id: job_id.into() }).await.ok()
        };
        // The query has ended for the user. If the scheduler does not answer, its tasks run to their end.
        let _ = tokio::time::timeout(CANCEL_TIMEOUT, cancel).await;
    }
}

/// Plans a query that reads files so that the cluster runs it, and other queries, such as `DESCRIBE`, for this process.
struct ClusterPlanner {
    cluster: BallistaQueryPlanner<LogicalPlanNode>,
    local: DefaultPhysicalPlanner,
    running: Running,
}

impl fmt::Debug for ClusterPlanner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClusterPlanner").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

#[async_trait]
impl QueryPlanner for ClusterPlanner {
    async fn create_physical_plan(
        &self,
        plan: &LogicalPlan,
        session: &dyn Session,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        if !reads_tables(plan)? {
            return self.local.create_physical_plan(plan, session).await;
        }
        let plan = self.cluster.create_physical_plan(plan, session).await?;
        *self.running.lock().ignore_poison() = Some(Arc::clone(&plan));
        Ok(plan)
    }
}

/// Whether a plan reads a table.
fn reads_tables(plan: &LogicalPlan) -> Result<bool> {
    let mut found = false;
    plan.apply_with_subqueries(|node| {
        found |= matches!(node, LogicalPlan::TableScan(_));
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    Ok(found)
}
