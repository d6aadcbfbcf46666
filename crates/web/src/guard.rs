//! Access checks of every request: the Host header, the origin, and the token.

use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;
use tachograph_counters::IgnorePoison;
use tachograph_remote::Token;

use crate::admission::Client;
use crate::api::Web;
use crate::options::LineLog;
use crate::response::ApiError;
use crate::tls;
use crate::token_throttle::TokenThrottle;

/// Maximum length of a URL's path and query, in bytes.
const MAX_URI: usize = 48 << 10;

/// The Content-Security-Policy: the page loads nothing from other sites and cannot be framed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// The security headers of every response.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Checks every request.
pub(crate) struct Guard {
    port: u16,
    is_tls: bool,
    /// The host names that the command line allows.
    hosts: Vec<String>,
    token: Option<Token>,
    throttle: TokenThrottle,
    sessions: Sessions,
    /// The name of the session cookie.
    cookie: String,
}

impl Guard {
    pub(crate) fn new(
        port: u16,
        is_tls: bool,
        hosts: Vec<String>,
        token: Option<Token>,
        notices: Option<LineLog>,
    ) -> Self {
        // Browsers send cookies to all ports of a host, so two servers need different cookie names.
        let prefix = if is_tls { "__Host-" } else { "" };
        let cookie = format!("{prefix}tacho-{port}");
        Self {
            port,
            is_tls,
            hosts,
            token,
            throttle: TokenThrottle::new(notices),
            sessions: Sessions::default(),
            cookie,
        }
    }

    /// Checks a token; returns a `Set-Cookie` value with which browsers can authenticate later requests. `None` if no token is
    /// required.
    pub(crate) async fn log_in(&self, client: Client, token: &str) -> Result<Option<HeaderValue>, ApiError> {
        if self.token.is_none() {
            return Ok(None);
        }
        self.compare(client, token.as_bytes(), None).await?;
        let session = tls::random_secret().map_err(|error| ApiError::unavailable(error.to_string()))?;
        let cookie = self.set_cookie(&session, "").ok_or_else(unauthorized)?;
        self.sessions.add(session, Instant::now());
        Ok(Some(cookie))
    }

    /// Ends the session of a request, if it has one; returns a `Set-Cookie` value that deletes the browser's cookie.
    pub(crate) fn log_out(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.token.as_ref()?;
        for value in self.cookies(headers) {
            self.sessions.remove(value);
        }
        self.set_cookie("", "; Max-Age=0")
    }

    /// Whether clients need a token.
    pub(crate) fn needs_token(&self) -> bool {
        self.token.is_some()
    }

    /// A `Set-Cookie` value for the session cookie. `attributes` are appended to the usual ones.
    fn set_cookie(&self, value: &str, attributes: &str) -> Option<HeaderValue> {
        let secure = if self.is_tls { "; Secure" } else { "" };
        let cookie =
            format!("{}={value}; Path=/; HttpOnly; SameSite=Strict{secure}{attributes}", self.cookie);
        HeaderValue::from_str(&cookie).ok()
    }

    /// The values of this server's cookies in a request.
    fn cookies<'a>(&'a self, headers: &'a HeaderMap) -> impl Iterator<Item = &'a str> {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let cookies =
            cookies.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        cookies.filter(|(name, _)| *name == self.cookie).map(|(_, value)| value)
    }

    /// Checks the Host header against DNS rebinding: another site's name that resolves to this server is refused.
    fn check_host(&self, request: &Request) -> Result<Authority, ApiError> {
        let wrong = || {
            let status = StatusCode::MISDIRECTED_REQUEST;
            ApiError::new(status, "unknown host name; start the server with --host NAME to allow it")
        };
        let mut names = request.headers().get_all(header::HOST).iter();
        let (Some(name), None) = (names.next(), names.next()) else {
            return Err(ApiError::bad_request("exactly one Host header is required"));
        };
        let host: Authority = name.to_str().ok().and_then(|name| name.parse().ok()).ok_or_else(wrong)?;
        let matches_target = request.uri().authority().is_none_or(|target| *target == host);
        match matches_target && !host.as_str().contains('@') && self.is_allowed(&host) {
            true => Ok(host),
            false => Err(wrong()),
        }
    }

    fn is_allowed(&self, host: &Authority) -> bool {
        if self.is_named(host) {
            return true;
        }
        let name = host.host();
        let default = if self.is_tls { 443 } else { 80 };
        let has_own_port = host.port_u16().unwrap_or(default) == self.port;
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        // DNS rebinding is not possible with addresses.
        has_own_port && (name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok())
    }

    /// Whether the command line allows a host name.
    fn is_named(&self, host: &Authority) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host.host()))
    }

    /// Refuses requests that pages of other sites send from a user's browser, except those for the page itself.
    fn check_site(&self, headers: &HeaderMap, host: &Authority, is_page: bool) -> Result<(), ApiError> {
        let cross_site = || ApiError::new(StatusCode::FORBIDDEN, "cross-site requests are refused");
        for site in headers.get_all("sec-fetch-site") {
            if !is_page && !matches!(site.as_bytes(), b"same-origin" | b"none") {
                return Err(cross_site());
            }
        }
        // A proxy that terminates TLS can be in front of a server without TLS. The reverse is refused: anyone who can intercept
        // plain HTTP could serve a page of that name.
        let schemes: &[&str] = match self.is_tls {
            true => &["https"],
            false if self.is_named(host) => &["http", "https"],
            false => &["http"],
        };
        let is_same_origin = |origin: &HeaderValue| {
            let has_scheme =
                |scheme| origin.as_bytes().eq_ignore_ascii_case(format!("{scheme}://{host}").as_bytes());
            schemes.iter().any(has_scheme)
        };
        if !headers.get_all(header::ORIGIN).iter().all(is_same_origin) {
            return Err(cross_site());
        }
        Ok(())
    }

    /// Compares a token with the configured one, if any. The right token is accepted without a delay on a connection on
    /// which it was sent before: wrong tokens from the same address do not lock out a client that knows it, and no client
    /// can try tokens in this way.
    async fn compare(
        &self,
        client: Client,
        token: &[u8],
        connection: Option<&TokenSent>,
    ) -> Result<(), ApiError> {
        let Some(right) = &self.token else { return Ok(()) };
        if connection.is_some_and(TokenSent::is_right) && is_same(token, right.bytes()) {
            return Ok(());
        }
        self.throttle.compare(client, unauthorized, || is_same(token, right.bytes())).await?;
        connection.inspect(|connection| connection.set_right());
        Ok(())
    }

    /// Checks the cookie of a request, or returns its token, which must still be compared.
    fn token_of(&self, headers: &HeaderMap) -> Result<Option<Vec<u8>>, ApiError> {
        if self.token.is_none() {
            return Ok(None);
        }
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        if let Some(given) = given.next() {
            let token = given.as_bytes().split_at_checked(7);
            let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
            return token.map(|(_, token)| Some(token.to_vec())).ok_or_else(unauthorized);
        }
        // Wrong cookies are not counted: 256 random bits cannot be guessed, and browsers send cookies from before a
        // restart.
        let now = Instant::now();
        if self.cookies(headers).any(|value| self.sessions.is_open(value, now)) {
            Ok(None)
        } else {
            Err(unauthorized())
        }
    }

    /// Checks everything except the token, which it returns if one must be compared.
    fn check(&self, request: &Request) -> Result<Option<Vec<u8>>, ApiError> {
        let uri = request.uri();
        if uri.path_and_query().is_some_and(|target| target.as_str().len() > MAX_URI) {
            return Err(ApiError::new(
                StatusCode::URI_TOO_LONG,
                format!("the URL is longer than {MAX_URI} bytes"),
            ));
        }
        if is_agent_path(uri.path()) {
            // Consumers are not browsers: the token protects from rebinding, and they use any name of this machine.
            if request.headers().contains_key(header::ORIGIN) {
                return Err(ApiError::new(StatusCode::FORBIDDEN, "browsers cannot use this path"));
            }
            if self.token.is_some() {
                return self.token_of(request.headers());
            }
        }
        let host = self.check_host(request)?;
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_page = is_read && (uri.path() == "/" || uri.path().starts_with("/assets/"));
        self.check_site(request.headers(), &host, is_page)?;
        // Public paths need no token.
        let is_public = is_page || matches!(uri.path(), "/api/login" | "/favicon.ico");
        if is_public { Ok(None) } else { self.token_of(request.headers()) }
    }
}

/// Whether the right token was sent on a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct TokenSent(Arc<AtomicBool>);

impl TokenSent {
    fn is_right(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    fn set_right(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The sessions of browsers that have sent the token: the value of the cookie, and when it was last used.
#[derive(Default)]
struct Sessions(Mutex<Vec<(String, Instant)>>);

impl Sessions {
    /// A session ends when it has not been used for this time.
    const MAX_IDLE: Duration = Duration::from_secs(12 * 3600);
    /// The maximum number of sessions; a new one beyond it replaces the least recently used one.
    const MAX: usize = 1000;

    fn add(&self, value: String, now: Instant) {
        let mut sessions = self.0.lock().ignore_poison();
        sessions.retain(|(_, used)| now.saturating_duration_since(*used) < Self::MAX_IDLE);
        if sessions.len() >= Self::MAX
            && let Some(oldest) = (0..sessions.len()).min_by_key(|&index| sessions[index].1)
        {
            sessions.swap_remove(oldest);
        }
        sessions.push((value, now));
    }

    fn is_open(&self, value: &str, now: Instant) -> bool {
        let mut sessions = self.0.lock().ignore_poison();
        let is_open = |(known, used): &&mut (String, Instant)| {
            is_same(value.as_bytes(), known.as_bytes())
                && now.saturating_duration_since(*used) < Self::MAX_IDLE
        };
        let found = sessions.iter_mut().find(is_open);
        found.map(|(_, used)| *used = now).is_some()
    }

    fn remove(&self, value: &str) {
        self.0.lock().ignore_poison().retain(|(known, _)| !is_same(value.as_bytes(), known.as_bytes()));
    }
}

/// Compares secrets in a time that depends only on their length.
fn is_same(given: &[u8], right: &[u8]) -> bool {
    given.ct_eq(right).into()
}

fn unauthorized() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
}

/// Whether a path belongs to the protocol of agents.
fn is_agent_path(path: &str) -> bool {
    path.starts_with("/agent/")
}

/// Middleware that checks requests, adds [`HEADERS`] to responses, and logs each request with its status.
pub(crate) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    // The query and headers are not logged: they can contain secrets.
    let line = web.log.as_ref().map(|log| (log, format!("{} {}", request.method(), request.uri().path())));
    let client = request.extensions().get().copied();
    let connection = request.extensions().get::<TokenSent>().cloned();
    let is_agent = is_agent_path(request.uri().path());
    let checked = match (web.guard.check(&request), client) {
        (Ok(Some(token)), Some(client)) => web.guard.compare(client, &token, connection.as_ref()).await,
        // Not reached: every connection has a client.
        (Ok(Some(_)), None) => Err(unauthorized()),
        (Ok(None), _) => Ok(()),
        (Err(error), _) => Err(error),
    };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    // Only browsers need them.
    for (name, value) in HEADERS.into_iter().filter(|_| !is_agent) {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some((log, line)) = line {
        log(&format!("{line} {}", response.status().as_u16()));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_end_when_they_are_idle_or_too_many() {
        let sessions = Sessions::default();
        let start = Instant::now();
        sessions.add("one".to_owned(), start);
        let later = start + Sessions::MAX_IDLE - Duration::from_secs(1);
        assert!(sessions.is_open("one", later) && !sessions.is_open("other", later));
        assert!(sessions.is_open("one", later + Duration::from_secs(3600)), "use extends a session");
        assert!(!sessions.is_open("one", later + Duration::from_secs(3600) + Sessions::MAX_IDLE));
        let again = start + 3 * Sessions::MAX_IDLE;
        for index in 0..=Sessions::MAX {
            sessions.add(index.to_string(), again + Duration::from_millis(index as u64));
        }
        let now = again + Duration::from_secs(10);
        assert!(!sessions.is_open("0", now) && sessions.is_open("1", now), "the oldest session ends");
        sessions.remove("1");
        assert!(!sessions.is_open("1", now));
    }
}
