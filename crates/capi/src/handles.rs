//! Handles: numbers in a table.
//!
//! A handle looks like a pointer to C, and is a number that is given out once and never again. So what a
//! program passes is looked up, whatever it is, and a handle stays dead once it is terminated.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, PoisonError, RwLock};

use crate::code::Code;
use crate::failure::Failure;

/// The first handle. Small numbers are what programs pass by mistake.
const FIRST: usize = 4096;

/// From a handle to the next: bits 0 and 1 stay clear, since bit 0 marks the events of compat/tacho_event.h.
const STEP: usize = 4;

/// The instances of the process by handle.
#[derive(Debug)]
pub(crate) struct Handles<T> {
    table: RwLock<Table<T>>,
}

#[derive(Debug)]
struct Table<T> {
    /// The number given out next.
    next: usize,
    instances: BTreeMap<usize, Arc<T>>,
}

impl<T> Table<T> {
    /// Why there is no instance of this handle.
    fn missing(&self, number: usize) -> Failure {
        let (code, text) = match number {
            0 => return Failure::null("handle"),
            number if (FIRST..self.next).contains(&number) && number.is_multiple_of(STEP) => (
                Code::PU_ERROR_INVALID_PARAMETER,
                "The handle is dead: CpiTerminate was called for it. CpiInit makes a new one.",
            ),
            _ if self.instances.is_empty() => (
                Code::PU_ERR_NOT_INITIALIZED,
                "There is no instance, and never was one of this handle: call CpiInit first.",
            ),
            _ => (
                Code::PU_ERROR_INVALID_PARAMETER,
                "The handle was never given out: pass one that CpiInit has made.",
            ),
        };
        Failure::new(code, text)
    }
}

impl<T> Handles<T> {
    pub(crate) const fn new() -> Self {
        Self { table: RwLock::new(Table { next: FIRST, instances: BTreeMap::new() }) }
    }

    /// A new handle for an instance.
    pub(crate) fn add(&self, instance: T) -> Result<*mut c_void, Failure> {
        // A panic cannot leave the table half changed: each change is one call of the map's.
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let number = table.next;
        let next = number.checked_add(STEP).ok_or_else(|| {
            Failure::new(
                Code::PU_ERROR_INSUFFICIENT_RESOURCES,
                "All handles were given out: start the program again.",
            )
        })?;
        table.instances.insert(number, Arc::new(instance));
        table.next = next;
        Ok(without_provenance_mut(number))
    }

    /// The instance of a handle, which lives on while it is used, even when another thread terminates it.
    pub(crate) fn find(&self, handle: *mut c_void) -> Result<Arc<T>, Failure> {
        let number = handle.addr();
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.instances.get(&number).cloned().ok_or_else(|| table.missing(number))
    }

    /// Takes an instance away from its handle.
    pub(crate) fn remove(&self, handle: *mut c_void) -> Result<Arc<T>, Failure> {
        let number = handle.addr();
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        match table.instances.remove(&number) {
            Some(instance) => Ok(instance),
            None => Err(table.missing(number)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    fn code<V>(result: Result<V, Failure>) -> Code {
        result.map_or_else(|failure| failure.code, |_| Code::PU_SUCCESS)
    }

    #[test]
    fn only_live_handles_are_found() {
        let handles = Handles::new();
        let mut foreign = 0_u64;
        let foreign: *mut c_void = (&raw mut foreign).cast();
        assert_eq!(code(handles.find(null_mut())), Code::PU_ERR_NULL_PTR);
        assert_eq!(code(handles.find(foreign)), Code::PU_ERR_NOT_INITIALIZED);
        let first = handles.add("first").expect("a handle");
        let second = handles.add("second").expect("a handle");
        assert_eq!(*handles.find(first).expect("it lives"), "first");
        assert_eq!(code(handles.find(foreign)), Code::PU_ERROR_INVALID_PARAMETER);
        assert_eq!(*handles.remove(first).expect("it lives"), "first");
        assert_eq!(code(handles.remove(first)), Code::PU_ERROR_INVALID_PARAMETER);
        assert_eq!(code(handles.find(first)), Code::PU_ERROR_INVALID_PARAMETER);
        assert_eq!(*handles.find(second).expect("it lives"), "second");
        let third = handles.add("third").expect("a handle");
        assert!(third != first && third != second, "no handle comes again");
        for handle in [first, second, third] {
            assert!(
                handle.addr() >= FIRST && handle.addr().is_multiple_of(STEP),
                "no handle looks like an event"
            );
        }
        for handle in [second, third] {
            handles.remove(handle).expect("it lives");
        }
        assert_eq!(code(handles.find(third)), Code::PU_ERROR_INVALID_PARAMETER);
        assert_eq!(code(handles.remove(foreign)), Code::PU_ERR_NOT_INITIALIZED);
    }

    #[test]
    fn an_instance_in_use_outlives_its_handle() {
        let handles = Handles::new();
        let handle = handles.add(String::from("kept")).expect("a handle");
        let used = handles.find(handle).expect("it lives");
        drop(handles.remove(handle).expect("it lives"));
        assert_eq!(*used, "kept");
    }
}
