//! Tests of SQL over logs and archives.

mod answers;
mod cluster;
mod command;
mod figures;
mod filters;
#[path = "../../../logs/tests/all/archive/generated.rs"]
#[allow(dead_code, reason = "shared with the tests of archives")]
mod generated;
#[path = "../../../tacho/tests/cli/log_fixture.rs"]
#[allow(dead_code, reason = "shared with the tests of the command line")]
mod log_fixture;
mod overlap;
mod page_archive;
#[cfg(feature = "s3")]
mod s3;
mod sql_logs;
mod wide_sums;
