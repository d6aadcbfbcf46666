//! Where the files of archives are: in local folders or in S3.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use tachograph_logs::LogError;
use tachograph_logs::archive::{ArchiveRows, ReadRanges, open_file};

use crate::s3::{Object, ObjectReader};

/// Where a file of an archive is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ArchiveLocation {
    /// A local file.
    File(PathBuf),
    /// An object in S3.
    Object(Object),
}

impl ArchiveLocation {
    /// The path of the file or the URL of the object. Messages name it, and it has the folders of the archive.
    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Object(object) => object.path(),
        }
    }

    /// The size in bytes; 0 if a file does not exist.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::File(path) => std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
            Self::Object(object) => object.size(),
        }
    }

    /// Opens the file and reads its footer.
    ///
    /// # Errors
    ///
    /// When reading fails, or the file is damaged or does not belong to an archive.
    pub(crate) fn open(&self) -> Result<ArchiveFile, LogError> {
        let bytes = match self {
            Self::File(path) => ArchiveBytes::File(open_file(path)?),
            Self::Object(object) => ArchiveBytes::Object(object.reader()),
        };
        ArchiveRows::new(bytes, self.path())
    }
}

/// An open file of an archive.
pub(crate) type ArchiveFile = ArchiveRows<ArchiveBytes>;

/// The bytes of a file of an archive.
pub(crate) enum ArchiveBytes {
    File(File),
    Object(ObjectReader),
}

impl ReadRanges for ArchiveBytes {
    fn size(&mut self) -> io::Result<u64> {
        match self {
            Self::File(file) => file.size(),
            Self::Object(object) => object.size(),
        }
    }

    fn read_ranges(&mut self, ranges: &[Range<u64>], buffer: &mut Vec<u8>) -> io::Result<()> {
        match self {
            Self::File(file) => file.read_ranges(ranges, buffer),
            Self::Object(object) => object.read_ranges(ranges, buffer),
        }
    }

    fn prepare(&mut self, ranges: &[Range<u64>]) -> io::Result<()> {
        match self {
            Self::File(file) => file.prepare(ranges),
            Self::Object(object) => object.prepare(ranges),
        }
    }
}
