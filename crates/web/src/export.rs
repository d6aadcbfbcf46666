//! Logs written for download, as `tacho relog` writes them.

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

use crate::answer::Refusal;
use crate::options::LiveOptions;
use crate::work::{Cancel, Cancellable, Watch};

/// Longest log that is written for download.
const MAX_BYTES: u64 = 4 << 30;
/// Longest name of a download, in bytes.
const MAX_NAME: usize = 100;

/// What is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Blg,
    Csv,
    Tsv,
}

impl Format {
    pub(crate) fn parse(text: Option<&str>) -> Result<Self, Refusal> {
        match text {
            Some("blg") => Ok(Self::Blg),
            None | Some("csv") => Ok(Self::Csv),
            Some("tsv") => Ok(Self::Tsv),
            Some(_) => Err(Refusal::bad("format: blg, csv or tsv")),
        }
    }

    /// The media type.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::Blg => "application/octet-stream",
            Self::Csv => "text/csv; charset=utf-8",
            Self::Tsv => "text/tab-separated-values; charset=utf-8",
        }
    }

    /// The name of a download of a source of this name: letters that every system takes.
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

/// What a log says of its machine, beside the samples.
pub(crate) struct Facts {
    zone: TimeZone,
    boot_time: Option<FileTime>,
    performance_frequency: Option<i64>,
}

impl Facts {
    pub(crate) fn of_machine(options: &LiveOptions) -> Self {
        Self {
            zone: options.zone.clone(),
            boot_time: Some(options.boot_time).filter(|time| time.0 != 0),
            performance_frequency: Some(FREQUENCY),
        }
    }
}

/// Why a download was not written.
pub(crate) enum ExportError {
    /// It would be longer than [`MAX_BYTES`].
    TooLong,
    /// The file cannot be made or written.
    NoRoom,
    /// The samples could not be read.
    Samples(FlowError),
    /// They are more than is given.
    Refused(Refusal),
}

impl From<FlowError> for ExportError {
    fn from(error: FlowError) -> Self {
        Self::Samples(error)
    }
}

/// How a download is written.
pub(crate) struct Export<'a> {
    pub(crate) format: Format,
    /// Where the file is that is being written.
    pub(crate) folder: &'a Path,
    pub(crate) cancel: &'a Cancel,
}

impl Export<'_> {
    /// Writes what a query selects of logs; `None` where there is no sample.
    pub(crate) fn log(&self, query: &LogQuery) -> Result<Option<File>, ExportError> {
        let mut query = query.clone();
        if self.format == Format::Blg {
            query.selection = query.selection.with_identities();
        }
        let mut watch = Watch::new(self.cancel);
        // How many values its samples have is not told here.
        let (scan, pipeline) = query.table(|_| watch.note(0))?;
        let Some(report) = pipeline.reports.first().filter(|_| scan.samples() > 0) else { return Ok(None) };
        let known = report.facts();
        let facts = Facts {
            zone: known.zone.clone(),
            boot_time: known.boot_time,
            performance_frequency: known.performance_frequency,
        };
        // As relog writes them: with 20 digits where the log has them.
        let form = TextForm { digits: report.digits(), ..TextForm::default() };
        self.write(pipeline.source, &scan, &facts, form).map(Some)
    }

    /// Writes samples of this machine, which come twice: once to learn what there is; `None` where there is none.
    pub(crate) fn live(
        &self,
        first: impl Source,
        again: impl Source,
        facts: &Facts,
    ) -> Result<Option<File>, ExportError> {
        let mut scan = UnionScan::default();
        run(&mut Cancellable::new(first, self.cancel), &mut scan, || {})?;
        if scan.samples() == 0 || scan.groups().is_empty() {
            return Ok(None);
        }
        self.write(Union::scanned(again, &scan), &scan, facts, TextForm::default()).map(Some)
    }

    /// Writes samples into a file without a name, which is gone when it is closed.
    fn write(
        &self,
        source: impl Source,
        scan: &UnionScan,
        facts: &Facts,
        form: TextForm,
    ) -> Result<File, ExportError> {
        let file = tempfile::tempfile_in(self.folder).map_err(|_| ExportError::NoRoom)?;
        let source = Cancellable::new(source, self.cancel);
        let mut out = Bounded { file: BufWriter::with_capacity(1 << 16, file), at: 0, failure: None };
        let outcome = write_samples(self.format, &mut out, source, scan, facts, form);
        // What is wrong with the file tells more than the error that the sink made of it.
        match (out.failure, outcome) {
            (Some(failure), Err(_)) => return Err(failure),
            (_, outcome) => outcome?,
        }
        let mut file = out.file.into_inner().map_err(|_| ExportError::NoRoom)?;
        file.seek(SeekFrom::Start(0)).map_err(|_| ExportError::NoRoom)?;
        Ok(file)
    }
}

/// Writes samples as a log.
fn write_samples(
    format: Format,
    out: &mut Bounded,
    mut source: impl Source,
    scan: &UnionScan,
    facts: &Facts,
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
            let text = if format == Format::Csv { LogFormat::Csv } else { LogFormat::Tsv };
            let sink = TextSink::new(out, text, facts.zone.clone(), scan)?;
            run(&mut source, &mut sink.with_form(form)?, || {})
        }
    }
}

/// A file that does not become too long.
struct Bounded {
    file: BufWriter<File>,
    at: u64,
    /// Why it could not be written on.
    failure: Option<ExportError>,
}

impl Bounded {
    /// Takes note of a failure of the file.
    fn note<T>(&mut self, outcome: io::Result<T>) -> io::Result<T> {
        if outcome.is_err() {
            self.failure = Some(ExportError::NoRoom);
        }
        outcome
    }
}

impl Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.at + bytes.len() as u64 > MAX_BYTES {
            self.failure = Some(ExportError::TooLong);
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let written = self.file.write(bytes);
        let written = self.note(written)?;
        self.at += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        let flushed = self.file.flush();
        self.note(flushed)
    }
}

impl Seek for Bounded {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = self.file.seek(to);
        self.at = self.note(at)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_have_plain_names() {
        assert_eq!(Format::Csv.file_name("dir/server 1.blg"), "server_1.csv");
        assert_eq!(Format::Blg.file_name("a\"\r\nb"), "a___b.blg");
        assert_eq!(Format::Tsv.file_name("../.."), "log.tsv");
    }
}
