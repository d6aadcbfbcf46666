//! What clap finds wrong, in one line, with options as they were written.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Parser as _};

use super::{Arguments, WindowsForm, windows_form};
use crate::failure::Failure;

/// Reads the arguments. Help and version are printed, and end the process.
pub(crate) fn parse(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Arguments, Failure> {
    let form = windows_form(arguments)?;
    Arguments::try_parse_from(&form.arguments).map_err(|error| {
        if !error.use_stderr() {
            error.exit();
        }
        Failure::usage(message(&error, &form))
    })
}

fn message(error: &clap::Error, form: &WindowsForm) -> String {
    let command = form.command.as_ref().map(Command::get_name);
    let advice = match command {
        Some(command) => format!("'tacho {command} --help' shows the options"),
        None => "'tacho --help' shows the commands".to_owned(),
    };
    let what = what(error, form);
    // A question is an advice.
    if what.ends_with('?') { what } else { format!("{what}; {advice}") }
}

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
            match text(ContextKind::SuggestedSubcommand) {
                Some(near) => format!("'{word}' is no command: did you mean '{near}'?"),
                None => format!("'{word}' is no command"),
            }
        }
        ErrorKind::MissingRequiredArgument => format!("'{caller}' needs {}", needed(argument, form)),
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
    // Operands of which there may be several.
    let operand = argument.strip_prefix('[').and_then(|argument| argument.strip_suffix("]..."));
    long(argument).map_or_else(|| operand.unwrap_or(argument).to_owned(), |long| form.typed(long))
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
