//! The provider functions of perflib.h: they check pointers, and call the modules that do the work.

#![allow(unsafe_code, reason = "exported C symbols, C pointers")]
#![allow(non_snake_case, reason = "names of the C interface")]

use std::ffi::c_void;
use std::ptr::with_exposed_provenance;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tachograph_publish::dynamic::{ControlCallback, Request};

use super::api_error::{call_or_else, set_last_code};
use super::control::encode_request;
use super::memory::{read_bytes, read_guid, read_text, write};
use super::provider::{OpenProvider, Update};
use super::template::{SET_BYTES, template_bytes};
use super::{ApiError, call};
use crate::handles::{HANDLES, HandleError, HandleKind};

impl HandleKind for OpenProvider {
    const NAME: &'static str = "a provider handle";
    const FUNCTIONS: [&'static str; 2] = ["PerfStartProvider", "PerfStopProvider"];
}

/// `PERFLIBREQUEST` in perflib.h: a program's control callback.
type Callback = unsafe extern "C" fn(request: u32, buffer: *mut c_void, size: u32) -> u32;

/// `PERF_PROVIDER_CONTEXT`. Its allocation functions are never called.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct ProviderContext {
    /// `ContextSize`.
    pub size: u32,
    /// `Reserved`.
    pub reserved: u32,
    /// `ControlCallback`, or null.
    pub callback: Option<Callback>,
    /// `MemAllocRoutine`.
    pub allocate: usize,
    /// `MemFreeRoutine`.
    pub free: usize,
    /// `pMemContext`.
    pub argument: usize,
}

fn handle_error(error: HandleError) -> ApiError {
    ApiError::handle::<OpenProvider>(error, "Provider")
}

fn provider(handle: *mut c_void) -> Result<Arc<OpenProvider>, ApiError> {
    HANDLES.find(handle).map_err(handle_error)
}

/// Wraps a program's callback in a function that encodes the request for it.
fn control_callback(callback: Callback) -> ControlCallback {
    Arc::new(move |request: &Request<'_>| {
        let (mut words, length) = encode_request(request);
        // SAFETY: the program passed `callback` as a control callback that is valid until the provider is stopped. The
        // buffer has `length` bytes, which the callback may change.
        let code = unsafe { callback(request.kind as u32, words.as_mut_ptr().cast(), length) };
        if code == 0 { Ok(()) } else { Err(code) }
    })
}

/// Starts a provider.
///
/// # Safety
///
/// `guid` is null or points to a GUID, `out` is null or has room for a handle.
unsafe fn start(
    guid: *const [u8; 16],
    callback: Option<Callback>,
    out: *mut *mut c_void,
) -> Result<(), ApiError> {
    // SAFETY: guaranteed by this function's safety contract.
    let guid = unsafe { read_guid(guid, "ProviderGuid")? };
    if out.is_null() {
        return Err(ApiError::null("phProvider"));
    }
    let open = OpenProvider::start(guid, callback.map(control_callback))?;
    let handle = HANDLES.add(open).map_err(handle_error)?;
    // SAFETY: guaranteed by this function's safety contract.
    unsafe { write(out, handle, "phProvider") }
}

/// Starts a provider.
///
/// # Safety
///
/// `ProviderGuid` is null or points to a GUID, `phProvider` is null or has room for a handle; the callback is valid until the
/// provider is stopped.
// SAFETY: the name of this function is unique, as are the names of the exported functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfStartProvider(
    ProviderGuid: *const [u8; 16],
    ControlCallback: Option<Callback>,
    phProvider: *mut *mut c_void,
) -> u32 {
    // SAFETY: guaranteed by this function's safety contract.
    call(|| unsafe { start(ProviderGuid, ControlCallback, phProvider) })
}

/// Starts a provider whose callback is in a context.
///
/// # Safety
///
/// As for `PerfStartProvider`; `ProviderContext` is null or points to a context, whose first member is its size in
/// bytes.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfStartProviderEx(
    ProviderGuid: *const [u8; 16],
    ProviderContext: *const ProviderContext,
    phProvider: *mut *mut c_void,
) -> u32 {
    call(|| {
        let mut callback = None;
        if !ProviderContext.is_null() {
            // SAFETY: not null, so the size can be read, by this function's safety contract.
            let size = unsafe { (&raw const (*ProviderContext).size).read_unaligned() };
            if (size as usize) < size_of::<ProviderContext>() {
                return Err(ApiError::argument(format!("ContextSize is {size}: a context has 40 bytes.")));
            }
            // SAFETY: by its size, the context is complete.
            callback = unsafe { (&raw const (*ProviderContext).callback).read_unaligned() };
        }
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { start(ProviderGuid, callback, phProvider) }
    })
}

/// Stops a provider.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfStopProvider(ProviderHandle: *mut c_void) -> u32 {
    call(|| {
        let provider = HANDLES.remove::<OpenProvider>(ProviderHandle).map_err(handle_error)?;
        provider.stop();
        Ok(())
    })
}

/// Declares a set.
///
/// # Safety
///
/// `Template` is null or points to `TemplateSize` bytes.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfSetCounterSetInfo(
    ProviderHandle: *mut c_void,
    Template: *const u8,
    TemplateSize: u32,
) -> u32 {
    call(|| {
        let provider = provider(ProviderHandle)?;
        let size = TemplateSize as usize;
        if size < SET_BYTES {
            return Err(ApiError::argument(format!(
                "TemplateSize is {size}: a template has more than {SET_BYTES} bytes."
            )));
        }
        // SAFETY: `size` is at least `SET_BYTES`, so the bytes exist by this function's safety contract.
        let set = unsafe { read_bytes(Template, SET_BYTES, "Template")? };
        let template_bytes = template_bytes(&set, size)?;
        // SAFETY: `template_bytes` is at most `TemplateSize`, so the bytes exist by this function's safety contract.
        provider.declare(&unsafe { read_bytes(Template, template_bytes, "Template")? })
    })
}

/// Runs a function that returns the address of an instance block. On failure, stores the error code as the thread's
/// last error, and returns null.
fn block_or_null(body: impl FnOnce() -> Result<*const AtomicU64, ApiError>) -> *mut c_void {
    let on_failure = |code| {
        set_last_code(code);
        std::ptr::null()
    };
    call_or_else(on_failure, body).cast_mut().cast()
}

/// Creates an instance.
///
/// # Safety
///
/// `CounterSetGuid` is null or points to a GUID, `Name` is null or NUL-terminated.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfCreateInstance(
    ProviderHandle: *mut c_void,
    CounterSetGuid: *const [u8; 16],
    Name: *const u16,
    Id: u32,
) -> *mut c_void {
    block_or_null(|| {
        let provider = provider(ProviderHandle)?;
        // SAFETY: guaranteed by this function's safety contract.
        let set = unsafe { read_guid(CounterSetGuid, "CounterSetGuid")? };
        // SAFETY: guaranteed by this function's safety contract.
        let name = unsafe { read_text(Name, "Name")? }.ok_or_else(|| ApiError::null("Name"))?;
        provider.create(set, name, Id)
    })
}

/// Finds the block of an instance.
///
/// # Safety
///
/// As for `PerfCreateInstance`.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryInstance(
    ProviderHandle: *mut c_void,
    CounterSetGuid: *const [u8; 16],
    Name: *const u16,
    Id: u32,
) -> *mut c_void {
    block_or_null(|| {
        let provider = provider(ProviderHandle)?;
        // SAFETY: guaranteed by this function's safety contract.
        let set = unsafe { read_guid(CounterSetGuid, "CounterSetGuid")? };
        // SAFETY: guaranteed by this function's safety contract.
        let name = unsafe { read_text(Name, "Name")? }.ok_or_else(|| ApiError::null("Name"))?;
        provider.find(set, &name, Id)
    })
}

/// Removes an instance from its set.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfDeleteInstance(Provider: *mut c_void, InstanceBlock: *mut c_void) -> u32 {
    call(|| provider(Provider)?.delete(InstanceBlock))
}

/// Changes a value of an instance.
fn update(handle: *mut c_void, instance: *mut c_void, id: u32, update: Update) -> u32 {
    call(|| provider(handle)?.update(instance, id, update))
}

macro_rules! update_functions {
    ($(#[doc = $doc:literal] $name:ident($value:ty) = $update:ident;)*) => {$(
        #[doc = $doc]
        // SAFETY: as for `PerfStartProvider`.
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(
            Provider: *mut c_void,
            Instance: *mut c_void,
            CounterId: u32,
            Value: $value,
        ) -> u32 {
            update(Provider, Instance, CounterId, Update::$update(Value.into()))
        }
    )*};
}

update_functions! {
    /// Sets a value of 32 bits.
    PerfSetULongCounterValue(u32) = Set;
    /// Sets a value of 64 bits.
    PerfSetULongLongCounterValue(u64) = Set;
    /// Adds to a value of 32 bits.
    PerfIncrementULongCounterValue(u32) = Add;
    /// Adds to a value of 64 bits.
    PerfIncrementULongLongCounterValue(u64) = Add;
    /// Subtracts from a value of 32 bits.
    PerfDecrementULongCounterValue(u32) = Subtract;
    /// Subtracts from a value of 64 bits.
    PerfDecrementULongLongCounterValue(u64) = Subtract;
}

/// Sets the address from which a by-reference counter is read.
///
/// # Safety
///
/// `Address` is valid for a value of the counter's width until the instance is deleted or the provider is stopped.
// SAFETY: as for `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfSetCounterRefValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Address: *mut c_void,
) -> u32 {
    call(|| {
        if Address.is_null() {
            return Err(ApiError::null("Address"));
        }
        let address = Address.expose_provenance();
        // SAFETY: the value is valid while the library reads it, by this function's safety contract.
        let read = move |is_wide| unsafe { value_at(address, is_wide) };
        provider(Provider)?.set_reference(Instance, CounterId, address, read)
    })
}

/// Reads a value of 64 or 32 bits, which the program may be changing.
///
/// # Safety
///
/// The address is valid for the value.
unsafe fn value_at(address: usize, is_wide: bool) -> u64 {
    let wide = with_exposed_provenance::<u64>(address);
    let narrow = with_exposed_provenance::<u32>(address);
    if !is_wide && narrow.is_aligned() {
        // SAFETY: a 32-bit value is readable by this function's safety contract. An aligned load is not torn.
        return unsafe { narrow.read_volatile() }.into();
    }
    if is_wide && wide.is_aligned() {
        // SAFETY: as above, of 64 bits.
        return unsafe { wide.read_volatile() };
    }
    // SAFETY: as above; an unaligned load may be torn.
    if is_wide { unsafe { wide.read_unaligned() } } else { unsafe { narrow.read_unaligned() }.into() }
}
