//! Command-line errors as one-line messages, which show options as the user wrote them.

use std::io::{self, Write as _};

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, Parser as _};

use tachograph_counters::wildcard::closest;

use super::{Arguments, SqlArguments, WindowsForm, windows_form};
use crate::failure::Failure;

/// Parses the arguments. If help or the version is requested, prints it and exits.
pub(crate) fn parse(arguments: impl Iterator<Item = std::ffi::OsString>) -> Result<Arguments, Failure> {
    let mut arguments = arguments.peekable();
    let program = arguments.next();
    if arguments.next_if(|command| command == "sql").is_some() {
        // `tacho-sql` parses these arguments; it has no options in Windows' form.
        let sql = SqlArguments { arguments: arguments.collect() };
        return Ok(Arguments { command: Some(super::Command::Sql(sql)) });
    }
    let form = windows_form(program.into_iter().chain(arguments))?;
    if let Some(problem) = repeated_option(&form) {
        return Err(Failure::usage(with_advice(problem, &form)));
    }
    let arguments = Arguments::try_parse_from(&form.arguments).map_err(|error| {
        if !error.use_stderr() {
            return match error.print().and_then(|()| io::stdout().flush()) {
                Ok(()) => std::process::exit(0),
                Err(failed) => failed.into(),
            };
        }
        Failure::usage(with_advice(describe(&error, &form), &form))
    })?;
    match missing_command(&arguments, &form) {
        Some(problem) => Err(Failure::usage(with_advice(problem, &form))),
        None => Ok(arguments),
    }
}

/// Describes an option that accepts a single value but is on the command line twice. Options from settings files do not
/// count, because the command line overrides them.
fn repeated_option(form: &WindowsForm) -> Option<String> {
    let command = Arguments::command().args_override_self(false);
    let error = command.try_get_matches_from(&form.command_line).err()?;
    let argument = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let option = argument(ContextKind::InvalidArg)?;
    let is_repeated = error.kind() == ErrorKind::ArgumentConflict
        && argument(ContextKind::PriorArg) == Some(option)
        // Repeating a flag is harmless.
        && option.contains('<');
    is_repeated.then(|| format!("{} is repeated: use it once", option_text(option, form)))
}

/// Describes an empty command for `cpi`. Without this check, `cpi` would measure the system.
fn missing_command(arguments: &Arguments, form: &WindowsForm) -> Option<String> {
    let Some(super::Command::Cpi(cpi)) = &arguments.command else { return None };
    if let Some(text) = &cpi.command_text
        && text.to_string_lossy().trim().is_empty()
    {
        return Some(format!("{} needs a command, but its text is empty", form.typed("command")));
    }
    let ends_with_hyphens = form.arguments.last().is_some_and(|last| last == "--");
    (ends_with_hyphens && cpi.command.is_empty())
        .then(|| "-- must be followed by a command, as in 'tacho cpi -- make'".to_owned())
}

/// Adds a hint about `--help`, unless the message ends with a suggestion.
fn with_advice(problem: String, form: &WindowsForm) -> String {
    let command = form.command.as_ref().map(Command::get_name);
    let advice = match command {
        Some(command) => format!("'tacho {command} --help' lists the options"),
        None => "'tacho --help' lists the commands".to_owned(),
    };
    if problem.ends_with('?') { problem } else { format!("{problem}; {advice}") }
}

/// Windows' tools and the commands that replace them.
const WINDOWS_TOOLS: [(&str, &str); 3] =
    [("typeperf", "query"), ("logman", "record"), ("perfmon", "monitor")];

fn describe(error: &clap::Error, form: &WindowsForm) -> String {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
        _ => None,
    };
    let caller = form.command.as_ref().map_or("tacho".to_owned(), |command| full_name(command, form));
    let caller = caller.as_str();
    let argument = text(ContextKind::InvalidArg).unwrap_or_default();
    let option = option_text(argument, form);
    let value = text(ContextKind::InvalidValue).unwrap_or_default();
    match error.kind() {
        ErrorKind::InvalidValue if value.is_empty() => match valid_values(error) {
            Some(valid) => format!("{option} needs a value: {valid}"),
            None => format!("{option} needs a value"),
        },
        ErrorKind::InvalidValue => match valid_values(error) {
            Some(valid) => format!("{option} {value}: must be {valid}"),
            None => format!("{option} {value}: invalid value"),
        },
        ErrorKind::ValueValidation => match std::error::Error::source(error) {
            Some(cause) => {
                let cause = plain_cause(&cause.to_string());
                // Some messages begin with the value.
                match cause.strip_prefix(value).filter(|rest| !value.is_empty() && rest.starts_with(':')) {
                    Some(rest) => format!("{option} {value}{rest}"),
                    None => format!("{option} {}: {cause}", visible(value)),
                }
            }
            None => format!("{option} {}: invalid value", visible(value)),
        },
        ErrorKind::TooManyValues => format!("{option} does not accept a value ('{value}')"),
        ErrorKind::UnknownArgument if argument.starts_with('-') => match text(ContextKind::SuggestedArg) {
            Some(near) => format!("'{caller}' has no option {option}: did you mean {near}?"),
            None => format!("'{caller}' has no option {option}"),
        },
        ErrorKind::UnknownArgument if caller == "cpi" => {
            format!(
                "'cpi' does not accept '{argument}': write a command after --, as in 'tacho cpi -- {argument}'"
            )
        }
        ErrorKind::UnknownArgument => format!("'{caller}' does not accept '{argument}'"),
        ErrorKind::InvalidSubcommand => {
            let word = text(ContextKind::InvalidSubcommand).unwrap_or_default();
            if let Some((tool, command)) =
                WINDOWS_TOOLS.iter().find(|(tool, _)| word.eq_ignore_ascii_case(tool))
            {
                return format!("unknown command '{word}': use 'tacho {command}' instead of Windows' {tool}");
            }
            if word.starts_with('\\') {
                return format!(
                    "'{word}' is a counter path, not a command: use 'tacho query PATH' or 'tacho monitor PATH'"
                );
            }
            let commands = Arguments::command();
            match closest(word, commands.get_subcommands().map(Command::get_name)) {
                Some(near) => format!("unknown command '{word}': did you mean '{near}'?"),
                None => format!("unknown command '{word}'"),
            }
        }
        ErrorKind::MissingRequiredArgument => match trace_option(argument, form) {
            Some(option) => format!("{option} needs {}", missing_argument(argument, form)),
            None => format!("'{caller}' needs {}", missing_argument(argument, form)),
        },
        ErrorKind::MissingSubcommand => match error.get(ContextKind::ValidSubcommand) {
            Some(ContextValue::Strings(actions)) => {
                let actions: Vec<_> =
                    actions.iter().map(String::as_str).filter(|&name| name != "help").collect();
                format!("'{caller}' needs an action: {}", alternatives(&actions).unwrap_or_default())
            }
            _ => format!("'{caller}' needs an action"),
        },
        ErrorKind::ArgumentConflict => {
            let other = text(ContextKind::PriorArg).unwrap_or_default();
            format!("{option} and {} cannot be used together: use one of them", option_text(other, form))
        }
        _ => {
            let text = error.render().to_string();
            let line = text.lines().next().unwrap_or_default();
            line.strip_prefix("error: ").unwrap_or(line).to_owned()
        }
    }
}

/// The name of a command, with that of its action: `archive compact`.
fn full_name(command: &Command, form: &WindowsForm) -> String {
    let words = form.arguments.iter().filter_map(|word| word.to_str());
    let mut words = words.skip_while(|word| *word != command.get_name()).skip(1);
    match words.find_map(|word| command.find_subcommand(word)) {
        Some(action) => format!("{} {}", command.get_name(), action.get_name()),
        None => command.get_name().to_owned(),
    }
}

/// The long name in clap's form of an argument: `interval` for `--interval <TIME>`.
fn long_name(argument: &str) -> Option<&str> {
    let name = argument.strip_prefix("--")?;
    let end = name.find([' ', '=', '[']).unwrap_or(name.len());
    Some(&name[..end])
}

/// An option as the user wrote it.
fn option_text(argument: &str, form: &WindowsForm) -> String {
    // clap shows repeatable operands as `[FILE]...`, or as `<FILE>...` if required.
    let operand = argument.strip_suffix("...").map(|operand| operand.replace(['[', ']', '<', '>'], ""));
    long_name(argument)
        .map_or_else(|| operand.unwrap_or_else(|| argument.to_owned()), |long| form.typed(long))
}

/// A value in a message: `''` if it is empty.
fn visible(value: &str) -> &str {
    if value.is_empty() { "''" } else { value }
}

/// If `--trace` is missing, the option of `cpi` that requires it. clap does not report that option.
fn trace_option<'a>(missing: &str, form: &'a WindowsForm) -> Option<&'a str> {
    let options = form.arguments.iter().take_while(|word| *word != "--").filter_map(|word| word.to_str());
    let mut options = options.map(|word| word.split_once('=').map_or(word, |(name, _)| name));
    let is_match = |option: &&str| matches!(*option, "--label" | "--minor" | "--summary" | "--detailed");
    options.find(is_match).filter(|_| long_name(missing) == Some("trace"))
}

/// Formats a missing argument: `-o LOG`.
fn missing_argument(argument: &str, form: &WindowsForm) -> String {
    let placeholder = argument.split_once(' ').filter(|_| long_name(argument).is_some());
    let Some((_, placeholder)) = placeholder else { return argument.replace(['<', '>'], "") };
    format!("{} {}", option_text(argument, form), placeholder.trim_matches(['<', '>']))
}

/// The values that an option accepts.
fn valid_values(error: &clap::Error) -> Option<String> {
    let Some(ContextValue::Strings(values)) = error.get(ContextKind::ValidValue) else { return None };
    alternatives(&values.iter().map(String::as_str).collect::<Vec<_>>())
}

/// Joins words: `a, b or c`.
fn alternatives(words: &[&str]) -> Option<String> {
    let (last, others) = words.split_last()?;
    Some(if others.is_empty() { (*last).to_owned() } else { format!("{} or {last}", others.join(", ")) })
}

/// Rewrites clap's `256 is not in 0..=255` as `must be from 0 to 255`, and the messages of the standard library about numbers.
fn plain_cause(cause: &str) -> String {
    match cause {
        "invalid digit found in string" | "cannot parse integer from empty string" => {
            return "must be a whole number".to_owned();
        }
        "number too large to fit in target type" => return "too large".to_owned(),
        "number too small to fit in target type" => return "too small".to_owned(),
        _ => {}
    }
    match cause.split_once(" is not in ").and_then(|(_, range)| range.split_once("..=")) {
        Some((least, most)) => format!("must be from {least} to {most}"),
        None => cause.to_owned(),
    }
}
