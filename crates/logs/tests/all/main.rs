//! Reading and writing logs: fixtures, real logs, damaged logs.

mod abort;
mod archive;
mod blg_append;
mod blg_append_crash;
mod blg_block_fixtures;
mod blg_circular;
mod blg_contradictions;
mod blg_corpus;
mod blg_crash;
mod blg_damage;
mod blg_damage_blocks;
mod blg_fixtures;
mod blg_flips;
mod blg_growing;
mod blg_independent;
mod blg_laws;
#[path = "../../../../fuzz/checks.rs"]
mod checks;
mod fixture;
mod json_reader;
mod marks;
mod seeds;
mod sql;
#[path = "../../../../fuzz/sql_checks.rs"]
mod sql_checks;
mod text_append;
mod text_damage;
mod text_number;
mod text_reader;
mod text_windows;
mod text_writer;
