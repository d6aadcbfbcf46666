//! Access checks of every request: the Host header, the origin, and the token.

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tachograph_remote::Token;
use tokio::sync::Notify;

use crate::admission::Client;
use crate::api::Web;
use crate::embedding::Access;
use crate::options::{Embedding, LineLog, ServeError, Services};
use crate::response::ApiError;
use crate::sessions::{Sessions, is_same};
use crate::tls;
use crate::token_throttle::TokenThrottle;

/// Maximum length of a URL's path and query, in bytes.
const MAX_URI: usize = 48 << 10;

/// The security headers of every response, except those about embedding.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// Checks every request.
pub(crate) struct Guard {
    port: u16,
    is_tls: bool,
    services: Services,
    /// The host names that the command line allows.
    hosts: Vec<String>,
    token: Option<Token>,
    throttle: TokenThrottle,
    sessions: Sessions,
    /// The name of the session cookie.
    cookie: String,
    embedding: Embedding,
    /// The Content-Security-Policy.
    policy: HeaderValue,
}

impl Guard {
    pub(crate) fn new(
        port: u16,
        is_tls: bool,
        services: Services,
        hosts: Vec<String>,
        token: Option<Token>,
        embedding: Embedding,
        notices: Option<LineLog>,
    ) -> Result<Self, ServeError> {
        // Browsers send cookies to all ports of a host, so two servers need different cookie names.
        let prefix = if is_tls { "__Host-" } else { "" };
        let cookie = format!("{prefix}tacho-{port}");
        let policy = embedding.policy()?;
        if embedding.token.is_some() && token.is_none() {
            return Err(ServeError::usage("a token for embedded pages requires a token of the server"));
        }
        Ok(Self {
            port,
            is_tls,
            services,
            hosts,
            token,
            throttle: TokenThrottle::new(notices),
            sessions: Sessions::default(),
            cookie,
            embedding,
            policy,
        })
    }

    /// Checks a token; returns a `Set-Cookie` value with which browsers can authenticate later requests. `None` if no token is
    /// required.
    pub(crate) async fn log_in(&self, client: Client, token: &str) -> Result<Option<HeaderValue>, ApiError> {
        if self.token.is_none() {
            return Ok(None);
        }
        if self.compare(client, token.as_bytes(), None).await? != Access::Full {
            return Err(only_views());
        }
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

    /// Registers the connection of a stream to be closed when the session that authenticates its request ends. Does nothing if a
    /// token authenticates the request, or if no token is required.
    pub(crate) fn close_with_session(
        &self,
        headers: &HeaderMap,
        connection: &Arc<Notify>,
    ) -> Result<(), ApiError> {
        if self.token.is_none() || headers.contains_key(header::AUTHORIZATION) {
            return Ok(());
        }
        let now = Instant::now();
        match self.cookies(headers).any(|value| self.sessions.add_stream(value, connection, now)) {
            true => Ok(()),
            // The session ended after the request was checked.
            false => Err(unauthorized()),
        }
    }

    /// Ends the sessions that have expired.
    pub(crate) fn remove_expired_sessions(&self) {
        self.sessions.remove_expired(Instant::now());
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
            ApiError::new(status, "unknown host name; the person who runs the server can allow it")
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

    /// Refuses requests that pages of other sites send from a user's browser, except requests for this server's page and its
    /// assets.
    fn check_site(&self, headers: &HeaderMap, host: &Authority, is_page: bool) -> Result<(), ApiError> {
        let cross_site = || ApiError::new(StatusCode::FORBIDDEN, "cross-site requests are refused");
        for site in headers.get_all("sec-fetch-site") {
            if !is_page && !matches!(site.as_bytes(), b"same-origin" | b"none") {
                return Err(cross_site());
            }
        }
        // A proxy that terminates TLS can be in front of a server without TLS. An http origin is refused on a server with TLS,
        // because anyone who can intercept plain HTTP could serve a page under the server's host name.
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

    /// Compares a token with the configured ones, if any. The server's token is accepted without a delay on a connection on
    /// which it was sent before, so that wrong tokens from the same address do not lock out a client that knows it. This does
    /// not help to guess the token.
    async fn compare(
        &self,
        client: Client,
        token: &[u8],
        connection: Option<&TokenSent>,
    ) -> Result<Access, ApiError> {
        let Some(right) = &self.token else { return Ok(Access::Full) };
        let is_full = || is_same(token, right.bytes());
        if connection.is_some_and(TokenSent::is_right) && is_full() {
            return Ok(Access::Full);
        }
        let views_token = self.embedding.token.as_ref();
        let is_views = || views_token.is_some_and(|right| is_same(token, right.bytes()));
        let access_of = || match (is_full(), is_views()) {
            (true, _) => Some(Access::Full),
            (false, true) => Some(Access::Views),
            (false, false) => None,
        };
        let access = self.throttle.compare(client, unauthorized, access_of).await?;
        if access == Access::Full {
            connection.inspect(|connection| connection.set_right());
        }
        Ok(access)
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
        // Unlike wrong tokens, wrong cookies do not count as failed attempts (see the throttle): 256 random bits cannot be
        // guessed, and browsers send cookies from before a restart.
        let now = Instant::now();
        if self.cookies(headers).any(|value| self.sessions.is_open(value, now)) {
            Ok(None)
        } else {
            Err(unauthorized())
        }
    }

    /// Adds the security headers to a response.
    fn add_headers(&self, headers: &mut HeaderMap) {
        for (name, value) in HEADERS {
            headers.insert(name, HeaderValue::from_static(value));
        }
        headers.insert(header::CONTENT_SECURITY_POLICY, self.policy.clone());
        // X-Frame-Options is for browsers that do not know `frame-ancestors`. It cannot name sites.
        if self.embedding.origins.is_empty() {
            headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
        }
    }

    /// Whether a path is only for programs: all paths of an agent, which has no page, and the protocol of agents.
    fn is_for_programs(&self, path: &str) -> bool {
        self.services == Services::Agent || path.starts_with("/agent/")
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
        if self.is_for_programs(uri.path()) {
            // Programs are not browsers. The token protects against DNS rebinding, so they can use any name of this machine.
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

fn unauthorized() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
}

fn only_views() -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "this token gives access to embedded views only")
}

/// Middleware that checks requests, adds security headers to responses, and logs each request with its status.
pub(crate) async fn guard(State(web): State<Web>, mut request: Request, next: Next) -> Response {
    // The query and headers are not logged, because they can contain secrets.
    let line = web.log.as_ref().map(|log| (log, format!("{} {}", request.method(), request.uri().path())));
    let client = request.extensions().get().copied();
    let connection = request.extensions().get::<TokenSent>().cloned();
    let is_for_programs = web.guard.is_for_programs(request.uri().path());
    let checked = match (web.guard.check(&request), client) {
        (Ok(Some(token)), Some(client)) => web.guard.compare(client, &token, connection.as_ref()).await,
        // This is not reached, because every connection has a client.
        (Ok(Some(_)), None) => Err(unauthorized()),
        (Ok(None), _) => Ok(Access::Full),
        (Err(error), _) => Err(error),
    };
    let mut response = match checked {
        Ok(access) if access.allows(request.method(), request.uri().path()) => {
            request.extensions_mut().insert(access);
            next.run(request).await
        }
        Ok(_) => only_views().into_response(),
        Err(error) => error.into_response(),
    };
    let headers = response.headers_mut();
    // Only browsers need these headers.
    if !is_for_programs {
        web.guard.add_headers(headers);
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some((log, line)) = line {
        log(&format!("{line} {}", response.status().as_u16()));
    }
    response
}
