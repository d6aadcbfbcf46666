//! The allowed dependencies between crates, and other rules for every crate. See the table in ARCHITECTURE.md.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Every crate of the workspace, lowest layer first, with the workspace crates that it is allowed to use.
const LAYERS: [(&str, &[&str]); 23] = [
    ("tachograph-schema", &[]),
    ("tachograph-counters", &["tachograph-schema"]),
    ("tachograph-shm", &["tachograph-schema"]),
    ("tachograph-publish-derive", &["tachograph-schema"]),
    ("tachograph-publish", &["tachograph-counters", "tachograph-shm", "tachograph-publish-derive"]),
    // The tests of this crate publish counter sets.
    (
        "tachograph-perflib",
        &["tachograph-schema", "tachograph-counters", "tachograph-shm", "tachograph-publish"],
    ),
    ("tachograph-remote", &["tachograph-counters", "tachograph-perflib"]),
    ("tachograph-system", &["tachograph-counters", "tachograph-perflib"]),
    ("tachograph-mmv", &["tachograph-counters", "tachograph-perflib"]),
    ("tachograph-cpi", &["tachograph-counters", "tachograph-perflib", "tachograph-system"]),
    ("tachograph-machine", &["tachograph-cpi", "tachograph-mmv", "tachograph-perflib", "tachograph-system"]),
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
        "tachograph-metrics",
        // The last two are for tests: the names of all counters.
        &["tachograph-counters", "tachograph-perflib", "tachograph-cpi", "tachograph-system"],
    ),
    ("tachograph-export", &["tachograph-counters", "tachograph-metrics", "tachograph-perflib"]),
    (
        "tachograph-web",
        &[
            "tachograph-counters",
            "tachograph-perflib",
            "tachograph-logs",
            "tachograph-flow",
            "tachograph-metrics",
            "tachograph-monitor",
            "tachograph-remote",
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
            "tachograph-remote",
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
            "tachograph-export",
            "tachograph-flow",
            "tachograph-machine",
            "tachograph-metrics",
            "tachograph-monitor",
            "tachograph-publish",
            "tachograph-remote",
            "tachograph-screen",
            "tachograph-web",
        ],
    ),
    ("tachograph-sql", &["tachograph-counters", "tachograph-logs", "tachograph-flow", "tachograph-monitor"]),
    // A tool: it plays agents.
    (
        "tachograph-fleet",
        &[
            "tachograph-counters",
            "tachograph-logs",
            "tachograph-perflib",
            "tachograph-remote",
            "tachograph-system",
        ],
    ),
];

/// The third-party dependencies of each crate, except for tests.
const THIRD_PARTY: [(&str, &[&str]); 22] = [
    ("tachograph-counters", &["jiff"]),
    ("tachograph-shm", &["libc", "loom"]),
    ("tachograph-publish-derive", &["proc-macro2", "quote", "syn", "uuid"]),
    ("tachograph-publish", &["libc"]),
    ("tachograph-perflib", &["roxmltree", "rustix", "uuid", "zerocopy"]),
    ("tachograph-remote", &["rustix", "rustls", "serde", "toml"]),
    ("tachograph-machine", &["rustix"]),
    ("tachograph-pdh", &["jiff"]),
    ("tachograph-system", &["libc", "nvml-wrapper", "rustix"]),
    ("tachograph-mmv", &["rustix", "uuid"]),
    ("tachograph-cpi", &["libc", "perf-event-open-sys", "rustix", "zerocopy"]),
    ("tachograph-capi", &["libc"]),
    (
        "tachograph-logs",
        &[
            "chardetng",
            "crc32fast",
            "csv",
            "encoding_rs",
            "odbc-api",
            "rusqlite",
            "rustix",
            "serde",
            "serde_json",
            "tempfile",
            "uuid",
            "zerocopy",
            "zstd",
        ],
    ),
    ("tachograph-flow", &["csv", "serde", "serde_json"]),
    ("tachograph-metrics", &["rustix"]),
    ("tachograph-export", &["crc32fast", "flate2", "prost", "rustix", "snap", "ureq", "zstd"]),
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
            "zopfli",
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
            "rcgen",
            "rustix",
            "serde",
            "serde_json",
            "signal-hook",
            "tempfile",
            "unicode-width",
        ],
    ),
    ("tachograph-fleet", &["rcgen", "tokio", "tokio-rustls"]),
    (
        "tachograph-sql",
        &[
            "arrow-flight",
            "async-trait",
            "axum",
            "ballista-core",
            "ballista-executor",
            "ballista-scheduler",
            "clap",
            "datafusion",
            "datafusion-proto",
            "futures",
            "indicatif",
            "jiff",
            "log",
            "object_store",
            "parquet",
            "prost",
            "rustix",
            "serde_json",
            "signal-hook",
            "tempfile",
            "tokio",
            "tonic",
            "unicode-width",
        ],
    ),
];

/// The files with `unsafe`. All other crates forbid it.
const UNSAFE_FILES: [(&str, &[&str]); 6] = [
    ("tachograph", &["src/allocator.rs"]),
    ("tachograph-shm", &["src/bus_error.rs", "src/map.rs"]),
    ("tachograph-publish", &["src/signals.rs", "src/tsc/counter.rs"]),
    ("tachograph-system", &["src/adjtimex.rs"]),
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
    value.as_str().expect("a string, as in the output of cargo metadata")
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
    LAYERS.iter().find(|(from, _)| *from == name).map(|(_, to)| *to)
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
    let existing: BTreeSet<String> = packages().into_iter().map(|package| package.name).collect();
    for name in &existing {
        assert!(
            allowed(name).is_some(),
            "{name} is new: add it to LAYERS in crates/tacho/tests/dependencies.rs with the crates that it is allowed to use"
        );
    }
    for (name, _) in LAYERS {
        assert!(
            existing.contains(name),
            "{name} no longer exists: remove it from LAYERS in crates/tacho/tests/dependencies.rs"
        );
    }
}

#[test]
fn the_table_has_only_lower_layers() {
    for (layer, (name, uses)) in LAYERS.iter().enumerate() {
        for used in *uses {
            assert!(
                LAYERS[..layer].iter().any(|(lower, _)| lower == used),
                "{name} -> {used}: {used} is not in a lower layer"
            );
        }
    }
}

/// A derive macro is tested with the crate that its generated code uses.
const TESTED_WITH: (&str, &str) = ("tachograph-publish-derive", "tachograph-publish");

/// Dependencies of tests and build scripts are included. A crate can depend on itself to enable a feature for tests.
#[test]
fn crates_use_only_lower_layers() {
    let packages = packages();
    for package in &packages {
        let allowed = allowed(&package.name).unwrap_or_default();
        for (used, kind) in &package.dependencies {
            let is_internal =
                used.starts_with("tachograph") || packages.iter().any(|package| package.name == *used);
            assert!(
                !is_internal
                    || *used == package.name
                    || allowed.contains(&used.as_str())
                    || kind == "dev" && (package.name.as_str(), used.as_str()) == TESTED_WITH,
                "{} must not use {used} ({kind} dependency); allowed: {allowed:?}",
                package.name
            );
        }
    }
}

#[test]
fn third_party_dependencies_are_those_of_the_table() {
    for package in packages() {
        let package_entry = THIRD_PARTY.iter().find(|(name, _)| *name == package.name);
        let allowed: BTreeSet<&str> =
            package_entry.map(|(_, used)| used.iter().copied().collect()).unwrap_or_default();
        let used: BTreeSet<&str> = package
            .dependencies
            .iter()
            .filter(|(name, kind)| kind != "dev" && !name.starts_with("tachograph"))
            .map(|(name, _)| name.as_str())
            .collect();
        assert_eq!(
            used, allowed,
            "dependencies of {} (left): update THIRD_PARTY in crates/tacho/tests/dependencies.rs and the table in \
             ARCHITECTURE.md",
            package.name
        );
    }
}

#[test]
fn every_crate_inherits_the_workspace_lints() {
    for package in packages() {
        assert!(
            section(&package.manifest, "lints").any(|line| line == "workspace=true"),
            "{}: its Cargo.toml lacks `[lints] workspace = true`",
            package.name
        );
    }
    let workspace = std::fs::read_to_string(root().join("Cargo.toml")).expect("the workspace's manifest");
    let lints: Vec<String> = section(&workspace, "workspace.lints.rust").collect();
    for required in ["missing_docs=\"deny\"", "unsafe_code=\"deny\""] {
        assert!(
            lints.iter().any(|line| line == required),
            "[workspace.lints.rust] lacks {required}: {lints:?}"
        );
    }
}

/// All Rust files of a folder, recursively.
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

/// The workspace denies `unsafe`, which files can override. Crates that do not need it forbid it.
#[test]
fn unsafe_is_only_in_listed_files() {
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
        assert_eq!(found, listed, "{name}: update UNSAFE_FILES in crates/tacho/tests/dependencies.rs");
    }
}

/// Functions that change the whole process. (Signal masks belong to a thread.)
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

/// Libraries do not change their process; the only exception is the handler of SIGBUS.
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
