//! Code generated from manifests. TACHO_UPDATE=1 updates the texts in the folder `golden`.

use std::path::{Path, PathBuf};
use std::process::Command;

use tachograph_perflib::Guid;
use tachograph_perflib::manifest::generate::{consumer_header, consumer_header_of, provider_header, rust};
use tachograph_perflib::manifest::{Manifest, build, parse};
use tachograph_perflib::registration::{CounterInfo, CounterSetInfo, InstanceType};
use tempfile::TempDir;

use crate::{KERNEL, SHOP, good, lines};

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn shop() -> Manifest {
    parse(Path::new("there/shop.man"), SHOP.as_bytes()).manifest.expect("good")
}

#[track_caller]
fn golden(name: &str, text: &str) {
    let file = folder("tests/manifest/golden").join(name);
    if std::env::var_os("TACHO_UPDATE").is_some() {
        return std::fs::write(file, text).expect("writable");
    }
    assert_eq!(std::fs::read_to_string(file).expect("the golden text"), text);
}

#[test]
fn code_generated_for_the_sample_equals_the_golden_texts() {
    let shop = shop();
    golden("shop.rs", &rust(&shop).expect("no text"));
    golden("shop_provider.h", &provider_header(&shop, "").expect("user mode"));
    golden("shop_consumer.h", &consumer_header(&shop));
}

/// A manifest with a counter of every type and its companions.
fn every_type() -> String {
    let attribute = |role: &str, id: u32| format!(" {role}=\"{id}\"");
    let mut counters = String::new();
    let mut add = |id: u32, counter_type: &str, more: &str| {
        counters += &format!(
            "<counter id='{id}' uri='u{id}' type='{counter_type}' detailLevel='standard' name='{counter_type} {id}' \
             description='Of &quot;type&quot; {counter_type} * / \\ ??/ &#10; &#233;.' symbol='COUNTER_{id}'{more}/>"
        );
    };
    let bases = [
        "perf_average_base",
        "perf_raw_base",
        "perf_sample_base",
        "perf_large_raw_base",
        "perf_counter_multi_base",
        "perf_counter_large_rawcount",
        "perf_counter_rawcount",
    ];
    bases.iter().zip(0..).for_each(|(base, id)| add(id, base, ""));
    let clock = attribute("perfTimeID", 5) + &attribute("perfFreqID", 5);
    let with_base = |id| attribute("baseID", id);
    let multiplier = attribute("multiCounterID", 6);
    let multi_inv = multiplier.clone() + &with_base(4);
    let types = [
        ("perf_counter_counter", ""),
        ("perf_counter_timer", ""),
        ("perf_counter_queuelen_type", ""),
        ("perf_counter_large_queuelen_type", ""),
        ("perf_counter_100ns_queuelen_type", ""),
        ("perf_counter_obj_time_queuelen_type", &*clock),
        ("perf_counter_bulk_count", ""),
        ("perf_counter_rawcount_hex", ""),
        ("perf_counter_large_rawcount_hex", ""),
        ("perf_sample_fraction", &with_base(2)),
        ("perf_sample_counter", ""),
        ("perf_counter_timer_inv", ""),
        ("perf_average_timer", &with_base(0)),
        ("perf_average_bulk", &with_base(0)),
        ("perf_obj_time_timer", &clock),
        ("perf_100nsec_timer", ""),
        ("perf_100nsec_timer_inv", ""),
        ("perf_counter_multi_timer", &multiplier),
        ("perf_counter_multi_timer_inv", &multi_inv),
        ("perf_100nsec_multi_timer", &multiplier),
        ("perf_100nsec_multi_timer_inv", &multiplier),
        ("perf_raw_fraction", &with_base(1)),
        ("perf_large_raw_fraction", &with_base(3)),
        ("perf_elapsed_time", &clock),
        ("perf_counter_delta", ""),
        ("perf_counter_large_delta", ""),
        ("perf_precision_system_timer", &with_base(3)),
        ("perf_precision_100ns_timer", &with_base(3)),
        ("perf_precision_object_timer", &clock),
    ];
    types.iter().zip(100..).for_each(|((counter_type, more), id)| add(id, counter_type, more));
    assert_eq!(bases.len() + types.len(), 36, "all types of the schema except the text and composite types");
    format!(
        "<instrumentationManifest><instrumentation>\
         <counters xmlns='http://schemas.microsoft.com/win/2005/12/counters' schemaVersion='1.1'>\
         <provider providerGuid='{{00000000-0000-0000-0000-00000000000a}}' applicationIdentity='x' symbol='Every'>\
         <counterSet guid='{{00000000-0000-0000-0000-00000000000b}}' uri='e' symbol='EveryType' name='Every \"Type\"' \
         description='' instances='multiple'>{counters}</counterSet></provider></counters></instrumentation>\
         </instrumentationManifest>"
    )
}

pub(crate) fn every() -> Manifest {
    good(&every_type())
}

#[test]
fn every_type_can_be_generated() {
    golden("every_type.rs", &rust(&every()).expect("no text"));
}

#[test]
fn generators_report_errors() {
    let text = SHOP.replace("\"perf_counter_bulk_count\"", "\"perf_counter_text\"");
    let manifest = crate::check(&text).manifest.expect("only a warning");
    let error = rust(&manifest).expect_err("a text").to_string();
    assert_eq!(error, "counter 'Requests/sec' has a text type, but fields hold numbers");
    let error = provider_header(&good(KERNEL), "").expect_err("kernel").to_string();
    assert_eq!(error, "the provider runs in the kernel: code can be generated only for user mode");
    let error = provider_header(&shop(), "my-").expect_err("no identifier").to_string();
    assert_eq!(error, "the prefix 'my-' cannot begin a C identifier");
    // Names are checked with the prefix.
    for (symbol, replaced, prefix, name) in [
        ("MyCounterCleanup", "ShopRequests", "My", "MyCounterCleanup"),
        ("MyShopProvider", "ShopRequests", "My", "MyShopProvider"),
        ("MyCartsGuid", "ShopRequests", "My", "MyCartsGuid"),
        ("IDER", "ShopProvider", "PERF_PROV", ""),
        ("vider", "ShopProvider", "pro", "provider"),
        ("StartProvider", "ShopProvider", "Perf", "PerfStartProvider"),
        ("CounterInitialize_", "ShopProvider", "_T", "_TCounterInitialize"),
    ] {
        let text = SHOP.replace(&format!("symbol=\"{replaced}\""), &format!("symbol=\"{symbol}\""));
        let error = provider_header(&good(&text), prefix).err().map(|error| error.to_string());
        let expected = format!(
            "the prefix '{prefix}' creates the name {name}, which is already used: choose another prefix"
        );
        assert_eq!(error, (!name.is_empty()).then_some(expected));
        assert!(provider_header(&good(&text), "Free").is_ok());
    }
}

/// Symbols must not be names that the included headers define. Headers of the C library differ between versions, so only
/// our headers are checked completely.
#[test]
fn names_in_the_headers_are_reserved() {
    let refused = |symbol: &str| {
        let text = SHOP.replace("symbol=\"ShopRequests\"", &format!("symbol=\"{symbol}\""));
        crate::check(&text).manifest.is_none()
    };
    let text = lines_of_our_headers("#include <perflib.h>\n#include <winperf.h>\n");
    let is_letter = |letter: char| letter == '_' || letter.is_ascii_alphanumeric();
    let (directives, code): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
    let macros = directives
        .iter()
        .filter_map(|line| line.strip_prefix("#define ")?.split(|letter| !is_letter(letter)).next());
    // The name of a type follows its definition; the name of a function precedes its parameters.
    let code = code.join("\n");
    // The names of members and parameters are skipped.
    let is_type = |part: &&str| {
        !part.contains('{')
            && !part.ends_with(')')
            && (part.contains("typedef") || part.trim_start_matches('\n').starts_with('}'))
    };
    let types = code.split(';').filter(is_type);
    let types =
        types.filter_map(|part| part.rsplit(|letter| !is_letter(letter)).find(|word| !word.is_empty()));
    let functions = code.split('(').filter_map(|part| part.rsplit(|letter| !is_letter(letter)).next());
    let functions = functions.filter(|name| name.starts_with("Perf") || name.starts_with("Tacho"));
    let names: std::collections::BTreeSet<_> = macros.chain(types).chain(functions).collect();
    let names: Vec<_> = names.into_iter().filter(|name| !name.is_empty()).collect();
    let known = ["PERF_COUNTER_COUNTER", "ERROR_SUCCESS", "GUID", "PerfStartProvider"];
    assert!(known.iter().all(|name| names.contains(name)), "{names:?}");
    let missing: Vec<_> = names.into_iter().chain(["NULL", "EOF"]).filter(|name| !refused(name)).collect();
    assert_eq!(missing, [""; 0], "names that are missing in reserved.txt");
}

/// The lines of a program that come from our headers, with their definitions.
fn lines_of_our_headers(program: &str) -> String {
    let temporary = TempDir::new().expect("a temporary folder");
    let (file, headers) = (temporary.path().join("x.c"), folder("../capi/include"));
    std::fs::write(&file, program).expect("writable");
    let mut command = Command::new("gcc");
    command.args(["-std=c17", "-E", "-dD", "-I"]).arg(&headers).arg(&file);
    let output = command.output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let mut is_own = false;
    let mut own = String::new();
    for line in text.lines() {
        // `# 12 "file" flags`: the next line is line 12 of that file.
        match line.strip_prefix("# ").and_then(|rest| rest.split_once('"')) {
            Some((_, rest)) => is_own = Path::new(rest.split('"').next().unwrap_or("")).starts_with(&headers),
            None if is_own => own.extend([line, "\n"]),
            None => {}
        }
    }
    own
}

/// Compiles a file that includes headers; warnings are errors.
#[track_caller]
fn compiles(headers: &[(&str, String)], language: &str, body: &str) {
    let temporary = TempDir::new().expect("a temporary folder");
    let mut source = String::new();
    for (name, text) in headers {
        std::fs::write(temporary.path().join(name), text).expect("writable");
        // Include each header twice, to test the include guard.
        source += &format!("#include \"{name}\"\n#include \"{name}\"\n");
    }
    let is_cpp = language == "c++";
    let file = temporary.path().join(if is_cpp { "x.cpp" } else { "x.c" });
    std::fs::write(&file, source + body).expect("writable");
    let mut command = Command::new(if is_cpp { "g++" } else { "gcc" });
    match is_cpp {
        true => command.args(["-std=c++17", "-fshort-wchar"]),
        false => command.arg("-std=c17"),
    };
    command
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-fsyntax-only"])
        .arg("-I")
        .arg(folder("../capi/include"));
    let output = command.arg(&file).output().expect("a compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn headers_compile_as_c_and_cpp() {
    let every = every();
    let assertions = "#ifndef __cplusplus\n#include <assert.h>\n#endif\n\
        static_assert(ShopState == 18, \"\");\nstatic_assert(sizeof(Shop_NAME) == 10, \"\");\n";
    let consumer = [("a.h", consumer_header(&shop())), ("b.h", consumer_header(&every))];
    let callers = "ULONG f(void);\nULONG f(void) { return CounterInitialize(0, 0, 0) + CounterCleanup(); }\n\
        const GUID *g(void);\nconst GUID *g(void) { return ShopProvider ? &ShopGuid : &CartsGuid; }\n";
    let own = [("a.h", provider_header(&shop(), "").expect("user mode"))];
    let prefixed = [
        ("a.h", provider_header(&shop(), "My").expect("user mode")),
        ("b.h", provider_header(&every, "Your").expect("user mode")),
    ];
    let both = "ULONG f(void);\nULONG f(void) { return MyCounterInitialize(0, 0, 0) + YourCounterInitialize(); }\n\
        void h(void);\nvoid h(void) { MyCounterCleanup(); YourCounterCleanup(); (void)YourEvery; }\n";
    for language in ["c", "c++"] {
        compiles(&consumer, language, assertions);
        compiles(&own, language, callers);
        compiles(&prefixed, language, both);
    }
}

/// For sets without symbols, symbols are derived from the names.
#[test]
fn symbols_derived_from_names_are_unique() {
    let mut processor =
        CounterSetInfo::new("Processor Information", Guid::from_u128(1), InstanceType::Multiple);
    processor.help = "Of */ processors.".into();
    let bulk = tachograph_counters::CounterType::BULK_COUNT;
    for (id, name) in
        [(0, "% Processor Time"), (7, "Reads/sec"), (8, "Reads per sec"), (3_000_000_000, ""), (9, "é")]
    {
        processor.counters.push(CounterInfo::new(id, name, bulk));
    }
    let other = CounterSetInfo::new("Processor-Information", Guid::from_u128(2), InstanceType::Single);
    let text = consumer_header_of("this machine", [&processor, &other]);
    assert_eq!(
        text,
        "/*\n * Names, GUIDs and ids of counter sets, for consumers: this machine.\n * Generated: changes are lost.\n */\n\
#ifndef TACHO_MANIFEST_THIS_MACHINE_H
#define TACHO_MANIFEST_THIS_MACHINE_H

#include <tachograph/types.h>

/* Processor Information: Of * / processors. */
#define ProcessorInformation_NAME TACHO_W(\"Processor Information\")
static const GUID ProcessorInformationGuid = { 0x00000000, 0x0000, 0x0000, { 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01 } };
#define ProcessorInformation_PercentProcessorTime 0 /* % Processor Time (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_ReadsPerSec 7 /* Reads/sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_ReadsPerSec_2 8 /* Reads per sec (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_Counter3000000000 3000000000u /* (PERF_COUNTER_BULK_COUNT) */
#define ProcessorInformation_Counter9 9 /* é (PERF_COUNTER_BULK_COUNT) */

/* Processor-Information: */
#define ProcessorInformation_2_NAME TACHO_W(\"Processor-Information\")
static const GUID ProcessorInformation_2Guid = { 0x00000000, 0x0000, 0x0000, { 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x02 } };

#endif
"
    );
    compiles(
        &[("x.h", text)],
        "c",
        "int f(void);\nint f(void) { return ProcessorInformationGuid.Data1 == 0; }\n",
    );
}

#[test]
fn build_scripts_get_code_and_instructions_for_cargo() {
    let temporary = TempDir::new().expect("a temporary folder");
    let file = temporary.path().join("my.shop.man");
    let run = |text: &str| {
        std::fs::write(&file, text).expect("writable");
        let mut instructions = Vec::new();
        let result = build::rust_into(&file, temporary.path(), &mut instructions);
        let instructions = String::from_utf8(instructions)
            .expect("UTF-8")
            .replace(&file.display().to_string(), "my.shop.man");
        (result, instructions)
    };
    let (result, instructions) = run(SHOP);
    result.expect("good");
    assert_eq!(instructions, "cargo::rerun-if-changed=my.shop.man\n");
    let written = std::fs::read_to_string(temporary.path().join("my.shop.rs")).expect("written");
    assert_eq!(written, rust(&shop()).expect("good").replace("shop.man", "my.shop.man"));

    let bad =
        SHOP.replace("perf_sample_base", "perf_raw_base").replace("defaultScale=\"-2\"", "baseID=\"4\"");
    let (result, instructions) = run(&bad);
    let line = "my.shop.man:33:43: error: counter '% Cache Hits', baseID: found 17, a perf_raw_base, expected the id of a \
                counter of type perf_sample_base, which perf_sample_fraction needs";
    assert_eq!(
        instructions,
        format!(
            "cargo::rerun-if-changed=my.shop.man\ncargo::warning=my.shop.man:15:69: warning: counter 'Requests/sec', baseID: \
             found 4, expected none: perf_counter_bulk_count has no base\ncargo::error={line}\n"
        )
    );
    let error = format!("{:?}", result.expect_err("an error"));
    assert_eq!(error.replace(&file.display().to_string(), "my.shop.man"), line);
    let missing = build::rust_into(Path::new("/nonexistent/x.man"), temporary.path(), &mut Vec::new());
    assert!(missing.expect_err("no file").to_string().starts_with("/nonexistent/x.man: "));
    assert_eq!(lines(&crate::check(SHOP)), [""; 0]);
}
