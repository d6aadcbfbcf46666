//! The options of a recording into a database, from the arguments of `record`.

use tachograph_counters::time_zone::TimeZone;
use tachograph_flow::record::{DatabaseRecordOptions, Existing};

use super::archive_options;
use crate::arguments::{RecordArguments, check_append};
use crate::commands::database;
use crate::failure::Failure;

/// The options of a recording into a database; rejects arguments that do not apply to databases.
pub(super) fn database_options(arguments: &RecordArguments) -> Result<DatabaseRecordOptions, Failure> {
    check_append(arguments.append, arguments.yes)?;
    if let Some(option) = archive_options::archive_option(arguments) {
        return Err(Failure::usage(format!("{option} applies only to archives: use -f archive -o FOLDER")));
    }
    let refused = [
        ("-segment and -cnf", arguments.segment.is_some()),
        ("-max", arguments.max_size.is_some()),
        ("-circular", arguments.circular),
        ("-v", arguments.suffix.is_some()),
    ];
    if let Some((option, _)) = refused.into_iter().find(|(_, is_given)| *is_given) {
        return Err(Failure::usage(format!(
            "{option} cannot be used with a database, which has no files of its own: use -o FILE"
        )));
    }
    arguments.digits.check(arguments.encoding, "--encoding", false)?;
    Ok(DatabaseRecordOptions {
        name: database::name_of(&arguments.output)?,
        zone: TimeZone::fixed("UTC", 0),
        existing: match (arguments.append, arguments.yes) {
            (true, _) => Existing::Append,
            (false, true) => Existing::Overwrite,
            (false, false) => Existing::Refuse,
        },
        is_synced: arguments.sync,
    })
}
