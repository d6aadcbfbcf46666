//! The board of a log, from which charts are computed, and the counter paths that it is prepared for.

use std::collections::HashMap;
use std::ops::ControlFlow;

use tachograph_counters::path::PathPattern;
use tachograph_monitor::{Board as _, LogBoard, LogProgress, Reduced, Span};

use super::log::Log;
use crate::response::ApiError;
use crate::series::{check_points, check_series};
use crate::workers::Cancel;

/// Maximum number of counter paths that the board of a log is prepared for.
const MAX_PATHS: usize = 256;

/// A board, once the log is read, and the paths that it is prepared for, the most recent last.
#[derive(Default)]
pub(super) struct ChartBoard {
    pub(super) board: Option<LogBoard>,
    paths: Vec<PathPattern>,
    /// The paths of the last chart, and the number of series that they select.
    last_count: Option<(Vec<PathPattern>, usize)>,
    /// Why a path selects nothing, by its string form.
    missing: HashMap<String, String>,
}

impl ChartBoard {
    /// Prepares the board for these paths; returns those that select nothing, with a reason.
    pub(super) fn set_paths(
        &mut self,
        log: &Log,
        paths: &[PathPattern],
        cancel: &Cancel,
    ) -> Result<Vec<(String, String)>, ApiError> {
        let Some(board) = &mut self.board else { return Ok(Vec::new()) };
        if paths.iter().any(|path| !self.paths.contains(path)) {
            let mut all: Vec<_> = self.paths.drain(..).filter(|path| !paths.contains(path)).collect();
            all.extend(paths.iter().cloned());
            let excess = all.len().saturating_sub(MAX_PATHS);
            all.drain(..excess);
            // The oldest paths are dropped if all paths together select too many series. Rejected paths are not kept.
            let catalogue = board.catalogue();
            let mut series: usize = 0;
            let mut error = None;
            let kept = all.iter().rev().take_while(|path| {
                series = series.saturating_add(catalogue.max_series(path));
                error = check_series(series).err();
                error.is_none()
            });
            let kept = kept.count();
            if let Some(error) = error.filter(|_| kept < paths.len()) {
                self.paths = all;
                self.paths.truncate(self.paths.len() - paths.len());
                return Err(error);
            }
            all.drain(..all.len() - kept);
            let mut on_progress = |_: LogProgress| match cancel.is_cancelled() || log.is_closed() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            };
            let selection = board.set_paths(&all, &mut on_progress);
            let selection = selection.map_err(|error| log.api_error(&error))?;
            if on_progress(LogProgress::default()).is_break() {
                return Err(Cancel::error());
            }
            let reason = |advice: Option<String>| match advice {
                Some(advice) => format!("not in the log: {advice}"),
                None => "not in the log".to_owned(),
            };
            self.missing =
                selection.unmatched().into_iter().map(|(path, advice)| (path, reason(advice))).collect();
            self.paths = all;
            // Reading the whole log may have found more sets and samples.
            log.set_ready(board);
        }
        let missing = |path: &PathPattern| {
            let text = path.to_string();
            let reason = self.missing.get(&text)?.clone();
            Some((text, reason))
        };
        Ok(paths.iter().filter_map(missing).collect())
    }

    /// Reduces a time range to columns. `choose` gets the log's time range, and returns the range to reduce and the
    /// number of columns. `None` if the log has no samples.
    pub(super) fn reduce(
        &mut self,
        log: &Log,
        paths: &[PathPattern],
        choose: impl FnOnce(Span) -> Result<(Span, usize), ApiError>,
    ) -> Result<Option<Reduced>, ApiError> {
        let Some(board) = &mut self.board else {
            return Err(ApiError::conflict("the log could not be read"));
        };
        let Some(full_span) = board.span() else { return Ok(None) };
        let (span, columns) = choose(full_span)?;
        let mut reduce =
            |span, columns| board.reduce(span, columns, paths).map_err(|error| log.api_error(&error));
        let series = match &self.last_count {
            Some((counted, series)) if counted == paths => *series,
            _ => reduce(full_span, 1)?.series.len(),
        };
        self.last_count = Some((paths.to_vec(), series));
        check_points(series, columns)?;
        reduce(span, columns).map(Some)
    }
}
