//! The examples of docs/manifests.md.

use std::path::Path;

use tachograph_perflib::manifest::{generate, parse};

const DOCUMENT: &str = include_str!("../../../../docs/manifests.md");

/// The code blocks in this language.
fn blocks(language: &str) -> Vec<&'static str> {
    let fence = format!("```{language}\n");
    DOCUMENT.split(&fence).skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn the_example_is_valid_and_generates_the_shown_rust() {
    let checked = parse(Path::new("bakery.man"), blocks("xml")[0].as_bytes());
    assert_eq!(crate::lines(&checked), [""; 0]);
    let manifest = checked.manifest.expect("no error");
    assert_eq!(generate::rust(&manifest).as_deref(), Ok(blocks("rust")[0]));
    let header = generate::provider_header(&manifest, "My").expect("user mode");
    for name in [
        "MyCounterInitialize(void)",
        "MyCounterCleanup(void)",
        "HANDLE MyBakeryProvider",
        "GUID MyBakeryGuid",
    ] {
        assert!(header.contains(name), "{name}");
    }
    let header = generate::consumer_header(&manifest);
    for name in ["GUID BakeryGuid", "Bakery_NAME", "BakeryBreads 1", "BakeryBakeTime 2", "Bakery_Counter3 3"]
    {
        assert!(header.contains(name), "{name}");
    }
}
