//! What is shown of logs when nothing is asked for.

use tachograph_counters::path::PathPattern;

use crate::catalogue::Catalogue;

/// What people look at first: of each line the first that there is. The six of Get-Counter, and what is near to them.
const FIRST: [&[&str]; 6] = [
    &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"],
    &[r"\Memory\% Committed Bytes In Use", r"\Memory\Committed Bytes", r"\Memory\Available Bytes"],
    &[r"\Memory\Cache Faults/sec", r"\Memory\Page Faults/sec", r"\Memory\Pages/sec"],
    &[r"\PhysicalDisk(_Total)\% Disk Time", r"\PhysicalDisk(_Total)\% Idle Time"],
    &[r"\PhysicalDisk(_Total)\Current Disk Queue Length", r"\PhysicalDisk(_Total)\Avg. Disk Queue Length"],
    &[r"\Network Interface(*)\Bytes Total/sec"],
];

/// The paths that a monitor of logs begins with: counters that people look at first, as far as there are any. Where there
/// are none, [`LogCatalogue::first_choice`](crate::LogCatalogue::first_choice) knows which others have values.
pub fn default_paths(catalogue: &dyn Catalogue) -> Vec<PathPattern> {
    let sets = catalogue.sets();
    let has = |path: &PathPattern| {
        sets.iter().any(|set| {
            let has_instance = || match path.instance() {
                None => !set.has_instances,
                Some(_) => catalogue
                    .instances(&set.name)
                    .is_ok_and(|names| names.iter().any(|name| path.matches_instance(Some(name)))),
            };
            path.matches_set(&set.name)
                && set.counters.iter().any(|entry| path.matches_counter(&entry.counter.name))
                && has_instance()
        })
    };
    let parse = |text: &&str| PathPattern::parse(text).ok();
    FIRST.iter().filter_map(|choices| choices.iter().filter_map(parse).find(has)).collect()
}
