//! Matches the parts of a frame with those of its base, because the rows of instances move when other instances start or end.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use tachograph_perflib::block::{Content, DecodeOptions, reopen};

use super::HEADER_BYTES;
use super::attributes::ATTRIBUTE_BYTES;
use crate::difference::Segment;

/// The kind of a part that is not a row.
const NO_ROW: u32 = u32::MAX;

/// The parts that are not rows. A frame has one of each, except that every result has a header.
#[derive(Clone, Copy, Hash)]
enum Section {
    /// The headers of the frame and of its block.
    Header,
    /// The header of the result with this index.
    ResultHeader(u32),
    Statuses,
    Errors,
}

/// The parts of a frame, in order: rows and the data between them.
#[derive(Debug, Default)]
pub struct Layout {
    parts: Vec<Part>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Part {
    /// Identifies the part in other frames of the query. A collision makes the message longer, not wrong.
    key: u64,
    /// Rows that have the same columns have the same kind.
    kind: u32,
    /// Where the part begins, in words.
    begin: u32,
    /// Its length in words.
    words: u32,
}

impl Layout {
    /// Reads the parts of a frame that was encoded by this program.
    pub fn update(&mut self, frame: &[u8]) {
        self.parts.clear();
        let header_field = |index: usize| {
            let bytes = frame.get(8 * index..).and_then(|rest| rest.first_chunk());
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes) as usize)
        };
        let [block_bytes, attribute_bytes, status_bytes] = [2, 3, 4].map(header_field);
        let block_end = HEADER_BYTES + block_bytes;
        let attributes_end = block_end + attribute_bytes;
        let statuses_end = attributes_end + status_bytes;
        let Some(block) = frame.get(HEADER_BYTES..block_end) else { return };
        let Ok(opened) = reopen(block, DecodeOptions::CONSUMER) else { return };
        self.push(key_of_section(Section::Header), NO_ROW, 0);
        for (index, result) in (0_u32..).zip(opened.results()) {
            // The header of the result ends where its first row begins.
            let mut begin = HEADER_BYTES + result.offset();
            self.end_at(begin);
            self.push(key_of_section(Section::ResultHeader(index)), NO_ROW, begin);
            if let Content::CounterSet(instances) = result.content() {
                for instance in instances {
                    let range = instance.range();
                    begin = HEADER_BYTES + range.start;
                    self.end_at(begin);
                    self.push(key_of_row(&block[range.clone()], index), 2 * index, begin);
                    self.end_at(HEADER_BYTES + range.end);
                }
            }
        }
        self.end_at(block_end);
        let rows = self.parts.iter().filter(|part| part.kind != NO_ROW).copied().collect::<Vec<_>>();
        if rows.len() * ATTRIBUTE_BYTES == attribute_bytes {
            for (row, part) in rows.iter().enumerate() {
                self.push(!part.key, part.kind + 1, block_end + row * ATTRIBUTE_BYTES);
                self.end_at(block_end + (row + 1) * ATTRIBUTE_BYTES);
            }
        }
        self.push(key_of_section(Section::Statuses), NO_ROW, attributes_end);
        self.end_at(statuses_end);
        self.push(key_of_section(Section::Errors), NO_ROW, statuses_end);
        self.end_at(frame.len());
    }

    /// Begins a part.
    fn push(&mut self, key: u64, kind: u32, begin: usize) {
        self.parts.push(Part { key, kind, begin: (begin / 8) as u32, words: 0 });
    }

    /// Sets the length of the last part, unless it is already set.
    fn end_at(&mut self, end: usize) {
        if let Some(last) = self.parts.last_mut().filter(|last| last.words == 0) {
            last.words = ((end / 8) as u32).saturating_sub(last.begin);
        }
    }

    /// The memory that is kept, in bytes.
    pub fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<Part>()
    }

    /// The segments of the base frame (with the layout `base`) to compare with the parts of this frame; empty if every part is
    /// at the same position in both frames.
    pub fn segments(&self, base: &Self) -> Vec<Segment> {
        if self.parts == base.parts || base.parts.is_empty() {
            return Vec::new();
        }
        let mut base_parts: HashMap<u64, &Part> = HashMap::with_capacity(base.parts.len());
        // For each kind, the row of the base that was matched last.
        let mut last_rows: HashMap<u32, &Part> = HashMap::new();
        for part in &base.parts {
            base_parts.insert(part.key, part);
            last_rows.entry(part.kind).or_insert(part);
        }
        let mut segments: Vec<Segment> = Vec::new();
        for part in self.parts.iter().filter(|part| part.words > 0) {
            let last = segments.last().copied();
            let end = last.map_or(0, |last| last.begin + last.words);
            let begin = match base_parts.get(&part.key) {
                Some(same) => {
                    if part.kind != NO_ROW {
                        last_rows.insert(part.kind, same);
                    }
                    same.begin as usize
                }
                // A new row is compared with another row of its set, aligned at the end, where the values are.
                None => match last_rows.get(&part.kind).filter(|_| part.kind != NO_ROW) {
                    Some(other) => (other.begin + other.words).saturating_sub(part.words) as usize,
                    None => end,
                },
            };
            let words = part.words as usize;
            match segments.last_mut() {
                Some(last) if begin == end => last.words += words,
                _ => segments.push(Segment { words, begin }),
            }
        }
        match segments[..] {
            [Segment { begin: 0, .. }] => Vec::new(),
            _ => segments,
        }
    }
}

fn key_of_section(section: Section) -> u64 {
    let mut hasher = DefaultHasher::new();
    section.hash(&mut hasher);
    hasher.finish()
}

/// The key of a row: its set, and the name and id of the instance.
fn key_of_row(row: &[u8], result: u32) -> u64 {
    let mut hasher = DefaultHasher::new();
    let size = row.first_chunk().map_or(0, |size| u32::from_le_bytes(*size) as usize);
    (result, row.get(..size).unwrap_or(row)).hash(&mut hasher);
    hasher.finish()
}
