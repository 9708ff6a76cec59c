//! Access control for everything under `/ebbtide/`.
//!
//! | the request carries | it sees |
//! |---|---|
//! | the admin token, as a bearer token | all tenants |
//! | a provider's key, as for the provider | conversations with that key |
//! | nothing, comes from this machine, and no admin token is set | all tenants |
//! | anything else | nothing |
//!
//! The third row rests on the connection alone, so pages of other sites in the user's browser must not
//! exploit it: the request must name this machine as its host, by an address or as `localhost` (another
//! site's name may resolve to this machine), must not have passed a proxy, and, if it changes something,
//! must not come from another site's page.

use std::net::{IpAddr, SocketAddr};

use context::coded::ErrorCode;
use http::header::{self, HeaderMap};
use http::uri::Authority;
use http::{Method, StatusCode};

use crate::config::Secret;
use crate::error;
use crate::report::Viewer;
use crate::server::credentials::Credentials;
use crate::server::sites::{host, is_among, is_of};

/// The rules of access.
pub(crate) struct Access {
    admin: Option<Secret>,
    secret: [u8; 32],
    /// Names of this machine besides `localhost` and loopback addresses.
    hosts: Vec<String>,
    /// True if the requests of this machine's user are one tenant.
    is_personal: bool,
}

/// The parts of a request that decide about access.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Visitor<'a> {
    pub(crate) peer: SocketAddr,
    pub(crate) method: &'a Method,
    pub(crate) headers: &'a HeaderMap,
    /// The host of the request's URI, where HTTP/2 has it.
    pub(crate) host: Option<&'a Authority>,
}

/// The reason that access is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denied {
    /// The request has no valid credentials.
    Unauthenticated,
    /// Another site's page sent it, or it names another host.
    Foreign,
}

impl Denied {
    pub(crate) const fn code(self) -> ErrorCode {
        match self {
            Self::Unauthenticated => error::UNAUTHENTICATED,
            Self::Foreign => error::FOREIGN,
        }
    }

    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::Foreign => StatusCode::FORBIDDEN,
        }
    }
}

impl Access {
    pub(crate) fn new(
        admin: Option<Secret>,
        secret: [u8; 32],
        (hosts, is_personal): (Vec<String>, bool),
    ) -> Self {
        Self {
            admin,
            secret,
            hosts,
            is_personal,
        }
    }

    /// Returns what the visitor may see.
    pub(crate) fn viewer(&self, visitor: Visitor<'_>) -> Result<Viewer, Denied> {
        visitor.check_site()?;
        let credentials = Credentials::in_headers(visitor.headers);
        let admin = self.admin.as_ref();
        if admin.is_some_and(|token| credentials.contain(token.reveal())) {
            return Ok(Viewer::All);
        }
        // Where any key is the same tenant's, a key proves nothing.
        if !self.is_personal
            && let Some(tenant) = credentials.tenant(&self.secret)
        {
            return Ok(Viewer::Tenant(tenant));
        }
        if self.admin.is_none() && is_local(visitor.peer, visitor.headers) {
            // Only the connection speaks for it, so its host must name this machine.
            visitor.check_host(&self.hosts)?;
            return Ok(Viewer::All);
        }
        Err(Denied::Unauthenticated)
    }
}

impl Visitor<'_> {
    /// Refuses a host other than this machine.
    fn check_host(&self, hosts: &[String]) -> Result<(), Denied> {
        match host(self.host, self.headers) {
            Some(host) if names_this_machine(&host) || is_among(hosts, host.host()) => Ok(()),
            _ => Err(Denied::Foreign),
        }
    }

    /// Refuses a change sent by another site's page.
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
        match host(self.host, self.headers) {
            Some(own) if is_of(origin, &own) => Ok(()),
            _ => Err(Denied::Foreign),
        }
    }
}

/// Returns true if the peer is on this machine and is not a proxy for someone else.
pub(crate) fn is_local(peer: SocketAddr, headers: &HeaderMap) -> bool {
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
    use crate::report::Viewer;

    const SECRET: [u8; 32] = [3; 32];
    const HERE: &str = "127.0.0.1:5";
    const THERE: &str = "192.0.2.7:5";

    type Header = (&'static str, &'static str);
    type Seen = Result<Viewer, Denied>;
    const ALL: Seen = Ok(Viewer::All);
    const UNAUTHENTICATED: Seen = Err(Denied::Unauthenticated);
    const FOREIGN: Seen = Err(Denied::Foreign);

    /// Checks each request: whether a token is set, the peer, the method, the headers and the result.
    #[track_caller]
    fn check(cases: &[(bool, &str, &str, &[Header], Seen)]) {
        for &(token, peer, method, headers, seen) in cases {
            let admin = token.then(|| Secret::new("t0ken"));
            let headers: HeaderMap = headers
                .iter()
                .map(|(name, value)| {
                    let name: HeaderName = name.parse().unwrap();
                    (name, HeaderValue::from_str(value).unwrap())
                })
                .collect();
            let visitor = Visitor {
                peer: peer.parse().unwrap(),
                method: &method.parse::<Method>().unwrap(),
                headers: &headers,
                host: None,
            };
            let viewer = Access::new(admin, SECRET, (Vec::new(), false)).viewer(visitor);
            assert_eq!(viewer, seen, "{headers:?}");
        }
    }

    fn tenant(key: &str) -> Seen {
        Ok(Viewer::Tenant(Tenant::of(&SECRET, key.as_bytes())))
    }

    const OWN: Header = ("host", "localhost:4000");
    const KEY: Header = ("x-api-key", "k");
    const FORWARDED: Header = ("x-forwarded-for", "192.0.2.7");

    #[test]
    fn from_this_machine_without_a_key() {
        check(&[
            (false, HERE, "GET", &[OWN], ALL),
            (false, HERE, "GET", &[("host", "[::1]:4000")], ALL),
            (false, "[::ffff:127.0.0.1]:5", "GET", &[OWN], ALL),
            (true, HERE, "GET", &[OWN], UNAUTHENTICATED),
            (false, THERE, "GET", &[OWN], UNAUTHENTICATED),
            (false, HERE, "GET", &[OWN, FORWARDED], UNAUTHENTICATED),
        ]);
    }

    #[test]
    fn with_a_key_or_the_token() {
        let (key, token) = (
            ("authorization", "Bearer k"),
            ("authorization", "Bearer t0ken"),
        );
        check(&[
            (false, HERE, "GET", &[OWN, KEY], tenant("k")),
            (true, THERE, "POST", &[key], tenant("k")),
            (true, THERE, "POST", &[token], ALL),
            (false, THERE, "GET", &[token], tenant("t0ken")),
        ]);
    }

    #[test]
    fn a_page_of_another_site_gets_nothing() {
        let rebound = ("host", "evil.example:4000");
        let evil = ("origin", "http://evil.example");
        let cross_site = ("sec-fetch-site", "cross-site");
        let own = [
            OWN,
            ("origin", "http://localhost:4000"),
            ("sec-fetch-site", "same-origin"),
        ];
        check(&[
            (false, HERE, "GET", &[rebound], FOREIGN),
            (
                false,
                HERE,
                "POST",
                &[rebound, ("origin", "http://evil.example:4000")],
                FOREIGN,
            ),
            (false, HERE, "POST", &[OWN, evil], FOREIGN),
            (
                false,
                HERE,
                "POST",
                &[OWN, ("origin", "http://localhost:9999")],
                FOREIGN,
            ),
            (false, HERE, "POST", &[OWN, ("origin", "null")], FOREIGN),
            (false, HERE, "POST", &[OWN, cross_site], FOREIGN),
            (true, HERE, "POST", &[OWN, evil, KEY], FOREIGN),
            (false, HERE, "POST", &own, ALL),
            (false, HERE, "GET", &[], FOREIGN),
        ]);
    }
}
