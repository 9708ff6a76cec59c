//! A client of a running gateway's control API, for the command line.

use bytes::Bytes;
use context::coded::{self, Coded, ErrorCode};
use context::pin::Subject;
use http::{HeaderValue, Method, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};

use crate::config::Secret;
use crate::error;
use crate::mcp;
use crate::server::{Provider, ServeError, Upstream, whole};

/// The longest answer to read, in bytes.
const LONGEST: usize = 16 << 20;

/// A client of the gateway at a base URL.
pub struct Remote {
    url: String,
    key: Option<Secret>,
    upstream: Upstream,
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Remote")
            .field("url", &self.url)
            .finish_non_exhaustive()
    }
}

/// The error of a request to a gateway.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The URL is invalid.
    #[error("`{url}` is not a valid gateway URL")]
    Url {
        /// The URL as given.
        url: String,
        /// The reason.
        source: ServeError,
    },
    /// Something other than a gateway answers, or nothing does.
    #[error("no gateway answers at {url}")]
    NoAnswer {
        /// The URL asked.
        url: String,
    },
    /// The gateway refused the request.
    #[error("{message}")]
    Refused {
        /// The gateway's error code.
        code: String,
        /// The gateway's message.
        message: String,
        /// The gateway's suggestion.
        hint: Option<String>,
    },
}

impl Coded for RemoteError {
    /// Returns the gateway's own code for [`Refused`](Self::Refused) if this version knows it.
    fn code(&self) -> ErrorCode {
        match self {
            Self::Url { source, .. } => source.code(),
            Self::NoAnswer { .. } => error::NO_GATEWAY,
            Self::Refused { code, .. } => {
                let known = error::TABLES.iter().copied().flatten();
                let found = known
                    .map(|entry| entry.code)
                    .find(|own| own.as_str() == code);
                found.unwrap_or(error::BAD_REQUEST)
            }
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::Refused { hint, .. } => hint.clone(),
            other => coded::remedy(error::CODES, other.code()),
        }
    }
}

impl Remote {
    /// Creates a client that sends this key or admin token.
    ///
    /// # Errors
    /// [`RemoteError::Url`].
    pub fn new(url: &str, key: Option<Secret>) -> Result<Self, RemoteError> {
        let upstream = Upstream::single(url).map_err(|source| RemoteError::Url {
            url: url.to_owned(),
            source,
        })?;
        Ok(Self {
            url: url.to_owned(),
            key,
            upstream,
        })
    }

    /// Sends a request to a path under `/ebbtide/` and returns the JSON of the answer.
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, RemoteError> {
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let (status, body) = self.send(method, path, (&[], body)).await?;
        let answer: Value = serde_json::from_slice(&body).map_err(|_| self.no_answer())?;
        if status.is_success() {
            return Ok(answer);
        }
        Err(refused(&answer).unwrap_or_else(|| self.no_answer()))
    }

    fn no_answer(&self) -> RemoteError {
        RemoteError::NoAnswer {
            url: self.url.clone(),
        }
    }

    /// Sends a request and returns the status and the body of the answer.
    async fn send(
        &self,
        method: Method,
        path: &str,
        (headers, body): (&[(&'static str, &str)], Bytes),
    ) -> Result<(StatusCode, Bytes), RemoteError> {
        let no_answer = || self.no_answer();
        let mut request = Request::new(whole(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse::<Uri>().map_err(|_| no_answer())?;
        for (name, value) in headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                request.headers_mut().insert(*name, value);
            }
        }
        if let Some(key) = &self.key
            && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
        {
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let sent = self.upstream.send(Provider::OpenAi, request).await;
        let (head, body) = sent.map_err(|_| no_answer())?.into_parts();
        let body = Limited::new(body, LONGEST).collect().await;
        let body = body.map_err(|_| no_answer())?.to_bytes();
        Ok((head.status, body))
    }

    /// Returns the conversations and the cost by day, as [`Overview`](crate::report::Overview).
    ///
    /// # Errors
    /// [`RemoteError::NoAnswer`] and [`RemoteError::Refused`].
    pub async fn overview(&self) -> Result<Value, RemoteError> {
        self.call(Method::GET, "/ebbtide/api/overview", None).await
    }

    /// Returns a conversation's [`Detail`](crate::report::Detail).
    ///
    /// # Errors
    /// [`RemoteError::NoAnswer`] and [`RemoteError::Refused`].
    pub async fn conversation(&self, id: &str) -> Result<Value, RemoteError> {
        let path = address(id);
        self.call(Method::GET, &path, None).await
    }

    /// Returns what a summary left out, as [`Lost`](crate::report::Lost).
    ///
    /// # Errors
    /// The errors of [`conversation`](Self::conversation).
    pub async fn lost(&self, id: &str, mark: Option<&str>) -> Result<Value, RemoteError> {
        let query: Vec<_> = mark.map(|mark| ("mark", mark)).into_iter().collect();
        self.call(Method::GET, &asking(id, "lost", &query), None)
            .await
    }

    /// Returns an original, as [`Expanded`](crate::report::Expanded).
    ///
    /// # Errors
    /// The errors of [`conversation`](Self::conversation).
    pub async fn original(
        &self,
        id: &str,
        handle: &str,
        section: Option<&str>,
    ) -> Result<Value, RemoteError> {
        let mut query = vec![("handle", handle)];
        query.extend(section.map(|section| ("section", section)));
        self.call(Method::GET, &asking(id, "original", &query), None)
            .await
    }

    /// Returns the places that say most of a query, as [`Recalled`](crate::report::Recalled).
    ///
    /// # Errors
    /// The errors of [`conversation`](Self::conversation).
    pub async fn recall(&self, id: &str, query: &str, most: usize) -> Result<Value, RemoteError> {
        let most = most.to_string();
        let query = [("query", query), ("most", most.as_str())];
        self.call(Method::GET, &asking(id, "recall", &query), None)
            .await
    }

    /// Gives an order, which the next request carries out: `prepare`, `swap`, `undo` or `redo`.
    ///
    /// # Errors
    /// The errors of [`conversation`](Self::conversation).
    pub async fn order(&self, id: &str, order: &str) -> Result<(), RemoteError> {
        let path = format!("{}/{order}", address(id));
        self.call(Method::POST, &path, None).await.map(drop)
    }

    /// Sends a message to the memory tools with these headers, and with the name of what it calls, in any script.
    /// Returns `None` if no answer is due.
    ///
    /// # Errors
    /// [`RemoteError::NoAnswer`] and [`RemoteError::Refused`].
    pub async fn mcp(
        &self,
        message: Bytes,
        headers: &[(&'static str, &str)],
        named: Option<&str>,
    ) -> Result<Option<Value>, RemoteError> {
        let mut all = vec![
            ("content-type", "application/json"),
            ("accept", "application/json, text/event-stream"),
        ];
        all.extend_from_slice(headers);
        let named = named.map(mcp::encoded);
        all.extend(named.as_deref().map(|name| (mcp::NAME_HEADER, name)));
        let (status, body) = self.send(Method::POST, "/mcp", (&all, message)).await?;
        if body.is_empty() && status.is_success() {
            return Ok(None);
        }
        let answer = serde_json::from_slice(&body).map_err(|_| self.no_answer())?;
        match refused(&answer) {
            Some(error) => Err(error),
            None => Ok(Some(answer)),
        }
    }

    /// Sets a pin and returns its [report](crate::report::PinReport).
    ///
    /// # Errors
    /// The errors of [`conversation`](Self::conversation).
    pub async fn pin(&self, conversation: &str, subject: &Subject) -> Result<Value, RemoteError> {
        let body = match subject {
            Subject::Text(text) => json!({"text": text}),
            Subject::Turns(turn, turns) => json!({"turn": turn, "turns": turns}),
            Subject::File(path) => json!({"path": path}),
        };
        self.call(Method::POST, &pins(conversation), Some(body))
            .await
    }

    /// Removes a pin; returns `false` if there was none.
    ///
    /// # Errors
    /// The errors of [`conversation`](Self::conversation).
    pub async fn unpin(&self, conversation: &str, pin: &str) -> Result<bool, RemoteError> {
        let path = format!("{}/{}", pins(conversation), segment(pin));
        let answer = self.call(Method::DELETE, &path, None).await?;
        Ok(answer
            .get("removed")
            .and_then(Value::as_bool)
            .unwrap_or_default())
    }
}

/// Reads a refusal of the control API.
fn refused(answer: &Value) -> Option<RemoteError> {
    let told = |name: &str| {
        let told = answer.get("error")?.get(name)?;
        told.as_str().map(str::to_owned)
    };
    Some(RemoteError::Refused {
        code: told("code")?,
        message: told("message").unwrap_or_default(),
        hint: told("hint"),
    })
}

/// The address of a question about a conversation.
fn asking(conversation: &str, what: &str, query: &[(&str, &str)]) -> String {
    let mut encoded = form_urlencoded::Serializer::new(String::new());
    encoded.extend_pairs(query);
    let encoded = encoded.finish();
    format!("{}/{what}?{encoded}", address(conversation))
}

fn pins(conversation: &str) -> String {
    format!("{}/pins", address(conversation))
}

fn address(conversation: &str) -> String {
    format!("/ebbtide/api/conversations/{}", segment(conversation))
}

/// A person's word as one segment of an address: a `?` or `/` in it must not lead to another one.
fn segment(word: &str) -> String {
    form_urlencoded::byte_serialize(word.as_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use http::Uri;

    use super::{address, asking};

    #[test]
    fn an_id_is_one_segment_of_an_address_whatever_it_holds() {
        assert_eq!(address("3058d5"), "/ebbtide/api/conversations/3058d5");
        for id in ["30 58", "30?x=1", "30#", "30/../31", "30%2f", "é", ""] {
            let uri: Uri = asking(id, "lost", &[]).parse().expect("an address");
            let segments: Vec<&str> = uri.path().split('/').collect();
            assert_eq!(
                (segments.len(), segments.last()),
                (6, Some(&"lost")),
                "{id}"
            );
            assert_eq!(uri.query(), Some(""), "{id}");
        }
    }
}
