//! Access: names of the server, other sites, tokens.

use crate::client::{Response, get, request, send};
use crate::test_server::{Machine, TestOptions, TestServer};

const TOKEN: &str = "a-token-of-many-letters";

#[test]
fn only_names_of_the_server_are_accepted() {
    let machine = Machine::new(1);
    let server = TestServer::start(
        &machine,
        TestOptions { hosts: vec!["vm.example".into()], ..TestOptions::default() },
    );
    let port = server.address.port();
    let status = |host: &str| request(server.address, "GET", "/api/sources", &[("Host", host)], b"").status;
    for host in ["localhost", "LOCALHOST", "127.0.0.1", "[::1]", "192.168.1.7"] {
        assert_eq!(status(&format!("{host}:{port}")), 200, "{host}");
    }
    assert_eq!((status("vm.example"), status(&format!("VM.example:{port}"))), (200, 200));
    let foreign =
        ["evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "vm.example.evil", "a@localhost"];
    for host in foreign {
        assert_eq!(status(&format!("{host}:{port}")), 421, "{host}");
    }
    let refused = request(server.address, "GET", "/", &[("Host", "evil.example")], b"").text();
    assert!(
        refused.contains("unknown host name") && !refused.contains("--"),
        "no options of the command line: {refused}"
    );
    for host in ["localhost:1", "127.0.0.1", "localhost:99999", "", " ", "local host", "[::1"] {
        assert!([400, 421].contains(&status(host)), "{host}");
    }
    let raw = |text: &str| send(server.address, text.as_bytes()).map(|response| response.status);
    assert_eq!(raw("GET /api/sources HTTP/1.1\r\nConnection: close\r\n\r\n"), Some(400));
    assert_eq!(raw("GET /api/sources HTTP/1.0\r\n\r\n"), Some(400));
    let twice =
        format!("GET / HTTP/1.1\r\nHost: localhost:{port}\r\nHost: evil\r\nConnection: close\r\n\r\n");
    assert_eq!(raw(&twice), Some(400));
    let target = format!("GET http://evil/ HTTP/1.1\r\nHost: localhost:{port}\r\nConnection: close\r\n\r\n");
    assert_eq!(raw(&target), Some(421));
}

#[test]
fn cross_site_requests_are_refused() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    let own = format!("http://{}", server.address);
    let ask = |method: &str, target: &str, headers: &[(&str, &str)]| {
        let headers = [headers, &[("Content-Type", "application/json")]].concat();
        request(server.address, method, target, &headers, if method == "POST" { b"{}" } else { b"" })
    };
    for site in ["cross-site", "same-site", "nonsense"] {
        let site = [("Sec-Fetch-Site", site)];
        assert_eq!(ask("GET", "/api/sources", &site).status, 403);
        assert_eq!(ask("GET", "/metrics", &site).status, 403);
        assert_eq!(ask("POST", "/api/sources", &site).status, 403);
        // A link to the page works.
        assert_eq!(ask("GET", "/", &site).status, 200);
    }
    for origin in ["http://evil.example", "null", "https://localhost", "", "http://localhost"] {
        assert_eq!(ask("GET", "/api/sources", &[("Origin", origin)]).status, 403, "{origin}");
        assert_eq!(ask("POST", "/api/login", &[("Origin", origin)]).status, 403, "{origin}");
    }
    let same = [("Origin", own.as_str()), ("Sec-Fetch-Site", "same-origin")];
    let response = ask("GET", "/api/sources", &same);
    assert_eq!(response.status, 200);
    assert_eq!(response.header("access-control-allow-origin"), None);
    assert_eq!(ask("OPTIONS", "/api/sources", &[("Origin", "http://evil.example")]).status, 403);
    // Forms of other sites can send only these content types, so all of them are refused.
    for kind in ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""] {
        for target in ["/api/sources", "/api/login", "/api/upload"] {
            assert_eq!(request(server.address, "POST", target, &[("Content-Type", kind)], b"{}").status, 415);
        }
    }
}

#[test]
fn a_proxy_can_terminate_tls_for_a_named_server() {
    let machine = Machine::new(1);
    let server = TestServer::start(
        &machine,
        TestOptions { hosts: vec!["vm.example".into()], ..TestOptions::default() },
    );
    let port = server.address.port();
    let status = |host: &str, origin: &str| {
        let headers = [("Host", host), ("Origin", origin), ("Sec-Fetch-Site", "same-origin")];
        request(server.address, "DELETE", "/api/sources/9", &headers, b"").status
    };
    let here = format!("localhost:{port}");
    for (host, origin) in [
        ("vm.example", "https://vm.example"),
        ("VM.example:8443", "https://vm.example:8443"),
        ("vm.example", "http://vm.example"),
        (&here, &format!("http://{here}")),
    ] {
        assert_eq!(status(host, origin), 404, "{origin} at {host}");
    }
    for (host, origin) in [
        ("vm.example", "https://vm.example:8443"),
        ("vm.example", "https://other.example"),
        ("vm.example", "ws://vm.example"),
        ("vm.example", "null"),
        (&here, "https://vm.example"),
        // For loopback names and for addresses, the scheme must be the server's own.
        (&here, &format!("https://{here}")),
        (&format!("192.168.1.7:{port}"), &format!("https://192.168.1.7:{port}")),
    ] {
        assert_eq!(status(host, origin), 403, "{origin} at {host}");
    }
}

#[test]
fn responses_have_security_headers() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions::default());
    for target in ["/", "/api/sources", "/nothing", "/assets/nothing"] {
        let response = get(server.address, target);
        let policy = response.header("content-security-policy").expect("a policy");
        for part in ["default-src 'none'", "script-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.contains(part));
        }
        assert!(!policy.contains("unsafe"));
        assert_eq!(response.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(response.header("referrer-policy"), Some("no-referrer"));
    }
    let page = get(server.address, "/");
    assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
    let etag = page.header("etag").expect("a tag");
    assert_eq!(request(server.address, "GET", "/", &[("If-None-Match", etag)], b"").status, 304);
    let packed = request(server.address, "GET", "/", &[("Accept-Encoding", "br, gzip;q=0.5")], b"");
    assert_eq!(packed.header("content-encoding"), Some("gzip"));
    assert_eq!(packed.body[..2], [0x1f, 0x8b]);
}

#[test]
fn the_token_is_required() {
    let machine = Machine::new(1);
    let server = TestServer::start(&machine, TestOptions { token: Some(TOKEN), ..TestOptions::default() });
    let with = |headers: &[(&str, &str)]| request(server.address, "GET", "/api/sources", headers, b"").status;
    assert_eq!(with(&[("Authorization", &format!("Bearer {TOKEN}"))]), 200);
    let short = format!("Bearer {}", &TOKEN[..TOKEN.len() - 1]);
    let long = format!("Bearer {TOKEN}x");
    let wrong =
        ["", "Bearer", "Bearer ", "Bearer a-token-of-many-lettert", &short, &long, "Basic YTpi", TOKEN];
    for given in wrong {
        assert_eq!(with(&[("Authorization", given)]), 401, "{given}");
    }
    assert_eq!(with(&[]), 401);
    for target in
        ["/metrics", "/api/openapi.json", "/api/sources/live", "/api/nothing", "/api/stream?path=%5CA%5CB"]
    {
        assert_eq!(get(server.address, target).status, 401, "{target}");
    }
    for target in ["/", "/assets/main.js"] {
        assert_eq!(get(server.address, target).status, 200, "{target}");
    }
    let login = |token: &str| -> Response {
        let body = format!("{{\"token\":\"{token}\"}}");
        let json = [("Content-Type", "application/json")];
        request(server.address, "POST", "/api/login", &json, body.as_bytes())
    };
    let refused = login("wrong-wrong-wrong-wrong");
    assert_eq!((refused.status, refused.header("set-cookie")), (401, None));
    let response = login(TOKEN);
    let cookie = response.header("set-cookie").expect("a cookie");
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict") && !cookie.contains(TOKEN));
    let pair = cookie.split(';').next().expect("a pair");
    assert_eq!(with(&[("Cookie", pair)]), 200);
    assert_eq!(with(&[("Cookie", &format!("a=b; {pair}; c"))]), 200);
    assert_eq!(with(&[("Cookie", &pair[..pair.len() - 1])]), 401);
    let name = pair.split('=').next().expect("a name");
    for value in [TOKEN, ""] {
        assert_eq!(with(&[("Cookie", &format!("{name}={value}"))]), 401);
    }
}
