//! Writing a text log.

use std::borrow::Cow;
use std::io::Write;

use tachograph_counters::civil::Moment;
use tachograph_counters::time_zone::{TimeZone, resolve_name};

use crate::{Format, LogError, SetLength};

use super::encoding::TextEncoding;
use super::gate::Gate;
use super::header::{first_cell, mark, separator};
use super::number::{Digits, NumberText, write_number};

/// How PDH writes "no value".
const NO_VALUE: &[u8] = b" ";

/// A column of a text log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The full counter path: `\\machine\set(instance)\counter`. It need not be the only one of its kind.
    pub path: String,
}

/// Writes a CSV or TSV log as PDH does.
///
/// UTF-8 without a mark, if nothing else is [asked for](Self::with_encoding); every cell quoted, quotes in it doubled; every line ends in CR LF, the last one too. Times are
/// local, `MM/dd/yyyy HH:mm:ss.fff`, cut off; values have 17 or 20 [`Digits`]; no value is `" "`.
///
/// The first cell names the zone, and its bias, as they are in force at the first row; so the header is written with it.
/// Later rows have the bias of their own moment: where it changes, at the end of daylight time, the format cannot say so.
///
/// Source: logs that Windows wrote; "Working with Log Files" (Windows SDK).
///
/// ```
/// use tachograph_counters::civil::{FileTime, Moment};
/// use tachograph_counters::time_zone::TimeZone;
/// use tachograph_logs::Format;
/// use tachograph_logs::text::{Column, TextWriter};
///
/// let mut log = Vec::new();
/// let zone = TimeZone::fixed("Pacific Standard Time", 480);
/// let columns = vec![Column { path: r"\\GEORGIS3\Memory\Available Bytes".to_string() }];
/// let mut writer = TextWriter::new(&mut log, Format::Csv, zone, columns)?;
/// let at = Moment::from_local(FileTime(130_057_734_178_440_000), 480);
/// writer.write_row(at, [Some(0.1)].into_iter())?;
/// writer.finish()?;
/// drop(writer);
/// assert_eq!(
///     String::from_utf8_lossy(&log),
///     "\"(PDH-CSV 4.0) (Pacific Standard Time)(480)\",\"\\\\GEORGIS3\\Memory\\Available Bytes\"\r\n\
///      \"02/19/2013 18:50:17.844\",\"0.10000000000000001\"\r\n"
/// );
/// # Ok::<(), tachograph_logs::LogError>(())
/// ```
pub struct TextWriter<W: Write> {
    csv: csv::Writer<Gate<W>>,
    format: Format,
    zone: TimeZone,
    columns: Vec<Column>,
    header_is_written: bool,
    number: NumberText,
    digits: Digits,
    encoding: TextEncoding,
    /// Bytes of the log so far, those of a log that was there before included.
    bytes: u64,
    /// As many as there were at the last flush; `None` where it is not known what stands before them.
    flushed_bytes: Option<u64>,
    /// The moment of the last row, also of one that was there before.
    last: Option<Moment>,
    /// Whether rows go behind those that another writer wrote: their local times are the log's.
    is_appended: bool,
    /// Whether the next row is the first of them, which must be later than what there is.
    is_resumed: bool,
    cut_bytes: u64,
}

/// What a log that was there before holds.
pub(super) struct Existing {
    pub(super) bytes: u64,
    pub(super) last: Option<Moment>,
    pub(super) cut_bytes: u64,
    pub(super) digits: Digits,
}

impl<W: Write> TextWriter<W> {
    /// A log of these columns. Nothing is written yet.
    ///
    /// # Errors
    ///
    /// "Unsupported" when `format` is no text.
    pub fn new(out: W, format: Format, zone: TimeZone, columns: Vec<Column>) -> Result<Self, LogError> {
        if !matches!(format, Format::Csv | Format::Tsv) {
            return Err(LogError::unsupported(format!("{} is no text format", format.name())));
        }
        let csv = csv::WriterBuilder::new()
            .delimiter(separator(format))
            .quote_style(csv::QuoteStyle::Always)
            .terminator(csv::Terminator::CRLF)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(64 * 1024)
            .from_writer(Gate::new(out));
        Ok(Self {
            csv,
            format,
            zone,
            columns,
            header_is_written: false,
            number: [0; 32],
            digits: Digits::default(),
            encoding: TextEncoding::Utf8,
            bytes: 0,
            flushed_bytes: Some(0),
            last: None,
            is_appended: false,
            is_resumed: false,
            cut_bytes: 0,
        })
    }

    /// Writes values with this many digits; without it, 17.
    #[must_use]
    pub fn with_digits(mut self, digits: Digits) -> Self {
        self.digits = digits;
        self
    }

    /// Writes names in this encoding; without it, in UTF-8 without a mark.
    ///
    /// # Errors
    ///
    /// "Unsupported" for UTF-16, which PDH does not write; when a column's name has a character that the encoding lacks: the
    /// first such column is named.
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Result<Self, LogError> {
        if matches!(encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be) {
            return Err(LogError::unsupported(
                "text logs are not written in UTF-16: choose utf-8-bom or a code page",
            ));
        }
        self.encoding = encoding;
        let lacking = self.columns.iter().find(|column| encoded(encoding, &column.path).is_none());
        if let Some(column) = lacking {
            let path = &column.path;
            return Err(LogError::unsupported(format!(
                "'{path}' cannot be written in {encoding}: choose utf-8"
            )));
        }
        let mark = if encoding == TextEncoding::Utf8WithMark { &b"\xef\xbb\xbf"[..] } else { b"" };
        self.csv.get_ref().begin_with(mark);
        self.bytes = mark.len() as u64;
        Ok(self)
    }

    /// Goes on behind the rows of a log that is there.
    pub(super) fn behind(mut self, existing: &Existing) -> Self {
        self.header_is_written = true;
        self.is_appended = true;
        self.is_resumed = true;
        self.bytes = existing.bytes;
        self.flushed_bytes = Some(existing.bytes);
        self.last = existing.last;
        self.cut_bytes = existing.cut_bytes;
        self.digits = existing.digits;
        self
    }

    /// What is written to, for instance to have a [flushed](Self::flush) file synchronised with its disk.
    pub fn get_ref(&self) -> &W {
        self.csv.get_ref().get_ref()
    }

    /// Length of the log in bytes so far, also of one that was there before. After a [flush](Self::flush) that is the
    /// file's; it is only counted, nothing is asked of the file.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// The moment of the last row, also of one that a log held before it was [appended](Self::append) to.
    pub fn last_time(&self) -> Option<Moment> {
        self.last
    }

    /// How many bytes [`append`](Self::append) took away: a last row that a crash had cut short.
    pub fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }

    /// Leaves the header line out: the rows go behind those of a log that has the same columns.
    pub fn without_header(mut self) -> Self {
        self.header_is_written = true;
        self.csv.get_ref().begin_with(b"");
        self.flushed_bytes = None;
        self
    }

    /// Appends a row: the values in the order of the columns, each already formatted, `None` where there is none.
    ///
    /// Columns beyond the last value have none either. A value that is not finite is none.
    ///
    /// # Errors
    ///
    /// When writing fails; "unsupported" when there are more values than columns (those that fit are written), or when the
    /// first row of an appended log is not later than the last one that was there.
    pub fn write_row(
        &mut self,
        at: Moment,
        mut values: impl Iterator<Item = Option<f64>>,
    ) -> Result<(), LogError> {
        self.begin(at)?;
        let at = if self.is_appended { self.follow(at)? } else { at };
        let mut time = [0; 23];
        at.local().write_log_time(&mut time);
        self.field(&time)?;
        self.last = Some(at);
        self.is_resumed = false;
        for _ in 0..self.columns.len() {
            let cell = match values.next().flatten().filter(|value| value.is_finite()) {
                Some(value) => {
                    let length = write_number(value, self.digits, &mut self.number);
                    &self.number[..length]
                }
                None => NO_VALUE,
            };
            self.csv.write_field(cell).map_err(into_log_error)?;
            self.bytes += quoted_bytes(cell);
        }
        self.end_line()?;
        if values.next().is_some() {
            let what = format!("a row has more values than the log has columns ({})", self.columns.len());
            return Err(LogError::unsupported(what));
        }
        Ok(())
    }

    /// The row's moment in the zone of the log that was there before, which it must follow.
    fn follow(&self, at: Moment) -> Result<Moment, LogError> {
        let at = self.zone.utc_to_moment(at.utc);
        match self.last {
            Some(last) if self.is_resumed && at.utc <= last.utc => Err(LogError::unsupported(format!(
                "cannot append: the log ends at {last}, and the row is of {at}"
            ))),
            _ => Ok(at),
        }
    }

    /// Hands everything written so far to the stream and has it flushed: every row is in the file then.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.csv.flush().map_err(LogError::io)?;
        self.flushed_bytes = self.flushed_bytes.map(|_| self.bytes);
        Ok(())
    }

    /// Completes the log: without a row its header is still to be written, with the zone's standard time.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn finish(&mut self) -> Result<(), LogError> {
        if !self.header_is_written {
            let bias = if self.zone.has_daylight_time() { self.zone.standard_bias_minutes } else { 0 };
            let bias = self.zone.bias_minutes.saturating_add(bias);
            let first = first_cell(self.format, resolve_name(&self.zone.standard_name), bias);
            self.write_header(&first)?;
        }
        self.flush()
    }

    /// Writes the header line, unless it is there: the columns are then known before the first row is.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn begin(&mut self, at: Moment) -> Result<(), LogError> {
        if self.header_is_written {
            return Ok(());
        }
        let first = first_cell(self.format, self.zone.name_at(&at), at.bias_minutes);
        self.write_header(&first)
    }

    fn write_header(&mut self, first: &str) -> Result<(), LogError> {
        self.header_is_written = true;
        // As Windows does, the cell ends before a zone's name that the encoding cannot hold.
        let first = encoded(self.encoding, first)
            .or_else(|| encoded(self.encoding, mark(self.format)))
            .unwrap_or_default();
        self.bytes += quoted_bytes(&first);
        self.csv.write_field(&first).map_err(into_log_error)?;
        for column in &self.columns {
            let path = encoded(self.encoding, &column.path).unwrap_or(Cow::Borrowed(column.path.as_bytes()));
            self.csv.write_field(&path).map_err(into_log_error)?;
            self.bytes += quoted_bytes(&path);
        }
        self.end_line()
    }

    fn field(&mut self, cell: &[u8]) -> Result<(), LogError> {
        self.bytes += quoted_bytes(cell);
        self.csv.write_field(cell).map_err(into_log_error)
    }

    fn end_line(&mut self) -> Result<(), LogError> {
        // CR LF; the line's last cell was counted with a separator.
        self.bytes += 1;
        self.csv.write_record(None::<&[u8]>).map_err(into_log_error)
    }
}

impl<W: Write + SetLength> TextWriter<W> {
    /// Takes the file back to what it held at the last [`flush`](Self::flush), after a failure of writing: no part of a row
    /// stays. Gives the file's length. A log that was begun [without a header](Self::without_header) stays as it is.
    ///
    /// # Errors
    ///
    /// When the file cannot be cut.
    pub fn give_up(self) -> Result<u64, LogError> {
        self.csv.get_ref().discard();
        let gate = self.csv.into_inner().map_err(|error| LogError::io(error.into_error()))?;
        match self.flushed_bytes {
            Some(bytes) => {
                gate.into_inner().set_length(bytes).map_err(LogError::io)?;
                Ok(bytes)
            }
            None => Ok(self.bytes),
        }
    }
}

/// A text in an encoding; `None` where it has a character that the encoding lacks.
fn encoded(encoding: TextEncoding, text: &str) -> Option<Cow<'_, [u8]>> {
    match encoding.code_page() {
        None => Some(Cow::Borrowed(text.as_bytes())),
        Some(page) => {
            let (bytes, _, lacks_some) = page.table().encode(text);
            // Some tables write a character as another one that looks alike: 932 has one byte for the yen sign and `\`.
            let (back, _) = page.table().decode_without_bom_handling(&bytes);
            (!lacks_some && back == text).then_some(bytes)
        }
    }
}

/// How many bytes a cell takes, with its quotes, those doubled in it, and the separator.
fn quoted_bytes(cell: &[u8]) -> u64 {
    (cell.len() + cell.iter().filter(|&&byte| byte == b'"').count() + 3) as u64
}

/// Writing fails by what the stream says, and by nothing of the format's own.
fn into_log_error(error: csv::Error) -> LogError {
    LogError::io(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    })
}
