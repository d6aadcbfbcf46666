//! The arguments of `tacho agent`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use tachograph_remote::{DEFAULT_PORT, check_name, split_address};

use super::{ClientArguments, SampledExportArguments};

/// Serve this machine's counters to other machines, over TLS.
///
/// Other machines then query and record them: tacho query -s MACHINE, tacho query '\\MACHINE\SET(*)\COUNTER'. Prometheus can
/// scrape /metrics. Needs a certificate and a token, which 'tacho agent setup' creates. Stops on Ctrl-C.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = r"Examples:
  tacho agent setup                 create key, certificate and token; prints a line for the other machines
  tacho agent                       serve on port 7321 of all addresses
  tacho agent --listen 10.0.0.7     serve on one address
  tacho agent --client-ca ca.pem    accept consumers with a certificate of this authority; no token is needed
  tacho agent --to prometheus=https://metrics.example   also send samples, every 15 s

The other machines add the printed line to ~/.config/tachograph/machines.toml (mode 600). docs/guide.md shows all steps.")]
pub(crate) struct AgentArguments {
    #[command(subcommand)]
    pub(crate) action: Option<AgentAction>,
    /// The address to listen on. Default: all IPv4 addresses, port 7321.
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = parse_address)]
    listen: Option<SocketAddr>,
    #[command(flatten)]
    pub(crate) folder: AgentFolder,
    #[command(flatten)]
    pub(crate) clients: ClientArguments,
    /// Counters that --to sends, and those of /metrics if a request selects none. Default: all of the machine, except those per
    /// process, thread and control group.
    #[arg(long, num_args = 1.., value_name = "PATH")]
    pub(crate) metrics: Vec<String>,
    #[command(flatten)]
    pub(crate) sampled: SampledExportArguments,
    /// Log each request on standard error: method, path and status.
    #[arg(short, long)]
    pub(crate) verbose: bool,
}

/// The location of the agent's key, certificate and token.
#[derive(Clone, Debug, Args)]
pub(crate) struct AgentFolder {
    /// The folder with key.pem, cert.pem and token. Default: /etc/tachograph/agent for root, ~/.config/tachograph/agent
    /// for other users.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) folder: Option<PathBuf>,
}

/// The action.
#[derive(Debug, Subcommand)]
pub(crate) enum AgentAction {
    /// Create a key, a self-signed certificate and a token, and print the line for machines.toml on the other machines.
    /// Existing files are kept, except a certificate without its key.
    Setup {
        #[command(flatten)]
        folder: AgentFolder,
        /// The address in the printed line. Default: the address of this machine's default route.
        #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_agent_address)]
        address: Option<String>,
        /// The name in the printed line. Default: the host name.
        #[arg(long, value_name = "NAME", value_parser = parse_machine_name)]
        name: Option<String>,
    },
}

impl AgentArguments {
    /// The address to listen on.
    pub(crate) fn address(&self) -> SocketAddr {
        self.listen.unwrap_or(SocketAddr::from((Ipv4Addr::UNSPECIFIED, DEFAULT_PORT)))
    }
}

fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let alone = || text.parse::<IpAddr>().map(|address| SocketAddr::new(address, DEFAULT_PORT));
    text.parse().or_else(|_| alone()).map_err(|_| {
        "must be an IP address, with or without a port: 0.0.0.0:7321, [::]:7321, 192.168.1.7".to_owned()
    })
}

/// Parses the name of a machine in machines.toml.
fn parse_machine_name(text: &str) -> Result<String, String> {
    check_name(text).map(|()| text.to_owned())
}

/// Parses the address of an agent in machines.toml.
fn parse_agent_address(text: &str) -> Result<String, String> {
    let is_valid = |c: char| c.is_alphanumeric() || "-._:%".contains(c);
    match split_address(text).is_some_and(|(host, _)| host.chars().all(is_valid)) {
        true => Ok(text.to_owned()),
        false => Err("must be a host name or an IP address, with or without a port: web1, 10.0.0.7:7321, [fe80::1]:7321".to_owned()),
    }
}
