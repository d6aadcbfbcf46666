//! The consumer functions of perflib.h. Each looks at its pointers, and hands over.

#![allow(unsafe_code, reason = "symbols and pointers of C")]
#![allow(non_snake_case, reason = "names of the C interface")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use super::consumer::{Change, OpenQuery, enumerate, instances, registration};
use super::memory::{Room, bytes_at, guid_at, put, put_bytes, text_at};
use super::refusal::{last_code, set_last_code};
use super::{Refusal, call};
use crate::handles::{HANDLES, HandleKind};

impl HandleKind for OpenQuery {
    const NAME: &'static str = "a PerfLib query handle";
    const FUNCTIONS: [&'static str; 2] = ["PerfOpenQueryHandle", "PerfCloseQueryHandle"];
}

fn query(handle: *mut c_void) -> Result<Arc<OpenQuery>, Refusal> {
    HANDLES.find(handle).map_err(|error| Refusal::handle::<OpenQuery>(error, "hQuery"))
}

/// The GUIDs of all counter sets.
///
/// # Safety
///
/// `szMachine` is null or a text that ends with a zero; `pCounterSetIds` has room for `cCounterSetIds` GUIDs and
/// `pcCounterSetIdsActual` for a number, where they are not null.
// SAFETY: here and below: no other symbol has this name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfEnumerateCounterSet(
    szMachine: *const u16,
    pCounterSetIds: *mut [u8; 16],
    cCounterSetIds: u32,
    pcCounterSetIdsActual: *mut u32,
) -> u32 {
    let room = Room {
        to: pCounterSetIds.cast(),
        capacity: cCounterSetIds,
        actual: pcCounterSetIdsActual,
        argument: "pCounterSetIds",
    };
    call(|| {
        room.check()?;
        // SAFETY: by the condition of this function.
        let machine = unsafe { text_at(szMachine, "szMachine")? };
        // SAFETY: by the condition of this function.
        unsafe { room.fill(&enumerate(machine.as_deref())?, 16) }
    })
}

/// What is registered of a counter set.
///
/// # Safety
///
/// `szMachine` is null or a text that ends with a zero, `pCounterSetId` null or a GUID; `pbRegInfo` has room for `cbRegInfo`
/// bytes and `pcbRegInfoActual` for a number, where they are not null.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryCounterSetRegistrationInfo(
    szMachine: *const u16,
    pCounterSetId: *const [u8; 16],
    requestCode: u32,
    requestLangId: u32,
    pbRegInfo: *mut u8,
    cbRegInfo: u32,
    pcbRegInfoActual: *mut u32,
) -> u32 {
    let room = Room { to: pbRegInfo, capacity: cbRegInfo, actual: pcbRegInfoActual, argument: "pbRegInfo" };
    call(|| {
        room.check()?;
        // SAFETY: by the condition of this function.
        let machine = unsafe { text_at(szMachine, "szMachine")? };
        // SAFETY: by the condition of this function.
        let set = unsafe { guid_at(pCounterSetId, "pCounterSetId")? };
        // SAFETY: by the condition of this function.
        unsafe { room.fill(&registration(machine.as_deref(), set, requestCode, requestLangId)?, 1) }
    })
}

/// The instances that a counter set has now.
///
/// # Safety
///
/// `szMachine` is null or a text that ends with a zero, `pCounterSetId` null or a GUID; `pInstances` has room for `cbInstances`
/// bytes and `pcbInstancesActual` for a number, where they are not null.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfEnumerateCounterSetInstances(
    szMachine: *const u16,
    pCounterSetId: *const [u8; 16],
    pInstances: *mut u8,
    cbInstances: u32,
    pcbInstancesActual: *mut u32,
) -> u32 {
    let room =
        Room { to: pInstances, capacity: cbInstances, actual: pcbInstancesActual, argument: "pInstances" };
    call(|| {
        room.check()?;
        // SAFETY: by the condition of this function.
        let machine = unsafe { text_at(szMachine, "szMachine")? };
        // SAFETY: by the condition of this function.
        let set = unsafe { guid_at(pCounterSetId, "pCounterSetId")? };
        // SAFETY: by the condition of this function.
        unsafe { room.fill(&instances(machine.as_deref(), set)?, 1) }
    })
}

/// Opens a handle without queries.
///
/// # Safety
///
/// `szMachine` is null or a text that ends with a zero; `phQuery` is null or has room for a handle.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfOpenQueryHandle(szMachine: *const u16, phQuery: *mut *mut c_void) -> u32 {
    call(|| {
        // SAFETY: by the condition of this function.
        unsafe { put(phQuery, null_mut(), "phQuery")? };
        // SAFETY: by the condition of this function.
        let machine = unsafe { text_at(szMachine, "szMachine")? };
        let open = OpenQuery::new(machine.as_deref())?;
        let handle = HANDLES.add(open).map_err(|error| Refusal::handle::<OpenQuery>(error, "hQuery"))?;
        // SAFETY: by the condition of this function.
        unsafe { put(phQuery, handle, "phQuery") }
    })
}

/// Ends a handle.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfCloseQueryHandle(hQuery: *mut c_void) -> u32 {
    call(|| {
        let removed = HANDLES.remove::<OpenQuery>(hQuery);
        removed.map(drop).map_err(|error| Refusal::handle::<OpenQuery>(error, "hQuery"))
    })
}

/// Adds or deletes the identifiers at an address.
///
/// # Safety
///
/// `identifiers` is null or the address of `size` bytes.
unsafe fn change(handle: *mut c_void, identifiers: *mut u8, size: u32, change: Change) -> u32 {
    call(|| {
        let query = query(handle)?;
        // SAFETY: by the condition of this function.
        let mut bytes = unsafe { bytes_at(identifiers, size as usize, "pCounters")? };
        query.change(&mut bytes, change)?;
        // SAFETY: by the condition of this function: it is where they came from.
        unsafe { put_bytes(identifiers, &bytes, "pCounters") }
    })
}

/// Adds queries to a handle.
///
/// # Safety
///
/// `pCounters` is null or the address of `cbCounters` bytes.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfAddCounters(hQuery: *mut c_void, pCounters: *mut u8, cbCounters: u32) -> u32 {
    // SAFETY: by the condition of this function.
    unsafe { change(hQuery, pCounters, cbCounters, Change::Add) }
}

/// Deletes queries of a handle.
///
/// # Safety
///
/// `pCounters` is null or the address of `cbCounters` bytes.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfDeleteCounters(hQuery: *mut c_void, pCounters: *mut u8, cbCounters: u32) -> u32 {
    // SAFETY: by the condition of this function.
    unsafe { change(hQuery, pCounters, cbCounters, Change::Delete) }
}

/// The queries of a handle.
///
/// # Safety
///
/// `pCounters` has room for `cbCounters` bytes and `pcbCountersActual` for a number, where they are not null.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryCounterInfo(
    hQuery: *mut c_void,
    pCounters: *mut u8,
    cbCounters: u32,
    pcbCountersActual: *mut u32,
) -> u32 {
    let room = Room { to: pCounters, capacity: cbCounters, actual: pcbCountersActual, argument: "pCounters" };
    call(|| {
        room.check()?;
        // SAFETY: by the condition of this function.
        unsafe { room.fill(&query(hQuery)?.identifiers()?, 1) }
    })
}

/// Collects the queries of a handle.
///
/// # Safety
///
/// `pCounterBlock` has room for `cbCounterBlock` bytes and `pcbCounterBlockActual` for a number, where they are not null.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryCounterData(
    hQuery: *mut c_void,
    pCounterBlock: *mut u8,
    cbCounterBlock: u32,
    pcbCounterBlockActual: *mut u32,
) -> u32 {
    let room = Room {
        to: pCounterBlock,
        capacity: cbCounterBlock,
        actual: pcbCounterBlockActual,
        argument: "pCounterBlock",
    };
    call(|| {
        room.check()?;
        // SAFETY: by the condition of this function.
        query(hQuery)?.collect(|block| unsafe { room.fill(block, 1) })
    })
}

/// The code that the calling thread's last `PerfCreateInstance` or `PerfQueryInstance` failed with, or that
/// `TachoSetLastError` kept.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoGetLastError() -> u32 {
    last_code()
}

/// Keeps a code for the calling thread.
// SAFETY: as at `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoSetLastError(code: u32) {
    set_last_code(code);
}
