//! Replacing files: the order of writes to disk, and failures on the way.

use std::process::Command;

use super::small_log;
use crate::run::{Folder, Outcome};

/// Replacements for functions of the C library that log calls, fail, or cause an event.
const CALLS: &str = r#"
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void log_call(const char *line)
{
    int file = open("calls", O_WRONLY | O_APPEND | O_CREAT, 0600);
    if (write(file, line, strlen(line)) < 0)
        abort();
    close(file);
}

int fchmod(int file, mode_t mode)
{
    const char *what = getenv("AT_FCHMOD");
    if (what && !strcmp(what, "fail")) {
        errno = EPERM;
        return -1;
    }
    if (what && !strcmp(what, "interrupt")) {
        kill(getpid(), SIGINT);
        for (;;)
            pause();
    }
    return syscall(SYS_fchmod, file, mode);
}

int fsync(int file)
{
    struct stat found;
    fstat(file, &found);
    struct stat target;
    const char *name = getenv("OUTPUT");
    char line[64];
    int length = name && stat(name, &target) == 0 ? target.st_size : 0;
    snprintf(line, sizeof line, "fsync of a %s, the output has %d bytes\n", S_ISDIR(found.st_mode) ? "folder" : "file", length);
    log_call(line);
    name = getenv("MAKE_AT_FSYNC");
    if (name && !S_ISDIR(found.st_mode))
        close(open(name, O_WRONLY | O_CREAT, 0600));
    return syscall(SYS_fsync, file);
}
"#;

/// A folder with a log, and with [`CALLS`] compiled as a library; `None` without a C compiler.
fn with_calls() -> Option<Folder> {
    let folder = small_log();
    folder.write("calls.c", CALLS);
    let mut compiler = Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", "calls.so", "calls.c"]).current_dir(folder.path(""));
    let Ok(status) = compiler.status() else {
        eprintln!("skipped: no C compiler");
        return None;
    };
    assert!(status.success(), "the replacement functions do not compile");
    std::fs::remove_file(folder.path("calls.c")).expect("a file");
    Some(folder)
}

fn run(folder: &Folder, arguments: &[&str], variables: &[(&str, &str)]) -> Outcome {
    let mut command = folder.command_with_default_signals(arguments);
    command.env("LD_PRELOAD", folder.path("calls.so")).envs(variables.iter().copied());
    Outcome::from(command.output().expect("start command"))
}

#[test]
fn a_file_is_on_disk_before_it_is_renamed() {
    let Some(folder) = with_calls() else { return };
    folder.write("out.csv", "mine");
    for (output, before, options) in
        [("out.csv", 4, &["-y"][..]), ("new.csv", 0, &["-y"]), ("other.csv", 0, &[])]
    {
        let arguments = [&["relog", "in.blg", "-o", output][..], options].concat();
        let ran = run(&folder, &arguments, &[("OUTPUT", output)]);
        assert_eq!(ran.status, 0, "{}", ran.stderr);
        let after = folder.bytes(output).len();
        let expected = format!(
            "fsync of a file, the output has {before} bytes\nfsync of a folder, the output has {after} bytes\n"
        );
        assert_eq!(folder.text("calls"), expected, "{output}");
        std::fs::remove_file(folder.path("calls")).expect("a file");
    }
}

#[test]
fn permissions_that_cannot_be_kept_leave_no_partial_file() {
    let Some(folder) = with_calls() else { return };
    folder.write("out.csv", "mine");
    let ran = run(&folder, &["relog", "in.blg", "-y", "-o", "out.csv"], &[("AT_FCHMOD", "fail")]);
    assert_eq!(ran.status, 1, "{}", ran.stderr);
    assert!(ran.stderr.ends_with("out.csv: cannot write: Operation not permitted\n"), "{}", ran.stderr);
    assert_eq!(folder.names(), ["calls.so", "in.blg", "out.csv"]);
    assert_eq!(folder.text("out.csv"), "mine");
}

#[test]
fn an_interrupt_at_the_start_leaves_no_partial_file() {
    let Some(folder) = with_calls() else { return };
    folder.write("out.csv", "mine");
    let ran = run(&folder, &["relog", "in.blg", "-y", "-o", "out.csv"], &[("AT_FCHMOD", "interrupt")]);
    assert_eq!((ran.status, ran.stderr.as_str()), (130, ""));
    assert_eq!(folder.names(), ["calls.so", "in.blg", "out.csv"]);
    assert_eq!(folder.text("out.csv"), "mine");
}

#[test]
fn a_file_created_in_the_meantime_is_not_overwritten() {
    let Some(folder) = with_calls() else { return };
    let ran = run(&folder, &["relog", "in.blg", "-o", "out.csv"], &[("MAKE_AT_FSYNC", "out.csv")]);
    ran.fails_with(2, "out.csv exists: use -y to overwrite it, or another name");
    assert_eq!(folder.text("out.csv"), "");
    assert_eq!(folder.names(), ["calls", "calls.so", "in.blg", "out.csv"]);
}

#[test]
fn an_existing_partial_file_does_not_prevent_writing() {
    let folder = small_log();
    // In containers, commands often have the same process id.
    let script =
        format!("touch out.csv.$$.partial; exec '{}' relog in.blg -o out.csv", env!("CARGO_BIN_EXE_tacho"));
    let shell = Command::new("sh").args(["-c", &script]).current_dir(folder.path("")).output();
    let ran = Outcome::from(shell.expect("a shell"));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert_eq!(folder.names().len(), 3, "{:?}", folder.names());
    assert!(folder.text("out.csv").starts_with("\"(PDH-CSV 4.0)"));
}

#[test]
fn new_files_have_the_permissions_of_new_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = small_log();
    folder.relog(["in.blg", "-o", "out.csv"]);
    folder.write("usual", "");
    let mode = |name: &str| std::fs::metadata(folder.path(name)).expect("a file").permissions().mode();
    assert_eq!(mode("out.csv"), mode("usual"));
}

#[test]
fn a_replaced_file_keeps_its_owner() {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let folder = small_log();
    folder.write("out.csv", "mine");
    if chown(folder.path("out.csv"), Some(12_345), Some(12_346)).is_err() {
        eprintln!("skipped: no permission to change the owner");
        return;
    }
    folder.relog(["in.blg", "-y", "-o", "out.csv"]);
    let found = std::fs::metadata(folder.path("out.csv")).expect("a file");
    assert_eq!((found.uid(), found.gid()), (12_345, 12_346));
    assert!(found.len() > 4);
}
