//! Every wrong combination of attributes is an error of the compiler that says what to do.

#[test]
fn wrong_sets_do_not_compile() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("tests/ui/wrong/*.rs");
}
