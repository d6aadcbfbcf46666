//! `tacho agent`: serves this machine's counters to other machines.

mod setup;

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use tachograph_logs::Budget;
use tachograph_machine::Machine;
use tachograph_metrics::{MetricNames, MetricsOptions};
use tachograph_web::{Embedding, LineLog, LiveOptions, ServeOptions, Server, Services, Token, Uploads};

use super::sampled_export::{self, SampledExport};
use crate::arguments::{AgentAction, AgentArguments, AgentFolder};
use crate::failure::{Failure, cannot, notify};
use crate::{allocator, exports, signals, this_machine};

pub(crate) fn run(arguments: &AgentArguments) -> Result<ExitCode, Failure> {
    match &arguments.action {
        Some(AgentAction::Setup { folder, address, name }) => {
            setup::run(&Files::in_folder(folder), address.as_deref(), name.as_deref())
        }
        None => serve(arguments),
    }
}

/// The agent's files.
struct Files {
    folder: PathBuf,
    key: PathBuf,
    certificate: PathBuf,
    token: PathBuf,
}

impl Files {
    fn in_folder(folder: &AgentFolder) -> Self {
        let folder = folder.folder.clone().unwrap_or_else(default_folder);
        let [key, certificate, token] = ["key.pem", "cert.pem", "token"].map(|name| folder.join(name));
        Self { folder, key, certificate, token }
    }

    /// Whether all files exist. Returns an error if only some do, or if this cannot be determined.
    fn exist(&self) -> Result<bool, Failure> {
        let mut missing = Vec::new();
        let files = [&self.key, &self.certificate, &self.token];
        for file in files {
            if !file.try_exists().map_err(|error| cannot("find", file, &error))? {
                missing.push(file.display().to_string());
            }
        }
        match missing.len() {
            0 => Ok(true),
            count if count == files.len() => Ok(false),
            _ => {
                Err(Failure::usage(format!("missing: {}; run 'tacho agent setup' again", missing.join(", "))))
            }
        }
    }
}

fn default_folder() -> PathBuf {
    if rustix::process::geteuid().is_root() {
        return PathBuf::from("/etc/tachograph/agent");
    }
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let settings = variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    settings.unwrap_or_default().join("tachograph/agent")
}

fn serve(arguments: &AgentArguments) -> Result<ExitCode, Failure> {
    allocator::prefer_small();
    let files = Files::in_folder(&arguments.folder);
    let address = arguments.address();
    let is_set_up = files.exist()?;
    if !is_set_up && !address.ip().is_loopback() {
        return Err(Failure::usage(format!(
            "{}: no key, certificate and token; run 'tacho agent setup' first",
            files.folder.display()
        )));
    }
    let machine = Arc::new(Machine::of_this_machine().map_err(Failure::runtime)?);
    let registry = machine.registry();
    let metrics = MetricsOptions {
        selection: this_machine::parse_paths(&registry, &arguments.metrics, &[])?,
        names: MetricNames::Current,
        mounts: Some(exports::mounts_now()),
    };
    this_machine::notify_missing_paths(&registry, &metrics.selection)?;
    let live = LiveOptions {
        registry: {
            let machine = Arc::clone(&machine);
            Arc::new(move || machine.refresh())
        },
        machines: None,
        interval: Duration::from_secs(1),
        points: 1,
        max_bytes: 0,
        zone: this_machine::current_zone(),
        boot_time: this_machine::boot_time(),
        facts: None,
        default_paths: Vec::new(),
        history: Vec::new(),
    };
    let clients = arguments.clients.trust();
    if clients.is_some() && !is_set_up {
        return Err(Failure::usage(format!(
            "{}: no key and certificate, which --client-ca and --client-fingerprint need; run 'tacho agent setup' first",
            files.folder.display()
        )));
    }
    let needs_token = is_set_up && clients.is_none();
    let token = needs_token.then(|| Token::read(&files.token)).transpose().map_err(Failure::runtime)?;
    let server = Server::bind(ServeOptions {
        address,
        services: Services::Agent,
        tls: is_set_up.then(|| (files.certificate.clone(), files.key.clone())),
        clients,
        token,
        embedding: Embedding::default(),
        hosts: Vec::new(),
        live,
        view: None,
        views: None,
        metrics: metrics.clone(),
        repeating_sets: Vec::new(),
        processes: None,
        logs: Vec::new(),
        recordings: None,
        uploads: Uploads { max_count: 0, ..Uploads::default() },
        memory: Budget::new(0),
        encoding: None,
        release: None,
        log: arguments.verbose.then(|| Arc::new(|line: &str| notify(line)) as LineLog),
        notices: Some(Arc::new(|line: &str| notify(line))),
    })?;
    let stopper = server.stopper();
    signals::handle(&signals::not_ignored(&[SIGINT, SIGTERM, SIGHUP]), move |_| stopper.stop())?;
    let protection = if is_set_up { "" } else { " (this machine only, not encrypted)" };
    notify(format_args!("agent listens on {}{protection}", server.address()));
    let export = sampled_export::start(&arguments.sampled, &machine, metrics)?;
    let outcome = server.run();
    export.into_iter().for_each(SampledExport::finish);
    outcome?;
    notify("agent stopped");
    Ok(ExitCode::SUCCESS)
}
