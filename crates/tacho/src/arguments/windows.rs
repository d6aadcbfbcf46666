//! The step before clap: options in Windows' form.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use super::Arguments;
use crate::failure::Failure;
use crate::settings;

/// An option of Windows' tools: its word behind one hyphen, the long name that clap knows it by, and what it takes.
struct WindowsOption(&'static str, &'static str, Takes);

/// What follows an option, beside what clap's definition says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Takes {
    /// What clap knows.
    Usual,
    /// A number or a time, or nothing. It is given to clap in one word (`--segment=1:00`).
    NumberOrNothing,
    /// Nothing by itself: what stands behind it is an operand of the command.
    Operand,
}

/// The options of typeperf, relog and logman that this command has, those of the old cpi, and ours that are no single
/// letters. Letters are clap's own; they stand here for settings files.
const OPTIONS: [WindowsOption; 27] = [
    WindowsOption("a", "append", Takes::Usual),
    WindowsOption("b", "begin", Takes::Usual),
    WindowsOption("c", "counter", Takes::Usual),
    WindowsOption("cf", "counter-file", Takes::Usual),
    WindowsOption("circular", "circular", Takes::Usual),
    WindowsOption("cnf", "segment", Takes::NumberOrNothing),
    WindowsOption("config", "config", Takes::Usual),
    WindowsOption("d", "duration", Takes::Usual),
    WindowsOption("ds", "system-only", Takes::Usual),
    WindowsOption("e", "end", Takes::Usual),
    WindowsOption("f", "format", Takes::Usual),
    WindowsOption("max", "max-size", Takes::Usual),
    WindowsOption("noai", "no-utilization", Takes::Usual),
    WindowsOption("o", "output", Takes::Usual),
    WindowsOption("ow", "yes", Takes::Usual),
    WindowsOption("prefix", "prefix", Takes::Usual),
    WindowsOption("q", "query", Takes::Operand),
    WindowsOption("qx", "query-instances", Takes::Operand),
    WindowsOption("rf", "duration", Takes::Usual),
    WindowsOption("s", "machine", Takes::Usual),
    WindowsOption("sc", "samples", Takes::Usual),
    WindowsOption("segment", "segment", Takes::NumberOrNothing),
    WindowsOption("si", "interval", Takes::Usual),
    WindowsOption("t", "every", Takes::Usual),
    WindowsOption("ts", "timestamp", Takes::Usual),
    // For `list` a switch, for `record` the number of a file's name.
    WindowsOption("v", "v", Takes::Operand),
    WindowsOption("y", "yes", Takes::Usual),
];

/// What the option of a word or of a long name takes.
pub(crate) fn takes(name: &str) -> Takes {
    let found = OPTIONS.iter().find(|WindowsOption(word, long, _)| name == *word || name == *long);
    found.map_or(Takes::Usual, |&WindowsOption(_, _, takes)| takes)
}

/// How an option of this name is written: `-cf`, `--counter-file`, `-f`.
pub(crate) fn with_hyphens(name: &str) -> String {
    let is_word = OPTIONS.iter().any(|WindowsOption(word, ..)| name == *word);
    if is_word || name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// The option of a command that a word or a long name means.
pub(crate) fn option_of<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let long = long_of(name).unwrap_or(name);
    let letter = name.chars().next().filter(|_| name.len() == 1);
    let is_it = |arg: &&Arg| {
        let has_alias = arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&long));
        arg.get_long() == Some(long) || has_alias || letter.is_some() && arg.get_short() == letter
    };
    command.get_arguments().find(is_it)
}

fn long_of(word: &str) -> Option<&'static str> {
    let mut options = OPTIONS.iter();
    options.find(|WindowsOption(known, ..)| known.eq_ignore_ascii_case(word)).map(|option| option.1)
}

/// What a word means to the command that is called: a letter may mean something else to it than to most.
fn long_for(command: Option<&Command>, word: &str) -> Option<String> {
    let usual = long_of(word)?;
    let letter = word.chars().next().filter(|_| word.len() == 1 && usual != "v");
    let own = letter.zip(command).and_then(|(letter, command)| {
        let is_it = |arg: &&Arg| arg.get_short() == Some(letter.to_ascii_lowercase());
        command.get_arguments().find(is_it)?.get_long()
    });
    Some(own.unwrap_or(usual).to_owned())
}

/// An argument that is an option.
struct Written<'a> {
    /// As it stands there, without a value.
    typed: &'a str,
    /// As clap knows it, with hyphens.
    name: String,
    /// Its long name.
    long: String,
    /// What stands behind `=`.
    value: Option<&'a str>,
}

impl<'a> Written<'a> {
    fn of(argument: &'a str, command: Option<&Command>) -> Option<Self> {
        let (typed, value) = match argument.split_once('=') {
            Some((typed, value)) => (typed, Some(value)),
            None => (argument, None),
        };
        if let Some(long) = typed.strip_prefix("--") {
            return Some(Self { typed, name: typed.to_owned(), long: long.to_owned(), value });
        }
        let word = typed.strip_prefix('-').filter(|word| !word.is_empty())?;
        let long = long_for(command, word)?;
        // A letter by itself is clap's (`-V` is not `-v`), and means different options to different commands.
        let name = match (word.len(), value) {
            (1, None) => typed.to_owned(),
            (1, Some(_)) if long == "v" => typed.to_ascii_lowercase(),
            _ => format!("--{long}"),
        };
        Some(Self { typed, name, long, value })
    }

    fn whole(self) -> OsString {
        self.value.map_or_else(|| self.name.clone(), |value| format!("{}={value}", self.name)).into()
    }
}

/// Arguments in clap's form, and how their options were written.
pub(crate) struct WindowsForm {
    pub(crate) arguments: Vec<OsString>,
    /// Those of the command line alone, without settings files.
    pub(crate) given: Vec<OsString>,
    /// The definition of the command that is called, where one is.
    pub(crate) command: Option<Command>,
    /// Long names, and what was written for them.
    typed: Vec<(String, String)>,
    settings_files: usize,
}

/// Rewrites Windows' forms into clap's: words behind one hyphen (`-cf`, `-si`, `-SI=1`), `/?`, times of several words
/// (`-b 2/19/2013 6:50:17 PM`), and `-config`, whose options stand before all others, so that those hold.
pub(crate) fn windows_form(arguments: impl Iterator<Item = OsString>) -> Result<WindowsForm, Failure> {
    let mut before: Vec<OsString> = Vec::new();
    let mut given: VecDeque<OsString> = arguments.collect();
    let mut definition = Arguments::command();
    definition.build();
    let mut form = WindowsForm {
        arguments: Vec::new(),
        given: Vec::new(),
        command: None,
        typed: Vec::new(),
        settings_files: 0,
    };
    let is_command =
        |word: &OsString| word.to_str().is_some_and(|word| definition.find_subcommand(word).is_some());
    if let Some(place) = given.iter().skip(1).position(is_command) {
        form.command = given[place + 1].to_str().and_then(|name| definition.find_subcommand(name)).cloned();
        let rest = given.split_off(place + 2);
        before.extend(std::mem::replace(&mut given, rest));
    }
    let mut settings = Vec::new();
    let rewritten = form.rewrite(given, &mut settings)?;
    // What stands before the command can only be an option of none.
    form.arguments = form.rewrite(before.into(), &mut settings)?;
    form.given = form.arguments.iter().chain(&rewritten).cloned().collect();
    form.arguments.extend(settings);
    form.arguments.extend(rewritten);
    Ok(form)
}

impl WindowsForm {
    /// The arguments in clap's form; those of settings files go into `settings`.
    fn rewrite(
        &mut self,
        mut given: VecDeque<OsString>,
        settings: &mut Vec<OsString>,
    ) -> Result<Vec<OsString>, Failure> {
        let mut rewritten: Vec<OsString> = Vec::new();
        while let Some(argument) = given.pop_front() {
            if argument == "--" {
                rewritten.push(argument);
                rewritten.extend(given);
                break;
            }
            if argument == "/?" || argument == "-?" {
                rewritten.push("--help".into());
                continue;
            }
            let command = self.command.as_ref();
            let Some(option) = argument.to_str().and_then(|argument| Written::of(argument, command)) else {
                rewritten.push(argument);
                continue;
            };
            let long = option.long.as_str();
            self.typed.push((long.to_owned(), option.typed.to_owned()));
            if long == "config" {
                let file = option.value.map(OsString::from).or_else(|| given.pop_front());
                let Some(file) = file else {
                    return Err(Failure::usage("-config needs the name of a file"));
                };
                self.read_settings(Path::new(&file), settings)?;
                continue;
            }
            match (takes(long), option.value) {
                (Takes::NumberOrNothing, None) => {
                    let mut whole = OsString::from(&option.name);
                    if given.front().is_some_and(is_number) {
                        whole.push("=");
                        whole.extend(given.pop_front());
                    }
                    rewritten.push(whole);
                }
                // For clap a switch, and an operand.
                (Takes::Operand, Some(value)) if long != "v" => {
                    rewritten.extend([option.name.clone().into(), value.into()]);
                }
                _ => {
                    let (is_time, has_value) = (matches!(long, "begin" | "end"), option.value.is_some());
                    let mut whole = option.whole();
                    if is_time && has_value {
                        whole = time_of_words(whole, &mut given);
                    }
                    rewritten.push(whole);
                    if is_time
                        && !has_value
                        && let Some(first) = given.pop_front()
                    {
                        rewritten.push(time_of_words(first, &mut given));
                    }
                }
            }
        }
        Ok(rewritten)
    }

    fn read_settings(&mut self, file: &Path, settings: &mut Vec<OsString>) -> Result<(), Failure> {
        self.settings_files += 1;
        if self.settings_files > 16 {
            return Err(Failure::usage("-config: settings files refer to each other without end"));
        }
        for setting in settings::read(file, self.command.as_ref())? {
            let from = self.typed.len();
            let words = self.rewrite(VecDeque::from([setting.argument.into()]), settings)?;
            settings.extend(words);
            // One that was read by this one has said its own place.
            if let [(_, typed)] = &mut self.typed[from..] {
                *typed = setting.place;
            }
        }
        Ok(())
    }

    /// How the option of a long name was written; one that was not, in its shortest form.
    pub(crate) fn typed(&self, long: &str) -> String {
        if let Some((_, typed)) = self.typed.iter().rev().find(|(known, _)| known == long) {
            return typed.clone();
        }
        let option = self.command.as_ref().and_then(|command| option_of(command, long));
        if let Some(letter) = option.and_then(Arg::get_short) {
            return format!("-{letter}");
        }
        let word = OPTIONS.iter().find(|WindowsOption(_, known, _)| *known == long);
        word.map_or_else(|| format!("--{long}"), |WindowsOption(word, ..)| format!("-{word}"))
    }
}

fn is_number(word: &OsString) -> bool {
    word.to_str().is_some_and(|word| word.starts_with(|c: char| c.is_ascii_digit()))
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
        let form = windows_form(words).unwrap_or_else(|failure| panic!("{failure:?}"));
        let words: Vec<_> =
            form.arguments.into_iter().map(|word| word.into_string().expect("UTF-8")).collect();
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
        becomes("tacho query -?", &["tacho", "query", "--help"]);
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
    fn letters_mean_what_the_command_says() {
        becomes(
            "tacho cpi -s=1 -r=2 -T=3 -c=x -f=csv -ts -DS -noai",
            &[
                "tacho",
                "cpi",
                "--start-after=1",
                "-r=2",
                "--interval=3",
                "--command=x",
                "--format=csv",
                "--timestamp",
                "--system-only",
                "--no-utilization",
            ],
        );
        becomes("tacho cpi -t 1 -- x -ts -cf y", &["tacho", "cpi", "-t", "1", "--", "x", "-ts", "-cf", "y"]);
        becomes("tacho query -s=x", &["tacho", "query", "--machine=x"]);
    }

    #[test]
    fn a_number_or_nothing() {
        becomes("tacho record -cnf 1:00 -a", &["tacho", "record", "--segment=1:00", "-a"]);
        becomes(r"tacho record -cnf \M\C", &["tacho", "record", "--segment", r"\M\C"]);
        becomes("tacho record --segment 5MB", &["tacho", "record", "--segment=5MB"]);
        becomes("tacho record --segment=5MB", &["tacho", "record", "--segment=5MB"]);
    }

    #[test]
    fn values_behind_an_equals_sign() {
        becomes(
            "tacho record -Segment=1 -si=0.1 -CF=x -cnf=1 -max=5 -rf=1 -O=a.blg",
            &[
                "tacho",
                "record",
                "--segment=1",
                "--interval=0.1",
                "--counter-file=x",
                "--segment=1",
                "--max-size=5",
                "--duration=1",
                "--output=a.blg",
            ],
        );
        becomes("tacho query -qx=Memory -y", &["tacho", "query", "--query-instances", "Memory", "-y"]);
        becomes(
            "tacho relog x -b=2/19/2013 6:50:17 PM",
            &["tacho", "relog", "x", "--begin=2/19/2013 6:50:17 PM"],
        );
        becomes("tacho list \\a=b -v=x", &["tacho", "list", "\\a=b", "-v=x"]);
    }
}
