//! The segments of a queue, and the positions at which the queue is written and read.

use std::collections::VecDeque;
use std::fmt;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::Instant;

use super::files::{self, Cursor, EntryHeader, Segment, StoredSegments};
use super::{BATCH_BYTES, Backlog, Batch, MAX_BODY_BYTES, SEGMENT_BYTES, remove_file};

/// The segments of a queue, protected by its lock.
pub(super) struct State {
    /// Oldest first. If `writer` is set, it writes the last segment.
    segments: VecDeque<Segment>,
    pub(super) writer: Option<File>,
    /// The open file of the oldest segment, with its id.
    reader: Option<(u64, File)>,
    /// The offset up to which the oldest segment was sent.
    sent_offset: u64,
    /// The number of samples that were dropped since the last call of `Queue::take_dropped`.
    pub(super) dropped: u64,
    /// Until when batches are returned after the queue was closed; `None` while it is open.
    pub(super) deadline: Option<Instant>,
    /// The id of the next segment. Ids are never reused, because `position` refers to a segment by its id.
    next_id: u64,
    position_file: File,
    compressor: zstd::bulk::Compressor<'static>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State")
            .field("segments", &self.segments)
            .field("sent_offset", &self.sent_offset)
            .finish_non_exhaustive()
    }
}

impl State {
    /// Reads the segments of a folder.
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let StoredSegments { segments, sent_offset, newest_id } = files::read_segments(folder)?;
        Ok(Self {
            segments: segments.into(),
            writer: None,
            reader: None,
            sent_offset,
            dropped: 0,
            deadline: None,
            next_id: newest_id + 1,
            position_file: files::open_position(folder)?,
            compressor: zstd::bulk::Compressor::new(1)?,
        })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.deadline.is_some()
    }

    /// Whether the deadline has passed.
    pub(super) fn is_expired(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    pub(super) fn backlog(&self) -> Backlog {
        let samples = self.segments.iter().map(|segment| segment.samples).sum();
        let bytes: u64 = self.segments.iter().map(|segment| segment.bytes).sum();
        Backlog { samples, bytes: bytes.saturating_sub(self.sent_offset) }
    }

    /// Builds the entry for a body.
    pub(super) fn compress(&mut self, body: &[u8], samples: u32) -> io::Result<Vec<u8>> {
        if body.len() > MAX_BODY_BYTES {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "the sample is larger than 64 MiB"));
        }
        let compressed = self.compressor.compress(body)?;
        let mut entry = EntryHeader::new(&compressed, body.len() as u32, samples).to_bytes().to_vec();
        entry.extend_from_slice(&compressed);
        Ok(entry)
    }

    /// Drops the oldest segments until an entry of `entry_bytes` bytes fits.
    pub(super) fn make_room(&mut self, folder: &Path, max_bytes: u64, entry_bytes: u64) {
        while self.segments.len() > 1
            && self.segments.iter().map(|segment| segment.bytes).sum::<u64>() + entry_bytes > max_bytes
        {
            self.drop_oldest(folder);
        }
    }

    fn drop_oldest(&mut self, folder: &Path) {
        let Some(oldest) = self.segments.pop_front() else { return };
        self.dropped += oldest.samples;
        (self.sent_offset, self.reader) = (0, None);
        if self.segments.is_empty() {
            self.writer = None;
        }
        // If the file cannot be removed, the next process sends its samples again.
        let _ = remove_file(&Segment::path(folder, oldest.id));
    }

    /// Appends an entry. If the disk is full, and everything in the queue was sent, the sent segment is removed to make room.
    pub(super) fn append(&mut self, folder: &Path, entry: &[u8], samples: u32) -> io::Result<()> {
        let appended = self.append_to_last(folder, entry, samples);
        if appended.is_ok() || self.sent_offset == 0 || self.backlog().bytes > 0 {
            return appended;
        }
        self.remove_sent_segments(folder)?;
        self.append_to_last(folder, entry, samples)
    }

    fn append_to_last(&mut self, folder: &Path, entry: &[u8], samples: u32) -> io::Result<()> {
        let is_full = self.segments.back().is_some_and(|last| last.bytes >= SEGMENT_BYTES);
        if self.writer.is_none() || is_full {
            let id = self.next_id;
            let path = Segment::path(folder, id);
            self.writer = Some(File::options().append(true).create_new(true).open(path)?);
            self.segments.push_back(Segment { id, bytes: 0, samples: 0 });
            self.next_id += 1;
        }
        let (Some(writer), Some(last)) = (&mut self.writer, self.segments.back_mut()) else { return Ok(()) };
        if let Err(error) = writer.write_all(entry) {
            // Cut off the incomplete entry, so that the next entry follows the last complete one.
            if writer.set_len(last.bytes).is_err() {
                self.writer = None;
            }
            return Err(error);
        }
        last.bytes += entry.len() as u64;
        last.samples += u64::from(samples);
        Ok(())
    }

    /// Returns the next entries of one segment, at most `max_entries`.
    pub(super) fn next_batch(&mut self, folder: &Path, max_entries: usize) -> io::Result<Batch> {
        let mut batch = Batch::default();
        while let Some(&oldest) = self.segments.front() {
            let mut offset = self.sent_offset;
            batch.begin = Cursor { segment_id: oldest.id, offset };
            let mut is_damaged = false;
            while offset < oldest.bytes && batch.entries < max_entries && batch.body.len() < BATCH_BYTES {
                let entry = match self.read_entry(folder, oldest, offset) {
                    // A temporary error, such as too many open files: retried later.
                    Err(error) if !is_permanent(&error) => return Err(error),
                    entry => entry.ok().flatten(),
                };
                let body = entry.as_ref().and_then(|(header, body)| {
                    zstd::bulk::decompress(body, header.uncompressed_bytes as usize).ok()
                });
                let (Some((header, _)), Some(body)) = (entry, body) else {
                    is_damaged = true;
                    break;
                };
                offset += EntryHeader::SIZE as u64 + u64::from(header.body_bytes);
                batch.add(header, &body, Cursor { segment_id: oldest.id, offset });
            }
            if batch.entries > 0 {
                break;
            }
            let is_being_written = self.segments.len() == 1 && self.writer.is_some();
            if !is_damaged && is_being_written {
                break;
            }
            // Everything was sent, or the rest cannot be read.
            self.drop_oldest(folder);
        }
        Ok(batch)
    }

    fn read_entry(
        &mut self,
        folder: &Path,
        oldest: Segment,
        offset: u64,
    ) -> io::Result<Option<(EntryHeader, Vec<u8>)>> {
        let file = match &self.reader {
            Some((id, file)) if *id == oldest.id => file,
            _ => &self.reader.insert((oldest.id, File::open(Segment::path(folder, oldest.id))?)).1,
        };
        files::read_entry(file, offset, oldest.bytes)
    }

    /// Whether a batch is still at the head of the queue. If not, it was dropped.
    pub(super) fn has(&self, batch: &Batch) -> bool {
        self.segments
            .front()
            .is_some_and(|oldest| batch.begin == Cursor { segment_id: oldest.id, offset: self.sent_offset })
    }

    /// Removes the entries of a batch from the head of the queue. Does nothing if they were dropped in the meantime.
    pub(super) fn remove(&mut self, folder: &Path, batch: &Batch) -> io::Result<()> {
        if !self.has(batch) {
            return Ok(());
        }
        let Some(oldest) = self.segments.front_mut() else { return Ok(()) };
        self.sent_offset = batch.end.offset;
        oldest.samples = oldest.samples.saturating_sub(batch.samples);
        if oldest.bytes == self.sent_offset && self.segments.len() > 1 {
            self.drop_oldest(folder);
            return Ok(());
        }
        files::write_position(&self.position_file, batch.end)
    }

    /// Removes all segments if everything was sent.
    pub(super) fn remove_sent_segments(&mut self, folder: &Path) -> io::Result<()> {
        if self.backlog().bytes > 0 {
            return Ok(());
        }
        while !self.segments.is_empty() {
            self.drop_oldest(folder);
        }
        Ok(())
    }
}

/// Whether a read error is permanent, because the file itself is damaged or missing.
fn is_permanent(error: &io::Error) -> bool {
    const EIO: i32 = 5;
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof | io::ErrorKind::IsADirectory
    ) || error.raw_os_error() == Some(EIO)
}
