//! Checks that the parser of saved views must pass for any text. They also run on the checked-in seeds as a plain test
//! (crates/monitor/tests/views).

#![allow(unreachable_pub, reason = "a module of a target, and of a test")]

use tachograph_monitor::View;

/// Asserts that a view that parses is written as an equal view, and that an error has a message.
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
