//! Exports: logs written for download, the same as `tacho relog` writes.

use std::fs::File;
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::Path;

use tachograph_counters::civil::FileTime;
use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::query::LogQuery;
use tachograph_flow::sinks::{LogSink, TextForm, TextSink};
use tachograph_flow::{FlowError, Source, Union, UnionScan, run};
use tachograph_logs::Format as LogFormat;
use tachograph_logs::blg::{BlgWriter, BlgWriterOptions};
use tachograph_perflib::FREQUENCY;

use crate::options::LiveOptions;
use crate::response::ApiError;
use crate::workers::{Cancel, CancelCheck, Cancellable};

/// Maximum size of a download.
const MAX_BYTES: u64 = 4 << 30;
/// Maximum length of a download's name, in bytes.
const MAX_NAME: usize = 100;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Blg,
    Csv,
    Tsv,
}

impl Format {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, ApiError> {
        match text {
            Some("blg") => Ok(Self::Blg),
            None | Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            Some(_) => Err(ApiError::bad_request("format: must be blg, csv or tsv")),
        }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Blg => "application/octet-stream",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Tsv => "text/tab-separated-values; charset=utf-8",
        }
    }

    /// The file name of a download, with characters that every system allows.
    pub(crate) fn file_name(self, source: &str) -> String {
        let last = source.rsplit('/').next().unwrap_or_default();
        let stem = last.rsplit_once('.').map_or(last, |(stem, _)| stem);
        let plain = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        let mut name: String =
            stem.chars().map(|letter| if plain(letter) { letter } else { '_' }).take(MAX_NAME).collect();
        if name.trim_matches(['.', '_']).is_empty() {
            name = "log".to_owned();
        }
        let extension = match self {
            Self::Blg => "blg",
            Self::Csv => "csv",
            Self::Tsv => "tsv",
        };
        format!("{}.{extension}", name.trim_start_matches('.'))
    }
}

/// The facts about a machine that the header of a log contains.
pub(crate) struct MachineFacts {
    zone: TimeZone,
    boot_time: Option<FileTime>,
    performance_frequency: Option<i64>,
}

impl MachineFacts {
    pub(crate) fn for_this_machine(options: &LiveOptions) -> Self {
        Self {
            zone: options.zone.clone(),
            boot_time: Some(options.boot_time).filter(|time| time.0 != 0),
            performance_frequency: Some(FREQUENCY),
        }
    }
}

/// Why a download was not written.
pub(crate) enum ExportError {
    /// The download exceeds [`MAX_BYTES`].
    TooLarge,
    /// The file cannot be created or written.
    DiskFull,
    /// The samples could not be read.
    Samples(FlowError),
    /// The request exceeds a limit.
    Rejected(ApiError),
}

impl From<FlowError> for ExportError {
    fn from(error: FlowError) -> Self {
        Self::Samples(error)
    }
}

pub(crate) struct Export<'a> {
    pub(crate) format: Format,
    pub(crate) folder: &'a Path,
    pub(crate) cancel: &'a Cancel,
}

impl Export<'_> {
    /// Exports logs; `None` if the query selects no samples.
    pub(crate) fn log(&self, query: &LogQuery) -> Result<Option<File>, ExportError> {
        let mut query = query.clone();
        if self.format == Format::Blg {
            query.selection = query.selection.with_identities();
        }
        let mut check = CancelCheck::new(self.cancel);
        // The scan does not report the number of values.
        let (scan, pipeline) = query.table(|_| check.check(0))?;
        let Some(report) = pipeline.reports.first().filter(|_| scan.samples() > 0) else { return Ok(None) };
        let log_facts = report.facts();
        let facts = MachineFacts {
            zone: log_facts.zone.clone(),
            boot_time: log_facts.boot_time,
            performance_frequency: log_facts.performance_frequency,
        };
        // Like `tacho relog`: 20 digits if the log has them.
        let form = TextForm::of_logs(&pipeline.reports);
        self.write(pipeline.source, &scan, &facts, form).map(Some)
    }

    /// Exports samples of this machine, which are read twice: the first pass finds the columns. `None` if there are no
    /// samples.
    pub(crate) fn live(
        &self,
        first: impl Source,
        second: impl Source,
        facts: &MachineFacts,
    ) -> Result<Option<File>, ExportError> {
        let mut scan = UnionScan::default();
        run(&mut Cancellable::new(first, self.cancel), &mut scan, || {})?;
        if scan.samples() == 0 || scan.groups().is_empty() {
            return Ok(None);
        }
        let form = TextForm { pairs_by_identity: true, ..TextForm::default() };
        self.write(Union::scanned(second, &scan), &scan, facts, form).map(Some)
    }

    /// Writes samples to an unnamed file, which is deleted when it is closed.
    fn write(
        &self,
        source: impl Source,
        scan: &UnionScan,
        facts: &MachineFacts,
        form: TextForm,
    ) -> Result<File, ExportError> {
        let file = tempfile::tempfile_in(self.folder).map_err(|_| ExportError::DiskFull)?;
        let source = Cancellable::new(source, self.cancel);
        let mut out =
            LimitedFile { file: BufWriter::with_capacity(1 << 16, file), position: 0, failure: None };
        let outcome = write_samples(self.format, &mut out, source, scan, facts, form);
        // Returns the cause instead of the sink's error.
        match (out.failure, outcome) {
            (Some(failure), Err(_)) => return Err(failure),
            (_, outcome) => outcome?,
        }
        let mut file = out.file.into_inner().map_err(|_| ExportError::DiskFull)?;
        file.seek(SeekFrom::Start(0)).map_err(|_| ExportError::DiskFull)?;
        Ok(file)
    }
}

fn write_samples(
    format: Format,
    out: &mut LimitedFile,
    mut source: impl Source,
    scan: &UnionScan,
    facts: &MachineFacts,
    form: TextForm,
) -> Result<(), FlowError> {
    match format {
        Format::Blg => {
            let mut options = BlgWriterOptions::new(facts.zone.clone());
            options.boot_time = facts.boot_time;
            if let Some(frequency) = facts.performance_frequency {
                options.performance_frequency = frequency;
            }
            let writer = BlgWriter::new(out, options)?;
            run(&mut source, &mut LogSink::new(writer), || {})
        }
        Format::Csv | Format::Tsv => {
            let log_format = if format == Format::Csv { LogFormat::Csv } else { LogFormat::Tsv };
            let sink = TextSink::new(out, log_format, facts.zone.clone(), scan)?;
            run(&mut source, &mut sink.with_form(form)?, || {})
        }
    }
}

/// A file that cannot grow beyond [`MAX_BYTES`].
struct LimitedFile {
    file: BufWriter<File>,
    position: u64,
    /// Why writing failed.
    failure: Option<ExportError>,
}

impl LimitedFile {
    fn record<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        if outcome.is_err() {
            self.failure = Some(ExportError::DiskFull);
        }
        outcome
    }
}

impl Write for LimitedFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.position + bytes.len() as u64 > MAX_BYTES {
            self.failure = Some(ExportError::TooLarge);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.file.write(bytes);
        let written = self.record(written)?;
        self.position += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.record(flushed)
    }
}

impl Seek for LimitedFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = self.file.seek(to);
        self.position = self.record(position)?;
        Ok(self.position)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_downloads_have_only_plain_characters() {
        assert_eq!(Format::Csv.file_name("dir/server 1.blg"), "server_1.csv");
        assert_eq!(Format::Blg.file_name("a\"\r\nb"), "a___b.blg");
        assert_eq!(Format::Tsv.file_name("../.."), "log.tsv");
    }
}
