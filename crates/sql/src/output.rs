//! The formats of results.

mod json;
mod table;
mod text;

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, ErrorKind, IsTerminal as _, Write};
use std::path::{Path, PathBuf};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;
use tachograph_logs::output_file::{is_locked, open_locked};
use tachograph_monitor::figures::escape_controls;

use crate::arguments::{Arguments, Format};
use crate::failure::Failure;
use table::TableWriter;
use text::Cells;

/// Writes a result.
pub(crate) struct Output {
    format: Format,
    target: Target,
    writer: Option<Writer>,
}

/// Where a result is written.
enum Target {
    StandardOutput,
    /// A device or a pipe, which is written directly.
    Device(File),
    /// A temporary file, which is renamed to `path` when it is complete.
    File {
        file: tempfile::NamedTempFile,
        path: PathBuf,
        overwrite: bool,
        /// The file that is replaced. It stays locked until then, so that no recorder begins to write it.
        _replaced: Option<File>,
    },
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
        let target = match &arguments.output {
            Some(path) if path != Path::new("-") => create(path, arguments.yes)?,
            _ => Target::StandardOutput,
        };
        Ok(Self { format, target, writer: None })
    }

    /// Begins a result with these columns.
    pub(crate) fn begin(&mut self, schema: &SchemaRef) -> Result<(), Failure> {
        let failed = |error: io::Error| Failure::of_output(&error);
        let names = schema.fields().iter().map(|field| field.name().clone());
        self.writer = Some(match self.format {
            Format::Table if is_plan(schema) => Writer::Plan(self.stream().map_err(failed)?),
            Format::Table => {
                let width = matches!(self.target, Target::StandardOutput).then(terminal_width).flatten();
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
                let file = match &self.target {
                    Target::File { file, .. } => file.reopen(),
                    Target::Device(file) => file.try_clone(),
                    Target::StandardOutput => return Err(Failure::usage("-f parquet needs -o FILE")),
                };
                let zstd = Compression::ZSTD(ZstdLevel::default());
                let properties = WriterProperties::builder().set_compression(zstd).build();
                let writer = ArrowWriter::try_new(file.map_err(failed)?, schema.clone(), Some(properties));
                Writer::Parquet(Box::new(writer.map_err(Failure::runtime)?))
            }
        });
        Ok(())
    }

    fn stream(&self) -> io::Result<Box<dyn Write + Send>> {
        Ok(match &self.target {
            Target::StandardOutput => Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
            Target::Device(file) => Box::new(BufWriter::with_capacity(1 << 16, file.try_clone()?)),
            Target::File { file, .. } => Box::new(BufWriter::with_capacity(1 << 16, file.reopen()?)),
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
        match self.target {
            Target::StandardOutput | Target::Device(_) => Ok(()),
            Target::File { file, path, overwrite, _replaced } => persist(file, &path, overwrite),
        }
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

/// Opens a device or a pipe, or creates a temporary file in the folder of the output. A symbolic link is kept; the file it
/// points to is replaced. The other commands of `tacho` open outputs by the same rules.
fn create(path: &Path, overwrite: bool) -> Result<Target, Failure> {
    let failed = |error: io::Error| cannot_write(path, &error);
    // If the metadata cannot be read, creating the file reports why.
    let existing = std::fs::metadata(path).ok();
    let mut replaced = None;
    if let Some(existing) = &existing {
        if existing.is_dir() {
            return Err(Failure::usage(format!("{}: this is a folder, not a file", path.display())));
        }
        if existing.is_file() && !overwrite {
            return Err(already_exists(path));
        }
        // The rename at the end does not need write permission for the file, but overwriting should.
        let file = open_locked(path, OpenOptions::new().write(true)).map_err(failed)?;
        if !existing.is_file() {
            return Ok(Target::Device(file));
        }
        replaced = Some(file);
    }
    let path = match existing {
        Some(_) => path.canonicalize().map_err(failed)?,
        None => path.to_path_buf(),
    };
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let file = tempfile::Builder::new()
        .prefix(".tacho-sql-")
        // By default, `tempfile` would create a private file (0600) and wrap errors.
        .make_in(folder, |path| OpenOptions::new().read(true).write(true).create_new(true).open(path))
        .map_err(|error| cannot_write(&path, &error))?;
    // Overwriting keeps the permissions.
    if let Some(existing) = existing {
        file.as_file()
            .set_permissions(existing.permissions())
            .map_err(|error| cannot_write(&path, &error))?;
    }
    Ok(Target::File { file, path, overwrite, _replaced: replaced })
}

fn cannot_write(path: &Path, error: &io::Error) -> Failure {
    if is_locked(error) {
        let why = "another recorder is writing it; use another name, or stop that recorder";
        return Failure::usage(format!("{}: {why}", path.display()));
    }
    let why = match error.kind() {
        ErrorKind::NotFound => "its folder does not exist; create it first".to_owned(),
        _ => format!("cannot write: {}", tachograph_logs::io_error_text(error)),
    };
    Failure::runtime(format!("{}: {why}", path.display()))
}

fn already_exists(path: &Path) -> Failure {
    Failure::usage(format!("{} exists: use -y to overwrite it, or another name", path.display()))
}

/// Syncs a complete file and renames it to its final name.
fn persist(file: tempfile::NamedTempFile, path: &Path, overwrite: bool) -> Result<(), Failure> {
    file.as_file().sync_all().map_err(|error| cannot_write(path, &error))?;
    let persisted = match overwrite {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    match persisted {
        Ok(_) => Ok(()),
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Err(already_exists(path)),
        Err(error) => Err(cannot_write(path, &error.error)),
    }
}

/// The width of the terminal; `None` if standard output is not a terminal.
fn terminal_width() -> Option<usize> {
    let out = io::stdout();
    let size = if out.is_terminal() { rustix::termios::tcgetwinsize(&out).ok() } else { None };
    size.map(|size| usize::from(size.ws_col)).filter(|&columns| columns > 0)
}
