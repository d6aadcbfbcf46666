//! URLs of S3.

use std::fmt;
use std::path::Path;

use crate::failure::Failure;

const SCHEME: &str = "s3://";

/// A URL of the form `s3://BUCKET/KEY`. The key is that of an object, or a prefix that ends at a `/`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct S3Url {
    bucket: String,
    /// Without a `/` at the start or the end; can be empty.
    key: String,
}

impl S3Url {
    /// Parses the name of an input; `None` if it is not a URL of S3.
    ///
    /// # Errors
    ///
    /// When the bucket or the key is invalid.
    pub(crate) fn parse(input: &Path) -> Option<Result<Self, Failure>> {
        let rest = input.as_os_str().as_encoded_bytes().strip_prefix(SCHEME.as_bytes())?;
        let invalid = |what: &str| {
            Err(Failure::usage(format!("{}: {what}: use s3://BUCKET or s3://BUCKET/PREFIX", input.display())))
        };
        let Ok(rest) = std::str::from_utf8(rest) else { return Some(invalid("the URL is not UTF-8")) };
        let (bucket, key) = rest.split_once('/').unwrap_or((rest, ""));
        // Other characters would change the meaning of a request.
        let is_valid = |byte: u8| byte.is_ascii_alphanumeric() || b".-_".contains(&byte);
        if !(3..=255).contains(&bucket.len()) || !bucket.bytes().all(is_valid) || bucket.contains("..") {
            return Some(invalid("the name of the bucket is invalid"));
        }
        let key = key.strip_suffix('/').unwrap_or(key);
        let is_invalid = |part: &str| {
            part.is_empty() || part == "." || part == ".." || part.bytes().any(|byte| byte.is_ascii_control())
        };
        if !key.is_empty() && key.split('/').any(is_invalid) {
            return Some(invalid("the prefix is invalid"));
        }
        Some(Ok(Self { bucket: bucket.to_owned(), key: key.to_owned() }))
    }

    /// The name of the bucket.
    #[cfg_attr(not(feature = "s3"), allow(dead_code, reason = "only the feature uses it"))]
    pub(crate) fn bucket(&self) -> &str {
        &self.bucket
    }

    /// The key or the prefix, without a `/` at the start or the end; empty for the whole bucket.
    #[cfg_attr(not(feature = "s3"), allow(dead_code, reason = "only the feature uses it"))]
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
}

impl fmt::Display for S3Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bucket, key } = self;
        match key.is_empty() {
            true => write!(f, "{SCHEME}{bucket}"),
            false => write!(f, "{SCHEME}{bucket}/{key}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn urls_have_a_bucket_and_a_key() {
        let parsed = |text: &str| {
            let url = S3Url::parse(Path::new(text)).expect("a URL").expect("a valid URL");
            (url.bucket().to_owned(), url.key().to_owned(), url.to_string())
        };
        let of = |bucket: &str, key: &str, text: &str| (bucket.to_owned(), key.to_owned(), text.to_owned());
        assert_eq!(parsed("s3://logs"), of("logs", "", "s3://logs"));
        assert_eq!(parsed("s3://logs/"), of("logs", "", "s3://logs"));
        assert_eq!(parsed("s3://logs/a/b/"), of("logs", "a/b", "s3://logs/a/b"));
        let machine = "s3://logs/machine=a%20b/ü";
        assert_eq!(parsed(machine), of("logs", "machine=a%20b/ü", machine));
    }

    #[test]
    fn other_names_are_not_urls() {
        for name in ["s3", "s3:/logs", "folder/s3://logs", "S3://logs", "https://logs/x"] {
            assert_eq!(S3Url::parse(Path::new(name)), None, "{name}");
        }
    }

    #[test]
    fn invalid_urls_are_refused() {
        let long = format!("s3://{}", "x".repeat(256));
        for name in [
            "s3://",
            "s3:///key",
            "s3://ab",
            "s3://lo?gs/x",
            "s3://lo@gs",
            "s3://lo..gs",
            "s3://logs//x",
            "s3://logs/a//",
            "s3://logs/a/../b",
            "s3://logs/./b",
            "s3://logs/a\nb",
            &long,
        ] {
            let failure = S3Url::parse(Path::new(name)).expect("a URL").expect_err("an invalid URL");
            assert!(failure.message().contains("use s3://BUCKET"), "{name}: {}", failure.message());
            assert_eq!(failure.status(), 2);
        }
        let bytes = std::ffi::OsStr::from_bytes(b"s3://logs/\xff");
        assert!(S3Url::parse(Path::new(bytes)).is_some_and(|url| url.is_err()));
    }
}
