//! The options of a server.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use tachograph_counters::civil::FileTime;
use tachograph_counters::path::PathPattern;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::live::MachinesSource;
use tachograph_logs::{Budget, TextEncoding, io_error_text};
use tachograph_metrics::MetricsOptions;
use tachograph_monitor::{RowProperties, View};
use tachograph_perflib::{Failure, Registry};
use tachograph_remote::{ClientTrust, SecretFileError, Token};

/// Returns the current counter sets of the machine; the same object as before if nothing changed.
pub type RegistryNow = Arc<dyn Fn() -> Arc<Registry> + Send + Sync>;

/// Facts about this machine that are not counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostFacts {
    /// The operating system, as users know it.
    pub operating_system: Option<String>,
    /// The number of online processors.
    pub processors: Option<usize>,
}

/// Returns the current facts about this machine.
pub type HostFactsNow = Arc<dyn Fn() -> HostFacts + Send + Sync>;

/// Receives log lines.
pub type LineLog = Arc<dyn Fn(&str) + Send + Sync>;

/// Returns freed memory to the system.
pub type ReleaseMemory = Arc<dyn Fn() + Send + Sync>;

/// The options of a server.
pub struct ServeOptions {
    /// The address to listen on; port 0 chooses a free one.
    pub address: SocketAddr,
    /// What the server offers.
    pub services: Services,
    /// Enables TLS: PEM files of the certificate and its key.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// The certificates that clients must have; any client is accepted if this is `None`. Requires TLS.
    pub clients: Option<ClientTrust>,
    /// The token that clients must send.
    pub token: Option<Token>,
    /// Which sites can embed the page.
    pub embedding: Embedding,
    /// Allowed names in the Host header, in addition to `localhost` and IP addresses.
    pub hosts: Vec<String>,
    /// How this machine's counters are collected.
    pub live: LiveOptions,
    /// The view that the page opens with, unless its URL contains one.
    pub view: Option<View>,
    /// A folder with view files (`.toml`) that all clients can open.
    pub views: Option<PathBuf>,
    /// The counters of `/metrics` if a request selects none.
    pub metrics: MetricsOptions,
    /// Sets whose counters another set has too, each with the English name of the other. Comparisons of whole logs omit them.
    pub repeating_sets: Vec<(&'static str, &'static str)>,
    /// Reads properties of this machine's processes that are not counters.
    pub processes: Option<Box<dyn RowProperties>>,
    /// Logs to open at the start, and folders whose logs clients can open.
    pub logs: Vec<PathBuf>,
    /// Where clients can record this machine's counters, if they are allowed to. Requires a token.
    pub recordings: Option<RecordingOptions>,
    /// Limits of uploads.
    pub uploads: Uploads,
    /// The memory that all open logs share.
    pub memory: Budget,
    /// The encoding of text logs; `None` detects it.
    pub encoding: Option<TextEncoding>,
    /// Returns freed memory to the system if the allocator does not do so itself. Called on a separate thread, soon after a log
    /// was closed or its statistics were computed.
    pub release: Option<ReleaseMemory>,
    /// Called with a line for every request. The lines contain no secrets.
    pub log: Option<LineLog>,
    /// Called with a line for each log named on the command line that cannot be read, and for each address that sends
    /// wrong tokens.
    pub notices: Option<LineLog>,
}

/// Which sites can embed the page in their pages. By default, none.
#[derive(Clone, Default)]
pub struct Embedding {
    /// The origins of the sites, such as `https://wiki.example`.
    pub origins: Vec<String>,
    /// A token that only shows views. It is part of the link of an embedded page, because browsers do not send the session
    /// cookie from pages of other sites. Requires a token of the server.
    pub token: Option<Token>,
}

/// What a server offers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Services {
    /// The page, its HTTP interface, `/metrics`, and the protocol of agents.
    #[default]
    All,
    /// The protocol of agents, and `/metrics`.
    Agent,
}

/// Machines whose counters are collected instead of this machine's.
pub trait MachineList: Send + Sync {
    /// The names of the machines.
    fn names(&self) -> &[Arc<str>];

    /// The counter sets that a machine has now. Connects to it if necessary, over a connection that the collection does not use.
    ///
    /// # Errors
    ///
    /// If there is no such machine, or if it does not answer.
    fn registry(&self, machine: &str) -> Result<Arc<Registry>, Failure>;

    /// The counter sets of a machine whose sets are known without waiting, since the machines have largely the same sets.
    /// Without such a machine, the sets of this machine.
    fn known_registry(&self) -> Arc<Registry>;

    /// A source of all machines, without paths, for samples at this interval.
    ///
    /// # Errors
    ///
    /// If the process has too many open files.
    fn source(&self, interval: Duration) -> Result<MachinesSource, Failure>;
}

/// How the counters are collected.
#[derive(Clone)]
pub struct LiveOptions {
    /// This machine's counter sets.
    pub registry: RegistryNow,
    /// The machines to collect; `None` for this machine.
    pub machines: Option<Arc<dyn MachineList>>,
    /// The time between two collections.
    pub interval: Duration,
    /// The number of intervals that are kept in memory.
    pub points: usize,
    /// Maximum memory of the kept samples, in bytes. If they would need more, fewer are kept, but at least three.
    pub max_bytes: usize,
    /// The time zone of exported logs, with the current UTC offset.
    pub zone: TimeZone,
    /// When the machine booted, in UTC; 0 if unknown.
    pub boot_time: FileTime,
    /// Facts about this machine; ignored if other machines are collected.
    pub facts: Option<HostFactsNow>,
    /// The counters that the page shows first.
    pub default_paths: Vec<String>,
    /// Counters that are collected even if no client requests them, so that charts do not start empty.
    pub history: Vec<PathPattern>,
}

/// Where clients can record, and the limits of a recording.
#[derive(Clone, Debug)]
pub struct RecordingOptions {
    /// The folder of the logs. Nothing is written outside of it. Clients can open its logs.
    pub folder: PathBuf,
    /// A recording ends when its log has this size.
    pub max_bytes: u64,
    /// A recording ends after this time.
    pub max_duration: Duration,
    /// A recording does not start if less disk space than this is free, and ends when less is free.
    pub min_free_bytes: u64,
}

/// Limits of uploads.
#[derive(Clone, Debug)]
pub struct Uploads {
    /// The folder for uploaded logs.
    pub folder: PathBuf,
    /// Maximum size of a log.
    pub max_bytes: u64,
    /// Maximum number of uploaded logs that are open.
    pub max_count: usize,
    /// A log that a client opened or uploaded is closed when it has not been viewed for this long.
    pub max_idle: Duration,
}

impl Default for Uploads {
    /// The folder for temporary files, 512 MiB per log, 16 logs, and one hour of idle time.
    fn default() -> Self {
        Self {
            folder: std::env::temp_dir(),
            max_bytes: 512 << 20,
            max_count: 16,
            max_idle: Duration::from_secs(3600),
        }
    }
}

/// Why a server cannot start.
#[derive(Debug)]
pub struct ServeError {
    message: String,
    is_usage: bool,
}

impl ServeError {
    pub(crate) fn failure(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: false }
    }

    pub(crate) fn io(operation: impl fmt::Display, error: &io::Error) -> Self {
        Self::failure(format!("{operation}: {}", io_error_text(error)))
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: true }
    }

    /// Whether the options are invalid.
    pub fn is_usage(&self) -> bool {
        self.is_usage
    }
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ServeError {}

impl From<SecretFileError> for ServeError {
    fn from(error: SecretFileError) -> Self {
        Self::failure(error.to_string())
    }
}
