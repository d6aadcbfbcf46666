//! Files that are read as a whole: lists of paths, settings, views.

use std::io::{Error, ErrorKind, Read};

/// All bytes that there are, if they are no more than so many MiB.
///
/// # Errors
///
/// When they cannot be read; [`ErrorKind::FileTooLarge`], where there are more: an endless device is one too.
pub fn read_at_most(mut source: impl Read, mebibytes: u64) -> Result<Vec<u8>, Error> {
    let most = mebibytes << 20;
    let mut bytes = Vec::new();
    let count = source.by_ref().take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if count as u64 > most {
        let what = format!("it has more than {mebibytes} MiB, which is the most that is read of it");
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
        assert_eq!(read_at_most(&bytes[1..], 2).expect("read").len(), 2 << 20);
        let error = read_at_most(&*bytes, 2).expect_err("too many");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "it has more than 2 MiB, which is the most that is read of it");
        assert!(read_at_most(std::io::repeat(0), 1).is_err(), "there is no end of it");
    }
}
