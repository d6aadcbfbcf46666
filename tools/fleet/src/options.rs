//! The arguments.

use std::error::Error;
use std::path::PathBuf;

const USAGE: &str = "usage: fleet LOG FOLDER [--machines N] [--port PORT] [--stalled N]";

/// What is played.
pub(crate) struct Options {
    /// The log with the samples.
    pub(crate) log: PathBuf,
    /// The folder of settings (`XDG_CONFIG_HOME`) for consumers.
    pub(crate) folder: PathBuf,
    /// Number of machines.
    pub(crate) machines: usize,
    /// The port of all machines. Each machine has its own address.
    pub(crate) port: u16,
    /// Number of machines that do not answer collections.
    pub(crate) stalled: usize,
}

impl Options {
    pub(crate) fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Self, Box<dyn Error>> {
        let mut files = Vec::new();
        let (mut machines, mut port, mut stalled) = (1000, 7321, 0);
        while let Some(argument) = arguments.next() {
            let mut number = || arguments.next().and_then(|text| text.parse().ok()).ok_or(USAGE);
            match argument.as_str() {
                "--machines" => machines = number()?,
                "--stalled" => stalled = number()?,
                "--port" => port = u16::try_from(number()?)?,
                option if option.starts_with('-') => return Err(USAGE.into()),
                _ => files.push(PathBuf::from(argument)),
            }
        }
        let [log, folder] = <[PathBuf; 2]>::try_from(files).map_err(|_| USAGE)?;
        Ok(Self { log, folder, machines, port, stalled })
    }
}
