//! What a request's path and what follows its `?` say.

use axum::extract::{FromRequestParts, Path};
use axum::http::request::Parts;
use tachograph_counters::civil::{FileTime, TimeArgument};
use tachograph_counters::path::{CounterPath, PathPattern};

use crate::answer::Refusal;

/// Most counter paths of a request.
pub(crate) const MAX_PATHS: usize = 256;
/// Most counters of a request that are left out of what its paths select.
const MAX_EXCEPTIONS: usize = 1024;
/// Longest counter path, in bytes.
const MAX_PATH_BYTES: usize = 2048;

/// The part of a request's path that varies, decoded.
#[derive(Debug)]
pub(crate) struct PathPart(pub(crate) String);

impl<S: Send + Sync> FromRequestParts<S> for PathPart {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match Path::from_request_parts(parts, state).await {
            Ok(Path(part)) => Ok(Self(part)),
            Err(_) => Err(Refusal::bad("the path of the URL is no UTF-8")),
        }
    }
}

/// The parameters of a request, each a name and a value.
#[derive(Debug)]
pub(crate) struct Parameters(Vec<(String, String)>);

impl Parameters {
    /// Reads a query text whose names are all among these.
    pub(crate) fn parse(query: Option<&str>, names: &[&str]) -> Result<Self, Refusal> {
        let mut pairs = Vec::new();
        for part in query.unwrap_or_default().split('&').filter(|part| !part.is_empty()) {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            if !names.contains(&name.as_str()) {
                return Err(Refusal::bad(match names {
                    [] => "this takes no parameters".to_owned(),
                    names => format!("unknown parameter; there are {}", names.join(", ")),
                }));
            }
            pairs.push((name, value));
        }
        Ok(Self(pairs))
    }

    /// A parameter that stands once or not at all.
    pub(crate) fn one(&self, name: &str) -> Result<Option<&str>, Refusal> {
        let mut values = self.0.iter().filter(|(known, _)| known == name);
        let first = values.next();
        if values.next().is_some() {
            return Err(Refusal::bad(format!("'{name}' is given twice")));
        }
        Ok(first.map(|(_, value)| value.as_str()))
    }

    /// The counter paths.
    pub(crate) fn paths(&self) -> Result<Vec<PathPattern>, Refusal> {
        let texts = self.path_texts("path", MAX_PATHS)?;
        let mut paths = Vec::with_capacity(texts.len());
        for text in texts {
            let path =
                PathPattern::parse(text).map_err(|error| Refusal::bad(format!("'{text}': {error}")))?;
            if !paths.contains(&path) {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// The paths of single counters that are left out of what the others select.
    pub(crate) fn exceptions(&self) -> Result<Vec<CounterPath>, Refusal> {
        let texts = self.path_texts("except", MAX_EXCEPTIONS)?;
        let parse = |text: &str| {
            CounterPath::parse(text).map_err(|error| Refusal::bad(format!("except: '{text}': {error}")))
        };
        texts.into_iter().map(parse).collect()
    }

    /// The values of a parameter that may be repeated so often, each a counter path that is not too long.
    fn path_texts(&self, name: &str, most: usize) -> Result<Vec<&str>, Refusal> {
        let texts: Vec<_> =
            self.0.iter().filter(|(known, _)| known == name).map(|(_, text)| text.as_str()).collect();
        if texts.len() > most {
            return Err(Refusal::bad(format!("{name}: at most {most} counter paths at a time")));
        }
        match texts.iter().any(|text| text.len() > MAX_PATH_BYTES) {
            true => Err(Refusal::bad(format!("a counter path has at most {MAX_PATH_BYTES} bytes"))),
            false => Ok(texts),
        }
    }

    /// The counter paths, of which there must be one.
    pub(crate) fn some_paths(&self) -> Result<Vec<PathPattern>, Refusal> {
        let paths = self.paths()?;
        match paths.is_empty() {
            true => Err(Refusal::bad(r"no counter path: give path=\Set(instance)\Counter, encoded for URLs")),
            false => Ok(paths),
        }
    }

    /// A time with its zone.
    pub(crate) fn time(&self, name: &str) -> Result<Option<FileTime>, Refusal> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        match TimeArgument::parse(text) {
            Ok(TimeArgument::Utc(time)) => Ok(Some(time)),
            Ok(TimeArgument::Local(_)) => {
                Err(Refusal::bad(format!("{name}: a zone is needed, as in 2013-02-19T18:50:17.844-08:00")))
            }
            Err(error) => Err(Refusal::bad(format!("{name}: {error}"))),
        }
    }

    /// Begin and end of a stretch of time, either of which may be left open.
    pub(crate) fn window(&self) -> Result<(Option<FileTime>, Option<FileTime>), Refusal> {
        let (begin, end) = (self.time("begin")?, self.time("end")?);
        if let (Some(begin), Some(end)) = (begin, end)
            && begin >= end
        {
            return Err(Refusal::bad("begin is not before end, so that no time is left between them"));
        }
        Ok((begin, end))
    }

    /// A whole number from 1 to `most`.
    pub(crate) fn count(&self, name: &str, default: usize, most: usize) -> Result<usize, Refusal> {
        let Some(text) = self.one(name)? else { return Ok(default) };
        let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let count = text.parse::<usize>().ok().filter(|count| digits && (1..=most).contains(count));
        count.ok_or_else(|| Refusal::bad(format!("{name}: a whole number from 1 to {most}")))
    }
}

/// A part of a query as text: `+` is a blank, `%` with two hexadecimal digits a byte.
fn decoded(part: &str) -> Result<String, Refusal> {
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
                        return Err(Refusal::bad(
                            "a '%' of the URL is not followed by two hexadecimal digits",
                        ));
                    }
                }
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| Refusal::bad("a parameter of the URL is no UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(query: &str) -> Result<Parameters, Refusal> {
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
    fn what_is_not_understood_is_refused() {
        for query in
            ["path=%", "path=%4", "path=%zz", "path=%ff", "wrong=1", "%=1", "path=Memory", "path=%5C"]
        {
            assert!(parse(query).and_then(|read| read.some_paths()).is_err(), "{query}");
        }
        for query in
            ["columns=0", "columns=-1", "columns=1e3", "columns=4001", "columns=", "columns=1&columns=1"]
        {
            assert!(parse(query).expect("read").count("columns", 800, 4000).is_err(), "{query}");
        }
        for query in ["begin=2013-02-19T18:50:17", "begin=now", "begin=2013-02-30T00:00:00Z"] {
            assert!(parse(query).expect("read").window().is_err(), "{query}");
        }
        let backwards = parse("begin=2013-02-20T00:00:00Z&end=2013-02-19T00:00:00Z").expect("read");
        assert!(backwards.window().is_err());
    }
}
