//! `relog -a`: new samples at the end of a log.

use std::path::Path;
use std::sync::Arc;

use tachograph_counters::set::Instance;
use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{LogSink, TextSink};
use tachograph_flow::{UnionScan, feed};
use tachograph_logs::blg::BlgWriter;

use super::relog::{Target, blg_options, pump, scanned};
use crate::failure::Failure;
use crate::output::OutputFile;

/// Appends what the query asks for to `output`, which must have the same counters and earlier times; gives the number of
/// samples appended.
///
/// The log is written anew with both, and takes its place when it is whole: a log that a failed append left half
/// extended would be of no use.
pub(crate) fn append(query: &LogQuery, output: &Path, target: Target) -> Result<u64, Failure> {
    let refused = |why: String| Failure::usage(format!("{}: cannot append: {why}", output.display()));
    let old_query = LogQuery::new(vec![output.to_path_buf()]);
    let (existing, mut old) = old_query.table(|_| {})?;
    let format = old.reports[0].facts().format;
    if Target::of_log(format) != target {
        return Err(refused(format!("it is a {}; give -f the same format", format.name())));
    }
    let (new, pipeline) = scanned(query)?;
    if let Some(difference) = difference(&existing, &new) {
        return Err(refused(difference));
    }
    check_times(&existing, &new).map_err(refused)?;
    let mut file = OutputFile::create(output, true)?;
    if let Target::Text(format) = target {
        let zone = old.reports[0].facts().zone.clone();
        pump(old, &mut TextSink::new(&mut file, format, zone.clone(), &existing)?)?;
        pump(pipeline, &mut TextSink::new(&mut file, format, zone, &new)?.without_header())?;
    } else {
        let writer = BlgWriter::new(&mut file, blg_options(&old.reports, output))?;
        let mut sink = LogSink::new(writer);
        feed(&mut *old.source, &mut sink, || {})?;
        pump(pipeline, &mut sink)?;
    }
    file.finish()?;
    Ok(new.samples())
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
fn difference(existing: &UnionScan, new: &UnionScan) -> Option<String> {
    let (existing, new) = (paths(existing), paths(new));
    let unlike = existing.iter().zip(&new).find(|(old, new)| !eq_ignore_case(old, new));
    match (unlike, existing.len(), new.len()) {
        (Some((old, new)), ..) => Some(format!("where it has '{old}', the input has '{new}'")),
        (None, old, count) if old > count => Some(format!("the input has no '{}'", existing[count])),
        (None, old, count) if count > old => Some(format!("it has no '{}'", new[old])),
        _ => None,
    }
}

fn paths(scan: &UnionScan) -> Vec<String> {
    let mut paths = Vec::new();
    for group in scan.groups() {
        let all = Arc::new(Instance::new(None, "*", 0));
        let instances = match &group.set.instance {
            Some(instance) => std::slice::from_ref(instance),
            None => std::slice::from_ref(&all),
        };
        for instance in instances {
            paths.extend(group.set.counters.iter().map(|counter| group.set.path(instance, counter)));
        }
    }
    paths
}
