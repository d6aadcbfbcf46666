//! The arrows between the crates: who may use whom, and what every crate promises. ARCHITECTURE.md draws them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every crate of ours, lowest floor first, with the crates of ours that it may use.
const ARROWS: [(&str, &[&str]); 17] = [
    ("tachograph-schema", &[]),
    ("tachograph-counters", &["tachograph-schema"]),
    ("tachograph-shm", &["tachograph-schema"]),
    ("tachograph-publish-derive", &["tachograph-schema"]),
    ("tachograph-publish", &["tachograph-counters", "tachograph-shm", "tachograph-publish-derive"]),
    // Its tests publish what they read.
    (
        "tachograph-perflib",
        &["tachograph-schema", "tachograph-counters", "tachograph-shm", "tachograph-publish"],
    ),
    ("tachograph-system", &["tachograph-counters", "tachograph-perflib"]),
    ("tachograph-cpi", &["tachograph-counters", "tachograph-perflib", "tachograph-system"]),
    ("tachograph-machine", &["tachograph-cpi", "tachograph-perflib", "tachograph-system"]),
    ("tachograph-logs", &["tachograph-counters"]),
    ("tachograph-flow", &["tachograph-counters", "tachograph-perflib", "tachograph-logs"]),
    (
        "tachograph-monitor",
        &["tachograph-counters", "tachograph-perflib", "tachograph-logs", "tachograph-flow"],
    ),
    (
        "tachograph-screen",
        &[
            "tachograph-counters",
            "tachograph-perflib",
            "tachograph-logs",
            "tachograph-flow",
            "tachograph-monitor",
        ],
    ),
    (
        "tachograph-web",
        &[
            "tachograph-counters",
            "tachograph-perflib",
            "tachograph-logs",
            "tachograph-flow",
            "tachograph-monitor",
            // For tests: the names of every counter there is.
            "tachograph-cpi",
            "tachograph-system",
        ],
    ),
    ("tachograph-pdh", &["tachograph-counters", "tachograph-perflib", "tachograph-logs", "tachograph-flow"]),
    (
        "tachograph-capi",
        &[
            "tachograph-counters",
            "tachograph-system",
            "tachograph-logs",
            "tachograph-cpi",
            "tachograph-machine",
            "tachograph-pdh",
            "tachograph-perflib",
            "tachograph-publish",
            "tachograph-shm",
        ],
    ),
    (
        "tachograph",
        &[
            "tachograph-counters",
            "tachograph-perflib",
            "tachograph-system",
            "tachograph-cpi",
            "tachograph-logs",
            "tachograph-flow",
            "tachograph-machine",
            "tachograph-monitor",
            "tachograph-publish",
            "tachograph-screen",
            "tachograph-web",
        ],
    ),
];

/// All that each of them takes from elsewhere (tests apart).
const FROM_ELSEWHERE: [(&str, &[&str]); 16] = [
    ("tachograph-counters", &["jiff", "sketches-ddsketch"]),
    ("tachograph-shm", &["libc", "loom"]),
    ("tachograph-publish-derive", &["proc-macro2", "quote", "syn", "uuid"]),
    ("tachograph-publish", &["libc"]),
    ("tachograph-perflib", &["roxmltree", "rustix", "uuid", "zerocopy"]),
    ("tachograph-machine", &["rustix"]),
    ("tachograph-pdh", &["jiff"]),
    ("tachograph-system", &["rustix", "uuid"]),
    ("tachograph-cpi", &["libc", "perf-event-open-sys", "rustix", "zerocopy"]),
    ("tachograph-capi", &["libc"]),
    ("tachograph-logs", &["chardetng", "csv", "encoding_rs", "serde", "serde_json", "uuid", "zerocopy"]),
    ("tachograph-flow", &["csv", "serde", "serde_json"]),
    ("tachograph-monitor", &["serde", "toml"]),
    ("tachograph-screen", &["ratatui", "rustix", "signal-hook", "unicode-width"]),
    (
        "tachograph-web",
        &[
            "axum",
            "bytes",
            "flate2",
            "http-body",
            "hyper",
            "hyper-util",
            "rustix",
            "serde",
            "serde_json",
            "subtle",
            "tempfile",
            "tokio",
            "tokio-rustls",
            "tower",
        ],
    ),
    (
        "tachograph",
        &[
            "clap",
            "encoding_rs",
            "indexmap",
            "indicatif",
            "jiff",
            "libc",
            "rustix",
            "serde",
            "serde_json",
            "signal-hook",
            "tempfile",
            "unicode-width",
        ],
    ),
];

/// The files with `unsafe` in them, in the only crates that have any. All other crates forbid it.
const UNSAFE_FILES: [(&str, &[&str]); 5] = [
    ("tachograph", &["src/allocator.rs"]),
    ("tachograph-shm", &["src/bus_error.rs", "src/map.rs"]),
    ("tachograph-publish", &["src/signals.rs", "src/tsc/counter.rs"]),
    ("tachograph-cpi", &["src/perf_event.rs", "src/user_read.rs"]),
    (
        "tachograph-capi",
        &[
            "src/boundary.rs",
            "src/environment.rs",
            "src/pdh/boundary.rs",
            "src/pdh/boundary_exports.rs",
            "src/perflib/boundary.rs",
            "src/perflib/memory.rs",
            "src/perflib/provider_boundary.rs",
        ],
    ),
];

struct Package {
    name: String,
    folder: PathBuf,
    manifest: String,
    /// Name and kind (`normal`, `dev`, `build`).
    dependencies: Vec<(String, String)>,
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string, as cargo metadata has it")
}

fn packages() -> Vec<Package> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline", "--manifest-path"])
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("a list of packages");
    packages
        .iter()
        .map(|package| Package {
            name: text(&package["name"]).to_owned(),
            folder: Path::new(text(&package["manifest_path"])).parent().expect("its folder").to_owned(),
            manifest: std::fs::read_to_string(text(&package["manifest_path"])).expect("the manifest"),
            dependencies: package["dependencies"]
                .as_array()
                .expect("a list of dependencies")
                .iter()
                .map(|used| {
                    (text(&used["name"]).to_owned(), used["kind"].as_str().unwrap_or("normal").to_owned())
                })
                .collect(),
        })
        .collect()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    ARROWS.iter().find(|(from, _)| *from == name).map(|(_, to)| *to)
}

/// The settings of one section of a manifest, without spaces: `key=value`.
fn section<'a>(manifest: &'a str, header: &str) -> impl Iterator<Item = String> + use<'a> {
    let header = format!("[{header}]");
    manifest
        .lines()
        .map(str::trim)
        .skip_while(move |line| *line != header)
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .map(|line| line.split('#').next().unwrap_or_default().replace(' ', ""))
}

#[test]
fn every_crate_is_in_the_table() {
    let here: BTreeSet<String> = packages().into_iter().map(|package| package.name).collect();
    for name in &here {
        assert!(
            allowed(name).is_some(),
            "{name} is new: add it to ARROWS in crates/tacho/tests/arrows.rs with the crates that it may use"
        );
    }
    for (name, _) in ARROWS {
        assert!(here.contains(name), "{name} is gone: take it out of ARROWS in crates/tacho/tests/arrows.rs");
    }
}

#[test]
fn the_table_looks_down_only() {
    for (floor, (name, uses)) in ARROWS.iter().enumerate() {
        for used in *uses {
            assert!(
                ARROWS[..floor].iter().any(|(lower, _)| lower == used),
                "{name} -> {used} does not look down"
            );
        }
    }
}

/// A macro is tested with the crate that its code is for.
const TESTED_WITH: (&str, &str) = ("tachograph-publish-derive", "tachograph-publish");

/// Tests and build scripts included: a crate is tested with what it may use, and with itself, which is how a feature is
/// switched on for tests.
#[test]
fn crates_look_down_only() {
    let packages = packages();
    for package in &packages {
        let allowed = allowed(&package.name).unwrap_or_default();
        for (used, kind) in &package.dependencies {
            let ours = used.starts_with("tachograph") || packages.iter().any(|package| package.name == *used);
            assert!(
                !ours
                    || *used == package.name
                    || allowed.contains(&used.as_str())
                    || kind == "dev" && (package.name.as_str(), used.as_str()) == TESTED_WITH,
                "{} must not use {used} ({kind} dependency); it may use {allowed:?}",
                package.name
            );
        }
    }
}

/// In both directions: the table says what is used, and nothing that is not.
#[test]
fn crates_take_from_elsewhere_what_the_table_says() {
    for package in packages() {
        let of_package = FROM_ELSEWHERE.iter().find(|(name, _)| *name == package.name);
        let allowed: BTreeSet<&str> =
            of_package.map(|(_, used)| used.iter().copied().collect()).unwrap_or_default();
        let used: BTreeSet<&str> = package
            .dependencies
            .iter()
            .filter(|(name, kind)| kind != "dev" && !name.starts_with("tachograph"))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            used, allowed,
            "{} uses what is on the left: keep FROM_ELSEWHERE in crates/tacho/tests/arrows.rs and the table in \
             ARCHITECTURE.md the same",
            package.name
        );
    }
}

#[test]
fn every_crate_inherits_the_lints() {
    for package in packages() {
        assert!(
            section(&package.manifest, "lints").any(|line| line == "workspace=true"),
            "{}: its Cargo.toml lacks `[lints] workspace = true`",
            package.name
        );
    }
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let lints: Vec<String> = section(&workspace, "workspace.lints.rust").collect();
    for wanted in ["missing_docs=\"deny\"", "unsafe_code=\"deny\""] {
        assert!(lints.iter().any(|line| line == wanted), "[workspace.lints.rust] lacks {wanted}: {lints:?}");
    }
}

/// All Rust files of a folder and those below it.
fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

/// The workspace denies `unsafe`, so that it can be allowed; where nobody needs it, nobody may allow it.
#[test]
fn unsafe_stands_in_few_files_only() {
    for Package { name, folder, .. } in packages() {
        let listed = UNSAFE_FILES.iter().find(|(crate_name, _)| *crate_name == name);
        let Some((_, listed)) = listed else {
            let roots = ["src/lib.rs", "src/main.rs"].map(|root| std::fs::read_to_string(folder.join(root)));
            let roots: Vec<String> = roots.into_iter().flatten().collect();
            assert!(!roots.is_empty(), "{name} has neither src/lib.rs nor src/main.rs");
            for root in roots {
                let forbids = root.lines().any(|line| line == "#![forbid(unsafe_code)]");
                assert!(forbids, "{name}: its root lacks #![forbid(unsafe_code)]");
            }
            continue;
        };
        let allows =
            |file: &PathBuf| std::fs::read_to_string(file).expect("a file").contains("allow(unsafe_code");
        let found: BTreeSet<PathBuf> = rust_files(&folder.join("src")).into_iter().filter(allows).collect();
        let listed: BTreeSet<PathBuf> = listed.iter().map(|file| folder.join(file)).collect();
        assert_eq!(found, listed, "{name}: keep UNSAFE_FILES in crates/tacho/tests/arrows.rs");
    }
}

/// What changes the process as a whole. Signal masks are of a thread.
const PROCESS_CHANGES: [&str; 9] = [
    "setrlimit(",
    "set_current_dir(",
    "fchdir(",
    "setlocale(",
    "set_var(",
    "remove_var(",
    "umask(",
    "libc::sigaction(",
    "libc::signal(",
];

/// A library is a guest in its process: only `tacho` may change it, and one file has the handler of SIGBUS.
#[test]
fn no_library_changes_its_process() {
    let packages = packages();
    let libraries = packages.iter().filter(|package| package.name != "tachograph");
    let files = libraries.flat_map(|package| rust_files(&package.folder.join("src")));
    let changes = |file: &PathBuf| {
        let text = std::fs::read_to_string(file).expect("a file");
        PROCESS_CHANGES.iter().any(|change| text.contains(change))
    };
    let is_test = |file: &PathBuf| file.components().any(|part| part.as_os_str() == "tests");
    let found: Vec<PathBuf> = files.filter(|file| !is_test(file) && changes(file)).collect();
    let is_allowed = |file: &PathBuf| file.ends_with("shm/src/bus_error.rs");
    assert!(found.iter().all(is_allowed) && found.len() == 1, "{found:?}");
}

#[test]
fn a_section_ends_at_the_next() {
    let manifest = "[a]\nx = 1 # why\n\n[lints.b]\ny = 2\n[lints]\nworkspace = true\n";
    assert_eq!(section(manifest, "a").collect::<Vec<_>>(), ["x=1", ""]);
    assert_eq!(section(manifest, "lints").collect::<Vec<_>>(), ["workspace=true"]);
    assert_eq!(section(manifest, "b").count(), 0);
}
