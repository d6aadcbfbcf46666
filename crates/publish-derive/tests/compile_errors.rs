//! Each invalid combination of attributes is a compile error that says what to do.

#[test]
fn invalid_sets_do_not_compile() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("tests/ui/wrong/*.rs");
}
