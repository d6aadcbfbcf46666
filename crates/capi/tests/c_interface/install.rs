//! `make install`, and programs that are built with the installed files.

use std::path::Path;
use std::process::Command;

use crate::compiler::{STRICT, output, source, succeed};
use crate::library::{built_library, crate_folder};

/// Links both libraries into a folder, so that it looks like the output folder of `cargo build`.
fn libraries(folder: &Path) {
    for extension in ["so", "a"] {
        let library = built_library(extension);
        std::os::unix::fs::symlink(&library, folder.join(format!("libtachograph.{extension}")))
            .expect("a link");
    }
}

fn make(libraries: &Path, variables: &[String], goal: &str) -> Command {
    let mut command = Command::new("make");
    command.arg("-C").arg(crate_folder()).arg(goal).arg(format!("LIBRARIES={}", libraries.display()));
    // If make runs these tests, its variables must not affect this make.
    command.args(variables).env_remove("MAKEFLAGS").env_remove("MAKELEVEL");
    command
}

#[test]
fn a_program_is_built_by_pkg_config_and_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("built"), folder.path().join("installed"));
    std::fs::create_dir(&from).expect("a folder");
    libraries(&from);
    let variables = [format!("PREFIX={}", to.display())];
    succeed(&mut make(&from, &variables, "install"));

    let pkg_config = |arguments: &[&str]| -> Vec<String> {
        let mut command = Command::new("pkg-config");
        command.args(arguments).arg("tachograph").env("PKG_CONFIG_PATH", to.join("lib/pkgconfig"));
        succeed(&mut command).split_whitespace().map(str::to_owned).collect()
    };
    assert_eq!(pkg_config(&["--modversion"]), [env!("CARGO_PKG_VERSION")]);
    let program = folder.path().join("program");
    let is_static = [&["--cflags", "--libs"][..], &["--cflags", "--libs", "--static"]];
    for arguments in is_static {
        let mut command = Command::new("cc");
        command.args(["-std=c99", "-DROUNDS=1", "-DCALLS=10"]).args(STRICT);
        command.arg("-I").arg(crate_folder().join("compat")).arg(source("sample.c"));
        succeed(command.args(pkg_config(arguments)).arg("-o").arg(&program));
        let run = output(Command::new(&program).env("LD_LIBRARY_PATH", to.join("lib")));
        // 1: this machine has no hardware counters, which the program reports.
        assert!(matches!(run.status.code(), Some(0 | 1)) && !run.stdout.is_empty(), "{run:?}");
    }
    let run = output(Command::new(&program).env_remove("LD_LIBRARY_PATH"));
    assert_eq!(run.status.code(), Some(127), "without the library's folder, the program cannot run: {run:?}");

    // A Windows program, with the command in the documentation.
    let mut command = Command::new("g++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-DSAMPLES=2", "-DPAUSE=20"]);
    command.args([source("cpu_perf.cpp"), source("cpu_perf_main.cpp")]);
    let mut windows = Command::new("pkg-config");
    windows.args(["--cflags", "--libs", "tachograph-windows"]);
    windows.env("PKG_CONFIG_PATH", to.join("lib/pkgconfig"));
    command.args(succeed(&mut windows).split_whitespace()).arg("-o").arg(&program);
    succeed(&mut command);
    let printed = succeed(Command::new(&program).env("LD_LIBRARY_PATH", to.join("lib")));
    assert_eq!(printed.lines().filter(|line| line.starts_with("_Total ")).count(), 2, "{printed}");

    succeed(&mut make(&from, &variables, "uninstall"));
    for file in [
        "include/perfutil.h",
        "include/perflib.h",
        "include/tachograph",
        "share/man/man3/perflib.3",
        "lib/libtachograph.so",
        "lib/libtachograph.so.0",
        "lib/libtachograph.a",
    ] {
        assert!(to.join(file).symlink_metadata().is_err(), "{file}");
    }
}

#[test]
fn a_staged_install_contains_the_final_paths() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, stage) = (folder.path().join("built"), folder.path().join("stage"));
    std::fs::create_dir(&from).expect("a folder");
    libraries(&from);
    let variables = [format!("DESTDIR={}", stage.display()), "PREFIX=/opt/tachograph".to_owned()];
    succeed(&mut make(&from, &variables, "install"));
    let library = stage.join("opt/tachograph/lib");
    let link = |name: &str| std::fs::read_link(library.join(name)).expect("a link").into_os_string();
    let file = format!("libtachograph.so.{}", env!("CARGO_PKG_VERSION"));
    assert_eq!(link("libtachograph.so"), "libtachograph.so.0");
    assert_eq!(link("libtachograph.so.0"), *file);
    assert!(library.join(file).metadata().expect("the library").is_file());
    let config = std::fs::read_to_string(library.join("pkgconfig/tachograph.pc")).expect("the file");
    assert!(config.starts_with("prefix=/opt/tachograph\nlibdir=/opt/tachograph/lib\n"), "{config}");
    assert!(!config.contains('@') && !config.contains("stage"), "{config}");
}

/// The size of a library, and whether it has debug symbols.
fn size_and_symbols(library: &Path) -> (u64, bool) {
    let sections = succeed(Command::new("readelf").args(["-S", "-W"]).arg(library));
    (library.metadata().expect("the library").len(), sections.contains(".debug_"))
}

#[test]
fn libraries_are_installed_without_debug_symbols() {
    let folder = tempfile::tempdir().expect("a folder");
    let from = folder.path().join("built");
    std::fs::create_dir(&from).expect("a folder");
    libraries(&from);
    let installed = |name: &str, more: &[String]| {
        let to = folder.path().join(name);
        let mut variables = vec![format!("PREFIX={}", to.display())];
        variables.extend_from_slice(more);
        succeed(&mut make(&from, &variables, "install"));
        ["so.0", "a"].map(|extension| size_and_symbols(&to.join(format!("lib/libtachograph.{extension}"))))
    };
    let built = ["so", "a"].map(|extension| size_and_symbols(&built_library(extension)));
    // The static library contains the debug information of the standard library even if it has none of its own.
    assert!(built.iter().any(|(_, had_symbols)| *had_symbols), "{built:?}");
    let stripped = installed("stripped", &[]);
    for ((size, has_symbols), (built_size, _)) in stripped.iter().zip(&built) {
        assert!(!has_symbols && size < built_size, "{stripped:?} of {built:?}");
    }
    assert_eq!(installed("whole", &["SYMBOLS=yes".into()]), built);
}

/// Runs the build commands of docs/c-interface.md unchanged in a folder like that of the repository: the last one for C, and
/// both for programs written for Windows.
#[test]
fn the_commands_in_the_documentation_build_programs_that_run() {
    let folder = tempfile::tempdir().expect("a folder");
    let release = folder.path().join("target/release");
    std::fs::create_dir_all(&release).expect("a folder");
    libraries(&release);
    let crates = crate_folder().parent().expect("the folder of the crates");
    std::os::unix::fs::symlink(crates, folder.path().join("crates")).expect("a link");
    // CARGO=true builds nothing, because the libraries are already there.
    succeed(&mut make(&release, &["CARGO=true".into()], "all"));
    let to = folder.path().join("installed");
    succeed(&mut make(&release, &[format!("PREFIX={}", to.display())], "install"));
    let in_c = "#include <stdio.h>\n#include \"perfutil.h\"\n\
                int main(void) { return printf(\"%d\\n\", GetActiveProcessorCount() > 0) < 0; }\n";
    let of_windows = "#include <windows.h>\n#include <perflib.h>\n#include <stdio.h>\n\
                      int wmain() { DWORD sets = 0; PerfEnumerateCounterSet(NULL, NULL, 0, &sets);\n\
                      wprintf(L\"%d\\n\", sets > 10); return 0; }\n";
    std::fs::write(folder.path().join("program.c"), in_c).expect("written");
    std::fs::write(folder.path().join("program.cpp"), of_windows).expect("written");

    let page = crate::page::page();
    let is_build = |line: &&str| line.starts_with("g++ ") || line.starts_with("gcc ");
    let (of_c, of_windows) = page.split_once("### Programs written for Windows").expect("the section");
    let without_installing = of_c.lines().rfind(is_build).expect("a line");
    let lines: Vec<_> =
        std::iter::once(without_installing).chain(of_windows.lines().filter(is_build)).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let program = folder.path().join("program");
    for line in lines {
        let mut build = Command::new("sh");
        build.args(["-c", line]).current_dir(folder.path());
        succeed(build.env("PKG_CONFIG_PATH", to.join("lib/pkgconfig")));
        let mut run = Command::new(&program);
        // As ldconfig does after installation.
        match line.contains("pkg-config") {
            true => run.env("LD_LIBRARY_PATH", to.join("lib")),
            false => run.env_remove("LD_LIBRARY_PATH"),
        };
        assert_eq!(succeed(&mut run), "1\n", "{line}");
        std::fs::remove_file(&program).expect("the program was built");
    }
}

#[test]
fn a_missing_build_is_reported() {
    let folder = tempfile::tempdir().expect("a folder");
    let variables = [format!("PREFIX={}", folder.path().join("installed").display())];
    let refused = output(&mut make(folder.path(), &variables, "install"));
    assert!(!refused.status.success());
    assert!(String::from_utf8_lossy(&refused.stderr).contains("run make first"), "{refused:?}");
    assert!(!folder.path().join("installed").exists());
}
