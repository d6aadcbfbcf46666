//! The arguments of `tacho monitor`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use tachograph_counters::path::PathPattern;
use tachograph_flow::query::LogQuery;
use tachograph_logs::expand_archives;
use tachograph_monitor::{MAX_POINTS, MIN_POINTS};
use tachograph_screen::ThemeChoice;

use super::{NumberArguments, SelectionArguments, Word, parse_interval, push_log_or_path, words};
use crate::failure::Failure;
use crate::path_file;

/// Chart counters of this machine, of other machines or of logs on the terminal.
///
/// Shows last, average, minimum and maximum of the visible time range, computed from raw values. Press '?' for a list of
/// keys.
#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tacho monitor
  tacho monitor '\Processor Information(*)\% Processor Time' '\Memory\Available Bytes' -si 0.5
  tacho monitor -s @web
  tacho monitor server.blg -b '2013-02-19 18:50' -e '2013-02-19 19:00'
  tacho monitor --view disks.toml
Paths start with a backslash; quote them.")]
pub(crate) struct MonitorArguments {
    /// Logs: .blg, .csv, .tsv or .json, recognised by their content, or the folder of an archive; several are read as one. Without
    /// a log: this machine.
    /// Counter paths are also accepted.
    #[arg(value_name = "LOG|PATH", value_parser = super::log_name())]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Show these machines in place of this one: a name of machines.toml, @GROUP, @all, or a pattern with `*` and `?`. Several
    /// are separated by commas. 'tacho agent' runs on them.
    #[arg(short = 's', long = "machine", value_name = "MACHINE")]
    pub(crate) machine: Option<String>,
    /// Time between samples (-si): seconds (also 0.1), mm:ss or hh:mm:ss. Default: that of the view, or 1.
    #[arg(long, visible_alias = "si", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) interval: Option<Duration>,
    /// Number of intervals in a live chart, 2 to 1000. Default: that of the view, or 100.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_points)]
    pub(crate) points: Option<usize>,
    /// A view: overview, cpu, memory, disk, network, processes, cgroups, pressure, gpu, applications, sensors, or else a file (docs/views.md; the
    /// key S saves one). Default without paths: overview.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) view: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) numbers: NumberArguments,
    /// Colours for a dark or light background, or none. Default: detected from COLORFGBG and NO_COLOR, otherwise dark.
    #[arg(long, ignore_case = true, value_parser = words(THEMES))]
    theme: Option<ThemeChoice>,
}

const THEMES: &[Word<ThemeChoice>] = &[
    ("dark", ThemeChoice::Dark, "A dark background"),
    ("light", ThemeChoice::Light, "A light background"),
    ("none", ThemeChoice::None, "No colours"),
];

impl MonitorArguments {
    pub(crate) fn theme(&self) -> ThemeChoice {
        self.theme.unwrap_or(ThemeChoice::Detect)
    }

    /// The logs to show (none: this machine), and the requested counters.
    pub(crate) fn query(&self) -> Result<(LogQuery, Vec<PathPattern>), Failure> {
        let mut query = LogQuery::new(Vec::new());
        query.reading = self.selection.reading.options();
        let mut paths = Vec::new();
        for file in &self.files {
            match file.to_str().filter(|text| text.starts_with('\\')) {
                Some(text) => push_log_or_path(text, "", &mut query.paths, &mut paths)?,
                None => query.paths.push(file.clone()),
            }
        }
        for text in &self.selection.counters {
            push_log_or_path(text, "-c ", &mut query.paths, &mut paths)?;
        }
        for file in &self.selection.counter_files {
            paths.extend(path_file::read(file)?);
        }
        query.paths = expand_archives(query.paths);
        let has_bounds = self.selection.begin.is_some() || self.selection.end.is_some();
        if query.paths.is_empty() && has_bounds {
            return Err(Failure::usage("-b and -e select a time range of logs: name a log"));
        }
        if !query.paths.is_empty() && self.machine.is_some() {
            return Err(Failure::usage("-s names machines to sample; a log has its own"));
        }
        if !query.paths.is_empty() && (self.interval.is_some() || self.points.is_some()) {
            return Err(Failure::usage(
                "-si and --points apply to this machine only; logs have their own intervals",
            ));
        }
        query.bounds = self.selection.bounds(&query.paths, &query.reading)?;
        Ok((query, paths))
    }
}

fn parse_points(text: &str) -> Result<usize, String> {
    let points = text.parse().ok().filter(|points| (MIN_POINTS..=MAX_POINTS).contains(points));
    points.ok_or_else(|| format!("must be a whole number from {MIN_POINTS} to {MAX_POINTS}"))
}
