//! Files with one key and number per line: `/proc/meminfo`, `/proc/vmstat`, and the similar files of NUMA nodes.

use std::fs::File;
use std::io::{self, BufRead};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use crate::error_texts::error_text;
use crate::scan::{parse_number, words};

/// A file of keys and numbers, and the keys to read.
///
/// The order of the keys rarely changes, so the line number of each key is remembered. The file is searched again
/// only if a remembered line has another key. Reading stops at the last required line, because the kernel generates
/// the whole file again for each further read.
#[derive(Debug)]
pub(super) struct KeyedFile {
    path: PathBuf,
    /// The text before the key in each line.
    prefix: Box<[u8]>,
    keys: Vec<&'static str>,
    /// The value of each key.
    values: Vec<Option<u64>>,
    /// The line number and the key's index of each required line, in file order.
    lines: Vec<(usize, usize)>,
    file: Option<File>,
    buffer: Vec<u8>,
    /// For running totals, the maximum of each value so far.
    greatest: Option<Vec<u64>>,
    /// The error of the last read.
    failure: Option<Arc<str>>,
    /// For each key, the message that its value is missing.
    missing: Vec<Option<Arc<str>>>,
}

/// The maximum size of a file.
const MAX_BYTES: usize = 1 << 20;

impl KeyedFile {
    /// Creates a reader for these keys of a file.
    pub(super) fn new(path: PathBuf, prefix: &str, keys: &[&'static str]) -> Self {
        Self {
            path,
            prefix: prefix.as_bytes().into(),
            keys: keys.to_vec(),
            values: vec![None; keys.len()],
            lines: Vec::new(),
            file: None,
            buffer: vec![0; 4096],
            greatest: None,
            failure: None,
            missing: vec![None; keys.len()],
        }
    }

    /// Like [`new`](Self::new), but for running totals. The kernel sums them over processors while they change, so a
    /// sum can be less than the previous one. The value then stays at its maximum.
    pub(super) fn for_totals(path: PathBuf, keys: &[&'static str]) -> Self {
        Self { greatest: Some(vec![0; keys.len()]), ..Self::new(path, "", keys) }
    }

    /// Closes the file until the next read.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    /// Reads the current values.
    pub(super) fn read(&mut self) {
        self.values.fill(None);
        match self.try_read() {
            Ok(()) => self.failure = None,
            Err(error) => {
                self.file = None;
                let text = error_text(self.path.display(), &error);
                if self.failure.as_deref() != Some(text.as_str()) {
                    self.failure = Some(text.into());
                }
            }
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
        let Self { path, keys, failure, missing, .. } = self;
        failure.as_ref().unwrap_or_else(|| {
            missing[key]
                .get_or_insert_with(|| format!("{}: no value of {}", path.display(), keys[key]).into())
        })
    }

    fn try_read(&mut self) -> io::Result<()> {
        if self.file.is_none() {
            self.file = Some(File::open(&self.path)?);
        }
        let mut length = 0;
        loop {
            let is_end = self.fill(&mut length)?;
            match self.parse_remembered(length) {
                Outcome::Done => return Ok(()),
                Outcome::More if !is_end => {}
                Outcome::More | Outcome::Moved => break,
            }
        }
        // The first read, or the order has changed.
        while !self.fill(&mut length)? {}
        self.search(length);
        Ok(())
    }

    /// Reads the next chunk of the file into the buffer, after its first `length` bytes, and adds its length to `length`. Returns
    /// whether the end of the file or the maximum size was reached.
    fn fill(&mut self, length: &mut usize) -> io::Result<bool> {
        let Some(file) = &self.file else { return Ok(true) };
        if *length == self.buffer.len() {
            if *length >= MAX_BYTES {
                return Ok(true);
            }
            self.buffer.resize(*length * 2, 0);
        }
        loop {
            match file.read_at(&mut self.buffer[*length..], *length as u64) {
                Ok(read) => {
                    *length += read;
                    return Ok(read == 0);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    /// Parses the values in the remembered lines of the first `length` bytes of the buffer.
    fn parse_remembered(&mut self, length: usize) -> Outcome {
        if self.lines.is_empty() {
            return Outcome::More;
        }
        let mut rest = &self.buffer[..length];
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

    /// Searches the whole text for the keys and remembers their lines.
    fn search(&mut self, length: usize) {
        self.lines.clear();
        self.values.fill(None);
        let mut lines = self.buffer[..length].split(|&byte| byte == b'\n').enumerate().peekable();
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
    use crate::testing::Machine;

    fn read(machine: &Machine, keys: &[&'static str]) -> KeyedFile {
        let mut file = KeyedFile::new(machine.path("proc/f"), "", keys);
        file.read();
        file
    }

    #[test]
    fn moved_lines_are_found() {
        let machine = Machine::new(&[("proc/f", "ab 1\na 2\nc: 3 kB\n")]);
        let mut file = read(&machine, &["a", "c", "d"]);
        let values = |file: &KeyedFile| [0, 1, 2].map(|key| file.value(key));
        assert_eq!(values(&file), [Some(2), Some(3), None]);
        machine.write("proc/f", "ab 1\na 12345\nc: 4 kB\nd 1\n");
        file.read();
        assert_eq!(values(&file), [Some(12345), Some(4), None], "no search while the remembered lines match");
        machine.write("proc/f", "new 1\nab 1\na 5\nc: 6 kB\nd 7\n");
        file.read();
        assert_eq!(values(&file), [Some(5), Some(6), Some(7)]);
        machine.write("proc/f", "a 5\n");
        file.read();
        assert_eq!(values(&file), [Some(5), None, None]);
        assert!(file.reason(1).ends_with("proc/f: no value of c"), "{}", file.reason(1));
    }

    #[test]
    fn malformed_numbers_are_errors() {
        let whole = "a 12\nb: 345 kB\n";
        for length in 0..=whole.len() {
            let machine = Machine::new(&[("proc/f", &whole[..length])]);
            let mut file = read(&machine, &["a", "b"]);
            for _ in 0..2 {
                assert!([None, Some(12)].contains(&file.value(0)), "{length}");
                assert!([None, Some(345)].contains(&file.value(1)), "{length}");
                file.read();
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
        file.read();
        assert!(Arc::ptr_eq(&reason, file.reason(0)), "allocated once");
        machine.write("proc/f", "a 1\n");
        file.read();
        assert_eq!(file.value(0), Some(1));
    }

    #[test]
    fn totals_never_decrease() {
        let machine = Machine::new(&[("proc/f", "a 5\n")]);
        let mut file = KeyedFile::for_totals(machine.path("proc/f"), &["a"]);
        for (text, value) in [("a 5\n", Some(5)), ("a 4\n", Some(5)), ("\n", None), ("a 6\n", Some(6))] {
            machine.write("proc/f", text);
            file.read();
            assert_eq!(file.value(0), value);
        }
    }

    #[test]
    fn a_file_longer_than_the_buffer_is_read() {
        let text: String = (0..2000).map(|number| format!("key{number} {number}\n")).collect();
        let machine = Machine::new(&[("proc/f", &text)]);
        let mut file = read(&machine, &["key7", "key1999"]);
        for _ in 0..2 {
            assert_eq!([file.value(0), file.value(1)], [Some(7), Some(1999)]);
            file.read();
        }
    }
}
