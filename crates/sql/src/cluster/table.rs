//! The tables of a query on a cluster: which files they read, and how the files are divided among tasks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::Result;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;

use super::scan::{ScanExec, Source};
use super::task_errors::with_message;
use crate::batches::samples_schema;
use crate::failure::Failure;
use crate::filters::{Filters, support};
use crate::inventory::{self, Inventory};
use crate::location::ArchiveLocation;
use crate::overlap;

/// Identifies a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Table {
    Samples,
    Inventory(Inventory),
}

impl Table {
    pub(super) fn schema(self) -> SchemaRef {
        match self {
            Self::Samples => samples_schema(),
            Self::Inventory(which) => inventory::schema_of(which),
        }
    }

    /// The number that stands for the table in messages.
    pub(super) fn code(self) -> u32 {
        match self {
            Self::Samples => 0,
            Self::Inventory(Inventory::Machines) => 1,
            Self::Inventory(Inventory::Counters) => 2,
        }
    }

    pub(super) fn from_code(code: u32) -> Option<Self> {
        let all = [Self::Samples, Self::Inventory(Inventory::Machines), Self::Inventory(Inventory::Counters)];
        all.into_iter().find(|table| table.code() == code)
    }
}

/// A table of the client and the scheduler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ClusterTable {
    pub(super) table: Table,
    /// The files of archives; absolute paths.
    pub(super) archive_files: Vec<PathBuf>,
    /// The logs of each machine.
    pub(super) logs: Vec<Vec<PathBuf>>,
}

#[async_trait]
impl TableProvider for ClusterTable {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(match self.table {
            Table::Samples => support(&self.schema(), filters),
            Table::Inventory(_) => vec![TableProviderFilterPushDown::Unsupported; filters.len()],
        })
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let all = || (0..self.schema().fields().len()).collect();
        let projection = projection.cloned().unwrap_or_else(all);
        let partitions = match self.table {
            Table::Samples => {
                // Tasks read only some of the files, so the scheduler compares their times.
                let files: Vec<_> = self.archive_files.iter().cloned().map(ArchiveLocation::File).collect();
                let bounds = Arc::new(Filters::new(state, &self.schema(), filters)?);
                let checked = overlap::check(&files, &self.logs, &bounds).await;
                checked.map_err(|error| with_message(Failure::of_query(&error, &[]).message()))?;
                let mut partitions: Vec<Vec<Source>> =
                    divide(&self.archive_files, state.config().target_partitions())
                        .into_iter()
                        .map(|files| vec![Source::Archive(files)])
                        .collect();
                partitions.extend(self.logs.iter().map(|logs| vec![Source::Logs(logs.clone())]));
                partitions
            }
            // These tables are small: one task reads the footers of all archives.
            Table::Inventory(_) => {
                let mut sources = vec![Source::Archive(self.archive_files.clone())];
                sources.extend(self.logs.iter().cloned().map(Source::Logs));
                vec![sources]
            }
        };
        Ok(Arc::new(ScanExec::from_sources(self.table, projection, filters.to_vec(), &partitions)?))
    }
}

/// Divides files into at most `parts` lists of about the same size in bytes.
fn divide(files: &[PathBuf], parts: usize) -> Vec<Vec<PathBuf>> {
    let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let mut sized: Vec<(u64, &PathBuf)> = files.iter().map(|path| (size(path), path)).collect();
    // The largest files first, each to the list that is the smallest so far.
    sized.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(other.1)));
    let mut lists: Vec<(u64, Vec<PathBuf>)> = vec![(0, Vec::new()); parts.clamp(1, files.len().max(1))];
    for (bytes, path) in sized {
        if let Some((total, list)) = lists.iter_mut().min_by_key(|(total, list)| (*total, list.len())) {
            *total += bytes;
            list.push(path.clone());
        }
    }
    lists.into_iter().map(|(_, list)| list).filter(|list| !list.is_empty()).collect()
}

/// The absolute form of the name of a file or of a log in a database.
pub(super) fn absolute(name: &Path) -> std::io::Result<PathBuf> {
    use tachograph_logs::sql::SqlLogName;
    match SqlLogName::parse(name) {
        Some(Ok(log)) => match log.sqlite_path() {
            Some(path) => sql_log(&std::path::absolute(path)?, log.log()),
            None => Ok(name.to_path_buf()),
        },
        _ => std::path::absolute(name),
    }
}

/// The name of a log in an SQLite file, which is a text.
fn sql_log(path: &Path, log: &str) -> std::io::Result<PathBuf> {
    match path.to_str() {
        Some(path) => Ok(PathBuf::from(format!("SQL:{path}!{log}"))),
        None => Err(std::io::Error::new(
            std::io::ErrorKind::InvalidInput,
            "its path is not UTF-8, so that executors cannot open a database in it",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn files_are_divided_by_size() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, bytes: usize| {
            let path = folder.path().join(name);
            std::fs::write(&path, vec![0; bytes]).expect("written");
            path
        };
        let files = [file("a", 10), file("b", 70), file("c", 30), file("d", 40), file("e", 10)];
        let names = |parts: usize| -> Vec<String> {
            let name = |path: &PathBuf| path.file_name().expect("a name").to_string_lossy().into_owned();
            divide(&files, parts).iter().map(|list| list.iter().map(name).collect()).collect()
        };
        assert_eq!(names(2), ["ba", "dce"].map(str::to_owned));
        assert_eq!(names(1), ["bdcae"].map(str::to_owned));
        let mut each = names(9);
        each.sort();
        assert_eq!(each, ["a", "b", "c", "d", "e"].map(str::to_owned));
        assert!(divide(&[], 4).is_empty());
        // A file that has vanished is still read by one task, which reports it.
        assert_eq!(divide(&[folder.path().join("none")], 4).len(), 1);
    }

    #[test]
    fn names_become_absolute() {
        let here = std::env::current_dir().expect("a folder");
        assert_eq!(absolute(Path::new("x/a.blg")).expect("a path"), here.join("x/a.blg"));
        let expected = format!("SQL:{}!march", here.join("a.db").display());
        assert_eq!(absolute(Path::new("SQL:a.db!march")).expect("a name"), PathBuf::from(expected));
        let other = std::ffi::OsStr::from_bytes(b"/caf\xE9/a.db");
        let error = sql_log(Path::new(other), "march").expect_err("no text");
        assert!(error.to_string().contains("not UTF-8"), "{error}");
        assert_eq!(absolute(Path::new("SQL:servers!x")).expect("a name"), PathBuf::from("SQL:servers!x"));
    }
}
