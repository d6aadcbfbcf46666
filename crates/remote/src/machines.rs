//! The known machines: `machines.toml`, and connecting to them.

mod config;

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use tachograph_counters::wildcard::{Pattern, closest, eq_ignore_case, fold_case};
use tachograph_perflib::{Connector, ErrorCode, Failure, IgnorePoison, Registry};

use crate::client::{ClientIdentity, HttpTransport, RemoteMachine, Trust};
use crate::token::Token;

pub use config::{MachinesError, check_name};

/// A machine of `machines.toml`.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The name, as used in counter paths.
    pub name: String,
    host: String,
    port: u16,
    trust: Option<Trust>,
    token: Option<Token>,
    identity: Option<ClientIdentity>,
    groups: Vec<String>,
    /// The file that defines it.
    file: PathBuf,
}

impl Machine {
    /// The transport to the machine's agent.
    fn transport(&self) -> Result<HttpTransport, Failure> {
        let transport = HttpTransport::with_identity(
            &self.name,
            &self.host,
            self.port,
            self.trust.as_ref(),
            self.token.clone(),
            self.identity.as_ref(),
        );
        transport.map_err(|error| {
            let reason = format!("{}: '{}': {error}", self.file.display(), self.name);
            Failure::new(ErrorCode::BAD_NETWORK_PATH, reason)
        })
    }
}

/// Maximum number of machines that a message names.
const MAX_NAMES: usize = 10;

/// The port of agents that `machines.toml` names without a port.
pub const DEFAULT_PORT: u16 = 7321;

/// The known machines and their connections. A [`Connector`] for the registry of this machine.
#[derive(Debug, Default)]
pub struct Machines {
    machines: Vec<Machine>,
    /// The files that were searched, for messages.
    files: Vec<PathBuf>,
    /// The machines that were requested, connected or not, by case-folded name.
    requested: Mutex<HashMap<String, Arc<RemoteMachine>>>,
}

impl Machines {
    /// Reads the user's file (`tachograph/machines.toml` in `$XDG_CONFIG_HOME` or `~/.config`) and the system's file
    /// (`/etc/tachograph/machines.toml`), if they exist. A machine that is in both is read from the user's file.
    ///
    /// # Errors
    ///
    /// The first invalid file or entry.
    pub fn of_user() -> Result<Self, MachinesError> {
        Self::read(&config::files_of_user())
    }

    /// Reads only the system's file, for programs that must not trust the environment of their caller.
    ///
    /// # Errors
    ///
    /// If the file is invalid.
    pub fn of_system() -> Result<Self, MachinesError> {
        Self::read(&[config::file_of_system()])
    }

    /// Reads these files; missing ones are ignored.
    ///
    /// # Errors
    ///
    /// The first invalid file or entry.
    pub fn read(files: &[PathBuf]) -> Result<Self, MachinesError> {
        let mut machines: Vec<Machine> = Vec::new();
        for file in files {
            for machine in config::read(file)? {
                if !machines.iter().any(|known| eq_ignore_case(&known.name, &machine.name)) {
                    machines.push(machine);
                }
            }
        }
        Ok(Self { machines, files: files.to_vec(), requested: Mutex::default() })
    }

    /// The machines, in the order of the files.
    pub fn machines(&self) -> &[Machine] {
        &self.machines
    }

    /// The names of the machines that `name` selects. It is a machine's name, `@GROUP`, `@all`, or a pattern with `*` and
    /// `?`. Leading backslashes are ignored.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::BAD_NETWORK_PATH`] if it selects none; the message says what to do.
    pub fn select(&self, name: &str) -> Result<Vec<&str>, Failure> {
        let name = name.trim_start_matches('\\');
        let is_selected = |machine: &&Machine| match name.strip_prefix('@') {
            Some("all") => true,
            Some(group) => machine.groups.iter().any(|known| eq_ignore_case(known, group)),
            None => Pattern::new(name).matches(&machine.name),
        };
        let selected: Vec<_> =
            self.machines.iter().filter(is_selected).map(|machine| machine.name.as_str()).collect();
        if selected.is_empty() {
            return Err(Failure::new(ErrorCode::BAD_NETWORK_PATH, self.unknown_message(name)));
        }
        Ok(selected)
    }

    /// The message for a name that selects no machine.
    fn unknown_message(&self, name: &str) -> String {
        let names = || self.machines.iter().map(|machine| machine.name.as_str());
        if !Pattern::new(name).is_literal() && !self.machines.is_empty() {
            let known: Vec<_> = names().take(MAX_NAMES).collect();
            let more = if self.machines.len() > MAX_NAMES { ", ..." } else { "" };
            return format!("no machine matches '{name}'; known machines: {}{more}", known.join(", "));
        }
        let has_address = |machine: &&Machine| {
            split_address(name).is_some_and(|(host, _)| eq_ignore_case(&host, &machine.host))
        };
        if let Some(machine) = self.machines.iter().find(has_address) {
            return format!("'{name}' is the address of '{0}'; use this name: {0}", machine.name);
        }
        if let Some(near) = closest(name, names()).filter(|_| !name.starts_with('@')) {
            return format!("unknown machine '{name}'; did you mean '{near}'?");
        }
        let file = self.files.first().map_or("machines.toml".into(), |file| file.display().to_string());
        match name.strip_prefix('@') {
            // This group has all machines of the files.
            Some("all") => {
                format!(
                    "there are no machines yet; add the lines that 'tacho agent setup' prints on them to {file}"
                )
            }
            Some(group) => {
                format!(
                    "no machine is in the group '{group}'; add groups = [\"{group}\"] to machines in {file}"
                )
            }
            None => format!(
                "unknown machine '{name}'; run 'tacho agent setup' on that machine, and add the line that it prints \
                 to {file}"
            ),
        }
    }

    /// The machine with this name, which need not be reachable. Repeated calls return the same object.
    ///
    /// # Errors
    ///
    /// [`ErrorCode::BAD_NETWORK_PATH`] if no machine has this name, or if its certificates cannot be read.
    pub fn machine(&self, name: &str) -> Result<Arc<RemoteMachine>, Failure> {
        let name = name.trim_start_matches('\\');
        let mut requested = self.requested.lock().ignore_poison();
        if let Some(known) = requested.get(&fold_case(name)) {
            return Ok(Arc::clone(known));
        }
        let machine = self.machines.iter().find(|machine| eq_ignore_case(&machine.name, name));
        let machine =
            machine.ok_or_else(|| Failure::new(ErrorCode::BAD_NETWORK_PATH, self.unknown_message(name)))?;
        let remote = Arc::new(RemoteMachine::new(&machine.name, Box::new(machine.transport()?)));
        requested.insert(fold_case(name), Arc::clone(&remote));
        Ok(remote)
    }
}

impl Connector for Machines {
    fn registry(&self, machine: &str) -> Result<Arc<Registry>, Failure> {
        self.machine(machine)?.recheck()
    }

    fn connected(&self) -> Vec<Arc<str>> {
        let requested = self.requested.lock().ignore_poison();
        let connected = requested.values().filter(|machine| machine.is_connected());
        let mut names: Vec<_> = connected.map(|machine| Arc::clone(machine.name())).collect();
        names.sort_unstable();
        names
    }
}

/// Splits an address `HOST[:PORT]`. An IPv6 address with a port must be in brackets. Returns `None` if the address has no
/// host, or if its port is not a number from 1 to 65535.
pub fn split_address(address: &str) -> Option<(String, u16)> {
    let (host, port) = match address.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            (host, if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) })
        }
        None if address.matches(':').count() > 1 => (address, None),
        None => match address.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (address, None),
        },
    };
    let port = port.map_or(Some(DEFAULT_PORT), |port| port.parse().ok())?;
    (!host.is_empty() && port != 0).then(|| (host.to_owned(), port))
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
