//! The arguments of `tacho manifest`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

/// Manifests: the XML in which a provider describes its counter sets. Check one, make code of it, register it, so that its
/// sets are known with their texts also while no provider runs.
#[derive(Debug, Args)]
#[command(subcommand_required = true, arg_required_else_help = false)]
#[command(after_help = r"Examples:
  tacho manifest check shop.man                    every rule, with line and column
  tacho manifest rust shop.man -o src/shop.rs      a struct per counter set, for the crate tachograph-publish
  tacho manifest header shop.man -o shop.h         C: GUIDs, ids, a function that starts the provider
  tacho manifest register shop.man                 known from now on

Registrations are kept in TACHO_MANIFEST_DIR if set, else in /etc/tachograph/manifests for root, and in
$XDG_DATA_HOME/tachograph/manifests (~/.local/share/tachograph/manifests) for others.")]
pub(crate) struct ManifestArguments {
    #[command(subcommand)]
    pub(crate) action: ManifestAction,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestAction {
    /// Check manifests by every rule. Exit status 0 when none has errors, else 1.
    Check {
        /// Manifests (.man): UTF-8, or UTF-16 with a byte order mark.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
    },
    /// Write Rust: a struct with #[derive(CounterSet)] per counter set.
    Rust {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        output: CodeOutput,
    },
    /// Write a C header: for a provider, or for consumers.
    Header {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
        #[command(flatten)]
        output: CodeOutput,
        /// What names of functions and variables begin with (-prefix).
        #[arg(long, value_name = "PREFIX", conflicts_with = "consumer")]
        prefix: Option<String>,
        /// Only names, GUIDs and ids, for consumers.
        #[arg(long)]
        consumer: bool,
    },
    /// Check a manifest and keep a copy: its counter sets are known from now on. Fails where a name or GUID is taken.
    Register {
        /// The manifest.
        #[arg(value_name = "FILE")]
        file: PathBuf,
    },
    /// Take a registration back.
    Unregister {
        /// The manifest; or the GUID of its provider, or of its only counter set, with or without braces.
        #[arg(value_name = "FILE|GUID")]
        what: PathBuf,
    },
    /// List what is registered, and what in the folders of registrations cannot be used.
    List,
}

/// Where code goes.
#[derive(Debug, Args)]
pub(crate) struct CodeOutput {
    /// Where to write. Default: standard output, which is `-` too.
    #[arg(short, long, value_name = "OUT")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite the output if it exists.
    #[arg(short, long)]
    pub(crate) yes: bool,
}
