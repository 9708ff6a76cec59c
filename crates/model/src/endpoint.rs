//! The address of a model, with its credentials.

use std::fmt;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HOST, USER_AGENT};
use http::uri::{Authority, Scheme};
use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use wire::api::Dialect;

use crate::error::ModelError;

/// Headers that name the account a request is charged to: those of the providers, of their resellers and
/// of gateways in front of them.
pub const CREDENTIALS: [&str; 13] = [
    "x-api-key",
    "authorization",
    "api-key",
    "apikey",
    "x-goog-api-key",
    "ocp-apim-subscription-key",
    "x-auth-token",
    "x-access-token",
    "x-litellm-api-key",
    "x-portkey-api-key",
    "x-portkey-virtual-key",
    "cf-aig-authorization",
    "helicone-auth",
];

/// Headers that carry other secrets. Neither their values nor those of [`CREDENTIALS`] are shown.
const SECRET: [&str; 3] = ["proxy-authorization", "cookie", "x-amz-security-token"];

/// Headers that belong to one connection, one body or one attempt, not to a request that is made anew.
const OF_ONE_REQUEST: [&str; 12] = [
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authenticate",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "expect",
    "accept-encoding",
    "content-encoding",
    "idempotency-key",
];

/// The address of a model: dialect, URL, headers. `Debug` shows neither the
/// values of headers nor the path, which some providers put a key into.
#[derive(Clone)]
pub struct Endpoint {
    dialect: Dialect,
    uri: Uri,
    headers: HeaderMap,
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.headers.keys().map(HeaderName::as_str).collect();
        f.debug_struct("Endpoint")
            .field("dialect", &self.dialect)
            .field("host", &self.host())
            .field("headers", &names)
            .finish_non_exhaustive()
    }
}

impl Endpoint {
    /// The endpoint of `dialect` under a base URL, without credentials.
    ///
    /// The base is read as the providers' SDKs do: `https://host` or `https://host/prefix`, with or
    /// without a slash at the end; for OpenAI with or without `/v1`. A path that holds a version
    /// already (`/v1`, `/v1beta/openai`) gets none. A query is kept.
    ///
    /// # Errors
    /// [`ModelError::BadUrl`] for anything but an absolute `http` or `https` URL without user name.
    pub fn new(dialect: Dialect, base: &str) -> Result<Self, ModelError> {
        let uri = checked(base)?;
        Ok(Self {
            dialect,
            uri: with_path(&uri, path(dialect, uri.path()))?,
            headers: HeaderMap::new(),
        })
    }

    /// The endpoint that a request in `dialect` was sent to: its URL unchanged, query included.
    ///
    /// # Errors
    /// [`ModelError::BadUrl`] as for [`new`](Self::new).
    pub fn of_request(dialect: Dialect, url: &str) -> Result<Self, ModelError> {
        Ok(Self {
            dialect,
            uri: checked(url)?,
            headers: HeaderMap::new(),
        })
    }

    /// The interface for `dialect` of the same server, beside this one, with the same query and headers.
    ///
    /// # Errors
    /// [`ModelError::BadUrl`] where there is no such path.
    pub fn speaking(mut self, dialect: Dialect) -> Result<Self, ModelError> {
        if dialect != self.dialect {
            let own = self.uri.path();
            let base = own
                .strip_suffix(self.dialect.facts().server.path)
                .unwrap_or(own);
            self.uri = with_path(&self.uri, path(dialect, base))?;
            self.dialect = dialect;
        }
        Ok(self)
    }

    /// Returns `true` if both go to the same server, so a secret given to one is known to the other.
    #[must_use]
    pub fn shares_server(&self, other: &Self) -> bool {
        self.uri.scheme() == other.uri.scheme() && self.uri.authority() == other.uri.authority()
    }

    /// The same endpoint with a key, in the header that the dialect names.
    ///
    /// # Errors
    /// [`ModelError::BadHeader`] where the key cannot stand in a header.
    pub fn with_key(self, key: &str) -> Result<Self, ModelError> {
        let (name, before) = self.dialect.facts().server.key;
        self.with_header(name, &format!("{before}{}", key.trim()))
    }

    /// The same endpoint with one more header, in place of one of this name.
    ///
    /// # Errors
    /// [`ModelError::BadHeader`] where the name or the value cannot stand in a header.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, ModelError> {
        let bad = |_| ModelError::BadHeader {
            name: name.chars().take(64).collect(),
        };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad(()))?;
        let value = HeaderValue::from_str(value).map_err(|_| bad(()))?;
        let value = shielded(&key, &value);
        self.headers.insert(key, value);
        Ok(self)
    }

    /// The same endpoint with the headers of a request that was sent already, in place of those of
    /// the same names: credentials, versions, betas, session. Headers of its connection, its body and
    /// its attempt are left out.
    #[must_use]
    pub fn with_headers(mut self, headers: &HeaderMap) -> Self {
        for name in headers.keys() {
            if is_carried(name) {
                self.headers.remove(name);
                for value in headers.get_all(name) {
                    self.headers.append(name.clone(), shielded(name, value));
                }
            }
        }
        self
    }

    /// The dialect of the endpoint.
    #[must_use]
    pub const fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The host and port.
    #[must_use]
    pub fn host(&self) -> &str {
        self.uri.authority().map_or("", Authority::as_str)
    }

    pub(crate) const fn uri(&self) -> &Uri {
        &self.uri
    }

    /// The headers of a request.
    pub(crate) fn request_headers(&self) -> HeaderMap {
        let mut headers = self.headers.clone();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        // Nothing here decompresses an answer.
        headers.insert("accept-encoding", HeaderValue::from_static("identity"));
        let agent = concat!("ebbtide/", env!("CARGO_PKG_VERSION"));
        headers
            .entry(USER_AGENT)
            .or_insert(HeaderValue::from_static(agent));
        for (name, value) in self.dialect.facts().server.headers {
            let value = HeaderValue::from_static(value);
            headers.entry(*name).or_insert(value);
        }
        headers
    }

    /// The same endpoint with `name` among the values of `anthropic-beta`.
    #[must_use]
    pub fn with_beta(mut self, name: &'static str) -> Self {
        let held = self.headers.get_all("anthropic-beta").iter();
        let lists: Vec<&str> = held.filter_map(|value| value.to_str().ok()).collect();
        let there = lists
            .iter()
            .any(|list| list.split(',').any(|each| each.trim() == name));
        let lists = lists.into_iter().chain((!there).then_some(name));
        let lists: Vec<&str> = lists.filter(|list| !list.trim().is_empty()).collect();
        // One line: not every server joins several.
        if let Ok(joined) = HeaderValue::from_str(&lists.join(",")) {
            let header = HeaderName::from_static("anthropic-beta");
            self.headers.insert(header, joined);
        }
        self
    }
}

/// The value, marked as sensitive for names that carry secrets.
fn shielded(name: &HeaderName, value: &HeaderValue) -> HeaderValue {
    let mut value = value.clone();
    let name = name.as_str();
    value.set_sensitive(SECRET.contains(&name) || CREDENTIALS.contains(&name));
    value
}

/// Returns `true` for headers of an earlier request that fit a new one with another body.
fn is_carried(name: &HeaderName) -> bool {
    let own = [HOST, CONTENT_LENGTH, CONTENT_TYPE];
    !own.contains(name) && !OF_ONE_REQUEST.contains(&name.as_str())
}

/// The path of the interface under the path of a base URL.
fn path(dialect: Dialect, base: &str) -> String {
    let base = base.trim_end_matches('/');
    let version = match base.split('/').any(is_version) {
        true => "",
        false => "/v1",
    };
    format!("{base}{version}{}", dialect.facts().server.path)
}

/// A URL that can be asked: absolute, `http` or `https`, without a user name.
fn checked(url: &str) -> Result<Uri, ModelError> {
    let bad = |why| ModelError::BadUrl { why };
    let uri: Uri = url.trim().parse().map_err(|_| bad("it is not a URL"))?;
    let scheme = uri.scheme().ok_or(bad("it has no scheme"))?;
    if *scheme != Scheme::HTTP && *scheme != Scheme::HTTPS {
        return Err(bad("its scheme is neither http nor https"));
    }
    let authority: &Authority = uri.authority().ok_or(bad("it has no host"))?;
    if authority.as_str().contains('@') {
        return Err(bad("it has a user name; put credentials in headers"));
    }
    Ok(uri)
}

/// The same URL with another path.
fn with_path(uri: &Uri, mut path: String) -> Result<Uri, ModelError> {
    if let Some(query) = uri.query() {
        path.push('?');
        path.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    let bad = |why| ModelError::BadUrl { why };
    let path = path.parse().map_err(|_| bad("its path is malformed"))?;
    parts.path_and_query = Some(path);
    Uri::from_parts(parts).map_err(|_| bad("its path is malformed"))
}

/// `v1`, `v1beta`, `v2`, …
fn is_version(segment: &str) -> bool {
    let rest = segment.strip_prefix('v');
    rest.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};
    use wire::api::Dialect;

    use super::Endpoint;

    #[track_caller]
    fn check(dialect: Dialect, base: &str, expected: Option<&str>) {
        let endpoint = Endpoint::new(dialect, base).ok();
        let uri = endpoint.map(|endpoint| endpoint.uri().to_string());
        assert_eq!(uri.as_deref(), expected, "{base}");
    }

    #[test]
    fn bases_are_read_as_the_sdks_do() {
        let own = "https://api.anthropic.com/v1/messages";
        check(Dialect::Anthropic, "https://api.anthropic.com", Some(own));
        check(Dialect::Anthropic, "https://api.anthropic.com/", Some(own));
        check(
            Dialect::Anthropic,
            "https://h:8443/anthropic",
            Some("https://h:8443/anthropic/v1/messages"),
        );
        let chat = "https://api.openai.com/v1/chat/completions";
        check(Dialect::Chat, "https://api.openai.com/v1", Some(chat));
        check(Dialect::Chat, "https://api.openai.com/v1/", Some(chat));
        check(Dialect::Chat, "https://api.openai.com", Some(chat));
        check(
            Dialect::Chat,
            "https://h/v1beta/openai",
            Some("https://h/v1beta/openai/chat/completions"),
        );
        check(
            Dialect::Responses,
            "http://127.0.0.1:4000/x?api-version=3",
            Some("http://127.0.0.1:4000/x/v1/responses?api-version=3"),
        );
    }

    #[test]
    fn the_url_of_a_request_stays_and_leads_to_the_interfaces_beside_it() {
        let url = "https://h/openai/deployments/gpt-5/chat/completions?api-version=3";
        let own = Endpoint::of_request(Dialect::Chat, url).unwrap();
        assert_eq!(own.uri().to_string(), url);
        let beside = own.clone().speaking(Dialect::Chat).unwrap();
        assert_eq!(beside.uri().to_string(), url);
        let other = own.speaking(Dialect::Anthropic).unwrap();
        let expected = "https://h/openai/deployments/gpt-5/v1/messages?api-version=3";
        assert_eq!(other.uri().to_string(), expected);
        let versioned = "https://h:8443/v1/messages";
        let versioned = Endpoint::of_request(Dialect::Anthropic, versioned).unwrap();
        let chat = versioned.clone().speaking(Dialect::Chat).unwrap();
        assert_eq!(chat.uri().to_string(), "https://h:8443/v1/chat/completions");
        assert!(chat.shares_server(&versioned) && !chat.shares_server(&other));
    }

    #[test]
    fn other_urls_are_refused() {
        for base in [
            "",
            "api.openai.com",
            "ftp://h",
            "https://",
            "https://me:key@h",
        ] {
            check(Dialect::Chat, base, None);
        }
    }

    #[test]
    fn debug_shows_no_credentials() {
        let base = "https://host/sk-path";
        let endpoint = Endpoint::new(Dialect::Chat, base).unwrap();
        let mut more = HeaderMap::new();
        more.insert("x-api-key", HeaderValue::from_static("sk-header"));
        more.insert("x-session", HeaderValue::from_static("sk-session"));
        let endpoint = endpoint.with_key("sk-key").unwrap().with_headers(&more);
        let shown = format!("{endpoint:?} {:?}", endpoint.request_headers());
        for secret in ["sk-path", "sk-header", "sk-key"] {
            assert!(!shown.contains(secret), "{shown}");
        }
        assert!(!format!("{endpoint:?}").contains("sk-session"));
        assert_eq!(endpoint.request_headers()["authorization"], "Bearer sk-key");
    }

    #[test]
    fn a_sent_request_gives_what_fits_a_new_one() {
        let mut sent = HeaderMap::new();
        for (name, value) in [
            ("host", "proxy"),
            ("content-length", "12"),
            ("accept-encoding", "gzip"),
            ("connection", "close"),
            ("idempotency-key", "of the client's request"),
            ("anthropic-version", "2023-01-01"),
            ("anthropic-beta", "a, b"),
        ] {
            sent.append(name, HeaderValue::from_static(value));
        }
        let endpoint = Endpoint::new(Dialect::Anthropic, "http://h").unwrap();
        let endpoint = endpoint.with_headers(&sent).with_beta("b").with_beta("c");
        let headers = endpoint.request_headers();
        assert!(headers.get("host").is_none() && headers.get("content-length").is_none());
        assert!(headers.get("connection").is_none());
        assert!(headers.get("idempotency-key").is_none());
        assert_eq!(headers["accept-encoding"], "identity");
        assert_eq!(headers["anthropic-version"], "2023-01-01");
        let betas: Vec<_> = headers.get_all("anthropic-beta").iter().collect();
        assert_eq!(betas, ["a, b,c"]);
        sent.append("anthropic-beta", HeaderValue::from_static("d"));
        let endpoint = endpoint.with_headers(&sent).with_beta("b");
        let headers = endpoint.request_headers();
        let betas: Vec<_> = headers.get_all("anthropic-beta").iter().collect();
        assert_eq!(betas, ["a, b,d"]);
    }
}
