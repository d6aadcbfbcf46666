//! `tacho serve`: the web monitor.

use std::fs;
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use tachograph_machine::Machine;
use tachograph_system::Roots;
use tachograph_web::metrics::MetricsOptions;
use tachograph_web::{LiveOptions, RequestLog, ServeError, ServeOptions, Server, Token, Uploads};

use crate::arguments::ServeArguments;
use crate::failure::{Failure, say};
use crate::live;

/// How many intervals of this machine are kept.
const POINTS: usize = 1000;
/// Longest file of a token.
const MAX_TOKEN_BYTES: u64 = 4096;

pub(crate) fn run(arguments: &ServeArguments) -> Result<ExitCode, Failure> {
    let machine = Machine::of_this_machine().map_err(Failure::work)?;
    let default_paths = arguments.paths(&machine.registry())?;
    let metrics = arguments.metrics(&machine.registry())?;
    let live = LiveOptions {
        registry: Arc::new(move || machine.refresh()),
        interval: arguments.interval,
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
        metrics: MetricsOptions { selection: metrics },
        logs: arguments.logs.clone(),
        uploads: Uploads { max_bytes: arguments.max_upload.saturating_mul(1 << 20), ..Uploads::default() },
        log: arguments.verbose.then(|| Arc::new(|line: &str| say(line)) as RequestLog),
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

/// The token of a file.
fn token(file: &Path) -> Result<Token, Failure> {
    let failed = |what: &dyn std::fmt::Display| Failure::work(format!("{}: {what}", file.display()));
    let metadata = fs::metadata(file).map_err(|error| failed(&error))?;
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
