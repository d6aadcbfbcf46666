//! The functions of perfutil.h. Each looks at its pointers, and hands over.

#![allow(unsafe_code, reason = "symbols and pointers of C")]
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
use crate::instance::{Got, Instance, is_supported, minor_of, mode_of};
use crate::{environment, trace_file};

impl HandleKind for Instance {
    const NAME: &'static str = "a CPI handle";
    const FUNCTIONS: [&'static str; 2] = ["CpiInit", "CpiTerminate"];
}

/// The failure of a call whose handle cannot be used.
fn bad_handle(error: HandleError) -> Failure {
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
    HANDLES.find(handle).map_err(bad_handle)
}

/// A label as text; bytes that are not UTF-8 are replaced.
///
/// # Safety
///
/// `label` is null or a string that ends in a zero byte and stays as it is during the call.
unsafe fn text_of<'a>(label: *const c_char) -> Option<std::borrow::Cow<'a, str>> {
    // SAFETY: by the condition of this function.
    (!label.is_null()).then(|| unsafe { CStr::from_ptr(label) }.to_string_lossy())
}

/// Runs a get, and writes the address of its data, or null where there is none.
///
/// # Safety
///
/// `cd` is null or has room for a pointer.
unsafe fn hand_out(cd: *mut *const CpiDataBlock, get: impl FnOnce() -> Result<Got, Failure>) -> c_int {
    let mut data = None;
    let code = call(|| {
        if cd.is_null() {
            return Err(Failure::null("cd"));
        }
        let (got, result) = get()?;
        data = got;
        result
    });
    if !cd.is_null() {
        // SAFETY: not null, so there is room for a pointer, by the condition of this function.
        unsafe { cd.write(data.unwrap_or(null())) };
    }
    code
}

/// Makes an instance; its interval starts.
///
/// # Safety
///
/// `handle` is null or has room for a pointer.
// SAFETY: here and below: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiInit(mode: u32, handle: *mut *mut c_void) -> c_int {
    let mut made = null_mut();
    let code = call(|| {
        if handle.is_null() {
            return Err(Failure::null("handle"));
        }
        made = HANDLES.add(Instance::new(mode)?).map_err(bad_handle)?;
        Ok(())
    });
    if !handle.is_null() {
        // SAFETY: not null, so there is room for a pointer, by the condition of this function.
        unsafe { handle.write(made) };
    }
    code
}

/// Ends an instance.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn CpiTerminate(handle: *mut c_void) -> c_int {
    call(|| HANDLES.remove::<Instance>(handle).map(drop).map_err(bad_handle))
}

/// Starts a new interval.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn CpiStart(handle: *mut c_void) -> c_int {
    call(|| instance(handle)?.start())
}

/// Hands out what was measured in the interval, which goes on.
///
/// # Safety
///
/// `cd` is null or has room for a pointer.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiGet(handle: *mut c_void, cd: *mut *const CpiDataBlock) -> c_int {
    // SAFETY: by the condition of this function.
    unsafe { hand_out(cd, || Ok(instance(handle)?.get())) }
}

/// As `CpiGet`, and writes hooks to the trace.
///
/// # Safety
///
/// `cd` is null or has room for a pointer; `label` is null or a string that ends in a zero byte.
// SAFETY: as at `CpiInit`.
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
        let minor = minor_of(minor_code)?;
        let flags = mode_of(flags)?;
        // SAFETY: by the condition of this function.
        let label = unsafe { text_of(label) };
        Ok(instance.get_and_trace(minor, flags, label.as_deref()))
    };
    // SAFETY: by the condition of this function.
    unsafe { hand_out(cd, get) }
}

/// Minor code and label of the hooks that follow.
///
/// # Safety
///
/// `label` is null or a string that ends in a zero byte.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn CpiSetTraceHookId(
    handle: *mut c_void,
    minor_code: c_int,
    label: *const c_char,
) -> c_int {
    call(|| {
        let instance = instance(handle)?;
        let minor = minor_of(minor_code)?;
        // SAFETY: by the condition of this function.
        let label = unsafe { text_of(label) };
        instance.set_trace_hook(minor, label.as_deref())
    })
}

/// The mode in force; 0 for what is no handle.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn CpiGetCurrentMode(handle: *mut c_void) -> u32 {
    call_or(|_| 0, || Ok(instance(handle)?.mode()?.bits()))
}

/// 1 where CPI can be had here, else 0.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn IsCpiSupported() -> c_int {
    call_or(|_| 0, || is_supported().map(|()| 1))
}

/// The name of a return code.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn RcToString(rc: c_int) -> *const c_char {
    Code(rc).name().unwrap_or(c"Not a PerfUtil return code").as_ptr()
}

/// How many processors are online.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn GetActiveProcessorCount() -> c_int {
    environment::processors_online()
}

/// How many processors are online.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn PiGetActiveProcessorCount() -> c_int {
    environment::processors_online()
}

/// The clock of intervals and of the trace, in its ticks.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn ReadCycles() -> u64 {
    call_or(|_| 0, || Ok(tachograph_cpi::clock_ticks()))
}

/// Opens a trace into this file.
///
/// # Safety
///
/// `path` is null or a string that ends in a zero byte.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn TachoTraceOpen(path: *const c_char) -> c_int {
    call(|| {
        if path.is_null() {
            return Err(Failure::null("path"));
        }
        // SAFETY: not null, so it ends in a zero byte, by the condition of this function.
        let path = unsafe { CStr::from_ptr(path) };
        trace_file::open(Path::new(OsStr::from_bytes(path.to_bytes())))
    })
}

/// Ends the trace.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoTraceClose() -> c_int {
    call(trace_file::close)
}

/// The text of this thread's last error.
// SAFETY: as at `CpiInit`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoLastErrorText() -> *const c_char {
    last_text()
}
