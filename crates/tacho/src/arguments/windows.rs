//! The step before clap: options in Windows' form.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;

use crate::failure::Failure;
use crate::settings;

/// An option of Windows' tools: its word behind one hyphen, the long name that clap knows it by, and what it takes.
struct WindowsOption(&'static str, &'static str, Takes);

/// What follows an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// Nothing: a switch.
    Nothing,
    /// A value.
    Value,
    /// A number or a time, or nothing. It is given to clap in one word (`--segment=1:00`).
    NumberOrNothing,
    /// Nothing by itself: what stands behind it is an operand of the command.
    Operand,
}

/// The options of typeperf, relog and logman that this command has, and ours that are no single letters. Letters are
/// clap's own; they stand here for settings files.
const OPTIONS: [WindowsOption; 25] = [
    WindowsOption("a", "append", Takes::Nothing),
    WindowsOption("b", "begin", Takes::Value),
    WindowsOption("c", "counter", Takes::Value),
    WindowsOption("cf", "counter-file", Takes::Value),
    WindowsOption("circular", "circular", Takes::Nothing),
    WindowsOption("cnf", "segment", Takes::NumberOrNothing),
    WindowsOption("config", "config", Takes::Value),
    WindowsOption("d", "duration", Takes::Value),
    WindowsOption("e", "end", Takes::Value),
    WindowsOption("f", "format", Takes::Value),
    WindowsOption("max", "max-size", Takes::Value),
    WindowsOption("o", "output", Takes::Value),
    WindowsOption("ow", "yes", Takes::Nothing),
    WindowsOption("q", "query", Takes::Operand),
    WindowsOption("qx", "query-instances", Takes::Operand),
    WindowsOption("rf", "duration", Takes::Value),
    WindowsOption("s", "machine", Takes::Value),
    WindowsOption("sc", "samples", Takes::Value),
    WindowsOption("segment", "segment", Takes::NumberOrNothing),
    WindowsOption("si", "interval", Takes::Value),
    WindowsOption("t", "every", Takes::Value),
    // For `list` a switch, for `record` the number of a file's name.
    WindowsOption("v", "v", Takes::Operand),
    WindowsOption("y", "yes", Takes::Nothing),
    WindowsOption("across", "across", Takes::Value),
    WindowsOption("salvage", "salvage", Takes::Value),
];

/// What the option of a word or of a long name takes; a word that is no option of Windows is a switch.
pub(crate) fn takes(name: &str) -> Takes {
    let found = OPTIONS.iter().find(|WindowsOption(word, long, _)| name == *word || name == *long);
    found.map_or(Takes::Nothing, |&WindowsOption(_, _, takes)| takes)
}

/// How an option of this name is written: `-cf`, `--counter-file`, `-f`.
pub(crate) fn with_hyphens(name: &str) -> String {
    let is_word = OPTIONS.iter().any(|WindowsOption(word, ..)| name == *word);
    if is_word || name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// The option that an argument is, where it is a word behind one hyphen, in any case.
fn word(argument: &str) -> Option<&'static WindowsOption> {
    let name = argument.strip_prefix('-').filter(|name| name.len() > 1)?;
    OPTIONS.iter().find(|WindowsOption(word, ..)| name.eq_ignore_ascii_case(word))
}

/// Rewrites Windows' forms into clap's: words behind one hyphen (`-cf`, `-si`), `-config` (with the file's options put in
/// its place), `/?`, and times of several words (`-b 2/19/2013 6:50:17 PM`). What has two hyphens is left alone.
pub(crate) fn windows_form(arguments: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, Failure> {
    let mut rewritten: Vec<OsString> = Vec::new();
    let mut given: VecDeque<OsString> = arguments.collect();
    let mut settings_files = 0;
    while let Some(argument) = given.pop_front() {
        let Some(text) = argument.to_str() else {
            rewritten.push(argument);
            continue;
        };
        let option = word(text);
        let long = option.map_or_else(|| text.strip_prefix("--"), |&WindowsOption(_, long, _)| Some(long));
        if text == "--" {
            rewritten.push(argument);
            rewritten.extend(given);
            break;
        } else if text == "/?" {
            rewritten.push("--help".into());
        } else if long == Some("config") {
            let Some(file) = given.pop_front() else {
                return Err(Failure::usage("-config needs the name of a file"));
            };
            settings_files += 1;
            if settings_files > 16 {
                return Err(Failure::usage("-config: settings files refer to each other without end"));
            }
            for setting in settings::read(Path::new(&file))?.into_iter().rev() {
                given.push_front(setting.into());
            }
        } else if let Some(long) = long.filter(|long| takes(long) == Takes::NumberOrNothing) {
            let mut whole = OsString::from(format!("--{long}"));
            let is_number = |next: &OsString| {
                next.to_str().is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()))
            };
            if given.front().is_some_and(is_number) {
                whole.push("=");
                whole.extend(given.pop_front());
            }
            rewritten.push(whole);
        } else if let Some(WindowsOption(_, long, _)) = option {
            rewritten.push(format!("--{long}").into());
        } else {
            let is_time = matches!(text, "-b" | "-e" | "--begin" | "--end");
            rewritten.push(argument);
            if is_time && let Some(first) = given.pop_front() {
                rewritten.push(time_of_words(first, &mut given));
            }
        }
    }
    Ok(rewritten)
}

/// A time with the words that belong to it.
fn time_of_words(first: OsString, given: &mut VecDeque<OsString>) -> OsString {
    let mut time = first;
    while given.front().and_then(|next| next.to_str()).is_some_and(continues_time) {
        time.push(" ");
        time.extend(given.pop_front());
    }
    time
}

/// Whether a word belongs to the time before it: `6:50:17`, `PM`.
fn continues_time(word: &str) -> bool {
    let is_clock = word.contains(':') && word.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    is_clock || word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn becomes(arguments: &str, expected: &[&str]) {
        let words = arguments.split(' ').map(OsString::from);
        let rewritten = windows_form(words).expect("no settings file");
        let words: Vec<_> = rewritten.into_iter().map(|word| word.into_string().expect("UTF-8")).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn times_of_several_words() {
        becomes(
            "tacho relog a.blg -cf x -b 2/19/2013 6:50:17 PM -e x",
            &["tacho", "relog", "a.blg", "--counter-file", "x", "-b", "2/19/2013 6:50:17 PM", "-e", "x"],
        );
    }

    #[test]
    fn words_behind_one_hyphen() {
        becomes("tacho /?", &["tacho", "--help"]);
        becomes("tacho list -- -cf", &["tacho", "list", "--", "-cf"]);
        becomes(
            "tacho query -SI 1:00 -sc 5 -qx x -f CSV",
            &[
                "tacho",
                "query",
                "--interval",
                "1:00",
                "--samples",
                "5",
                "--query-instances",
                "x",
                "-f",
                "CSV",
            ],
        );
        becomes(
            "tacho record -rf 10 -max 5 -ow -circular",
            &["tacho", "record", "--duration", "10", "--max-size", "5", "--yes", "--circular"],
        );
        // Logman's second hyphen negates.
        becomes("tacho record --max --ow", &["tacho", "record", "--max", "--ow"]);
    }

    #[test]
    fn a_number_or_nothing() {
        becomes("tacho record -cnf 1:00 -a", &["tacho", "record", "--segment=1:00", "-a"]);
        becomes(r"tacho record -cnf \M\C", &["tacho", "record", "--segment", r"\M\C"]);
        becomes("tacho record --segment 5MB", &["tacho", "record", "--segment=5MB"]);
        becomes("tacho record --segment=5MB", &["tacho", "record", "--segment=5MB"]);
    }
}
