//! The processes of a cluster: `tacho-sql scheduler` and `tacho-sql executor`.

use std::ffi::OsString;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use arrow_flight::flight_service_server::FlightServiceServer;
use axum::routing::get;
use ballista_core::config::TaskSchedulingPolicy;
use ballista_core::error::BallistaError;
use ballista_core::extension::ballista_scalar_functions;
use ballista_core::registry::BallistaFunctionRegistry;
use ballista_core::serde::protobuf::scheduler_grpc_server::SchedulerGrpcServer;
use ballista_core::utils::{GrpcServerConfig, default_session_builder};
use ballista_executor::ArrowFlightServerProvider;
use ballista_executor::execution_engine::DefaultExecutionEngine;
use ballista_executor::executor_process::{ExecutorProcessConfig, start_executor_process};
use ballista_executor::flight_service::BallistaFlightService;
use ballista_executor::shutdown::Shutdown;
use ballista_scheduler::cluster::BallistaCluster;
use ballista_scheduler::config::{SchedulerConfig, TaskDistributionPolicy};
use ballista_scheduler::scheduler_process::create_scheduler;
use datafusion::execution::FunctionRegistry as _;
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::MemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::logical_expr::AggregateUDF;
use datafusion::prelude::SessionConfig;
use datafusion_proto::protobuf::{LogicalPlanNode, PhysicalPlanNode};
use tachograph_counters::IgnorePoison as _;
use tokio::net::TcpListener;
use tonic::service::Routes;
use tonic::transport::Server;

use super::arguments::{ExecutorArguments, SchedulerArguments};
use super::codec::{LogicalCodec, PhysicalCodec};
use super::task_errors::TaskEngine;
use super::{MAX_MESSAGE_BYTES, address, connections, logging, readiness};
use crate::average::{AVERAGE, AverageFunction};
use crate::date_trunc::date_trunc;
use crate::failure::Failure;
use crate::memory::QueryMemory;
use crate::query::{Interrupt, WORKER_STACK};
use crate::run_command;

/// An executor that has not asked for work for this time counts as dead, and others repeat its tasks. A busy executor
/// asks every 5 s, so with a limit of 5 s, busy executors would count as dead, too.
const EXECUTOR_TIMEOUT_SECONDS: u64 = 8;
/// How often the scheduler looks for dead executors.
const EXPIRY_INTERVAL_SECONDS: u64 = 2;
/// A killed executor delays a query by less than 15 s.
const _: () =
    assert!(EXECUTOR_TIMEOUT_SECONDS > 5 && EXECUTOR_TIMEOUT_SECONDS + EXPIRY_INTERVAL_SECONDS < 15);
/// How long the results of a query that has ended are kept.
const RESULTS_SECONDS: u64 = 300;
/// How long an executor keeps results whose removal the scheduler has not requested: longer than any query.
const LOST_RESULTS_SECONDS: u64 = 24 * 3600;
/// How often an executor looks for such results.
const CLEAN_UP_INTERVAL_SECONDS: u64 = 600;

/// Runs `tacho-sql scheduler` or `tacho-sql executor`; `None` if the words are neither.
pub(crate) fn run(words: &[OsString]) -> Option<ExitCode> {
    let (_, words) = words.split_first()?;
    match words.first()?.to_str()? {
        "scheduler" => Some(run_command(words, schedule)),
        "executor" => Some(run_command(words, execute)),
        _ => None,
    }
}

fn schedule(arguments: &SchedulerArguments) -> Result<(), Failure> {
    logging::start("scheduler", arguments.verbose);
    let interrupt = Interrupt::listen()?;
    let runtime = runtime()?;
    let outcome = runtime.block_on(async {
        tokio::select! {
            biased;
            () = interrupt.notified() => Ok(()),
            outcome = serve_scheduler(arguments.listen) => outcome,
        }
    });
    runtime.shutdown_background();
    outcome
}

async fn serve_scheduler(address: SocketAddr) -> Result<(), Failure> {
    let cannot_listen = |error: std::io::Error| {
        let reason = tachograph_logs::io_error_text(&error);
        Failure::runtime(format!("{address}: cannot listen: {reason}; choose another address with --listen"))
    };
    let listener = TcpListener::bind(address).await.map_err(cannot_listen)?;
    let address = listener.local_addr().map_err(cannot_listen)?;
    let config = SchedulerConfig {
        external_host: address::host(address),
        bind_host: address::host(address),
        bind_port: address.port(),
        scheduling_policy: TaskSchedulingPolicy::PullStaged,
        task_distribution: TaskDistributionPolicy::RoundRobin,
        finished_job_data_clean_up_interval_seconds: RESULTS_SECONDS,
        finished_job_state_clean_up_interval_seconds: RESULTS_SECONDS,
        grpc_server_max_decoding_message_size: MAX_MESSAGE_BYTES as u32,
        grpc_server_max_encoding_message_size: MAX_MESSAGE_BYTES as u32,
        grpc_client_max_message_size: MAX_MESSAGE_BYTES as u32,
        executor_timeout_seconds: EXECUTOR_TIMEOUT_SECONDS,
        expire_dead_executor_interval_seconds: EXPIRY_INTERVAL_SECONDS,
        no_executors_grace_period_seconds: EXECUTOR_TIMEOUT_SECONDS,
        override_session_builder: Some(Arc::new(|config: SessionConfig| {
            let mut state = default_session_builder(config)?;
            state.register_udaf(Arc::new(AggregateUDF::from(AverageFunction::new())))?;
            state.register_udf(Arc::new(date_trunc()))?;
            Ok(state)
        })),
        override_logical_codec: Some(Arc::new(LogicalCodec::default())),
        override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
        ..SchedulerConfig::default()
    };
    let cluster = BallistaCluster::new_from_config(&config).await.map_err(failed)?;
    let scheduler = create_scheduler::<LogicalPlanNode, PhysicalPlanNode>(cluster, Arc::new(config));
    let scheduler = scheduler.await.map_err(failed)?;
    let service = SchedulerGrpcServer::new(scheduler.clone())
        .max_encoding_message_size(MAX_MESSAGE_BYTES)
        .max_decoding_message_size(MAX_MESSAGE_BYTES);
    let readiness = get(move || {
        let is_ready = scheduler.is_ready();
        async move { readiness::response(is_ready) }
    });
    let routes = Routes::new(service).into_axum_router().route(readiness::PATH, readiness);
    print(&format!("scheduler of tacho-sql at {}", address::url(address)));
    let server = Server::builder().accept_http1(true).add_routes(Routes::from(routes));
    server.serve_with_incoming(connections::accept_from_this_user(listener)).await.map_err(Failure::runtime)
}

fn execute(arguments: &ExecutorArguments) -> Result<(), Failure> {
    logging::start("executor", arguments.verbose);
    // Ballista ends the executor at the first signal, after its tasks; a second signal ends the process.
    let interrupt = Interrupt::listen()?;
    let folder = {
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(".tacho-sql-executor-");
        let temp = arguments.temp_folder.clone().unwrap_or_else(std::env::temp_dir);
        builder.tempdir_in(&temp).map_err(|error| {
            let reason = tachograph_logs::io_error_text(&error);
            Failure::runtime(format!("{}: cannot write: {reason}; use --temp-folder", temp.display()))
        })?
    };
    let runtime = runtime()?;
    let outcome = runtime.block_on(serve_executor(arguments, folder.path(), &interrupt));
    runtime.shutdown_background();
    outcome
}

async fn serve_executor(
    arguments: &ExecutorArguments,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(), Failure> {
    let Some(work_dir) = folder.to_str() else {
        return Err(Failure::usage(format!(
            "{}: this name is not UTF-8: use --temp-folder",
            folder.display()
        )));
    };
    let scheduler_end = readiness::Connection::open(arguments.scheduler).await?.watch()?;
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let tasks = arguments.tasks.map_or(processors, usize::from);
    let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(arguments.memory));
    let temp_folder = folder.to_path_buf();
    let runtime_producer = move |_: &SessionConfig| {
        let disk = DiskManagerMode::Directories(vec![temp_folder.clone()]);
        RuntimeEnvBuilder::new()
            .with_memory_pool(Arc::clone(&pool))
            .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(disk))
            .build_arc()
    };
    let host = address::host(arguments.scheduler);
    let cannot_listen = |error: std::io::Error| {
        Failure::runtime(format!("no port is free: {}", tachograph_logs::io_error_text(&error)))
    };
    let listener = TcpListener::bind((arguments.scheduler.ip(), 0)).await.map_err(cannot_listen)?;
    let port = listener.local_addr().map_err(cannot_listen)?.port();
    let config = ExecutorProcessConfig {
        bind_host: host.clone(),
        external_host: Some(host.clone()),
        port,
        scheduler_host: host,
        scheduler_port: arguments.scheduler.port(),
        vcores: tasks,
        task_scheduling_policy: TaskSchedulingPolicy::PullStaged,
        work_dir: Some(work_dir.to_owned()),
        job_data_ttl_seconds: LOST_RESULTS_SECONDS,
        job_data_clean_up_interval_seconds: CLEAN_UP_INTERVAL_SECONDS,
        grpc_max_decoding_message_size: MAX_MESSAGE_BYTES as u32,
        grpc_max_encoding_message_size: MAX_MESSAGE_BYTES as u32,
        // No pool of Ballista's: `runtime_producer` has one for all tasks.
        memory_pool_size: Some(0),
        override_function_registry: Some(Arc::new(functions())),
        override_runtime_producer: Some(Arc::new(runtime_producer)),
        override_logical_codec: Some(Arc::new(LogicalCodec::default())),
        override_physical_codec: Some(Arc::new(PhysicalCodec::default())),
        override_arrow_flight_service: Some(results_server(listener)),
        override_execution_engine: Some(Arc::new(TaskEngine(DefaultExecutionEngine::new()))),
        ..ExecutorProcessConfig::default()
    };
    print(&format!("executor of {}: {tasks} tasks at a time", address::url(arguments.scheduler)));
    tokio::select! {
        outcome = start_executor_process(Arc::new(config)) => outcome.map_err(failed),
        // Ballista would connect to the next program that listens on the port, and run what that one sends.
        ended = scheduler_end => if interrupt.has_arrived() { Ok(()) } else { Err(ended) },
    }
}

/// The functions that tasks can use: those of the scheduler.
fn functions() -> BallistaFunctionRegistry {
    let mut functions = BallistaFunctionRegistry::default();
    // Ballista's own registry lacks functions of lists.
    for function in ballista_scalar_functions() {
        functions.scalar_functions.insert(function.name().to_owned(), function);
    }
    let date_trunc = Arc::new(date_trunc());
    functions.scalar_functions.insert(date_trunc.name().to_owned(), date_trunc);
    let average = Arc::new(AggregateUDF::from(AverageFunction::new()));
    functions.aggregate_functions.insert(AVERAGE.to_owned(), average);
    functions
}

/// Serves the results of tasks to other executors and to the client.
fn results_server(listener: TcpListener) -> Arc<ArrowFlightServerProvider> {
    // Ballista starts the server once.
    let listener = Mutex::new(Some(listener));
    Arc::new(move |work_dir: String, _: SocketAddr, mut shutdown: Shutdown, _: GrpcServerConfig| {
        let listener = listener.lock().ignore_poison().take();
        tokio::spawn(async move {
            let Some(listener) = listener else { return Ok(()) };
            let service = FlightServiceServer::new(BallistaFlightService::new(work_dir))
                .max_encoding_message_size(MAX_MESSAGE_BYTES)
                .max_decoding_message_size(MAX_MESSAGE_BYTES);
            let server = Server::builder().add_service(service);
            let connections = connections::accept_from_this_user(listener);
            let ended = server.serve_with_incoming_shutdown(connections, shutdown.recv()).await;
            ended.map_err(BallistaError::TonicError)
        })
    })
}

fn failed(error: BallistaError) -> Failure {
    match error {
        BallistaError::DataFusionError(error) => Failure::runtime(error.strip_backtrace()),
        other => Failure::runtime(other),
    }
}

fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let built = builder.thread_stack_size(WORKER_STACK).enable_all().build();
    built.map_err(|error| Failure::runtime(format!("cannot start threads: {error}")))
}

/// Prints a line about the state of the process.
fn print(line: &str) {
    // Nothing can be done if standard output is closed.
    let _ = writeln!(std::io::stdout(), "{line}");
}
