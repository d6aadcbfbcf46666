//! What is shown when nothing is asked for.

use tachograph_counters::path::PathPattern;

/// What people look at first: of each line the first that there is. The six of Get-Counter, each with what is nearest to it
/// where a machine or a log does not have it.
const FIRST: [&[&str]; 6] = [
    &[r"\Processor Information(_Total)\% Processor Time", r"\Processor(_Total)\% Processor Time"],
    &[r"\Memory\% Committed Bytes In Use", r"\Memory\Committed Bytes", r"\Memory\Available Bytes"],
    &[r"\Memory\Cache Faults/sec", r"\Memory\Page Faults/sec", r"\Memory\Pages/sec"],
    &[r"\PhysicalDisk(_Total)\% Disk Time", r"\PhysicalDisk(_Total)\% Idle Time"],
    &[r"\PhysicalDisk(_Total)\Current Disk Queue Length", r"\PhysicalDisk(_Total)\Avg. Disk Queue Length"],
    &[r"\Network Interface(*)\Bytes Total/sec"],
];

/// The paths of the counters that people look at first, as far as they are there, which `has` tells.
pub fn first_paths(has: impl Fn(&PathPattern) -> bool) -> Vec<PathPattern> {
    let parse = |text: &&str| PathPattern::parse(text).ok();
    FIRST.iter().filter_map(|choices| choices.iter().filter_map(parse).find(&has)).collect()
}
