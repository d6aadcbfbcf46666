//! The arguments of `tacho manifest`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Check and register manifests, and generate code from them.
///
/// A manifest is the XML file in which a provider describes its counter sets. Registered sets are listed even while no
/// provider runs.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = false)]
#[command(after_help = r"Examples:
  tacho manifest check shop.man                    report violations with line and column
  tacho manifest rust shop.man -o src/shop.rs      a struct per counter set, for the crate tachograph-publish
  tacho manifest header shop.man -o shop.h         C: GUIDs, ids, a function that starts the provider
  tacho manifest register shop.man                 list its counter sets from now on

Registrations are stored in TACHO_MANIFEST_DIR if it is set; otherwise in /etc/tachograph/manifests for root, and in
$XDG_DATA_HOME/tachograph/manifests (~/.local/share/tachograph/manifests) for other users.")]
pub(crate) struct ManifestArguments {
    #[command(subcommand)]
    pub(crate) action: ManifestAction,
}

/// The action.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestAction {
    /// Check manifests against all rules. Exit status: 0 without errors, otherwise 1.
    Check {
        /// Manifests (.man): UTF-8, or UTF-16 with a byte order mark.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Generate Rust: a struct with #[derive(CounterSet)] per counter set.
    Rust {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        output: CodeOutput,
    },
    /// Generate a C header for a provider or for consumers.
    Header {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        output: CodeOutput,
        /// Prefix of the names of functions and variables (-prefix).
        #[arg(long, value_name = "PREFIX", conflicts_with = "consumer")]
        prefix: Option<String>,
        /// Write only names, GUIDs and ids, for consumers.
        #[arg(long)]
        consumer: bool,
    },
    /// Check a manifest and store a copy, so that its counter sets are listed. Fails if a name or GUID is in use.
    Register {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Remove a registration.
    Unregister {
        /// The manifest, or the GUID of its provider or of its only counter set, with or without braces.
        #[arg(value_name = "FILE|GUID")]
        what: PathBuf,
    },
    /// List registered counter sets, and unusable files in the folders of registrations.
    List,
}

/// Where to write generated code.
#[derive(Debug, Args)]
pub(crate) struct CodeOutput {
    /// Output file. Default, and `-`: standard output.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
}
