//! `tacho manifest`: checks and registers manifests, and generates code from them.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_perflib::manifest::generate::{self, GenerateError};
use tachograph_perflib::manifest::{
    CheckedManifest, Folders, Manifest, RegisterError, Unregister, Violations, read, register, registered,
    unregister,
};
use tachograph_perflib::registration::CounterSetInfo;

use super::output_format::output_file;
use super::row_output::is_same_file;
use crate::arguments::{CodeOutput, ManifestAction, ManifestArguments};
use crate::failure::{Failure, cannot, notify};
use crate::output::write_text;
use crate::table::{counted, escape_controls, grouped, line};

pub(crate) fn run(arguments: &ManifestArguments) -> Result<ExitCode, Failure> {
    match &arguments.action {
        ManifestAction::Check { files } => super::check_each(files, check),
        ManifestAction::Rust { file, output } => write_code(file, output, generate::rust),
        ManifestAction::Header { file, output, prefix, consumer } => write_code(file, output, |manifest| {
            if *consumer {
                return Ok(generate::consumer_header(manifest));
            }
            generate::provider_header(manifest, prefix.as_deref().unwrap_or_default())
        }),
        ManifestAction::Register { file } => {
            let registration = register(file, &Folders::from_environment(), is_of_this_machine)
                .map_err(|error| register_failure(file, error))?;
            report_violations(file, &registration.violations);
            let sets = registration.manifest.provider.counter_sets.len();
            let copy = registration.file.display();
            print(&line(format_args!(
                "{copy}: {} registered",
                counted(sets as u64, "counter set", "counter sets")
            )))
        }
        ManifestAction::Unregister { what } => {
            // A GUID without braces could also be a file name.
            let is_guid = |text: &&str| text.starts_with('{') || !what.exists();
            let guid = what.to_str().filter(is_guid).and_then(|text| text.parse().ok());
            let folders = Folders::from_environment();
            let removed = match guid {
                Some(guid) => unregister(Unregister::Guid(guid), &folders),
                None => unregister(Unregister::Manifest(what), &folders),
            };
            let removed = removed.map_err(|error| register_failure(what, error))?;
            print(&line(format_args!("{}: unregistered", removed.display())))
        }
        ManifestAction::List => list(),
    }
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    write_text(None, false, text)?;
    Ok(ExitCode::SUCCESS)
}

fn cannot_read(file: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| cannot("read", file, &error)
}

/// Formats violations like compiler messages, which editors understand.
fn lines(file: &Path, violations: &Violations) -> String {
    let mut lines: String =
        violations.list().iter().map(|violation| line(violation.with_file(file))).collect();
    if violations.unlisted() > 0 {
        let more = grouped(&violations.unlisted().to_string());
        lines.push_str(&line(format_args!("{}: and {more} more", file.display())));
    }
    lines
}

/// Prints violations on standard error.
fn report_violations(file: &Path, violations: &Violations) {
    let _ = io::stderr().write_all(lines(file, violations).as_bytes());
}

/// Prints the violations of a manifest; returns whether it has no errors.
fn check(file: &Path) -> Result<bool, Failure> {
    let CheckedManifest { manifest, violations } = read(file).map_err(cannot_read(file))?;
    let mut text = lines(file, &violations);
    let warnings = counted(violations.warnings(), "warning", "warnings");
    let verdict = match &manifest {
        Some(manifest) => {
            let sets = &manifest.provider.counter_sets;
            let counters: usize = sets.iter().map(|set| set.counters.len()).sum();
            let sets = counted(sets.len() as u64, "counter set", "counter sets");
            let counters = counted(counters as u64, "counter", "counters");
            let warnings = if violations.is_empty() { String::new() } else { format!(", {warnings}") };
            format!("valid: {sets}, {counters}{warnings}")
        }
        None => format!("{}, {warnings}", counted(violations.errors(), "error", "errors")),
    };
    text += &line(format_args!("{}: {verdict}", file.display()));
    print(&text)?;
    Ok(manifest.is_some())
}

fn write_code(
    file: &Path,
    output: &CodeOutput,
    generate: impl FnOnce(&Manifest) -> Result<String, GenerateError>,
) -> Result<ExitCode, Failure> {
    let CheckedManifest { manifest, violations } = read(file).map_err(cannot_read(file))?;
    report_violations(file, &violations);
    let Some(manifest) = manifest else { return Ok(ExitCode::from(1)) };
    let code =
        generate(&manifest).map_err(|error| Failure::runtime(format!("{}: {error}", file.display())))?;
    let path = output_file(output.output.as_deref());
    // Not even -y overwrites the manifest.
    if let Some(path) = path.filter(|path| is_same_file(path, file)) {
        return Err(Failure::usage(format!("{}: this is the manifest: name another output", path.display())));
    }
    write_text(path, output.yes, &code)?;
    Ok(ExitCode::SUCCESS)
}

/// Whether a set has the name or GUID of one of this machine's own sets, which is not allowed.
fn is_of_this_machine(info: &CounterSetInfo) -> bool {
    tachograph_system::known_sets()
        .chain(tachograph_cpi::counters::known_sets())
        .any(|known| known.guid == info.guid || eq_ignore_case(&known.name, &info.name))
}

fn register_failure(file: &Path, error: RegisterError) -> Failure {
    match error {
        RegisterError::Invalid(violations) => {
            report_violations(file, &violations);
            let errors = counted(violations.errors(), "error", "errors");
            Failure::runtime(format!("{}: {errors}; nothing was changed", file.display()))
        }
        error => Failure::runtime(error),
    }
}

/// Lists providers and their counter sets, sorted by name, and reports unusable files.
fn list() -> Result<ExitCode, Failure> {
    let mut registered = registered().without(is_of_this_machine);
    registered.sets.sort_by_key(|set| {
        let info = &set.info;
        (info.provider_name.to_lowercase(), info.provider_guid, info.name.to_lowercase())
    });
    let mut text = String::new();
    let mut provider = None;
    for set in &registered.sets {
        let info = &set.info;
        if provider.replace((info.provider_guid, &set.file)) != Some((info.provider_guid, &set.file)) {
            text +=
                &line(format_args!("{} {} {}", info.provider_name, info.provider_guid, set.file.display()));
        }
        let counters = counted(info.counters.len() as u64, "counter", "counters");
        text +=
            &line(format_args!("  {} {} {counters}: {}", info.name, info.guid, escape_controls(&info.help)));
    }
    registered.problems.iter().for_each(notify);
    if registered.sets.is_empty() {
        let folders = Folders::from_environment().search;
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        notify(format_args!("no counter set is registered in {}", folders.join(", ")));
    }
    print(&text)?;
    Ok(if registered.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
