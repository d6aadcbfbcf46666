//! The arguments of commands that send samples to other systems.

use std::path::PathBuf;
#[cfg(feature = "web")]
use std::time::Duration;

use clap::Args;
use tachograph_export::Target;

use super::parse_count;
#[cfg(feature = "web")]
use super::parse_interval;

/// Where samples are sent.
#[derive(Debug, Args)]
#[command(next_help_heading = "Sending samples (docs/export.md)")]
pub(crate) struct ExportArguments {
    /// Send each sample to a receiver: Prometheus' remote-write, or OTLP over HTTP. A URL without a path gets the
    /// default one. Can be repeated. Samples that a receiver misses while it is down are sent later.
    #[arg(long = "to", value_name = "prometheus=URL|otlp=URL")]
    pub(crate) targets: Vec<Target>,
    /// A file with the bearer token for the receivers. Other users must not be able to read it.
    #[arg(long, value_name = "FILE", requires = "targets", conflicts_with = "to_login")]
    pub(crate) to_token: Option<PathBuf>,
    /// A file with user:password for the receivers. Other users must not be able to read it.
    #[arg(long, value_name = "FILE", requires = "targets")]
    pub(crate) to_login: Option<PathBuf>,
    /// Trust the CA certificates in this PEM file instead of the public ones.
    #[arg(long, value_name = "FILE", requires = "targets")]
    pub(crate) to_ca: Option<PathBuf>,
    /// The folder in which samples wait to be sent. Default: /var/lib/tachograph/export for root, otherwise
    /// ~/.local/state/tachograph/export.
    #[arg(long, value_name = "FOLDER", requires = "targets")]
    pub(crate) to_queue: Option<PathBuf>,
    /// Maximum size of each receiver's queue, in MB; at least 16. A full queue drops its oldest samples.
    #[arg(long, value_name = "MB", requires = "targets", default_value = "1024", allow_negative_numbers = true, value_parser = parse_count)]
    pub(crate) to_queue_size: u64,
    /// The label `job` (Prometheus) or the attribute `service.name` (OTLP) of all samples.
    #[arg(long, value_name = "NAME", requires = "targets", default_value = "tachograph")]
    pub(crate) to_job: String,
}

/// Where samples are sent by commands that take no samples of their own.
#[cfg(feature = "web")]
#[derive(Debug, Args)]
#[command(next_help_heading = "Sending samples (docs/export.md)")]
pub(crate) struct SampledExportArguments {
    #[command(flatten)]
    pub(crate) export: ExportArguments,
    /// Time between the samples that --to sends: the counters of --metrics, under the names of /metrics.
    #[arg(long, value_name = "TIME", requires = "targets", default_value = "15", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) to_interval: Duration,
}
