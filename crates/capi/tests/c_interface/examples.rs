//! The C examples, and the tests of perflib.h under valgrind.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::compiler::{Link, Program, is_installed, output, succeed};
use crate::library::crate_folder;
use crate::perflib::private_folder;

fn example(name: &str) -> PathBuf {
    crate_folder().join("examples/c").join(name)
}

fn compile_example(name: &str, standard: &str, link: Link<'_>) -> Program {
    Program::compile(example(name).to_str().expect("UTF-8"), standard, link, &[])
}

#[test]
fn a_set_is_listed_by_its_name() {
    let program = compile_example("list.c", "c17", Link::Shared);
    let printed = succeed(&mut program.command(&["processor information"]));
    assert!(
        printed.starts_with("processor information {b4fc721a-0378-476f-89ba-a5a79f810b36}: "),
        "{printed}"
    );
    for part in [
        "\n  0 % Processor Time\n",
        "\n  a counter that does not exist: 4202\n",
        "\n  one counter: ",
        "\n  counters: ",
        "\n  one counter of all instances:\n    ",
        "\n  counters of all instances:\n    ",
        "    _Total: ",
    ] {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let memory = succeed(&mut program.command(&["Memory"]));
    assert!(memory.contains("\n  counters: ") && !memory.contains("instances"), "{memory}");
    let unknown = output(&mut program.command(&["No Such Set"]));
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn a_published_set_is_listed_while_its_program_runs() {
    let folder = private_folder();
    let provider = compile_example("provider.c", "c17", Link::Shared);
    let list = compile_example("list.c", "c17", Link::Shared);
    let set = "{8f0c1d7b-53a2-4b4e-9d6b-20715e4caf11}";
    let mut running = provider
        .command(&["60"])
        .env("TACHO_RUNTIME_DIR", folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("run program");
    let list_set = || {
        let listed = output(list.command(&[set]).env("TACHO_RUNTIME_DIR", folder.path()));
        let printed = String::from_utf8_lossy(&listed.stdout).into_owned();
        (listed.status.success() && printed.contains("checkout: ")).then_some(printed)
    };
    let begun = std::time::Instant::now();
    let mut printed = None;
    while printed.is_none() && begun.elapsed().as_secs() < 50 {
        printed = list_set();
    }
    running.kill().expect("run program");
    running.wait().expect("wait for program");
    let printed = printed.expect("printed values");
    assert!(printed.contains(": 4 counters\n"), "{printed}");
    assert!(printed.contains("one counter of all instances:\n    checkout: 1"), "{printed}");
    assert!(list_set().is_none(), "the set disappears with its program");
}

#[test]
fn valgrind_finds_neither_errors_nor_leaks() {
    if !is_installed("valgrind") {
        return;
    }
    for (name, arguments) in [
        ("perflib_consumer.c", vec![]),
        ("perflib_provider.c", vec!["windows"]),
        ("perflib_provider.c", vec!["values"]),
        ("perflib_provider.c", vec!["callback"]),
        ("perflib_provider.c", vec!["single"]),
    ] {
        let folder = private_folder();
        let program = Program::compile(name, "c17", Link::Shared, &["-g"]);
        let file = program.folder().join("program");
        let mut command = Command::new("valgrind");
        command.args([
            "-q",
            "--error-exitcode=99",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite,indirect",
        ]);
        command.arg(file).args(&arguments).env("TACHO_RUNTIME_DIR", folder.path());
        succeed(&mut command);
    }
}

#[test]
fn manual_pages_have_no_errors() {
    if !is_installed("man") {
        return;
    }
    for page in ["perflib.3", "perfutil.3"] {
        let path = crate_folder().join("man").join(page);
        let shown = output(Command::new("man").args(["--warnings", "-l"]).arg(&path).env("MANWIDTH", "100"));
        assert!(shown.status.success() && shown.stderr.is_empty(), "{page}: {shown:?}");
        assert!(String::from_utf8_lossy(&shown.stdout).contains("NAME"), "{page}");
    }
}
