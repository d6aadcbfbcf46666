//! Where results are written: standard output, or a file that appears under its name only when it is whole.

use std::fs::{File, OpenOptions};
use std::io::{self, BufWriter, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, Once, PoisonError};

use crate::failure::Failure;

/// The file that an interrupt has to clear away.
static UNFINISHED: Mutex<Option<PathBuf>> = Mutex::new(None);

fn note_unfinished(file: Option<&Path>) {
    static HANDLER: Once = Once::new();
    *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner) = file.map(Path::to_path_buf);
    HANDLER.call_once(|| {
        let handler = ctrlc::set_handler(|| {
            if let Some(file) = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner).take() {
                // Nothing can be done here about a file that does not go.
                let _ = std::fs::remove_file(file);
            }
            // What shells give for SIGINT.
            std::process::exit(130);
        });
        // Without a handler an interrupt still ends the program; it only leaves its unfinished file.
        drop(handler);
    });
}

/// A file being written. It is written beside its place and moved there at the end, so that neither an error nor a kill
/// leaves half a log under the name, or destroys the file that was there before. What is no regular file (a device, a
/// pipe) is written directly.
pub(crate) struct OutputFile {
    /// Where the file is to be.
    target: PathBuf,
    /// Where it is being written, if not there.
    temporary: Option<PathBuf>,
    file: BufWriter<File>,
    done: bool,
}

impl OutputFile {
    /// Begins a file. Refuses an existing one unless `overwrite`.
    pub(crate) fn create(target: &Path, overwrite: bool) -> Result<Self, Failure> {
        let at = |path: &Path, error: io::Error| Failure::work(format!("{}: {error}", path.display()));
        let existing = std::fs::metadata(target).ok();
        if let Some(existing) = &existing {
            if existing.is_dir() {
                return Err(Failure::usage(format!("{}: this is a folder", target.display())));
            }
            if !existing.is_file() {
                let file = OpenOptions::new().write(true).open(target).map_err(|error| at(target, error))?;
                return Ok(Self::new(target, None, file));
            }
            if !overwrite {
                return Err(Failure::usage(format!(
                    "{} exists: give -y to overwrite it, or another name",
                    target.display()
                )));
            }
            // The move at the end needs no permission on the file itself; overwriting should.
            OpenOptions::new().write(true).open(target).map_err(|error| at(target, error))?;
        }
        // A link stays a link: what it leads to is replaced.
        let target = &match existing {
            Some(_) => target.canonicalize().map_err(|error| at(target, error))?,
            None => target.to_path_buf(),
        };
        let mut name = target.file_name().unwrap_or_default().to_os_string();
        name.push(format!(".{}.partial", std::process::id()));
        let temporary = target.with_file_name(name);
        let file =
            OpenOptions::new().read(true).write(true).create_new(true).open(&temporary).map_err(|error| {
                match error.kind() {
                    io::ErrorKind::NotFound => Failure::work(format!(
                        "{}: its folder does not exist; make it first",
                        target.display()
                    )),
                    _ => at(target, error),
                }
            })?;
        if let Some(existing) = existing {
            // Overwriting keeps who may read the file.
            file.set_permissions(existing.permissions()).map_err(|error| at(target, error))?;
        }
        Ok(Self::new(target, Some(temporary), file))
    }

    fn new(target: &Path, temporary: Option<PathBuf>, file: File) -> Self {
        note_unfinished(temporary.as_deref());
        let file = BufWriter::with_capacity(1 << 18, file);
        Self { target: target.to_path_buf(), temporary, file, done: false }
    }

    /// Takes back everything written so far.
    pub(crate) fn restart(&mut self) -> io::Result<()> {
        self.file.rewind()?;
        self.file.get_ref().set_len(0)
    }

    /// Puts the whole file in its place.
    pub(crate) fn finish(mut self) -> Result<(), Failure> {
        let at = |error: io::Error| Failure::work(format!("{}: {error}", self.target.display()));
        self.file.flush().map_err(at)?;
        if let Some(temporary) = &self.temporary {
            std::fs::rename(temporary, &self.target).map_err(at)?;
        }
        note_unfinished(None);
        self.done = true;
        Ok(())
    }
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if !self.done
            && let Some(temporary) = &self.temporary
        {
            // The work failed and says why; a leftover that cannot be removed is not worth a second message.
            let _ = std::fs::remove_file(temporary);
        }
    }
}

impl Write for OutputFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Seek for OutputFile {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.file.seek(to)
    }
}
