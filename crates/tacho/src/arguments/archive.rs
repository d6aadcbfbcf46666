//! The arguments of `tacho archive`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Maintain archives, which 'tacho record -f archive' and 'tacho relog -f archive' write.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = false)]
pub(crate) struct ArchiveArguments {
    #[command(subcommand)]
    pub(crate) command: ArchiveCommand,
}

/// The commands for archives.
#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveCommand {
    Compact(CompactArguments),
}

/// Merge the files of each past day (UTC) into one file.
///
/// The recorder of an archive does this at the end of each day. Other archives can have many small files, which take
/// more space and are slower to read. Readers, including SQL engines, find each sample exactly once at any moment. Open
/// segments that a stopped recorder has left are converted first.
#[derive(Debug, Args)]
pub(crate) struct CompactArguments {
    /// The folder of an archive, or of one machine in it.
    #[arg(value_name = "FOLDER")]
    pub(crate) folder: PathBuf,
}
