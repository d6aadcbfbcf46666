//! `docs/linux.md` lists the metrics of other tools and the corresponding counters. It is generated from the table
//! that the search uses: `TACHO_UPDATE=1 cargo test -p tachograph --test cli linux_page`.

use std::fmt::Write as _;

use tachograph_counters::path::PathPattern;
use tachograph_monitor::{EVERYDAY, ForeignName, foreign_names};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/linux.md");

/// The rows of a tool, with all paths of a name together.
fn rows_of(tool: &str) -> Vec<(&'static str, Vec<ForeignName>)> {
    let mut rows: Vec<(&str, Vec<ForeignName>)> = Vec::new();
    for row in foreign_names().filter(|row| row.tool == tool) {
        match rows.iter_mut().find(|(name, _)| *name == row.name) {
            Some((_, of_name)) => of_name.push(row),
            None => rows.push((row.name, vec![row])),
        }
    }
    rows
}

fn page() -> String {
    let mut tools: Vec<&str> = Vec::new();
    for row in foreign_names() {
        if !tools.contains(&row.tool) {
            tools.push(row.tool);
        }
    }
    let tools: Vec<_> = tools.into_iter().filter(|tool| *tool != EVERYDAY).collect();
    let figures: Vec<_> = tools.iter().flat_map(|tool| rows_of(tool)).collect();
    let here = figures.iter().filter(|(_, rows)| rows.iter().any(|row| row.path.is_some())).count();
    let mut text = format!(
        "# Metrics of other tools\n\n\
         Generated from `crates/monitor/src/search/foreign_names.tsv`; do not edit. Regenerate it with\n\
         `TACHO_UPDATE=1 cargo test -p tachograph --test cli linux_page`.\n\n\
         Of {} metrics of other tools, {here} have a counter here. `tacho list` finds the counters by all these names, and by\n\
         the [everyday words](#everyday-words): `tacho list r_await`, `tacho list process cpu`.\n\n\
         A `*` in a path stands for any text. Values are in base units, such as bytes and seconds, unless the counter says\n\
         otherwise.\n",
        figures.len()
    );
    for tool in tools.iter().chain(&[EVERYDAY]) {
        let (title, column) = match *tool {
            EVERYDAY => ("Everyday words", "word"),
            tool => (tool, "metric"),
        };
        write!(text, "\n## {title}\n\n| {column} | counters | remark |\n| --- | --- | --- |\n")
            .expect("a string");
        for (name, rows) in rows_of(tool) {
            let paths: Vec<_> =
                rows.iter().filter_map(|row| row.path).map(|path| format!("`{path}`")).collect();
            let remarks: Vec<_> =
                rows.iter().map(|row| row.remark).filter(|remark| !remark.is_empty()).collect();
            writeln!(text, "| `{name}` | {} | {} |", paths.join(", "), remarks.join(" ")).expect("a string");
        }
    }
    text
}

#[test]
fn every_path_selects_a_counter() {
    let sets: Vec<_> =
        tachograph_system::known_sets().chain(tachograph_cpi::counters::known_sets()).collect();
    for row in foreign_names() {
        let Some(path) = row.path else { continue };
        let pattern = PathPattern::parse(path).expect(path);
        let is_selected = sets.iter().any(|set| {
            let mut shown = set.counters.iter().filter(|counter| counter.is_displayable());
            pattern.matches_set(&set.name, set.has_instances())
                && shown.any(|counter| pattern.matches_counter(&counter.name))
        });
        assert!(is_selected, "'{}' of {}: '{path}' selects no counter", row.name, row.tool);
    }
}

#[test]
fn the_page_is_up_to_date() {
    let page = page();
    if std::env::var_os("TACHO_UPDATE").is_some() {
        std::fs::write(PAGE, &page).expect("the page is written");
    }
    let written = std::fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        written == page,
        "docs/linux.md is out of date: run 'TACHO_UPDATE=1 cargo test -p tachograph --test cli linux_page'"
    );
}
