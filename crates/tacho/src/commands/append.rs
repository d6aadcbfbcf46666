//! `relog -a`: new samples at the end of a log.

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
use tachograph_logs::ReadOptions;
use tachograph_logs::blg::BlgWriter;

use super::notice_problems;
use super::relog::{Target, at_output, blg_options, pump, scanned};
use crate::failure::Failure;
use crate::output::OutputFile;

/// Appends what the query asks for to `output`, which must have the same counters and earlier times; gives the number of
/// samples appended.
///
/// The log is written anew with both, and takes its place when it is whole: a log that a failed append left half
/// extended would be of no use.
pub(crate) fn append(
    query: &mut LogQuery,
    output: &Path,
    target: Target,
    form: &dyn Fn(&[LogReport]) -> TextForm,
) -> Result<u64, Failure> {
    let refused = |why: String| Failure::usage(format!("{}: cannot append: {why}", output.display()));
    // The encoding that was given is that of the inputs.
    let reading = ReadOptions { encoding: None, ..query.reading.clone() };
    let old_query = LogQuery { reading, ..LogQuery::new(vec![output.to_path_buf()]) };
    let (existing, mut old) = old_query.table(|_| Ok(()))?;
    let format = old.reports[0].facts().format;
    if Target::of_log(format) != target {
        return Err(refused(format!("it is a {}; give -f the same format", format.name())));
    }
    // A log that was written without them is continued as it is.
    if target == Target::Blg && existing.has_identities() {
        query.selection = query.selection.clone().with_identities();
    }
    query.zone = Some(old.reports[0].facts().zone.clone());
    let (new, mut pipeline) = scanned(query)?;
    let is_text = target != Target::Blg;
    if let Some(difference) = difference(&existing, &new, is_text) {
        return Err(refused(difference));
    }
    check_times(&existing, &new).map_err(refused)?;
    let reports: Vec<_> = old.reports.iter().chain(&pipeline.reports).cloned().collect();
    let mut file = OutputFile::create(output, true)?;
    let samples = if let Target::Text(format) = target {
        let zone = old.reports[0].facts().zone.clone();
        let write = || {
            // All of it is written again, in the form of what was there.
            let form = form(&old.reports);
            let mut sink = TextSink::new(&mut file, format, zone.clone(), &existing)?.with_form(form)?;
            pump(old, &mut sink)?;
            drop(sink);
            pump(
                pipeline,
                &mut TextSink::new(&mut file, format, zone, &new)?.with_form(form)?.without_header(),
            )
        };
        write().map_err(|error| at_output(error, output))?
    } else if target == Target::Json {
        let write = || {
            pump(old, &mut JsonSink::new(&mut file, &existing))?;
            pump(pipeline, &mut JsonSink::new(&mut file, &new))
        };
        write().map_err(|error| at_output(error, output))?
    } else {
        let write = || {
            let mut sink = LogSink::new(BlgWriter::new(&mut file, blg_options(&old.reports, output))?);
            feed(&mut *old.source, &mut sink, || {})?;
            let last = existing.time_range().map(|(_, last)| last.utc);
            pipeline.source = Box::new(After { source: pipeline.source, last });
            pump(pipeline, &mut sink)
        };
        write().map_err(|error| at_output(error, output))?
    };
    notice_problems(&reports);
    file.finish()?;
    Ok(samples)
}

/// Tells the numbers of the logs that are appended from those of the log that was there.
const APPENDED: u32 = 1 << 31;

/// Leaves out a baseline that the log before holds as its last sample.
struct After {
    source: Box<dyn Source>,
    last: Option<FileTime>,
}

impl Source for After {
    fn next(&mut self, sample: &mut Sample) -> Result<bool, FlowError> {
        while self.source.next(sample)? {
            // What is appended is another log than what was there.
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
            "it ends at {}, and the input begins at {}; cut the input with -b",
            last.rfc3339(),
            first.rfc3339()
        )),
        _ => Ok(()),
    }
}

/// The first column in which the two differ. What a wildcard of a BLG takes in may come and go.
fn difference(existing: &UnionScan, new: &UnionScan, is_text: bool) -> Option<String> {
    let (existing, new) = (paths(existing, is_text), paths(new, is_text));
    let unlike = existing.iter().zip(&new).find(|(old, new)| !eq_ignore_case(old, new));
    match (unlike, existing.len(), new.len()) {
        (Some((old, new)), ..) => Some(format!("where it has '{old}', the input has '{new}'")),
        (None, old, count) if old > count => Some(format!("the input has no '{}'", existing[count])),
        (None, old, count) if count > old => Some(format!("it has no '{}'", new[old])),
        _ => None,
    }
}

/// The columns of a text; of a BLG its entries, whose wildcards take in what comes and goes.
fn paths(scan: &UnionScan, is_text: bool) -> Vec<String> {
    let mut paths = Vec::new();
    let all = [Arc::new(Instance::new(None, "*", 0))];
    for group in scan.groups() {
        let instances = match &group.set.instance {
            _ if is_text => &group.instances,
            Some(instance) => std::slice::from_ref(instance),
            None => &all[..],
        };
        for instance in instances {
            paths.extend(group.set.counters.iter().map(|counter| group.set.path(instance, counter)));
        }
    }
    paths
}
