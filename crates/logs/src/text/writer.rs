//! Writes text logs.

use std::borrow::Cow;
use std::io::Write;

use tachograph_counters::civil::Moment;
use tachograph_counters::time_zone::{TimeZone, resolve_name};

use crate::{Format, LogError, SetLength};

use super::encoding::TextEncoding;
use super::fail_stop::FailStop;
use super::header::{first_cell, separator, signature};
use super::number::{Digits, NumberText, write_number};

/// PDH's cell for a missing value.
const NO_VALUE: &[u8] = b" ";

/// A column of a text log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// The full counter path: `\\machine\set(instance)\counter`. Several columns can have the same path.
    pub path: String,
}

/// Writes a CSV or TSV log as PDH does.
///
/// The text is UTF-8 without a byte order mark, or in [another encoding](Self::with_encoding). Every cell is quoted,
/// with quotes doubled, and every line ends in CR LF. Times are local, `MM/dd/yyyy HH:mm:ss.fff`, truncated; values
/// have 17 or 20 [`Digits`]; a missing value is `" "`.
///
/// The first cell has the time zone and the bias at the first row, so the header is written with that row. The local
/// times of later rows use the bias at that time, although the format cannot express that the bias changed.
///
/// Source: logs written by Windows; "Working with Log Files" (Windows SDK).
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
    csv: csv::Writer<FailStop<W>>,
    format: Format,
    zone: TimeZone,
    columns: Vec<Column>,
    is_header_written: bool,
    number_text: NumberText,
    digits: Digits,
    encoding: TextEncoding,
    /// Length of the log so far, including an existing log.
    bytes: u64,
    /// `bytes` at the last flush; `None` if the length of the existing part is unknown.
    flushed_bytes: Option<u64>,
    /// Time of the last row, which can be one of an existing log.
    last_time: Option<Moment>,
    /// Whether rows are appended to an existing log, whose time zone applies.
    is_appended: bool,
    /// Whether the next row is the first appended one, which must be later than the existing rows.
    is_first_appended: bool,
    /// See [`cut_bytes`](Self::cut_bytes).
    cut_bytes: u64,
}

/// The state of an existing log.
pub(super) struct ExistingLog {
    pub(super) bytes: u64,
    pub(super) last_time: Option<Moment>,
    pub(super) cut_bytes: u64,
    pub(super) digits: Digits,
}

impl<W: Write> TextWriter<W> {
    /// Creates a log with these columns. Nothing is written yet.
    ///
    /// # Errors
    ///
    /// [`LogError::is_unsupported`] if `format` is not CSV or TSV.
    pub fn new(out: W, format: Format, zone: TimeZone, columns: Vec<Column>) -> Result<Self, LogError> {
        if !matches!(format, Format::Csv | Format::Tsv) {
            return Err(LogError::unsupported(format!("{} is neither CSV nor TSV", format.name())));
        }
        let csv = csv::WriterBuilder::new()
            .delimiter(separator(format))
            .quote_style(csv::QuoteStyle::Always)
            .terminator(csv::Terminator::CRLF)
            .has_headers(false)
            .flexible(true)
            .buffer_capacity(64 * 1024)
            .from_writer(FailStop::new(out));
        Ok(Self {
            csv,
            format,
            zone,
            columns,
            is_header_written: false,
            number_text: [0; 32],
            digits: Digits::default(),
            encoding: TextEncoding::Utf8,
            bytes: 0,
            flushed_bytes: Some(0),
            last_time: None,
            is_appended: false,
            is_first_appended: false,
            cut_bytes: 0,
        })
    }

    /// Sets the number of digits of values; by default 17.
    #[must_use]
    pub fn with_digits(mut self, digits: Digits) -> Self {
        self.digits = digits;
        self
    }

    /// Sets the encoding; by default UTF-8 without a byte order mark.
    ///
    /// # Errors
    ///
    /// [`LogError::is_unsupported`] for UTF-16, which PDH does not write, and if a column's name has a character
    /// that the encoding lacks; the first such column is named.
    pub fn with_encoding(mut self, encoding: TextEncoding) -> Result<Self, LogError> {
        if matches!(encoding, TextEncoding::Utf16Le | TextEncoding::Utf16Be) {
            return Err(LogError::unsupported(
                "text logs are not written in UTF-16: choose utf-8-bom or a code page",
            ));
        }
        self.encoding = encoding;
        let unmappable = self.columns.iter().find(|column| encode(encoding, &column.path).is_none());
        if let Some(column) = unmappable {
            let path = &column.path;
            return Err(LogError::unsupported(format!(
                "'{path}' cannot be written in {encoding}: choose utf-8"
            )));
        }
        let bom = if encoding == TextEncoding::Utf8WithBom { &b"\xef\xbb\xbf"[..] } else { b"" };
        self.csv.get_ref().set_prefix(bom);
        self.bytes = bom.len() as u64;
        Ok(self)
    }

    /// Continues an existing log after its last row.
    pub(super) fn continuing(mut self, existing: &ExistingLog) -> Self {
        self.is_header_written = true;
        self.is_appended = true;
        self.is_first_appended = true;
        self.bytes = existing.bytes;
        self.flushed_bytes = Some(existing.bytes);
        self.last_time = existing.last_time;
        self.cut_bytes = existing.cut_bytes;
        self.digits = existing.digits;
        self
    }

    /// The underlying writer, for example to synchronize a [flushed](Self::flush) file with its disk.
    pub fn get_ref(&self) -> &W {
        self.csv.get_ref().get_ref()
    }

    /// Length of the log in bytes so far, including an existing log; after a [flush](Self::flush), that of the
    /// file. Computed without access to the file.
    pub fn bytes_written(&self) -> u64 {
        self.bytes
    }

    /// Time of the last row, which can be one of the log that was [appended](Self::append) to.
    pub fn last_time(&self) -> Option<Moment> {
        self.last_time
    }

    /// The number of bytes that [`append`](Self::append) removed: a truncated last row.
    pub fn cut_bytes(&self) -> u64 {
        self.cut_bytes
    }

    /// Omits the header line, to append rows to a log with the same columns.
    pub fn without_header(mut self) -> Self {
        self.is_header_written = true;
        self.csv.get_ref().set_prefix(b"");
        self.flushed_bytes = None;
        self
    }

    /// Appends a row of formatted values in the order of the columns; `None` is a missing value.
    ///
    /// If there are fewer values than columns, the last columns have no value. Values that are not finite are written
    /// as missing.
    ///
    /// # Errors
    ///
    /// When writing fails; [`LogError::is_unsupported`] if there are more values than columns (those that fit are
    /// written), or if the first row of an appended log is not later than its last row.
    pub fn write_row(
        &mut self,
        at: Moment,
        mut values: impl Iterator<Item = Option<f64>>,
    ) -> Result<(), LogError> {
        self.begin(at)?;
        let at = if self.is_appended { self.appended_time(at)? } else { at };
        let mut time = [0; 23];
        at.local().write_log_time(&mut time);
        self.write_cell(&time)?;
        self.last_time = Some(at);
        self.is_first_appended = false;
        for _ in 0..self.columns.len() {
            let cell = match values.next().flatten().filter(|value| value.is_finite()) {
                Some(value) => {
                    let length = write_number(value, self.digits, &mut self.number_text);
                    &self.number_text[..length]
                }
                None => NO_VALUE,
            };
            self.csv.write_field(cell).map_err(into_log_error)?;
            self.bytes += quoted_len(cell);
        }
        self.end_line()?;
        if values.next().is_some() {
            let message = format!("a row has more values than the log has columns ({})", self.columns.len());
            return Err(LogError::unsupported(message));
        }
        Ok(())
    }

    /// Converts the row's time to the time zone of the existing log. The first appended row must be later than the last
    /// row of the log.
    fn appended_time(&self, at: Moment) -> Result<Moment, LogError> {
        let at = self.zone.utc_to_moment(at.utc);
        match self.last_time {
            Some(last) if self.is_first_appended && at.utc <= last.utc => Err(LogError::not_later(format!(
                "cannot append: the log ends at {last}; the row at {at} is not later"
            ))),
            _ => Ok(at),
        }
    }

    /// Writes all buffered rows to the stream and flushes it.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn flush(&mut self) -> Result<(), LogError> {
        self.csv.flush().map_err(LogError::io)?;
        self.flushed_bytes = self.flushed_bytes.map(|_| self.bytes);
        Ok(())
    }

    /// Completes the log. If no row was written, writes the header with the bias of the zone's standard time.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn finish(&mut self) -> Result<(), LogError> {
        if !self.is_header_written {
            let bias = if self.zone.has_daylight_time() { self.zone.standard_bias_minutes } else { 0 };
            let bias = self.zone.bias_minutes.saturating_add(bias);
            let first = first_cell(self.format, resolve_name(&self.zone.standard_name), bias);
            self.write_header(&first)?;
        }
        self.flush()
    }

    /// Writes the header line, unless it is already written.
    ///
    /// # Errors
    ///
    /// When writing fails.
    pub fn begin(&mut self, at: Moment) -> Result<(), LogError> {
        if self.is_header_written {
            return Ok(());
        }
        let first = first_cell(self.format, self.zone.name_at(&at), at.bias_minutes);
        self.write_header(&first)
    }

    fn write_header(&mut self, first: &str) -> Result<(), LogError> {
        self.is_header_written = true;
        // Like Windows, omit a zone's name that the encoding cannot represent.
        let first = encode(self.encoding, first)
            .or_else(|| encode(self.encoding, signature(self.format)))
            .unwrap_or_default();
        self.bytes += quoted_len(&first);
        self.csv.write_field(&first).map_err(into_log_error)?;
        for column in &self.columns {
            let path = encode(self.encoding, &column.path).unwrap_or(Cow::Borrowed(column.path.as_bytes()));
            self.csv.write_field(&path).map_err(into_log_error)?;
            self.bytes += quoted_len(&path);
        }
        self.end_line()
    }

    fn write_cell(&mut self, cell: &[u8]) -> Result<(), LogError> {
        self.bytes += quoted_len(cell);
        self.csv.write_field(cell).map_err(into_log_error)
    }

    fn end_line(&mut self) -> Result<(), LogError> {
        // CR LF has two bytes, of which one was counted as the last cell's separator.
        self.bytes += 1;
        self.csv.write_record(None::<&[u8]>).map_err(into_log_error)
    }
}

impl<W: Write + SetLength> TextWriter<W> {
    /// After a failed write, restores the file to its state at the last [`flush`](Self::flush), without partial rows.
    /// Returns the length of the file. A log [without a header](Self::without_header) is not changed.
    ///
    /// # Errors
    ///
    /// When the file cannot be truncated.
    pub fn abort(self) -> Result<u64, LogError> {
        self.csv.get_ref().discard();
        let out = self.csv.into_inner().map_err(|error| LogError::io(error.into_error()))?;
        match self.flushed_bytes {
            Some(bytes) => {
                out.into_inner().set_length(bytes).map_err(LogError::io)?;
                Ok(bytes)
            }
            None => Ok(self.bytes),
        }
    }
}

/// Encodes text; `None` if it has a character that the encoding lacks.
fn encode(encoding: TextEncoding, text: &str) -> Option<Cow<'_, [u8]>> {
    match encoding.code_page() {
        None => Some(Cow::Borrowed(text.as_bytes())),
        Some(page) => {
            let (bytes, _, has_unmappable) = page.table().encode(text);
            // Some tables substitute similar characters: 932 has one byte for the yen sign and `\`.
            let (decoded, _) = page.table().decode_without_bom_handling(&bytes);
            (!has_unmappable && decoded == text).then_some(bytes)
        }
    }
}

/// Length of a cell with its quotes, doubled quotes and the separator.
fn quoted_len(cell: &[u8]) -> u64 {
    (cell.len() + cell.iter().filter(|&&byte| byte == b'"').count() + 3) as u64
}

/// Converts an error of the CSV writer, which is always an I/O error.
fn into_log_error(error: csv::Error) -> LogError {
    LogError::io(match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => std::io::Error::other(format!("{other:?}")),
    })
}
