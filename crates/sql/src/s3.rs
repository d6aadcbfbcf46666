//! Archives in S3, if the feature `s3` is enabled.

#[cfg(any(test, not(feature = "s3")))]
#[cfg_attr(feature = "s3", allow(dead_code, reason = "with the feature, only its test runs"))]
mod absent;
#[cfg(feature = "s3")]
mod error;
#[cfg(feature = "s3")]
mod requests;
#[cfg(feature = "s3")]
mod store;
mod url;

#[cfg(not(feature = "s3"))]
pub(crate) use absent::{Object, ObjectReader, list};
#[cfg(feature = "s3")]
pub(crate) use store::{Object, ObjectReader, list};
pub(crate) use url::S3Url;
