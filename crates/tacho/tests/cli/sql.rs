//! `tacho sql` runs the program `tacho-sql`.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use crate::run::Folder;

/// Runs a copy of `tacho` in a separate folder, which contains no `tacho-sql`.
fn tacho(folder: &Folder, words: &[&str]) -> Output {
    let copy = folder.path("bin/tacho");
    if !copy.exists() {
        std::fs::create_dir(folder.path("bin")).expect("a folder");
        let built = Path::new(env!("CARGO_BIN_EXE_tacho"));
        if std::fs::hard_link(built, &copy).is_err() {
            std::fs::copy(built, &copy).expect("a copy of tacho");
        }
    }
    Command::new(&copy).args(words).env("PATH", "/nowhere").output().expect("tacho runs")
}

#[test]
fn arguments_and_exit_status_are_those_of_the_program() {
    let folder = Folder::new();
    let ran = tacho(&folder, &["sql", "SELECT 1", "a.blg"]);
    let message = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert_eq!(ran.status.code(), Some(1), "{message}");
    assert!(
        message.contains("cargo build --release -p tachograph-sql") && message.lines().count() == 1,
        "{message}"
    );
    let program = folder.path("bin/tacho-sql");
    std::fs::write(&program, "#!/bin/sh\nprintf '%s\\n' \"$@\"\nexit 3\n").expect("written");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("permissions");
    let words = ["-- a comment\nSELECT 1", "--help", "-f", "csv", "-o", "x", "-cf", "a.blg"];
    let ran = tacho(&folder, &[&["sql"][..], &words].concat());
    assert_eq!(String::from_utf8_lossy(&ran.stdout), words.map(|word| format!("{word}\n")).concat());
    assert_eq!(ran.status.code(), Some(3));
    let help = tacho(&folder, &["--help"]);
    assert!(String::from_utf8_lossy(&help.stdout).contains("Query logs and archives with SQL"));
}
