//! One log file of a recording.

use std::io::{Cursor, SeekFrom};
use std::path::Path;
use std::sync::Arc;

use tachograph_counters::civil::Moment;
use tachograph_counters::sample::{Group, Sample};
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_logs::{Format, LogError, LogWriter, Problems};

use super::files::{LogFile, OpenedFile};
use super::{AtMax, Existing, RecordOptions};
use crate::sinks::{LateInstances, TextSink};
use crate::{FlowError, ScannedGroup, Sink, UnionScan};

/// Buffer size of BLGs that Windows writes.
const BUFFER_BYTES: u64 = 0x10000;
/// Approximate minimum number of buffers in a BLG with a size limit. A BLG grows by whole buffers, so with small buffers
/// its size gets closer to the limit.
const MIN_BUFFERS: u64 = 16;
const MIN_BUFFER_BYTES: u64 = 4096;

/// Maximum length of a cell of a text log in bytes: the longest number, quotes and separator.
const CELL_BYTES: u64 = 27;

/// A log file that is being written.
pub(super) enum Segment<F: LogFile> {
    Blg {
        writer: Box<BlgWriter<F>>,
        buffer_bytes: u64,
        /// The largest growth of the file by one sample so far, in bytes.
        growth: u64,
    },
    Text {
        sink: Box<TextSink<F>>,
        /// The instances without a column.
        late_instances: LateInstances,
        /// The maximum size of a row in bytes.
        row_bytes: u64,
    },
}

/// The parameters for starting a log file.
pub(super) struct SegmentStart<'a> {
    pub(super) path: &'a Path,
    pub(super) options: &'a RecordOptions,
    /// For text logs, the last sample of the previous file.
    pub(super) previous: Option<&'a Sample>,
}

impl SegmentStart<'_> {
    /// Starts a log, or appends to one, but does not write the sample.
    pub(super) fn segment<F: LogFile>(
        &self,
        opened: OpenedFile<F>,
        first: &Sample,
    ) -> Result<Segment<F>, FlowError> {
        let mut file = opened.file;
        let is_appended = self.options.existing == Existing::Append && opened.has_content;
        if opened.has_content && !is_appended {
            // Before truncating the existing log, check that a BLG can store the sample.
            if self.options.format == Format::Blg {
                BlgWriter::new(Cursor::new(Vec::new()), self.blg_options(first))?.write(first)?;
            }
            file.set_length(0).map_err(LogError::io)?;
        }
        match self.options.format {
            Format::Blg => self.blg(file, first),
            Format::Csv | Format::Tsv => self.text(file, first, is_appended),
            Format::Archive => Err(LogError::unsupported(
                "an archive is not recorded directly: record a BLG and convert it with 'relog'",
            )
            .into()),
            Format::Sql => Err(LogError::unsupported("a log in a database is not a file").into()),
            Format::Json => {
                Err(LogError::unsupported("recordings are BLG, CSV or TSV; 'query -f json' writes JSON")
                    .into())
            }
        }
    }

    fn blg<F: LogFile>(&self, mut file: F, first: &Sample) -> Result<Segment<F>, FlowError> {
        file.seek(SeekFrom::Start(0)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotSeekable => LogError::unsupported(
                "a BLG cannot be written to a pipe (its header is completed at the end): record to a file",
            ),
            _ => LogError::io(error),
        })?;
        let options = self.blg_options(first);
        let buffer_bytes = options.buffer_bytes as u64;
        Ok(Segment::Blg { writer: Box::new(BlgWriter::new(file, options)?), buffer_bytes, growth: 0 })
    }

    fn blg_options(&self, first: &Sample) -> BlgWriterOptions {
        let mut options = BlgWriterOptions::new(self.options.zone.clone());
        options.boot_time = Some(first.boot_time).filter(|boot_time| boot_time.0 != 0);
        options.performance_frequency = self.options.performance_frequency;
        options.file_name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let buffer_bytes = match self.options.max_bytes {
            Some(max_bytes) => (max_bytes / MIN_BUFFERS / 512 * 512).clamp(MIN_BUFFER_BYTES, BUFFER_BYTES),
            None => BUFFER_BYTES,
        };
        options.buffer_bytes = buffer_bytes as usize;
        if self.options.at_max == AtMax::Circular {
            options.circular_bytes = self.options.max_bytes;
        }
        options
    }

    fn text<F: LogFile>(&self, file: F, first: &Sample, is_appended: bool) -> Result<Segment<F>, FlowError> {
        let mut scan = UnionScan::default();
        scan.push(first)?;
        let cells = |group: &ScannedGroup| group.instances.len() * group.set.counters.len();
        let cells: usize = scan.groups().iter().map(cells).sum();
        let sink = if is_appended {
            TextSink::append(file, &scan)?
        } else {
            TextSink::new(file, self.options.format, self.options.zone.clone(), &scan)?
                .with_form(self.options.text)?
        };
        let (mut sink, late) = sink.live();
        if let Some(previous) = self.previous.filter(|previous| previous.groups.len() == first.groups.len()) {
            sink.push(&baseline_of(previous, &scan))?;
        }
        let row_bytes = CELL_BYTES.saturating_mul(cells as u64 + 1) + 2;
        Ok(Segment::Text { sink: Box::new(sink), late_instances: late, row_bytes })
    }
}

/// A baseline with those rows of the previous sample that have columns; other rows would be reported as late instances.
fn baseline_of(previous: &Sample, scan: &UnionScan) -> Sample {
    let mut baseline = previous.clone();
    baseline.is_baseline = true;
    for (group, scanned) in baseline.groups.iter_mut().zip(scan.groups()) {
        let is_kept: Vec<_> =
            group.instances.iter().map(|instance| scanned.index_of(instance).is_some()).collect();
        let width = group.set.counters.len().max(1);
        let mut values = (0..).map(|index| is_kept.get(index / width) == Some(&true));
        group.values.retain(|_| values.next() == Some(true));
        let mut rows = is_kept.iter();
        group.identities.retain(|_| rows.next() == Some(&true));
        group.instances = group
            .instances
            .iter()
            .zip(&is_kept)
            .filter(|(_, kept)| **kept)
            .map(|(one, _)| Arc::clone(one))
            .collect();
    }
    baseline
}

impl<F: LogFile> Segment<F> {
    pub(super) fn append_blg(file: F, performance_frequency: i64) -> Result<Self, LogError> {
        let writer = Box::new(BlgWriter::append(file, performance_frequency)?);
        Ok(Self::Blg { writer, buffer_bytes: BUFFER_BYTES, growth: 0 })
    }

    /// Writes a sample and flushes it, to disk if `is_synced`.
    pub(super) fn write(&mut self, sample: &Sample, is_synced: bool) -> Result<(), FlowError> {
        match self {
            Self::Blg { writer, buffer_bytes, growth } => {
                let before = writer.bytes_written();
                writer.write(sample)?;
                writer.flush()?;
                // Before the first sample is written, the file size already includes the buffer for it, which counts as growth.
                let free = if *growth == 0 { *buffer_bytes } else { 0 };
                *growth = (*growth).max(writer.bytes_written().saturating_sub(before) + free);
            }
            Self::Text { sink, .. } => sink.push(sample)?,
        }
        self.sync(is_synced)
    }

    pub(super) fn finish(&mut self, is_synced: bool) -> Result<(), FlowError> {
        match self {
            Self::Blg { writer, .. } => writer.finish()?,
            Self::Text { sink, .. } => sink.finish()?,
        }
        self.sync(is_synced)
    }

    /// Truncates the file to its last complete sample after a failure. Returns the file's length.
    pub(super) fn abort(self) -> Result<u64, FlowError> {
        match self {
            Self::Blg { writer, .. } => Ok(writer.abort()?),
            Self::Text { sink, .. } => sink.abort(),
        }
    }

    fn sync(&self, is_synced: bool) -> Result<(), FlowError> {
        if is_synced {
            self.file().sync().map_err(LogError::io)?;
        }
        Ok(())
    }

    pub(super) fn file(&self) -> &F {
        match self {
            Self::Blg { writer, .. } => writer.get_ref(),
            Self::Text { sink, .. } => sink.get_ref(),
        }
    }

    /// Size of the file in bytes if it were completed now.
    pub(super) fn bytes(&self) -> u64 {
        match self {
            Self::Blg { writer, .. } => writer.bytes_written(),
            Self::Text { sink, .. } => sink.bytes_written(),
        }
    }

    /// Numbers of counters and of values that the log stores of `sample`, the last one. A counter of each instance counts.
    pub(super) fn counts_of(&self, sample: &Sample) -> (usize, usize) {
        match self {
            Self::Blg { .. } => (sample.len(), sample.value_count()),
            Self::Text { sink, .. } => (sink.column_count(), sink.value_count()),
        }
    }

    /// Size in bytes of an incomplete last row that was removed before appending to a text log.
    pub(super) fn cut_bytes(&self) -> u64 {
        match self {
            Self::Blg { .. } => 0,
            Self::Text { sink, .. } => sink.cut_bytes(),
        }
    }

    /// The damage of an existing BLG, and the time of its last sample.
    pub(super) fn existing_damage(&self) -> (Problems, Option<Moment>) {
        match self {
            Self::Blg { writer, .. } => (writer.existing_problems().clone(), writer.appended_to()),
            Self::Text { .. } => (Problems::default(), None),
        }
    }

    /// Upper estimate of the growth of the file with the next sample: a BLG grows by whole buffers.
    pub(super) fn max_growth(&self) -> u64 {
        match self {
            Self::Blg { growth, .. } => *growth,
            Self::Text { row_bytes, .. } => *row_bytes,
        }
    }

    /// The first instance without a column, as a path without its counter.
    pub(super) fn without_column(&self) -> Option<String> {
        match self {
            Self::Blg { .. } => None,
            Self::Text { late_instances: late, .. } => late.first(),
        }
    }
}

/// Copies a sample into the buffers of another.
pub(super) fn copy_sample(to: &mut Sample, from: &Sample) {
    to.copy_head(from);
    to.groups.truncate(from.groups.len());
    for (index, group) in from.groups.iter().enumerate() {
        if index == to.groups.len() {
            to.groups.push(Group::new(Arc::clone(&group.set)));
        }
        copy_group(&mut to.groups[index], group);
    }
}

/// Copies a group into the buffers of another.
pub(super) fn copy_group(to: &mut Group, from: &Group) {
    to.describe(&from.set);
    to.set_rows(&from.instances);
    to.status = from.status;
    to.read_at = from.read_at;
    to.clocks = from.clocks;
    to.boot_time = from.boot_time;
    to.values.clone_from(&from.values);
    to.identities.clone_from(&from.identities);
}
