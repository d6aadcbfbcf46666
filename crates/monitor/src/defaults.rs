//! The counters that are charted if the user has chosen none.

use tachograph_counters::path::PathPattern;

/// From each line, the first counter that exists is charted. The first counters of the lines are the six defaults of
/// PowerShell's `Get-Counter`; machines and logs that lack one of them use the similar counters after it.
const FIRST: [&[&str]; 6] = [
    &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"],
    &[r"\Memory\% Committed Bytes In Use", r"\Memory\Committed Bytes", r"\Memory\Available Bytes"],
    &[r"\Memory\Cache Faults/sec", r"\Memory\Page Faults/sec", r"\Memory\Pages/sec"],
    &[r"\PhysicalDisk(_Total)\% Disk Time", r"\PhysicalDisk(_Total)\% Idle Time"],
    &[r"\PhysicalDisk(_Total)\Current Disk Queue Length", r"\PhysicalDisk(_Total)\Avg. Disk Queue Length"],
    &[r"\Network Interface(*)\Bytes Total/sec"],
];

/// The paths to chart first; `has` returns whether a path selects anything.
pub fn first_paths(has: impl Fn(&PathPattern) -> bool) -> Vec<PathPattern> {
    let parse = |text: &&str| PathPattern::parse(text).ok();
    FIRST.iter().filter_map(|choices| choices.iter().filter_map(parse).find(&has)).collect()
}
