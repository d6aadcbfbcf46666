//! Options of text logs: how they are read, and how they are written.

use clap::Args;
use tachograph_flow::sinks::TextForm;
use tachograph_logs::{Budget, Digits, ReadOptions, TextEncoding};

use crate::failure::Failure;

/// How text logs are read.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ReadingArguments {
    /// Encoding of the text logs that are read: utf-8, utf-16le, utf-16be, or a code page of Windows (1250 to 1258, 932,
    /// 936, 949, 950). Default: guessed. A byte order mark takes precedence; a log that is not valid in the encoding is
    /// refused. What is written has an encoding of its own: `relog --output-encoding`.
    #[arg(long, value_name = "NAME", value_parser = parse_input_encoding)]
    encoding: Option<TextEncoding>,
    /// Memory for text logs, in MB of 1,048,576 bytes; what needs more is refused. Default: 512.
    #[arg(long, value_name = "MB", value_parser = clap::value_parser!(u32).range(1..))]
    max_memory: Option<u32>,
}

impl ReadingArguments {
    /// What they say.
    pub(crate) fn options(&self) -> ReadOptions {
        let budget = self.max_memory.map_or_else(Budget::default, |mb| Budget::new(u64::from(mb) << 20));
        ReadOptions { budget, encoding: self.encoding, ..ReadOptions::default() }
    }
}

/// Digits of values in text.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct DigitsArguments {
    /// Significant digits of values in CSV and TSV: 17, or 20 as Windows 10 and 11 write them. Default: as the first log's own
    /// Windows writes them, of what Tachograph recorded 17.
    #[arg(long, value_name = "17|20", value_parser = parse_digits)]
    digits: Option<Digits>,
}

impl DigitsArguments {
    /// How text is written, in this encoding, where `default` is what the source has.
    pub(crate) fn form(&self, encoding: Option<TextEncoding>, default: Digits) -> TextForm {
        TextForm { digits: self.digits.unwrap_or(default), encoding: encoding.unwrap_or(TextEncoding::Utf8) }
    }

    /// Refuses them, and an encoding given by `option`, where no text is written.
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
        Err(Failure::usage(format!("{option} is for CSV and TSV: give -f csv or -f tsv")))
    }
}

pub(crate) fn parse_encoding(name: &str) -> Result<TextEncoding, String> {
    name.parse().map_err(|error: tachograph_logs::text::UnknownEncoding| error.to_string())
}

/// As [`parse_encoding`], of what is read, where a mark is always recognised.
fn parse_input_encoding(name: &str) -> Result<TextEncoding, String> {
    match parse_encoding(name)? {
        TextEncoding::Utf8WithMark => {
            Err("this is the encoding of the input, where a mark is always recognised; \
             'tacho relog --output-encoding utf-8-bom' writes one"
                .to_owned())
        }
        encoding => Ok(encoding),
    }
}

fn parse_digits(text: &str) -> Result<Digits, String> {
    match text {
        "17" => Ok(Digits::Seventeen),
        "20" => Ok(Digits::Twenty),
        _ => Err("17 or 20".to_owned()),
    }
}
