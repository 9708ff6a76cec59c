//! Forms: their fields, and the checks that one of the gateway's own pages sent them.

use http::HeaderMap;
use http::header::{HOST, ORIGIN};

/// Returns the first field of this name in a form's body or a query.
pub(super) fn field(sent: &[u8], name: &str) -> Option<String> {
    form_urlencoded::parse(sent)
        .find(|(key, _)| key == name)
        .map(|(_, value)| value.into_owned())
}

/// Returns true if the browser says that a page of this origin sent the request. Browsers send one of the two
/// headers with every form; a client that sends neither is no browser, and must know the form's token anyway.
pub(super) fn same_origin(headers: &HeaderMap) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(site) = text("sec-fetch-site") {
        return site == "same-origin";
    }
    match (text(ORIGIN.as_str()), text(HOST.as_str())) {
        (None, _) => true,
        (Some(origin), Some(host)) => origin
            .split_once("://")
            .is_some_and(|(_, from)| from.eq_ignore_ascii_case(host)),
        (Some(_), None) => false,
    }
}

/// Returns the base URL at which the visitor reached the gateway, according to the request.
pub(super) fn base(headers: &HeaderMap) -> String {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let scheme = match text("x-forwarded-proto") {
        Some("https") => "https",
        _ => "http",
    };
    format!("{scheme}://{}", text(HOST.as_str()).unwrap_or("HOST:PORT"))
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::{base, field, same_origin};

    fn headers(of: &[(&'static str, &'static str)]) -> HeaderMap {
        of.iter()
            .map(|(name, value)| {
                (
                    HeaderName::from_static(name),
                    HeaderValue::from_static(value),
                )
            })
            .collect()
    }

    #[test]
    fn fields_are_decoded() {
        let sent = b"text=a+b%26c%C3%A4&form=1&text=2";
        assert_eq!(field(sent, "text").as_deref(), Some("a b&cä"));
        assert_eq!(field(sent, "none"), None);
        assert_eq!(field(b"%zz&&=&text", "text").as_deref(), Some(""));
    }

    #[test]
    fn other_sites_are_told_apart() {
        let host = ("host", "127.0.0.1:4000");
        let cases: [(&[_], bool); 7] = [
            (&[host], true),
            (&[host, ("sec-fetch-site", "same-origin")], true),
            (&[host, ("sec-fetch-site", "cross-site")], false),
            (&[host, ("sec-fetch-site", "same-site")], false),
            (&[host, ("origin", "http://127.0.0.1:4000")], true),
            (&[host, ("origin", "http://127.0.0.1:4001")], false),
            (&[host, ("origin", "null")], false),
        ];
        for (of, expected) in cases {
            assert_eq!(same_origin(&headers(of)), expected, "{of:?}");
        }
    }

    #[test]
    fn the_base_is_where_the_visitor_came() {
        assert_eq!(base(&headers(&[("host", "a:1")])), "http://a:1");
        let behind = [("host", "e.example"), ("x-forwarded-proto", "https")];
        assert_eq!(base(&headers(&behind)), "https://e.example");
    }
}
