//! The revisions of MCP, and what each asks of a request.
//!
//! Up to 2025-11-25 a handshake agrees on the revision, and the header `MCP-Protocol-Version` repeats it. From
//! 2026-07-28 on each request states it in `_meta`, and headers repeat its method and what it names, since proxies
//! route by them: a header that says something else than the body is refused.

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, StatusCode};
use serde_json::{Map, Value, json};

use super::message::{Fault, Message, one, quotable};

pub(super) const INITIALIZE: &str = "initialize";
pub(super) const DISCOVER: &str = "server/discover";
pub(super) const CALL: &str = "tools/call";

/// The revisions served.
pub(super) const SERVED: [&str; 3] = ["2025-06-18", LATEST_HANDSHAKE, STATELESS];
/// The newest revision with a handshake.
const LATEST_HANDSHAKE: &str = "2025-11-25";
/// The first revision without one.
const STATELESS: &str = "2026-07-28";
/// The revision assumed for a request that names none. Its tools are the same as in later revisions.
const UNNAMED: &str = "2025-03-26";

const VERSION_HEADER: &str = "mcp-protocol-version";
const METHOD_HEADER: &str = "mcp-method";
pub(crate) const NAME_HEADER: &str = "mcp-name";
/// The marks around the Base64 of a value that cannot stand in a header plainly.
const OPENS: &str = "=?base64?";
const CLOSES: &str = "?=";

const VERSION_FIELD: &str = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_FIELD: &str = "io.modelcontextprotocol/clientCapabilities";

/// MCP's code for a revision that is not served.
const UNSUPPORTED_VERSION: i32 = -32_022;

/// A kind of revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Revision {
    /// A handshake came first.
    Handshake,
    /// Each request stands alone.
    Stateless,
}

impl Revision {
    /// The error for a method that this revision does not have.
    pub(super) fn unknown(self, method: &str) -> Fault {
        let fault = Fault::method(method);
        match self {
            Self::Handshake => fault,
            Self::Stateless => fault.with_status(StatusCode::NOT_FOUND),
        }
    }
}

/// The revision that a handshake agrees on: the one that the client wants, or else the newest with a handshake.
pub(super) fn agreed(wanted: &str) -> &'static str {
    let is_agreed = |served: &&str| *served == wanted && wanted < STATELESS;
    let found = SERVED.into_iter().find(is_agreed);
    found.unwrap_or(LATEST_HANDSHAKE)
}

/// Determines the revision of a message and checks what that revision asks for.
pub(super) fn of(message: &Message, headers: &HeaderMap) -> Result<Revision, Fault> {
    let header = one(headers, VERSION_HEADER)?;
    if message.method == INITIALIZE {
        let wanted = message.params.get("protocolVersion");
        if let (Some(header), Some(Value::String(wanted))) = (header, wanted) {
            agree(VERSION_HEADER, Some(header), wanted)?;
        }
        if let Some(method) = one(headers, METHOD_HEADER)? {
            agree(METHOD_HEADER, Some(method), INITIALIZE)?;
        }
        return Ok(Revision::Handshake);
    }
    let none = Map::new();
    let meta = message.params.get("_meta").and_then(Value::as_object);
    let meta = meta.unwrap_or(&none);
    let stated = meta.get(VERSION_FIELD).and_then(Value::as_str);
    if let Some(stated) = stated {
        agree(VERSION_HEADER, header, stated)?;
    }
    let version = header.unwrap_or(UNNAMED);
    if version != UNNAMED && !SERVED.contains(&version) {
        let data = json!({"requested": version, "supported": SERVED});
        return Err(
            Fault::new(UNSUPPORTED_VERSION, "the protocol version is not supported")
                .with_status(StatusCode::BAD_REQUEST)
                .with_data(data),
        );
    }
    if version < STATELESS && message.method != DISCOVER {
        return Ok(Revision::Handshake);
    }
    agree(METHOD_HEADER, one(headers, METHOD_HEADER)?, &message.method)?;
    let name = message.params.get("name").and_then(Value::as_str);
    if let (CALL, Some(name)) = (message.method.as_str(), name) {
        let header = one(headers, NAME_HEADER)?.map(decoded).transpose()?;
        agree(NAME_HEADER, header.as_deref(), name)?;
    }
    if message.id.is_none() {
        return Ok(Revision::Stateless);
    }
    let capabilities = meta.get(CAPABILITIES_FIELD).and_then(Value::as_object);
    let wrong = [
        (stated.is_none(), VERSION_FIELD),
        (capabilities.is_none(), CAPABILITIES_FIELD),
    ];
    let wrong: Vec<&str> = wrong
        .into_iter()
        .filter_map(|(is_wrong, field)| is_wrong.then_some(field))
        .collect();
    match wrong.as_slice() {
        [] => Ok(Revision::Stateless),
        fields => {
            let message = format!("`_meta` must contain {}", fields.join(", "));
            Err(Fault::params(message).with_status(StatusCode::BAD_REQUEST))
        }
    }
}

/// Checks that a header is there and says what the body says.
fn agree(name: &str, header: Option<&str>, body: &str) -> Result<(), Fault> {
    match header {
        Some(header) if header == body => Ok(()),
        Some(header) => Err(Fault::header(format!(
            "the header {name} says `{}`, and the body says `{}`",
            quotable(header),
            quotable(body)
        ))),
        None => Err(Fault::header(format!("the header {name} is missing"))),
    }
}

/// A text as the value of a header, as [`decoded`] reads it.
pub(crate) fn encoded(text: &str) -> Cow<'_, str> {
    let is_plain = text.chars().all(|it| it == ' ' || it.is_ascii_graphic());
    match is_plain && text.trim() == text && wrapped(text).is_none() {
        true => text.into(),
        false => format!("{OPENS}{}{CLOSES}", STANDARD.encode(text)).into(),
    }
}

/// The Base64 between the marks of an encoded value.
fn wrapped(value: &str) -> Option<&str> {
    value.strip_prefix(OPENS)?.strip_suffix(CLOSES)
}

/// The text of a header. What cannot stand there plainly comes as `=?base64?…?=`.
fn decoded(value: &str) -> Result<String, Fault> {
    let Some(encoded) = wrapped(value) else {
        return Ok(value.to_owned());
    };
    let bytes = STANDARD.decode(encoded).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| Fault::header(format!("the header {NAME_HEADER} is not valid Base64")))
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded};

    #[test]
    fn every_text_passes_through_a_header() {
        for plain in ["expand", "file:///a b", "=?base64?", ""] {
            assert_eq!(encoded(plain), plain);
            assert_eq!(decoded(plain).ok().as_deref(), Some(plain));
        }
        for text in ["gedächtnis", " expand", "a ", "a\nb", "=?base64?eA==?="] {
            let value = encoded(text);
            assert!(
                value.is_ascii() && value.starts_with("=?base64?"),
                "{value}"
            );
            assert_eq!(decoded(&value).ok().as_deref(), Some(text));
        }
    }
}
