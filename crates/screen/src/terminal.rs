//! The terminal while the screen is on it, and as it was before.

use std::io::{self, BufWriter, Stdout, Write as _};
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

/// A terminal that is drawn on.
pub(crate) type Drawn = Terminal<CrosstermBackend<BufWriter<Stdout>>>;

/// Whether the terminal is not as it was: it is restored once, by whoever comes first.
static IS_TAKEN: AtomicBool = AtomicBool::new(false);

/// Bytes of a whole screen with its colours, so that it comes in one write.
const BUFFER: usize = 64 << 10;

/// Takes the terminal, and gives it back when dropped, also by a panic.
pub(crate) struct Screen {
    terminal: Drawn,
}

impl Screen {
    pub(crate) fn open() -> io::Result<Self> {
        static HOOK: Once = Once::new();
        HOOK.call_once(|| {
            let before = std::panic::take_hook();
            std::panic::set_hook(Box::new(move |panic| {
                // The message is to be seen where it stays.
                give_back();
                before(panic);
            }));
        });
        take()?;
        let backend = CrosstermBackend::new(BufWriter::with_capacity(BUFFER, io::stdout()));
        let opened = Terminal::new(backend);
        if opened.is_err() {
            give_back();
        }
        Ok(Self { terminal: opened? })
    }

    pub(crate) fn terminal(&mut self) -> &mut Drawn {
        &mut self.terminal
    }

    /// Whether it can be drawn on: a panic on another thread has given the terminal back already.
    pub(crate) fn is_taken(&self) -> bool {
        IS_TAKEN.load(Ordering::SeqCst)
    }

    /// Takes the terminal again, after somebody else had it, to draw all of it.
    pub(crate) fn reopen(&mut self) -> io::Result<()> {
        // Whoever had it has changed it.
        IS_TAKEN.store(false, Ordering::SeqCst);
        take()?;
        self.clear()
    }

    /// Clears it, so that the next drawing draws all. `Terminal::clear` would ask the terminal where its cursor is, and fail
    /// where the answer is late.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        let size = self.terminal.size()?;
        self.terminal.resize(Rect::from((Position::ORIGIN, size)))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        give_back();
    }
}

fn take() -> io::Result<()> {
    enable_raw_mode()?;
    IS_TAKEN.store(true, Ordering::SeqCst);
    let taken = execute!(io::stdout(), EnterAlternateScreen, EnableMouseCapture, cursor::Hide);
    if taken.is_err() {
        give_back();
    }
    taken
}

/// Gives the terminal back as it was. Nothing can be done about what fails on the way.
pub(crate) fn give_back() {
    if !IS_TAKEN.swap(false, Ordering::SeqCst) {
        return;
    }
    let mut out = io::stdout();
    let _ = execute!(out, DisableMouseCapture, LeaveAlternateScreen, cursor::Show);
    let _ = out.flush();
    let _ = disable_raw_mode();
}
