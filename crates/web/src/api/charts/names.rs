//! Charts of the sums over all instances with the same name (`group_by=name`).

use tachograph_counters::path::PathPattern;
use tachograph_counters::sample::Sample;
use tachograph_flow::{NameSums, Source};
use tachograph_monitor::{Reduced, Reducer, Reduction, SeriesTable, Span};

use crate::export::ExportError;
use crate::parameters::Parameters;
use crate::response::ApiError;
use crate::series::check_points;
use crate::workers::{Cancel, Cancellable};

/// Whether a request is for sums over the instances with the same name.
pub(super) fn are_summed(parameters: &Parameters) -> Result<bool, ApiError> {
    match parameters.one("group_by")? {
        None => Ok(false),
        Some("name") => Ok(true),
        Some(_) => Err(ApiError::bad_request("group_by: must be name")),
    }
}

/// Reduces the sums of a source to columns. Unlike the index of a log, it reads the whole time range.
pub(super) fn reduce(
    source: impl Source,
    span: Span,
    columns: usize,
    paths: &[PathPattern],
    cancel: &Cancel,
) -> Result<Reduced, ExportError> {
    let mut source = Cancellable::new(source, cancel);
    let (mut reduction, mut table) = (Reduction::new(span, columns), SeriesTable::default());
    let (mut reducer, mut sums) = (Reducer::default(), NameSums::default());
    let mut sample = Sample::default();
    while source.next(&mut sample)? {
        let summed = sums.push(&sample);
        // Checked before the reduction allocates columns for each series.
        check_points(summed.len().max(table.len()), columns).map_err(ExportError::Rejected)?;
        reducer.push(summed, &mut reduction, &mut table)?;
    }
    reducer.cut(&mut reduction, &mut table);
    Ok(reduction.finish(&table, paths))
}

/// The paths of single instances `NAME#n`, which have no sum of their own, each with the reason.
pub(super) fn without_sums(reduced: &Reduced, paths: &[PathPattern]) -> Vec<(String, String)> {
    let is_numbered = |text: &String| {
        let instance = text.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        instance.is_some_and(|(name, _)| name.contains('#'))
    };
    let is_found = |path: &PathPattern| reduced.series.iter().any(|one| one.info.is_selected_by(path));
    let texts = paths.iter().filter(|path| path.is_literal() && !is_found(path)).map(ToString::to_string);
    let reason = "included in the sum for its name";
    texts.filter(is_numbered).map(|path| (path, reason.to_owned())).collect()
}
