//! `tacho manifest`.

use std::os::unix::fs::PermissionsExt as _;
use std::process::Command;

use crate::run::{Folder, Outcome};

const SHOP: &str = include_str!("../../../perflib/tests/manifest/shop.man");
const COPY: &str = "registered/{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}.man";

/// A folder with the sample manifest.
fn folder() -> Folder {
    let folder = Folder::new();
    folder.write("shop.man", SHOP);
    folder
}

/// `tacho manifest`, with registrations in the subfolder `registered`.
fn command(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = folder.command([&["manifest"], arguments].concat());
    command
        .env("TACHO_MANIFEST_DIR", "registered")
        .env_remove("XDG_DATA_HOME")
        .env("HOME", folder.path("home"));
    command
}

fn run(folder: &Folder, arguments: &[&str]) -> Outcome {
    Outcome::from(command(folder, arguments).output().expect("start command"))
}

#[track_caller]
fn prints(folder: &Folder, arguments: &[&str], expected: &str) {
    assert_eq!(
        run(folder, arguments),
        Outcome { status: 0, stdout: expected.to_owned(), stderr: String::new() }
    );
}

#[test]
fn check_reports_each_violation() {
    let folder = folder();
    prints(&folder, &["check", "shop.man"], "shop.man: valid: 2 counter sets, 14 counters\n");
    let bad =
        SHOP.replace("perf_sample_base", "perf_sample_bas").replace("defaultScale=\"-2\"", "baseID=\"4\"");
    folder.write("bad.man", &bad);
    let lines = "bad.man:15:69: warning: counter 'Requests/sec', baseID: found 4, expected none: perf_counter_bulk_count has \
                 no base\nbad.man:35:48: error: counter 'Lookups Base', type: found 'perf_sample_bas', expected one of the \
                 schema's types: did you mean 'perf_sample_base'?\n";
    let ran = run(&folder, &["check", "bad.man", "shop.man"]);
    let verdicts = "bad.man: 1 error, 1 warning\nshop.man: valid: 2 counter sets, 14 counters\n";
    assert_eq!(ran, Outcome { status: 1, stdout: format!("{lines}{verdicts}"), stderr: String::new() });
    // Other actions report violations on standard error.
    for arguments in [&["rust", "bad.man"][..], &["header", "bad.man", "-o", "x.h"]] {
        assert_eq!(
            run(&folder, arguments),
            Outcome { status: 1, stdout: String::new(), stderr: lines.to_owned() }
        );
    }
    let ran = run(&folder, &["register", "bad.man"]);
    assert_eq!(ran.status, 1);
    assert_eq!(ran.stderr, format!("{lines}tacho: bad.man: 1 error; nothing was changed\n"));
    folder.write("warned.man", SHOP.replace("defaultScale=\"-2\"", "baseID=\"4\""));
    let ran = run(&folder, &["check", "warned.man"]);
    assert_eq!(ran.status, 0);
    assert!(
        ran.stdout.ends_with("\nwarned.man: valid: 2 counter sets, 14 counters, 1 warning\n"),
        "{}",
        ran.stdout
    );
    folder.write("empty.man", "");
    let empty = "empty.man:1:1: error: file: found an empty file, expected a manifest\nempty.man: 1 error, 0 warnings\n";
    let ran = run(&folder, &["check", "empty.man"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, empty));
    run(&folder, &["check", "none.man"]).fails_with(1, "none.man: cannot read: No such file or directory");
    assert_eq!(folder.names(), ["bad.man", "empty.man", "shop.man", "warned.man"]);
}

#[test]
fn code_goes_to_a_file_or_to_standard_output() {
    let folder = folder();
    let golden = |name: &str| {
        let path = format!("{}/../perflib/tests/manifest/golden/{name}", env!("CARGO_MANIFEST_DIR"));
        std::fs::read_to_string(path).expect("the golden text")
    };
    prints(&folder, &["rust", "shop.man"], &golden("shop.rs"));
    prints(&folder, &["header", "shop.man", "-o", "-"], &golden("shop_provider.h"));
    prints(&folder, &["header", "shop.man", "--consumer", "-o", "shop.h"], "");
    assert_eq!(folder.text("shop.h"), golden("shop_consumer.h"));
    run(&folder, &["rust", "shop.man", "-o", "shop.h"])
        .fails_with(2, "shop.h exists: use -y to overwrite it, or another name");
    prints(&folder, &["rust", "shop.man", "-o", "shop.h", "-y"], "");
    assert_eq!(folder.text("shop.h"), golden("shop.rs"));
    std::os::unix::fs::symlink("shop.man", folder.path("link.man")).expect("a link");
    for (kind, output) in [("rust", "shop.man"), ("header", "./shop.man"), ("rust", "link.man")] {
        run(&folder, &[kind, "shop.man", "-o", output, "-y"])
            .fails_with(2, &format!("{output}: this is the manifest: name another output"));
    }
    assert_eq!(folder.text("shop.man"), SHOP);
    let prefixed = run(&folder, &["header", "shop.man", "-prefix", "My"]);
    assert!(prefixed.stdout.contains("static inline ULONG MyCounterInitialize("), "{}", prefixed.stdout);
    run(&folder, &["header", "shop.man", "-prefix", "1"])
        .fails_with(1, "shop.man: the prefix '1' cannot begin a C identifier");
    let both = run(&folder, &["header", "shop.man", "-prefix", "My", "--consumer"]);
    assert_eq!((both.status, both.stdout.as_str()), (2, ""));
}

#[track_caller]
fn assert_nothing_registered(folder: &Folder) {
    let ran = run(folder, &["list"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (0, ""));
    let start = "tacho: no counter set is registered in registered, /etc/tachograph/manifests, ";
    assert!(ran.stderr.starts_with(start) && ran.stderr.lines().count() == 1, "{}", ran.stderr);
}

/// Counter sets can be registered by root with umask 077, and are read by consumers of other users.
#[test]
fn other_users_can_reach_registrations() {
    let folder = folder();
    let tacho = command(&folder, &["register", "shop.man"]);
    let mut shell = Command::new("sh");
    shell.args(["-c", r#"umask 077; exec "$@""#, "sh"]).arg(tacho.get_program()).args(tacho.get_args());
    shell.current_dir(folder.path("")).env("TACHO_MANIFEST_DIR", "new/registered");
    assert_eq!(Outcome::from(shell.output().expect("sh starts")).status, 0);
    for created in ["new", "new/registered"] {
        let mode = std::fs::metadata(folder.path(created)).expect("created").permissions().mode();
        assert_eq!(mode & 0o777, 0o755, "{created}");
    }
}

#[test]
fn manifests_are_registered_listed_and_unregistered() {
    let folder = folder();
    assert_nothing_registered(&folder);
    prints(&folder, &["register", "shop.man"], &format!("{COPY}: 2 counter sets registered\n"));
    assert_eq!(folder.text(COPY), SHOP);
    let listed = format!(
        "Shop {{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}} {COPY}\n  \
         Shop {{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a41}} 7 counters: What the shop did & what it has.\n  \
         Shop Carts {{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a42}} 7 counters: Carts by kind.\n"
    );
    prints(&folder, &["list"], &listed);
    run(&folder, &["register", "shop.man"]).fails_with(
        1,
        &format!(
            "{COPY}: provider {{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40}} is registered; unregister it first"
        ),
    );
    folder.write("registered/bad.man", "<a>");
    let ran = run(&folder, &["list"]);
    assert_eq!((ran.status, ran.stdout.as_str()), (1, listed.as_str()));
    assert!(ran.stderr.starts_with("tacho: registered/bad.man: 1:4: error: XML: found "), "{}", ran.stderr);
    std::fs::remove_file(folder.path("registered/bad.man")).expect("the file exists");
    prints(
        &folder,
        &["unregister", "{6A1F5D0C-3B2E-4C57-9D3A-0F2C8D1E7A40}"],
        &format!("{COPY}: unregistered\n"),
    );
    prints(&folder, &["register", "shop.man"], &format!("{COPY}: 2 counter sets registered\n"));
    prints(
        &folder,
        &["unregister", "6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40"],
        &format!("{COPY}: unregistered\n"),
    );
    run(&folder, &["unregister", "shop.man"])
        .fails_with(1, "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a40} is not registered");
    assert_nothing_registered(&folder);
}

#[test]
fn names_and_guids_of_this_machine_are_refused() {
    let folder = Folder::new();
    let message = |name: &str, guid: &str| {
        format!("counter set '{name}' {guid}: a counter set of this machine already has this name or GUID")
    };
    let own = "{6a1f5d0c-3b2e-4c57-9d3a-0f2c8d1e7a41}";
    folder.write("x.man", SHOP.replace("symbol=\"Shop\" name=\"Shop\"", "symbol=\"Shop\" name=\"MEMORY\""));
    run(&folder, &["register", "x.man"]).fails_with(1, &message("MEMORY", own));
    let processor_information = "{b4fc721a-0378-476f-89ba-a5a79f810b36}";
    folder.write("x.man", SHOP.replace(own, processor_information));
    run(&folder, &["register", "x.man"]).fails_with(1, &message("Shop", processor_information));
    assert_eq!(std::fs::read_dir(folder.path("registered")).expect("created").count(), 0);
}

#[test]
fn invalid_arguments_are_refused() {
    let folder = folder();
    for arguments in [&[][..], &["check"], &["frobnicate"], &["header"], &["list", "x"]] {
        let ran = run(&folder, arguments);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{arguments:?}");
        assert_eq!(ran.stderr.lines().count(), 1, "{}", ran.stderr);
    }
}
