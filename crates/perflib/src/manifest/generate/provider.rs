//! Generates the C header for providers, with ids, GUIDs, the description of each set, and functions to start and stop
//! the provider.

use std::collections::HashSet;
use std::fmt::Write as _;

use tachograph_counters::Size;

use super::super::model::{Callback, CounterSet, Manifest, ProviderType};
use super::super::reserved::{FUNCTIONS, LOCALS, reason_reserved};
use super::super::values;
use super::GenerateError;
use super::c_text::{comment_text, guid, include_guard};
use super::consumer::id_literal;
use super::names::Names;
use crate::registration::{CounterInfo, InstanceType};

/// The offset of an instance's first value.
const FIRST_OFFSET: usize = 32;
/// The distance between the offsets of two consecutive values.
const VALUE_BYTES: usize = 8;

/// `ERROR_ALREADY_EXISTS` in winerror.h.
const ALREADY_EXISTS: u32 = 183;

/// The header for a provider in C or C++, which uses perflib.h. `<prefix>CounterInitialize` starts the provider and
/// declares its sets; `<prefix>CounterCleanup` stops the provider. The handle is `<prefix><provider symbol>`, and GUIDs
/// are `<prefix><symbol>Guid`. The counters' ids are macros, named after the counters' symbols. With
/// `callback="custom"`, `CounterInitialize` has parameters for the callback and the memory functions. All source files
/// that include the header share the handle.
///
/// # Errors
///
/// The provider runs in the kernel, the prefix cannot start a C identifier, or a name with the prefix is already used.
pub fn provider_header(manifest: &Manifest, prefix: &str) -> Result<String, GenerateError> {
    if values::parse_symbol(&format!("{prefix}x")).is_err() {
        return Err(GenerateError::new(format!("the prefix '{prefix}' cannot begin a C identifier")));
    }
    let provider = &manifest.provider;
    let symbol = provider.symbol.as_ref().filter(|_| provider.provider_type == ProviderType::UserMode);
    let Some(symbol) = symbol else {
        return Err(GenerateError::new(
            "the provider runs in the kernel: code can be generated only for user mode",
        ));
    };
    let sets = &provider.counter_sets;
    let file = manifest.file.file_name().unwrap_or_default().to_string_lossy();
    let handle = format!("{prefix}{}", symbol.value);
    check_names(manifest, prefix, &handle)?;
    let mut out = file_header(&file);
    let _ = write!(
        out,
        "/* Provider {} */\nstatic const GUID {handle}Guid = {};\n",
        comment_text(&provider.name),
        guid(provider.guid.value)
    );
    for set in sets {
        let help = comment_text(&format!("{}: {}", set.info.name, set.info.help));
        let guid = guid(set.info.guid);
        let _ = write!(out, "/* {help} */\nstatic const GUID {prefix}{}Guid = {guid};\n", set.symbol);
    }
    let _ = write!(
        out,
        "\n/* The handle, valid from {prefix}CounterInitialize to {prefix}CounterCleanup; all source files share it. */\n\
         #ifdef __cplusplus\nextern \"C\" {{\n#endif\nextern HANDLE {handle};\n\
         HANDLE {handle} __attribute__((weak)) = 0;\n#ifdef __cplusplus\n}}\n#endif\n"
    );
    write_functions(&mut out, manifest, prefix, &handle);
    // Macros come last, so that they do not replace names in the code above.
    out.push_str("\n/* Ids of the counters. */\n");
    for counter in sets.iter().flat_map(|set| &set.counters) {
        if let Some(symbol) = &counter.symbol {
            let name = comment_text(&counter.info.name);
            let _ = writeln!(out, "#define {symbol} {} /* {name} */", id_literal(counter.info.id));
        }
    }
    let _ = write!(out, "\n#endif\n");
    Ok(out)
}

/// Checks that the names with the prefix are unique, and that they are neither symbols of counters nor reserved.
fn check_names(manifest: &Manifest, prefix: &str, handle: &str) -> Result<(), GenerateError> {
    let sets = &manifest.provider.counter_sets;
    let [initialize, cleanup] = FUNCTIONS.map(|function| format!("{prefix}{function}"));
    let guids = sets.iter().map(|set| format!("{prefix}{}Guid", set.symbol));
    let generated: Vec<_> =
        [initialize, cleanup, handle.to_owned(), format!("{handle}Guid")].into_iter().chain(guids).collect();
    let counters = sets.iter().flat_map(|set| &set.counters).filter_map(|counter| counter.symbol.as_deref());
    let counters: HashSet<_> = counters.collect();
    let mut seen = HashSet::new();
    for name in &generated {
        let is_local = name == handle && LOCALS.contains(&handle);
        if counters.contains(name.as_str())
            || !seen.insert(name)
            || is_local
            || reason_reserved(name).is_some()
        {
            return Err(GenerateError::new(format!(
                "the prefix '{prefix}' creates the name {name}, which is already used: choose another prefix"
            )));
        }
    }
    Ok(())
}

fn file_header(file: &str) -> String {
    let guard = include_guard(&format!("{file}_provider"));
    format!(
        "/*\n * The provider of {}: ids, GUIDs, and functions that start and stop it.\n * Generated: changes are lost.\n \
         */\n#ifndef {guard}\n#define {guard}\n\n#include <perflib.h>\n#include <winperf.h>\n\n",
        comment_text(file)
    )
}

fn write_functions(out: &mut String, manifest: &Manifest, prefix: &str, handle: &str) {
    let provider = &manifest.provider;
    let (parameters, start) = match provider.callback {
        Callback::Default => ("void", format!("PerfStartProvider(&provider, 0, &{handle})")),
        Callback::Custom => (
            "PERFLIBREQUEST callback, PERF_MEM_ALLOC allocate, PERF_MEM_FREE release",
            format!("PerfStartProviderEx(&provider, &context, &{handle})"),
        ),
    };
    let _ = write!(
        out,
        "\n/* Stops the provider and removes its sets and instances. */\n\
         static inline ULONG {prefix}CounterCleanup(void)\n{{\n    ULONG status = 0;\n    if ({handle} != 0) {{\n        \
         status = PerfStopProvider({handle});\n        {handle} = 0;\n    }}\n    return status;\n}}\n\
         \n/* Starts the provider and declares its counter sets. Returns 0, or an error code after cleaning up:\n \
          * 183 (ERROR_ALREADY_EXISTS) if it is already running. */\n\
         static inline ULONG {prefix}CounterInitialize({parameters})\n{{\n"
    );
    let mut names = Names::default();
    for used in [handle].into_iter().chain(LOCALS) {
        names.unique_name(used);
    }
    let locals: Vec<_> = provider
        .counter_sets
        .iter()
        .map(|set| names.unique_name(&format!("{}Template", set.symbol)))
        .collect();
    for (set, local) in provider.counter_sets.iter().zip(&locals) {
        write_template(out, set, local, manifest);
    }
    let _ = writeln!(out, "    GUID provider = {handle}Guid;");
    // Without this check, a second call would overwrite the handle, and the first provider could not be stopped any
    // more.
    let _ = write!(out, "    if ({handle} != 0) {{\n        return {ALREADY_EXISTS};\n    }}\n");
    if provider.callback == Callback::Custom {
        let _ = write!(
            out,
            "    PERF_PROVIDER_CONTEXT context;\n    context.ContextSize = sizeof(context);\n    context.Reserved = 0;\n    \
             context.ControlCallback = callback;\n    context.MemAllocRoutine = allocate;\n    \
             context.MemFreeRoutine = release;\n    context.pMemContext = 0;\n"
        );
    }
    let _ =
        write!(out, "    ULONG status = {start};\n    if (status != 0) {{\n        return status;\n    }}\n");
    for local in &locals {
        let _ = write!(
            out,
            "    status = PerfSetCounterSetInfo({handle}, &{local}.set, sizeof({local}));\n    if (status != 0) {{\n        \
             (void){prefix}CounterCleanup();\n        return status;\n    }}\n"
        );
    }
    let _ = write!(out, "    return status;\n}}\n");
}

/// Writes the `PERF_COUNTERSET_INFO` of a set and the `PERF_COUNTER_INFO` of its counters.
fn write_template(out: &mut String, set: &CounterSet, local: &str, manifest: &Manifest) {
    let count = set.counters.len();
    let instances = match set.info.instance_type {
        InstanceType::Single => "PERF_COUNTERSET_SINGLE_INSTANCE",
        InstanceType::Multiple => "PERF_COUNTERSET_MULTI_INSTANCES",
        InstanceType::SingleAggregate => "PERF_COUNTERSET_SINGLE_AGGREGATE",
        InstanceType::MultipleAggregate => "PERF_COUNTERSET_MULTI_AGGREGATE",
        InstanceType::SingleAggregateHistory => "PERF_COUNTERSET_SINGLE_AGGREGATE_HISTORY",
        InstanceType::InstanceAggregate => "PERF_COUNTERSET_INSTANCE_AGGREGATE",
    };
    let _ = write!(
        out,
        "    static struct {{\n        PERF_COUNTERSET_INFO set;\n        PERF_COUNTER_INFO counters[{count}];\n    }} \
         {local} = {{\n        {{ {},\n          {},\n          {count}, {instances} }},\n        {{\n",
        guid(set.info.guid),
        guid(manifest.provider.guid.value),
    );
    for (index, counter) in set.counters.iter().enumerate() {
        let _ =
            writeln!(out, "            {},", counter_info(&counter.info, FIRST_OFFSET + index * VALUE_BYTES));
    }
    let _ = write!(out, "        }},\n    }};\n");
}

/// An initializer for a `PERF_COUNTER_INFO`: id, type, attributes, size, detail level, scale, offset.
fn counter_info(counter: &CounterInfo, offset: usize) -> String {
    let bytes = match counter.counter_type.size() {
        Size::Dword => 4,
        _ => 8,
    };
    // winperf.h defines a constant for each type in the schema.
    format!(
        "{{ {}, {}, {:#x}, {bytes}, {}, {}, {offset} }}",
        id_literal(counter.id),
        counter.counter_type,
        counter.attributes.0,
        counter.detail_level,
        counter.default_scale,
    )
}
