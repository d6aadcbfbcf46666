//! `tacho serve`: the web monitor.

use std::io::{self, Write as _};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_counters::IgnorePoison;
use tachograph_logs::Budget;
use tachograph_machine::Machine;
use tachograph_monitor::{Chosen, View};
use tachograph_perflib::Registry;
use tachograph_system::{MountList, Roots};
use tachograph_web::metrics::{MetricsOptions, MountTable, MountedFileSystem, MountsNow};
use tachograph_web::{LineLog, LiveOptions, ServeError, ServeOptions, Server, Token, Uploads};

use crate::arguments::ServeArguments;
use crate::failure::{Failure, notify};
use crate::{allocator, signals, this_machine};

/// The number of live intervals that are kept in memory.
const POINTS: usize = 1000;

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    allocator::prefer_small();
    let machine = Machine::of_this_machine().map_err(Failure::runtime)?;
    let registry = machine.registry();
    let view = view(arguments, &registry)?;
    let mut default_paths = match &view {
        Some(view) => view.paths(),
        None => arguments.paths(&registry)?,
    };
    if default_paths.is_empty() {
        default_paths = this_machine::default_counters(&registry)?;
    }
    let metrics = arguments.metrics(&registry)?;
    this_machine::notify_missing_paths(&registry, &[&default_paths[..], &metrics].concat())?;
    let interval = arguments.interval.or(view.as_ref().and_then(|view| view.interval));
    let live = LiveOptions {
        registry: Arc::new(move || machine.refresh()),
        interval: interval.unwrap_or(Duration::from_secs(1)),
        points: POINTS,
        zone: this_machine::current_zone(),
        boot_time: this_machine::boot_time(),
        default_paths: default_paths.iter().map(ToString::to_string).collect(),
    };
    let server = Server::bind(ServeOptions {
        address: arguments.address(),
        tls: arguments.tls_cert.clone().zip(arguments.tls_key.clone()),
        token: arguments.token_file.as_deref().map(Token::read).transpose()?,
        hosts: arguments.hosts.clone(),
        live,
        view,
        metrics: MetricsOptions {
            selection: metrics,
            names: arguments.metrics_names,
            mounts: Some(mounts_now()),
        },
        logs: arguments.logs.clone(),
        uploads: Uploads { max_bytes: arguments.max_upload.saturating_mul(1 << 20), ..Uploads::default() },
        memory: Budget::new(arguments.max_memory.saturating_mul(1 << 20)),
        encoding: arguments.encoding,
        release: Some(Arc::new(allocator::release)),
        log: arguments.verbose.then(|| Arc::new(|line: &str| notify(line)) as LineLog),
        notices: Some(Arc::new(|line: &str| notify(line))),
    })?;
    let stopper = server.stopper();
    signals::handle(&signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]), move |_| stopper.stop())?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.url()).and_then(|()| out.flush())?;
    drop(out);
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

/// What is mounted on this machine, for the labels of file systems.
fn mounts_now() -> MountsNow {
    let state = Mutex::new((MountList::new(&Roots::of_this_machine()), Arc::<MountTable>::default()));
    MountsNow(Arc::new(move || {
        let mut state = state.lock().ignore_poison();
        let (list, table) = &mut *state;
        if let Some(mounted) = list.changed() {
            let mounted = mounted.into_iter().map(|one| MountedFileSystem {
                mount_point: one.mount_point,
                device: one.source,
                fs_type: one.fs_type,
            });
            *table = Arc::new(mounted.collect());
        }
        Arc::clone(table)
    }))
}

/// The view, with the counters from the command line added.
fn view(arguments: &ServeArguments, registry: &Registry) -> Result<Option<View>, Failure> {
    let Some(file) = &arguments.view else { return Ok(None) };
    let mut view = View::find(file).map_err(Failure::usage)?;
    this_machine::resolve_view(registry, &mut view)?.iter().for_each(notify);
    view.add_counters(arguments.paths(registry)?.into_iter().map(Chosen::new));
    Ok(Some(view))
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        if error.is_usage() { Self::usage(error) } else { Self::runtime(error) }
    }
}
