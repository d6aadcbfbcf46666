//! The arguments of `tacho serve`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tachograph_counters::path::PathPattern;
use tachograph_logs::TextEncoding;
use tachograph_perflib::Registry;

use super::{parse_count, parse_encoding, parse_interval};
use crate::failure::Failure;
use crate::{live, path_file};

/// The port where none is given.
const PORT: u16 = 7320;

/// Show this machine's counters and logs in a browser, and serve them to programs (HTTP, JSON, /metrics).
///
/// Prints the address to open. Only this machine can reach it, unless --listen says otherwise. Ends with Ctrl-C.
#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tacho serve
  tacho serve server.blg logs/
  tacho serve --listen 0.0.0.0:7320 --token-file token --tls-cert cert.pem --tls-key key.pem

docs/http.md describes the interface for programs; GET /api/openapi.json does so for machines.")]
pub(crate) struct ServeArguments {
    /// Logs that are opened at once, and folders whose logs (.blg, .csv, .tsv) can be opened in the browser.
    #[arg(value_name = "LOG|FOLDER", value_parser = super::log_name())]
    pub(crate) logs: Vec<PathBuf>,
    /// Counters of this machine that are shown first: paths such as '\Processor(*)\% Processor Time'. Quote them.
    #[arg(short = 'c', long = "counter", num_args = 1.., value_name = "PATH")]
    counters: Vec<String>,
    /// Counter paths from a file, one a line (-cf); `-` is standard input. Lines that begin with `#` or `;` are left out.
    #[arg(long = "counter-file", visible_alias = "cf", value_name = "FILE")]
    counter_files: Vec<PathBuf>,
    /// Counters that /metrics has where a request selects none. Default: the machine's, without those of each process,
    /// thread and control group.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    metrics: Vec<String>,
    /// Time from one collection to the next (-si): seconds, of which there may be a fraction (0.1), mm:ss or hh:mm:ss.
    /// Default: 1, or what the view says.
    #[arg(long, visible_alias = "si", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) interval: Option<Duration>,
    /// A saved view that the page opens with: counters, how they are shown, interval (docs/views.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<PathBuf>,
    /// The port on this machine; 0 takes a free one. Default: 7320.
    #[arg(long, value_name = "PORT", conflicts_with = "listen")]
    port: Option<u16>,
    /// Where to listen instead. What other machines can reach needs --token-file, or --tls-cert and --tls-key.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    /// A file whose first line is the secret that browsers and programs must show: at least 16 characters. Others of this
    /// machine must not be able to read it.
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// The certificate for TLS, with those that vouch for it: a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key: a PEM file.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// A name by which browsers and programs may call the server, beside localhost and addresses; may be repeated.
    #[arg(long = "host", value_name = "NAME", value_parser = parse_host)]
    pub(crate) hosts: Vec<String>,
    /// Largest log that may be uploaded, in MB.
    #[arg(long, value_name = "MB", default_value = "512", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) max_upload: u64,
    /// Memory that all open logs share, in MB; a log that needs more is refused.
    #[arg(long, value_name = "MB", default_value = "512", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) max_memory: u64,
    /// How the characters of text logs are encoded: utf-8, utf-16le, utf-16be, or a code page of Windows (1250 to 1258,
    /// 932, 936, 949, 950). Default: detected; a mark at the start of the file holds before this.
    #[arg(long, value_name = "NAME", value_parser = parse_encoding)]
    pub(crate) encoding: Option<TextEncoding>,
    /// Tell every request on standard error: method, path and status.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

impl ServeArguments {
    /// Where to listen.
    pub(crate) fn address(&self) -> SocketAddr {
        let here = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port.unwrap_or(PORT)));
        self.listen.unwrap_or(here)
    }

    /// The counters of /metrics; none where nothing is said of them.
    pub(crate) fn metrics(&self, registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
        self.metrics.iter().map(|text| live::parse_path(registry, text)).collect()
    }

    /// The counters of this machine that are named; none where nothing is said of them.
    pub(crate) fn paths(&self, registry: &Registry) -> Result<Vec<PathPattern>, Failure> {
        let mut paths = Vec::new();
        for text in &self.counters {
            paths.push(live::parse_path(registry, text)?);
        }
        for file in &self.counter_files {
            for path in path_file::read(file)? {
                paths.push(live::here(registry, path)?);
            }
        }
        Ok(paths)
    }
}

/// The name of a host as browsers send it: without a port, and in ASCII.
fn parse_host(text: &str) -> Result<String, String> {
    let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    match !text.is_empty() && text.bytes().all(is_fit) {
        true => Ok(text.to_owned()),
        false => Err("the name of a host alone, such as monitor.example".to_owned()),
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, PORT));
    text.parse().or_else(|_| alone()).map_err(|_| {
        "an address of this machine, with or without a port: 0.0.0.0:7320, [::]:7320, 192.168.1.7".to_owned()
    })
}
