//! The functions of perfutil.h: they check pointers, and call the modules that do the work.

#![allow(unsafe_code, reason = "exported C symbols, C pointers")]
#![allow(non_snake_case, reason = "names of the C interface")]

use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;

use crate::code::Code;
use crate::data::CpiDataBlock;
use crate::failure::{Failure, call, call_or, last_text};
use crate::handles::{HANDLES, HandleError, HandleKind};
use crate::instance::{GetResult, Instance, check_support, parse_minor_code, parse_mode};
use crate::{environment, trace_file};

impl HandleKind for Instance {
    const NAME: &'static str = "a CPI handle";
    const FUNCTIONS: [&'static str; 2] = ["CpiInit", "CpiTerminate"];
}

/// The failure of a call with an invalid handle.
fn handle_failure(error: HandleError) -> Failure {
    let code = match error {
        HandleError::Null => return Failure::null("handle"),
        HandleError::Exhausted => Code::PU_ERROR_INSUFFICIENT_RESOURCES,
        HandleError::Unknown if !HANDLES.has_any::<Instance>() => Code::PU_ERR_NOT_INITIALIZED,
        HandleError::Closed | HandleError::Unknown | HandleError::OtherKind(_) => {
            Code::PU_ERROR_INVALID_PARAMETER
        }
    };
    Failure::new(code, error.describe::<Instance>())
}

fn instance(handle: *mut c_void) -> Result<Arc<Instance>, Failure> {
    HANDLES.find(handle).map_err(handle_failure)
}

/// Decodes a label; invalid UTF-8 is replaced.
///
/// # Safety
///
/// `label` is null or a NUL-terminated string that does not change during the call.
unsafe fn decode_label<'a>(label: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: guaranteed by this function's safety contract.
    (!label.is_null()).then(|| unsafe { CStr::from_ptr(label) }.to_string_lossy())
}

/// Runs `get`, and writes the address of its data, or null, to `cd`.
///
/// # Safety
///
/// `cd` is null or has room for a pointer.
unsafe fn write_data(
    cd: *mut *const CpiDataBlock,
    get: impl FnOnce() -> Result<GetResult, Failure>,
) -> c_int {
    let mut data = None;
    let code = call(|| {
        if cd.is_null() {
            return Err(Failure::null("cd"));
        }
        let (address, result) = get()?;
        data = address;
        result
    });
    if !cd.is_null() {
        // SAFETY: not null, so there is room for a pointer, by this function's safety contract.
        unsafe { cd.write(data.unwrap_or(null())) };
    }
    code
}

/// Creates a handle and starts its interval.
///
/// # Safety
///
/// `handle` is null or has room for a pointer.
// SAFETY: the name of this function is unique, as are the names of the exported functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiInit(mode: u32, handle: *mut *mut c_void) -> c_int {
    let mut created = null_mut();
    let code = call(|| {
        if handle.is_null() {
            return Err(Failure::null("handle"));
        }
        created = HANDLES.add(Instance::new(mode)?).map_err(handle_failure)?;
        Ok(())
    });
    if !handle.is_null() {
        // SAFETY: not null, so there is room for a pointer, by this function's safety contract.
        unsafe { handle.write(created) };
    }
    code
}

/// Closes a handle.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn CpiTerminate(handle: *mut c_void) -> c_int {
    call(|| HANDLES.remove::<Instance>(handle).map(drop).map_err(handle_failure))
}

/// Starts a new interval.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn CpiStart(handle: *mut c_void) -> c_int {
    call(|| instance(handle)?.start())
}

/// Returns the measurements of the interval, which continues.
///
/// # Safety
///
/// `cd` is null or has room for a pointer.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiGet(handle: *mut c_void, cd: *mut *const CpiDataBlock) -> c_int {
    // SAFETY: guaranteed by this function's safety contract.
    unsafe { write_data(cd, || Ok(instance(handle)?.get())) }
}

/// Like `CpiGet`, but also writes hooks to the trace.
///
/// # Safety
///
/// `cd` is null or has room for a pointer; `label` is null or a NUL-terminated string.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiGetAndTrace(
    handle: *mut c_void,
    minor_code: c_int,
    flags: u32,
    label: *const c_char,
    cd: *mut *const CpiDataBlock,
) -> c_int {
    let get = || {
        let instance = instance(handle)?;
        let minor = parse_minor_code(minor_code)?;
        let flags = parse_mode(flags)?;
        // SAFETY: guaranteed by this function's safety contract.
        let label = unsafe { decode_label(label) };
        Ok(instance.get_and_trace(minor, flags, label.as_deref()))
    };
    // SAFETY: guaranteed by this function's safety contract.
    unsafe { write_data(cd, get) }
}

/// Sets the minor code and label of the hooks that `CpiGet` writes.
///
/// # Safety
///
/// `label` is null or a NUL-terminated string.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiSetTraceHookId(
    handle: *mut c_void,
    minor_code: c_int,
    label: *const c_char,
) -> c_int {
    call(|| {
        let instance = instance(handle)?;
        let minor = parse_minor_code(minor_code)?;
        // SAFETY: guaranteed by this function's safety contract.
        let label = unsafe { decode_label(label) };
        instance.set_trace_hook(minor, label.as_deref())
    })
}

/// The mode in effect; 0 if the handle is invalid.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn CpiGetCurrentMode(handle: *mut c_void) -> u32 {
    call_or(|_| 0, || Ok(instance(handle)?.mode()?.bits()))
}

/// 1 if this machine counts cycles and instructions and this process has access, otherwise 0.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn IsCpiSupported() -> c_int {
    call_or(|_| 0, || check_support().map(|()| 1))
}

/// The name of a return code, or a sentence if the code is unknown.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn RcToString(rc: c_int) -> *const c_char {
    Code(rc).name().unwrap_or(c"Not a PerfUtil return code").as_ptr()
}

/// The number of online processors.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn GetActiveProcessorCount() -> c_int {
    environment::processors_online()
}

/// The number of online processors.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn PiGetActiveProcessorCount() -> c_int {
    environment::processors_online()
}

/// The current time of the clock that intervals and traces use, in ticks.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn ReadCycles() -> u64 {
    call_or(|_| 0, || Ok(tachograph_cpi::clock_ticks()))
}

/// Opens the trace file of this process.
///
/// # Safety
///
/// `path` is null or a NUL-terminated string.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TachoTraceOpen(path: *const c_char) -> c_int {
    call(|| {
        if path.is_null() {
            return Err(Failure::null("path"));
        }
        // SAFETY: not null, so it is NUL-terminated, by this function's safety contract.
        let path = unsafe { CStr::from_ptr(path) };
        trace_file::open(Path::new(OsStr::from_bytes(path.to_bytes())))
    })
}

/// Closes the trace.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoTraceClose() -> c_int {
    call(trace_file::close)
}

/// The message of the calling thread's last error.
// SAFETY: as for `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoLastErrorText() -> *const c_char {
    last_text()
}
