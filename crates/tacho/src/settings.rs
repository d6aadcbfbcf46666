//! Settings files (`-config`) in Windows' form: a line `[option]`, then lines with its values.

use std::collections::HashSet;
use std::path::Path;

use clap::{Arg, ArgAction, Command};
use tachograph_counters::wildcard::Pattern;

use crate::arguments::windows_form::{OptionValue, find_option, option_value, with_hyphens};
use crate::failure::Failure;
use crate::path_file::{read_text, unquoted};

/// An argument from a settings file.
pub(crate) struct Setting {
    /// The option and its value in one word, because clap would parse the words after a bare `-c` as paths.
    pub(crate) argument: String,
    /// The file, line and option, for messages: `set.txt, line 3: [si]`.
    pub(crate) location: String,
}

/// An option of the file, while its values are being read.
struct Section {
    name: String,
    location: String,
    values: SectionValues,
    /// Whether the option can have only one value in the whole file.
    is_single: bool,
    has_value: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SectionValues {
    None,
    /// To clap, the option is a flag, and its values are operands of the command.
    Operands,
    Optional,
    Required,
    /// Input files of the command.
    Inputs,
}

impl Section {
    fn new(name: String, location: String, command: Option<&Command>) -> Result<Self, Failure> {
        let is_input = |arg: &Arg| arg.is_positional() && INPUTS.iter().any(|id| arg.get_id() == id);
        let has_inputs = |command: &Command| command.get_arguments().any(is_input);
        let values = match command {
            Some(command) if name == "i" && has_inputs(command) => Some(SectionValues::Inputs),
            Some(command) => find_option(command, &name).map(|arg| values_of(arg, &name)),
            // clap reports the missing command.
            None => Some(SectionValues::Operands),
        };
        let Some(values) = values else {
            let command = command.map_or("tacho", Command::get_name);
            let location = location.trim_end_matches(&format!(": [{name}]")).to_owned();
            return Err(Failure::usage(format!("{location}: '{command}' has no option [{name}]")));
        };
        let is_set = |arg: &Arg| matches!(arg.get_action(), ArgAction::Set);
        let is_single = matches!(values, SectionValues::Required | SectionValues::Optional)
            && command.and_then(|command| find_option(command, &name)).is_some_and(is_set);
        Ok(Self { name, location, values, is_single, has_value: false })
    }

    /// The arguments for a value; `None` if the option does not accept values.
    fn arguments(&mut self, value: &str) -> Option<Vec<String>> {
        self.has_value = true;
        match self.values {
            SectionValues::Inputs => Some(inputs(value)),
            SectionValues::Required | SectionValues::Optional => {
                Some(vec![format!("{}={value}", with_hyphens(&self.name))])
            }
            SectionValues::Operands => Some(vec![value.to_owned()]),
            SectionValues::None => None,
        }
    }

    /// The argument for the option itself, unless the arguments for its values already include it.
    fn end(&self) -> Result<Option<String>, Failure> {
        match self.values {
            SectionValues::Required | SectionValues::Inputs if !self.has_value => {
                Err(Failure::usage(format!("{} needs a value", self.location)))
            }
            SectionValues::Optional if !self.has_value => Ok(Some(with_hyphens(&self.name))),
            SectionValues::None | SectionValues::Operands => Ok(Some(with_hyphens(&self.name))),
            _ => Ok(None),
        }
    }
}

/// The clap ids of operands that are input files.
const INPUTS: [&str; 3] = ["files", "logs", "what"];

fn values_of(arg: &Arg, name: &str) -> SectionValues {
    let takes_values = arg.get_action().takes_values();
    let is_optional = arg.get_num_args().is_some_and(|count| count.min_values() == 0);
    match option_value(name) {
        _ if takes_values && is_optional => SectionValues::Optional,
        _ if takes_values => SectionValues::Required,
        OptionValue::Operand => SectionValues::Operands,
        _ => SectionValues::None,
    }
}

/// Reads the options in a settings file, and converts them to arguments of `command`. The values of `[-i]` are input
/// files.
pub(crate) fn read(file: &Path, command: Option<&Command>) -> Result<Vec<Setting>, Failure> {
    let text = read_text(file)?;
    let mut settings = Vec::new();
    let mut section: Option<Section> = None;
    let mut singles = HashSet::new();
    let close = |section: Option<Section>, settings: &mut Vec<Setting>| -> Result<(), Failure> {
        if let Some(section) = section
            && let Some(argument) = section.end()?
        {
            settings.push(Setting { argument, location: section.location });
        }
        Ok(())
    };
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() {
            continue;
        }
        let location = format!("{}, line {}", file.display(), index + 1);
        if let Some(name) = line.strip_prefix('[').and_then(|line| line.strip_suffix(']')) {
            close(section.take(), &mut settings)?;
            let name = name.trim().trim_start_matches(['-', '/']).to_ascii_lowercase();
            let next = Section::new(name.clone(), format!("{location}: [{name}]"), command)?;
            if next.is_single && !singles.insert(long_name(command, &name)) {
                return Err(Failure::usage(format!("{} is repeated: use it once", next.location)));
            }
            section = Some(next);
            continue;
        }
        let Some(option) = &mut section else {
            return Err(Failure::usage(format!("{location}: this value has no [option] line before it")));
        };
        if option.is_single && option.has_value {
            return Err(Failure::usage(format!("{location}: [{}] accepts only one value", option.name)));
        }
        let Some(arguments) = option.arguments(unquoted(line)) else {
            return Err(Failure::usage(format!("{location}: [{}] does not accept a value", option.name)));
        };
        let location = &option.location;
        settings
            .extend(arguments.into_iter().map(|argument| Setting { argument, location: location.clone() }));
    }
    close(section, &mut settings)?;
    Ok(settings)
}

/// The long name of an option, which identifies it even if it has several names.
fn long_name(command: Option<&Command>, name: &str) -> String {
    let long = command.and_then(|command| find_option(command, name)).and_then(Arg::get_long);
    long.unwrap_or(name).to_owned()
}

/// Expands `*` and `?` in the last part of an input, as Windows' tools do.
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
        // If the file does not exist, opening it reports the error.
        return vec![value.to_owned()];
    }
    found.iter().map(|name| path.with_file_name(name).to_string_lossy().into_owned()).collect()
}
