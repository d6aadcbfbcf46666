//! `relog -a`: appends samples to a log.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Instance;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::logs::LogReport;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{JsonSink, LogSink, TextForm, TextSink};
use tachograph_flow::{FlowError, Source, UnionScan, feed};
use tachograph_logs::blg::BlgWriter;
use tachograph_logs::{Format, ReadOptions};

use super::notify_problems;
use super::relog::{blg_options, run_pipeline, scanned};
use crate::failure::Failure;
use crate::output::create_output;

/// Appends the result of the query to `output`, which must have the same counters and earlier times; returns the number of
/// samples appended.
///
/// Writes a new log with the existing and the appended samples, and replaces `output` when the new log is complete, so that
/// a failed append changes nothing.
pub(crate) fn append(
    query: &mut LogQuery,
    output: &Path,
    format: Format,
    form: &dyn Fn(&[LogReport]) -> TextForm,
) -> Result<u64, Failure> {
    let cannot_append = |why: String| format!("{}: cannot append: {why}", output.display());
    // `--encoding` applies to the inputs only.
    let reading = ReadOptions { encoding: None, ..query.reading.clone() };
    let old_query = LogQuery { reading, ..LogQuery::new(vec![output.to_path_buf()]) };
    let (existing, mut old) = old_query.table(|_| Ok(()))?;
    let existing_format = old.reports[0].facts().format;
    if existing_format != format {
        let why = format!("its format is {}; use the same with -f", existing_format.name());
        return Err(Failure::usage(cannot_append(why)));
    }
    // `ID Process` and `ID Thread` are added to the selection only if the log already has them.
    if format == Format::Blg && existing.has_identities() {
        query.selection = query.selection.clone().with_identities();
    }
    query.zone = Some(old.reports[0].facts().zone.clone());
    let (new, mut pipeline) = scanned(query)?;
    let has_columns = format != Format::Blg;
    if let Some(difference) = difference(&existing, &new, has_columns) {
        return Err(Failure::usage(cannot_append(difference)));
    }
    check_times(&existing, &new).map_err(|why| Failure::runtime(cannot_append(why)))?;
    let reports: Vec<_> = old.reports.iter().chain(&pipeline.reports).cloned().collect();
    let mut file = create_output(output, true)?;
    let written = match format {
        Format::Csv | Format::Tsv => {
            let zone = old.reports[0].facts().zone.clone();
            let write = || {
                // The whole log is rewritten, in the form of the existing log.
                let form = form(&old.reports);
                let mut sink = TextSink::new(&mut file, format, zone.clone(), &existing)?.with_form(form)?;
                run_pipeline(old, &mut sink)?;
                drop(sink);
                run_pipeline(
                    pipeline,
                    &mut TextSink::new(&mut file, format, zone, &new)?.with_form(form)?.without_header(),
                )
            };
            write()
        }
        Format::Json => {
            let write = || {
                run_pipeline(old, &mut JsonSink::new(&mut file, &existing))?;
                run_pipeline(pipeline, &mut JsonSink::new(&mut file, &new))
            };
            write()
        }
        // Archives and databases do not reach this function: they have writers of their own.
        Format::Blg | Format::Archive | Format::Sql => {
            let write = || {
                let mut sink = LogSink::new(BlgWriter::new(&mut file, blg_options(&old.reports, output))?);
                feed(&mut *old.source, &mut sink, || {})?;
                let last = existing.time_range().map(|(_, last)| last.utc);
                pipeline.source = Box::new(AppendedSource { source: pipeline.source, last });
                run_pipeline(pipeline, &mut sink)
            };
            write()
        }
    };
    let samples = written.map_err(|error| Failure::of_output(error, output))?;
    notify_problems(&reports);
    file.finish()?;
    Ok(samples)
}

/// The bit that is set in `Sample::log` of appended samples, so that their log indexes differ from those of the existing log.
const APPENDED: u32 = 1 << 31;

/// Skips baselines that are not later than `last`, the last sample of the existing log.
struct AppendedSource {
    source: Box<dyn Source>,
    last: Option<FileTime>,
}

impl Source for AppendedSource {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while self.source.next(sample)? {
            sample.log |= APPENDED;
            if !sample.is_baseline || self.last.is_none_or(|last| sample.at.utc > last) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn check_times(existing: &UnionScan, new: &UnionScan) -> Result<(), String> {
    match (existing.time_range(), new.time_range()) {
        (Some((_, last)), Some((first, _))) if first.utc <= last.utc => Err(format!(
            "it ends at {}, but the input starts at {}; cut the input with -b",
            last.rfc3339(),
            first.rfc3339()
        )),
        _ => Ok(()),
    }
}

/// Describes the first column that differs.
fn difference(existing: &UnionScan, new: &UnionScan, has_columns: bool) -> Option<String> {
    let (existing, new) = (paths(existing, has_columns), paths(new, has_columns));
    let different = existing.iter().zip(&new).find(|(old, new)| !eq_ignore_case(old, new));
    match (different, existing.len(), new.len()) {
        (Some((old, new)), ..) => Some(format!("it has '{old}' where the input has '{new}'")),
        (None, old, count) if old > count => Some(format!("the input lacks '{}'", existing[count])),
        (None, old, count) if count > old => Some(format!("it lacks '{}'", new[old])),
        _ => None,
    }
}

/// The paths of the columns of a text log or JSON log, or of the entries of a BLG. In entries, the instance can be `*`.
fn paths(scan: &UnionScan, has_columns: bool) -> Vec<String> {
    let mut paths = Vec::new();
    let all = [Arc::new(Instance::new(None, "*", 0))];
    for group in scan.groups() {
        let instances = match &group.set.instance {
            _ if has_columns => &group.instances,
            Some(instance) => std::slice::from_ref(instance),
            None => &all[..],
        };
        for instance in instances {
            paths.extend(group.set.counters.iter().map(|counter| group.set.path(instance, counter)));
        }
    }
    paths
}
