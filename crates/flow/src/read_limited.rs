//! Reading small files whole: lists of paths, settings, views.

use std::io::{Error, ErrorKind, Read};

/// Reads `source` to the end, up to `mebibytes` MiB.
///
/// # Errors
///
/// When reading fails; [`ErrorKind::FileTooLarge`] if `source` is larger or endless, like `/dev/zero`.
pub fn read_limited(mut source: impl Read, mebibytes: u64) -> Result<Vec<u8>, Error> {
    let limit = mebibytes << 20;
    let mut bytes = Vec::new();
    let count = source.by_ref().take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > limit {
        let what = format!("the file is larger than {mebibytes} MiB, the limit for such files");
        return Err(Error::new(ErrorKind::FileTooLarge, what));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_byte_that_fits_is_read() {
        let bytes = vec![7; (2 << 20) + 1];
        assert_eq!(read_limited(&bytes[1..], 2).expect("read").len(), 2 << 20);
        let error = read_limited(&*bytes, 2).expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "the file is larger than 2 MiB, the limit for such files");
        assert!(read_limited(std::io::repeat(0), 1).is_err(), "an endless input");
    }
}
