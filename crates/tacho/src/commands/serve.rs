//! `tacho serve`: the web monitor.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use tachograph_machine::Machine;
use tachograph_monitor::{Chosen, View};
use tachograph_perflib::Registry;
use tachograph_system::Roots;
use tachograph_web::metrics::MetricsOptions;
use tachograph_web::{LineLog, LiveOptions, ServeError, ServeOptions, Server, Token, Uploads};

use crate::arguments::ServeArguments;
use crate::failure::{Failure, say};
use crate::live;

/// How many intervals of this machine are kept.
const POINTS: usize = 1000;
/// Longest file of a token.
const MAX_TOKEN_BYTES: u64 = 4096;

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::work)?;
    let registry = machine.registry();
    let view = view(arguments, &registry)?;
    let mut default_paths = match &view {
        Some(view) => view.counters.iter().map(|chosen| chosen.path.clone()).collect(),
        None => arguments.paths(&registry)?,
    };
    if default_paths.is_empty() {
        default_paths = live::default_counters(&registry)?;
    }
    let metrics = arguments.metrics(&registry)?;
    live::say_missing(&registry, &[&default_paths[..], &metrics].concat())?;
    let interval = arguments.interval.or(view.as_ref().and_then(|view| view.interval));
    let live = LiveOptions {
        registry: Arc::new(move || machine.refresh()),
        interval: interval.unwrap_or(Duration::from_secs(1)),
        points: POINTS,
        zone: live::zone_of_now(),
        boot_time: tachograph_system::boot_time(&Roots::of_this_machine()).unwrap_or_default(),
        default_paths: default_paths.iter().map(ToString::to_string).collect(),
    };
    let server = Server::bind(ServeOptions {
        address: arguments.address(),
        tls: arguments.tls_cert.clone().zip(arguments.tls_key.clone()),
        token: arguments.token_file.as_deref().map(token).transpose()?,
        hosts: arguments.hosts.clone(),
        live,
        view,
        metrics: MetricsOptions { selection: metrics },
        logs: arguments.logs.clone(),
        uploads: Uploads { max_bytes: arguments.max_upload.saturating_mul(1 << 20), ..Uploads::default() },
        log: arguments.verbose.then(|| Arc::new(|line: &str| say(line)) as LineLog),
        notices: Some(Arc::new(|line: &str| say(line))),
    })?;
    let stopper = server.stopper();
    ctrlc::set_handler(move || stopper.stop())
        .map_err(|error| Failure::work(format!("signals cannot be handled: {error}")))?;
    let mut out = io::stdout().lock();
    writeln!(out, "{}", server.url()).and_then(|()| out.flush())?;
    drop(out);
    server.run()?;
    Ok(ExitCode::SUCCESS)
}

/// The view of a file, with the counters of the command line behind its own.
fn view(arguments: &ServeArguments, registry: &Registry) -> Result<Option<View>, Failure> {
    let Some(file) = &arguments.view else { return Ok(None) };
    let mut view = View::open(file).map_err(Failure::usage)?;
    view.counters.extend(arguments.paths(registry)?.into_iter().map(Chosen::new));
    Ok(Some(view))
}

/// The token of a file.
fn token(file: &Path) -> Result<Token, Failure> {
    let failed = |what: &dyn std::fmt::Display| Failure::work(format!("{}: {what}", file.display()));
    let metadata = fs::metadata(file).map_err(|error| failed(&error))?;
    if metadata.is_dir() {
        return Err(failed(&"this is a folder, not a file with a token"));
    }
    if metadata.mode() & 0o006 != 0 {
        return Err(failed(&"everybody on this machine can read or change it; 'chmod o-rw' it first"));
    }
    if metadata.len() > MAX_TOKEN_BYTES {
        return Err(failed(&format_args!("a token has at most {MAX_TOKEN_BYTES} bytes")));
    }
    let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
    Token::new(text.lines().next().unwrap_or_default().trim()).map_err(|why| failed(&why))
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Self {
        if error.is_usage() { Self::usage(error) } else { Self::work(error) }
    }
}
