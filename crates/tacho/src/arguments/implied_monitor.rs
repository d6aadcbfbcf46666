//! Command lines without a command that mean `tacho monitor`: `tacho server.blg`, `tacho --view cpu`.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Command;
use clap::error::ContextKind;
use tachograph_logs::archive::archive_inputs;

use super::windows_form::{TypedOption, find_option};
use super::{has_log_extension, is_sql_log};

const MONITOR: &str = "monitor";

/// Inserts the command `monitor` if the words name no command, and begin with a log or an option of `monitor`. `words`
/// begins with the name of the program.
pub(super) fn insert_monitor(definition: &Command, words: &mut VecDeque<OsString>) {
    let Some(monitor) = definition.find_subcommand(MONITOR) else { return };
    let is_command = |word: &OsString| definition.find_subcommand(word).is_some();
    let Some(first) = words.get(1).filter(|first| !is_command(first)) else { return };
    let is_implied = match first.to_str().filter(|first| first.starts_with('-')) {
        Some(option) => is_option_of(monitor, definition, option) && !words.iter().skip(2).any(is_command),
        None => is_log(first),
    };
    if is_implied {
        words.insert(1, MONITOR.into());
    }
}

/// Whether a word is an option of `monitor`, also with a spelling mistake, and not of `tacho` itself (`--help`).
fn is_option_of(monitor: &Command, definition: &Command, word: &str) -> bool {
    let option = TypedOption::parse(word, Some(monitor));
    option.is_some_and(|TypedOption { long, .. }| {
        find_option(definition, &long).is_none()
            && (find_option(monitor, &long).is_some() || resembles_option_of(monitor, word))
    })
}

/// Whether clap suggests an option of the command for this word, so that its message can name the option.
fn resembles_option_of(command: &Command, word: &str) -> bool {
    let parsed = command.clone().try_get_matches_from([command.get_name(), word]);
    parsed.is_err_and(|error| error.get(ContextKind::SuggestedArg).is_some())
}

/// Whether a word is a file, the folder of an archive, or a name that only logs have.
fn is_log(word: &OsStr) -> bool {
    let path = Path::new(word);
    path.is_file() || has_log_extension(path) || is_sql_log(path) || archive_inputs(path).is_ok()
}
