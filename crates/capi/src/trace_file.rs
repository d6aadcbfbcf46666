//! The trace of the process: one file, into which the hooks of all instances go.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tachograph_cpi::trace::Trace;

use crate::code::Code;
use crate::environment;
use crate::failure::{Failure, call};

#[derive(Debug)]
struct Place {
    open: Option<Arc<Trace>>,
    /// The environment variable has had its turn, or the program has opened a trace itself.
    is_decided: bool,
    /// The process that this is the place of; 0 before it was asked for.
    process: u32,
}

static PLACE: Mutex<Place> = Mutex::new(Place { open: None, is_decided: false, process: 0 });

/// The process whose trace is to be closed at its end; 0 while there is none.
static CLOSES_AT_EXIT: AtomicU32 = AtomicU32::new(0);

fn place() -> MutexGuard<'static, Place> {
    // A panic while a trace is made leaves the place as it was.
    let mut place = PLACE.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if place.process != process {
        // A child that was forked has a trace of its own, and its parent's goes on without it.
        *place = Place { open: None, is_decided: false, process };
    }
    place
}

impl Place {
    fn create(&mut self, path: &Path) -> Result<(), Failure> {
        self.open = Some(Arc::new(Trace::create(path)?));
        self.is_decided = true;
        CLOSES_AT_EXIT.store(self.process, Ordering::Relaxed);
        environment::at_exit(close_at_exit);
        Ok(())
    }
}

/// Where hooks go now.
pub(crate) fn current() -> Option<Arc<Trace>> {
    place().open.clone()
}

/// Opens the trace that the environment asks for, unless that was done, or the program had a trace of its
/// own.
pub(crate) fn open_asked() -> Result<(), Failure> {
    let mut place = place();
    if place.is_decided {
        return Ok(());
    }
    match environment::trace_path() {
        Some(path) => place.create(&path).map_err(|failure| Failure {
            text: format!("{} (The environment variable TACHO_CPI_TRACE names the file.)", failure.text)
                .into(),
            ..failure
        }),
        None => {
            place.is_decided = true;
            Ok(())
        }
    }
}

/// Opens a trace into this file.
pub(crate) fn open(path: &Path) -> Result<(), Failure> {
    let mut place = place();
    if place.open.is_some() {
        return Err(Failure::new(
            Code::PU_ERROR_INCORRECT_STATE,
            "A trace is open already, by TachoTraceOpen or by the environment variable TACHO_CPI_TRACE: call \
             TachoTraceClose first.",
        ));
    }
    place.create(path)
}

/// Ends the trace: what was written is in the file.
pub(crate) fn close() -> Result<(), Failure> {
    // Taken out first: a slow disk holds up nobody who only asks where hooks go.
    let trace = place().open.take();
    let Some(trace) = trace else {
        return Err(Failure::new(Code::PU_ERROR_NO_BUFFER, "No trace is open: call TachoTraceOpen first."));
    };
    Ok(trace.close()?)
}

/// A trace that the environment asked for is closed by nobody else. Its hooks are in the file; the time of
/// its end is not yet.
extern "C" fn close_at_exit() {
    // In a forked child without a trace of its own there is nothing to close, and a lock may be held by a thread that is not
    // there.
    if CLOSES_AT_EXIT.load(Ordering::Relaxed) != std::process::id() {
        return;
    }
    call(|| {
        let open = place().open.take();
        if let Some(Err(error)) = open.map(|trace| trace.close()) {
            // Nobody is left to whom it could be returned.
            eprintln!("libtachograph: the trace could not be ended: {error}");
        }
        Ok(())
    });
}
