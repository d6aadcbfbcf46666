//! The C header for consumers: names, GUIDs and ids.

use std::fmt::Write as _;

use super::super::model::Manifest;
use super::c_text::{comment, guard, guid, literal};
use super::names::{Names, camel};
use crate::registration::CounterSetInfo;

/// The header for consumers of a manifest's counter sets, as `ctrpp -ch` makes it: per set `<symbol>Guid` and
/// `<symbol>_NAME`, per counter a macro with its id, named by its symbol where it has one.
pub fn consumer_header(manifest: &Manifest) -> String {
    let sets: Vec<_> = manifest.counter_sets().collect();
    let symbols = manifest.provider.counter_sets.iter().map(|set| {
        let counters = set.counters.iter().map(|counter| counter.symbol.as_deref().map(str::to_owned));
        (set.symbol.to_string(), counters.collect())
    });
    let file = manifest.file.file_name().unwrap_or_default().to_string_lossy();
    header(&file, sets.iter().zip(symbols))
}

/// The header for consumers of any counter sets; names follow from those of sets and counters: `ProcessorInformationGuid`,
/// `ProcessorInformation_NAME`, `ProcessorInformation_PercentProcessorTime`. The text depends on the sets and their order
/// alone. `title` stands in the first line and in the guard.
pub fn consumer_header_of<'a>(title: &str, sets: impl IntoIterator<Item = &'a CounterSetInfo>) -> String {
    let symbols = |set: &CounterSetInfo| {
        let symbol = match camel(&set.name) {
            name if name.is_empty() => "CounterSet".to_owned(),
            name => name,
        };
        (symbol, vec![None; set.counters.len()])
    };
    header(title, sets.into_iter().map(|set| (set, symbols(set))))
}

/// A set's symbol, and those of its counters.
type Symbols = (String, Vec<Option<String>>);

fn header<'a>(title: &str, sets: impl Iterator<Item = (&'a CounterSetInfo, Symbols)>) -> String {
    let guard = guard(title);
    let mut out = format!(
        "/*\n * Names, GUIDs and ids of counter sets, for consumers: {}.\n * Generated: changes are lost.\n */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <tachograph/types.h>\n",
        comment(title)
    );
    let sets: Vec<_> = sets.collect();
    // Names that were given by hand go first.
    let mut names = Names::default();
    let given = sets.iter().flat_map(|(_, (_, counters))| counters.iter().flatten());
    given.for_each(|symbol| drop(names.take(symbol)));
    for (set, (symbol, counters)) in &sets {
        let symbol = names.take(symbol);
        // Writing into a string does not fail.
        let _ = write!(
            out,
            "\n/* {} */\n#define {} TACHO_W(\"{}\")\nstatic const GUID {} = {};\n",
            comment(&format!("{}: {}", set.name, set.help)),
            names.take(&format!("{symbol}_NAME")),
            literal(&set.name),
            names.take(&format!("{symbol}Guid")),
            guid(set.guid),
        );
        for (counter, given) in set.counters.iter().zip(counters) {
            let name = given.clone().unwrap_or_else(|| {
                let name = match camel(&counter.name) {
                    name if name.is_empty() => format!("Counter{}", counter.id),
                    name => name,
                };
                names.take(&format!("{symbol}_{name}"))
            });
            let what = comment(&format!("{} ({})", counter.name, counter.counter_type));
            let _ = writeln!(out, "#define {name} {} /* {what} */", id(counter.id));
        }
    }
    let _ = write!(out, "\n#endif\n");
    out
}

/// An id as a number of C: those beyond `int` say that they are unsigned.
pub(super) fn id(id: u32) -> String {
    if i32::try_from(id).is_ok() { id.to_string() } else { format!("{id}u") }
}
