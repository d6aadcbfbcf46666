//! The command `tacho` as its users run it: standard output, standard error and exit status, over logs made here
//! and over this machine.
//!
//! Tests over real logs run where the environment variable TACHO_CORPUS names their folder.

mod append;
mod article;
mod check;
mod corpus;
mod cpi;
mod cpi_documents;
mod cpi_signals;
mod cpi_system;
mod cpi_trace;
mod documents;
mod files;
mod hexadecimal;
mod instances;
mod list;
mod list_machine;
mod long;
mod long_record;
mod machines;
mod made;
#[path = "../../../flow/benches/made/mod.rs"]
mod made_log;
mod manifest;
mod merged;
mod options;
mod output;
mod pages;
mod path_files;
mod processes;
mod query;
mod query_files;
mod record;
mod refusals;
mod relog;
mod run;
mod segments;
mod select;
mod split;
mod stats;
mod terminal;
mod text_logs;
mod text_memory;
mod times;
