//! The hosts that a request may name, and the pages that may send one.
//!
//! The gateway replaces `host` in what it forwards, so a model server behind it cannot tell that a name of
//! somebody else's leads to this machine (DNS rebinding). So the gateway tells:
//!
//! | the request | on a loopback address | on another address |
//! |---|---|---|
//! | names `localhost`, an IP address or one of `hosts` | passes | passes |
//! | names another host | is refused | passes if `hosts` is not set and no page sent it |
//! | comes from a page of the same origin, at a name of the first row | passes | passes |
//! | comes from a page of one of `origins` | passes | passes |
//! | comes from another page | is refused | is refused |
//!
//! Browsers name the page in `origin`, or say in `sec-fetch-site` that it is another site's.

use std::net::{IpAddr, SocketAddr};

use http::header::{self, HeaderMap, HeaderName};
use http::request::Parts;
use http::uri::Authority;

use crate::server::refusal::Reason;

/// The rules for hosts and pages.
pub(crate) struct Sites {
    hosts: Vec<String>,
    origins: Vec<String>,
    /// True if only this machine reaches the listener.
    is_local: bool,
}

impl Sites {
    /// The rules of a listener on this address.
    pub(crate) fn new(address: SocketAddr, hosts: &[String], origins: &[String]) -> Self {
        Self {
            hosts: hosts.to_vec(),
            origins: origins.to_vec(),
            is_local: address.ip().to_canonical().is_loopback(),
        }
    }

    /// Refuses a request that names somebody else's host, or that another site's page sent.
    pub(crate) fn admit(&self, parts: &Parts) -> Result<(), Reason> {
        let host = host(parts.uri.authority(), &parts.headers);
        let is_named = match &host {
            Some(host) => self.is_known(host),
            // Browsers always name a host.
            None => !parts.headers.contains_key(header::HOST),
        };
        let is_strict = self.is_local || !self.hosts.is_empty();
        match self.sender(&parts.headers, host.as_ref().filter(|_| is_named)) {
            Sender::Foreign => Err(Reason::Foreign),
            Sender::Unknown if is_strict && !is_named => Err(Reason::Foreign),
            Sender::Unknown | Sender::Allowed => Ok(()),
        }
    }

    /// Returns true for names that a foreign DNS server cannot point to this machine, and for those of the setting.
    fn is_known(&self, host: &Authority) -> bool {
        let name = host.host();
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        let is_local = |name: &str| {
            name.eq_ignore_ascii_case("localhost")
                || name.to_ascii_lowercase().ends_with(".localhost")
        };
        is_local(name) || bare.parse::<IpAddr>().is_ok() || is_among(&self.hosts, name)
    }

    fn sender(&self, headers: &HeaderMap, own: Option<&Authority>) -> Sender {
        let text = |name: HeaderName| {
            let value = headers.get(name)?;
            Some(value.to_str().unwrap_or("null"))
        };
        let site = text(HeaderName::from_static("sec-fetch-site"));
        let is_own_site = site.is_none_or(|site| matches!(site, "same-origin" | "none"));
        match text(header::ORIGIN) {
            Some(origin) if is_among(&self.origins, origin) => Sender::Allowed,
            Some(origin) if is_own_site && own.is_some_and(|own| is_of(origin, own)) => {
                Sender::Allowed
            }
            Some(_) => Sender::Foreign,
            None if is_own_site => Sender::Unknown,
            None => Sender::Foreign,
        }
    }
}

/// The sender of a request, as far as a browser says it.
enum Sender {
    /// A page that may.
    Allowed,
    /// No page, or one that does not say which.
    Unknown,
    /// Another site's page.
    Foreign,
}

/// Returns the host that a request names: that of its URI, where HTTP/2 has it, or that of the header.
pub(crate) fn host(of_uri: Option<&Authority>, headers: &HeaderMap) -> Option<Authority> {
    let header = || headers.get(header::HOST)?.to_str().ok()?.parse().ok();
    of_uri.cloned().or_else(header)
}

/// Returns true if a host is among these names, whatever the port.
pub(crate) fn is_among(names: &[String], name: &str) -> bool {
    names.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Returns true if a page of this origin was served by this host.
pub(crate) fn is_of(origin: &str, host: &Authority) -> bool {
    let named = origin
        .strip_prefix("http://")
        .or_else(|| origin.strip_prefix("https://"));
    named.is_some_and(|named| named.eq_ignore_ascii_case(host.as_str()))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::Sites;

    const HERE: &str = "127.0.0.1:4000";
    const THERE: &str = "0.0.0.0:4000";

    /// The host of a request, its headers, and whether it is admitted.
    type Case = (&'static str, &'static [(&'static str, &'static str)], bool);

    /// Checks requests with these headers, and a setting of one host and one origin if `set`.
    #[track_caller]
    fn check(listener: &str, set: bool, cases: &[Case]) {
        let setting = |value: &str| match set {
            true => vec![value.to_owned()],
            false => Vec::new(),
        };
        let (hosts, origins) = (setting("box.lan"), setting("app://notes"));
        let sites = Sites::new(listener.parse().unwrap(), &hosts, &origins);
        for &(host, headers, admitted) in cases {
            let mut request = Request::post("/v1/messages").header("host", host);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let result = sites.admit(&parts).is_ok();
            assert_eq!(result, admitted, "{listener} {set} {host} {headers:?}");
        }
    }

    const CROSS: (&str, &str) = ("sec-fetch-site", "cross-site");
    const EVIL: (&str, &str) = ("origin", "http://evil.example:4000");

    #[test]
    fn on_this_machine() {
        check(
            HERE,
            false,
            &[
                ("localhost:4000", &[], true),
                ("127.0.0.1:4000", &[], true),
                ("[::1]:4000", &[], true),
                ("app.localhost", &[], true),
                ("evil.example:4000", &[], false),
                ("box.lan:4000", &[], false),
                ("localhost.evil.example", &[], false),
                ("not a host", &[], false),
                ("localhost:4000", &[CROSS], false),
                ("localhost:4000", &[("sec-fetch-site", "same-site")], false),
                ("localhost:4000", &[("sec-fetch-site", "none")], true),
                ("localhost:4000", &[EVIL], false),
                ("evil.example:4000", &[EVIL], false),
                ("localhost:4000", &[("origin", "null")], false),
                (
                    "localhost:4000",
                    &[("origin", "http://localhost:3000")],
                    false,
                ),
                (
                    "localhost:4000",
                    &[("origin", "http://localhost:4000")],
                    true,
                ),
                (
                    "localhost:4000",
                    &[("origin", "http://localhost:4000"), CROSS],
                    false,
                ),
                ("localhost:4000", &[("origin", "app://notes")], false),
            ],
        );
    }

    #[test]
    fn with_the_settings() {
        const PAGE: (&str, &str) = ("origin", "app://notes");
        check(
            HERE,
            true,
            &[
                ("box.lan:4000", &[], true),
                ("BOX.lan", &[("origin", "https://box.lan")], true),
                ("other.lan:4000", &[], false),
                ("localhost:4000", &[PAGE, CROSS], true),
                ("localhost:4000", &[EVIL], false),
            ],
        );
        check(
            THERE,
            true,
            &[("box.lan", &[], true), ("other.lan", &[], false)],
        );
    }

    #[test]
    fn on_an_address_that_others_reach() {
        check(
            THERE,
            false,
            &[
                ("gateway:4000", &[], true),
                (
                    "192.0.2.7:4000",
                    &[("origin", "http://192.0.2.7:4000")],
                    true,
                ),
                ("evil.example:4000", &[EVIL], false),
                ("gateway:4000", &[CROSS], false),
            ],
        );
    }
}
