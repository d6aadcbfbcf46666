//! The arguments of `tacho archive`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Maintain archives, which 'tacho record -f archive' and 'tacho relog -f archive' write.
#[derive(Debug, Args)]
pub(crate) struct ArchiveArguments {
    #[command(subcommand)]
    pub(crate) command: ArchiveCommand,
}

/// The commands for archives.
#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    Compact(CompactArguments),
}

/// Merge the files of each past day (UTC) to one file.
///
/// The recorder of an archive does this at the end of each day; other archives can have many small files, which take more space and
/// time. Readers, also SQL engines, find each sample once at every moment. Open segments of a recorder that was stopped are
/// converted first.
#[derive(Debug, Args)]
pub(crate) struct CompactArguments {
    /// The folder of an archive, or of one machine in it.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
