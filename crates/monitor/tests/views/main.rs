//! The seeds of the fuzz target `view`, also truncated at every byte and with every bit flipped; and generated view files.

#[path = "../../../../fuzz/view_checks.rs"]
mod checks;

use std::path::Path;

use proptest::prelude::*;

#[test]
fn truncated_and_damaged_seeds_do_not_panic() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/view");
    for entry in std::fs::read_dir(folder).expect("the folder of the seeds") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("readable");
        checks::view(&bytes);
        for length in 0..bytes.len() {
            checks::view(&bytes[..length]);
        }
        for bit in 0..bytes.len() * 8 {
            let mut flipped = bytes.clone();
            flipped[bit / 8] ^= 1 << (bit % 8);
            checks::view(&flipped);
        }
    }
}

proptest! {
    #[test]
    fn arbitrary_field_values_do_not_panic(
        interval in any::<f64>(), points in any::<i64>(), path in "\\PC{0,20}", scale in "[-a-z0-9]{0,6}", line in 0usize..6,
    ) {
        let fields = [
            format!("interval = {interval:?}"), format!("points = {points}"), format!("view = {scale:?}"),
            format!("[[counter]]\npath = {path:?}\nscale = {scale:?}"), format!("[[counter]]\npath = {path:?}"),
            format!("[range]\nbegin = {path:?}"),
        ];
        checks::view(format!("version = 1\n{}\n", fields[line]).as_bytes());
    }

    #[test]
    fn arbitrary_panels_do_not_panic(
        number in any::<f64>(), integer in any::<i64>(), text in "\\PC{0,20}", word in "[a-z]{0,6}", line in 0usize..8,
    ) {
        let fields = [
            format!("min = {number:?}"), format!("max = {number:?}\naxis = 'logarithmic'"),
            format!("limits = [{number:?}, {integer}]"), format!("width = {integer}"),
            format!("kind = 'table'\ntop = {integer}\nfilter = {text:?}"), format!("title = {text:?}\nunit = {text:?}"),
            format!("kind = {word:?}\naxis = {word:?}"),
            format!("[[panel.counter]]\npath = '\\S\\C'\nlabel = {text:?}\nor = [{text:?}]"),
        ];
        checks::view(format!("version = 2\n[[panel]]\n{}\n", fields[line]).as_bytes());
    }
}
