//! What stands behind a handle.

use std::sync::{Mutex, MutexGuard};

use tachograph_cpi::{Cpi, Error, ErrorKind, Mode};

use crate::code::Code;
use crate::data::CpiDataBlock;
use crate::failure::Failure;
use crate::trace_file;

/// An instance: its measurement, and the data that the program was handed. Calls for one instance wait for
/// each other.
#[derive(Debug)]
pub(crate) struct Instance {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cpi: Cpi,
    /// On the heap, as the program keeps its address.
    data: Box<CpiDataBlock>,
}

/// The address of what was measured, where something was, and what went wrong.
pub(crate) type Got = (Option<*const CpiDataBlock>, Result<(), Failure>);

/// The measurement that a program asks for.
///
/// Raw CPI need not be asked for, and is measured. Where it was not asked for and processors may not be
/// counted, a program that wants its thread's CPI gets that alone.
fn measure<T>(mode: Mode, new: impl Fn(Mode) -> Result<T, Error>) -> Result<T, Error> {
    match new(mode | Mode::RAW) {
        Err(error)
            if !mode.has_processors()
                && matches!(error.kind(), ErrorKind::AccessDenied | ErrorKind::Blocked) =>
        {
            new(mode)
        }
        result => result,
    }
}

/// The mode of this number.
pub(crate) fn mode_of(bits: u32) -> Result<Mode, Failure> {
    Mode::from_bits(bits).ok_or_else(|| {
        Failure::new(
            Code::PU_ERROR_INVALID_PARAMETER,
            format!(
                "The bits {:#x} have no meaning: CPI_TYPE_ALL ({:#x}) has all that have one.",
                bits & !Mode::ALL.bits(),
                Mode::ALL.bits()
            ),
        )
    })
}

/// The minor code of hooks.
pub(crate) fn minor_of(minor_code: i32) -> Result<u8, Failure> {
    u8::try_from(minor_code).map_err(|_| {
        Failure::new(
            Code::PU_ERROR_INVALID_PARAMETER,
            format!("The minor code is {minor_code}, and a hook has room for 0 to 255: choose one of these."),
        )
    })
}

/// Whether this machine counts cycles and instructions, and lets this process have them.
pub(crate) fn is_supported() -> Result<(), Failure> {
    // The own thread takes the least privilege. Where a thread cannot be counted, processors may still be.
    match Cpi::new(Mode::ON_THREAD) {
        Ok(_) => Ok(()),
        Err(error) => Cpi::new(Mode::RAW).map(|_| ()).map_err(|_| error.into()),
    }
}

impl Instance {
    pub(crate) fn new(bits: u32) -> Result<Self, Failure> {
        let mode = mode_of(bits)?;
        trace_file::open_asked()?;
        let state = State { cpi: measure(mode, Cpi::new)?, data: CpiDataBlock::boxed() };
        Ok(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.state.lock().map_err(|_| {
            Failure::new(
                Code::PU_ERROR_INCORRECT_STATE,
                "A call for this handle broke down (PU_ERROR_INTERNAL_ERROR): terminate it.",
            )
        })
    }

    pub(crate) fn start(&self) -> Result<(), Failure> {
        Ok(self.state()?.cpi.start()?)
    }

    pub(crate) fn mode(&self) -> Result<Mode, Failure> {
        Ok(self.state()?.cpi.mode())
    }

    pub(crate) fn set_trace_hook(&self, minor: u8, label: Option<&str>) -> Result<(), Failure> {
        self.state()?.cpi.set_trace_hook(minor, label);
        Ok(())
    }

    pub(crate) fn get(&self) -> Got {
        self.get_by(|cpi| {
            if cpi.mode().has_any(Mode::TRACE_ON_GET | Mode::TRACE_ONLY_ON_GET) {
                cpi.set_trace(trace_file::current());
            }
            cpi.get().map(|_| ())
        })
    }

    pub(crate) fn get_and_trace(&self, minor: u8, flags: Mode, label: Option<&str>) -> Got {
        self.get_by(|cpi| {
            cpi.set_trace(trace_file::current());
            cpi.get_and_trace(minor, flags, label).map(|_| ())
        })
    }

    fn get_by(&self, get: impl FnOnce(&mut Cpi) -> Result<(), Error>) -> Got {
        let mut state = match self.state() {
            Ok(state) => state,
            Err(failure) => return (None, Err(failure)),
        };
        let State { cpi, data } = &mut *state;
        let error = get(cpi).err();
        if error.as_ref().is_some_and(|error| !is_after_measuring(error.kind())) {
            return (None, error.map_or(Ok(()), |error| Err(error.into())));
        }
        let filled = data.fill(cpi.last(), cpi.mode());
        let is_whole =
            filled.as_ref().err().is_none_or(|failure| failure.code == Code::PU_ERROR_INVALID_CPI_DATA);
        // What the measurement says of itself comes first: it knows the cause.
        let result = error.map_or(filled, |error| Err(error.into()));
        (is_whole.then_some(&raw const **data), result)
    }
}

/// Whether there is data although the call failed: counters never ran, or what was measured could not be
/// traced.
fn is_after_measuring(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::NeverRan
            | ErrorKind::NoTrace
            | ErrorKind::TraceFull
            | ErrorKind::HookTooLong
            | ErrorKind::TraceFile
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_bits_are_refused_by_name() {
        assert_eq!(mode_of(0x7F), Ok(Mode::ALL));
        assert_eq!(mode_of(0), Ok(Mode::default()));
        let failure = mode_of(0x181).expect_err("unknown bits");
        assert_eq!(failure.code, Code::PU_ERROR_INVALID_PARAMETER);
        assert_eq!(
            failure.text,
            "The bits 0x180 have no meaning: CPI_TYPE_ALL (0x7f) has all that have one."
        );
    }

    #[test]
    fn minor_codes_are_a_byte() {
        assert_eq!(minor_of(0), Ok(0));
        assert_eq!(minor_of(255), Ok(255));
        for minor in [-1, 256, i32::MIN, i32::MAX] {
            assert_eq!(minor_of(minor).expect_err("over a byte").code, Code::PU_ERROR_INVALID_PARAMETER);
        }
    }

    #[test]
    fn the_thread_alone_where_processors_may_not_be_counted() {
        let measured = |mode: Mode, kind: ErrorKind| {
            measure(mode, |mode| if mode.has_processors() { Err(Error::new(kind, "no")) } else { Ok(mode) })
        };
        for kind in [ErrorKind::AccessDenied, ErrorKind::Blocked] {
            assert_eq!(measured(Mode::ON_THREAD, kind), Ok(Mode::ON_THREAD));
            let traced = Mode::ON_THREAD | Mode::TRACE_SUMMARY;
            assert_eq!(measured(traced, kind), Ok(traced));
            for asked in [Mode::default(), Mode::RAW, Mode::SCALED] {
                for thread in [Mode::default(), Mode::ON_THREAD] {
                    if asked | thread != Mode::ON_THREAD {
                        assert_eq!(
                            measured(asked | thread, kind),
                            Err(Error::new(kind, "no")),
                            "{asked:?} {thread:?}"
                        );
                    }
                }
            }
        }
        let other = measured(Mode::ON_THREAD, ErrorKind::TooManyFiles);
        assert_eq!(other.expect_err("no fallback").kind(), ErrorKind::TooManyFiles);
        assert_eq!(measure(Mode::ON_THREAD, Ok), Ok(Mode::ON_THREAD | Mode::RAW));
    }

    #[test]
    fn instances_may_be_used_from_any_thread() {
        fn any_thread<T: Send + Sync>() {}
        any_thread::<Instance>();
    }
}
