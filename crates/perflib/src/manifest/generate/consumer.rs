//! Generates the C header for consumers, with names, GUIDs and ids.

use std::fmt::Write as _;

use super::super::model::Manifest;
use super::c_text::{comment_text, guid, include_guard, string_literal};
use super::names::{Names, camel_case};
use crate::registration::CounterSetInfo;

/// The header for consumers of a manifest's counter sets, like the one that `ctrpp -ch` generates: `<symbol>Guid` and
/// `<symbol>_NAME` for each set, and a macro with the id of each counter, named after the counter's symbol, if any.
pub fn consumer_header(manifest: &Manifest) -> String {
    let sets: Vec<_> = manifest.counter_sets().collect();
    let symbols = manifest.provider.counter_sets.iter().map(|set| {
        let counters = set.counters.iter().map(|counter| counter.symbol.as_deref().map(str::to_owned));
        (set.symbol.to_string(), counters.collect())
    });
    let file = manifest.file.file_name().unwrap_or_default().to_string_lossy();
    header(&file, sets.iter().zip(symbols))
}

/// The header for consumers of any counter sets. C names are derived from the names of sets and counters, such as
/// `ProcessorInformationGuid`, `ProcessorInformation_NAME`, `ProcessorInformation_PercentProcessorTime`. The output
/// depends only on the sets, their order, and `title`, which appears in the first comment and the include guard.
pub fn consumer_header_of<'a>(title: &str, sets: impl IntoIterator<Item = &'a CounterSetInfo>) -> String {
    let symbols = |set: &CounterSetInfo| {
        let symbol = match camel_case(&set.name) {
            name if name.is_empty() => "CounterSet".to_owned(),
            name => name,
        };
        (symbol, vec![None; set.counters.len()])
    };
    header(title, sets.into_iter().map(|set| (set, symbols(set))))
}

/// The symbol of a set, and the symbols of its counters.
type Symbols = (String, Vec<Option<String>>);

fn header<'a>(title: &str, sets: impl Iterator<Item = (&'a CounterSetInfo, Symbols)>) -> String {
    let guard = include_guard(title);
    let mut out = format!(
        "/*\n * Names, GUIDs and ids of counter sets, for consumers: {}.\n * Generated: changes are lost.\n */\n\
         #ifndef {guard}\n#define {guard}\n\n#include <tachograph/types.h>\n",
        comment_text(title)
    );
    let sets: Vec<_> = sets.collect();
    // Reserve the names that the manifest specifies before any names are derived.
    let mut names = Names::default();
    let given = sets.iter().flat_map(|(_, (_, counters))| counters.iter().flatten());
    given.for_each(|symbol| drop(names.unique_name(symbol)));
    for (set, (symbol, counters)) in &sets {
        let symbol = names.unique_name(symbol);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "\n/* {} */\n#define {} TACHO_W(\"{}\")\nstatic const GUID {} = {};\n",
            comment_text(&format!("{}: {}", set.name, set.help)),
            names.unique_name(&format!("{symbol}_NAME")),
            string_literal(&set.name),
            names.unique_name(&format!("{symbol}Guid")),
            guid(set.guid),
        );
        for (counter, given) in set.counters.iter().zip(counters) {
            let name = given.clone().unwrap_or_else(|| {
                let name = match camel_case(&counter.name) {
                    name if name.is_empty() => format!("Counter{}", counter.id),
                    name => name,
                };
                names.unique_name(&format!("{symbol}_{name}"))
            });
            let what = comment_text(&format!("{} ({})", counter.name, counter.counter_type));
            let _ = writeln!(out, "#define {name} {} /* {what} */", id_literal(counter.id));
        }
    }
    let _ = write!(out, "\n#endif\n");
    out
}

/// An id as a C literal, with the suffix `u` if it does not fit in an `int`.
pub(super) fn id_literal(id: u32) -> String {
    if i32::try_from(id).is_ok() { id.to_string() } else { format!("{id}u") }
}
