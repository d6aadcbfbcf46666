//! What must hold for any text that may be a saved view. The same function runs over the checked-in seeds as a plain test
//! (crates/monitor/tests/views).

#![allow(unreachable_pub, reason = "also a module of a test")]

use tachograph_monitor::View;

/// A view that is read is written as one that reads the same; what is none is refused with words.
pub fn view(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    match View::parse(text) {
        Ok(view) => {
            let again =
                View::parse(&view.to_text()).unwrap_or_else(|error| panic!("{error}: {}", view.to_text()));
            assert_eq!(again, view);
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
