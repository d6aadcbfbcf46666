//! What is known of logs at once, without reading all of them.

use std::ops::ControlFlow;
use std::path::Path;

use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_flow::logs::LogSource;
use tachograph_flow::{FlowError, Source, Stretch};

use super::catalogue::LogCatalogue;
use super::{LogProgress, progress_of};
use crate::span::Span;

/// Logs of together at most so many bytes are read as a whole when they are opened.
const SMALL_BYTES: u64 = 32 << 20;

/// Of larger ones so many samples and bytes of each machine are read.
const FIRST_SAMPLES: u64 = 256;
const FIRST_BYTES: u64 = 4 << 20;

/// How many bytes at the end of a log are looked at first for its last sample.
const LAST_BYTES: u64 = 256 << 10;

/// What is known of logs once they are open.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) catalogue: LogCatalogue,
    pub(super) span: Option<Span>,
    /// How many samples there are; `None` where that is not known yet.
    pub(super) samples: Option<u64>,
    /// Times between the first samples.
    pub(super) intervals: Vec<i64>,
}

/// Finds out what logs hold; `None` when `progress` breaks.
pub(super) fn look(
    stretches: &mut [Stretch],
    progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
) -> Result<Option<Opened>, FlowError> {
    let reports = || stretches.iter().flat_map(Stretch::reports).cloned().collect::<Vec<_>>();
    let reports = reports();
    let is_small = progress_of(&reports).bytes <= SMALL_BYTES;
    let mut opened = Opened { samples: is_small.then_some(0), ..Opened::default() };
    let mut sample = Sample::default();
    for stretch in stretches.iter_mut() {
        let mut last: Option<FileTime> = None;
        let bytes_before = progress_of(&reports).bytes_read;
        while stretch.next(&mut sample)? {
            if !sample.is_baseline {
                opened.reach(sample.at.utc);
                opened.samples = opened.samples.map(|samples| samples + 1);
                opened.intervals.extend(last.replace(sample.at.utc).map(|last| sample.at.utc.since(last)));
            }
            let here = progress_of(&reports);
            if progress(here).is_break() {
                return Ok(None);
            }
            let is_enough =
                stretch.number() >= FIRST_SAMPLES || here.bytes_read - bytes_before >= FIRST_BYTES;
            if is_enough && !is_small {
                break;
            }
        }
        opened.catalogue.add(stretch.scan());
        for report in stretch.reports().iter().filter(|_| !is_small) {
            if let Some(last) = last_moment(report.path())? {
                opened.reach(last);
            }
        }
    }
    Ok(Some(opened))
}

impl Opened {
    fn reach(&mut self, at: FileTime) {
        let here = Span::of_samples(at, at);
        self.span = Some(self.span.map_or(here, |span| span.joined(&here)));
    }
}

/// The moment of a log's last sample, from the end of the file where that can be read by itself.
fn last_moment(path: &Path) -> Result<Option<FileTime>, FlowError> {
    let mut bytes = LAST_BYTES;
    loop {
        let mut log = LogSource::open(path)?;
        let is_part = log.go_near_end(bytes)?;
        let mut sample = Sample::default();
        let mut last: Option<FileTime> = None;
        while log.next(&mut sample)? {
            if !sample.is_baseline {
                last = last.max(Some(sample.at.utc));
            }
        }
        if last.is_some() || !is_part {
            return Ok(last);
        }
        bytes = bytes.saturating_mul(8);
    }
}
