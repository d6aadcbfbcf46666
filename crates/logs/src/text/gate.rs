//! What stands between the rows and the file.

use std::cell::Cell;
use std::io::{self, Write};

/// Writes through until a write fails, and never again: the rows that are still kept in memory would come behind a part of
/// one, be it when they are dropped.
pub(super) struct Gate<W> {
    out: W,
    state: Cell<State>,
    /// What is written before all else.
    start: Cell<&'static [u8]>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    Open,
    /// A write failed.
    Failed,
    /// What comes is of no use any more.
    Discards,
}

impl<W> Gate<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, state: Cell::new(State::Open), start: Cell::new(b"") }
    }

    pub(super) fn get_ref(&self) -> &W {
        &self.out
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }

    /// Writes this before the first row.
    pub(super) fn begin_with(&self, start: &'static [u8]) {
        self.start.set(start);
    }

    /// Lets nothing through from now on.
    pub(super) fn discard(&self) {
        self.state.set(State::Discards);
    }

    fn through<T>(&mut self, instead: T, write: impl FnOnce(&mut W) -> io::Result<T>) -> io::Result<T> {
        match self.state.get() {
            State::Open => {
                let written = write(&mut self.out);
                let is_failure = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
                if written.as_ref().is_err_and(is_failure) {
                    self.state.set(State::Failed);
                }
                written
            }
            State::Failed => Err(io::Error::other("an earlier write failed")),
            State::Discards => Ok(instead),
        }
    }
}

impl<W: Write> Write for Gate<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let start = self.start.take();
        if !start.is_empty() {
            self.through((), |out| out.write_all(start))?;
        }
        self.through(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.through((), W::flush)
    }
}
