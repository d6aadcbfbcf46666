//! Addresses of schedulers and executors. Only loopback addresses are allowed.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// The port of a scheduler.
pub(super) const SCHEDULER_PORT: u16 = 50050;

/// Parses the address of a scheduler: `HOST`, `HOST:PORT` or `http://HOST:PORT`.
///
/// # Errors
///
/// When the text is not an address, or the address is not a loopback address.
pub(super) fn parse(text: &str) -> Result<SocketAddr, String> {
    let rest = text.strip_prefix("http://").unwrap_or(text);
    let rest = rest.strip_suffix('/').unwrap_or(rest);
    let address = match rest.parse::<SocketAddr>() {
        Ok(address) => Some(address),
        Err(_) => with_default_port(rest).or_else(|| parse_localhost(rest)),
    };
    match address {
        Some(address) if address.ip().is_loopback() => Ok(address),
        Some(_) => Err(format!(
            "{rest}: only loopback addresses such as 127.0.0.1:{SCHEDULER_PORT} are allowed, because connections are not encrypted"
        )),
        None => Err(format!(
            "{text}: not the address of a scheduler: use a loopback address such as http://127.0.0.1:{SCHEDULER_PORT}"
        )),
    }
}

fn with_default_port(text: &str) -> Option<SocketAddr> {
    let text = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    Some(SocketAddr::new(text.parse::<IpAddr>().ok()?, SCHEDULER_PORT))
}

fn parse_localhost(text: &str) -> Option<SocketAddr> {
    let rest = text.strip_prefix("localhost")?;
    let port = match rest {
        "" => SCHEDULER_PORT,
        _ => rest.strip_prefix(':')?.parse().ok()?,
    };
    Some(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), port))
}

/// The host of an address as it is written in a URL.
pub(super) fn host(address: SocketAddr) -> String {
    match address.ip() {
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// The URL of a scheduler.
pub(super) fn url(address: SocketAddr) -> String {
    format!("http://{address}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_loopback_addresses() {
        for (text, expected) in [
            ("127.0.0.1:1234", "127.0.0.1:1234"),
            ("http://127.0.0.1:1234/", "127.0.0.1:1234"),
            ("127.1.2.3", "127.1.2.3:50050"),
            ("localhost", "127.0.0.1:50050"),
            ("http://localhost:99", "127.0.0.1:99"),
            ("[::1]:7", "[::1]:7"),
            ("http://[::1]", "[::1]:50050"),
        ] {
            assert_eq!(parse(text).map(|address| address.to_string()), Ok(expected.to_owned()), "{text}");
        }
        for text in ["0.0.0.0:50050", "http://10.0.0.1:50050", "[::]:50050", "192.168.0.1"] {
            let error = parse(text).expect_err(text);
            assert!(error.contains("only loopback addresses"), "{error}");
        }
        for text in ["", "web-1:50050", "https://127.0.0.1:1", "127.0.0.1:99999", "localhost:x", "localhosts"]
        {
            let error = parse(text).expect_err(text);
            assert!(error.contains("not the address of a scheduler"), "{error}");
        }
        assert_eq!(host("[::1]:7".parse().expect("an address")), "[::1]");
    }
}
