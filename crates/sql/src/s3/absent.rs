//! The program without the feature `s3`: there are no objects.

use std::io;
use std::ops::Range;
use std::path::Path;

use tachograph_logs::archive::ReadRanges;

use super::S3Url;
use crate::failure::Failure;

/// An object. The type has no values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Object {}

impl Object {
    pub(crate) fn path(&self) -> &Path {
        match *self {}
    }

    pub(crate) fn size(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn reader(&self) -> ObjectReader {
        match *self {}
    }
}

/// Reads an object. The type has no values.
pub(crate) enum ObjectReader {}

impl ReadRanges for ObjectReader {
    fn size(&mut self) -> io::Result<u64> {
        match *self {}
    }

    fn read_ranges(&mut self, _: &[Range<u64>], _: &mut Vec<u8>) -> io::Result<()> {
        match *self {}
    }
}

/// Says how to build the program so that it reads S3.
pub(crate) async fn list(url: &S3Url) -> Result<Vec<Object>, Failure> {
    Err(Failure::runtime(format!(
        "{url}: this tacho-sql cannot read S3: build it with 'cargo build --release -p tachograph-sql --features s3'"
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_message_says_how_to_build_the_feature() {
        let url = S3Url::parse(Path::new("s3://logs/web")).expect("a URL").expect("a valid URL");
        let failure = list(&url).await.expect_err("no feature");
        assert_eq!(
            failure.message(),
            "s3://logs/web: this tacho-sql cannot read S3: build it with 'cargo build --release -p tachograph-sql \
             --features s3'"
        );
        assert_eq!(failure.status(), 1);
    }
}
