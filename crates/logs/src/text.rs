//! PDH's text logs, CSV and TSV: a header of counter paths and one line of formatted values for each sample.
//!
//! ```text
//! "(PDH-CSV 4.0) (Pacific Standard Time)(480)","\\GEORGIS3\Memory\Available Bytes"
//! "02/19/2013 18:50:17.844","113057792"
//! ```
//!
//! What a text log holds is formatted: counter types, raw values and clocks are gone, and nothing but arithmetic
//! averages can be made of it. Sources: logs that Windows wrote; "Working with Log Files" (Windows SDK).

mod append;
mod cell;
mod column;
mod decoder;
mod excerpt;
mod gate;
mod header;
pub mod number;
mod reader;
mod writer;

pub use decoder::TextEncoding;
pub use header::UNKNOWN_ZONE;
pub use reader::TextReader;
pub use writer::{Column, TextWriter};
