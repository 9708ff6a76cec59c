//! The base URL of a gateway, and the URLs below it.

use std::fmt;

use http::Uri;

/// The base URL of a gateway that listens where it does by default.
pub const USUAL: &str = "http://127.0.0.1:4000";

/// The base URL of a gateway, without a slash at the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address(String);

impl Address {
    /// Reads a URL from the command line.
    ///
    /// # Errors
    /// The text is not an `http` or `https` URL, or holds more than a gateway's base.
    pub fn parse(text: &str) -> Result<Self, String> {
        let uri: Uri = text.parse().map_err(|_| "expected a URL".to_owned())?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err("expected a URL that begins with http:// or https://".to_owned());
        }
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        if authority.contains('@') || uri.query().is_some() {
            return Err("expected a URL without a user name and without a query".to_owned());
        }
        let base = text.trim_end_matches('/');
        if base.ends_with("/v1") || base.ends_with("/mcp") {
            return Err("expected the gateway's base URL, without /v1 or /mcp".to_owned());
        }
        Ok(Self(base.to_owned()))
    }

    /// The address of a gateway that listens where it does by default.
    pub fn usual() -> Self {
        Self(USUAL.to_owned())
    }

    /// The base of the Anthropic API.
    pub fn base(&self) -> &str {
        &self.0
    }

    /// The base of the OpenAI APIs.
    pub fn versioned(&self) -> String {
        self.below("/v1")
    }

    /// The MCP server.
    pub fn mcp(&self) -> String {
        self.below("/mcp")
    }

    /// The route that Claude Code's hooks call.
    pub fn claude_hook(&self) -> String {
        self.below("/ebbtide/hooks/claude")
    }

    /// The URL of a path that begins with a slash.
    pub fn below(&self, path: &str) -> String {
        format!("{}{path}", self.0)
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Address;

    #[test]
    fn a_slash_at_the_end_is_dropped() {
        let address = Address::parse("http://localhost:4000/").unwrap();
        assert_eq!(address.base(), "http://localhost:4000");
        assert_eq!(address.mcp(), "http://localhost:4000/mcp");
    }

    #[test]
    fn only_base_urls() {
        for bad in [
            "localhost:4000",
            "ftp://localhost",
            "http://user:word@localhost",
            "http://localhost/?key=1",
            "http://localhost:4000/v1",
            "http://local host",
        ] {
            assert!(Address::parse(bad).is_err(), "{bad}");
        }
    }
}
