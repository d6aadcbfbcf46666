//! An MMV file that is read again and again: what it describes once, its values at each moment.

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
use tachograph_perflib::{Failure, Moments};

use super::budget::{Budget, Share};
use super::header::{Header, HeaderBytes, Unusable};
use super::layout::Layout;
use super::plan::{LeftOut, Origin, Plan, plan};
use super::problem::{Cause, MOST_FILE_BYTES};
use super::process::Process;
use super::raw::{Bytes, HEADER_BYTES};
use super::text::readable;
use crate::shared::Reading;

/// How often a file that is being written is read again before that is told.
const TRIES: usize = 3;

/// A file of a folder. Other files may come in its place.
#[derive(Debug)]
pub(super) struct WatchedFile {
    path: PathBuf,
    /// The path as the system takes it, made once.
    system_path: CString,
    budget: Budget,
    opened: Option<Opened>,
    is_here: bool,
    /// How often it was opened, or read anew as a whole.
    loads: u64,
    damaged: Option<(Seen, Cause)>,
}

/// The file as it was opened.
#[derive(Debug)]
pub(super) struct Opened {
    file: File,
    seen: Seen,
    pub(super) plan: Plan,
    /// The bytes of the values section.
    pub(super) values: Vec<u8>,
    process: Option<Process>,
    _share: Share,
}

/// What says that a file is the same as before. While it is open, no other has its numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    id: FileId,
    bytes: u64,
    header: HeaderBytes,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    fn of(stat: &Stat) -> Self {
        Self { device: stat.st_dev, inode: stat.st_ino }
    }
}

impl WatchedFile {
    /// Opens a file and reads what it describes; what is left out of that is told.
    ///
    /// `None` where there is nothing to be told: the file is gone, or the process without which it means nothing.
    pub(super) fn new(path: &Path, budget: &Budget) -> Result<Option<(Self, Vec<LeftOut>)>, Cause> {
        let system_path = CString::new(path.as_os_str().as_bytes()).map_err(|_| Errno::INVAL)?;
        let mut file = Self {
            path: path.to_owned(),
            system_path,
            budget: budget.clone(),
            opened: None,
            is_here: false,
            loads: 0,
            damaged: None,
        };
        match file.load() {
            Err(Cause::System(Errno::NOENT)) => Ok(None),
            Err(cause) => Err(cause),
            Ok(left_out) => {
                Ok(file.opened.as_ref().is_some_and(Opened::is_alive).then_some((file, left_out)))
            }
        }
    }

    /// What was read last; `None` where the file is not there now, or its program is gone.
    pub(super) fn here(&self) -> Option<&Opened> {
        self.opened.as_ref().filter(|_| self.is_here)
    }

    /// A number that changes when what the file describes may have changed.
    pub(super) fn loads(&self) -> u64 {
        self.loads
    }

    /// The sets that it describes: each one's instance domain and description.
    pub(super) fn sets(&self) -> Vec<(Option<u32>, Arc<CounterSetInfo>)> {
        let sets = self.opened.iter().flat_map(|opened| &opened.plan.sets);
        sets.map(|set| (set.serial, Arc::clone(&set.info))).collect()
    }

    /// Opens what is under the path now.
    fn load(&mut self) -> Result<Vec<LeftOut>, Cause> {
        let (file, stat) = self.open()?;
        for _ in 1..TRIES {
            match self.load_from(&file, &stat) {
                Err(Cause::Torn(..) | Cause::TooShort(_) | Cause::Shrunk) => {}
                Ok((opened, left_out)) => return Ok(self.becomes(opened, left_out)),
                Err(cause) => return Err(cause),
            }
        }
        let (opened, left_out) = self.load_from(&file, &stat)?;
        Ok(self.becomes(opened, left_out))
    }

    fn becomes(&mut self, opened: Opened, left_out: Vec<LeftOut>) -> Vec<LeftOut> {
        self.opened = Some(opened);
        self.loads += 1;
        self.damaged = None;
        left_out
    }

    fn open(&self) -> Result<(File, Stat), Cause> {
        // A pipe must not be waited for, and a link must not lead elsewhere.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
        let file = match open(&*self.system_path, flags, Mode::empty()) {
            Ok(descriptor) => File::from(descriptor),
            Err(Errno::LOOP) => return Err(Cause::NotRegular("a link")),
            Err(Errno::NXIO) => return Err(Cause::NotRegular("a socket, or a device that is not there")),
            Err(error) => return Err(error.into()),
        };
        let stat = fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => Ok((file, stat)),
            other => Err(Cause::NotRegular(kind_of(other))),
        }
    }

    /// Reads the whole file, and what it describes.
    fn load_from(&mut self, file: &File, stat: &Stat) -> Result<(Opened, Vec<LeftOut>), Cause> {
        let bytes = fstat(file)?.st_size.cast_unsigned();
        if bytes > MOST_FILE_BYTES {
            return Err(Cause::TooLong(bytes));
        }
        let mut header = [0; HEADER_BYTES as usize];
        if bytes < HEADER_BYTES {
            // A program makes its file before it fills it.
            return Err(Cause::TooShort(bytes));
        }
        read_exact(file, &mut header, 0)?;
        let seen = Seen { id: FileId::of(stat), bytes, header };
        if let Some((known, cause)) = &self.damaged
            && *known == seen
        {
            return Err(cause.clone());
        }
        let parsed_header = Header::parse(Bytes(&header))?;
        let mut whole = vec![0; bytes as usize];
        read_exact(file, &mut whole, 0)?;
        let layout = Layout::parse(Bytes(&whole));
        read_exact(file, &mut header, 0)?;
        if header != seen.header {
            return Err(Cause::Torn(generation(&seen.header), generation(&header)));
        }
        let layout = layout.map_err(|unusable| {
            let cause = Cause::from(unusable);
            self.damaged = Some((seen, cause.clone()));
            cause
        })?;
        let mut hasher = DefaultHasher::new();
        (seen.id, parsed_header.generation, parsed_header.writer).hash(&mut hasher);
        let name = self.path.file_name().map(|name| readable(name.as_bytes())).unwrap_or_default();
        let source = self.path.to_string_lossy().replace(char::is_control, "\u{fffd}");
        let origin =
            Origin { name: &name, source: &source, uid: Some(stat.st_uid), identity: hasher.finish() };
        let (plan, left_out) = plan(&layout, &origin);
        // What was opened before gives its share back only when it is replaced, so for a moment both count.
        let share = self.budget.take(plan.memory_bytes()).ok_or(Cause::OutOfBudget)?;
        let process = plan.process.map(Process::new);
        let start = plan.values.offset as usize;
        let values = whole.get(start..start + plan.values.bytes() as usize).unwrap_or_default().to_vec();
        let file = file.try_clone().map_err(|error| Cause::System(errno_of(&error)))?;
        Ok((Opened { file, seen, plan, values, process, _share: share }, left_out))
    }

    fn refresh(&mut self) -> Result<bool, Cause> {
        let stat = match lstat(&*self.system_path) {
            Ok(stat) => stat,
            // Its program is done with it. Should there be a file again, it is another.
            Err(Errno::NOENT) => {
                self.opened = None;
                return Ok(false);
            }
            Err(error) => return Err(error.into()),
        };
        let is_same = match &mut self.opened {
            Some(opened) if opened.seen.id == FileId::of(&stat) => opened.read_values()?,
            _ => false,
        };
        if !is_same {
            self.load()?;
        }
        Ok(self.opened.as_ref().is_some_and(Opened::is_alive))
    }
}

impl Reading for WatchedFile {
    fn read(&mut self, _at: Moments) -> Result<(), Failure> {
        self.is_here = false;
        self.is_here = self.refresh().map_err(|cause| cause.failure(&self.path))?;
        Ok(())
    }
}

impl Opened {
    /// Reads the values as they are now; `false` where the file describes something else than it did.
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
        Ok(header == self.seen.header)
    }

    /// Whether the process runs without which the values mean nothing.
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

/// What a thing of a folder is that is no regular file.
pub(super) fn kind_of(kind: FileType) -> &'static str {
    match kind {
        FileType::Symlink => "a link",
        FileType::Directory => "a folder",
        FileType::Fifo => "a pipe",
        FileType::Socket => "a socket",
        FileType::CharacterDevice | FileType::BlockDevice => "a device",
        _ => "something else",
    }
}

impl From<LeftOut> for Cause {
    fn from(what: LeftOut) -> Self {
        Self::LeftOut(what)
    }
}

impl From<Unusable> for super::LayoutError {
    fn from(unusable: Unusable) -> Self {
        match unusable {
            Unusable::Damaged(error) => error,
            Unusable::Torn(first, second) => {
                Self::number(16, "generation 2", second, format!("{first} as generation 1"))
            }
        }
    }
}
