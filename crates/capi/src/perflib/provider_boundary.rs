//! The provider functions of perflib.h. Each looks at its pointers, and hands over.

#![allow(unsafe_code, reason = "symbols and pointers of C")]
#![allow(non_snake_case, reason = "names of the C interface")]

use std::ffi::c_void;
use std::ptr::with_exposed_provenance;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tachograph_publish::dynamic::{ControlCallback, Request};
use tachograph_shm::Guid;

use super::control::buffer;
use super::memory::{bytes_at, guid_at, put, text_at};
use super::provider::{OpenProvider, Update};
use super::refusal::{call_or_else, set_last_code};
use super::template::{SET_BYTES, length};
use super::{Refusal, call};
use crate::handles::{HANDLES, HandleError, HandleKind};

impl HandleKind for OpenProvider {
    const NAME: &'static str = "a provider handle";
    const FUNCTIONS: [&'static str; 2] = ["PerfStartProvider", "PerfStopProvider"];
}

/// `PERFLIBREQUEST` of C.
type Callback = unsafe extern "C" fn(request: u32, buffer: *mut c_void, size: u32) -> u32;

/// `PERF_PROVIDER_CONTEXT`. What allocates memory is not called: it is the library's own.
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

fn bad_handle(error: HandleError) -> Refusal {
    Refusal::handle::<OpenProvider>(error, "Provider")
}

fn provider(handle: *mut c_void) -> Result<Arc<OpenProvider>, Refusal> {
    HANDLES.find(handle).map_err(bad_handle)
}

/// The GUID at an address, as those who publish have it.
///
/// # Safety
///
/// `guid` is null or the address of a GUID.
unsafe fn set_at(guid: *const [u8; 16], argument: &str) -> Result<Guid, Refusal> {
    // SAFETY: by the condition of this function.
    unsafe { guid_at(guid, argument) }.map(|guid| Guid::from_bytes(guid.to_bytes()))
}

/// A program's callback as the library calls it.
fn control(callback: Callback) -> ControlCallback {
    Arc::new(move |request: &Request<'_>| {
        let (mut words, length) = buffer(request);
        // SAFETY: the program gave its function for this, and it stays as long as the provider; the buffer has `length`
        // bytes, and is the callback's to change while it runs.
        let code = unsafe { callback(request.kind as u32, words.as_mut_ptr().cast(), length) };
        if code == 0 { Ok(()) } else { Err(code) }
    })
}

/// Starts a provider.
///
/// # Safety
///
/// `guid` is null or the address of a GUID, `out` null or has room for a handle.
unsafe fn start(
    guid: *const [u8; 16],
    callback: Option<Callback>,
    out: *mut *mut c_void,
) -> Result<(), Refusal> {
    // SAFETY: by the condition of this function.
    let guid = unsafe { set_at(guid, "ProviderGuid")? };
    if out.is_null() {
        return Err(Refusal::null("phProvider"));
    }
    let open = OpenProvider::start(guid, callback.map(control))?;
    let handle = HANDLES.add(open).map_err(bad_handle)?;
    // SAFETY: by the condition of this function.
    unsafe { put(out, handle, "phProvider") }
}

/// Starts a provider.
///
/// # Safety
///
/// `ProviderGuid` is null or the address of a GUID, `phProvider` null or has room for a handle; the callback may be called
/// until the provider is stopped.
// SAFETY: here and below: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfStartProvider(
    ProviderGuid: *const [u8; 16],
    ControlCallback: Option<Callback>,
    phProvider: *mut *mut c_void,
) -> u32 {
    // SAFETY: by the condition of this function.
    call(|| unsafe { start(ProviderGuid, ControlCallback, phProvider) })
}

/// Starts a provider whose callback is in a context.
///
/// # Safety
///
/// As `PerfStartProvider`; `ProviderContext` is null or the address of a context of as many bytes as its first number says.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfStartProviderEx(
    ProviderGuid: *const [u8; 16],
    ProviderContext: *const ProviderContext,
    phProvider: *mut *mut c_void,
) -> u32 {
    call(|| {
        let mut callback = None;
        if !ProviderContext.is_null() {
            // SAFETY: not null, so a size is there, by the condition of this function.
            let size = unsafe { (&raw const (*ProviderContext).size).read_unaligned() };
            if (size as usize) < size_of::<ProviderContext>() {
                return Err(Refusal::argument(format!("ContextSize is {size}, and a context has 40 bytes.")));
            }
            // SAFETY: its size says that a whole context is there.
            callback = unsafe { (&raw const (*ProviderContext).callback).read_unaligned() };
        }
        // SAFETY: by the condition of this function.
        unsafe { start(ProviderGuid, callback, phProvider) }
    })
}

/// Ends a provider.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfStopProvider(ProviderHandle: *mut c_void) -> u32 {
    call(|| {
        let provider = HANDLES.remove::<OpenProvider>(ProviderHandle).map_err(bad_handle)?;
        provider.stop();
        Ok(())
    })
}

/// Declares a set.
///
/// # Safety
///
/// `Template` is null or the address of `TemplateSize` bytes.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfSetCounterSetInfo(
    ProviderHandle: *mut c_void,
    Template: *const u8,
    TemplateSize: u32,
) -> u32 {
    call(|| {
        let provider = provider(ProviderHandle)?;
        let given = TemplateSize as usize;
        if given < SET_BYTES {
            return Err(Refusal::argument(format!(
                "TemplateSize is {given}, and a template has more than 40 bytes."
            )));
        }
        // SAFETY: as many bytes are there, by the condition of this function.
        let head = unsafe { bytes_at(Template, SET_BYTES, "Template")? };
        let whole = length(&head, given)?;
        // SAFETY: these are not more than are there, by the condition of this function.
        provider.declare(&unsafe { bytes_at(Template, whole, "Template")? })
    })
}

/// Runs a function that gives the address of a block: null where it fails, with the code kept as the thread's last.
fn block_or_null(body: impl FnOnce() -> Result<*const AtomicU64, Refusal>) -> *mut c_void {
    let failed = |code| {
        set_last_code(code);
        std::ptr::null()
    };
    call_or_else(failed, body).cast_mut().cast()
}

/// Makes an instance.
///
/// # Safety
///
/// `CounterSetGuid` is null or the address of a GUID, `Name` null or a text that ends with a zero.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfCreateInstance(
    ProviderHandle: *mut c_void,
    CounterSetGuid: *const [u8; 16],
    Name: *const u16,
    Id: u32,
) -> *mut c_void {
    block_or_null(|| {
        let provider = provider(ProviderHandle)?;
        // SAFETY: by the condition of this function.
        let set = unsafe { set_at(CounterSetGuid, "CounterSetGuid")? };
        // SAFETY: by the condition of this function.
        let name = unsafe { text_at(Name, "Name")? }.ok_or_else(|| Refusal::null("Name"))?;
        provider.create(set, name, Id)
    })
}

/// The block of an instance.
///
/// # Safety
///
/// As `PerfCreateInstance`.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryInstance(
    ProviderHandle: *mut c_void,
    CounterSetGuid: *const [u8; 16],
    Name: *const u16,
    Id: u32,
) -> *mut c_void {
    block_or_null(|| {
        let provider = provider(ProviderHandle)?;
        // SAFETY: by the condition of this function.
        let set = unsafe { set_at(CounterSetGuid, "CounterSetGuid")? };
        // SAFETY: by the condition of this function.
        let name = unsafe { text_at(Name, "Name")? }.ok_or_else(|| Refusal::null("Name"))?;
        provider.find(set, &name, Id)
    })
}

/// Takes an instance out of its set.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfDeleteInstance(Provider: *mut c_void, InstanceBlock: *mut c_void) -> u32 {
    call(|| provider(Provider)?.delete(InstanceBlock))
}

/// Changes a value of an instance.
fn update(handle: *mut c_void, instance: *mut c_void, id: u32, update: Update) -> u32 {
    call(|| provider(handle)?.update(instance, id, update))
}

/// Sets a value of 32 bits.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfSetULongCounterValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Value: u32,
) -> u32 {
    update(Provider, Instance, CounterId, Update::Set(Value.into()))
}

/// Sets a value of 64 bits.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfSetULongLongCounterValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Value: u64,
) -> u32 {
    update(Provider, Instance, CounterId, Update::Set(Value))
}

/// Adds to a value of 32 bits.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfIncrementULongCounterValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Value: u32,
) -> u32 {
    update(Provider, Instance, CounterId, Update::Add(Value.into()))
}

/// Adds to a value of 64 bits.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfIncrementULongLongCounterValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Value: u64,
) -> u32 {
    update(Provider, Instance, CounterId, Update::Add(Value))
}

/// Subtracts from a value of 32 bits.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfDecrementULongCounterValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Value: u32,
) -> u32 {
    update(Provider, Instance, CounterId, Update::Subtract(Value.into()))
}

/// Subtracts from a value of 64 bits.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfDecrementULongLongCounterValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Value: u64,
) -> u32 {
    update(Provider, Instance, CounterId, Update::Subtract(Value))
}

/// Says where a counter by reference has its value.
///
/// # Safety
///
/// A value of the counter's width is at `Address` until the instance is deleted or the provider is stopped.
// SAFETY: as at `PerfStartProvider`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfSetCounterRefValue(
    Provider: *mut c_void,
    Instance: *mut c_void,
    CounterId: u32,
    Address: *mut c_void,
) -> u32 {
    call(|| {
        if Address.is_null() {
            return Err(Refusal::null("Address"));
        }
        let address = Address.expose_provenance();
        // SAFETY: a value is there as long as the library reads it, by the condition of this function.
        let read = move |is_wide| unsafe { value_at(address, is_wide) };
        provider(Provider)?.refer(Instance, CounterId, address, read)
    })
}

/// The value at an address, which the program may be changing: one of 64 or of 32 bits.
///
/// # Safety
///
/// Such a value is there.
unsafe fn value_at(address: usize, is_wide: bool) -> u64 {
    let wide = with_exposed_provenance::<u64>(address);
    let narrow = with_exposed_provenance::<u32>(address);
    if !is_wide && narrow.is_aligned() {
        // SAFETY: a value of 32 bits is there by the condition of this function. What changes meanwhile is one load.
        return unsafe { narrow.read_volatile() }.into();
    }
    if is_wide && wide.is_aligned() {
        // SAFETY: as above, of 64 bits.
        return unsafe { wide.read_volatile() };
    }
    // SAFETY: as above; the compiler makes no use of the value but this.
    if is_wide { unsafe { wide.read_unaligned() } } else { unsafe { narrow.read_unaligned() }.into() }
}
