//! Charts of the sums over all instances with the same name (`group_by=name`).

use tachograph_counters::path::PathPattern;
use tachograph_monitor::Reduced;

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
