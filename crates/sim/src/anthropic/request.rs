//! A request to `/v1/messages` or `/v1/messages/count_tokens`, read.

use std::collections::BTreeSet;
use std::sync::Arc;

use http::HeaderMap;
use serde_json::{Map, Value};
use tokens::Provider;
use wire::api::{ApiError, Dialect, Request};

use super::content::{Block, Kind, Message, mark, unmarked};
use crate::cache::Life;
use crate::lexicon::{Known, Lexicon};
use crate::refusal::Refusal;
use crate::seal::{Print, print};

/// The betas that the provider knows.
pub(crate) mod beta {
    pub const COMPACT: &str = "compact-2026-09-04";
    pub const COMPACT_THRESHOLD: &str = "compact-2026-01-12";
    pub const CONTEXT_MANAGEMENT: &str = "context-management-2025-06-27";
    pub const BINDING_CONTROLS: &str = "thinking-binding-controls-2026-08-01";
    pub const CLEAR_AT: &str = "mid-conversation-system-clear-at-2026-08-21";
    pub const TOOL_CHANGES: &str = "mid-conversation-tool-changes-2026-07-01";
    pub const INLINE_TOOLS: &str = "inline-tools-2026-09-15";
    pub const THREADS: &str = "message-threads-2026-08-12";
    pub const DIAGNOSIS: &str = "cache-diagnosis-2026-04-07";
}

/// All top-level fields that the interface takes.
const FIELDS: [&str; 26] = [
    "model",
    "messages",
    "max_tokens",
    "system",
    "tools",
    "tool_choice",
    "stream",
    "metadata",
    "stop_sequences",
    "temperature",
    "top_k",
    "top_p",
    "thinking",
    "cache_control",
    "compaction",
    "context_management",
    "diagnostics",
    "thread",
    "output_config",
    "output_format",
    "service_tier",
    "container",
    "mcp_servers",
    "fallbacks",
    "inference_geo",
    "speed",
];

/// A tool.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    pub name: String,
    pub print: Print,
    pub tokens: u64,
    pub mark: Option<Life>,
    /// `true` for a tool that is loaded only when the model searches for it.
    pub deferred: bool,
}

/// A request, read.
pub(crate) struct Call {
    pub known: Known,
    pub betas: BTreeSet<String>,
    pub organisation: Print,
    pub fields: Map<String, Value>,
    pub system: Vec<Block>,
    pub tools: Vec<Tool>,
    pub messages: Vec<Arc<Message>>,
}

impl Call {
    /// Reads a body.
    pub fn read(
        request: &Request<'_>,
        headers: &HeaderMap,
        organisation: Print,
        lexicon: &mut Lexicon,
    ) -> Result<Self, Refusal> {
        let fields = fields(request)?;
        let model = match fields.get("model") {
            Some(Value::String(model)) => model,
            Some(_) => return Err(Refusal::invalid("model: Input should be a valid string")),
            None => return Err(Refusal::invalid("model: Field required")),
        };
        let known = lexicon.model(model);
        if known.model.provider != Provider::Anthropic {
            return Err(Refusal::new(
                404,
                "not_found_error",
                format!("model: {model}"),
            ));
        }
        let count = |text: &str| known.count(text);
        let system = match fields.get("system") {
            None | Some(Value::Null) => Vec::new(),
            Some(Value::String(text)) if text.is_empty() => Vec::new(),
            Some(Value::String(text)) => vec![Block::plain(text, &count)],
            Some(Value::Array(blocks)) => blocks
                .iter()
                .enumerate()
                .map(|(at, block)| Block::read(block, &format!("system.{at}"), &count))
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(Refusal::invalid("system: Input should be a valid list")),
        };
        if let Some(at) = system.iter().position(|block| block.kind != Kind::Text) {
            let message = format!("system.{at}.type: Input should be 'text'");
            return Err(Refusal::invalid(message));
        }
        let tools = tools(fields.get("tools"), &known, lexicon)?;
        let mut messages = Vec::with_capacity(request.len());
        for message in request.messages() {
            messages.push(lexicon.message(&known, message.index(), message.raw())?);
        }
        Ok(Self {
            known,
            betas: betas(headers),
            organisation,
            fields,
            system,
            tools,
            messages,
        })
    }

    /// A top-level field that is not `null`.
    pub fn field(&self, key: &str) -> Option<&Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    /// Returns `true` if a beta is switched on.
    pub fn has(&self, beta: &str) -> bool {
        self.betas.contains(beta)
    }

    /// The `type` of a field that is an object.
    pub fn kind_of(&self, key: &str) -> Option<&str> {
        self.field(key)?.get("type")?.as_str()
    }

    /// Returns `true` if the request asks for a summary on demand.
    pub fn compacts(&self) -> bool {
        self.field("compaction").is_some()
    }

    /// The signed block that the request begins with.
    pub fn carried(&self) -> Option<&Block> {
        let first = self.messages.first()?.blocks.first()?;
        let signed = first.value.get("signature").is_some_and(Value::is_string);
        (first.kind == Kind::Compaction && signed).then_some(first)
    }

    /// The user that the request is made for, as a print.
    pub fn end_user(&self) -> Print {
        let user = self
            .field("metadata")
            .and_then(|it| it.get("user_id"))
            .and_then(Value::as_str);
        print(&[user.unwrap_or_default().as_bytes()])
    }

    /// The print of everything besides the messages that binds thinking: system prompt and loaded tools.
    pub fn head(&self) -> Print {
        let system = self.system.iter().map(|block| &block.print[..]);
        let tools = self.tools.iter().filter(|tool| !tool.deferred);
        let parts: Vec<&[u8]> = system
            .chain([&b"tools"[..]])
            .chain(tools.map(|tool| &tool.print[..]))
            .collect();
        print(&parts)
    }

    /// Returns `true` if the client wants a stream.
    pub fn streams(&self) -> bool {
        self.field("stream").and_then(Value::as_bool) == Some(true)
    }

    /// The longest answer that is allowed.
    pub fn max_tokens(&self) -> u64 {
        self.field("max_tokens")
            .and_then(Value::as_u64)
            .unwrap_or_default()
    }
}

/// The betas that all `anthropic-beta` headers list.
pub(crate) fn betas(headers: &HeaderMap) -> BTreeSet<String> {
    let lists = headers.get_all("anthropic-beta").into_iter();
    lists
        .filter_map(|value| value.to_str().ok())
        .flat_map(|list| list.split(','))
        .map(|beta| beta.trim().to_owned())
        .collect()
}

/// Reads the body, and refuses in Anthropic's words where it cannot be read.
pub(crate) fn parse(body: &[u8]) -> Result<Request<'_>, Refusal> {
    Request::parse(Dialect::Anthropic, body).map_err(|error| match error {
        ApiError::TooLarge { .. } => too_large(),
        ApiError::NoMessages { .. } => Refusal::invalid("messages: Field required"),
        ApiError::TooManyMessages { limit } => {
            Refusal::invalid(format!("messages: List should have at most {limit} items"))
        }
        other => Refusal::invalid(format!("The request body is not valid JSON: {other}")),
    })
}

/// 413.
pub(crate) fn too_large() -> Refusal {
    Refusal::new(
        413,
        "request_too_large",
        "Request exceeds the maximum allowed number of bytes.",
    )
}

fn fields(request: &Request<'_>) -> Result<Map<String, Value>, Refusal> {
    let mut fields = Map::new();
    for field in request.fields().filter(|field| field.key != "messages") {
        if !FIELDS.contains(&&*field.key) {
            return Err(Refusal::extra(&field.key));
        }
        let value = serde_json::from_str(field.value)
            .map_err(|error| Refusal::invalid(format!("{}: {error}", field.key)))?;
        fields.insert(field.key.into_owned(), value);
    }
    Ok(fields)
}

fn tools(
    value: Option<&Value>,
    known: &Known,
    lexicon: &mut Lexicon,
) -> Result<Vec<Tool>, Refusal> {
    let list = match value {
        None | Some(Value::Null) => return Ok(Vec::new()),
        Some(Value::Array(list)) => list,
        Some(_) => return Err(Refusal::invalid("tools: Input should be a valid list")),
    };
    let mut names = BTreeSet::new();
    let mut tools = Vec::with_capacity(list.len());
    for (at, tool) in list.iter().enumerate() {
        let Some(name) = tool.get("name").and_then(Value::as_str) else {
            let path = format!("tools.{at}.name: Field required");
            return Err(Refusal::invalid(path));
        };
        if !names.insert(name) {
            return Err(Refusal::invalid("tools: Tool names must be unique."));
        }
        let custom = tool.get("type").is_none_or(|kind| kind == "custom");
        if custom && tool.get("input_schema").is_none() {
            let path = format!("tools.{at}.custom.input_schema: Field required");
            return Err(Refusal::invalid(path));
        }
        let text = unmarked(tool).to_string();
        let deferred = tool.get("defer_loading").and_then(Value::as_bool) == Some(true);
        tools.push(Tool {
            name: name.to_owned(),
            print: print(&[text.as_bytes()]),
            tokens: if deferred {
                0
            } else {
                lexicon.count(known, &text)
            },
            mark: mark(tool, &format!("tools.{at}"))?,
            deferred,
        });
    }
    Ok(tools)
}
