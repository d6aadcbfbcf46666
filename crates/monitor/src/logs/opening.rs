//! Examines logs when they are opened: small ones completely, large ones at the beginning and the end.

use std::ops::ControlFlow;
use std::sync::Arc;

use tachograph_counters::RawValue;
use tachograph_counters::civil::FileTime;
use tachograph_counters::sample::Sample;
use tachograph_counters::set::Instance;
use tachograph_flow::logs::{LogReport, last_sample_time};
use tachograph_flow::{FlowError, SeekableSource, Source, UnionScan};
use tachograph_logs::{LogError, ReadOptions, Reservation};

use super::catalogue::LogCatalogue;
use super::{LogProgress, progress_of};
use crate::span::Span;

/// Logs of up to this total size are read completely when they are opened.
const SMALL_BYTES: u64 = 32 << 20;

/// Number of samples per machine after which the reading of larger logs stops.
const FIRST_SAMPLES: u64 = 256;
/// Number of bytes per machine after which the reading of larger logs stops.
const FIRST_BYTES: u64 = 4 << 20;

/// Facts about logs, found when they were opened.
#[derive(Default)]
pub(super) struct Opened {
    pub(super) catalogue: LogCatalogue,
    pub(super) span: Option<Span>,
    /// Number of samples; `None` if unknown.
    pub(super) samples: Option<u64>,
    /// Times between the first samples, in units of 100 ns.
    pub(super) intervals: Vec<i64>,
    /// Memory reserved for the catalogue of binary logs and for their readers.
    pub(super) memory: Option<Reservation>,
}

/// Estimated bytes per raw value of the samples in flight: in the reader, the merge, and the batches that are read
/// ahead.
const VALUE_BYTES: u64 = 8 * size_of::<RawValue>() as u64;
/// Estimated bytes per instance in the catalogue and its intermediate form, without the name, which is stored twice.
const INSTANCE_BYTES: u64 = 300;

/// Estimated memory of a log's samples in flight, if all are as large as this one.
pub(super) fn sample_bytes(sample: &Sample) -> u64 {
    sample.len() as u64 * VALUE_BYTES
}

fn catalogue_bytes(scan: &UnionScan) -> u64 {
    let bytes = |instance: &Arc<Instance>| INSTANCE_BYTES + 2 * instance.label().len() as u64;
    scan.groups().iter().flat_map(|group| &group.instances).map(bytes).sum()
}

/// Examines logs; `None` if `progress` cancels.
pub(super) fn examine_logs(
    sources: &mut [SeekableSource],
    reading: &ReadOptions,
    progress: &mut dyn FnMut(LogProgress) -> ControlFlow<()>,
) -> Result<Option<Opened>, FlowError> {
    let reports = || sources.iter().flat_map(SeekableSource::reports).cloned().collect::<Vec<_>>();
    let reports = reports();
    let is_small = progress_of(&reports).bytes <= SMALL_BYTES;
    // Readers of text logs reserve memory for each column themselves.
    let is_binary = |report: &&LogReport| !report.facts().format.is_formatted();
    let mut memory = reading.budget.reserve(0).map_err(LogError::over_budget)?;
    let mut previous_bytes = 0;
    let mut opened = Opened { samples: is_small.then_some(0), ..Opened::default() };
    let mut sample = Sample::default();
    for source in sources.iter_mut() {
        let mut last: Option<FileTime> = None;
        let bytes_before = progress_of(&reports).bytes_read;
        let is_binary = source.reports().iter().any(|report| is_binary(&report));
        let (mut source_bytes, mut seen_lists) = (0, Vec::new());
        while source.next(&mut sample)? {
            if !sample.is_baseline {
                opened.extend_span(sample.at.utc);
                opened.samples = opened.samples.map(|samples| samples + 1);
                opened.intervals.extend(last.replace(sample.at.utc).map(|last| sample.at.utc.since(last)));
            }
            if is_binary {
                let lists = sample.groups.iter().map(|group| Arc::as_ptr(&group.instances).cast::<()>());
                if !lists.clone().eq(seen_lists.iter().copied()) {
                    seen_lists = lists.collect();
                    source_bytes = catalogue_bytes(source.scan());
                }
                let buffers: u64 = reports.iter().map(LogReport::buffer_bytes).sum();
                let bytes = buffers + previous_bytes + source_bytes + sample_bytes(&sample);
                memory.grow_to(bytes).map_err(LogError::over_budget)?;
            }
            let current = progress_of(&reports);
            if progress(current).is_break() {
                return Ok(None);
            }
            let is_enough =
                source.next_index() >= FIRST_SAMPLES || current.bytes_read - bytes_before >= FIRST_BYTES;
            if is_enough && !is_small {
                break;
            }
        }
        previous_bytes += source_bytes;
        opened.catalogue.add(source.scan());
        for report in source.reports().iter().filter(|_| !is_small) {
            if let Some(last) = last_sample_time(report.path(), reading)? {
                opened.extend_span(last);
            }
        }
    }
    opened.memory = Some(memory);
    Ok(Some(opened))
}

impl Opened {
    fn extend_span(&mut self, at: FileTime) {
        let moment = Span::of_samples(at, at);
        self.span = Some(self.span.map_or(moment, |span| span.joined(&moment)));
    }
}
