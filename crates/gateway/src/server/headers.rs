//! Headers: those that are forwarded, and the gateway's own.

use context::Tokens;
use history::ConversationId;
use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use conversation::words::Did;

/// The words for what was done to the request.
pub(crate) const DID: HeaderName = HeaderName::from_static("x-ebbtide-did");
/// The id of the conversation.
pub(crate) const CONVERSATION: HeaderName = HeaderName::from_static("x-ebbtide-conversation");
/// The tokens sent to the provider.
pub(crate) const TOKENS: HeaderName = HeaderName::from_static("x-ebbtide-tokens");
/// The error code, if the gateway itself answered with an error.
pub(crate) const ERROR: HeaderName = HeaderName::from_static("x-ebbtide-error");
/// The prefix of the gateway's own headers. They are not forwarded.
const OURS: &str = "x-ebbtide-";

const HOP_BY_HOP: [HeaderName; 7] = [
    header::CONNECTION,
    HeaderName::from_static("keep-alive"),
    header::PROXY_AUTHENTICATE,
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
];

/// Removes the hop-by-hop headers, including those named by `connection` (RFC 9110, section 7.6.1).
pub(crate) fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(header::CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&HOP_BY_HOP) {
        headers.remove(name);
    }
    headers.remove(header::UPGRADE);
    headers.remove("http2-settings");
}

/// Removes the headers that must not reach the provider.
pub(crate) fn for_upstream(headers: &mut HeaderMap) {
    remove_hop_by_hop(headers);
    // The URL holds the provider's host, the body determines the length, and the gateway itself has answered
    // an `expect`.
    for name in [
        header::HOST,
        header::CONTENT_LENGTH,
        header::EXPECT,
        header::PROXY_AUTHORIZATION,
    ] {
        headers.remove(name);
    }
    remove_ours(headers);
}

/// Removes the headers addressed to the gateway, or those of an answer that only the gateway itself may give.
pub(crate) fn remove_ours(headers: &mut HeaderMap) {
    let ours: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(OURS))
        .cloned()
        .collect();
    for name in ours {
        headers.remove(name);
    }
}

/// Adds beta names to the client's own.
pub(crate) fn add_betas(headers: &mut HeaderMap, betas: &[&'static str]) {
    const BETA: HeaderName = HeaderName::from_static("anthropic-beta");
    let lines = headers.get_all(BETA).iter();
    let lists: Vec<&str> = lines.filter_map(|value| value.to_str().ok()).collect();
    let mut names: Vec<&str> = lists.clone();
    for beta in betas {
        let is_there = |list: &&str| list.split(',').any(|name| name.trim() == *beta);
        if !names.iter().any(is_there) {
            names.push(beta);
        }
    }
    if names.len() == lists.len() {
        return;
    }
    names.retain(|list| !list.trim().is_empty());
    // One line: not every server joins several.
    if let Ok(value) = HeaderValue::from_str(&names.join(",")) {
        headers.insert(BETA, value);
    }
}

/// Adds the headers that say what was done.
pub(crate) fn annotate(
    headers: &mut HeaderMap,
    did: &[Did],
    conversation: Option<ConversationId>,
    tokens: Option<Tokens>,
) {
    let words: Vec<&str> = did.iter().map(|did| did.as_str()).collect();
    let told = [
        (DID, (!words.is_empty()).then(|| words.join(","))),
        (CONVERSATION, conversation.map(|id| id.to_string())),
        (TOKENS, tokens.map(|tokens| tokens.get().to_string())),
    ];
    for (name, value) in told {
        if let Some(value) = value.and_then(|value| HeaderValue::try_from(value).ok()) {
            headers.insert(name, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderName, HeaderValue};

    use super::{add_betas, for_upstream};

    fn map(headers: &[(&str, &str)]) -> HeaderMap {
        headers
            .iter()
            .map(|(name, value)| {
                let name: HeaderName = name.parse().unwrap();
                (name, HeaderValue::from_str(value).unwrap())
            })
            .collect()
    }

    #[track_caller]
    fn check(received: &[(&str, &str)], sent: &[(&str, &str)]) {
        let mut headers = map(received);
        for_upstream(&mut headers);
        assert_eq!(headers, map(sent));
    }

    #[test]
    fn everything_goes_on_but_what_concerns_the_connection_or_us() {
        check(
            &[
                ("anthropic-beta", "unknown-2030-01-01"),
                ("x-stainless-os", "Linux"),
            ],
            &[
                ("anthropic-beta", "unknown-2030-01-01"),
                ("x-stainless-os", "Linux"),
            ],
        );
        check(
            &[
                ("connection", "keep-alive, x-private"),
                ("x-private", "1"),
                ("keep-alive", "timeout=5"),
                ("te", "trailers"),
                ("transfer-encoding", "chunked"),
                ("host", "127.0.0.1:4000"),
                ("content-length", "7"),
                ("expect", "100-continue"),
                ("x-ebbtide-session", "s"),
                ("accept", "*/*"),
            ],
            &[("accept", "*/*")],
        );
    }

    #[test]
    fn a_beta_is_added_once_beside_the_clients() {
        let mut headers = map(&[("anthropic-beta", "a, b")]);
        add_betas(&mut headers, &["b", "c"]);
        assert_eq!(headers, map(&[("anthropic-beta", "a, b,c")]));
        let mut headers = HeaderMap::new();
        add_betas(&mut headers, &["c"]);
        assert_eq!(headers, map(&[("anthropic-beta", "c")]));
        let two = [("anthropic-beta", "a"), ("anthropic-beta", "b")];
        let mut headers = map(&two);
        add_betas(&mut headers, &["b"]);
        assert_eq!(headers, map(&two), "as the client sent them");
        add_betas(&mut headers, &["c"]);
        assert_eq!(headers, map(&[("anthropic-beta", "a,b,c")]));
    }
}
