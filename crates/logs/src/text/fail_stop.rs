//! A writer that stops after the first error.

use std::cell::Cell;
use std::io::{self, Write};

/// Passes writes through until one fails, then refuses all others. Otherwise rows that are still buffered would be
/// written after a partial row, even on drop.
pub(super) struct FailStop<W> {
    out: W,
    state: Cell<State>,
    /// The bytes to write before the first row.
    prefix: Cell<&'static [u8]>,
}

/// How writes are handled.
#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Writes are passed through.
    PassThrough,
    /// A write failed.
    Failed,
    /// All writes are ignored.
    Discarding,
}

impl<W> FailStop<W> {
    pub(super) fn new(out: W) -> Self {
        Self { out, state: Cell::new(State::PassThrough), prefix: Cell::new(b"") }
    }

    pub(super) fn get_ref(&self) -> &W {
        &self.out
    }

    pub(super) fn into_inner(self) -> W {
        self.out
    }

    /// Sets bytes to write before the first row.
    pub(super) fn set_prefix(&self, prefix: &'static [u8]) {
        self.prefix.set(prefix);
    }

    /// Ignores all writes from now on.
    pub(super) fn discard(&self) {
        self.state.set(State::Discarding);
    }

    /// Calls `write` unless an earlier write failed, and stores whether it failed.
    fn write_through<T>(
        &mut self,
        if_discarding: T,
        write: impl FnOnce(&mut W) -> io::Result<T>,
    ) -> io::Result<T> {
        match self.state.get() {
            State::PassThrough => {
                let written = write(&mut self.out);
                let is_failure = |error: &io::Error| error.kind() != io::ErrorKind::Interrupted;
                if written.as_ref().is_err_and(is_failure) {
                    self.state.set(State::Failed);
                }
                written
            }
            State::Failed => Err(io::Error::other("an earlier write failed")),
            State::Discarding => Ok(if_discarding),
        }
    }
}

impl<W: Write> Write for FailStop<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let prefix = self.prefix.take();
        if !prefix.is_empty() {
            self.write_through((), |out| out.write_all(prefix))?;
        }
        self.write_through(bytes.len(), |out| out.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_through((), W::flush)
    }
}
