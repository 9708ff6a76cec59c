//! The upstreams that the environment's base URLs name. The client gets the gateway's URL in their place, so the
//! gateway must know them, or a company's token goes to the provider.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs as _, UdpSocket};

use gateway::config::{Effective, Flag, Origin, Setting};
use http::Uri;

use crate::console::Console;
use crate::environment::account;

/// The providers in the names of variables: `ANTHROPIC_BASE_URL` and `OPENAI_BASE_URL`.
const PROVIDERS: [(&str, &str, &str); 2] = [
    ("ANTHROPIC", "ANTHROPIC_BASE_URL", "upstream.anthropic"),
    ("OPENAI", "OPENAI_BASE_URL", "upstream.openai"),
];

/// Base URLs from the environment that are used as upstreams.
#[derive(Debug)]
pub struct Upstreams {
    found: Vec<Flag>,
    /// The OpenAI base URL that a `wrap` around this one gave. It leads to the gateway.
    outer: Option<String>,
}

impl Upstreams {
    /// Takes the base URLs of providers whose upstream is not configured. Those that lead to the gateway itself are
    /// left out.
    pub fn found(effective: &Effective) -> Self {
        let listen = effective.config.listen;
        let found = PROVIDERS.iter().filter_map(|&(provider, name, key)| {
            let value = account(provider).base?;
            let setting = Setting::named(key)?;
            let usual = setting.text(&effective.config)?;
            let is_new = effective.origin(setting) == Origin::Default
                && !is_same(&value, &usual)
                && !leads_to(&value, listen);
            is_new.then_some(Flag { key, name, value })
        });
        let openai = account("OPENAI").base;
        Self {
            found: found.collect(),
            outer: openai.filter(|value| leads_to(value, listen)),
        }
    }

    pub fn flags(&self) -> Vec<Flag> {
        self.found.clone()
    }

    /// Prints the upstreams.
    pub fn tell(&self, console: &mut Console) {
        for Flag { name, value, .. } in &self.found {
            console.note(format!("Ebbtide: requests go on to {value}, from {name}."));
        }
    }

    /// The gateway's base URL for OpenAI clients, with `/v1` unless the client's own base URL has no version: a
    /// client appends its paths to it, and the gateway appends them to the upstream. An outer `wrap` has decided
    /// that already.
    pub fn openai(&self, url: &str) -> String {
        let mut found = self.found.iter();
        let flag = found.find(|flag| flag.key == "upstream.openai");
        match flag.map(|flag| &flag.value).or(self.outer.as_ref()) {
            Some(value) if !value.trim_end_matches('/').ends_with("/v1") => url.to_owned(),
            _ => format!("{url}/v1"),
        }
    }
}

/// Returns true if two base URLs are the same upstream: a slash or `/v1` at the end makes no difference.
pub fn is_same(one: &str, other: &str) -> bool {
    let bare = |url: &str| {
        let url = url.trim_end_matches('/');
        let url = url.strip_suffix("/v1").unwrap_or(url);
        url.trim_end_matches('/').to_owned()
    };
    bare(one) == bare(other)
}

/// Returns true if a URL leads to a gateway that listens there.
fn leads_to(url: &str, listen: SocketAddr) -> bool {
    let Ok(url) = url.parse::<Uri>() else {
        return false;
    };
    let usual = match url.scheme_str() {
        Some("https") => 443,
        _ => 80,
    };
    let port = url.port_u16().unwrap_or(usual);
    if port != listen.port() {
        return false;
    }
    let host = url.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let is_listening = |ip: IpAddr| listens_at(ip.to_canonical(), listen.ip().to_canonical());
    if let Ok(ip) = host.parse() {
        return is_listening(ip);
    }
    if host.eq_ignore_ascii_case("localhost") {
        return listen.ip().is_loopback() || listen.ip().is_unspecified();
    }
    let addresses = (host, port).to_socket_addrs();
    addresses.is_ok_and(|mut found| found.any(|address| is_listening(address.ip())))
}

/// Returns true if a server that listens at `listen` is reached at `ip`.
fn listens_at(ip: IpAddr, listen: IpAddr) -> bool {
    if ip.is_unspecified() {
        // A client that connects to it reaches this machine.
        return listen.is_unspecified() || listen.is_loopback();
    }
    // Only an address of this machine can be bound.
    ip == listen || listen.is_unspecified() && UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::net::{ToSocketAddrs as _, UdpSocket};

    use gateway::config::Flag;

    use super::{Upstreams, is_same, leads_to};

    #[test]
    fn the_gateways_own_url_is_recognized() {
        let leads = |url: &str, listen: &str| leads_to(url, listen.parse().unwrap());
        for url in ["http://127.0.0.1:4000/v1", "http://localhost:4000/"] {
            assert!(leads(url, "127.0.0.1:4000"), "{url}");
            assert!(leads(url, "0.0.0.0:4000"), "{url}");
            assert!(!leads(url, "127.0.0.1:4001"), "{url}");
        }
        assert!(leads("http://[::1]:80", "[::1]:80"));
        assert!(leads("http://0.0.0.0:4000", "127.0.0.1:4000"));
        // Another machine's address, whose gateway listens at the same port.
        for listen in ["127.0.0.1:443", "0.0.0.0:443", "[::]:443"] {
            assert!(!leads("https://198.51.100.1", listen), "{listen}");
        }
        assert!(!leads("https://gateway.invalid", "0.0.0.0:443"));
        // The own name, if it has an address.
        let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let name = format!("{}:4000", name.trim());
        if name.to_socket_addrs().is_ok() {
            assert!(
                leads(&format!("http://{name}/v1"), "0.0.0.0:4000"),
                "{name}"
            );
        }
    }

    /// Not on a machine that is in no network.
    #[test]
    fn a_gateway_on_all_addresses_is_recognized_by_each() {
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        // Sends nothing.
        if socket.connect("198.51.100.1:9").is_err() {
            return;
        }
        let own = socket.local_addr().unwrap().ip();
        for listen in ["0.0.0.0:4000", "[::]:4000"] {
            let listen = listen.parse().unwrap();
            assert!(leads_to(&format!("http://{own}:4000/v1"), listen));
            assert!(!leads_to(&format!("http://{own}:4001/v1"), listen));
        }
        let elsewhere = "127.0.0.1:4000".parse().unwrap();
        assert!(!leads_to(&format!("http://{own}:4000"), elsewhere));
    }

    #[test]
    fn the_end_of_an_upstream_makes_no_difference() {
        let usual = "https://api.openai.com";
        assert!(is_same(usual, "https://api.openai.com/v1/"));
        assert!(!is_same(usual, "https://api.openai.com/v2"));
    }

    #[test]
    fn a_client_keeps_its_paths_without_a_version() {
        let openai = |value: Option<&str>, outer: Option<&str>| {
            let (key, name) = ("upstream.openai", "OPENAI_BASE_URL");
            let flag = |value: &str| Flag {
                key,
                name,
                value: value.to_owned(),
            };
            let found = value.map(flag).into_iter().collect();
            let outer = outer.map(str::to_owned);
            Upstreams { found, outer }.openai("http://h")
        };
        assert_eq!(
            openai(Some("https://proxy/openai/v1/"), None),
            "http://h/v1"
        );
        assert_eq!(openai(Some("https://proxy/openai"), None), "http://h");
        assert_eq!(openai(None, Some("http://h/")), "http://h");
        assert_eq!(openai(None, Some("http://h/v1")), "http://h/v1");
        assert_eq!(openai(None, None), "http://h/v1");
    }
}
