//! The tenant of a request, by its credentials.
//!
//! Everything that a provider may charge counts: two requests belong to one tenant only if all of it is
//! equal. A request without known credentials could be anyone's. From this machine, all such requests
//! share a tenant; from elsewhere, one may carry credentials that the gateway does not recognize, so it is
//! forwarded without being read.

use history::Tenant;
use http::Uri;
use http::header::{self, HeaderMap, HeaderName};

/// The names of credentials in a query.
const IN_QUERY: [&str; 7] = [
    "key",
    "api_key",
    "api-key",
    "apikey",
    "access_token",
    "token",
    "subscription-key",
];

/// The distinct credentials of one request. They are secret, so there is no `Debug`.
pub(crate) struct Credentials<'r>(Vec<&'r [u8]>);

impl<'r> Credentials<'r> {
    /// Collects the keys in the headers.
    pub(crate) fn in_headers(headers: &'r HeaderMap) -> Self {
        let names = model::CREDENTIALS.iter();
        let values = names.flat_map(|name| headers.get_all(*name).iter());
        Self::sorted(values.map(|value| without_scheme(value.as_bytes())))
    }

    /// Collects the keys in the headers and in the URL's query, or else the cookies.
    pub(crate) fn of(headers: &'r HeaderMap, uri: &'r Uri) -> Self {
        let pairs = uri.query().unwrap_or_default().split('&');
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        let named =
            pairs.filter(|(name, _)| IN_QUERY.contains(&name.to_ascii_lowercase().as_str()));
        let in_query = named.map(|(_, value)| value.as_bytes());
        let found = Self::sorted(Self::in_headers(headers).0.into_iter().chain(in_query));
        if !found.0.is_empty() {
            return found;
        }
        // Providers change their cookies during a conversation, so cookies count only without a key.
        let cookies = headers.get_all(header::COOKIE).iter();
        Self::sorted(cookies.map(|value| value.as_bytes()))
    }

    fn sorted(values: impl Iterator<Item = &'r [u8]>) -> Self {
        let mut found: Vec<&[u8]> = values.filter(|value| !value.is_empty()).collect();
        found.sort_unstable();
        found.dedup();
        Self(found)
    }

    /// Returns true if a secret is among them.
    pub(crate) fn contain(&self, secret: &str) -> bool {
        // Hashes compare in constant time.
        let wanted = blake3::hash(secret.as_bytes());
        self.0.iter().any(|value| blake3::hash(value) == wanted)
    }

    /// Derives the tenant. A single key gives the same tenant in any header.
    pub(crate) fn tenant(&self, secret: &[u8; 32]) -> Option<Tenant> {
        match self.0.as_slice() {
            [] => None,
            [one] => Some(Tenant::of(secret, one)),
            all => {
                // A header cannot contain a zero byte, so several keys never look like one.
                let mut joined = vec![0];
                for value in all {
                    joined.extend_from_slice(&value.len().to_le_bytes());
                    joined.extend_from_slice(value);
                }
                Some(Tenant::of(secret, &joined))
            }
        }
    }
}

/// Derives the tenant from the value of a trusted header.
pub(crate) fn named(headers: &HeaderMap, name: &HeaderName, secret: &[u8; 32]) -> Option<Tenant> {
    let value = headers.get(name)?.as_bytes().trim_ascii();
    // A header cannot contain this byte, so no key looks like a name.
    let marked = [b"\x01", value].concat();
    (!value.is_empty()).then(|| Tenant::of(secret, &marked))
}

/// Strips `Bearer ` from a key.
fn without_scheme(value: &[u8]) -> &[u8] {
    match value.split_at_checked(7) {
        Some((scheme, key)) if scheme.eq_ignore_ascii_case(b"bearer ") => key.trim_ascii(),
        _ => value,
    }
}

#[cfg(test)]
mod tests {
    use history::Tenant;
    use http::header::{HeaderMap, HeaderName};

    use super::{Credentials, named};

    const SECRET: [u8; 32] = [7; 32];

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        let pairs = headers.iter();
        let pairs = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
        pairs.collect()
    }

    fn by(headers: &[(&str, &str)], target: &str) -> Option<Tenant> {
        let (headers, uri) = (map(headers), target.parse().unwrap());
        Credentials::of(&headers, &uri).tenant(&SECRET)
    }

    #[test]
    fn a_key_is_the_same_tenant_wherever_it_stands() {
        let one = by(&[("x-api-key", "k")], "/");
        assert_eq!(one, Some(Tenant::of(&SECRET, b"k")));
        for (name, value) in [
            ("authorization", "Bearer k"),
            ("authorization", "bearer  k"),
            ("api-key", "k"),
            ("x-goog-api-key", "k"),
        ] {
            assert_eq!(one, by(&[(name, value)], "/"), "{name}");
        }
        assert_eq!(one, by(&[], "/x?alt=sse&key=k"));
        assert_eq!(
            one,
            by(&[("x-api-key", "k"), ("authorization", "Bearer k")], "/")
        );
        let account = [("authorization", "Bearer k"), ("chatgpt-account-id", "a")];
        assert_eq!(one, by(&account, "/"));
        let headers = map(&[("x-api-key", "k")]);
        assert_ne!(one, Credentials::in_headers(&headers).tenant(&[8; 32]));
    }

    #[test]
    fn everything_that_differs_makes_another_tenant() {
        let both = |first, second| by(&[("x-api-key", first), ("api-key", second)], "/");
        let tenants = [
            by(&[("x-api-key", "a")], "/"),
            by(&[("api-key", "b")], "/"),
            both("a", "b"),
            both("a", "c"),
            both("ab", "c"),
            by(&[("cookie", "id=1")], "/"),
            by(&[("cookie", "id=2")], "/"),
            by(&[], "/?key=c"),
        ];
        for (index, tenant) in tenants.iter().enumerate() {
            assert!(
                tenant.is_some() && !tenants[..index].contains(tenant),
                "{index}"
            );
        }
        let with_cookie = by(&[("x-api-key", "a"), ("cookie", "id=1")], "/");
        assert_eq!(with_cookie, tenants[0], "a cookie beside a key");
        let cookie = map(&[("cookie", "id=1")]);
        assert_eq!(Credentials::in_headers(&cookie).tenant(&SECRET), None);
    }

    #[test]
    fn nothing_known_is_nobody() {
        assert_eq!(by(&[("x-api-key", ""), ("x-other", "k")], "/?q=k"), None);
    }

    #[test]
    fn a_name_is_no_key() {
        let header = HeaderName::from_static("x-ebbtide-tenant");
        let name = |value| named(&map(&[("x-ebbtide-tenant", value)]), &header, &SECRET);
        assert!(name("alice").is_some() && name("alice") != name("bob"));
        assert_ne!(name("alice"), by(&[("x-api-key", "alice")], "/"));
        assert_eq!(named(&map(&[]), &header, &SECRET), None);
    }
}
