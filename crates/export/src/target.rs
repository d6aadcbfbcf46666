//! Where samples are sent.

use std::fmt;
use std::str::FromStr;

use ureq::http::Uri;

/// How samples are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// Prometheus remote-write 1.0.
    RemoteWrite,
    /// OpenTelemetry's OTLP over HTTP, in protobuf.
    Otlp,
}

impl Protocol {
    /// The word before `=` in a target.
    pub fn name(self) -> &'static str {
        match self {
            Self::RemoteWrite => "prometheus",
            Self::Otlp => "otlp",
        }
    }

    /// The path that is added to a URL without a path.
    fn default_path(self) -> &'static str {
        match self {
            Self::RemoteWrite => "/api/v1/write",
            Self::Otlp => "/v1/metrics",
        }
    }
}

/// A receiver: `prometheus=URL` or `otlp=URL`.
///
/// ```
/// use tachograph_export::Target;
///
/// let target: Target = "prometheus=http://localhost:9090".parse().expect("a target");
/// assert_eq!(target.to_string(), "prometheus=http://localhost:9090/api/v1/write");
/// let target: Target = "otlp=https://collector.example/custom/path".parse().expect("a target");
/// assert_eq!(target.to_string(), "otlp=https://collector.example/custom/path");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    protocol: Protocol,
    url: Uri,
}

impl Target {
    /// How samples are sent.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Where samples are sent.
    pub fn url(&self) -> &Uri {
        &self.url
    }

    /// Whether the connection is encrypted, or does not leave this machine.
    pub fn is_private(&self) -> bool {
        self.url.scheme_str() == Some("https") || self.is_local()
    }

    /// Whether the receiver is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.url.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_loopback = host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
        is_loopback || host.eq_ignore_ascii_case("localhost")
    }

    /// The name of the folder of this target's queue.
    pub(crate) fn folder_name(&self) -> String {
        let with_query = format!("{}={}", self.protocol.name(), self.url);
        let readable: String = self
            .to_string()
            .chars()
            .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-') { c } else { '_' })
            .take(100)
            .collect();
        format!("{readable}-{:08x}", crc32fast::hash(with_query.as_bytes()))
    }
}

/// The target without the query of its URL, which can contain a secret.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = self.url.to_string();
        let without_query = url.split_once('?').map_or(&*url, |(before, _)| before);
        write!(f, "{}={without_query}", self.protocol.name())
    }
}

impl FromStr for Target {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = "write prometheus=URL or otlp=URL, such as prometheus=http://localhost:9090";
        let (name, url) = text.split_once('=').ok_or(expected)?;
        let protocol = match name.trim() {
            name if name.eq_ignore_ascii_case("prometheus") => Protocol::RemoteWrite,
            name if name.eq_ignore_ascii_case("otlp") => Protocol::Otlp,
            other => return Err(format!("'{other}' is not a protocol: {expected}")),
        };
        let url: Uri = url.trim().parse().map_err(|error| format!("'{url}' is not a URL: {error}"))?;
        if !matches!(url.scheme_str(), Some("http" | "https")) || url.host().is_none_or(str::is_empty) {
            return Err(format!("'{url}': the URL must begin with http:// or https:// and name a host"));
        }
        if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(
                "the URL must not contain a password, which other users could see: use --to-login FILE"
                    .to_owned(),
            );
        }
        let mut parts = url.into_parts();
        if parts.path_and_query.as_ref().is_none_or(|path| path.as_str() == "/") {
            parts.path_and_query = protocol.default_path().parse().ok();
        }
        let url = Uri::from_parts(parts).map_err(|error| error.to_string())?;
        Ok(Self { protocol, url })
    }
}

/// The value of the header `Authorization`. Its `Debug` form does not show the secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Authorization(String);

impl Authorization {
    /// A bearer token.
    ///
    /// # Errors
    ///
    /// If the token is empty, or contains characters other than visible ASCII.
    pub fn bearer(token: &str) -> Result<Self, String> {
        let token = token.trim();
        if token.is_empty() || !token.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("a token is one line of visible ASCII characters".to_owned());
        }
        Ok(Self(format!("Bearer {token}")))
    }

    /// A user and a password, as `user:password`.
    ///
    /// # Errors
    ///
    /// If the login has no colon, or more than one line.
    pub fn basic(login: &str) -> Result<Self, String> {
        let login = login.trim_end_matches(['\r', '\n']);
        if !login.contains(':') || login.contains('\n') {
            return Err("a login is one line: user:password".to_owned());
        }
        Ok(Self(format!("Basic {}", base64(login.as_bytes()))))
    }

    pub(crate) fn header(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Authorization {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Authorization(...)")
    }
}

/// Base64 with padding (RFC 4648, section 4).
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or_default());
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit) & 63) as usize;
            out.push(if digit <= chunk.len() { ALPHABET[value].into() } else { '=' });
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_targets_are_explained() {
        for (text, reason) in [
            ("http://localhost", "write prometheus=URL"),
            ("statsd=http://localhost", "'statsd' is not a protocol"),
            ("otlp=localhost:4318", "must begin with http://"),
            ("otlp=ftp://localhost", "must begin with http://"),
            ("otlp=http://", "is not a URL"),
            ("otlp=http://me:secret@host/", "must not contain a password"),
        ] {
            let error = text.parse::<Target>().expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }

    #[test]
    fn connections_are_private_if_encrypted_or_local() {
        for (url, is_private) in [
            ("otlp=http://localhost:4318", true),
            ("otlp=http://127.0.0.2:4318", true),
            ("otlp=http://[::1]:4318", true),
            ("otlp=https://example.org", true),
            ("otlp=http://example.org", false),
            ("otlp=http://localhost.example.org", false),
        ] {
            assert_eq!(url.parse::<Target>().expect("a target").is_private(), is_private, "{url}");
        }
    }

    #[test]
    fn folders_of_different_targets_differ() {
        let name = |text: &str| text.parse::<Target>().expect("a target").folder_name();
        assert_ne!(name("otlp=http://a/x?y"), name("otlp=http://a/x_y"));
        assert_ne!(name("otlp=http://a/x?key=1"), name("otlp=http://a/x?key=2"));
        assert!(!name("otlp=http://a/../..").contains('/'));
    }

    #[test]
    fn secrets_in_the_query_are_not_shown() {
        let target: Target = "otlp=https://a/x?key=SECRET".parse().expect("a target");
        assert_eq!(target.to_string(), "otlp=https://a/x");
        assert!(!target.folder_name().contains("SECRET"));
    }

    #[test]
    fn logins_become_headers_and_invalid_ones_are_refused() {
        // RFC 7617, section 2.
        let login = Authorization::basic("Aladdin:open sesame\n").expect("a login");
        assert_eq!(login.header(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        assert_eq!(base64(b""), "");
        assert_eq!(base64(b"f"), "Zg==");
        assert_eq!(base64(b"foobar"), "Zm9vYmFy");
        assert!(Authorization::basic("no colon").is_err());
        assert!(Authorization::bearer("two words").is_err() && Authorization::bearer(" ").is_err());
        assert_eq!(format!("{login:?}"), "Authorization(...)");
    }
}
