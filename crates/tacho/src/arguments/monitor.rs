//! The arguments of `tacho monitor`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::{Args, ValueEnum};
use tachograph_counters::path::PathPattern;
use tachograph_flow::WindowBounds;
use tachograph_logs::ReadOptions;
use tachograph_monitor::{MAX_POINTS, MIN_POINTS};
use tachograph_screen::ThemeChoice;

use super::{SelectionArguments, has_log_extension, parse_interval};
use crate::failure::Failure;
use crate::path_file;

/// Watch counters on the terminal: lines over time with last, average, minimum and maximum; of this machine as they come, or
/// of logs.
///
/// Of logs every figure is that of the stretch that is visible, made from raw values. '?' on the screen lists the keys.
#[derive(Debug, Args)]
#[command(after_help = r"Examples:
  tacho monitor
  tacho monitor '\Processor Information(*)\% Processor Time' '\Memory\Available Bytes' -si 0.5
  tacho monitor server.blg -b '2013-02-19 18:50' -e '2013-02-19 19:00'
  tacho monitor --view disks.toml
Paths begin with a backslash; quote them.")]
pub(crate) struct MonitorArguments {
    /// Logs: .blg, .csv, .tsv or .json, known by their content; several are one stretch of time. Without a log: this machine.
    /// Counter paths may stand here too.
    #[arg(value_name = "LOG|PATH", value_parser = super::log_name())]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) selection: SelectionArguments,
    /// Time from one sample to the next (-si): seconds, of which there may be a fraction (0.1), mm:ss or hh:mm:ss. Default: 1,
    /// or what the view says.
    #[arg(long, visible_alias = "si", value_name = "TIME", allow_negative_numbers = true, value_parser = parse_interval)]
    pub(crate) interval: Option<Duration>,
    /// How many intervals a live chart shows, 2 to 1000. Default: 100, or what the view says.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_points)]
    pub(crate) points: Option<usize>,
    /// A saved view: counters, how they are shown, interval (docs/views.md; S on the screen writes one).
    #[arg(long, value_name = "FILE")]
    pub(crate) view: Option<PathBuf>,
    /// Colours for a dark or a light background, or none. Default: as the terminal says (COLORFGBG, NO_COLOR), else dark.
    #[arg(long, value_enum, ignore_case = true)]
    pub(crate) theme: Option<Theme>,
}

/// What colours are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Theme {
    /// A dark background.
    Dark,
    /// A light background.
    Light,
    /// No colours.
    None,
}

/// What is watched.
pub(crate) struct Watched {
    /// Logs; none for this machine.
    pub(crate) files: Vec<PathBuf>,
    /// Counters, as they were given.
    pub(crate) paths: Vec<PathPattern>,
    pub(crate) bounds: WindowBounds,
    pub(crate) reading: ReadOptions,
}

impl MonitorArguments {
    pub(crate) fn theme(&self) -> ThemeChoice {
        match self.theme {
            None => ThemeChoice::Detect,
            Some(Theme::Dark) => ThemeChoice::Dark,
            Some(Theme::Light) => ThemeChoice::Light,
            Some(Theme::None) => ThemeChoice::None,
        }
    }

    /// Tells logs from paths.
    pub(crate) fn watched(&self) -> Result<Watched, Failure> {
        let mut watched = Watched {
            files: Vec::new(),
            paths: Vec::new(),
            bounds: WindowBounds::default(),
            reading: self.selection.reading.options(),
        };
        for file in &self.files {
            match file.to_str().filter(|text| text.starts_with('\\')) {
                Some(text) => watched.take_path(text, "")?,
                None => watched.files.push(file.clone()),
            }
        }
        for text in &self.selection.counters {
            watched.take_path(text, "-c ")?;
        }
        for file in &self.selection.counter_files {
            watched.paths.extend(path_file::read(file)?);
        }
        let has_bounds = self.selection.begin.is_some() || self.selection.end.is_some();
        if watched.files.is_empty() && has_bounds {
            return Err(Failure::usage("-b and -e are a stretch of logs, and no log is given"));
        }
        if !watched.files.is_empty() && (self.interval.is_some() || self.points.is_some()) {
            return Err(Failure::usage(
                "-si and --points are for this machine; logs have their own intervals",
            ));
        }
        watched.bounds = self.selection.bounds(&watched.files, &watched.reading)?;
        Ok(watched)
    }
}

impl Watched {
    fn take_path(&mut self, text: &str, option: &str) -> Result<(), Failure> {
        let as_file = Path::new(text);
        // `-c` takes all that follows it, also the log's name where that stands last.
        if as_file.is_file() {
            self.files.push(as_file.to_path_buf());
            return Ok(());
        }
        match PathPattern::parse(text) {
            Ok(path) => self.paths.push(path),
            Err(_) if has_log_extension(as_file) => self.files.push(as_file.to_path_buf()),
            Err(error) => return Err(Failure::usage(format!("{option}'{text}': {error}"))),
        }
        Ok(())
    }
}

fn parse_points(text: &str) -> Result<usize, String> {
    let points = text.parse().ok().filter(|points| (MIN_POINTS..=MAX_POINTS).contains(points));
    points.ok_or_else(|| format!("a whole number from {MIN_POINTS} to {MAX_POINTS}"))
}
