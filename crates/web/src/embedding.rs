//! Embedding the page in pages of other sites, and the requests that the token of embedded pages allows.

use axum::http::uri::Authority;
use axum::http::{HeaderValue, Method};

use crate::options::{Embedding, ServeError};

/// The Content-Security-Policy, without the sites that can embed the page. The page loads nothing from other sites.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors";

/// What a request is allowed to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Everything.
    Full,
    /// What an embedded page needs to show views of this machine and of open logs.
    Views,
}

impl Access {
    pub(crate) fn allows(self, method: &Method, path: &str) -> bool {
        if self == Self::Full {
            return true;
        }
        let is_of_source = |rest: &str| {
            let (_, what) = rest.split_once('/').unwrap_or((rest, ""));
            matches!(what, "" | "series")
        };
        matches!(*method, Method::GET | Method::HEAD)
            && (matches!(path, "/api/sources" | "/api/views" | "/api/stream")
                || path.starts_with("/api/views/")
                || path.strip_prefix("/api/sources/").is_some_and(is_of_source))
    }
}

impl Embedding {
    /// [`POLICY`] with the sites that can embed the page.
    pub(crate) fn policy(&self) -> Result<HeaderValue, ServeError> {
        let mut policy = POLICY.to_owned();
        if self.origins.is_empty() {
            policy.push_str(" 'none'");
        }
        for origin in &self.origins {
            let (scheme, host) = origin.split_once("://").unwrap_or_default();
            let has_host = host.parse::<Authority>().is_ok_and(|host| !host.host().is_empty());
            // Other characters could end the directive, or be a wildcard.
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
            if !matches!(scheme, "http" | "https") || !has_host || !host.bytes().all(is_plain) {
                return Err(ServeError::usage(format!(
                    "'{origin}': must be the origin of a site, such as https://wiki.example"
                )));
            }
            policy.push(' ');
            policy.push_str(origin);
        }
        HeaderValue::from_str(&policy).map_err(|error| ServeError::usage(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_can_embed_the_page() {
        let policy = |origins: &[&str]| {
            let origins = origins.iter().map(|origin| (*origin).to_owned()).collect();
            let policy = Embedding { origins, token: None }.policy();
            policy.map(|policy| policy.to_str().expect("ASCII").to_owned())
        };
        let ancestors = |origins: &[&str]| {
            let policy = policy(origins).expect("a policy");
            policy.split_once("frame-ancestors ").expect("the directive").1.to_owned()
        };
        assert_eq!(ancestors(&[]), "'none'");
        assert_eq!(ancestors(&["https://wiki.example"]), "https://wiki.example");
        assert_eq!(
            ancestors(&["http://localhost:8080", "http://[::1]:80"]),
            "http://localhost:8080 http://[::1]:80"
        );
        let wrong = [
            "",
            "*",
            "wiki.example",
            "https://",
            "https://*",
            "https://*.example",
            "ftp://wiki.example",
            "https://wiki.example/",
            "https://wiki.example/page",
            "https://a; script-src *",
            "https://a b",
            "https://a,b",
            "https://user@a",
            "https://a\r\nX: y",
            "HTTPS://a",
            "https://:80",
        ];
        for origin in wrong {
            let error = policy(&[origin]).expect_err(origin);
            assert!(error.is_usage(), "{origin}");
        }
    }

    #[test]
    fn the_token_of_embedded_pages_reads_only_views() {
        for path in [
            "/api/sources",
            "/api/sources/live",
            "/api/sources/7/series",
            "/api/views",
            "/api/views/overview",
            "/api/stream",
        ] {
            assert!(Access::Views.allows(&Method::GET, path), "{path}");
            for method in [Method::POST, Method::DELETE, Method::PUT] {
                assert!(!Access::Views.allows(&method, path) && Access::Full.allows(&method, path), "{path}");
            }
        }
        for path in [
            "/metrics",
            "/api/login",
            "/api/sources/live/export",
            "/api/sources/live/statistics",
            "/api/sources/live/sets",
            "/api/sources/live/series/export",
            "/api/query",
            "/api/block",
            "/api/recording",
            "/api/openapi.json",
            "/agent/v1",
            "/api/sources2",
            "/api/viewsx",
        ] {
            assert!(!Access::Views.allows(&Method::GET, path), "{path}");
        }
    }
}
