//! The control interface of a gateway that runs, from outside: for the command line.

use bytes::Bytes;
use context::coded::{self, Coded, ErrorCode};
use http::{HeaderValue, Method, Request, Uri, header};
use http_body_util::{BodyExt, Limited};
use serde_json::{Value, json};

use crate::config::{Secret, Upstreams};
use crate::error;
use crate::server::{Provider, ServeError, Upstream, whole};

/// The longest answer that is read.
const LONGEST: usize = 16 << 20;

/// A gateway that runs, at its base URL.
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

/// Why a gateway did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// The URL cannot be used.
    #[error("`{url}` is not the URL of a gateway")]
    Url {
        /// The URL.
        url: String,
        /// Why.
        source: ServeError,
    },
    /// Nobody answers, or not as a gateway does.
    #[error("no gateway answers at {url}")]
    Nobody {
        /// The URL.
        url: String,
    },
    /// The gateway refused.
    #[error("{message}")]
    Refused {
        /// Its code.
        code: String,
        /// What it says.
        message: String,
        /// What it says is to be done.
        hint: Option<String>,
    },
}

impl Coded for RemoteError {
    /// The code of [`Refused`](Self::Refused) is the gateway's own where this version knows it.
    fn code(&self) -> ErrorCode {
        match self {
            Self::Url { source, .. } => source.code(),
            Self::Nobody { .. } => error::NO_GATEWAY,
            Self::Refused { code, .. } => {
                let known = crate::CODES.iter().chain(context::CODES);
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
    /// The gateway at this URL, asked with this key or admin token.
    ///
    /// # Errors
    /// [`RemoteError::Url`].
    pub fn new(url: &str, key: Option<Secret>) -> Result<Self, RemoteError> {
        let upstreams = Upstreams {
            anthropic: url.to_owned(),
            openai: url.to_owned(),
        };
        let upstream = Upstream::new(&upstreams).map_err(|source| RemoteError::Url {
            url: url.to_owned(),
            source,
        })?;
        Ok(Self {
            url: url.to_owned(),
            key,
            upstream,
        })
    }

    /// Sends a request to an address under `/ebbtide/`, and gives the answer's JSON.
    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Value, RemoteError> {
        let nobody = || RemoteError::Nobody {
            url: self.url.clone(),
        };
        let body = body.map_or_else(Bytes::new, |body| Bytes::from(body.to_string()));
        let mut request = Request::new(whole(body));
        *request.method_mut() = method;
        *request.uri_mut() = path.parse::<Uri>().map_err(|_| nobody())?;
        if let Some(key) = &self.key
            && let Ok(mut value) = HeaderValue::from_str(&format!("Bearer {}", key.reveal()))
        {
            value.set_sensitive(true);
            request.headers_mut().insert(header::AUTHORIZATION, value);
        }
        let sent = self.upstream.send(Provider::OpenAi, request).await;
        let (head, body) = sent.map_err(|_| nobody())?.into_parts();
        let body = Limited::new(body, LONGEST).collect().await;
        let body = body.map_err(|_| nobody())?.to_bytes();
        let answer: Value = serde_json::from_slice(&body).map_err(|_| nobody())?;
        if head.status.is_success() {
            return Ok(answer);
        }
        let told = |name: &str| {
            let told = answer.get("error")?.get(name)?;
            told.as_str().map(str::to_owned)
        };
        Err(RemoteError::Refused {
            code: told("code").ok_or_else(nobody)?,
            message: told("message").unwrap_or_default(),
            hint: told("hint"),
        })
    }

    /// What is known of a conversation: a [`Detail`](crate::report::Detail).
    ///
    /// # Errors
    /// [`RemoteError::Nobody`] and [`RemoteError::Refused`].
    pub async fn conversation(&self, id: &str) -> Result<Value, RemoteError> {
        let path = format!("/ebbtide/api/conversations/{id}");
        self.call(Method::GET, &path, None).await
    }

    /// Sets a pin and gives its [report](crate::report::PinReport).
    ///
    /// # Errors
    /// As for [`conversation`](Self::conversation).
    pub async fn pin(&self, conversation: &str, text: &str) -> Result<Value, RemoteError> {
        let body = json!({"text": text});
        self.call(Method::POST, &pins(conversation), Some(body))
            .await
    }

    /// Removes a pin; `false` where there was none.
    ///
    /// # Errors
    /// As for [`conversation`](Self::conversation).
    pub async fn unpin(&self, conversation: &str, pin: &str) -> Result<bool, RemoteError> {
        let path = format!("{}/{pin}", pins(conversation));
        let answer = self.call(Method::DELETE, &path, None).await?;
        Ok(answer
            .get("removed")
            .and_then(Value::as_bool)
            .unwrap_or_default())
    }
}

fn pins(conversation: &str) -> String {
    format!("/ebbtide/api/conversations/{conversation}/pins")
}
