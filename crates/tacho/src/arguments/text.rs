//! Options for reading and writing text logs, and for numbers.

use clap::Args;
use tachograph_flow::sinks::TextForm;
use tachograph_logs::{Budget, Digits, ReadOptions, TextEncoding};
use tachograph_monitor::figures::NumberForm;

use crate::failure::Failure;

/// Options for reading text logs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ReadingArguments {
    /// Encoding of the text logs to read: utf-8, utf-16le, utf-16be, or a Windows code page (1250 to 1258, 932, 936,
    /// 949, 950). Default: guessed. A byte order mark takes precedence; a log that is not valid in this encoding is
    /// rejected. For the output, see `relog --output-encoding`.
    #[arg(long, value_name = "NAME", value_parser = parse_input_encoding)]
    encoding: Option<TextEncoding>,
    /// Memory limit for text logs, in MB of 1,048,576 bytes; a log that needs more is rejected. Default: 512.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    max_memory: Option<u32>,
}

impl ReadingArguments {
    pub(crate) fn options(&self) -> ReadOptions {
        let budget = self.max_memory.map_or_else(Budget::default, |mb| Budget::new(u64::from(mb) << 20));
        ReadOptions { budget, encoding: self.encoding, ..ReadOptions::default() }
    }
}

/// Options for writing text logs.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DigitsArguments {
    /// Significant digits of values in CSV and TSV: 17, or 20 as in Windows 10 and 11. Default: as in the Windows
    /// version that wrote the first log; 17 for recordings of Tachograph.
    #[arg(long, value_name = "17|20", value_parser = parse_digits)]
    digits: Option<Digits>,
}

impl DigitsArguments {
    /// The form of a text log: `default`, with the digits of --digits and this encoding.
    pub(crate) fn form(&self, encoding: Option<TextEncoding>, default: TextForm) -> TextForm {
        TextForm {
            digits: self.digits.unwrap_or(default.digits),
            encoding: encoding.unwrap_or(default.encoding),
            ..default
        }
    }

    /// Returns an error if --digits or an encoding is set but the output is not text. `option` is the name of the
    /// encoding's option.
    pub(crate) fn check(
        &self,
        encoding: Option<TextEncoding>,
        option: &str,
        is_text: bool,
    ) -> Result<(), Failure> {
        let option = match (self.digits, encoding) {
            _ if is_text => return Ok(()),
            (Some(_), _) => "--digits",
            (None, Some(_)) => option,
            (None, None) => return Ok(()),
        };
        Err(Failure::usage(format!("{option} applies to CSV and TSV only: use -f csv or -f tsv")))
    }
}

/// How numbers are displayed.
#[derive(Clone, Copy, Debug, Default, Args)]
pub(crate) struct NumberArguments {
    /// Show values with all digits and without prefixes (24,588,402,688), not as 22.9 GiB. Applies to tables and the
    /// monitor; CSV and JSON always have full precision.
    #[arg(long)]
    raw_numbers: bool,
}

impl NumberArguments {
    pub(crate) fn form(self) -> NumberForm {
        if self.raw_numbers { NumberForm::Raw } else { NumberForm::Units }
    }
}

pub(crate) fn parse_encoding(name: &str) -> Result<TextEncoding, String> {
    name.parse().map_err(|error: tachograph_logs::text::UnknownEncoding| error.to_string())
}

/// Like [`parse_encoding`], but for outputs, which are not written in UTF-16.
pub(crate) fn parse_output_encoding(name: &str) -> Result<TextEncoding, String> {
    match parse_encoding(name)? {
        TextEncoding::Utf16Le | TextEncoding::Utf16Be => {
            Err("text logs are not written in UTF-16: choose utf-8, utf-8-bom or a code page".to_owned())
        }
        encoding => Ok(encoding),
    }
}

/// Like [`parse_encoding`], but for inputs, in which a byte order mark is always recognised.
fn parse_input_encoding(name: &str) -> Result<TextEncoding, String> {
    match parse_encoding(name)? {
        TextEncoding::Utf8WithBom => {
            Err("this is the encoding of the input, where a byte order mark is always recognised; \
             to write one, use 'tacho relog --output-encoding utf-8-bom'"
                .to_owned())
        }
        encoding => Ok(encoding),
    }
}

fn parse_digits(text: &str) -> Result<Digits, String> {
    match text {
        "17" => Ok(Digits::Seventeen),
        "20" => Ok(Digits::Twenty),
        _ => Err("must be 17 or 20".to_owned()),
    }
}
