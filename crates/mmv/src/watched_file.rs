//! An MMV file that is read repeatedly: the values at each sample, the metrics and instances only when they change.

use std::ffi::CString;
use std::fs::File;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FileType, Mode, OFlags, Stat, fstat, lstat, open};
use rustix::io::Errno;
use tachograph_perflib::registration::CounterSetInfo;
use tachograph_perflib::{Failure, Reading, Timestamps};

use super::budget::{Budget, Reservation};
use super::header::{Header, HeaderBytes};
use super::layout::Layout;
use super::plan::{Origin, Plan, Skipped, build_plan};
use super::problem::{Cause, MAX_FILE_BYTES};
use super::process::Process;
use super::raw::{Bytes, HEADER_BYTES};
use super::text::to_readable;

/// The maximum number of attempts to read a file that is being written.
const MAX_ATTEMPTS: usize = 3;

/// A path in a folder of MMV files. Programs may replace the file at any time.
#[derive(Debug)]
pub(super) struct WatchedFile {
    path: PathBuf,
    /// The path for system calls, converted once.
    system_path: CString,
    budget: Budget,
    /// The file as it was last read successfully; `None` if no file is at the path.
    opened_file: Option<Opened>,
    /// Whether the file and the process that it depends on existed at the last collection.
    is_present: bool,
    /// How many times the whole file was read.
    loads: u64,
    /// The last file that was found to be damaged, and how. It is not parsed again until it changes.
    damaged: Option<(Fingerprint, Cause)>,
}

/// An open file and the counter sets it describes.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    fingerprint: Fingerprint,
    pub(super) plan: Plan,
    /// A copy of the values section.
    pub(super) values: Vec<u8>,
    /// The process that the file depends on, if any.
    process: Option<Process>,
    /// The share of the memory budget that this file uses.
    _memory: Reservation,
}

/// Identifies a file and its description. No other file has the same device and inode while this one is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fingerprint {
    id: FileId,
    /// The file's size.
    bytes: u64,
    header: HeaderBytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn from_stat(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl WatchedFile {
    /// Opens a file and reads its descriptions. Also returns the metrics and sets that were skipped.
    ///
    /// `None` if the file, or the process that it depends on, is gone.
    pub(super) fn new(path: &Path, budget: &Budget) -> Result<Option<(Self, Vec<Skipped>)>, Cause> {
        let system_path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let mut file = Self {
            path: path.to_owned(),
            system_path,
            budget: budget.clone(),
            opened_file: None,
            is_present: false,
            loads: 0,
            damaged: None,
        };
        match file.load() {
            Err(Cause::System(Errno::NOENT)) => Ok(None),
            Err(cause) => Err(cause),
            Ok(skipped) => {
                Ok(file.opened_file.as_ref().is_some_and(Opened::is_alive).then_some((file, skipped)))
            }
        }
    }

    /// The file as of the last collection; `None` if it, or the process that it depends on, is gone.
    pub(super) fn opened_file(&self) -> Option<&Opened> {
        self.opened_file.as_ref().filter(|_| self.is_present)
    }

    /// A number that changes whenever the file's descriptions may have changed.
    pub(super) fn loads(&self) -> u64 {
        self.loads
    }

    /// The sets that the file describes: the serial number of each instance domain, and the set's registration.
    pub(super) fn sets(&self) -> Vec<(Option<u32>, Arc<CounterSetInfo>)> {
        let sets = self.opened_file.iter().flat_map(|opened| &opened.plan.sets);
        sets.map(|set| (set.serial, Arc::clone(&set.info))).collect()
    }

    /// Opens and reads the file that is currently at the path.
    fn load(&mut self) -> Result<Vec<Skipped>, Cause> {
        let (file, stat) = self.open()?;
        let mut loaded = self.load_from(&file, &stat);
        for _ in 1..MAX_ATTEMPTS {
            if !matches!(loaded, Err(Cause::Torn(..) | Cause::TooShort(_) | Cause::Shrunk)) {
                break;
            }
            loaded = self.load_from(&file, &stat);
        }
        let (opened, skipped) = loaded?;
        self.opened_file = Some(opened);
        self.loads += 1;
        self.damaged = None;
        Ok(skipped)
    }

    fn open(&self) -> Result<(File, Stat), Cause> {
        // Do not wait for a writer of a pipe; do not follow symbolic links.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match open(&*self.system_path, flags, Mode::empty()) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::LOOP) => return Err(Cause::NotRegular("a symbolic link")),
            Err(Errno::NXIO) => return Err(Cause::NotRegular("a socket, or an absent device")),
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            other => Err(Cause::NotRegular(file_kind(other))),
        }
    }

    /// Reads a whole file that was opened.
    fn load_from(&mut self, file: &File, stat: &Stat) -> Result<(Opened, Vec<Skipped>), Cause> {
        let bytes = fstat(file)?.st_size.cast_unsigned();
        if bytes > MAX_FILE_BYTES {
            return Err(Cause::TooLong(bytes));
        }
        let mut header = [0; HEADER_BYTES as usize];
        if bytes < HEADER_BYTES {
            // The program has created its file, but not written it yet.
            return Err(Cause::TooShort(bytes));
        }
        read_exact(file, &mut header, 0)?;
        let fingerprint = Fingerprint { id: FileId::from_stat(stat), bytes, header };
        if let Some((known, cause)) = &self.damaged
            && *known == fingerprint
        {
            return Err(cause.clone());
        }
        let parsed_header = Header::parse(Bytes(&header))?;
        let mut content = vec![0; bytes as usize];
        read_exact(file, &mut content, 0)?;
        let layout = Layout::parse(Bytes(&content));
        read_exact(file, &mut header, 0)?;
        if header != fingerprint.header {
            return Err(Cause::Torn(generation(&fingerprint.header), generation(&header)));
        }
        let layout = layout.map_err(|error| {
            let cause = Cause::from(error);
            self.damaged = Some((fingerprint, cause.clone()));
            cause
        })?;
        let mut hasher = DefaultHasher::new();
        (fingerprint.id, parsed_header.generation, parsed_header.writer).hash(&mut hasher);
        let name = self.path.file_name().map(|name| to_readable(name.as_bytes())).unwrap_or_default();
        let source = self.path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        let origin =
            Origin { name: &name, source: &source, uid: Some(stat.st_uid), identity: hasher.finish() };
        let (plan, skipped) = build_plan(&layout, &origin);
        // The previously open file keeps its reservation until it is replaced, so for a moment both count.
        let memory = self.budget.reserve(plan.memory_bytes()).ok_or(Cause::OutOfBudget)?;
        let process = plan.process.map(Process::new);
        let start = plan.values.offset as usize;
        let values = content.get(start..start + plan.values.bytes() as usize).unwrap_or_default().to_vec();
        let file = file.try_clone().map_err(|error| Cause::System(errno_of(&error)))?;
        Ok((Opened { file, fingerprint, plan, values, process, _memory: memory }, skipped))
    }

    /// Reads the current values; reads the whole file if it was replaced or its description has changed. Returns
    /// whether the file, and the process that it depends on, exist.
    fn refresh(&mut self) -> Result<bool, Cause> {
        let stat = match lstat(&*self.system_path) {
            Ok(stat) => stat,
            // A file that is created later has another identity, even if it has the same inode.
            Err(Errno::NOENT) => {
                self.opened_file = None;
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        let is_same = match &mut self.opened_file {
            Some(opened) if opened.fingerprint.id == FileId::from_stat(&stat) => opened.read_values()?,
            _ => false,
        };
        if !is_same {
            self.load()?;
        }
        Ok(self.opened_file.as_ref().is_some_and(Opened::is_alive))
    }
}

impl Reading for WatchedFile {
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        self.is_present = false;
        self.is_present = self.refresh().map_err(|cause| cause.failure(&self.path))?;
        Ok(())
    }
}

impl Opened {
    /// Reads the current values; `false` if the file's description has changed.
    fn read_values(&mut self) -> Result<bool, Cause> {
        if !self.has_same_header()? {
            return Ok(false);
        }
        read_exact(&self.file, &mut self.values, self.plan.values.offset)?;
        self.has_same_header()
    }

    fn has_same_header(&self) -> Result<bool, Cause> {
        let mut header = [0; HEADER_BYTES as usize];
        read_exact(&self.file, &mut header, 0)?;
        Ok(header == self.fingerprint.header)
    }

    /// Whether the process that the file depends on, if any, is still running.
    fn is_alive(&self) -> bool {
        self.process.as_ref().is_none_or(Process::is_running)
    }
}

fn generation(header: &HeaderBytes) -> u64 {
    Bytes(header).u64(8, "generation 1").unwrap_or_default()
}

fn read_exact(file: &File, buffer: &mut [u8], offset: u64) -> Result<(), Cause> {
    file.read_exact_at(buffer, offset).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => Cause::Shrunk,
        _ => Cause::System(errno_of(&error)),
    })
}

fn errno_of(error: &io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}

/// The kind of a file that is not a regular file, for messages.
pub(super) fn file_kind(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "a symbolic link",
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "a file of unknown type",
    }
}
