//! Replaces the module `odbc` in builds without ODBC.

use super::database::Database;
use crate::LogError;

/// Returns an error that names the data sources of this build.
pub(super) fn connect(source: &str) -> Result<Box<dyn Database>, LogError> {
    Err(LogError::unsupported(format!(
        "only SQLite databases are supported: use the path of a file that ends in .db, .sqlite or .sqlite3 instead of '{source}', \
         or a build with the feature 'odbc' for ODBC data sources"
    )))
}
