//! Events of a recording into an archive, and their messages.

use std::fmt;
use std::mem;
use std::path::PathBuf;

use tachograph_counters::civil::Moment;

use super::super::{LogChange, MovedLog, NextLog};

/// An event that a recording into an archive reports to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ArchiveNotice {
    /// A segment that an earlier recorder had left was converted.
    Recovered {
        /// The segment.
        segment: PathBuf,
        /// The number of samples that were added to the archive.
        samples: u64,
    },
    /// A segment or a file is damaged.
    Damaged(String),
    /// The recording has paused because there is too little free space.
    Paused {
        /// The free space in bytes.
        free: u64,
        /// The required space in bytes.
        min: u64,
    },
    /// The recording has paused because a write has failed for lack of space.
    Full {
        /// The error of the operating system.
        why: String,
    },
    /// The recording has resumed.
    Resumed,
    /// Samples are dropped because the archive has later ones.
    ClockBehind {
        /// The time of the first sample that was dropped.
        now: Moment,
        /// The time of the last sample of the archive.
        previous: Moment,
    },
    /// The clock was set forward by more than a day, or the recorder did not run for that long.
    ClockAhead {
        /// The time of the sample.
        now: Moment,
        /// The time of the previous sample.
        previous: Moment,
    },
    /// Another program deleted or renamed the open segment.
    SegmentMoved(MovedLog),
    /// Another program deleted a segment before it was converted.
    SegmentDeleted(PathBuf),
    /// A segment could not be converted. It is kept and converted later.
    NotConverted(String),
    /// Old files could not be removed, or files could not be merged.
    NotMaintained(String),
}

impl ArchiveNotice {
    /// Whether both notices report the same event, even if times and sizes differ.
    pub(in crate::record) fn is_like(&self, other: &Self) -> bool {
        match self {
            Self::Paused { .. }
            | Self::Full { .. }
            | Self::Resumed
            | Self::ClockBehind { .. }
            | Self::ClockAhead { .. } => mem::discriminant(self) == mem::discriminant(other),
            // These notices name files, which must be the same.
            Self::Recovered { .. }
            | Self::Damaged(_)
            | Self::SegmentMoved(_)
            | Self::SegmentDeleted(_)
            | Self::NotConverted(_)
            | Self::NotMaintained(_) => self == other,
        }
    }
}

impl fmt::Display for ArchiveNotice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mib = |bytes: &u64| bytes >> 20;
        match self {
            Self::Recovered { segment, samples } => {
                let noun = if *samples == 1 { "sample" } else { "samples" };
                write!(
                    f,
                    "{}: added {samples} {noun} of a stopped recorder to the archive",
                    segment.display()
                )
            }
            Self::Damaged(what) => f.write_str(what),
            Self::Paused { free, min } => write!(
                f,
                "recording is paused: {} MiB are free, and --min-free requires {} MiB; it resumes when there is more space",
                mib(free),
                mib(min)
            ),
            Self::Full { why } => {
                write!(f, "recording is paused: {why}; it resumes when there is more space")
            }
            Self::Resumed => f.write_str("recording has resumed"),
            Self::ClockBehind { now, previous } => write!(
                f,
                "the clock shows {}, but the archive has samples up to {}: samples are dropped until that time; \
                 if the clock is right, move the folder of this machine away",
                now.rfc3339(),
                previous.rfc3339()
            ),
            Self::ClockAhead { now, previous } => write!(
                f,
                "the clock shows {}, more than a day after the previous sample at {}: in case the clock is wrong, --keep counts this \
                 gap as one day until the recorder is restarted",
                now.rfc3339(),
                previous.rfc3339()
            ),
            Self::SegmentMoved(MovedLog { path, samples, change, next }) => {
                let what = match change {
                    LogChange::Renamed => "renamed",
                    LogChange::Deleted => "deleted",
                    LogChange::Truncated => "truncated",
                };
                let samples =
                    if *samples == 1 { "1 sample".to_owned() } else { format!("{samples} samples") };
                write!(
                    f,
                    "{}: another program {what} the open segment with {samples}, which are not in the archive{}",
                    path.display(),
                    match next {
                        NextLog::SameName | NextLog::NameInUse =>
                            "; the recording continues with a new segment",
                        NextLog::None => "",
                    }
                )
            }
            Self::SegmentDeleted(path) => write!(
                f,
                "{}: another program deleted the segment before it was converted; its samples are not in the archive",
                path.display()
            ),
            Self::NotConverted(why) => {
                write!(f, "{why}; the samples remain in the open segment, which is converted later")
            }
            Self::NotMaintained(why) => f.write_str(why),
        }
    }
}
