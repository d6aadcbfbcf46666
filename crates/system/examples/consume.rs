//! Consumes counters of this machine: finds a counter set by name, reads its registration, adds identifiers, and prints
//! the results of all five kinds from the raw data block.
//!
//! `cargo run -p tachograph-system --example consume -- "Processor Information"`

use std::error::Error;
use std::sync::Arc;

use tachograph_counters::path::PathPattern;
use tachograph_perflib::block::{Content, DecodeOptions, Identifier, decode_instances, decode_with};
use tachograph_perflib::registration::{Request, decode_set, decode_strings, decode_text};
use tachograph_perflib::{Clock, ErrorCode, Guid, Query, Registry};
use tachograph_system::{Roots, providers};

fn main() -> Result<(), Box<dyn Error>> {
    let wanted = std::env::args().nth(1).unwrap_or_else(|| "Processor Information".to_owned());
    let mut registry = Registry::new("localhost", Clock::of_this_machine());
    for provider in providers(&Roots::of_this_machine()) {
        registry.register(provider)?;
    }
    let registry = Arc::new(registry);

    // Find the counter set by its name, and read its registration.
    let Some(guid) = find(&registry, &wanted)? else {
        return Err(format!("no counter set is called '{wanted}'").into());
    };
    let mut bytes = Vec::new();
    registry.registration_info(guid, Request::CounterSet, &mut bytes)?;
    let set = decode_set(&bytes)?;
    let mut names = Vec::new();
    registry.registration_info(guid, Request::EnglishCounterNames, &mut names)?;
    let names = decode_strings(&names)?;
    let name_of = |id| names.get(id).map(|name| name.to_string()).unwrap_or_else(|| format!("counter {id}"));
    println!("{wanted} {guid}: {} counters", set.counters.len());

    // An exact instance name yields the kinds of results for one instance, a pattern those for several instances.
    let has_instances = set.instance_type.has_instances();
    let mut first = String::new();
    if has_instances {
        registry.instance_list(guid, &mut bytes)?;
        for instance in decode_instances(&bytes)? {
            println!("  instance {} '{}'", instance.id, instance.name);
            if first.is_empty() {
                first = instance.name.to_string();
            }
        }
    }
    let counter = set.counters.first().map(|counter| counter.id);
    let mut identifiers = Vec::new();
    for (name, counter_id) in [(&*first, counter), (&*first, None), ("*", counter), ("*", None)] {
        let name = if has_instances { name } else { "" };
        identifiers.push(Identifier { counter_id, ..Identifier::new(guid, name) });
    }
    // The last identifier is wrong on purpose: it names no instance, or an instance of a set without instances.
    let wrong = if has_instances { "" } else { "*" };
    identifiers.push(Identifier::new(guid, wrong));

    let mut query = Query::open(&registry, None)?;
    query.add(&mut identifiers);
    for identifier in identifiers.iter().filter(|identifier| identifier.status != 0) {
        println!("'{}' was not added: {}", identifier.name, ErrorCode(identifier.status));
    }
    // A path can name an instance that does not exist yet; its results are errors until it does.
    if has_instances && let Some(counter) = counter {
        query.add_path(&PathPattern::parse(&format!(r"\{wanted}(no such instance)\{}", name_of(counter)))?);
    }
    query.collect();
    query.data(&mut bytes)?;
    let block = decode_with(&bytes, DecodeOptions::CONSUMER)?;
    block.expect_results(query.identifiers().len())?;
    println!("block of {} bytes, {} ticks", block.total_bytes(), block.stamp().ticks);
    let shown = |value: Option<u64>| value.map_or("no value".to_owned(), |value| value.to_string());
    for result in block.results() {
        println!("{:?}", result.kind());
        match result.content() {
            Content::Error(code) => println!("  {code}"),
            Content::SingleCounter(value) => println!("  {}", shown(value)),
            Content::MultipleCounters(ids, values) => {
                for (id, value) in ids.iter().zip(values) {
                    println!("  {:40} {}", name_of(id), shown(value));
                }
            }
            Content::MultipleInstances(instances) | Content::CounterSet(instances) => {
                for instance in instances {
                    let values: Vec<_> = instance.values().map(shown).collect();
                    println!("  {:20} {}", instance.name().to_string(), values.join(" "));
                }
            }
        }
    }
    Ok(())
}

fn find(registry: &Registry, wanted: &str) -> Result<Option<Guid>, Box<dyn Error>> {
    let mut bytes = Vec::new();
    for guid in registry.enumerate() {
        registry.registration_info(guid, Request::EnglishCounterSetName, &mut bytes)?;
        if decode_text(&bytes)?.to_string().eq_ignore_ascii_case(wanted) {
            return Ok(Some(guid));
        }
    }
    Ok(None)
}
