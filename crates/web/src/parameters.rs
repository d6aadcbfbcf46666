//! The variable part of a URL's path, and its query parameters.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::{CounterPath, MAX_PATH_LENGTH, PathPattern};

use crate::response::ApiError;

/// Maximum number of counter paths in a request.
pub(crate) const MAX_PATHS: usize = 256;
/// Maximum number of excluded counters in a request.
const MAX_EXCEPTIONS: usize = 1024;
/// Maximum length of a path in bytes, because each of its UTF-16 units takes up to three bytes in UTF-8.
const MAX_PATH_BYTES: usize = 3 * MAX_PATH_LENGTH;

/// Texts that are not valid counter paths, each with the reason.
pub(crate) type InvalidPaths = Vec<(String, String)>;

/// The variable part of a URL's path, decoded.
#[derive(Debug)]
pub(crate) struct PathPart(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(part)) => Ok(Self(part)),
            Err(_) => Err(ApiError::bad_request("the path of the URL is not UTF-8")),
        }
    }
}

/// The query parameters of a request: names and values.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Parses a query string; only these names are allowed.
    pub(crate) fn parse(query: Option<&str>, names: &[&str]) -> Result<Self, ApiError> {
        let mut pairs = Vec::new();
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (percent_decode(name)?, percent_decode(value)?);
            if !names.contains(&name.as_str()) {
                return Err(ApiError::bad_request(match names {
                    [] => "this path has no parameters".to_owned(),
                    names => format!("unknown parameter; the parameters are {}", names.join(", ")),
                }));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// The value of a parameter that must not be repeated.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, ApiError> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let first = values.next();
        if values.next().is_some() {
            return Err(ApiError::bad_request(format!("'{name}' appears more than once")));
        }
        Ok(first.map(|(_, value)| value.as_str()))
    }

    /// Whether a request asks for sums over the instances of a name (`group_by=name`).
    pub(crate) fn sums_names(&self) -> Result<bool, ApiError> {
        match self.one("group_by")? {
            None => Ok(false),
            Some("name") => Ok(true),
            Some(_) => Err(ApiError::bad_request("group_by: must be name")),
        }
    }

    pub(crate) fn paths(&self) -> Result<Vec<PathPattern>, ApiError> {
        let texts = self.path_texts("path", MAX_PATHS)?;
        let mut paths = Vec::with_capacity(texts.len());
        for text in texts {
            let path = PathPattern::parse(text)
                .map_err(|error| ApiError::bad_request(format!("'{text}': {error}")))?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// The valid counter paths, and the invalid ones with the reason. At least one must be valid.
    pub(crate) fn valid_paths(&self) -> Result<(Vec<PathPattern>, InvalidPaths), ApiError> {
        let texts = self.path_texts("path", MAX_PATHS)?;
        let (mut paths, mut invalid) = (Vec::with_capacity(texts.len()), Vec::new());
        for text in texts {
            match PathPattern::parse(text) {
                Ok(path) if paths.contains(&path) => {}
                Ok(path) => paths.push(path),
                Err(error) => invalid.push((text.to_owned(), error.to_string())),
            }
        }
        // Without a valid path, `required_paths` returns the error.
        if paths.is_empty() { Ok((self.required_paths()?, invalid)) } else { Ok((paths, invalid)) }
    }

    pub(crate) fn exceptions(&self) -> Result<Vec<CounterPath>, ApiError> {
        let texts = self.path_texts("except", MAX_EXCEPTIONS)?;
        let parse = |text: &str| {
            CounterPath::parse(text)
                .map_err(|error| ApiError::bad_request(format!("except: '{text}': {error}")))
        };
        texts.into_iter().map(parse).collect()
    }

    /// The values of a parameter that appears at most `max` times, each no longer than [`MAX_PATH_BYTES`].
    fn path_texts(&self, name: &str, max: usize) -> Result<Vec<&str>, ApiError> {
        let texts: Vec<_> =
            self.0.iter().filter(|(known, _)| known == name).map(|(_, text)| text.as_str()).collect();
        if texts.len() > max {
            return Err(ApiError::bad_request(format!("{name}: more than {max} counter paths")));
        }
        match texts.iter().any(|text| text.len() > MAX_PATH_BYTES) {
            true => Err(ApiError::bad_request(format!(
                "{name}: a counter path is longer than {MAX_PATH_BYTES} bytes"
            ))),
            false => Ok(texts),
        }
    }

    /// The counter paths; at least one is required.
    pub(crate) fn required_paths(&self) -> Result<Vec<PathPattern>, ApiError> {
        let paths = self.paths()?;
        match paths.is_empty() {
            true => Err(ApiError::bad_request(
                r"the parameter path=\Set(instance)\Counter is required, percent-encoded",
            )),
            false => Ok(paths),
        }
    }

    /// An RFC 3339 time with its UTC offset, or seconds since 1970 as in responses.
    pub(crate) fn time(&self, name: &str) -> Result<Option<FileTime>, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        if let Some(time) = unix_time(text) {
            return Ok(Some(time));
        }
        match TimeArgument::parse(text) {
            Ok(TimeArgument::Utc(time)) => Ok(Some(time)),
            Ok(TimeArgument::Local(_)) => Err(ApiError::bad_request(format!(
                "{name}: the UTC offset is missing; example: 2013-02-19T18:50:17.844-08:00"
            ))),
            Err(error) => Err(ApiError::bad_request(format!("{name}: {error}"))),
        }
    }

    /// The time range `begin`, `end`, of which one or both can be absent.
    pub(crate) fn window(&self) -> Result<(Option<FileTime>, Option<FileTime>), ApiError> {
        self.range("begin", "end")
    }

    /// The time range in the parameters of these names, of which one or both can be absent.
    pub(crate) fn range(
        &self,
        begin: &str,
        end: &str,
    ) -> Result<(Option<FileTime>, Option<FileTime>), ApiError> {
        let times = (self.time(begin)?, self.time(end)?);
        if let (Some(from), Some(to)) = times
            && from >= to
        {
            return Err(ApiError::bad_request(format!("{begin} must be before {end}")));
        }
        Ok(times)
    }

    /// The values of a parameter that appears at most `max` times, each a whole number.
    pub(crate) fn numbers(&self, name: &str, max: usize) -> Result<Vec<u32>, ApiError> {
        let texts = self.0.iter().filter(|(known, _)| known == name).map(|(_, text)| text);
        let parse = |text: &String| match text.bytes().all(|byte| byte.is_ascii_digit()) {
            true => text.parse().ok(),
            false => None,
        };
        let numbers: Option<Vec<u32>> = texts.map(parse).collect();
        match numbers {
            None => Err(ApiError::bad_request(format!("{name}: must be a whole number below 4294967296"))),
            Some(numbers) if numbers.len() > max => {
                Err(ApiError::bad_request(format!("{name}: more than {max} values")))
            }
            Some(numbers) => Ok(numbers),
        }
    }

    /// A whole number from 1 to `max`.
    pub(crate) fn count(&self, name: &str, default: usize, max: usize) -> Result<usize, ApiError> {
        let Some(text) = self.one(name)? else { return Ok(default) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let count = text.parse::<usize>().ok().filter(|count| digits && (1..=max).contains(count));
        count.ok_or_else(|| ApiError::bad_request(format!("{name}: must be a whole number from 1 to {max}")))
    }
}

/// A decimal number of seconds since 1970, UTC; digits after the seventh decimal are ignored.
fn unix_time(text: &str) -> Option<FileTime> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_digits(whole) || !is_digits(fraction) || whole.len() > 11 {
        return None;
    }
    let units = format!("{fraction:0<7}")[..7].parse::<i64>().ok()?;
    let seconds = whole.parse::<i64>().ok()?;
    Some(FileTime::UNIX_EPOCH.saturating_add(sign * (seconds * FileTime::PER_SECOND + units)))
}

/// Decodes a part of a query string: `+` is a space, `%` with two hexadecimal digits is a byte.
fn percent_decode(part: &str) -> Result<String, ApiError> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => {
                let mut digit = || rest.next().and_then(|byte| char::from(byte).to_digit(16));
                match (digit(), digit()) {
                    (Some(high), Some(low)) => (high * 16 + low) as u8,
                    _ => {
                        return Err(ApiError::bad_request(
                            "a '%' in the URL is not followed by two hexadecimal digits",
                        ));
                    }
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| ApiError::bad_request("a parameter of the URL is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Parameters, ApiError> {
        Parameters::parse(Some(query), &["path", "begin", "end", "columns"])
    }

    #[test]
    fn values_are_decoded_once() {
        let read =
            parse("path=%5CMemory%5CAvailable+Bytes&path=%5CA(%25)%5CB&begin=&columns=12").expect("read");
        let paths = read.paths().expect("paths");
        let texts: Vec<_> = paths.iter().map(ToString::to_string).collect();
        assert_eq!(texts, [r"\Memory\Available Bytes", r"\A(%)\B"]);
        assert_eq!(read.count("columns", 800, 4000).expect("a number"), 12);
        assert!(read.time("begin").is_err());
    }

    #[test]
    fn numbers_are_repeatable_and_bounded() {
        let parse = |query: &str| Parameters::parse(Some(query), &["id"]).expect("read").numbers("id", 2);
        assert_eq!(parse("").expect("none"), [0; 0]);
        assert_eq!(parse("id=1&id=4294967295").expect("two"), [1, u32::MAX]);
        for query in ["id=1&id=2&id=3", "id=", "id=-1", "id=+1", "id=4294967296", "id=1.0"] {
            assert!(parse(query).is_err(), "{query}");
        }
    }

    #[test]
    fn invalid_parameters_are_refused() {
        for query in
            ["path=%", "path=%4", "path=%zz", "path=%ff", "wrong=1", "%=1", "path=Memory", "path=%5C"]
        {
            assert!(parse(query).and_then(|read| read.required_paths()).is_err(), "{query}");
        }
        for query in
            ["columns=0", "columns=-1", "columns=1e3", "columns=4001", "columns=", "columns=1&columns=1"]
        {
            assert!(parse(query).expect("read").count("columns", 800, 4000).is_err(), "{query}");
        }
        for query in ["begin=2013-02-19T18:50:17", "begin=now", "begin=2013-02-30T00:00:00Z"] {
            assert!(parse(query).expect("read").window().is_err(), "{query}");
        }
        for (query, units) in [
            ("begin=0", 0),
            ("begin=-1.5", -15_000_000),
            ("begin=1361328617.844", 13_613_286_178_440_000),
            ("begin=1361328617.8440001", 13_613_286_178_440_001),
        ] {
            let begin = parse(query).expect("read").time("begin").expect("a time");
            assert_eq!(begin, Some(FileTime::UNIX_EPOCH.saturating_add(units)), "{query}");
        }
        for query in ["begin=1e400", "begin=inf", "begin=.5", "begin=1.2.3", "begin=99999999999999"] {
            assert!(parse(query).expect("read").time("begin").is_err(), "{query}");
        }
        let backwards = parse("begin=2013-02-20T00:00:00Z&end=2013-02-19T00:00:00Z").expect("read");
        assert!(backwards.window().is_err());
    }
}
