//! Switches the terminal to full-screen mode, and restores it.

use std::io::{self, Stdout, Write};
use std::mem::ManuallyDrop;
use std::sync::{Mutex, Once};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Rect};
use tachograph_counters::IgnorePoison as _;

pub(crate) type CrosstermTerminal = Terminal<CrosstermBackend<FrameWriter<Stdout>>>;

/// Whether the terminal is in full-screen mode. [`restore`] clears this, so the terminal is restored only once.
///
/// The lock is held while a frame is written and while the terminal is restored: if one thread draws while another one
/// panics, the frame is complete before the terminal is restored, or it is not written.
static IS_TAKEN_OVER: Mutex<bool> = Mutex::new(false);

/// Collects the output of a frame, and writes it at once; outside full-screen mode, it discards the frame. Nothing that
/// can panic runs while it holds the lock, because the panic hook waits for the lock.
pub(crate) struct FrameWriter<W> {
    out: W,
    frame: Vec<u8>,
}

impl<W> FrameWriter<W> {
    fn new(out: W) -> Self {
        Self { out, frame: Vec::new() }
    }
}

impl<W: Write> Write for FrameWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.frame.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let is_taken_over = IS_TAKEN_OVER.lock().ignore_poison();
        let written = if *is_taken_over {
            self.out.write_all(&self.frame).and_then(|()| self.out.flush())
        } else {
            Ok(())
        };
        self.frame.clear();
        written
    }
}

/// The terminal in full-screen mode. It is restored when this is dropped or when a thread panics.
pub(crate) struct Screen {
    /// Never dropped: `Terminal::drop` prints an error if the terminal is closed, and panics if standard error is closed
    /// too. [`restore`] does its work.
    terminal: ManuallyDrop<CrosstermTerminal>,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // The terminal is restored before the message is printed, so that the message remains visible.
                restore();
                before(panic);
            }));
        });
        take_over()?;
        let backend = CrosstermBackend::new(FrameWriter::new(io::stdout()));
        let opened = Terminal::new(backend);
        if opened.is_err() {
            restore();
        }
        Ok(Self { terminal: ManuallyDrop::new(opened?) })
    }

    pub(crate) fn terminal(&mut self) -> &mut CrosstermTerminal {
        &mut self.terminal
    }

    /// Whether the terminal is still in full-screen mode. If another thread panicked, it is already restored.
    pub(crate) fn is_taken_over(&self) -> bool {
        *IS_TAKEN_OVER.lock().ignore_poison()
    }

    /// Switches to full-screen mode again, after another program has used it.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        take_over()?;
        self.clear()
    }

    /// Clears the terminal, so that everything is drawn again. `Terminal::clear` would query the cursor position, which
    /// fails if the terminal responds late.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
    }
}

fn take_over() -> io::Result<()> {
    enable_raw_mode()?;
    let mut is_taken_over = IS_TAKEN_OVER.lock().ignore_poison();
    *is_taken_over = true;
    let taken = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, cursor::Hide);
    drop(is_taken_over);
    if taken.is_err() {
        restore();
    }
    taken
}

/// Restores the terminal. Errors are ignored.
pub(crate) fn restore() {
    let mut is_taken_over = IS_TAKEN_OVER.lock().ignore_poison();
    if !std::mem::take(&mut *is_taken_over) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(out, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_written_at_once_and_only_in_full_screen_mode() {
        let mut written = Vec::new();
        let mut frames = FrameWriter::new(&mut written);
        *IS_TAKEN_OVER.lock().unwrap() = true;
        frames.write_all(b"first ").unwrap();
        frames.write_all(b"frame;").unwrap();
        assert!(frames.out.is_empty());
        frames.flush().unwrap();
        assert_eq!(frames.out, b"first frame;");
        // Another thread restores the terminal while a frame is drawn.
        frames.write_all(b"second frame;").unwrap();
        *IS_TAKEN_OVER.lock().unwrap() = false;
        frames.flush().unwrap();
        *IS_TAKEN_OVER.lock().unwrap() = true;
        frames.write_all(b"third frame;").unwrap();
        frames.flush().unwrap();
        *IS_TAKEN_OVER.lock().unwrap() = false;
        assert_eq!(written, b"first frame;third frame;");
    }
}
