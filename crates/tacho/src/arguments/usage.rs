//! What clap finds wrong, in one line, with options as they were written.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Parser as _};

use super::{Arguments, WindowsForm, windows_form};
use crate::failure::Failure;

/// Reads the arguments. Help and version are printed, and end the process.
pub(crate) fn parse(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Arguments, Failure> {
    let form = windows_form(arguments)?;
    if let Some(what) = repeated(&form) {
        return Err(Failure::usage(message(what, &form)));
    }
    let arguments = Arguments::try_parse_from(&form.arguments).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        Failure::usage(message(what(&error, &form), &form))
    })?;
    match missing_command(&arguments, &form) {
        Some(what) => Err(Failure::usage(message(what, &form))),
        None => Ok(arguments),
    }
}

/// An option with one value that the command line has twice. One of a settings file gives way to it.
fn repeated(form: &WindowsForm) -> Option<String> {
    let command = Arguments::command().args_override_self(false);
    let error = command.try_get_matches_from(&form.given).err()?;
    let argument = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option = argument(ContextKind::InvalidArg)?;
    let is_repeated = error.kind() == ErrorKind::ArgumentConflict
        && argument(ContextKind::PriorArg) == Some(option)
        // A switch says the same twice.
        && option.contains('<');
    is_repeated.then(|| format!("{} is given twice: give it once", written(option, form)))
}

/// What `cpi` is told to run, and is not there: without a word it would measure the system.
fn missing_command(arguments: &Arguments, form: &WindowsForm) -> Option<String> {
    let Some(super::Command::Cpi(cpi)) = &arguments.command else { return None };
    if let Some(text) = &cpi.command_text
        && text.to_string_lossy().trim().is_empty()
    {
        return Some(format!("{} needs a command, and its text is empty", form.typed("command")));
    }
    let is_announced = form.arguments.last().is_some_and(|last| last == "--");
    (is_announced && cpi.command.is_empty())
        .then(|| "-- needs a command behind it, as in 'tacho cpi -- make'".to_owned())
}

fn message(what: String, form: &WindowsForm) -> String {
    let command = form.command.as_ref().map(Command::get_name);
    let advice = match command {
        Some(command) => format!("'tacho {command} --help' shows the options"),
        None => "'tacho --help' shows the commands".to_owned(),
    };
    // A question is an advice.
    if what.ends_with('?') { what } else { format!("{what}; {advice}") }
}

/// Windows' tools whose names are not those of the commands that do their work.
const WINDOWS_TOOLS: [(&str, &str); 3] =
    [("typeperf", "query"), ("logman", "record"), ("perfmon", "monitor")];

fn what(error: &clap::Error, form: &WindowsForm) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    let caller = form.command.as_ref().map_or("tacho", Command::get_name);
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let option = written(argument, form);
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => match valid(error) {
            Some(valid) => format!("{option} needs a value: {valid}"),
            None => format!("{option} needs a value"),
        },
        ErrorKind::InvalidValue => {
            format!("{option} {value}: give {}", valid(error).unwrap_or_else(|| "another value".to_owned()))
        }
        ErrorKind::ValueValidation => match std::error::Error::source(error) {
            Some(cause) => format!("{option} {value}: {cause}"),
            None => format!("{option} {value}: no such value"),
        },
        ErrorKind::TooManyValues => format!("{option} takes no value, and '{value}' is given"),
        ErrorKind::UnknownArgument if argument.starts_with('-') => match text(ContextKind::SuggestedArg) {
            Some(near) => format!("'{caller}' has no option {option}: did you mean {near}?"),
            None => format!("'{caller}' has no option {option}"),
        },
        ErrorKind::UnknownArgument if caller == "cpi" => {
            format!(
                "'cpi' does not take '{argument}': a command stands behind --, as in 'tacho cpi -- {argument}'"
            )
        }
        ErrorKind::UnknownArgument => format!("'{caller}' does not take '{argument}'"),
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            if let Some((tool, command)) =
                WINDOWS_TOOLS.iter().find(|(tool, _)| word.eq_ignore_ascii_case(tool))
            {
                return format!(
                    "there is no command '{word}': 'tacho {command}' does what Windows' {tool} does"
                );
            }
            // clap sorts them by likeness, the nearest one last.
            let nearest = match error.get(ContextKind::SuggestedSubcommand) {
                Some(ContextValue::Strings(names)) => names.last().map(String::as_str),
                _ => text(ContextKind::SuggestedSubcommand),
            };
            match nearest {
                Some(near) => format!("there is no command '{word}': did you mean '{near}'?"),
                None => format!("there is no command '{word}'"),
            }
        }
        ErrorKind::MissingRequiredArgument => match of_trace(argument, form) {
            Some(option) => format!("{option} needs {}", needed(argument, form)),
            None => format!("'{caller}' needs {}", needed(argument, form)),
        },
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            format!("{option} and {} contradict each other: give one of them", written(other, form))
        }
        _ => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    }
}

/// The long name in what clap calls an argument: `--interval <TIME>`.
fn long(argument: &str) -> Option<&str> {
    let name = argument.strip_prefix("--")?;
    let end = name.find([' ', '=', '[']).unwrap_or(name.len());
    Some(&name[..end])
}

/// An option as it was written.
fn written(argument: &str, form: &WindowsForm) -> String {
    // Operands of which there may be several: `[FILE]...`, and where one is needed `<FILE>...`.
    let operand = argument.strip_suffix("...").map(|operand| operand.trim_matches(['[', ']', '<', '>']));
    long(argument).map_or_else(|| operand.unwrap_or(argument).to_owned(), |long| form.typed(long))
}

/// The option of `cpi` that needs the trace which is missing. clap does not tell.
fn of_trace<'a>(missing: &str, form: &'a WindowsForm) -> Option<&'a str> {
    let options = form.arguments.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let mut options = options.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    let is_it = |option: &&str| matches!(*option, "--label" | "--minor" | "--summary" | "--detailed");
    options.find(is_it).filter(|_| long(missing) == Some("trace"))
}

/// What is missing: `-o LOG`.
fn needed(argument: &str, form: &WindowsForm) -> String {
    let placeholder = argument.split_once(' ').filter(|_| long(argument).is_some());
    let Some((_, placeholder)) = placeholder else { return argument.replace(['<', '>'], "") };
    format!("{} {}", written(argument, form), placeholder.trim_matches(['<', '>']))
}

/// The values that an option has.
fn valid(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) else { return None };
    let (last, others) = values.split_last()?;
    match others {
        [] => Some(last.clone()),
        _ => Some(format!("{} or {last}", others.join(", "))),
    }
}
