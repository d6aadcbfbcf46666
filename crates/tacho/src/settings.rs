//! Settings files (`-config`) in Windows' form: a line `[option]`, then a line with its value.

use std::collections::HashSet;
use std::path::Path;

use clap::{Arg, ArgAction, Command};
use tachograph_counters::wildcard::Pattern;

use crate::arguments::windows::{Takes, option_of, takes, with_hyphens};
use crate::failure::Failure;
use crate::path_file::{read_text, unquoted};

/// An argument from a settings file.
pub(crate) struct Setting {
    /// One word, also with a value: what follows a bare `-c` are further paths.
    pub(crate) argument: String,
    /// Where it stands: `set.txt, line 3: [si]`.
    pub(crate) place: String,
}

/// An option whose values follow.
struct Open {
    name: String,
    place: String,
    needs: Needs,
    /// Whether it takes one value and no more, in all the file.
    is_single: bool,
    has_value: bool,
}

/// What an option has behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Needs {
    Nothing,
    Operands,
    ValueOrNothing,
    Value,
    /// Files that the command reads.
    Inputs,
}

impl Open {
    fn new(name: String, place: String, command: Option<&Command>) -> Result<Self, Failure> {
        let is_input = |arg: &Arg| arg.is_positional() && INPUTS.iter().any(|id| arg.get_id() == id);
        let has_inputs = |command: &Command| command.get_arguments().any(is_input);
        let needs = match command {
            Some(command) if name == "i" && has_inputs(command) => Some(Needs::Inputs),
            Some(command) => option_of(command, &name).map(|arg| needs_of(arg, &name)),
            // Clap says what is missing.
            None => Some(Needs::Operands),
        };
        let Some(needs) = needs else {
            let command = command.map_or("tacho", Command::get_name);
            let place = place.trim_end_matches(&format!(": [{name}]")).to_owned();
            return Err(Failure::usage(format!("{place}: '{command}' has no option [{name}]")));
        };
        let is_set = |arg: &Arg| matches!(arg.get_action(), ArgAction::Set);
        let is_single = matches!(needs, Needs::Value | Needs::ValueOrNothing)
            && command.and_then(|command| option_of(command, &name)).is_some_and(is_set);
        Ok(Self { name, place, needs, is_single, has_value: false })
    }

    /// What it is with this value; nothing where it takes none.
    fn arguments(&mut self, value: &str) -> Option<Vec<String>> {
        self.has_value = true;
        match self.needs {
            Needs::Inputs => Some(inputs(value)),
            Needs::Value | Needs::ValueOrNothing => {
                Some(vec![format!("{}={value}", with_hyphens(&self.name))])
            }
            Needs::Operands => Some(vec![value.to_owned()]),
            Needs::Nothing => None,
        }
    }

    /// What it is beside its values.
    fn end(&self) -> Result<Option<String>, Failure> {
        match self.needs {
            Needs::Value | Needs::Inputs if !self.has_value => {
                Err(Failure::usage(format!("{} needs a value", self.place)))
            }
            Needs::ValueOrNothing if !self.has_value => Ok(Some(with_hyphens(&self.name))),
            Needs::Nothing | Needs::Operands => Ok(Some(with_hyphens(&self.name))),
            _ => Ok(None),
        }
    }
}

/// Operands that are logs to be read.
const INPUTS: [&str; 3] = ["files", "logs", "what"];

fn needs_of(arg: &Arg, name: &str) -> Needs {
    let takes_values = arg.get_action().takes_values();
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    match takes(name) {
        _ if takes_values && is_optional => Needs::ValueOrNothing,
        _ if takes_values => Needs::Value,
        Takes::Operand => Needs::Operands,
        _ => Needs::Nothing,
    }
}

/// The options of a settings file as arguments of a command. `[-i]` holds input files.
pub(crate) fn read(file: &Path, command: Option<&Command>) -> Result<Vec<Setting>, Failure> {
    let text = read_text(file)?;
    let mut settings = Vec::new();
    let mut open: Option<Open> = None;
    let mut singles = HashSet::new();
    let close = |open: Option<Open>, settings: &mut Vec<Setting>| -> Result<(), Failure> {
        if let Some(open) = open
            && let Some(argument) = open.end()?
        {
            settings.push(Setting { argument, place: open.place });
        }
        Ok(())
    };
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let place = format!("{}, line {}", file.display(), number + 1);
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            close(open.take(), &mut settings)?;
            let name = name.trim().trim_start_matches(['-', '/']).to_ascii_lowercase();
            let next = Open::new(name.clone(), format!("{place}: [{name}]"), command)?;
            if next.is_single && !singles.insert(long_name(command, &name)) {
                return Err(Failure::usage(format!("{} is given twice: give it once", next.place)));
            }
            open = Some(next);
            continue;
        }
        let Some(option) = &mut open else {
            return Err(Failure::usage(format!("{place}: a value before any [option]")));
        };
        if option.is_single && option.has_value {
            return Err(Failure::usage(format!("{place}: [{}] takes one value", option.name)));
        }
        let Some(arguments) = option.arguments(unquoted(line)) else {
            return Err(Failure::usage(format!("{place}: [{}] takes no value", option.name)));
        };
        let place = &option.place;
        settings.extend(arguments.into_iter().map(|argument| Setting { argument, place: place.clone() }));
    }
    close(open, &mut settings)?;
    Ok(settings)
}

/// One name for the several that an option has.
fn long_name(command: Option<&Command>, name: &str) -> String {
    let long = command.and_then(|command| option_of(command, name)).and_then(Arg::get_long);
    long.unwrap_or(name).to_owned()
}

/// The files that an input means. Windows' tools expand `*` and `?` in its last part themselves.
fn inputs(value: &str) -> Vec<String> {
    let path = Path::new(value);
    let pattern = path.file_name().and_then(|name| name.to_str()).map(Pattern::new);
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut found = Vec::new();
    if let Some(pattern) = pattern.filter(|pattern| !pattern.is_literal())
        && let Ok(entries) = std::fs::read_dir(folder)
    {
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        found = names.filter(|name| pattern.matches(name)).collect();
        found.sort();
    }
    if found.is_empty() {
        // Opening it says what is wrong.
        return vec![value.to_owned()];
    }
    found.iter().map(|name| path.with_file_name(name).to_string_lossy().into_owned()).collect()
}
