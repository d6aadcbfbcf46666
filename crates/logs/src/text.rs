//! PDH's text logs, CSV and TSV: a header of counter paths, and one line of formatted values per sample.
//!
//! ```text
//! "(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\GEORGIS3\Memory\Available Bytes"
//! "02/19/2013 18:50:17.844","113057792"
//! ```
//!
//! The values are formatted: counter types, raw values and clocks are lost, and only arithmetic averages can be
//! computed. Sources: logs written by Windows; "Working with Log Files" (Windows SDK).

mod append;
mod cell;
mod column;
mod decoder;
mod encoding;
mod excerpt;
mod fail_stop;
mod header;
mod json;
pub mod number;
mod reader;
mod source;
mod writer;

pub use encoding::{CodePage, TextEncoding, UnknownEncoding};
pub use header::UNKNOWN_ZONE;
pub use json::JsonReader;
pub use reader::TextReader;
pub use writer::{Column, TextWriter};

use std::io::{Read, Seek};

use crate::{Format, LogError, LogReader, ReadOptions};

/// Opens a text log. The format is detected from the first characters.
pub(crate) fn open<R>(mut stream: R, options: &ReadOptions) -> Result<Box<dyn LogReader>, LogError>
where
    R: Read + Seek + Send + 'static,
{
    let (origin, file_bytes) = source::origin_and_length(&mut stream)?;
    let text = source::open_text(stream, options)?;
    Ok(match text.1 {
        Format::Json => Box::new(JsonReader::from_text(text.0, origin, file_bytes, options)?),
        _ => Box::new(TextReader::from_text(text, file_bytes, options)?.with_seek(origin)?),
    })
}
