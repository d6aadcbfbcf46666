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

/// A counter that only Linux has.
const ONLY_LINUX: &str = r"\Memory\Used Bytes";

/// Counters that say nothing about Linux, and what is charted instead: by default, Linux promises more memory than the
/// commit limit.
const INSTEAD_ON_LINUX: [(&str, &str); 1] =
    [(r"\Memory\% Committed Bytes In Use", r"\Memory\Available Bytes")];

/// The paths to chart first; `has` returns whether a path selects anything.
pub fn first_paths(has: impl Fn(&PathPattern) -> bool) -> Vec<PathPattern> {
    let parse = |text: &str| PathPattern::parse(text).ok();
    let is_linux = parse(ONLY_LINUX).is_some_and(|path| has(&path));
    let replaced = |text: &&'static str| {
        let instead = INSTEAD_ON_LINUX.iter().find(|(path, _)| is_linux && path == text);
        instead.map_or(*text, |&(_, instead)| instead)
    };
    let first = |choices: &&[&'static str]| choices.iter().map(replaced).filter_map(parse).find(&has);
    FIRST.iter().filter_map(first).collect()
}
