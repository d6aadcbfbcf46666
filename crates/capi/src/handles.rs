//! Handles: numbers in one table for all interfaces.
//!
//! To C, a handle looks like a pointer, but it is a number that is never issued twice. Looking up a handle checks its
//! kind, so an invalid or closed handle, or a handle of another kind, is an error.

use std::any::Any;
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::fmt;
use std::ptr::without_provenance_mut;
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use tachograph_counters::IgnorePoison;

pub(crate) static HANDLES: Handles = Handles::new();

/// The first handle. Smaller numbers are not used, since programs may pass them by mistake.
const FIRST_HANDLE: usize = 4096;

/// The difference between consecutive handles. Keeps bits 0 and 1 clear: in the events of compat/tacho_event.h, bit 0 marks
/// the handle as an event, and bit 1 means manual reset.
const HANDLE_STEP: usize = 4;

/// The type of the object that a handle refers to.
pub(crate) trait HandleKind: Any + Send + Sync {
    /// The name of this kind of handle in messages, with its article.
    const NAME: &'static str;

    /// The functions that open and close a handle of this kind.
    const FUNCTIONS: [&'static str; 2];
}

/// Why a handle cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum HandleError {
    /// The handle is null.
    Null,
    /// The handle was closed.
    Closed,
    /// The handle was never issued.
    Unknown,
    /// The handle is of another kind; contains its [`NAME`](HandleKind::NAME).
    OtherKind(&'static str),
    /// All handle numbers are used up.
    Exhausted,
}

impl HandleError {
    /// The message for a function that expects a handle of kind `K`.
    pub(crate) fn describe<K: HandleKind>(self) -> String {
        let ([open, close], expected) = (K::FUNCTIONS, K::NAME);
        match self {
            Self::Null => "The handle is a null pointer.".into(),
            Self::Closed => {
                format!(
                    "The handle has been closed: pass {expected} returned by {open} and not yet closed by {close}."
                )
            }
            Self::Unknown => format!("The handle was never issued: pass {expected} returned by {open}."),
            Self::OtherKind(found) => {
                format!("The handle is {found}: pass {expected} returned by {open}.")
            }
            Self::Exhausted => "All handle numbers are used up: restart the program.".into(),
        }
    }
}

/// The table of all open handles.
pub(crate) struct Handles {
    table: RwLock<Table>,
}

struct Table {
    /// The number of the next handle.
    next: usize,
    entries: BTreeMap<usize, Entry>,
}

/// The object of an open handle, and the name of its kind.
#[derive(Clone)]
struct Entry {
    object: Arc<dyn Any + Send + Sync>,
    kind: &'static str,
}

impl Entry {
    fn object<K: HandleKind>(&self) -> Result<Arc<K>, HandleError> {
        Arc::clone(&self.object).downcast().map_err(|_| HandleError::OtherKind(self.kind))
    }
}

impl Table {
    fn find<K: HandleKind>(&self, number: usize) -> Result<Arc<K>, HandleError> {
        match self.entries.get(&number) {
            Some(entry) => entry.object(),
            None if number == 0 => Err(HandleError::Null),
            None if (FIRST_HANDLE..self.next).contains(&number) && number.is_multiple_of(HANDLE_STEP) => {
                Err(HandleError::Closed)
            }
            None => Err(HandleError::Unknown),
        }
    }
}

impl Handles {
    const fn new() -> Self {
        Self { table: RwLock::new(Table { next: FIRST_HANDLE, entries: BTreeMap::new() }) }
    }

    // A panic cannot leave the table inconsistent, because each change is a single call to the map.
    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().ignore_poison()
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        self.table.write().ignore_poison()
    }

    pub(crate) fn add<K: HandleKind>(&self, object: K) -> Result<*mut c_void, HandleError> {
        let mut table = self.write();
        let number = table.next;
        table.next = number.checked_add(HANDLE_STEP).ok_or(HandleError::Exhausted)?;
        table.entries.insert(number, Entry { object: Arc::new(object), kind: K::NAME });
        Ok(without_provenance_mut(number))
    }

    /// The object of a handle. It stays alive while it is used, even if another thread closes the handle.
    pub(crate) fn find<K: HandleKind>(&self, handle: *mut c_void) -> Result<Arc<K>, HandleError> {
        self.read().find(handle.addr())
    }

    /// Closes a handle, and returns its object. A handle of another kind stays open.
    pub(crate) fn remove<K: HandleKind>(&self, handle: *mut c_void) -> Result<Arc<K>, HandleError> {
        let mut table = self.write();
        let object = table.find(handle.addr())?;
        table.entries.remove(&handle.addr());
        Ok(object)
    }

    /// Whether a handle of this kind is open.
    pub(crate) fn has_any<K: HandleKind>(&self) -> bool {
        self.read().entries.values().any(|entry| entry.object.is::<K>())
    }
}

impl fmt::Debug for Handles {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let table = self.read();
        f.debug_map().entries(table.entries.iter().map(|(number, entry)| (number, entry.kind))).finish()
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::null_mut;

    use super::*;

    impl HandleKind for &'static str {
        const NAME: &'static str = "a test's text";
        const FUNCTIONS: [&'static str; 2] = ["OpenText", "CloseText"];
    }

    impl HandleKind for u64 {
        const NAME: &'static str = "a test's number";
        const FUNCTIONS: [&'static str; 2] = ["OpenNumber", "CloseNumber"];
    }

    fn text(handles: &Handles, handle: *mut c_void) -> Result<&'static str, HandleError> {
        handles.find::<&'static str>(handle).map(|text| *text)
    }

    #[test]
    fn only_open_handles_are_found() {
        let handles = Handles::new();
        let mut foreign = 0_u64;
        let foreign: *mut c_void = (&raw mut foreign).cast();
        assert_eq!(text(&handles, null_mut()), Err(HandleError::Null));
        assert_eq!(text(&handles, foreign), Err(HandleError::Unknown));
        let [first, second, third] = ["1", "2", "3"].map(|text| handles.add(text).expect("a handle"));
        assert_eq!(text(&handles, first), Ok("1"));
        assert_eq!(handles.remove::<&'static str>(first).map(|text| *text), Ok("1"));
        assert_eq!(handles.remove::<&'static str>(first), Err(HandleError::Closed));
        assert_eq!(text(&handles, first), Err(HandleError::Closed));
        assert_eq!(text(&handles, second), Ok("2"));
        assert_eq!(text(&handles, without_provenance_mut(second.addr() + 1)), Err(HandleError::Unknown));
        let fourth = handles.add("4").expect("a handle");
        for handle in [first, second, third, fourth] {
            let is_plain = handle.addr() >= FIRST_HANDLE && handle.addr().is_multiple_of(HANDLE_STEP);
            assert!(is_plain, "no handle looks like an event");
        }
        assert!(![first, second, third].contains(&fourth), "no handle is issued twice");
    }

    #[test]
    fn a_handle_of_another_kind_is_an_error_and_stays_open() {
        let handles = Handles::new();
        let text_handle = handles.add("text").expect("a handle");
        assert!(handles.has_any::<&'static str>() && !handles.has_any::<u64>());
        let number = handles.add(7_u64).expect("a handle");
        assert_ne!(text_handle, number, "all kinds share one range of numbers");
        let other = HandleError::OtherKind("a test's text");
        assert_eq!(handles.find::<u64>(text_handle), Err(other));
        assert_eq!(handles.remove::<u64>(text_handle), Err(other));
        assert_eq!(text(&handles, text_handle), Ok("text"));
        assert_eq!(
            other.describe::<u64>(),
            "The handle is a test's text: pass a test's number returned by OpenNumber."
        );
        assert_eq!(
            HandleError::Closed.describe::<u64>(),
            "The handle has been closed: pass a test's number returned by OpenNumber and not yet closed by CloseNumber."
        );
    }

    #[test]
    fn an_object_in_use_outlives_its_handle() {
        let handles = Handles::new();
        let handle = handles.add("text").expect("a handle");
        let used = handles.find::<&'static str>(handle).expect("the handle is open");
        drop(handles.remove::<&'static str>(handle).expect("the handle is open"));
        assert_eq!(*used, "text");
    }

    #[test]
    fn handle_numbers_are_never_reused() {
        let handles = Handles::new();
        handles.write().next = usize::MAX - 3;
        assert_eq!(handles.add("too many"), Err(HandleError::Exhausted));
        assert!(!handles.has_any::<&'static str>());
    }
}
