//! Sends requests to the providers.

use std::error::Error;
use std::io;
use std::time::Duration;

use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderMap, Request, Response, Uri};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use model::{Outgoing, Unanswered};

use crate::config::{Config, Upstreams};
use crate::server::refusal::Reason;
use crate::server::route::{Provider, is_of_chatgpt};
use crate::server::{Body, ServeError};

/// The connect time-out.
const CONNECTING: Duration = Duration::from_secs(10);
/// The idle time after which a connection is closed, before the provider closes it while a request is on its
/// way.
const IDLE: Duration = Duration::from_secs(30);

/// The providers and the HTTP client for them.
pub(crate) struct Upstream {
    anthropic: Base,
    openai: Base,
    /// For requests that are signed in with a ChatGPT plan.
    chatgpt: Option<Base>,
    outgoing: Outgoing,
}

/// The base of a provider's URLs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Base {
    scheme: Scheme,
    authority: Authority,
    /// The path without a trailing slash.
    prefix: String,
}

impl Base {
    fn parse(url: &str) -> Result<Self, ServeError> {
        let bad = |reason| ServeError::Upstream {
            url: url.to_owned(),
            reason,
        };
        let uri: Uri = url.parse().map_err(|_| bad("it is not a URL"))?;
        let parts = uri.into_parts();
        let scheme = parts
            .scheme
            .filter(|scheme| *scheme == Scheme::HTTP || *scheme == Scheme::HTTPS)
            .ok_or_else(|| bad("it must begin with http:// or https://"))?;
        let authority = parts.authority.ok_or_else(|| bad("it has no host"))?;
        if authority.as_str().contains('@') {
            return Err(bad("it contains a user name"));
        }
        let path = parts.path_and_query;
        if path.as_ref().is_some_and(|path| path.query().is_some()) {
            return Err(bad("it has a query"));
        }
        let prefix = path.as_ref().map_or("", |path| path.path());
        Ok(Self {
            scheme,
            authority,
            prefix: prefix.trim_end_matches('/').to_owned(),
        })
    }

    /// Joins the base and a client's request target. A `/v1` that both have appears once.
    fn join(&self, target: &str) -> Option<Uri> {
        let prefix = match self.prefix.strip_suffix("/v1") {
            Some(rest) if target.starts_with("/v1/") => rest,
            _ => self.prefix.as_str(),
        };
        let path: PathAndQuery = if prefix.is_empty() {
            target.parse().ok()?
        } else {
            format!("{prefix}{target}").parse().ok()?
        };
        Uri::builder()
            .scheme(self.scheme.clone())
            .authority(self.authority.clone())
            .path_and_query(path)
            .build()
            .ok()
    }
}

impl Upstream {
    pub(crate) fn new(config: &Config) -> Result<Self, ServeError> {
        Self::of(&config.upstream, config.chatgpt())
    }

    fn of(urls: &Upstreams, chatgpt: Option<&str>) -> Result<Self, ServeError> {
        let (anthropic, openai) = (Base::parse(&urls.anthropic)?, Base::parse(&urls.openai)?);
        let chatgpt = chatgpt.map(Base::parse).transpose()?;
        let tls = [Some(&anthropic), Some(&openai), chatgpt.as_ref()]
            .into_iter()
            .flatten()
            .any(|base| base.scheme == Scheme::HTTPS);
        let outgoing = Outgoing::new(CONNECTING, IDLE);
        if tls {
            // Read now, so that missing certificates show at the start and not with the first request.
            outgoing.read_roots().map_err(io::Error::other)?;
        }
        Ok(Self {
            anthropic,
            openai,
            chatgpt,
            outgoing,
        })
    }

    /// Sends everything to one server.
    pub(crate) fn single(url: &str) -> Result<Self, ServeError> {
        let urls = Upstreams {
            anthropic: url.to_owned(),
            openai: url.to_owned(),
            chatgpt: None,
        };
        Self::of(&urls, None)
    }

    /// Returns the URL at a provider for a client's request.
    pub(crate) fn url(&self, to: Provider, target: &Uri, headers: &HeaderMap) -> Option<Uri> {
        let target = target.path_and_query().map_or("/", PathAndQuery::as_str);
        match (to, &self.chatgpt) {
            (Provider::Anthropic, _) => self.anthropic.join(target),
            (Provider::OpenAi, Some(chatgpt)) if is_of_chatgpt(headers) => {
                // Its paths have no version; the gateway's base URL has one, for OpenAI's.
                let bare = target.strip_prefix("/v1");
                chatgpt.join(bare.filter(|bare| bare.starts_with('/')).unwrap_or(target))
            }
            (Provider::OpenAi, _) => self.openai.join(target),
        }
    }

    /// Sends a request whose URI is the client's target, and waits for the head of the answer.
    pub(crate) async fn send(
        &self,
        to: Provider,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, Reason> {
        let url = self.url(to, request.uri(), request.headers());
        *request.uri_mut() = url.ok_or(Reason::BrokenBody)?;
        *request.version_mut() = http::Version::HTTP_11;
        let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
        self.outgoing.send(request).await.map_err(|error| {
            tracing::warn!(error = %chain(&error), "the provider did not answer");
            reason(&error)
        })
    }
}

/// The host and port of a URL, and nothing else of it: its path and query may hold a key.
pub(crate) fn address(url: &Uri) -> Option<String> {
    let port = url.port_u16().or_else(|| match url.scheme_str()? {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    });
    Some(format!("{}:{}", url.host()?, port?))
}

fn reason(error: &Unanswered) -> Reason {
    match error {
        Unanswered::Broken(error) if error.is_connect() => Reason::Unreachable,
        Unanswered::Broken(error) if caused_by_client(error) => Reason::BrokenBody,
        Unanswered::Broken(_) => Reason::BrokenAnswer,
        // The root certificates were read at the start.
        _ => Reason::Unreachable,
    }
}

/// Returns true if the client's own body failed while it was being forwarded.
fn caused_by_client(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        if error
            .downcast_ref::<hyper::Error>()
            .is_some_and(hyper::Error::is_user)
        {
            return true;
        }
        next = error.source();
    }
    false
}

/// Formats an error with its causes. Connection errors contain no text of a request.
fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(error) = next {
        text.push_str(": ");
        text.push_str(&error.to_string());
        next = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;

    use super::{Base, Upstream};
    use crate::config::Config;
    use crate::server::route::Provider;

    #[test]
    fn only_an_account_at_openai_itself_leads_to_chatgpt() {
        const OPENAI: &str = "https://api.openai.com/v1/responses";
        const CHATGPT: &str = "https://chatgpt.com/backend-api/codex/responses";
        let account = [("chatgpt-account-id", "a")];
        let url = |headers: &[(&'static str, &'static str)], change: &dyn Fn(&mut Config)| {
            let mut config = Config::default();
            change(&mut config);
            let pairs = headers.iter();
            let pairs = pairs.map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
            let headers: HeaderMap = pairs.collect();
            let upstream = Upstream::new(&config).unwrap();
            let target = "/v1/responses".parse().unwrap();
            let url = upstream.url(Provider::OpenAi, &target, &headers);
            url.unwrap().to_string()
        };
        assert_eq!(url(&account, &|_| {}), CHATGPT);
        assert_eq!(url(&[("authorization", "Bearer k")], &|_| {}), OPENAI);
        let versioned = |config: &mut Config| config.upstream.openai.push_str("/v1");
        assert_eq!(url(&account, &versioned), CHATGPT);
        assert_eq!(
            url(&account, &|config| config.upstream.chatgpt = None),
            OPENAI
        );
        assert_eq!(
            url(&account, &|config| config.openai_over_chat = true),
            OPENAI
        );
        let other = |config: &mut Config| config.upstream.openai = "http://h".to_owned();
        assert_eq!(url(&account, &other), "http://h/v1/responses");
    }

    #[test]
    fn base_and_target_are_joined() {
        for (base, target, url) in [
            (
                "https://h",
                "/v1/messages?beta=true",
                "https://h/v1/messages?beta=true",
            ),
            ("https://h/", "/v1/messages", "https://h/v1/messages"),
            (
                "http://h:1/api/",
                "/v1/messages",
                "http://h:1/api/v1/messages",
            ),
            ("https://h/v1", "/v1/models", "https://h/v1/models"),
            (
                "https://h/openai/v1/",
                "/v1/models",
                "https://h/openai/v1/models",
            ),
            ("https://h/v1", "/models", "https://h/v1/models"),
            ("https://h", "/a%20b?q=%2F", "https://h/a%20b?q=%2F"),
        ] {
            let joined = Base::parse(base).unwrap().join(target).unwrap();
            assert_eq!(joined.to_string(), url);
        }
    }

    #[test]
    fn invalid_bases() {
        let invalid = [
            "",
            "h",
            "ftp://h",
            "https://",
            "https://h?x=1",
            "https://u:p@h",
        ];
        for url in invalid {
            assert!(Base::parse(url).is_err(), "{url}");
        }
    }
}
