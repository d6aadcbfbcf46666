//! The consumer functions of perflib.h: they check pointers, and call the modules that do the work.

#![allow(unsafe_code, reason = "exported C symbols, C pointers")]
#![allow(non_snake_case, reason = "names of the C interface")]

use std::ffi::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

use super::api_error::{last_code, set_last_code};
use super::consumer::{Change, OpenQuery, enumerate, instances, registration};
use super::memory::{OutputBuffer, read_bytes, read_guid, read_text, write, write_bytes};
use super::{ApiError, call};
use crate::handles::{HANDLES, HandleKind};

impl HandleKind for OpenQuery {
    const NAME: &'static str = "a PerfLib query handle";
    const FUNCTIONS: [&'static str; 2] = ["PerfOpenQueryHandle", "PerfCloseQueryHandle"];
}

fn query(handle: *mut c_void) -> Result<Arc<OpenQuery>, ApiError> {
    HANDLES.find(handle).map_err(|error| ApiError::handle::<OpenQuery>(error, "hQuery"))
}

/// Writes the GUIDs of all counter sets.
///
/// # Safety
///
/// `szMachine` is null or NUL-terminated; `pCounterSetIds` is null or has room for `cCounterSetIds` GUIDs;
/// `pcCounterSetIdsActual` is null or has room for a number.
// SAFETY: the name of this function is unique, as are the names of the exported functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfEnumerateCounterSet(
    szMachine: *const u16,
    pCounterSetIds: *mut [u8; 16],
    cCounterSetIds: u32,
    pcCounterSetIdsActual: *mut u32,
) -> u32 {
    let output = OutputBuffer {
        start: pCounterSetIds.cast(),
        capacity: cCounterSetIds,
        actual: pcCounterSetIdsActual,
        argument: "pCounterSetIds",
    };
    call(|| {
        output.check()?;
        // SAFETY: guaranteed by this function's safety contract.
        let machine = unsafe { read_text(szMachine, "szMachine")? };
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { output.fill(&enumerate(machine.as_deref())?, 16) }
    })
}

/// Writes a part of a counter set's registration.
///
/// # Safety
///
/// `szMachine` is null or NUL-terminated; `pCounterSetId` is null or points to a GUID; `pbRegInfo` is null or has room for
/// `cbRegInfo` bytes; `pcbRegInfoActual` is null or has room for a number.
// SAFETY: as for `PerfEnumerateCounterSet`.
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
    let output = OutputBuffer {
        start: pbRegInfo,
        capacity: cbRegInfo,
        actual: pcbRegInfoActual,
        argument: "pbRegInfo",
    };
    call(|| {
        output.check()?;
        // SAFETY: guaranteed by this function's safety contract.
        let machine = unsafe { read_text(szMachine, "szMachine")? };
        // SAFETY: guaranteed by this function's safety contract.
        let set = unsafe { read_guid(pCounterSetId, "pCounterSetId")? };
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { output.fill(&registration(machine.as_deref(), set, requestCode, requestLangId)?, 1) }
    })
}

/// Writes the instances that a counter set has now.
///
/// # Safety
///
/// `szMachine` is null or NUL-terminated; `pCounterSetId` is null or points to a GUID; `pInstances` is null or has room for
/// `cbInstances` bytes; `pcbInstancesActual` is null or has room for a number.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfEnumerateCounterSetInstances(
    szMachine: *const u16,
    pCounterSetId: *const [u8; 16],
    pInstances: *mut u8,
    cbInstances: u32,
    pcbInstancesActual: *mut u32,
) -> u32 {
    let output = OutputBuffer {
        start: pInstances,
        capacity: cbInstances,
        actual: pcbInstancesActual,
        argument: "pInstances",
    };
    call(|| {
        output.check()?;
        // SAFETY: guaranteed by this function's safety contract.
        let machine = unsafe { read_text(szMachine, "szMachine")? };
        // SAFETY: guaranteed by this function's safety contract.
        let set = unsafe { read_guid(pCounterSetId, "pCounterSetId")? };
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { output.fill(&instances(machine.as_deref(), set)?, 1) }
    })
}

/// Creates an empty query.
///
/// # Safety
///
/// `szMachine` is null or NUL-terminated; `phQuery` is null or has room for a handle.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfOpenQueryHandle(szMachine: *const u16, phQuery: *mut *mut c_void) -> u32 {
    call(|| {
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { write(phQuery, null_mut(), "phQuery")? };
        // SAFETY: guaranteed by this function's safety contract.
        let machine = unsafe { read_text(szMachine, "szMachine")? };
        let open = OpenQuery::new(machine.as_deref())?;
        let handle = HANDLES.add(open).map_err(|error| ApiError::handle::<OpenQuery>(error, "hQuery"))?;
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { write(phQuery, handle, "phQuery") }
    })
}

/// Closes a query.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub extern "C" fn PerfCloseQueryHandle(hQuery: *mut c_void) -> u32 {
    call(|| {
        let removed = HANDLES.remove::<OpenQuery>(hQuery);
        removed.map(drop).map_err(|error| ApiError::handle::<OpenQuery>(error, "hQuery"))
    })
}

/// Adds or deletes identifiers.
///
/// # Safety
///
/// `identifiers` is null or points to `size` bytes.
unsafe fn change_identifiers(handle: *mut c_void, identifiers: *mut u8, size: u32, change: Change) -> u32 {
    call(|| {
        let query = query(handle)?;
        // SAFETY: guaranteed by this function's safety contract.
        let mut bytes = unsafe { read_bytes(identifiers, size as usize, "pCounters")? };
        query.change(&mut bytes, change)?;
        // SAFETY: by this function's safety contract, since the bytes were read from this address.
        unsafe { write_bytes(identifiers, &bytes, "pCounters") }
    })
}

/// Adds identifiers to a query.
///
/// # Safety
///
/// `pCounters` is null or points to `cbCounters` bytes.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfAddCounters(hQuery: *mut c_void, pCounters: *mut u8, cbCounters: u32) -> u32 {
    // SAFETY: guaranteed by this function's safety contract.
    unsafe { change_identifiers(hQuery, pCounters, cbCounters, Change::Add) }
}

/// Deletes identifiers of a query.
///
/// # Safety
///
/// `pCounters` is null or points to `cbCounters` bytes.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfDeleteCounters(hQuery: *mut c_void, pCounters: *mut u8, cbCounters: u32) -> u32 {
    // SAFETY: guaranteed by this function's safety contract.
    unsafe { change_identifiers(hQuery, pCounters, cbCounters, Change::Delete) }
}

/// Writes the identifiers of a query.
///
/// # Safety
///
/// `pCounters` is null or has room for `cbCounters` bytes; `pcbCountersActual` is null or has room for a number.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryCounterInfo(
    hQuery: *mut c_void,
    pCounters: *mut u8,
    cbCounters: u32,
    pcbCountersActual: *mut u32,
) -> u32 {
    let output = OutputBuffer {
        start: pCounters,
        capacity: cbCounters,
        actual: pcbCountersActual,
        argument: "pCounters",
    };
    call(|| {
        output.check()?;
        // SAFETY: guaranteed by this function's safety contract.
        unsafe { output.fill(&query(hQuery)?.identifiers()?, 1) }
    })
}

/// Collects all counters of a query.
///
/// # Safety
///
/// `pCounterBlock` is null or has room for `cbCounterBlock` bytes; `pcbCounterBlockActual` is null or has room for a number.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PerfQueryCounterData(
    hQuery: *mut c_void,
    pCounterBlock: *mut u8,
    cbCounterBlock: u32,
    pcbCounterBlockActual: *mut u32,
) -> u32 {
    let output = OutputBuffer {
        start: pCounterBlock,
        capacity: cbCounterBlock,
        actual: pcbCounterBlockActual,
        argument: "pCounterBlock",
    };
    call(|| {
        output.check()?;
        // SAFETY: guaranteed by this function's safety contract.
        query(hQuery)?.collect(|block| unsafe { output.fill(block, 1) })
    })
}

/// The code of the calling thread's last failed `PerfCreateInstance` or `PerfQueryInstance`, or the code that
/// `TachoSetLastError` stored.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoGetLastError() -> u32 {
    last_code()
}

/// Stores a code for the calling thread.
// SAFETY: as for `PerfEnumerateCounterSet`.
#[unsafe(no_mangle)]
pub extern "C" fn TachoSetLastError(code: u32) {
    set_last_code(code);
}
