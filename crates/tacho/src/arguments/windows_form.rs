//! Rewrites options in Windows' form (`-cf FILE`) into a form that clap can parse.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::path::Path;

use clap::{Arg, Command, CommandFactory as _};

use super::Arguments;
use super::implied_monitor::insert_monitor;
use crate::failure::Failure;
use crate::settings;

/// An option of Windows' tools: its name after one hyphen, clap's long name, and what kind of value it has.
struct WindowsOption(&'static str, &'static str, OptionValue);

/// The kind of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OptionValue {
    /// As in clap's definition.
    AsDefined,
    /// An optional value that is not a counter path. It is passed to clap in the same word as the option (`--segment=1:00`).
    OptionalValue,
    /// No value: the next word is an operand of the command.
    Operand,
}

/// The supported options of typeperf, relog, logman and Performance Inspector's cpi, and Tachograph's own options with
/// several letters after one hyphen. clap can parse single letters without this table, but settings files need them.
const OPTIONS: [WindowsOption; 27] = [
    WindowsOption("a", "append", OptionValue::AsDefined),
    WindowsOption("b", "begin", OptionValue::AsDefined),
    WindowsOption("c", "counter", OptionValue::AsDefined),
    WindowsOption("cf", "counter-file", OptionValue::AsDefined),
    WindowsOption("circular", "circular", OptionValue::AsDefined),
    WindowsOption("cnf", "segment", OptionValue::OptionalValue),
    WindowsOption("config", "config", OptionValue::AsDefined),
    WindowsOption("d", "duration", OptionValue::AsDefined),
    WindowsOption("ds", "system-only", OptionValue::AsDefined),
    WindowsOption("e", "end", OptionValue::AsDefined),
    WindowsOption("f", "format", OptionValue::AsDefined),
    WindowsOption("max", "max-size", OptionValue::AsDefined),
    WindowsOption("noai", "no-utilization", OptionValue::AsDefined),
    WindowsOption("o", "output", OptionValue::AsDefined),
    WindowsOption("ow", "yes", OptionValue::AsDefined),
    WindowsOption("prefix", "prefix", OptionValue::AsDefined),
    WindowsOption("q", "query", OptionValue::Operand),
    WindowsOption("qx", "query-instances", OptionValue::Operand),
    WindowsOption("rf", "duration", OptionValue::AsDefined),
    WindowsOption("s", "machine", OptionValue::AsDefined),
    WindowsOption("sc", "samples", OptionValue::AsDefined),
    WindowsOption("segment", "segment", OptionValue::OptionalValue),
    WindowsOption("si", "interval", OptionValue::AsDefined),
    WindowsOption("t", "every", OptionValue::AsDefined),
    WindowsOption("ts", "timestamp", OptionValue::AsDefined),
    // A flag in `list`; in `record`, the suffix of file names.
    WindowsOption("v", "v", OptionValue::Operand),
    WindowsOption("y", "yes", OptionValue::AsDefined),
];

/// The kind of an option's value, by the option's Windows name or long name.
pub(crate) fn option_value(name: &str) -> OptionValue {
    let found = OPTIONS.iter().find(|WindowsOption(word, long, _)| name == *word || name == *long);
    found.map_or(OptionValue::AsDefined, |&WindowsOption(_, _, value)| value)
}

/// An option with its hyphens: `-cf`, `--counter-file`, `-f`.
pub(crate) fn with_hyphens(name: &str) -> String {
    let is_word = OPTIONS.iter().any(|WindowsOption(word, ..)| name == *word);
    if is_word || name.len() == 1 { format!("-{name}") } else { format!("--{name}") }
}

/// Finds an option of a command by its Windows name or its long name.
pub(crate) fn find_option<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    let long = long_name(name).unwrap_or(name);
    let letter = name.chars().next().filter(|_| name.len() == 1);
    let is_match = |arg: &&Arg| {
        let has_alias = arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&long));
        arg.get_long() == Some(long) || has_alias || letter.is_some() && arg.get_short() == letter
    };
    command.get_arguments().find(is_match)
}

fn long_name(word: &str) -> Option<&'static str> {
    let mut options = OPTIONS.iter();
    options.find(|WindowsOption(known, ..)| known.eq_ignore_ascii_case(word)).map(|option| option.1)
}

/// The long name of a Windows option. A single letter can mean a different option in this command.
fn long_name_for(command: Option<&Command>, word: &str) -> Option<String> {
    let usual = long_name(word)?;
    let letter = word.chars().next().filter(|_| word.len() == 1 && usual != "v");
    let own = letter.zip(command).and_then(|(letter, command)| {
        let is_match = |arg: &&Arg| arg.get_short() == Some(letter.to_ascii_lowercase());
        command.get_arguments().find(is_match)?.get_long()
    });
    Some(own.unwrap_or(usual).to_owned())
}

/// An option on the command line.
pub(super) struct TypedOption<'a> {
    /// The option as the user wrote it, without the value.
    typed: &'a str,
    /// The option in clap's form, with hyphens.
    name: String,
    pub(super) long: String,
    /// The text after `=`.
    value: Option<&'a str>,
}

impl<'a> TypedOption<'a> {
    pub(super) fn parse(argument: &'a str, command: Option<&Command>) -> Option<Self> {
        let (typed, value) = match argument.split_once('=') {
            Some((typed, value)) => (typed, Some(value)),
            None => (argument, None),
        };
        if let Some(long) = typed.strip_prefix("--") {
            return Some(Self { typed, name: typed.to_owned(), long: long.to_owned(), value });
        }
        let word = typed.strip_prefix('-').filter(|word| !word.is_empty())?;
        let long = long_name_for(command, word)?;
        // clap handles a single letter: it is case-sensitive (`-V`, `-v`) and depends on the command.
        let name = match (word.len(), value) {
            (1, None) => typed.to_owned(),
            (1, Some(_)) if long == "v" => typed.to_ascii_lowercase(),
            _ => format!("--{long}"),
        };
        Some(Self { typed, name, long, value })
    }

    fn into_word(self) -> OsString {
        self.value.map_or_else(|| self.name.clone(), |value| format!("{}={value}", self.name)).into()
    }
}

/// Arguments in clap's form, with the user's spelling of each option.
pub(crate) struct WindowsForm {
    pub(crate) arguments: Vec<OsString>,
    /// The arguments without those from settings files.
    pub(crate) command_line: Vec<OsString>,
    /// The definition of the command, if the arguments name one.
    pub(crate) command: Option<Command>,
    /// The long name of each option, and the user's spelling.
    typed: Vec<(String, String)>,
    settings_files: usize,
}

/// Rewrites Windows' form into clap's: words after one hyphen (`-cf`, `-si`, `-SI=1`), `/?`, times of several words
/// (`-b 2/19/2013 6:50:17 PM`), `-config`, whose options are placed first so that the command line overrides them, and a
/// log or an option of `monitor` without a command.
pub(crate) fn windows_form(arguments: impl Iterator<Item = OsString>) -> Result<WindowsForm, Failure> {
    let mut before: Vec<OsString> = Vec::new();
    let mut words: VecDeque<OsString> = arguments.collect();
    let mut definition = Arguments::command();
    definition.build();
    insert_monitor(&definition, &mut words);
    let mut form = WindowsForm {
        arguments: Vec::new(),
        command_line: Vec::new(),
        command: None,
        typed: Vec::new(),
        settings_files: 0,
    };
    let is_command =
        |word: &OsString| word.to_str().is_some_and(|word| definition.find_subcommand(word).is_some());
    if let Some(index) = words.iter().skip(1).position(is_command) {
        form.command = words[index + 1].to_str().and_then(|name| definition.find_subcommand(name)).cloned();
        let rest = words.split_off(index + 2);
        before.extend(std::mem::replace(&mut words, rest));
    }
    let mut settings = Vec::new();
    let rewritten = form.rewrite(words, &mut settings)?;
    form.arguments = form.rewrite(before.into(), &mut settings)?;
    form.command_line = form.arguments.iter().chain(&rewritten).cloned().collect();
    form.arguments.extend(settings);
    form.arguments.extend(rewritten);
    Ok(form)
}

impl WindowsForm {
    /// Rewrites arguments; adds those from settings files to `settings`.
    fn rewrite(
        &mut self,
        mut words: VecDeque<OsString>,
        settings: &mut Vec<OsString>,
    ) -> Result<Vec<OsString>, Failure> {
        let mut rewritten: Vec<OsString> = Vec::new();
        while let Some(argument) = words.pop_front() {
            if argument == "--" {
                rewritten.push(argument);
                rewritten.extend(words);
                break;
            }
            if argument == "/?" || argument == "-?" {
                rewritten.push("--help".into());
                continue;
            }
            let command = self.command.as_ref();
            let Some(option) = argument.to_str().and_then(|argument| TypedOption::parse(argument, command))
            else {
                rewritten.push(argument);
                continue;
            };
            let long = option.long.as_str();
            self.typed.push((long.to_owned(), option.typed.to_owned()));
            if long == "config" {
                let file = option.value.map(OsString::from).or_else(|| words.pop_front());
                let Some(file) = file.filter(|file| !file.is_empty()) else {
                    return Err(Failure::usage("-config needs the name of a file"));
                };
                self.read_settings(Path::new(&file), settings)?;
                continue;
            }
            match (option_value(long), option.value) {
                (OptionValue::OptionalValue, None) => {
                    let mut word = OsString::from(&option.name);
                    if words.front().is_some_and(is_value) {
                        word.push("=");
                        word.extend(words.pop_front());
                    }
                    rewritten.push(word);
                }
                // To clap, this is a flag followed by an operand.
                (OptionValue::Operand, Some(value)) if long != "v" => {
                    rewritten.extend([option.name.clone().into(), value.into()]);
                }
                _ if !matches!(long, "begin" | "end") => rewritten.push(option.into_word()),
                (_, Some(_)) => rewritten.push(join_time(option.into_word(), &mut words)),
                (_, None) => match words.pop_front() {
                    // clap would take the minus of `-b -10m` as that of an option.
                    Some(first) if is_negative(&first) => {
                        let mut word = option.into_word();
                        word.push("=");
                        word.push(first);
                        rewritten.push(word);
                    }
                    Some(first) => rewritten.extend([option.into_word(), join_time(first, &mut words)]),
                    None => rewritten.push(option.into_word()),
                },
            }
        }
        Ok(rewritten)
    }

    fn read_settings(&mut self, file: &Path, settings: &mut Vec<OsString>) -> Result<(), Failure> {
        self.settings_files += 1;
        if self.settings_files > 16 {
            return Err(Failure::usage("-config: settings files include each other endlessly"));
        }
        for setting in settings::read(file, self.command.as_ref())? {
            let from = self.typed.len();
            let words = self.rewrite(VecDeque::from([setting.argument.into()]), settings)?;
            settings.extend(words);
            // Options from a nested settings file already have their own locations.
            if let [(_, typed)] = &mut self.typed[from..] {
                *typed = setting.location;
            }
        }
        Ok(())
    }

    /// The user's spelling of an option; its shortest form if the user did not write it.
    pub(crate) fn typed(&self, long: &str) -> String {
        if let Some((_, typed)) = self.typed.iter().rev().find(|(known, _)| known == long) {
            return typed.clone();
        }
        let option = self.command.as_ref().and_then(|command| find_option(command, long));
        if let Some(letter) = option.and_then(Arg::get_short) {
            return format!("-{letter}");
        }
        let word = OPTIONS.iter().find(|WindowsOption(_, known, _)| *known == long);
        word.map_or_else(|| format!("--{long}"), |WindowsOption(word, ..)| format!("-{word}"))
    }
}

/// Whether a word is the value of the option before it: neither a counter path nor an option.
fn is_value(word: &OsString) -> bool {
    is_negative(word) || word.to_str().is_some_and(|word| !word.starts_with(['\\', '-']))
}

/// Whether a word is a minus and a number, such as `-10m`.
fn is_negative(word: &OsString) -> bool {
    let digits = word.to_str().and_then(|word| word.strip_prefix('-'));
    digits.is_some_and(|digits| digits.starts_with(|c: char| c.is_ascii_digit()))
}

/// Joins the words of a time.
fn join_time(first: OsString, words: &mut VecDeque<OsString>) -> OsString {
    let mut time = first;
    while words.front().and_then(|next| next.to_str()).is_some_and(continues_time) {
        time.push(" ");
        time.extend(words.pop_front());
    }
    time
}

/// Whether a word continues a time: `6:50:17`, `PM`.
fn continues_time(word: &str) -> bool {
    let is_clock = word.contains(':') && word.chars().all(|c| c.is_ascii_digit() || matches!(c, ':' | '.'));
    is_clock || word.eq_ignore_ascii_case("am") || word.eq_ignore_ascii_case("pm")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_rewritten(arguments: &str, expected: &[&str]) {
        let words = arguments.split(' ').map(OsString::from);
        let form = windows_form(words).unwrap_or_else(|failure| panic!("{failure:?}"));
        let words: Vec<_> =
            form.arguments.into_iter().map(|word| word.into_string().expect("UTF-8")).collect();
        assert_eq!(words, expected);
    }

    #[test]
    fn the_words_of_a_time_are_joined() {
        assert_rewritten(
            "tacho relog a.blg -cf x -b 2/19/2013 6:50:17 PM -e x",
            &["tacho", "relog", "a.blg", "--counter-file", "x", "-b", "2/19/2013 6:50:17 PM", "-e", "x"],
        );
        assert_rewritten("tacho stats a -b -10m -e -5", &["tacho", "stats", "a", "-b=-10m", "-e=-5"]);
        assert_rewritten("tacho stats a -b -c", &["tacho", "stats", "a", "-b", "-c"]);
    }

    #[test]
    fn options_with_one_hyphen_get_their_long_names() {
        assert_rewritten("tacho /?", &["tacho", "--help"]);
        assert_rewritten("tacho query -?", &["tacho", "query", "--help"]);
        assert_rewritten("tacho list -- -cf", &["tacho", "list", "--", "-cf"]);
        assert_rewritten(
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
        assert_rewritten(
            "tacho record -rf 10 -max 5 -ow -circular",
            &["tacho", "record", "--duration", "10", "--max-size", "5", "--yes", "--circular"],
        );
        // In logman, two hyphens negate an option; here, they start a long name.
        assert_rewritten("tacho record --max --ow", &["tacho", "record", "--max", "--ow"]);
    }

    #[test]
    fn a_letter_is_an_option_of_the_command() {
        assert_rewritten(
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
        assert_rewritten(
            "tacho cpi -t 1 -- x -ts -cf y",
            &["tacho", "cpi", "-t", "1", "--", "x", "-ts", "-cf", "y"],
        );
        assert_rewritten("tacho query -s=x", &["tacho", "query", "--machine=x"]);
    }

    #[test]
    fn the_value_of_segment_can_be_omitted() {
        assert_rewritten("tacho record -cnf 1:00 -a", &["tacho", "record", "--segment=1:00", "-a"]);
        assert_rewritten(r"tacho record -cnf \M\C", &["tacho", "record", "--segment", r"\M\C"]);
        assert_rewritten("tacho record --segment 5MB", &["tacho", "record", "--segment=5MB"]);
        assert_rewritten("tacho record --segment=5MB", &["tacho", "record", "--segment=5MB"]);
    }

    #[test]
    fn values_after_an_equals_sign_are_accepted() {
        assert_rewritten(
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
        assert_rewritten(
            "tacho query -qx=Memory -y",
            &["tacho", "query", "--query-instances", "Memory", "-y"],
        );
        assert_rewritten(
            "tacho relog x -b=2/19/2013 6:50:17 PM",
            &["tacho", "relog", "x", "--begin=2/19/2013 6:50:17 PM"],
        );
        assert_rewritten("tacho list \\a=b -v=x", &["tacho", "list", "\\a=b", "-v=x"]);
    }
}
