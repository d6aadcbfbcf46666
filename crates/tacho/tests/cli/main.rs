//! The command `tacho` as users run it: standard output, standard error and exit status, with generated logs and with this
//! machine.
//!
//! Tests with real logs run if the environment variable TACHO_CORPUS names their folder.

mod append;
mod archive;
mod article;
mod check;
mod compare;
mod corpus;
mod cpi;
mod cpi_documents;
mod cpi_signals;
mod cpi_system;
mod cpi_trace;
mod database;
mod documents;
mod files;
#[path = "../../../flow/benches/generate/mod.rs"]
mod generate_log;
mod hexadecimal;
mod instances;
mod linux_page;
mod list;
mod list_machine;
mod list_words;
mod locks;
mod log_fixture;
mod long;
mod long_record;
mod machines;
mod manifest;
mod merged;
mod options;
mod output;
mod pages;
mod path_files;
mod processes;
mod query;
mod query_files;
mod query_order;
mod record;
mod refused_logs;
mod relog;
mod run;
mod segments;
mod select;
mod split;
mod sql;
mod stats;
mod stats_every;
mod stats_order;
mod terminal;
mod text_logs;
mod text_memory;
mod times;
