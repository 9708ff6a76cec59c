//! Classifies a request by its method, path and headers.

use http::request::Parts;
use http::{HeaderMap, Method, Uri, header};
use wire::api::Dialect;
pub(crate) use wire::api::Provider;

use crate::conversations::Endpoint;

/// The endpoint and the provider of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pub(crate) endpoint: Endpoint,
    pub(crate) provider: Provider,
}

impl Route {
    pub(crate) fn of(parts: &Parts) -> Self {
        let path = parts.uri.path();
        Self {
            endpoint: endpoint(&parts.method, path),
            provider: provider(path, &parts.headers),
        }
    }

    /// The endpoint's label in metrics and logs.
    pub(crate) const fn name(self) -> &'static str {
        match (self.endpoint, self.provider) {
            (Endpoint::Generate(dialect), _) => dialect.facts().server.generate.1,
            (Endpoint::Count(dialect), _) => dialect.facts().server.count.1,
            (Endpoint::Other, Provider::Anthropic) => "other_anthropic",
            (Endpoint::Other, Provider::OpenAi) => "other_openai",
        }
    }
}

/// Matches the end of the path, since a client's base URL may have a prefix.
fn endpoint(method: &Method, path: &str) -> Endpoint {
    if method != Method::POST {
        return Endpoint::Other;
    }
    let ends = |ends: &[&str]| ends.iter().any(|end| path.ends_with(end));
    let of = |dialect: Dialect| {
        let server = &dialect.facts().server;
        if ends(server.generate.0) {
            Some(Endpoint::Generate(dialect))
        } else {
            ends(server.count.0).then_some(Endpoint::Count(dialect))
        }
    };
    let mut dialects = Dialect::ALL.into_iter();
    dialects.find_map(of).unwrap_or(Endpoint::Other)
}

/// Returns true if the gateway inspects requests to this path, whatever the method.
pub(crate) fn is_read(path: &str) -> bool {
    endpoint(&Method::POST, path) != Endpoint::Other
}

/// Removes what joining a base URL and a path leaves: empty segments, where the base URL ends with a slash, and
/// a second `/v1`, where both have one. Returns `None` if there is nothing to remove.
pub(super) fn tidied(uri: &Uri) -> Option<Uri> {
    let path = uri.path();
    if !path.contains("//") && !path.starts_with("/v1/v1/") {
        return None;
    }
    let mut tidy = String::with_capacity(path.len());
    for letter in path.chars() {
        // A URL inside a path keeps its slashes.
        let is_extra = letter == '/' && tidy.ends_with('/') && !tidy.ends_with(":/");
        if !is_extra {
            tidy.push(letter);
        }
    }
    if tidy.starts_with("/v1/v1/") {
        tidy.drain(.."/v1".len());
    }
    if let Some(query) = uri.query() {
        tidy.push('?');
        tidy.push_str(query);
    }
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = Some(tidy.parse().ok()?);
    Uri::from_parts(parts).ok().filter(|tidy| tidy != uri)
}

/// Returns true for the requests of a client that is signed in with a ChatGPT plan. Codex names the account.
pub(super) fn is_of_chatgpt(headers: &HeaderMap) -> bool {
    headers.contains_key("chatgpt-account-id")
}

/// Decides by headers that only one provider's clients use, then by the path, then by the header of the key.
fn provider(path: &str, headers: &HeaderMap) -> Provider {
    if is_of_chatgpt(headers) {
        return Provider::OpenAi;
    }
    let anthropic_header = headers
        .keys()
        .any(|name| name.as_str().starts_with("anthropic-"));
    let anthropic_path = ["/v1/messages", "/v1/complete", "/api/"]
        .iter()
        .any(|start| path.starts_with(start))
        || path.ends_with("/v1/messages")
        || path.ends_with("/v1/messages/count_tokens");
    let openai_path = ["/chat/completions", "/responses", "/responses/compact"]
        .iter()
        .any(|end| path.ends_with(end));
    let bare_key =
        headers.contains_key("x-api-key") && !headers.contains_key(header::AUTHORIZATION);
    if anthropic_header || (!openai_path && (anthropic_path || bare_key)) {
        Provider::Anthropic
    } else {
        Provider::OpenAi
    }
}

#[cfg(test)]
mod tests {
    use http::{Request, Uri};

    use super::{Provider, Route, tidied};

    type Header = (&'static str, &'static str);

    const ANTHROPIC: Provider = Provider::Anthropic;
    const OPENAI: Provider = Provider::OpenAi;

    /// Checks each request: its line, its headers, the provider and the endpoint's name.
    #[track_caller]
    fn check(cases: &[(&str, &[Header], Provider, &str)]) {
        for &(line, headers, provider, name) in cases {
            let (method, path) = line.split_once(' ').unwrap();
            let mut request = Request::builder().method(method).uri(path);
            for (name, value) in headers {
                request = request.header(*name, *value);
            }
            let (parts, ()) = request.body(()).unwrap().into_parts();
            let route = Route::of(&parts);
            assert_eq!((route.provider, route.name()), (provider, name), "{line}");
        }
    }

    #[test]
    fn generation_and_counting_by_path() {
        check(&[
            ("POST /v1/messages?beta=true", &[], ANTHROPIC, "messages"),
            (
                "POST /v1/messages/count_tokens",
                &[],
                ANTHROPIC,
                "count_tokens",
            ),
            ("POST /v1/chat/completions", &[], OPENAI, "chat_completions"),
            ("POST /v1/responses", &[], OPENAI, "responses"),
            (
                "POST /v1/responses/input_tokens",
                &[],
                OPENAI,
                "input_tokens",
            ),
            ("POST /prefix/v1/messages", &[], ANTHROPIC, "messages"),
            (
                "POST /api/v1/chat/completions",
                &[],
                OPENAI,
                "chat_completions",
            ),
            ("POST /responses", &[], OPENAI, "responses"),
            ("POST /v1/responses/compact", &[], OPENAI, "responses"),
        ]);
    }

    #[test]
    fn what_is_not_inspected() {
        check(&[
            ("GET /v1/messages", &[], ANTHROPIC, "other_anthropic"),
            (
                "POST /v1/messages/batches",
                &[],
                ANTHROPIC,
                "other_anthropic",
            ),
            ("HEAD /api/hello", &[], ANTHROPIC, "other_anthropic"),
            ("POST /v1/threads/t/messages", &[], OPENAI, "other_openai"),
            ("GET /v1/responses/resp_1", &[], OPENAI, "other_openai"),
            ("POST /v1/embeddings", &[], OPENAI, "other_openai"),
        ]);
    }

    #[test]
    fn shared_paths_by_the_headers() {
        let version = ("anthropic-version", "2023-06-01");
        let (bearer, key) = (("authorization", "Bearer k"), ("x-api-key", "k"));
        let account = ("chatgpt-account-id", "a");
        let models = "GET /v1/models";
        check(&[
            (models, &[version], ANTHROPIC, "other_anthropic"),
            (models, &[version, bearer], ANTHROPIC, "other_anthropic"),
            (models, &[key], ANTHROPIC, "other_anthropic"),
            (models, &[bearer], OPENAI, "other_openai"),
            ("GET /api/models", &[account], OPENAI, "other_openai"),
            (
                "POST /v1/chat/completions",
                &[version],
                ANTHROPIC,
                "chat_completions",
            ),
        ]);
    }

    #[test]
    fn slashes_of_base_urls() {
        for (path, tidy) in [
            ("//v1/messages", Some("/v1/messages")),
            ("/v1//chat/completions", Some("/v1/chat/completions")),
            ("/v1//v1/messages?a=//b", Some("/v1/messages?a=//b")),
            ("///", Some("/")),
            ("//ebbtide//health", Some("/ebbtide/health")),
            ("http://h:1//v1/models", Some("http://h:1/v1/models")),
            ("/p/https://h//x", Some("/p/https://h/x")),
            ("/p/https://h/x", None),
            ("/v1/messages?a=//b", None),
            ("/v1/messages/", None),
            ("/", None),
        ] {
            let uri: Uri = path.parse().unwrap();
            let tidy: Option<Uri> = tidy.map(|tidy| tidy.parse().unwrap());
            assert_eq!(tidied(&uri), tidy, "{path}");
        }
    }
}
