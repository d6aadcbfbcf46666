//! `tacho serve`: the web monitor.

mod machines;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_counters::IgnorePoison as _;
use tachograph_logs::Budget;
use tachograph_machine::Machine;
use tachograph_metrics::MetricsOptions;
use tachograph_monitor::{Axis, AxisScale, Chosen, Panel, View};
use tachograph_perflib::Registry;
use tachograph_system::{OnlineProcessors, Roots};
use tachograph_web::{
    Embedding, HostFacts, HostFactsNow, LineLog, LiveOptions, MachineList, RecordingOptions, ServeError,
    ServeOptions, Server, Services, Token, Uploads,
};

use super::sampled_export::{self, SampledExport};
use crate::arguments::ServeArguments;
use crate::failure::{Failure, notify};
use crate::process_properties::MachineProperties;
use crate::{allocator, exports, signals, this_machine};
use machines::ServedMachines;

/// The minimum and maximum number of live intervals that are kept in memory.
const POINTS: [usize; 2] = [1000, 3600];

/// The time for which live samples are kept.
const HISTORY: Duration = Duration::from_secs(3600);

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    allocator::prefer_small();
    if let Some(folder) = arguments.views.as_ref().filter(|folder| !folder.is_dir()) {
        return Err(Failure::usage(format!("--views {}: no such folder", folder.display())));
    }
    let machine = Arc::new(Machine::of_this_machine().map_err(Failure::runtime)?);
    let registry = machine.registry();
    let machines = match &arguments.machine {
        Some(name) => Some(Arc::new(ServedMachines::connect(&machine, name)?)),
        None => None,
    };
    let served = machines.as_ref().map(|machines| machines.summary());
    // The registry for which views are resolved.
    let shown = machines.as_ref().map_or_else(|| Arc::clone(&registry), |machines| machines.known_registry());
    let view = view(arguments, &shown)?;
    let mut default_paths = view.as_ref().map(|(_, resolved)| resolved.paths()).unwrap_or_default();
    if default_paths.is_empty() {
        default_paths = this_machine::default_counters(&shown)?;
    }
    let mut history = view.as_ref().map(|(_, resolved)| resolved.paths());
    let view = view.map(|(view, _)| view);
    if history.is_none()
        && let Some(mut overview) = View::ready_made("overview")
    {
        // Counters that this machine lacks are omitted without a message.
        history = this_machine::resolve_view(&shown, &mut overview).is_ok().then(|| overview.paths());
    }
    let metrics = MetricsOptions {
        selection: arguments.metrics(&registry)?,
        names: arguments.metrics_names,
        mounts: Some(exports::mounts_now()),
    };
    let of_this_machine = if machines.is_some() { &[][..] } else { &default_paths[..] };
    this_machine::notify_missing_paths(&registry, &[of_this_machine, &metrics.selection].concat())?;
    let interval = arguments.interval.or(view.as_ref().and_then(|view| view.interval));
    let interval = interval.unwrap_or(Duration::from_secs(1));
    let kept = HISTORY.as_secs_f64() / interval.as_secs_f64();
    let live = LiveOptions {
        registry: {
            let machine = Arc::clone(&machine);
            Arc::new(move || machine.refresh())
        },
        machines: machines.map(|machines| machines as Arc<dyn MachineList>),
        interval,
        points: (kept as usize).clamp(POINTS[0], POINTS[1]),
        max_bytes: usize::try_from(arguments.max_history.saturating_mul(1 << 20)).unwrap_or(usize::MAX),
        zone: this_machine::current_zone(),
        boot_time: this_machine::boot_time(),
        facts: Some(host_facts()),
        default_paths: default_paths.iter().map(ToString::to_string).collect(),
        history: history.unwrap_or_default(),
    };
    let server = Server::bind(ServeOptions {
        address: arguments.address(),
        services: Services::All,
        tls: arguments.tls_cert.clone().zip(arguments.tls_key.clone()),
        clients: arguments.clients.trust(),
        token: token(arguments.token_file.as_deref())?,
        embedding: Embedding {
            origins: arguments.embed_origins.clone(),
            token: token(arguments.embed_token_file.as_deref())?,
        },
        hosts: arguments.hosts.clone(),
        live,
        view,
        views: arguments.views.clone(),
        metrics: metrics.clone(),
        repeating_sets: this_machine::repeating_sets().collect(),
        processes: Some(Box::new(MachineProperties::new(&Roots::of_this_machine()))),
        logs: arguments.logs.clone(),
        recordings: recordings(arguments)?,
        uploads: Uploads { max_bytes: arguments.max_upload.saturating_mul(1 << 20), ..Uploads::default() },
        memory: Budget::new(arguments.max_memory.saturating_mul(1 << 20)),
        encoding: arguments.encoding,
        release: Some(Arc::new(allocator::release)),
        log: arguments.verbose.then(|| Arc::new(|line: &str| notify(line)) as LineLog),
        notices: Some(Arc::new(|line: &str| notify(line))),
    })?;
    if let Some(notice) = access_notice(arguments) {
        notify(notice);
    }
    let stopper = server.stopper();
    signals::handle(&signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]), move |_| stopper.stop())?;
    if let Some(machines) = served {
        notify(machines);
    }
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.url()).and_then(|()| out.flush())?;
    drop(out);
    let export = sampled_export::start(&arguments.sampled, &machine, metrics)?;
    let outcome = server.run();
    export.into_iter().for_each(SampledExport::finish);
    outcome?;
    Ok(ExitCode::SUCCESS)
}

/// A message about missing protection of a server that is reachable from other machines: everyone is admitted, or nothing is
/// encrypted.
fn access_notice(arguments: &ServeArguments) -> Option<&'static str> {
    let is_open = arguments.token_file.is_none() && arguments.clients.trust().is_none();
    match arguments.tls_cert {
        _ if arguments.address().ip().is_loopback() => None,
        Some(_) if is_open => Some(
            "the connections are encrypted, but everyone who can reach the server can read its counters and logs; \
             --token-file or --client-ca admits only some clients",
        ),
        Some(_) => None,
        None => Some(
            "clients need the token, but the connections are not encrypted: the token and all values can be read on the \
             network; --tls-cert with --tls-key encrypts them",
        ),
    }
}

/// Reads the operating system once, and the online processors at each call.
fn host_facts() -> HostFactsNow {
    let roots = Roots::of_this_machine();
    let operating_system = tachograph_system::operating_system(&roots);
    let online = Mutex::new(OnlineProcessors::new(&roots));
    Arc::new(move || HostFacts {
        operating_system: operating_system.clone(),
        processors: online.lock().ignore_poison().read().ok().map(<[u32]>::len),
    })
}

fn token(file: Option<&Path>) -> Result<Option<Token>, Failure> {
    file.map(Token::read).transpose().map_err(Failure::runtime)
}

/// The options of recordings that clients start; `None` if clients cannot record.
fn recordings(arguments: &ServeArguments) -> Result<Option<RecordingOptions>, Failure> {
    let Some(folder) = &arguments.allow_record else { return Ok(None) };
    if !folder.is_dir() {
        return Err(Failure::usage(format!("--allow-record {}: no such folder", folder.display())));
    }
    Ok(Some(RecordingOptions {
        folder: folder.clone(),
        max_bytes: arguments.record_max_size.saturating_mul(1 << 20),
        max_duration: arguments.record_max_time,
        min_free_bytes: arguments.record_min_free.saturating_mul(1 << 20),
    }))
}

/// The view with the counters from the command line, twice: as written, and resolved for the machine of `registry`. For
/// logs, views are resolved when they are shown.
fn view(arguments: &ServeArguments, registry: &Registry) -> Result<Option<(View, View)>, Failure> {
    let counters = arguments.paths(registry)?;
    let mut view = match &arguments.view {
        Some(file) => View::find(file).map_err(Failure::usage)?,
        None if counters.is_empty() => return Ok(None),
        None => View::default(),
    };
    let mut resolved = view.clone();
    if arguments.view.is_some() {
        this_machine::resolve_view(registry, &mut resolved)?.iter().for_each(notify);
    }
    if view.panels.is_empty() {
        let axis = Axis { scale: AxisScale::Linear, ..Axis::default() };
        view.panels.push(Panel { axis, ..Panel::default() });
    }
    for view in [&mut view, &mut resolved] {
        view.add_counters(counters.iter().cloned().map(Chosen::new));
    }
    Ok(Some((view, resolved)))
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        if error.is_usage() { Self::usage(error) } else { Self::runtime(error) }
    }
}
