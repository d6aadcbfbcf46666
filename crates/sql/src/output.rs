//! The formats of results.

mod json;
mod table;
mod text;

use std::fs::File;
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::path::Path;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tachograph_logs::output_file::OutputFile;
use tachograph_logs::sql::SqlLogName;
use tachograph_monitor::figures::escape_controls;

use crate::arguments::{Arguments, Format};
use crate::failure::Failure;
use table::TableWriter;
use text::Cells;

/// Writes a result.
pub(crate) struct Output {
    format: Format,
    /// `None` for standard output.
    file: Option<OutputFile>,
    writer: Option<Writer>,
}

enum Writer {
    Table(TableWriter<Box<dyn Write + Send>>),
    /// The plans of `EXPLAIN`, which have several lines.
    Plan(Box<dyn Write + Send>),
    Csv {
        out: Box<dyn Write + Send>,
        cells: Vec<String>,
    },
    Json(Box<dyn Write + Send>),
    Parquet(Box<ArrowWriter<File>>),
}

impl Output {
    /// Creates the output file.
    ///
    /// # Errors
    ///
    /// When the arguments are inconsistent, or the file cannot be created.
    pub(crate) fn new(arguments: &Arguments) -> Result<Self, Failure> {
        let format = format_of(arguments)?;
        let file = match &arguments.output {
            Some(path) if path != Path::new("-") => {
                if arguments.inputs.iter().any(|input| is_input(path, input)) {
                    let why = "this is an input of the query; use another name";
                    return Err(Failure::usage(format!("{}: {why}", path.display())));
                }
                Some(OutputFile::create(path, arguments.yes)?)
            }
            _ => None,
        };
        Ok(Self { format, file, writer: None })
    }

    /// Begins a result with these columns.
    pub(crate) fn begin(&mut self, schema: &SchemaRef) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_output(&error);
        let names = schema.fields().iter().map(|field| field.name().clone());
        self.writer = Some(match self.format {
            Format::Table if is_plan(schema) => Writer::Plan(self.stream().map_err(failed)?),
            Format::Table => {
                let width = self.file.is_none().then(terminal_width).flatten();
                Writer::Table(TableWriter::new(self.stream().map_err(failed)?, schema, width))
            }
            Format::Csv => {
                let mut out = self.stream().map_err(failed)?;
                let header: Vec<String> = names.collect();
                text::write_csv_line(&mut out, &header).map_err(failed)?;
                Writer::Csv { out, cells: Vec::new() }
            }
            Format::Json => Writer::Json(self.stream().map_err(failed)?),
            Format::Parquet => {
                let Some(file) = &self.file else { return Err(Failure::usage("-f parquet needs -o FILE")) };
                let zstd = Compression::ZSTD(ZstdLevel::default());
                let properties = WriterProperties::builder().set_compression(zstd).build();
                let writer =
                    ArrowWriter::try_new(file.try_clone().map_err(failed)?, schema.clone(), Some(properties));
                Writer::Parquet(Box::new(writer.map_err(Failure::runtime)?))
            }
        });
        Ok(())
    }

    fn stream(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match &self.file {
            None => Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
            Some(file) => Box::new(BufWriter::with_capacity(1 << 16, file.try_clone()?)),
        })
    }

    /// Writes rows.
    pub(crate) fn push(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_output(&error);
        match &mut self.writer {
            None => Ok(()),
            Some(Writer::Table(table)) => table.push(batch).map_err(failed),
            Some(Writer::Plan(out)) => {
                let columns = Cells::new(batch).map_err(Failure::runtime)?;
                let mut cells = Vec::new();
                for row in 0..batch.num_rows() {
                    columns.row(row, &mut cells);
                    write_plan(out, &cells).map_err(failed)?;
                }
                Ok(())
            }
            Some(Writer::Csv { out, cells }) => {
                let columns = Cells::new(batch).map_err(Failure::runtime)?;
                for row in 0..batch.num_rows() {
                    columns.row(row, cells);
                    text::write_csv_line(out, cells).map_err(failed)?;
                }
                Ok(())
            }
            Some(Writer::Json(out)) => json::write(out, batch).map_err(failed),
            Some(Writer::Parquet(writer)) => writer.write(batch).map_err(Failure::runtime),
        }
    }

    /// Completes the output.
    pub(crate) fn finish(self) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_output(&error);
        match self.writer {
            None => {}
            Some(Writer::Table(table)) => table.finish().map_err(failed)?,
            Some(Writer::Csv { mut out, .. } | Writer::Json(mut out) | Writer::Plan(mut out)) => {
                out.flush().map_err(failed)?
            }
            Some(Writer::Parquet(writer)) => drop(writer.close().map_err(Failure::runtime)?),
        }
        self.file.map_or(Ok(()), |file| Ok(file.finish()?))
    }
}

/// Whether an output is the file of an input, which the result would replace.
fn is_input(output: &Path, input: &Path) -> bool {
    let name = SqlLogName::parse(input).and_then(Result::ok);
    let input = name.and_then(|name| name.sqlite_path()).unwrap_or_else(|| input.to_path_buf());
    match (output.canonicalize(), input.canonicalize()) {
        (Ok(output), Ok(input)) => output.is_file() && output == input,
        _ => false,
    }
}

/// Whether a result is that of `EXPLAIN`.
fn is_plan(schema: &SchemaRef) -> bool {
    schema.fields().iter().map(|field| field.name().as_str()).eq(["plan_type", "plan"])
}

/// Writes the kind of a plan, and its lines, indented.
fn write_plan(out: &mut impl Write, cells: &[String]) -> io::Result<()> {
    let [kind, plan] = cells else { return Ok(()) };
    writeln!(out, "{}", escape_controls(kind))?;
    plan.lines().try_for_each(|line| writeln!(out, "  {}", escape_controls(line)))
}

fn format_of(arguments: &Arguments) -> Result<Format, Failure> {
    let extension = arguments.output.as_deref().and_then(Path::extension).and_then(|text| text.to_str());
    let from_extension = match extension.map(str::to_ascii_lowercase).as_deref() {
        Some("csv") => Some(Format::Csv),
        Some("json" | "jsonl" | "ndjson") => Some(Format::Json),
        Some("parquet") => Some(Format::Parquet),
        _ => None,
    };
    // Other extensions, such as .tsv, promise a format that the text table is not.
    if let (None, None, Some(path), Some(extension)) =
        (arguments.format, from_extension, &arguments.output, extension)
        && !extension.eq_ignore_ascii_case("txt")
    {
        return Err(Failure::usage(format!(
            "{}: the extension '{extension}' selects no format: use .csv, .json, .parquet or .txt, or the option -f",
            path.display()
        )));
    }
    let format = arguments.format.or(from_extension).unwrap_or(Format::Table);
    let is_to_file = arguments.output.as_deref().is_some_and(|path| path != Path::new("-"));
    match format == Format::Parquet && !is_to_file {
        true => Err(Failure::usage(
            "-f parquet needs -o FILE: a Parquet file cannot be written to standard output",
        )),
        false => Ok(format),
    }
}

/// The width of the terminal; `None` if standard output is not a terminal.
fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    let size = if out.is_terminal() { rustix::termios::tcgetwinsize(&out).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}
