//! Model endpoints and their keys.

use std::fmt;
use std::net::IpAddr;

use model::{Endpoint, ModelError};
use wire::api::Dialect;

/// An account with a provider. `Debug` does not show the key.
#[derive(Clone, Default)]
pub struct Account {
    /// The key.
    pub key: Option<String>,
    /// The base URL, instead of the provider's own.
    pub base: Option<String>,
}

impl fmt::Debug for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Account")
            .field("key", &self.key.as_ref().map(|_| "…"))
            .finish_non_exhaustive()
    }
}

/// An endpoint of a model.
pub(crate) struct AccountEndpoint {
    pub endpoint: Endpoint,
    /// True if the endpoint has the account's key.
    pub keyed: bool,
}

impl Account {
    /// The endpoint for a program that names `other`, or none. The key goes to the account's own server and
    /// to this machine: a program is text from anywhere, and must not name a place to send it to.
    ///
    /// # Errors
    /// If a URL or the key cannot be used.
    pub(crate) fn place(
        &self,
        dialect: Dialect,
        other: Option<&str>,
    ) -> Result<AccountEndpoint, ModelError> {
        let usual = match dialect {
            Dialect::Anthropic => "https://api.anthropic.com",
            Dialect::Chat | Dialect::Responses => "https://api.openai.com/v1",
        };
        let own = Endpoint::new(dialect, self.base.as_deref().unwrap_or(usual))?;
        let endpoint = match other {
            Some(other) => Endpoint::new(dialect, other)?,
            None => own.clone(),
        };
        let trusted = endpoint.shares_server(&own) || is_here(endpoint.host());
        Ok(match self.key.as_deref().filter(|_| trusted) {
            Some(key) => AccountEndpoint {
                endpoint: endpoint.with_key(key)?,
                keyed: true,
            },
            None => AccountEndpoint {
                endpoint,
                keyed: false,
            },
        })
    }
}

/// Returns true if a host, with or without its port, is this machine.
fn is_here(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    let address: Option<IpAddr> = name.parse().ok();
    name == "localhost" || address.is_some_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use wire::api::Dialect;

    use super::Account;

    fn check(base: Option<&str>, other: Option<&str>, keyed: bool) {
        let account = Account {
            key: Some("sk".into()),
            base: base.map(str::to_owned),
        };
        let place = account.place(Dialect::Chat, other).unwrap();
        assert_eq!(place.keyed, keyed, "{other:?}");
    }

    #[test]
    fn a_key_goes_to_its_own_server_and_to_this_machine() {
        check(None, None, true);
        check(None, Some("https://api.openai.com/v1"), true);
        check(None, Some("https://elsewhere.example/v1"), false);
        check(None, Some("https://localhost.example/v1"), false);
        check(None, Some("http://127.0.0.1:4000"), true);
        check(None, Some("http://[::1]:4000/v1"), true);
        check(None, Some("http://localhost"), true);
        let own = Some("https://elsewhere.example");
        check(own, None, true);
        check(own, Some("https://elsewhere.example/v1"), true);
        check(own, Some("https://api.openai.com"), false);
    }

    #[test]
    fn a_key_is_not_shown() {
        let account = Account {
            key: Some("sk-secret".into()),
            base: None,
        };
        assert!(!format!("{account:?}").contains("secret"));
    }
}
