//! The arguments of `tacho serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tachograph_counters::path::PathPattern;
use tachograph_logs::TextEncoding;
use tachograph_metrics::MetricNames;
use tachograph_perflib::Registry;

use super::text::parse_encoding;
use super::{ClientArguments, SampledExportArguments, parse_count, parse_interval};
use crate::failure::Failure;
use crate::this_machine;

const DEFAULT_PORT: u16 = 7320;

/// Serve the counters of this machine, or of several machines, and logs to browsers and programs (HTTP, JSON, /metrics).
///
/// Prints the URL to open. Only this machine can connect, unless --listen is used. Stops on Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tacho serve
  tacho serve server.blg logs/
  tacho serve -s @web
  tacho serve --listen 0.0.0.0:7320 --token-file token --tls-cert cert.pem --tls-key key.pem

docs/http.md describes the HTTP interface; GET /api/openapi.json is its OpenAPI description.")]
pub(crate) struct ServeArguments {
    /// Logs and archives (folders) to open at the start, and folders whose logs (.blg, .csv, .tsv) can be opened in the browser.
    #[arg(value_name = "LOG|FOLDER", value_parser = super::log_name())]
    pub(crate) logs: Vec<PathBuf>,
    /// Show these machines in place of this one: a name of machines.toml, @GROUP, @all, or a pattern with `*` and `?`. Several
    /// are separated by commas. 'tacho agent' runs on them. /metrics and --to remain those of this machine.
    #[arg(short = 's', long = "machine", value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Counters to show first: quoted paths such as '\Processor(*)\% Processor Time'.
    #[arg(short = 'c', long = "counter", num_args = 1.., value_name = "PATH")]
    counters: Vec<String>,
    /// Read counter paths from a file, one per line (-cf); `-` is standard input. Lines that start with `#` or `;` are
    /// comments.
    #[arg(long = "counter-file", visible_alias = "cf", value_name = "FILE")]
    counter_files: Vec<PathBuf>,
    /// Counters of /metrics if a request selects none. Default: those of the machine, except per process, thread and
    /// control group.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    metrics: Vec<String>,
    /// Names and labels of /metrics: `current`, or `old` for those before version 0.2, which version 0.3 will remove
    /// (docs/metrics.md).
    #[arg(long, value_name = "NAMES", default_value = "current", value_parser = parse_names)]
    pub(crate) metrics_names: MetricNames,
    /// Time between samples (-si): seconds (also 0.1), mm:ss or hh:mm:ss. Default: that of the view, or 1.
    #[arg(long, visible_alias = "si", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) interval: Option<Duration>,
    /// A view that the page opens with: overview, cpu, memory, disk, network, processes, cgroups, pressure, gpu,
    /// applications, sensors, or else a file (docs/views.md).
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) view: Option<PathBuf>,
    /// A folder with view files (.toml) that everyone who opens the page can choose from.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) views: Option<PathBuf>,
    /// The port on localhost; 0 selects a free one. Default: 7320.
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// The address to listen on instead of localhost. If other machines can connect, --token-file is required, which admits
    /// only clients with the token, or --tls-cert with --tls-key, which encrypts the connections. Use both.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    /// A file whose first line is the secret that clients must send: at least 16 characters. Other users must not be
    /// able to read the file.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The TLS certificate with its chain: a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The private key of the certificate: a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) clients: ClientArguments,
    /// A host name that clients are allowed to use for the server, in addition to localhost and addresses; can be
    /// repeated.
    #[arg(long = "host", value_name = "NAME", value_parser = parse_host)]
    pub(crate) hosts: Vec<String>,
    /// Maximum size of an uploaded log, in MB.
    #[arg(long, value_name = "MB", default_value = "512", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) max_upload: u64,
    /// Memory limit for all open logs together, in MB; a log that needs more is rejected.
    #[arg(long, value_name = "MB", default_value = "512", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) max_memory: u64,
    /// Memory for the kept live samples (the history), in MB. If the requested counters need more, fewer
    /// samples are kept.
    #[arg(long, value_name = "MB", default_value = "96", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) max_history: u64,
    /// Clients with the token can record this machine's counters into logs in this folder, one recording at a time.
    #[arg(long, value_name = "FOLDER", requires = "token_file", help_heading = "Recording from the page")]
    pub(crate) allow_record: Option<PathBuf>,
    /// Maximum size of a recorded log, in MB.
    #[arg(long, value_name = "MB", requires = "allow_record", default_value = "1024", allow_negative_numbers = true, value_parser = parse_count, help_heading = "Recording from the page")]
    pub(crate) record_max_size: u64,
    /// Maximum duration of a recording.
    #[arg(long, value_name = "TIME", requires = "allow_record", default_value = "24:00:00", allow_negative_numbers = true, value_parser = parse_interval, help_heading = "Recording from the page")]
    pub(crate) record_max_time: Duration,
    /// A recording ends if less space of the disk is free, in MB.
    #[arg(long, value_name = "MB", requires = "allow_record", default_value = "200", allow_negative_numbers = true, value_parser = parse_count, help_heading = "Recording from the page")]
    pub(crate) record_min_free: u64,
    /// A site whose pages can show the page in a frame: its scheme and host; can be repeated.
    #[arg(long = "embed-origin", value_name = "URL", help_heading = "Embedding (docs/http.md)")]
    pub(crate) embed_origins: Vec<String>,
    /// A file with a second token, which only shows views: for the links of embedded pages (`#embed=TOKEN`).
    #[arg(
        long,
        value_name = "FILE",
        requires = "token_file",
        requires = "embed_origins",
        help_heading = "Embedding (docs/http.md)"
    )]
    pub(crate) embed_token_file: Option<PathBuf>,
    /// Encoding of text logs: utf-8, utf-16le, utf-16be, or a Windows code page (1250 to 1258, 932, 936, 949, 950).
    /// Default: detected. A byte order mark takes precedence.
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub(crate) encoding: Option<TextEncoding>,
    /// Log each request on standard error: method, path and status.
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) sampled: SampledExportArguments,
}

impl ServeArguments {
    /// The address to listen on.
    pub(crate) fn address(&self) -> SocketAddr {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.unwrap_or(DEFAULT_PORT)));
        self.listen.unwrap_or(local)
    }

    /// The counters selected by --metrics.
    pub(crate) fn metrics(&self, registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
        this_machine::parse_paths(registry, &self.metrics, &[])
    }

    /// The counters selected by -c and -cf.
    pub(crate) fn paths(&self, registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
        match self.machine {
            // A path can name a machine of those that -s selects.
            Some(_) => this_machine::parse_any_paths(registry, &self.counters, &self.counter_files),
            None => this_machine::parse_paths(registry, &self.counters, &self.counter_files),
        }
    }
}

fn parse_names(text: &str) -> Result<MetricNames, String> {
    match text {
        "current" => Ok(MetricNames::Current),
        "old" => Ok(MetricNames::Old),
        _ => Err("must be current or old".to_owned()),
    }
}

/// Parses a host name in the form in which browsers send it: ASCII, without a port.
fn parse_host(text: &str) -> Result<String, String> {
    let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    match !text.is_empty() && text.bytes().all(is_valid) {
        true => Ok(text.to_owned()),
        false => Err("must be a host name without a port, such as monitor.example".to_owned()),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, DEFAULT_PORT));
    text.parse().or_else(|_| alone()).map_err(|_| {
        "must be an IP address, with or without a port: 0.0.0.0:7320, [::]:7320, 192.168.1.7".to_owned()
    })
}
