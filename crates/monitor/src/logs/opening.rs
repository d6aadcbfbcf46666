//! What is known of logs at once, without reading all of them.

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::RawValue;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Instance;
use tachograph_flow::logs::{LogReport, LogSource};
use tachograph_flow::{FlowError, Source, Stretch, UnionScan};
use tachograph_logs::{LogError, ReadOptions, Reservation};

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
    /// What the catalogue of binary logs and their readers take.
    pub(super) memory: Option<Reservation>,
}

/// A raw value in each sample that is on its way: in the reader, the merge, the batches that are read ahead.
const VALUE_BYTES: u64 = 8 * size_of::<RawValue>() as u64;
/// An instance in the catalogue and what it is made of, without its name, which is there twice.
const INSTANCE_BYTES: u64 = 300;

/// What the samples of a log take that are on their way, if all have as many values.
pub(super) fn sample_bytes(sample: &Sample) -> u64 {
    sample.len() as u64 * VALUE_BYTES
}

/// What a catalogue of these groups takes.
fn catalogue_bytes(scan: &UnionScan) -> u64 {
    let bytes = |instance: &Arc<Instance>| INSTANCE_BYTES + 2 * instance.label().len() as u64;
    scan.groups().iter().flat_map(|group| &group.instances).map(bytes).sum()
}

/// Finds out what logs hold; `None` when `progress` breaks.
pub(super) fn look(
    stretches: &mut [Stretch],
    reading: &ReadOptions,
    progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
) -> Result<Option<Opened>, FlowError> {
    let reports = || stretches.iter().flat_map(Stretch::reports).cloned().collect::<Vec<_>>();
    let reports = reports();
    let is_small = progress_of(&reports).bytes <= SMALL_BYTES;
    // Readers of text logs reserve what is kept of each column.
    let is_binary = |report: &&LogReport| !report.facts().format.is_formatted();
    let mut memory = reading.budget.reserve(0).map_err(LogError::over_budget)?;
    let mut known = 0;
    let mut opened = Opened { samples: is_small.then_some(0), ..Opened::default() };
    let mut sample = Sample::default();
    for stretch in stretches.iter_mut() {
        let mut last: Option<FileTime> = None;
        let bytes_before = progress_of(&reports).bytes_read;
        let is_binary = stretch.reports().iter().any(|report| is_binary(&report));
        let (mut catalogue, mut seen) = (0, Vec::new());
        while stretch.next(&mut sample)? {
            if !sample.is_baseline {
                opened.reach(sample.at.utc);
                opened.samples = opened.samples.map(|samples| samples + 1);
                opened.intervals.extend(last.replace(sample.at.utc).map(|last| sample.at.utc.since(last)));
            }
            if is_binary {
                let lists = sample.groups.iter().map(|group| Arc::as_ptr(&group.instances).cast::<()>());
                if !lists.clone().eq(seen.iter().copied()) {
                    seen = lists.collect();
                    catalogue = catalogue_bytes(stretch.scan());
                }
                let buffers: u64 = reports.iter().map(LogReport::buffer_bytes).sum();
                let bytes = buffers + known + catalogue + sample_bytes(&sample);
                memory.grow_to(bytes).map_err(LogError::over_budget)?;
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
        known += catalogue;
        opened.catalogue.add(stretch.scan());
        for report in stretch.reports().iter().filter(|_| !is_small) {
            if let Some(last) = last_moment(report.path(), reading)? {
                opened.reach(last);
            }
        }
    }
    opened.memory = Some(memory);
    Ok(Some(opened))
}

impl Opened {
    fn reach(&mut self, at: FileTime) {
        let here = Span::of_samples(at, at);
        self.span = Some(self.span.map_or(here, |span| span.joined(&here)));
    }
}

/// The moment of a log's last sample, from the end of the file where that can be read by itself.
fn last_moment(path: &Path, reading: &ReadOptions) -> Result<Option<FileTime>, FlowError> {
    let mut bytes = LAST_BYTES;
    loop {
        let mut log = LogSource::open_with(path, reading)?;
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
