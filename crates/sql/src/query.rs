//! Runs a query and writes its result.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::TableProvider;
use datafusion::common::{DataFusionError, Result, SchemaError};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::{SQLOptions, SessionConfig, SessionContext};
use futures::StreamExt as _;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_logs::output_file::remove_partial_files;
use tokio::sync::Notify;

use crate::arguments::Arguments;
use crate::average::{ARGUMENTS, AVERAGE, AverageFunction};
use crate::cluster::Cluster;
use crate::damage::Damage;
use crate::date_trunc::date_trunc;
use crate::failure::Failure;
use crate::file_limit;
use crate::inputs::{Inputs, check_for_cluster};
use crate::inventory::{Inventory, InventoryTable, SharedInventory};
use crate::log_scan::by_machine;
use crate::memory::QueryMemory;
use crate::output::Output;
use crate::progress::{BytesRead, Progress};
use crate::samples::Samples;
use crate::statement::rewrite;
use crate::time_literals::complete_times;

/// The names of the tables.
const TABLES: [&str; 4] = ["samples", "averages", "counters", "machines"];

/// The view `averages`: a row per counter of each instance, also if it has no interval, as in `tacho stats`. Rows without a value,
/// such as a counter's first sample, are not counted.
const AVERAGES: &str = r#"
SELECT machine, "set", parent, instance, counter, average(*) AS average, unit, type,
       count(CASE WHEN num IS NOT NULL OR value IS NOT NULL THEN 1 END) AS intervals,
       min(CASE WHEN num IS NOT NULL OR value IS NOT NULL THEN time END) AS first_time,
       max(CASE WHEN num IS NOT NULL OR value IS NOT NULL THEN time END) AS last_time
FROM samples
GROUP BY machine, "set", parent, instance, counter, unit, type
"#;

/// Bytes of memory that a thread must have for each row of a batch; limits the size of batches.
const MEMORY_PER_BATCH_ROW: usize = 16 << 10;
const MIN_BATCH_ROWS: usize = 256;
const MAX_BATCH_ROWS: usize = 8 << 10;

/// How queries run.
#[derive(Clone, Debug)]
pub struct EngineOptions {
    /// Bytes of memory for sorting, grouping and joining.
    pub memory: usize,
    /// The folder for temporary files; the system's by default.
    pub temp_folder: Option<std::path::PathBuf>,
    /// Number of threads, or of tasks of each step on a cluster; 0 for the default.
    pub threads: usize,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self { memory: 1 << 30, temp_folder: None, threads: 0 }
    }
}

/// Runs queries over the tables of some inputs.
pub struct Engine {
    context: SessionContext,
    read: BytesRead,
    damage: Damage,
    /// The size of the inputs; `None` if other processes read them.
    total: Option<u64>,
}

impl Engine {
    /// Creates an engine for these inputs.
    ///
    /// # Errors
    ///
    /// When an input cannot be opened.
    pub async fn new(inputs: Inputs, options: &EngineOptions) -> Result<Self, Failure> {
        Self::create(inputs, options, None).await
    }

    /// Creates an engine that runs queries in this process or on a cluster.
    async fn create(
        inputs: Inputs,
        options: &EngineOptions,
        cluster: Option<&Cluster>,
    ) -> Result<Self, Failure> {
        let failed = |error: DataFusionError| Failure::of_query(&error, &TABLES);
        let logs = by_machine(&inputs.logs)?;
        let read = BytesRead::default();
        let damage = Damage::skipping_files();
        let total = cluster.is_none().then_some(inputs.bytes);
        let (context, tables) = match cluster {
            Some(cluster) => (cluster.context(options)?, cluster.tables(&inputs, &logs)?),
            None => (local_context(options).map_err(failed)?, local_tables(inputs, logs, &read, &damage)),
        };
        context.register_udaf(AggregateUDF::from(AverageFunction::new()));
        context.register_udf(date_trunc());
        for (name, table) in tables {
            context.register_table(name, table).map_err(failed)?;
        }
        let engine = Self { context, read, damage, total };
        let averages = engine.plan(AVERAGES).await?;
        engine.context.register_table("averages", averages.into_view()).map_err(failed)?;
        Ok(engine)
    }

    /// Plans a query. Only statements that read are allowed.
    ///
    /// # Errors
    ///
    /// When the query is invalid.
    pub async fn plan(&self, sql: &str) -> Result<DataFrame, Failure> {
        self.data_frame(sql).await.map_err(|error| Failure::of_query(&error, &TABLES))
    }

    async fn data_frame(&self, sql: &str) -> Result<DataFrame> {
        let state = self.context.state();
        let dialect = state.config_options().sql_parser.dialect;
        let mut statement = state.sql_to_statement(sql, &dialect)?;
        let has_averages = rewrite(&mut statement)?;
        let planned = state.statement_to_plan(statement).await;
        let plan = planned.map_err(|error| if has_averages { average_error(error) } else { error })?;
        let only_reads =
            SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        only_reads.verify_plan(&plan)?;
        self.context.execute_logical_plan(complete_times(plan)?).await
    }

    /// Runs a query. Returns its schema and its batches.
    ///
    /// # Errors
    ///
    /// When the query is invalid.
    pub async fn run(&self, sql: &str) -> Result<(SchemaRef, SendableRecordBatchStream), Failure> {
        let frame = self.plan(sql).await?;
        let stream = frame.execute_stream().await.map_err(|error| Failure::of_query(&error, &TABLES))?;
        Ok((stream.schema(), stream))
    }

    /// Number of bytes that queries have read.
    pub fn bytes_read(&self) -> u64 {
        self.read.get()
    }
}

/// Explains an error about a column that `average(*)` stands for.
fn average_error(error: DataFusionError) -> DataFusionError {
    let DataFusionError::SchemaError(cause, _) = error.find_root() else { return error };
    match &**cause {
        SchemaError::AmbiguousReference { field } if ARGUMENTS.contains(&field.name()) => {
            DataFusionError::Plan(format!(
                "several tables have the column '{}': write {AVERAGE}(TABLE.*) to average the rows of one of them",
                field.name()
            ))
        }
        SchemaError::FieldNotFound { field, .. } if ARGUMENTS.contains(&field.name()) => {
            DataFusionError::Plan(format!(
                "there is no column '{}': {AVERAGE}(*) averages rows of samples, and needs their columns {}",
                field.name(),
                ARGUMENTS.join(", ")
            ))
        }
        _ => error,
    }
}

/// Creates the context of queries that run in this process.
fn local_context(options: &EngineOptions) -> Result<SessionContext> {
    let threads = match options.threads {
        0 => std::thread::available_parallelism().map_or(1, usize::from),
        threads => threads,
    };
    // Each thread has several batches in memory, of roughly 200 bytes per row.
    let batch_rows = (options.memory / threads / MEMORY_PER_BATCH_ROW).clamp(MIN_BATCH_ROWS, MAX_BATCH_ROWS);
    let config = SessionConfig::new().with_target_partitions(threads).with_batch_size(batch_rows);
    let mut config = config.with_information_schema(true);
    // Each sort reserves memory for merging, less if the limit is small.
    let reserved = (options.memory / (4 * threads)).min(10 << 20);
    config.options_mut().execution.sort_spill_reservation_bytes = reserved;
    let mut disk = DiskManagerBuilder::default();
    if let Some(folder) = &options.temp_folder {
        disk = disk.with_mode(DiskManagerMode::Directories(vec![folder.clone()]));
    }
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(QueryMemory::new(options.memory)))
        .with_disk_manager_builder(disk)
        .build_arc()?;
    Ok(SessionContext::new_with_config_rt(config, runtime))
}

/// Tables with their names.
pub(crate) type Tables = Vec<(&'static str, Arc<dyn TableProvider>)>;

/// The tables of queries that run in this process.
fn local_tables(inputs: Inputs, logs: Vec<Vec<PathBuf>>, read: &BytesRead, damage: &Damage) -> Tables {
    let shared = Arc::new(SharedInventory::new(inputs.archive_files.clone(), logs.clone(), damage.clone()));
    let inventory =
        |which| -> Arc<dyn TableProvider> { Arc::new(InventoryTable::new(which, Arc::clone(&shared))) };
    let samples: Arc<dyn TableProvider> =
        Arc::new(Samples::new(inputs.archive_files, logs, read.clone(), damage.clone()));
    vec![
        ("samples", samples),
        ("machines", inventory(Inventory::Machines)),
        ("counters", inventory(Inventory::Counters)),
    ]
}

/// How long to wait for the tasks of a query that has ended.
const SHUTDOWN: Duration = Duration::from_secs(5);

/// Ctrl-C, SIGTERM and SIGHUP.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    signal: Arc<AtomicI32>,
    notify: Arc<Notify>,
}

impl Interrupt {
    /// Listens on a thread. A second Ctrl-C or SIGTERM ends the process. A SIGHUP never counts as the second signal: when a
    /// terminal closes, both its shell and the kernel send one. Signals that the process inherited as ignored stay ignored.
    pub(crate) fn listen() -> Result<Self, Failure> {
        let interrupt = Self::default();
        let failed = |error: std::io::Error| Failure::runtime(format!("cannot handle signals: {error}"));
        let mut signals =
            signal_hook::iterator::Signals::new(not_ignored(&[SIGINT, SIGTERM, SIGHUP])).map_err(failed)?;
        let shared = interrupt.clone();
        let listen = move || {
            for signal in signals.forever() {
                if shared.signal.swap(signal, Ordering::SeqCst) != 0 && signal != SIGHUP {
                    let _removed = remove_partial_files();
                    std::process::exit(128 + signal);
                }
                shared.notify.notify_one();
            }
        };
        std::thread::Builder::new().name("signals".to_owned()).spawn(listen).map_err(failed)?;
        Ok(interrupt)
    }

    /// Whether a signal has arrived.
    pub(crate) fn has_arrived(&self) -> bool {
        self.signal.load(Ordering::SeqCst) != 0
    }

    /// Waits for the first signal.
    pub(crate) async fn notified(&self) {
        self.notify.notified().await;
    }
}

/// Returns `signals` without those that this process ignores, as after `nohup`.
fn not_ignored(signals: &[i32]) -> Vec<i32> {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    signals.iter().copied().filter(|signal| ignored & (1 << (signal - 1)) == 0).collect()
}

/// Stack size of the thread that plans a query: planning is recursive, and a condition can have thousands of terms.
const PLANNING_STACK: usize = 512 << 20;
/// Stack size of the threads that run the query.
pub(crate) const WORKER_STACK: usize = 32 << 20;

/// Runs the query of the arguments.
pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::runtime(format!("cannot start a thread: {error}"));
    std::thread::scope(|scope| {
        let planning = std::thread::Builder::new().name("query".to_owned()).stack_size(PLANNING_STACK);
        let thread = planning.spawn_scoped(scope, || run_on_this_thread(arguments)).map_err(failed)?;
        thread.join().unwrap_or_else(|_| Err(Failure::runtime("the query failed: this is a bug")))
    })
}

fn run_on_this_thread(arguments: &Arguments) -> Result<(), Failure> {
    file_limit::check()?;
    let interrupt = Interrupt::listen()?;
    let cluster = arguments.cluster.as_deref().map(Cluster::new).transpose()?;
    let threads = arguments.threads.map_or(0, usize::from);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    if threads > 0 && cluster.is_none() {
        builder.worker_threads(threads);
    }
    let failed = |error: std::io::Error| Failure::runtime(format!("cannot start threads: {error}"));
    let runtime = builder.thread_stack_size(WORKER_STACK).enable_all().build().map_err(failed)?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            () = interrupt.notified() => {
                if let Some(cluster) = &cluster {
                    cluster.cancel().await;
                }
                Err(Failure::interrupted(interrupt.signal.load(Ordering::SeqCst)))
            }
            outcome = run_query(arguments, threads, cluster.as_ref()) => outcome,
        }
    });
    // Ends the tasks of the query, which removes temporary files. A thread that reads a log ends at its next batch.
    runtime.shutdown_timeout(SHUTDOWN);
    outcome
}

async fn run_query(arguments: &Arguments, threads: usize, cluster: Option<&Cluster>) -> Result<(), Failure> {
    let query = write_result(arguments, threads, cluster);
    let Some(cluster) = cluster else { return query.await };
    check_for_cluster(&arguments.inputs)?;
    let scheduler_end = cluster.connect().await?;
    tokio::select! {
        biased;
        outcome = query => outcome,
        ended = scheduler_end => Err(ended),
    }
}

/// Writes the result of the query.
async fn write_result(
    arguments: &Arguments,
    threads: usize,
    cluster: Option<&Cluster>,
) -> Result<(), Failure> {
    if let Some(folder) = arguments.temp_folder.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("--temp-folder: {}: this is not a folder", folder.display())));
    }
    let mut output = Output::new(arguments)?;
    let inputs = Inputs::new(&arguments.inputs).await?;
    let options =
        EngineOptions { memory: arguments.memory, temp_folder: arguments.temp_folder.clone(), threads };
    let temp_folder = options.temp_folder.clone().unwrap_or_else(std::env::temp_dir);
    // On a cluster, the executors write temporary files.
    let temp_folder = cluster.is_none().then_some(temp_folder);
    let engine = Engine::create(inputs, &options, cluster).await?;
    let (schema, mut batches) = engine.run(&arguments.query).await?;
    let mut progress = Progress::new(engine.read.clone(), engine.total);
    let mut tick = tokio::time::interval(Duration::from_millis(200));
    output.begin(&schema)?;
    loop {
        tokio::select! {
            batch = batches.next() => {
                let Some(batch) = batch else { break };
                let batch = batch.map_err(|error| Failure::of_batch(&error, &TABLES, temp_folder.as_deref()))?;
                if batch.num_rows() > 0 {
                    progress.clear();
                    output.push(&batch)?;
                }
            }
            _ = tick.tick() => progress.update(),
        }
    }
    progress.clear();
    engine.damage.report()?;
    output.finish()
}
