//! Who may use what lies under `/ebbtide/`.
//!
//! | the request carries | it sees |
//! |---|---|
//! | the admin token, as a bearer token | all tenants |
//! | a provider's key, as it would to the provider | what was said with that key |
//! | nothing, comes from this machine, and no admin token is set | all tenants |
//! | anything else | nothing |
//!
//! The third line rests on the connection alone, so a page of another site that the user's browser shows must
//! not be able to make use of it: the request has to name this machine as its host, by an address or as
//! `localhost` (a name of another site may resolve to this machine), must not have come through a
//! proxy, and what changes something must not have been sent by a page of another site.

use std::net::{IpAddr, SocketAddr};

use context::coded::ErrorCode;
use http::header::{self, HeaderMap};
use http::uri::Authority;
use http::{Method, StatusCode};

use crate::config::Secret;
use crate::error;
use crate::report::Asker;
use crate::server::credentials::Credentials;

/// Decides who may see what.
pub(crate) struct Access {
    admin: Option<Secret>,
    secret: [u8; 32],
}

/// A request as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor<'a> {
    pub(crate) peer: SocketAddr,
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    /// The host of the request's URI: HTTP/2 has it there.
    pub(crate) host: Option<&'a Authority>,
}

/// Why a request may not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// It says nothing of who asks.
    Unknown,
    /// It was sent by a page of another site, or for another host.
    Foreign,
}

impl Denied {
    pub(crate) const fn code(self) -> ErrorCode {
        match self {
            Self::Unknown => error::UNKNOWN_ASKER,
            Self::Foreign => error::FOREIGN,
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Unknown => StatusCode::UNAUTHORIZED,
            Self::Foreign => StatusCode::FORBIDDEN,
        }
    }
}

impl Access {
    pub(crate) const fn new(admin: Option<Secret>, secret: [u8; 32]) -> Self {
        Self { admin, secret }
    }

    /// Who asks.
    pub(crate) fn asker(&self, visitor: Visitor<'_>) -> Result<Asker, Denied> {
        visitor.check_site()?;
        let credentials = Credentials::in_headers(visitor.headers);
        let admin = self.admin.as_ref();
        if admin.is_some_and(|token| credentials.hold(token.reveal())) {
            return Ok(Asker::All);
        }
        if let Some(tenant) = credentials.tenant(&self.secret) {
            return Ok(Asker::Tenant(tenant));
        }
        if self.admin.is_none() && is_here(visitor.peer, visitor.headers) {
            // Nothing but the connection speaks for it.
            visitor.check_host()?;
            return Ok(Asker::All);
        }
        Err(Denied::Unknown)
    }
}

impl Visitor<'_> {
    /// Refuses what names another host than this machine.
    pub(crate) fn check_host(&self) -> Result<(), Denied> {
        match self.host() {
            Some(host) if names_this_machine(&host) => Ok(()),
            _ => Err(Denied::Foreign),
        }
    }

    /// Refuses what changes something and was sent by a page of another site.
    fn check_site(&self) -> Result<(), Denied> {
        if matches!(*self.method, Method::GET | Method::HEAD) {
            return Ok(());
        }
        let text = |name: header::HeaderName| {
            let value = self.headers.get(name)?;
            Some(value.to_str().unwrap_or("null"))
        };
        let site = text(header::HeaderName::from_static("sec-fetch-site"));
        if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(Denied::Foreign);
        }
        let Some(origin) = text(header::ORIGIN) else {
            return Ok(());
        };
        let own = self.host().map(|host| host.to_string());
        let named = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        match (named, own) {
            (Some(named), Some(own)) if named.eq_ignore_ascii_case(&own) => Ok(()),
            _ => Err(Denied::Foreign),
        }
    }

    fn host(&self) -> Option<Authority> {
        let header = || {
            let host = self.headers.get(header::HOST)?;
            host.to_str().ok()?.parse().ok()
        };
        self.host.cloned().or_else(header)
    }
}

/// Whether the other end of a connection is on this machine, and is no proxy that speaks for somebody
/// else.
pub(crate) fn is_here(peer: SocketAddr, headers: &HeaderMap) -> bool {
    let forwarded = ["forwarded", "x-forwarded-for", "x-real-ip", "via"]
        .iter()
        .any(|name| headers.contains_key(*name));
    peer.ip().to_canonical().is_loopback() && !forwarded
}

fn names_this_machine(host: &Authority) -> bool {
    let name = host.host();
    let bare = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|ip| ip.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use history::Tenant;
    use http::{HeaderMap, HeaderName, HeaderValue, Method};

    use super::{Access, Denied, Visitor};
    use crate::config::Secret;
    use crate::report::Asker;

    const SECRET: [u8; 32] = [3; 32];
    const HERE: &str = "127.0.0.1:5";
    const THERE: &str = "192.0.2.7:5";

    #[derive(Clone, Copy)]
    enum Token {
        Set,
        Unset,
    }

    #[track_caller]
    fn check(
        token: Token,
        peer: &str,
        line: &str,
        headers: &[(&str, &str)],
        seen: Result<Asker, Denied>,
    ) {
        let admin = matches!(token, Token::Set).then(|| Secret::new("t0ken"));
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                let name: HeaderName = name.parse().unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let visitor = Visitor {
            peer: peer.parse().unwrap(),
            method: &line.parse::<Method>().unwrap(),
            headers: &headers,
            host: None,
        };
        assert_eq!(
            Access::new(admin, SECRET).asker(visitor),
            seen,
            "{headers:?}"
        );
    }

    fn tenant(key: &str) -> Result<Asker, Denied> {
        Ok(Asker::Tenant(Tenant::of(&SECRET, key.as_bytes())))
    }

    const OWN: (&str, &str) = ("host", "localhost:4000");

    #[test]
    fn from_this_machine_without_a_key() {
        use Token::{Set, Unset};
        check(Unset, HERE, "GET", &[OWN], Ok(Asker::All));
        check(
            Unset,
            HERE,
            "GET",
            &[("host", "[::1]:4000")],
            Ok(Asker::All),
        );
        check(Unset, "[::ffff:127.0.0.1]:5", "GET", &[OWN], Ok(Asker::All));
        check(Set, HERE, "GET", &[OWN], Err(Denied::Unknown));
        check(Unset, THERE, "GET", &[OWN], Err(Denied::Unknown));
        check(
            Unset,
            HERE,
            "GET",
            &[OWN, ("x-forwarded-for", "192.0.2.7")],
            Err(Denied::Unknown),
        );
    }

    #[test]
    fn with_a_key_or_the_token() {
        use Token::{Set, Unset};
        check(Unset, HERE, "GET", &[OWN, ("x-api-key", "k")], tenant("k"));
        check(
            Set,
            THERE,
            "POST",
            &[("authorization", "Bearer k")],
            tenant("k"),
        );
        check(
            Set,
            THERE,
            "POST",
            &[("authorization", "Bearer t0ken")],
            Ok(Asker::All),
        );
        check(
            Unset,
            THERE,
            "GET",
            &[("authorization", "Bearer t0ken")],
            tenant("t0ken"),
        );
    }

    #[test]
    fn a_page_of_another_site_gets_nothing() {
        use Token::{Set, Unset};
        let rebound = ("host", "evil.example:4000");
        check(Unset, HERE, "GET", &[rebound], Err(Denied::Foreign));
        check(
            Unset,
            HERE,
            "POST",
            &[rebound, ("origin", "http://evil.example:4000")],
            Err(Denied::Foreign),
        );
        check(
            Unset,
            HERE,
            "POST",
            &[OWN, ("origin", "http://evil.example")],
            Err(Denied::Foreign),
        );
        check(
            Unset,
            HERE,
            "POST",
            &[OWN, ("origin", "http://localhost:9999")],
            Err(Denied::Foreign),
        );
        check(
            Unset,
            HERE,
            "POST",
            &[OWN, ("origin", "null")],
            Err(Denied::Foreign),
        );
        check(
            Unset,
            HERE,
            "POST",
            &[OWN, ("sec-fetch-site", "cross-site")],
            Err(Denied::Foreign),
        );
        check(
            Set,
            HERE,
            "POST",
            &[OWN, ("origin", "http://evil.example"), ("x-api-key", "k")],
            Err(Denied::Foreign),
        );
        check(
            Unset,
            HERE,
            "POST",
            &[
                OWN,
                ("origin", "http://localhost:4000"),
                ("sec-fetch-site", "same-origin"),
            ],
            Ok(Asker::All),
        );
        check(Unset, HERE, "GET", &[], Err(Denied::Foreign));
    }
}
