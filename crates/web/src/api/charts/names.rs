//! Charts of the sums over all instances with the same name (`group_by=name`), or over all instances of a machine
//! (`group_by=machine`).

use tachograph_counters::path::{CounterPath, InstanceName, PathPattern};
use tachograph_flow::NameSums;
use tachograph_monitor::{Reduced, has_no_rank};

use crate::parameters::Parameters;
use crate::response::ApiError;

/// The instances that a request sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Summed {
    None,
    /// All instances with the same name.
    Names,
    /// All instances of a machine.
    Machines,
}

/// The parameter `group_by` of `series`.
pub(super) fn summed(parameters: &Parameters) -> Result<Summed, ApiError> {
    match parameters.one("group_by")? {
        None => Ok(Summed::None),
        Some("name") => Ok(Summed::Names),
        Some("machine") => Ok(Summed::Machines),
        Some(_) => Err(ApiError::bad_request("group_by: must be name or machine")),
    }
}

/// Sums over the instances of a machine that a path selects; `None` if its instance has no wildcards. Totals are excluded if
/// there are other instances.
pub(in crate::api) fn machine_sums(path: &PathPattern) -> Option<NameSums> {
    let is_summed = path.instance().is_some_and(|instance| !instance.is_literal());
    is_summed.then(|| NameSums::of_all_instances(has_no_rank))
}

/// The path of the sums over the instances that a path selects.
pub(super) fn path_of_sums(path: &PathPattern) -> PathPattern {
    let instance = Some(InstanceName::from_parts(None, NameSums::ALL, 0));
    CounterPath { instance, ..path.path().clone() }.into()
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
