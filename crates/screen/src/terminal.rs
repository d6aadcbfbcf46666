//! Switches the terminal to full-screen mode, and restores it.

use std::io::{self, BufWriter, Stdout, Write as _};
use std::mem::ManuallyDrop;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{DisableMouseCapture, EnableMouseCapture};
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use ratatui::crossterm::{cursor, execute};
use ratatui::layout::{Position, Rect};

pub(crate) type CrosstermTerminal = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the terminal is in full-screen mode. [`restore`] clears this, so the terminal is restored only once.
static IS_TAKEN_OVER: AtomicBool = AtomicBool::new(false);

/// The size of the output buffer: large enough to write a whole screen with colours at once.
const BUFFER_BYTES: usize = 64 << 10;

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
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER_BYTES, io::stdout()));
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
        IS_TAKEN_OVER.load(Ordering::SeqCst)
    }

    /// Switches to full-screen mode again, after another program has used it.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        IS_TAKEN_OVER.store(false, Ordering::SeqCst);
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
    IS_TAKEN_OVER.store(true, Ordering::SeqCst);
    let taken = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, cursor::Hide);
    if taken.is_err() {
        restore();
    }
    taken
}

/// Restores the terminal. Errors are ignored.
pub(crate) fn restore() {
    if !IS_TAKEN_OVER.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(out, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}
