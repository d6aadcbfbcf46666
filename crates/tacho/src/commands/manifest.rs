//! `tacho manifest`: manifests checked, turned into code, registered.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use tachograph_counters::wildcard::eq_ignore_case;
use tachograph_flow::FlowError;
use tachograph_perflib::manifest::generate::{self, GenerateError};
use tachograph_perflib::manifest::{
    Checked, Folders, Manifest, RegisterError, Unregister, Violations, read, register, registered, unregister,
};
use tachograph_perflib::registration::CounterSetInfo;

use super::relog::at_output;
use super::row_output::is_same_file;
use crate::arguments::{CodeOutput, ManifestAction, ManifestArguments};
use crate::failure::{Failure, cannot, say};
use crate::output::OutputFile;
use crate::table::{counted, grouped, line, visible};

pub(crate) fn run(arguments: &ManifestArguments) -> Result<ExitCode, Failure> {
    match &arguments.action {
        ManifestAction::Check { files } => {
            let mut has_errors = false;
            for file in files {
                match check(file) {
                    Ok(is_right) => has_errors |= !is_right,
                    Err(failure) if failure.is_quiet() => return Err(failure),
                    // The others may be right.
                    Err(failure) => {
                        failure.report();
                        has_errors = true;
                    }
                }
            }
            Ok(ExitCode::from(u8::from(has_errors)))
        }
        ManifestAction::Rust { file, output } => write_code(file, output, generate::rust),
        ManifestAction::Header { file, output, prefix, consumer } => write_code(file, output, |manifest| {
            if *consumer {
                return Ok(generate::consumer_header(manifest));
            }
            generate::provider_header(manifest, prefix.as_deref().unwrap_or_default())
        }),
        ManifestAction::Register { file } => {
            let registration = register(file, &Folders::of_environment(), is_of_this_machine)
                .map_err(|error| of_register(file, error))?;
            complain(file, &registration.violations);
            let sets = registration.manifest.provider.counter_sets.len();
            let copy = registration.file.display();
            print(&line(format_args!(
                "{copy}: {} registered",
                counted(sets as u64, "counter set", "counter sets")
            )))
        }
        ManifestAction::Unregister { what } => {
            // A GUID is one without its braces, too, where no file is called so.
            let is_guid = |text: &&str| text.starts_with('{') || !what.exists();
            let guid = what.to_str().filter(is_guid).and_then(|text| text.parse().ok());
            let folders = Folders::of_environment();
            let removed = match guid {
                Some(guid) => unregister(Unregister::Guid(guid), &folders),
                None => unregister(Unregister::Manifest(what), &folders),
            };
            let removed = removed.map_err(|error| of_register(what, error))?;
            print(&line(format_args!("{}: unregistered", removed.display())))
        }
        ManifestAction::List => list(),
    }
}

fn print(text: &str) -> Result<ExitCode, Failure> {
    io::stdout().lock().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn at(file: &Path) -> impl Fn(io::Error) -> Failure + '_ {
    move |error| cannot("read", file, &error)
}

/// Violations as compilers print theirs, so that editors find the places.
fn lines(file: &Path, violations: &Violations) -> String {
    let mut lines: String = violations.list().iter().map(|violation| line(violation.of_file(file))).collect();
    if violations.unlisted() > 0 {
        let more = grouped(&violations.unlisted().to_string());
        lines.push_str(&line(format_args!("{}: and {more} more", file.display())));
    }
    lines
}

/// Says on standard error what is wrong with a manifest of which something else is wanted.
fn complain(file: &Path, violations: &Violations) {
    // That nobody may read it is no reason to end.
    let _ = io::stderr().write_all(lines(file, violations).as_bytes());
}

/// Prints all that is wrong with a manifest; whether it has no errors.
fn check(file: &Path) -> Result<bool, Failure> {
    let Checked { manifest, violations } = read(file).map_err(at(file))?;
    let mut text = lines(file, &violations);
    let warnings = counted(violations.warnings(), "warning", "warnings");
    let verdict = match &manifest {
        Some(manifest) => {
            let sets = &manifest.provider.counter_sets;
            let counters: usize = sets.iter().map(|set| set.counters.len()).sum();
            let sets = counted(sets.len() as u64, "counter set", "counter sets");
            let counters = counted(counters as u64, "counter", "counters");
            let is_free_of = if violations.is_empty() { String::new() } else { format!(", {warnings}") };
            format!("right: {sets}, {counters}{is_free_of}")
        }
        None => format!("{}, {warnings}", counted(violations.errors(), "error", "errors")),
    };
    text += &line(format_args!("{}: {verdict}", file.display()));
    print(&text)?;
    Ok(manifest.is_some())
}

/// Writes what is made of a manifest.
fn write_code(
    file: &Path,
    output: &CodeOutput,
    make: impl FnOnce(&Manifest) -> Result<String, GenerateError>,
) -> Result<ExitCode, Failure> {
    let Checked { manifest, violations } = read(file).map_err(at(file))?;
    complain(file, &violations);
    let Some(manifest) = manifest else { return Ok(ExitCode::from(1)) };
    let code = make(&manifest).map_err(|error| Failure::work(format!("{}: {error}", file.display())))?;
    match output.output.as_deref().filter(|output| output.as_os_str() != "-") {
        Some(path) => {
            // With -y, too: a manifest is not overwritten by what is made of it.
            if is_same_file(path, file) {
                let path = path.display();
                return Err(Failure::usage(format!(
                    "{path}: this is the manifest: give the output another name"
                )));
            }
            let mut file = OutputFile::create(path, output.yes)?;
            file.write_all(code.as_bytes()).map_err(|error| at_output(FlowError::Output(error), path))?;
            file.finish()?;
            Ok(ExitCode::SUCCESS)
        }
        None => print(&code),
    }
}

/// What only this machine's own sets may be called.
fn is_of_this_machine(info: &CounterSetInfo) -> bool {
    tachograph_system::known_sets()
        .chain(tachograph_cpi::counters::known_sets())
        .any(|known| known.guid == info.guid || eq_ignore_case(&known.name, &info.name))
}

fn of_register(file: &Path, error: RegisterError) -> Failure {
    match error {
        RegisterError::Invalid(violations) => {
            complain(file, &violations);
            let errors = counted(violations.errors(), "error", "errors");
            Failure::work(format!("{}: {errors}, nothing was changed", file.display()))
        }
        error => Failure::work(error),
    }
}

/// Providers with their sets, sorted by name; then what was left out.
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
        text += &line(format_args!("  {} {} {counters}: {}", info.name, info.guid, visible(&info.help)));
    }
    registered.problems.iter().for_each(say);
    if registered.sets.is_empty() {
        let folders = Folders::of_environment().search;
        let folders: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
        say(format_args!("no counter set is registered in {}", folders.join(", ")));
    }
    print(&text)?;
    Ok(if registered.problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) })
}
