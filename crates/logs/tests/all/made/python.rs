//! Running the scripts that were written from the format's description alone.

use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::Command;

/// What a script of `tests/` prints of a file, which is written under `name`; `None`, with a notice, where there is no Python.
///
/// Panics where the script fails, and without Python where the variable CI is `true`: there nothing may be left out.
pub fn output_of(script: &str, file: &[u8], name: &str, arguments: &[String]) -> Option<String> {
    let is_required = std::env::var_os("CI").is_some_and(|value| value == "true");
    run("python3", is_required, script, file, name, arguments)
}

fn run(
    python: &str,
    is_required: bool,
    script: &str,
    file: &[u8],
    name: &str,
    arguments: &[String],
) -> Option<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(script);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, file).expect("a writable folder");
    let output = Command::new(python).arg(script).arg(&path).args(arguments).output();
    std::fs::remove_file(&path).expect("the file just written");
    let output = match output {
        Ok(output) => output,
        Err(error) if error.kind() == ErrorKind::NotFound && !is_required => {
            // Not eprintln, which the test harness hides where a test passes.
            writeln!(std::io::stderr(), "skipped: {name}: {python} is missing").expect("standard error");
            return None;
        }
        Err(error) => panic!("{python} cannot be run: {error}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).expect("UTF-8"))
}

#[test]
fn a_missing_python_is_left_out() {
    assert_eq!(run("no-such-python", false, "independent_blg.py", b"", "left-out.blg", &[]), None);
}

#[test]
#[should_panic(expected = "no-such-python cannot be run")]
fn a_missing_python_fails_where_nothing_may_be_left_out() {
    run("no-such-python", true, "independent_blg.py", b"", "required.blg", &[]);
}
