//! The upstreams that the environment's base URLs name. The client gets the gateway's URL in their place, so the
//! gateway must know them, or a company's token goes to the provider.

use std::net::{IpAddr, SocketAddr};

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
pub struct Upstreams(Vec<Flag>);

impl Upstreams {
    /// Takes the base URLs of providers whose upstream is not configured. Those that lead to the gateway itself are
    /// left out.
    pub fn found(effective: &Effective) -> Self {
        let found = PROVIDERS.iter().filter_map(|&(provider, name, key)| {
            let value = account(provider).base?;
            let setting = Setting::named(key)?;
            let usual = setting.text(&effective.config)?;
            let is_new = effective.origin(setting) == Origin::Default
                && !is_same(&value, &usual)
                && !leads_to(&value, effective.config.listen);
            is_new.then_some(Flag { key, name, value })
        });
        Self(found.collect())
    }

    pub fn flags(&self) -> Vec<Flag> {
        self.0.clone()
    }

    /// Prints the upstreams.
    pub fn tell(&self, console: &mut Console) {
        for Flag { name, value, .. } in &self.0 {
            console.note(format!("Ebbtide: requests go on to {value}, from {name}."));
        }
    }

    /// The gateway's base URL for OpenAI clients, with `/v1` unless the client's own base URL has no version: a
    /// client appends its paths to it, and the gateway appends them to the upstream.
    pub fn openai(&self, url: &str) -> String {
        let mut found = self.0.iter();
        match found.find(|flag| flag.key == "upstream.openai") {
            Some(flag) if !flag.value.trim_end_matches('/').ends_with("/v1") => url.to_owned(),
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
    let host = url.host().unwrap_or_default();
    let host = host.trim_matches(['[', ']']);
    let ip = listen.ip();
    let is_host = match host.parse::<IpAddr>() {
        Ok(named) => named == ip || named.is_loopback() && ip.is_unspecified(),
        Err(_) => {
            host.eq_ignore_ascii_case("localhost") && (ip.is_loopback() || ip.is_unspecified())
        }
    };
    is_host && url.port_u16().unwrap_or(usual) == listen.port()
}

#[cfg(test)]
mod tests {
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
        assert!(!leads("https://gateway.example.com", "127.0.0.1:443"));
    }

    #[test]
    fn the_end_of_an_upstream_makes_no_difference() {
        let usual = "https://api.openai.com";
        assert!(is_same(usual, "https://api.openai.com/v1/"));
        assert!(!is_same(usual, "https://api.openai.com/v2"));
    }

    #[test]
    fn a_client_keeps_its_paths_without_a_version() {
        let openai = |value: &str| {
            let value = value.to_owned();
            let (key, name) = ("upstream.openai", "OPENAI_BASE_URL");
            Upstreams(vec![Flag { key, name, value }]).openai("http://h")
        };
        assert_eq!(openai("https://proxy/openai/v1/"), "http://h/v1");
        assert_eq!(openai("https://proxy/openai"), "http://h");
        assert_eq!(Upstreams(Vec::new()).openai("http://h"), "http://h/v1");
    }
}
