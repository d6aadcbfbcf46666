//! Files with one key and number per line: `/proc/meminfo`, `/proc/vmstat`, and the similar files of NUMA nodes.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use tachograph_perflib::{Failure, Reading, SharedReading, Timestamps};

use crate::error_texts::unreadable_failure;
use crate::scan::{parse_number, words};

/// The text of a file of keys and numbers. It is read in chunks, as far as its readers need it, because the kernel generates
/// the whole file again for each further chunk.
#[derive(Debug)]
pub(super) struct KeyedText {
    path: PathBuf,
    file: Option<File>,
    buffer: Vec<u8>,
    /// The length of the text in the buffer.
    length: usize,
}

/// The text of a file, which several readers of keys share.
pub(super) type SharedText = SharedReading<KeyedText>;

/// The maximum size of a file.
const MAX_BYTES: usize = 1 << 20;

impl KeyedText {
    /// The text of a file, for one or more readers of keys.
    pub(super) fn shared(path: PathBuf) -> SharedText {
        SharedReading::new(Self { path, file: None, buffer: vec![0; 4096], length: 0 })
    }

    /// Closes the file until the next read.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    fn text(&self) -> &[u8] {
        &self.buffer[..self.length]
    }

    /// Reads the next chunk. Returns whether the end of the file or the maximum size was reached.
    fn extend(&mut self) -> Result<bool, Failure> {
        let read = self.read_chunk();
        read.map_err(|error| {
            self.file = None;
            self.length = 0;
            unreadable_failure(self.path.display(), &error)
        })
    }

    fn read_chunk(&mut self) -> io::Result<bool> {
        let file = match &self.file {
            Some(file) => file,
            None => self.file.insert(File::open(&self.path)?),
        };
        if self.length == self.buffer.len() {
            if self.length >= MAX_BYTES {
                return Ok(true);
            }
            self.buffer.resize(self.length * 2, 0);
        }
        loop {
            match file.read_at(&mut self.buffer[self.length..], self.length as u64) {
                Ok(read) => {
                    self.length += read;
                    return Ok(read == 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

impl Reading for KeyedText {
    /// Reads the first chunk.
    fn read(&mut self, _at: Timestamps) -> Result<(), Failure> {
        self.length = 0;
        self.extend().map(drop)
    }
}

/// The values of some keys of a file.
///
/// The order of the keys rarely changes, so the line number of each key is remembered. The file is searched again
/// only if a remembered line has another key.
#[derive(Debug)]
pub(super) struct KeyedFile {
    text: SharedText,
    /// The text before the key in each line.
    prefix: Box<[u8]>,
    keys: Vec<&'static str>,
    /// The value of each key.
    values: Vec<Option<u64>>,
    /// The line number and the key's index of each required line, in file order.
    lines: Vec<(usize, usize)>,
    /// For running totals, the maximum of each value so far.
    greatest: Option<Vec<u64>>,
    /// The error of the last read.
    failure: Option<Arc<str>>,
    /// For each key, the message that its value is missing.
    missing: Vec<Option<Arc<str>>>,
}

impl KeyedFile {
    /// Creates a reader for these keys of a file.
    pub(super) fn new(text: &SharedText, prefix: &str, keys: &[&'static str]) -> Self {
        Self {
            text: text.clone(),
            prefix: prefix.as_bytes().into(),
            keys: keys.to_vec(),
            values: vec![None; keys.len()],
            lines: Vec::new(),
            greatest: None,
            failure: None,
            missing: vec![None; keys.len()],
        }
    }

    /// Like [`new`](Self::new), but for running totals. The kernel sums them over processors while they change, so a
    /// sum can be less than the previous one. The value then stays at its maximum.
    pub(super) fn for_totals(text: &SharedText, keys: &[&'static str]) -> Self {
        Self { greatest: Some(vec![0; keys.len()]), ..Self::new(text, "", keys) }
    }

    /// Closes the file until the next read.
    pub(super) fn close(&mut self) {
        self.text.with(KeyedText::close);
    }

    /// Reads the values for the collection at this time.
    pub(super) fn read(&mut self, at: Timestamps) {
        self.values.fill(None);
        let text = self.text.clone();
        match text.at(at, |text| self.parse(text)).flatten() {
            Ok(()) => self.failure = None,
            Err(failure) if self.failure.as_ref() == Some(&failure.reason) => {}
            Err(failure) => self.failure = Some(failure.reason),
        }
        for (value, greatest) in self.values.iter_mut().zip(self.greatest.iter_mut().flatten()) {
            if let Some(value) = value {
                *greatest = (*greatest).max(*value);
                *value = *greatest;
            }
        }
    }

    /// The value of the key with this index at the last read.
    pub(super) fn value(&self, key: usize) -> Option<u64> {
        self.values[key]
    }

    /// Why a value is missing.
    pub(super) fn reason(&mut self, key: usize) -> &Arc<str> {
        let Self { text, keys, failure, missing, .. } = self;
        failure.as_ref().unwrap_or_else(|| {
            missing[key].get_or_insert_with(|| {
                text.with(|text| format!("{}: no value of {}", text.path.display(), keys[key])).into()
            })
        })
    }

    /// Parses the values, and reads as much of the text as is needed.
    fn parse(&mut self, text: &mut KeyedText) -> Result<(), Failure> {
        loop {
            match self.parse_remembered(text.text()) {
                Outcome::Done => return Ok(()),
                Outcome::Moved => break,
                Outcome::More => {
                    if text.extend()? {
                        break;
                    }
                }
            }
        }
        // The first read, or the order has changed.
        while !text.extend()? {}
        self.search(text.text());
        Ok(())
    }

    /// Parses the values in the remembered lines of a text.
    fn parse_remembered(&mut self, text: &[u8]) -> Outcome {
        if self.lines.is_empty() {
            return Outcome::More;
        }
        let mut rest = text;
        let mut at = 0;
        for &(line, key) in &self.lines {
            while at < line {
                // `skip_until` is fast, and cannot fail on a slice.
                if !matches!(rest.skip_until(b'\n'), Ok(skipped) if skipped > 0) {
                    return Outcome::More;
                }
                at += 1;
            }
            let end = match rest.iter().position(|&byte| byte == b'\n') {
                Some(end) => end,
                None => return Outcome::More,
            };
            match value_of(&rest[..end], &self.prefix, self.keys[key]) {
                Some(value) => self.values[key] = value,
                None => return Outcome::Moved,
            }
            rest = &rest[end + 1..];
            at = line + 1;
        }
        Outcome::Done
    }

    /// Searches a whole text for the keys and remembers their lines.
    fn search(&mut self, text: &[u8]) {
        self.lines.clear();
        self.values.fill(None);
        let mut lines = text.split(|&byte| byte == b'\n').enumerate().peekable();
        while let Some((at, line)) = lines.next() {
            // Ignore what follows the last newline: it is empty or a truncated line.
            if lines.peek().is_none() {
                break;
            }
            for (key, name) in self.keys.iter().enumerate() {
                if let Some(value) = value_of(line, &self.prefix, name)
                    && self.values[key].is_none()
                {
                    self.values[key] = value;
                    self.lines.push((at, key));
                }
            }
        }
    }
}

/// The result of parsing the remembered lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// All values were found.
    Done,
    /// The text ends before the last remembered line.
    More,
    /// A remembered line has another key.
    Moved,
}

/// The number in a line with this key. `None` if the line has another key; `Some(None)` if the number is malformed.
fn value_of(line: &[u8], prefix: &[u8], key: &str) -> Option<Option<u64>> {
    let rest = line.strip_prefix(prefix)?.strip_prefix(key.as_bytes())?;
    let is_end = matches!(rest.first(), Some(b':' | b' ' | b'\t'));
    is_end.then(|| words(rest.strip_prefix(b":").unwrap_or(rest)).next().and_then(parse_number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Machine, at};

    fn read(machine: &Machine, keys: &[&'static str]) -> KeyedFile {
        let mut file = KeyedFile::new(&KeyedText::shared(machine.path("proc/f")), "", keys);
        file.read(at(0));
        file
    }

    #[test]
    fn moved_lines_are_found() {
        let machine = Machine::new(&[("proc/f", "ab 1\na 2\nc: 3 kB\n")]);
        let mut file = read(&machine, &["a", "c", "d"]);
        let values = |file: &KeyedFile| [0, 1, 2].map(|key| file.value(key));
        assert_eq!(values(&file), [Some(2), Some(3), None]);
        machine.write("proc/f", "ab 1\na 12345\nc: 4 kB\nd 1\n");
        file.read(at(1));
        assert_eq!(values(&file), [Some(12345), Some(4), None], "no search while the remembered lines match");
        machine.write("proc/f", "new 1\nab 1\na 5\nc: 6 kB\nd 7\n");
        file.read(at(2));
        assert_eq!(values(&file), [Some(5), Some(6), Some(7)]);
        machine.write("proc/f", "a 5\n");
        file.read(at(3));
        assert_eq!(values(&file), [Some(5), None, None]);
        assert!(file.reason(1).ends_with("proc/f: no value of c"), "{}", file.reason(1));
    }

    #[test]
    fn malformed_numbers_are_errors() {
        let whole = "a 12\nb: 345 kB\n";
        for length in 0..=whole.len() {
            let machine = Machine::new(&[("proc/f", &whole[..length])]);
            let mut file = read(&machine, &["a", "b"]);
            for moment in 1..3 {
                assert!([None, Some(12)].contains(&file.value(0)), "{length}");
                assert!([None, Some(345)].contains(&file.value(1)), "{length}");
                file.read(at(moment));
            }
        }
        let machine = Machine::new(&[("proc/f", "a -1\nb 99999999999999999999\n")]);
        let file = read(&machine, &["a", "b"]);
        assert_eq!([file.value(0), file.value(1)], [None, None]);
    }

    #[test]
    fn a_missing_file_is_an_error() {
        let machine = Machine::new(&[]);
        let mut file = read(&machine, &["a"]);
        assert!(file.reason(0).contains("No such file"), "{}", file.reason(0));
        let reason = Arc::clone(file.reason(0));
        file.read(at(5));
        assert!(Arc::ptr_eq(&reason, file.reason(0)), "allocated once");
        machine.write("proc/f", "a 1\n");
        file.read(at(6));
        assert_eq!(file.value(0), Some(1));
    }

    #[test]
    fn totals_never_decrease() {
        let machine = Machine::new(&[("proc/f", "a 5\n")]);
        let mut file = KeyedFile::for_totals(&KeyedText::shared(machine.path("proc/f")), &["a"]);
        let texts = [("a 5\n", Some(5)), ("a 4\n", Some(5)), ("\n", None), ("a 6\n", Some(6))];
        for (moment, (text, value)) in (1..).zip(texts) {
            machine.write("proc/f", text);
            file.read(at(moment));
            assert_eq!(file.value(0), value);
        }
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read() {
        let text: String = (0..2000).map(|number| format!("key{number} {number}\n")).collect();
        let machine = Machine::new(&[("proc/f", &text)]);
        let mut file = read(&machine, &["key7", "key1999"]);
        for moment in 1..3 {
            assert_eq!([file.value(0), file.value(1)], [Some(7), Some(1999)]);
            file.read(at(moment));
        }
    }

    #[test]
    fn readers_share_the_text_of_a_collection() {
        let text = |first: u64| -> String {
            (0..2000).map(|number| format!("key{number} {}\n", first + number)).collect()
        };
        let machine = Machine::new(&[("proc/f", &text(0))]);
        let shared = KeyedText::shared(machine.path("proc/f"));
        let mut start = KeyedFile::new(&shared, "", &["key7"]);
        let mut end = KeyedFile::new(&shared, "", &["key1999"]);
        for moment in 1..4 {
            // The first reader of a collection needs a part of the text, the second one all of it, or the other way round.
            let mut files = [&mut start, &mut end];
            if moment == 3 {
                files.reverse();
            }
            files.into_iter().for_each(|file| file.read(at(moment)));
            let first = moment as u64 * 10 - 10;
            assert_eq!([start.value(0), end.value(0)], [Some(first + 7), Some(first + 1999)]);
            machine.write("proc/f", text(first + 10));
            start.read(at(moment));
            assert_eq!(start.value(0), Some(first + 7), "the text as it was read for this collection");
        }
    }

    #[test]
    fn a_file_that_becomes_unreadable_is_an_error_of_all_readers() {
        let machine = Machine::new(&[("proc/f", "a 1\nb 2\n")]);
        let shared = KeyedText::shared(machine.path("proc/f"));
        let mut files = ["a", "b"].map(|key| KeyedFile::new(&shared, "", &[key]));
        files.iter_mut().for_each(|file| file.read(at(1)));
        assert_eq!(files.each_ref().map(|file| file.value(0)), [Some(1), Some(2)]);
        shared.with(|text| text.file = None);
        machine.remove("proc/f");
        for file in &mut files {
            file.read(at(2));
            assert_eq!(file.value(0), None);
            assert!(file.reason(0).contains("No such file"), "{}", file.reason(0));
        }
    }
}
