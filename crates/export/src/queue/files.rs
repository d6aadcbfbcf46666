//! The files of a queue.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use super::MAX_BODY_BYTES;

/// The four words before the body of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct EntryHeader {
    pub(super) body_bytes: u32,
    pub(super) uncompressed_bytes: u32,
    pub(super) samples: u32,
    crc: u32,
}

impl EntryHeader {
    pub(super) const SIZE: usize = 16;

    pub(super) fn new(body: &[u8], uncompressed_bytes: u32, samples: u32) -> Self {
        let mut header = Self { body_bytes: body.len() as u32, uncompressed_bytes, samples, crc: 0 };
        header.crc = header.crc_of(body);
        header
    }

    pub(super) fn to_bytes(self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        for (out, word) in
            bytes.chunks_exact_mut(4).zip([self.body_bytes, self.uncompressed_bytes, self.samples, self.crc])
        {
            out.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// Parses a header; `None` if a field is out of range.
    fn from_bytes(bytes: [u8; Self::SIZE]) -> Option<Self> {
        let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let header =
            Self { body_bytes: word(0), uncompressed_bytes: word(4), samples: word(8), crc: word(12) };
        let is_valid_size = |bytes: u32| bytes > 0 && bytes as usize <= MAX_BODY_BYTES;
        (is_valid_size(header.body_bytes) && is_valid_size(header.uncompressed_bytes) && header.samples <= 1)
            .then_some(header)
    }

    fn has_crc_of(self, body: &[u8]) -> bool {
        self.crc == self.crc_of(body)
    }

    fn crc_of(self, body: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.to_bytes()[..12]);
        hasher.update(body);
        hasher.finalize()
    }
}

/// A segment file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Segment {
    pub(super) id: u64,
    /// The total size of the complete entries.
    pub(super) bytes: u64,
    /// The number of samples that are not sent yet.
    pub(super) samples: u64,
}

impl Segment {
    pub(super) fn path(folder: &Path, id: u64) -> PathBuf {
        folder.join(format!("{id:010}.queue"))
    }

    /// Reads the headers of a segment from `start` up to its end or the first invalid header.
    fn read(folder: &Path, id: u64, start: u64) -> io::Result<Self> {
        let mut file = File::open(Self::path(folder, id))?;
        let length = file.metadata()?.len();
        let mut segment = Self { id, bytes: start.min(length), samples: 0 };
        file.seek(SeekFrom::Start(segment.bytes))?;
        let mut bytes = [0; EntryHeader::SIZE];
        while length - segment.bytes > EntryHeader::SIZE as u64 {
            file.read_exact(&mut bytes)?;
            let Some(header) = EntryHeader::from_bytes(bytes) else { break };
            let end = segment.bytes + EntryHeader::SIZE as u64 + u64::from(header.body_bytes);
            if end > length {
                break;
            }
            file.seek(SeekFrom::Start(end))?;
            segment.bytes = end;
            segment.samples += u64::from(header.samples);
        }
        Ok(segment)
    }
}

/// A position between two entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cursor {
    pub(super) segment_id: u64,
    pub(super) offset: u64,
}

/// The path of the file `position`.
fn position_path(folder: &Path) -> PathBuf {
    folder.join("position")
}

/// Opens the file `position`, which is overwritten in place, so a full disk cannot truncate it.
pub(super) fn open_position(folder: &Path) -> io::Result<File> {
    File::options().write(true).create(true).truncate(false).mode(0o600).open(position_path(folder))
}

pub(super) fn write_position(file: &File, cursor: Cursor) -> io::Result<()> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&cursor.segment_id.to_le_bytes());
    bytes[8..].copy_from_slice(&cursor.offset.to_le_bytes());
    file.write_all_at(&bytes, 0)
}

fn read_position(folder: &Path) -> Option<Cursor> {
    let bytes: [u8; 16] = fs::read(position_path(folder)).ok()?.try_into().ok()?;
    let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
    Some(Cursor { segment_id: word(&bytes[..8])?, offset: word(&bytes[8..])? })
}

/// Creates the folder of the queue of a receiver, and the folder of all queues above it. Only the owner can access them,
/// because samples can name processes.
pub(super) fn create_folder(folder: &Path) -> io::Result<()> {
    if let Some(all_queues) = folder.parent() {
        match (create_private(all_queues, check_writers), all_queues.parent()) {
            (Err(error), Some(parent)) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(parent)?;
                create_private(all_queues, check_writers)?;
            }
            (created, _) => created?,
        }
    }
    create_private(folder, check_access)
}

/// Creates a folder with mode 700, or checks an existing one.
fn create_private(folder: &Path, check: fn(&Path) -> io::Result<()>) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(folder),
        other => other,
    }
}

/// Checks that nobody else can rename or remove files in a folder.
fn check_writers(folder: &Path) -> io::Result<()> {
    const STICKY: u32 = 0o1000;
    const ROOT: u32 = 0;

    let metadata = fs::metadata(folder)?;
    if !metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "is not a folder"));
    }
    let is_owner_trusted = [rustix::process::geteuid().as_raw(), ROOT].contains(&metadata.uid());
    if !is_owner_trusted || (metadata.mode() & 0o022 != 0 && metadata.mode() & STICKY == 0) {
        let reason = "the folder of queues must belong to the current user or to root, and others must not be able to \
                      write to it";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// Checks that the folder belongs to this user and that nobody else can access it.
fn check_access(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    if !metadata.is_dir() {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "is not a folder"));
    }
    let belongs_to_user = metadata.uid() == rustix::process::geteuid().as_raw();
    if !belongs_to_user || metadata.mode() & 0o077 != 0 {
        let reason = "the folder of a queue must belong to the current user and have mode 700";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, reason));
    }
    Ok(())
}

/// The segments of a folder.
pub(super) struct StoredSegments {
    /// Oldest first.
    pub(super) segments: Vec<Segment>,
    /// The offset up to which the oldest segment was sent.
    pub(super) sent_offset: u64,
    /// The highest id that was ever used.
    pub(super) newest_id: u64,
}

/// Reads the segments of a folder, and removes those that were sent.
pub(super) fn read_segments(folder: &Path) -> io::Result<StoredSegments> {
    let mut ids = Vec::new();
    for entry in fs::read_dir(folder)? {
        let name = entry?.file_name();
        let id: Option<u64> =
            name.to_str().and_then(|name| name.strip_suffix(".queue")).and_then(|id| id.parse().ok());
        ids.extend(id);
    }
    ids.sort_unstable();
    let position = read_position(folder).unwrap_or_default();
    let mut segments: Vec<Segment> = Vec::new();
    for id in ids {
        if id < position.segment_id {
            // The segment was sent, but the process ended before it removed the file.
            super::remove_file(&Segment::path(folder, id))?;
            continue;
        }
        let start = if id == position.segment_id { position.offset } else { 0 };
        // An unreadable segment is kept in the list; the reader drops it when it gets there.
        segments.push(Segment::read(folder, id, start).unwrap_or(Segment {
            id,
            bytes: start + 1,
            samples: 0,
        }));
    }
    // The stored offset applies only to the segment that is stored with it.
    let partly_sent = segments.first().filter(|first| first.id == position.segment_id);
    let sent_offset = partly_sent.map_or(0, |first| position.offset.min(first.bytes));
    let newest_id = segments.last().map_or(position.segment_id, |last| last.id);
    Ok(StoredSegments { segments, sent_offset, newest_id })
}

/// Reads the entry at `offset`, which must end at or before `end`. `None` if the file is damaged.
pub(super) fn read_entry(file: &File, offset: u64, end: u64) -> io::Result<Option<(EntryHeader, Vec<u8>)>> {
    let mut bytes = [0; EntryHeader::SIZE];
    let Some(rest) = end.checked_sub(offset + EntryHeader::SIZE as u64) else { return Ok(None) };
    file.read_exact_at(&mut bytes, offset)?;
    let Some(header) = EntryHeader::from_bytes(bytes).filter(|header| u64::from(header.body_bytes) <= rest)
    else {
        return Ok(None);
    };
    let mut body = vec![0; header.body_bytes as usize];
    file.read_exact_at(&mut body, offset + EntryHeader::SIZE as u64)?;
    Ok(header.has_crc_of(&body).then_some((header, body)))
}
