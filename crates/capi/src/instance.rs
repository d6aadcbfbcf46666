//! The object of a `perfutil.h` handle.

use std::sync::{Mutex, MutexGuard};

use tachograph_cpi::{Cpi, Error, ErrorKind, Mode};

use crate::code::Code;
use crate::data::CpiDataBlock;
use crate::failure::Failure;
use crate::trace_file;

/// A measurement, and the data that was returned to the program. Calls for one instance are serialized.
#[derive(Debug)]
pub(crate) struct Instance {
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    cpi: Cpi,
    /// Boxed, because the program keeps its address.
    data: Box<CpiDataBlock>,
}

/// The address of the measured data, if any, and the result of the call.
pub(crate) type GetResult = (Option<*const CpiDataBlock>, Result<(), Failure>);

/// Creates the measurement for a mode.
///
/// Raw CPI is measured by default. If the mode has only [`Mode::ON_THREAD`] and processors may not be counted, the thread is
/// measured alone.
fn start_measurement<T>(mode: Mode, new: impl Fn(Mode) -> Result<T, Error>) -> Result<T, Error> {
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

pub(crate) fn parse_mode(bits: u32) -> Result<Mode, Failure> {
    Mode::from_bits(bits).ok_or_else(|| {
        Failure::new(
            Code::PU_ERROR_INVALID_PARAMETER,
            format!(
                "Unknown mode bits {:#x}: CPI_TYPE_ALL ({:#x}) has all known ones.",
                bits & !Mode::ALL.bits(),
                Mode::ALL.bits()
            ),
        )
    })
}

pub(crate) fn parse_minor_code(minor_code: i32) -> Result<u8, Failure> {
    u8::try_from(minor_code).map_err(|_| {
        Failure::new(
            Code::PU_ERROR_INVALID_PARAMETER,
            format!("The minor code {minor_code} is out of range: pass 0 to 255."),
        )
    })
}

/// Succeeds if this machine counts cycles and instructions and this process has access to the counters.
pub(crate) fn check_support() -> Result<(), Failure> {
    // Counting the calling thread needs the least privilege. If that fails, counting processors may still work.
    match Cpi::new(Mode::ON_THREAD) {
        Ok(_) => Ok(()),
        Err(error) => Cpi::new(Mode::RAW).map(|_| ()).map_err(|_| error.into()),
    }
}

impl Instance {
    pub(crate) fn new(bits: u32) -> Result<Self, Failure> {
        let mode = parse_mode(bits)?;
        trace_file::open_from_environment()?;
        let state = State { cpi: start_measurement(mode, Cpi::new)?, data: CpiDataBlock::boxed() };
        Ok(Self { state: Mutex::new(state) })
    }

    fn state(&self) -> Result<MutexGuard<'_, State>, Failure> {
        self.state.lock().map_err(|_| {
            Failure::new(
                Code::PU_ERROR_INCORRECT_STATE,
                "An earlier call for this handle failed (PU_ERROR_INTERNAL_ERROR): call CpiTerminate.",
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

    pub(crate) fn get(&self) -> GetResult {
        self.get_with(|cpi| {
            if cpi.mode().has_any(Mode::TRACE_ON_GET | Mode::TRACE_ONLY_ON_GET) {
                cpi.set_trace(trace_file::current());
            }
            cpi.get().map(|_| ())
        })
    }

    pub(crate) fn get_and_trace(&self, minor: u8, flags: Mode, label: Option<&str>) -> GetResult {
        self.get_with(|cpi| {
            cpi.set_trace(trace_file::current());
            cpi.get_and_trace(minor, flags, label).map(|_| ())
        })
    }

    fn get_with(&self, get: impl FnOnce(&mut Cpi) -> Result<(), Error>) -> GetResult {
        let mut state = match self.state() {
            Ok(state) => state,
            Err(failure) => return (None, Err(failure)),
        };
        let State { cpi, data } = &mut *state;
        let error = get(cpi).err();
        if error.as_ref().is_some_and(|error| !has_data_despite(error.kind())) {
            return (None, error.map_or(Ok(()), |error| Err(error.into())));
        }
        let filled = data.fill(cpi.last(), cpi.mode());
        let is_filled =
            filled.as_ref().err().is_none_or(|failure| failure.code == Code::PU_ERROR_INVALID_CPI_DATA);
        // An error of the measurement takes precedence, since it has the cause.
        let result = error.map_or(filled, |error| Err(error.into()));
        (is_filled.then_some(&raw const **data), result)
    }
}

/// Whether a failed call still returns data, because the counters never ran or only tracing failed.
fn has_data_despite(kind: ErrorKind) -> bool {
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
    fn unknown_mode_bits_are_rejected() {
        assert_eq!(parse_mode(0x7F), Ok(Mode::ALL));
        assert_eq!(parse_mode(0), Ok(Mode::default()));
        let failure = parse_mode(0x181).expect_err("unknown bits");
        assert_eq!(failure.code, Code::PU_ERROR_INVALID_PARAMETER);
        assert_eq!(failure.text, "Unknown mode bits 0x180: CPI_TYPE_ALL (0x7f) has all known ones.");
    }

    #[test]
    fn minor_codes_other_than_0_to_255_are_rejected() {
        assert_eq!(parse_minor_code(0), Ok(0));
        assert_eq!(parse_minor_code(255), Ok(255));
        for minor in [-1, 256, i32::MIN, i32::MAX] {
            assert_eq!(
                parse_minor_code(minor).expect_err("out of range").code,
                Code::PU_ERROR_INVALID_PARAMETER
            );
        }
    }

    #[test]
    fn the_thread_is_measured_alone_if_processors_may_not_be_counted() {
        let measure_without_processors = |mode: Mode, kind: ErrorKind| {
            start_measurement(mode, |mode| {
                if mode.has_processors() { Err(Error::new(kind, "no")) } else { Ok(mode) }
            })
        };
        for kind in [ErrorKind::AccessDenied, ErrorKind::Blocked] {
            assert_eq!(measure_without_processors(Mode::ON_THREAD, kind), Ok(Mode::ON_THREAD));
            let traced = Mode::ON_THREAD | Mode::TRACE_SUMMARY;
            assert_eq!(measure_without_processors(traced, kind), Ok(traced));
            for requested in [Mode::default(), Mode::RAW, Mode::SCALED] {
                for thread in [Mode::default(), Mode::ON_THREAD] {
                    if requested | thread != Mode::ON_THREAD {
                        assert_eq!(
                            measure_without_processors(requested | thread, kind),
                            Err(Error::new(kind, "no")),
                            "{requested:?} {thread:?}"
                        );
                    }
                }
            }
        }
        let other = measure_without_processors(Mode::ON_THREAD, ErrorKind::TooManyFiles);
        assert_eq!(other.expect_err("no fallback").kind(), ErrorKind::TooManyFiles);
        assert_eq!(start_measurement(Mode::ON_THREAD, Ok), Ok(Mode::ON_THREAD | Mode::RAW));
    }

    #[test]
    fn instances_can_be_used_by_any_thread() {
        fn assert_send_and_sync<T: Send + Sync>() {}
        assert_send_and_sync::<Instance>();
    }
}
