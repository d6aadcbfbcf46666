//! Who may ask: the name that the server was called by, the site that a request comes from, and the token.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use subtle::ConstantTimeEq;

use crate::admission::Client;
use crate::answer::Refusal;
use crate::api::Web;
use crate::guesses::Guesses;
use crate::options::{LineLog, Token};

/// Longest path and query of a request, in bytes.
const MAX_URI: usize = 48 << 10;

/// Nothing is loaded from elsewhere, and nobody may frame the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; \
                      img-src 'self' data: blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// What every answer says to browsers.
const HEADERS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
];

/// What is checked of every request.
pub(crate) struct Guard {
    port: u16,
    is_tls: bool,
    hosts: Vec<String>,
    token: Option<Token>,
    guesses: Guesses,
    /// What stands for the token in the cookie of a browser, for as long as the server runs.
    session: String,
    cookie: String,
}

impl Guard {
    pub(crate) fn new(
        port: u16,
        is_tls: bool,
        hosts: Vec<String>,
        token: Option<Token>,
        session: String,
        notices: Option<LineLog>,
    ) -> Self {
        // Cookies are of a host, whatever its ports: two servers must not take each other's.
        let prefix = if is_tls { "__Host-" } else { "" };
        let cookie = format!("{prefix}tacho-{port}");
        Self { port, is_tls, hosts, token, guesses: Guesses::new(notices), session, cookie }
    }

    /// The cookie that stands for a token, where the token is right.
    pub(crate) async fn log_in(&self, client: Client, token: &str) -> Result<Option<HeaderValue>, Refusal> {
        if self.token.is_none() {
            return Ok(None);
        }
        self.compare(client, token.as_bytes()).await?;
        let secure = if self.is_tls { "; Secure" } else { "" };
        let cookie = format!("{}={}; Path=/; HttpOnly; SameSite=Strict{secure}", self.cookie, self.session);
        HeaderValue::from_str(&cookie).map(Some).map_err(|_| unauthorized())
    }

    /// The name that the server was called by must be its own: a page of another site whose name was made to lead here
    /// (DNS rebinding) is not answered.
    fn check_host(&self, request: &Request) -> Result<Authority, Refusal> {
        let wrong = || {
            let status = StatusCode::MISDIRECTED_REQUEST;
            Refusal::new(status, "the server is not known by this name; --host NAME makes it known")
        };
        let mut names = request.headers().get_all(header::HOST).iter();
        let (Some(name), None) = (names.next(), names.next()) else {
            return Err(Refusal::bad("one Host header is needed"));
        };
        let host: Authority = name.to_str().ok().and_then(|name| name.parse().ok()).ok_or_else(wrong)?;
        let is_of_target = request.uri().authority().is_none_or(|target| *target == host);
        match is_of_target && !host.as_str().contains('@') && self.knows(&host) {
            true => Ok(host),
            false => Err(wrong()),
        }
    }

    fn knows(&self, host: &Authority) -> bool {
        if self.is_named(host) {
            return true;
        }
        let name = host.host();
        let default = if self.is_tls { 443 } else { 80 };
        let is_port = host.port_u16().unwrap_or(default) == self.port;
        let address = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
        // An address cannot be made to lead elsewhere.
        is_port && (name.eq_ignore_ascii_case("localhost") || address.parse::<IpAddr>().is_ok())
    }

    /// Whether the server is called by a name of `--host`.
    fn is_named(&self, host: &Authority) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host.host()))
    }

    /// A page of another site can send requests from the browser of somebody who may look: none of them is answered, but
    /// for those that only show the page.
    fn check_site(&self, headers: &HeaderMap, host: &Authority, is_page: bool) -> Result<(), Refusal> {
        let foreign = || Refusal::new(StatusCode::FORBIDDEN, "requests of other sites are refused");
        for site in headers.get_all("sec-fetch-site") {
            if !is_page && !matches!(site.as_bytes(), b"same-origin" | b"none") {
                return Err(foreign());
            }
        }
        // Behind a name there may be a proxy that speaks TLS for a server that does not. The other way round there is none: who
        // sits on the way of plain HTTP can make a page of that name.
        let schemes: &[&str] = match self.is_tls {
            true => &["https"],
            false if self.is_named(host) => &["http", "https"],
            false => &["http"],
        };
        let is_own = |origin: &HeaderValue| {
            let is_of =
                |scheme| origin.as_bytes().eq_ignore_ascii_case(format!("{scheme}://{host}").as_bytes());
            schemes.iter().any(is_of)
        };
        if !headers.get_all(header::ORIGIN).iter().all(is_own) {
            return Err(foreign());
        }
        Ok(())
    }

    /// Compares a token with the right one, where there is one.
    async fn compare(&self, client: Client, token: &[u8]) -> Result<(), Refusal> {
        let Some(right) = &self.token else { return Ok(()) };
        self.guesses.compare(client, unauthorized, || is_same(token, right.bytes())).await
    }

    /// What a request shows instead of a token, or the token that is still to be compared.
    fn claim(&self, headers: &HeaderMap) -> Result<Claim, Refusal> {
        if self.token.is_none() {
            return Ok(Claim::Granted);
        }
        let mut given = headers.get_all(header::AUTHORIZATION).iter();
        if let Some(given) = given.next() {
            let token = given.as_bytes().split_at_checked(7);
            let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case(b"bearer "));
            return token.map(|(_, token)| Claim::Token(token.to_vec())).ok_or_else(unauthorized);
        }
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut cookies =
            cookies.flat_map(|value| value.split(';')).filter_map(|cookie| cookie.trim().split_once('='));
        // A session is a random number of 256 bits: it cannot be guessed, and one of an earlier server is no attempt to.
        let is_right = |(name, value): (&str, &str)| {
            name == self.cookie && is_same(value.as_bytes(), self.session.as_bytes())
        };
        if cookies.any(is_right) { Ok(Claim::Granted) } else { Err(unauthorized()) }
    }

    fn check(&self, request: &Request) -> Result<Claim, Refusal> {
        let uri = request.uri();
        if uri.path_and_query().is_some_and(|target| target.as_str().len() > MAX_URI) {
            return Err(Refusal::new(StatusCode::URI_TOO_LONG, format!("a URL has at most {MAX_URI} bytes")));
        }
        let host = self.check_host(request)?;
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        let is_page = is_read && (uri.path() == "/" || uri.path().starts_with("/assets/"));
        self.check_site(request.headers(), &host, is_page)?;
        let is_open = is_page || matches!(uri.path(), "/api/login" | "/favicon.ico");
        if is_open { Ok(Claim::Granted) } else { self.claim(request.headers()) }
    }
}

/// What a request is answered for.
enum Claim {
    /// It needs no token, or has a session.
    Granted,
    /// This token, if it is right.
    Token(Vec<u8>),
}

/// Compares secrets in a time that tells nothing but their length.
fn is_same(given: &[u8], right: &[u8]) -> bool {
    given.ct_eq(right).into()
}

fn unauthorized() -> Refusal {
    Refusal::new(StatusCode::UNAUTHORIZED, "the token is missing or wrong")
}

/// Lets through what may ask, and says to browsers what they may do with the answer.
pub(crate) async fn guard(State(web): State<Web>, request: Request, next: Next) -> Response {
    // Neither the query nor a header: they can hold what is nobody's business.
    let line = web.log.as_ref().map(|log| (log, format!("{} {}", request.method(), request.uri().path())));
    let client = request.extensions().get().copied();
    let claim = web.guard.check(&request);
    let checked = match (claim, client) {
        (Ok(Claim::Token(token)), Some(client)) => web.guard.compare(client, &token).await,
        // Every connection has a client.
        (Ok(Claim::Token(_)), None) => Err(unauthorized()),
        (Ok(Claim::Granted), _) => Ok(()),
        (Err(refusal), _) => Err(refusal),
    };
    let mut response = match checked {
        Ok(()) => next.run(request).await,
        Err(refusal) => refusal.into_response(),
    };
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.insert(name, HeaderValue::from_static(value));
    }
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    if let Some((log, line)) = line {
        log(&format!("{line} {}", response.status().as_u16()));
    }
    response
}
