//! Errors of S3 as one sentence.

use object_store::Error;
use object_store::client::{HttpError, HttpErrorKind};

/// Maximum number of characters of a text from the store.
const MAX_CHARS: usize = 300;

/// Says why a request failed.
pub(super) fn text_of(error: &Error) -> String {
    let text = error.to_string();
    let code = element(&text, "Code");
    match (error, code) {
        (_, Some("NoSuchBucket")) => "the bucket does not exist".to_owned(),
        (Error::Precondition { .. }, _) | (_, Some("PreconditionFailed")) => {
            "the object was replaced while it was read: run the query again".to_owned()
        }
        (Error::PermissionDenied { .. } | Error::Unauthenticated { .. }, code) => denied(code),
        (_, Some(code)) if text.contains("403 Forbidden") || text.contains("401 Unauthorized") => {
            denied(Some(code))
        }
        (Error::NotFound { .. }, _) => "the object does not exist".to_owned(),
        (_, Some(code)) => {
            let message = element(&text, "Message").unwrap_or_default();
            short(&format!("the store returned the error {code}: {message}"))
        }
        _ => transport(error),
    }
}

fn denied(code: Option<&str>) -> String {
    let code = code.map_or_else(String::new, |code| format!(" ({})", short(code)));
    format!(
        "access is denied{code}: check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION and the permissions of the key"
    )
}

/// The text of an error that no answer of the store caused.
fn transport(error: &Error) -> String {
    let mut cause: &(dyn std::error::Error + 'static) = error;
    let mut kind = None;
    while let Some(next) = cause.source() {
        cause = next;
        kind = kind.or_else(|| cause.downcast_ref::<HttpError>().map(HttpError::kind));
    }
    let cause = match cause.downcast_ref::<std::io::Error>() {
        Some(error) => tachograph_logs::io_error_text(error),
        None => cause.to_string(),
    };
    match kind {
        // The text of reqwest.
        _ if cause == "URL scheme is not allowed" => {
            "connections without TLS are not allowed: set AWS_ALLOW_HTTP=true to allow them".to_owned()
        }
        Some(HttpErrorKind::Timeout) => {
            "the store did not answer in time: check AWS_ENDPOINT_URL and AWS_TIMEOUT".to_owned()
        }
        Some(HttpErrorKind::Connect) => {
            short(&format!("cannot connect to the store: {cause}: check AWS_ENDPOINT_URL and AWS_REGION"))
        }
        _ => short(&cause),
    }
}

/// The content of the first element of this name in an XML text.
fn element<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{name}>"))?;
    rest.split_once("</").map(|(content, _)| content)
}

/// Limits the length of a text from the store, and joins its lines.
fn short(text: &str) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    joined.chars().take(MAX_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn generic(text: &str) -> Error {
        Error::Generic { store: "S3", source: text.into() }
    }

    #[test]
    fn errors_of_the_store_are_one_sentence() {
        let status = |status: &str, code: &str| {
            generic(&format!(
                "Server returned non-2xx status code: {status}: <?xml version=\"1.0\"?>\n<Error>\n<Code>{code}</Code>\n<Message>Some\nthing</Message></Error>"
            ))
        };
        assert_eq!(text_of(&status("404 Not Found", "NoSuchBucket")), "the bucket does not exist");
        assert!(
            text_of(&status("403 Forbidden", "InvalidAccessKeyId"))
                .starts_with("access is denied (InvalidAccessKeyId)")
        );
        assert_eq!(
            text_of(&status("500 Internal Server Error", "InternalError")),
            "the store returned the error InternalError: Some thing"
        );
        let source = || "x".into();
        let denied = Error::PermissionDenied { path: "a".to_owned(), source: source() };
        assert!(text_of(&denied).starts_with("access is denied: check AWS_ACCESS_KEY_ID"));
        let missing = Error::NotFound { path: "a".to_owned(), source: source() };
        assert_eq!(text_of(&missing), "the object does not exist");
        let replaced = Error::Precondition { path: "a".to_owned(), source: source() };
        assert!(text_of(&replaced).starts_with("the object was replaced"));
    }

    #[test]
    fn other_errors_are_named_by_their_cause() {
        let refused = std::io::Error::from_raw_os_error(111);
        let error = HttpError::new(HttpErrorKind::Connect, refused);
        let error = Error::Generic { store: "S3", source: Box::new(error) };
        assert!(
            text_of(&error).starts_with("cannot connect to the store: Connection refused: check"),
            "{}",
            text_of(&error)
        );
        let late = HttpError::new(HttpErrorKind::Timeout, std::io::Error::other("late"));
        let error = Error::Generic { store: "S3", source: Box::new(late) };
        assert!(text_of(&error).starts_with("the store did not answer in time"));
        assert_eq!(text_of(&generic(&"x\n".repeat(1000))).chars().count(), MAX_CHARS);
    }
}
