//! A log that was read once to list its counters.

use std::path::{Path, PathBuf};

use tachograph_counters::path::PathPattern;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::{FlowError, Selection, UnionScan};
use tachograph_logs::{Grouping, LogFacts, ReadOptions};

use crate::failure::{Failure, notify};
use crate::progress::Progress;

/// The counters, instances and times of a log.
pub(crate) struct ScannedLog {
    /// The name that the user gave.
    pub(crate) path: PathBuf,
    /// The report of the log. The folder of an archive has one for each machine.
    pub(crate) reports: Vec<LogReport>,
    pub(crate) scan: UnionScan,
}

impl ScannedLog {
    /// Reads a whole log.
    pub(crate) fn read(path: &Path, reading: &ReadOptions) -> Result<Self, FlowError> {
        Self::read_part(path, &LogQuery { reading: reading.clone(), ..LogQuery::new(Vec::new()) })
    }

    /// Reads the samples and counters of a log that the query selects. The logs of the query are not read.
    pub(crate) fn read_part(path: &Path, query: &LogQuery) -> Result<Self, FlowError> {
        let reading = ReadOptions { grouping: Grouping::Neighbours, ..query.reading.clone() };
        // The machines of an archive are several paths.
        let LogQuery { paths, .. } = LogQuery::new(vec![path.to_path_buf()]);
        let query = LogQuery { paths, reading, ..query.clone() };
        let mut pipeline = query.samples()?;
        let mut scan = UnionScan::default();
        let mut progress = Progress::new();
        let reports = pipeline.reports.clone();
        tachograph_flow::run(&mut *pipeline.source, &mut scan, || progress.update(&reports))?;
        Ok(Self { path: path.to_path_buf(), reports: pipeline.reports, scan })
    }

    /// Reads the counters of a log that the operands select: each is a counter path, or the name of a counter set.
    ///
    /// # Errors
    ///
    /// When the log cannot be read, or an operand is not a path, or no operand selects a counter.
    pub(super) fn read_some(path: &Path, reading: &ReadOptions, operands: &[&str]) -> Result<Self, Failure> {
        let mut paths_of: Vec<Vec<PathPattern>> = Vec::new();
        for operand in operands {
            paths_of.push(paths_of_operand(operand)?);
        }
        let selection = Selection::new(paths_of.concat());
        let query = LogQuery { reading: reading.clone(), selection, ..LogQuery::new(Vec::new()) };
        let log = Self::read_part(path, &query)?;
        let selection = query.selection;
        let unmatched = selection.unmatched();
        let mut missing = Vec::new();
        for (operand, paths) in operands.iter().zip(&paths_of) {
            let advice_on = |path: &PathPattern| {
                let text = path.to_string();
                unmatched.iter().find(|(known, _)| *known == text).map(|(_, advice)| advice.clone())
            };
            // An operand is missing if none of its paths has matched.
            if let Some(advice) = paths.iter().map(advice_on).collect::<Option<Vec<_>>>() {
                let advice = advice.into_iter().flatten().next();
                let advice = advice.unwrap_or_else(|| format!("'tacho list {}' lists them", path.display()));
                missing.push(format!(
                    "'{operand}' is neither a log nor among the counters of {}: {advice}",
                    path.display()
                ));
            }
        }
        if missing.len() == operands.len() && !selection.has_seen_no_set() {
            return Err(Failure::usage_messages(missing));
        }
        missing.iter().for_each(notify);
        Ok(log)
    }

    /// The facts of the log, or of the first machine of an archive.
    pub(crate) fn facts(&self) -> &LogFacts {
        self.reports[0].facts()
    }

    /// Size of all files in bytes.
    pub(super) fn bytes(&self) -> u64 {
        self.reports.iter().map(|report| report.facts().file_bytes).sum()
    }
}

/// The paths that an operand stands for. The name of a counter set stands for all its counters.
fn paths_of_operand(operand: &str) -> Result<Vec<PathPattern>, Failure> {
    let parse = |text: &str| {
        PathPattern::parse(text).map_err(|error| Failure::usage(format!("'{operand}': {error}")))
    };
    let name = operand.trim_start_matches(['\\', '/']);
    match name.contains(['\\', '/']) {
        true => Ok(vec![parse(operand)?]),
        false => [format!(r"\{name}\*"), format!(r"\{name}(*)\*")].iter().map(|text| parse(text)).collect(),
    }
}
