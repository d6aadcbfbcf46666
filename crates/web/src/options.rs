//! What a server is told at its start.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crate::metrics::MetricsOptions;
use crate::secret_file;
use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_logs::{Budget, TextEncoding};
use tachograph_monitor::View;
use tachograph_perflib::Registry;

/// Gives the counter sets of the machine as they are now; the same object as before where they are the same.
pub type RegistryNow = Arc<dyn Fn() -> Arc<Registry> + Send + Sync>;

/// Takes lines of text, each when there is one to tell.
pub type LineLog = Arc<dyn Fn(&str) + Send + Sync>;

/// Gives freed memory back to the system.
pub type ReleaseMemory = Arc<dyn Fn() + Send + Sync>;

/// What a server is told at its start.
pub struct ServeOptions {
    /// Where to listen; port 0 takes a free one.
    pub address: SocketAddr,
    /// The certificate and its key, PEM files, for TLS.
    pub tls: Option<(PathBuf, PathBuf)>,
    /// What a client has to show.
    pub token: Option<Token>,
    /// Names, beside those of loopback and addresses, under which clients may call the server.
    pub hosts: Vec<String>,
    /// The machine.
    pub live: LiveOptions,
    /// What the page opens with, where it is not told by its address.
    pub view: Option<View>,
    /// What `/metrics` has where a request selects nothing.
    pub metrics: MetricsOptions,
    /// Logs that are opened at the start, and folders whose logs clients may open.
    pub logs: Vec<PathBuf>,
    /// What clients may upload.
    pub uploads: Uploads,
    /// The memory that all open logs share.
    pub memory: Budget,
    /// How the characters of text logs are encoded; `None` where that is to be detected.
    pub encoding: Option<TextEncoding>,
    /// Gives freed memory back to the system, where the allocator does not do so by itself: called soon after a log was
    /// closed or statistics of one were made, on a thread of its own.
    pub release: Option<ReleaseMemory>,
    /// Called with a line for every request, where that is wanted. It holds no secrets.
    pub log: Option<LineLog>,
    /// Called with a line for each log of the command line that cannot be read, which names the file, and for each address
    /// that sends wrong tokens.
    pub notices: Option<LineLog>,
}

/// The machine and how its counters are collected.
#[derive(Clone)]
pub struct LiveOptions {
    /// Its counter sets.
    pub registry: RegistryNow,
    /// From one collection to the next.
    pub interval: Duration,
    /// How many intervals are kept.
    pub points: usize,
    /// The zone of local times that are written, with the bias in force.
    pub zone: TimeZone,
    /// When the machine was started, UTC; 0 where unknown.
    pub boot_time: FileTime,
    /// What is shown first.
    pub default_paths: Vec<String>,
}

/// What clients may upload.
#[derive(Clone, Debug)]
pub struct Uploads {
    /// Where they are kept while they are open.
    pub folder: PathBuf,
    /// Bytes of one log.
    pub max_bytes: u64,
    /// Logs at a time.
    pub max_count: usize,
    /// An uploaded log that nobody looks at for so long is closed.
    pub max_idle: Duration,
}

impl Default for Uploads {
    /// In the folder for temporary files; 512 MB each, 16 at a time, an hour.
    fn default() -> Self {
        Self {
            folder: std::env::temp_dir(),
            max_bytes: 512 << 20,
            max_count: 16,
            max_idle: Duration::from_secs(3600),
        }
    }
}

/// A secret that clients show. It is never printed.
#[derive(Clone)]
pub struct Token(Vec<u8>);

impl Token {
    /// The fewest characters of a token.
    pub const MIN_LENGTH: usize = 16;

    /// A token of at least [`MIN_LENGTH`](Self::MIN_LENGTH) printable characters without blanks.
    ///
    /// # Errors
    ///
    /// What is wrong with it, without its text.
    pub fn new(text: &str) -> Result<Self, String> {
        if text.len() < Self::MIN_LENGTH {
            return Err(format!("a token has at least {} characters", Self::MIN_LENGTH));
        }
        if !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token has printable ASCII characters only, and no blanks".to_owned());
        }
        Ok(Self(text.as_bytes().to_vec()))
    }

    /// The token of a file: its first line, without blanks around it.
    ///
    /// # Errors
    ///
    /// When it cannot be read, others of this machine can read or change it, or it is no token.
    pub fn read(file: &Path) -> Result<Self, ServeError> {
        let failed = |why: &str| ServeError::work(format!("{}: {why}", file.display()));
        let bytes = secret_file::read(file)?;
        let text = str::from_utf8(&bytes).map_err(|_| failed("this is not text; a token is expected"))?;
        Self::new(text.lines().next().unwrap_or_default().trim()).map_err(|why| failed(&why))
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(...)")
    }
}

/// Why a server cannot start.
#[derive(Debug)]
pub struct ServeError {
    message: String,
    is_usage: bool,
}

impl ServeError {
    pub(crate) fn work(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: false }
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self { message: message.into(), is_usage: true }
    }

    /// Whether it was asked for something that it does not do.
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
