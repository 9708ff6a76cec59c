//! A request, read: its fields, and its messages or items.

use std::sync::Arc;

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use tokens::Provider as Vendor;
use wire::api::{ApiError, Dialect, Request};

use super::models::missing;
use super::stored::Stored;
use crate::anthropic::content::plain as members;
use crate::cache::{Life, Prefix, Segment, prefixes};
use crate::lexicon::{Known, Lexicon};
use crate::refusal::Refusal;
use crate::seal::{Print, Seal, print};

/// The tokens of a message or an item besides its text.
const FRAME: u64 = 4;

/// A message (Chat) or an item (Responses).
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub value: Value,
    pub print: Print,
    pub tokens: u64,
    pub mark: Option<Life>,
}

impl Item {
    /// The text of a member.
    pub fn text(&self, key: &str) -> &str {
        self.value.get(key).and_then(Value::as_str).unwrap_or("")
    }

    /// The type; a Responses item without one is a message.
    pub fn kind(&self) -> &str {
        match self.text("type") {
            "" => "message",
            kind => kind,
        }
    }

    /// Reads an item.
    pub fn read(raw: &str, known: &Known) -> Result<Self, Refusal> {
        let value: Value = serde_json::from_str(raw).map_err(|error| syntax(&error.to_string()))?;
        let (plain, mark) = unmarked(&value);
        Ok(Self {
            print: print(&[members(&plain).as_bytes()]),
            tokens: FRAME + tokens(&plain, known),
            mark,
            value,
        })
    }
}

/// A body that is no JSON.
pub(crate) fn syntax(why: &str) -> Refusal {
    Refusal::invalid(format!(
        "We could not parse the JSON body of your request. ({why})"
    ))
}

/// The value without its cache breakpoints, and the last of them.
fn unmarked(value: &Value) -> (Value, Option<Life>) {
    let mut plain = value.clone();
    let mut mark = None;
    let mut take = |object: &mut Map<String, Value>| {
        if let Some(found) = object.shift_remove("prompt_cache_breakpoint") {
            let long = found.get("ttl").is_some_and(|ttl| ttl == "12h");
            mark = Some(if long { Life::Long } else { Life::Short });
        }
    };
    if let Some(object) = plain.as_object_mut() {
        take(object);
        if let Some(Value::Array(parts)) = object.get_mut("content") {
            parts
                .iter_mut()
                .filter_map(Value::as_object_mut)
                .for_each(&mut take);
        }
    }
    (plain, mark)
}

/// The tokens of an item; an image costs a fixed amount, a sealed summary its text.
fn tokens(value: &Value, known: &Known) -> u64 {
    match value {
        Value::String(text) => known.count(text),
        Value::Array(parts) => parts.iter().map(|part| tokens(part, known)).sum(),
        Value::Object(object) => {
            let kind = object.get("type").and_then(Value::as_str).unwrap_or("");
            match kind {
                "image_url" | "input_image" => return 1_105,
                "input_audio" | "file" | "input_file" => {
                    return value.to_string().len() as u64 / 6;
                }
                "compaction" => {
                    let sealed = object.get("encrypted_content").and_then(Value::as_str);
                    let text = sealed.and_then(said).unwrap_or_default();
                    return known.count(&text);
                }
                _ => {}
            }
            let unseen = [
                "type",
                "role",
                "id",
                "status",
                "call_id",
                "tool_call_id",
                "encrypted_content",
            ];
            object
                .iter()
                .filter(|(key, _)| !unseen.contains(&key.as_str()))
                .map(|(_, value)| tokens(value, known))
                .sum()
        }
        _ => 0,
    }
}

/// A summary as only the provider reads it. (It is not encrypted; it looks it.)
pub(crate) fn sealed(seal: &Seal, summary: &str) -> String {
    let digits: String = summary.bytes().map(|byte| format!("{byte:02x}")).collect();
    format!("{}.{digits}", seal.sign(&[print(&[summary.as_bytes()])]))
}

fn said(sealed: &str) -> Option<String> {
    let (_, digits) = sealed.split_once('.')?;
    let bytes = digits
        .as_bytes()
        .chunks(2)
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok())
        .collect::<Option<Vec<_>>>()?;
    String::from_utf8(bytes).ok()
}

/// Returns `true` for sealed summaries of this provider.
pub(crate) fn verifies(seal: &Seal, sealed: &str) -> bool {
    let signature = sealed.split_once('.').map(|(signature, _)| signature);
    match (signature.and_then(|it| seal.open::<1>(it)), said(sealed)) {
        (Some([text]), Some(summary)) => text == print(&[summary.as_bytes()]),
        _ => false,
    }
}

/// A request, read.
pub(crate) struct Call {
    pub known: Known,
    pub organisation: Print,
    pub fields: Map<String, Value>,
    pub items: Vec<Arc<Item>>,
    head: Vec<Segment>,
}

impl Call {
    /// Reads a request that goes on from an `earlier` response.
    pub fn read(
        request: &Request<'_>,
        organisation: Print,
        earlier: Option<&Stored>,
        lexicon: &mut Lexicon,
    ) -> Result<Self, Refusal> {
        let list_key = request.dialect().list_key();
        let mut fields = Map::new();
        for field in request.fields().filter(|field| field.key != list_key) {
            let value = serde_json::from_str(field.value).map_err(|it| syntax(&it.to_string()))?;
            fields.insert(field.key.into_owned(), value);
        }
        let Some(model) = fields.get("model").and_then(Value::as_str) else {
            return Err(Refusal::invalid("you must provide a model parameter").about("model"));
        };
        let known = lexicon.model(model);
        if known.model.provider == Vendor::Anthropic {
            return Err(missing(model));
        }
        let own = request.field(list_key).map_or("[]", |field| field.value);
        let mut items = match earlier {
            Some(earlier) if earlier.model == known.asked => earlier.items.clone(),
            Some(earlier) => earlier
                .items
                .iter()
                .map(|item| lexicon.item(&known, &item.value.to_string()))
                .collect::<Result<_, _>>()?,
            None => Vec::new(),
        };
        if own.starts_with('"') {
            let text: Value = serde_json::from_str(own).map_err(|it| syntax(&it.to_string()))?;
            let message = serde_json::json!({"role": "user", "content": text});
            items.push(lexicon.item(&known, &message.to_string())?);
        } else {
            let list: Vec<&RawValue> =
                serde_json::from_str(own).map_err(|it| syntax(&it.to_string()))?;
            for raw in list {
                items.push(lexicon.item(&known, raw.get())?);
            }
        }
        let head = ["tools", "instructions"]
            .into_iter()
            .filter_map(|key| fields.get(key).filter(|value| !value.is_null()))
            .map(|value| {
                let text = value
                    .as_str()
                    .map_or_else(|| value.to_string(), str::to_owned);
                Segment {
                    print: print(&[b"head", text.as_bytes()]),
                    tokens: lexicon.count(&known, &text),
                    mark: None,
                    joins: false,
                }
            })
            .collect();
        Ok(Self {
            known,
            organisation,
            fields,
            items,
            head,
        })
    }

    /// A top-level field that is not `null`.
    pub fn field(&self, key: &str) -> Option<&Value> {
        self.fields.get(key).filter(|value| !value.is_null())
    }

    /// The text of a top-level field.
    pub fn text(&self, key: &str) -> &str {
        self.field(key).and_then(Value::as_str).unwrap_or("")
    }

    /// Returns `true` if the client wants a stream.
    pub fn streams(&self) -> bool {
        self.field("stream").and_then(Value::as_bool) == Some(true)
    }

    /// A setting of the cache.
    pub fn cache_option(&self, key: &str) -> Option<&Value> {
        self.field("prompt_cache_options")?
            .get(key)
            .filter(|it| !it.is_null())
    }

    /// The items that the model is shown: of those before the last compaction only what users said.
    pub fn shown(&self) -> impl Iterator<Item = &Arc<Item>> {
        let last = self
            .items
            .iter()
            .rposition(|item| item.kind() == "compaction");
        self.items.iter().enumerate().filter_map(move |(at, item)| {
            let kept = item.kind() == "message" && item.text("role") == "user";
            let hidden = last.is_some_and(|last| at < last) && !kept;
            (!hidden && item.kind() != "compaction_trigger").then_some(item)
        })
    }

    /// The pieces of the prompt, without the first `dropped` items.
    pub fn segments(&self, dropped: usize) -> Vec<Segment> {
        let items = self.shown().skip(dropped).map(|item| Segment {
            print: item.print,
            tokens: item.tokens,
            mark: item.mark,
            joins: false,
        });
        self.head.iter().copied().chain(items).collect()
    }

    /// The prefixes of those pieces, kept apart by model and `prompt_cache_key`.
    pub fn prefixes(&self, dropped: usize) -> Vec<Prefix> {
        let scope = format!(
            "{}\0{}",
            self.known.model.name,
            self.text("prompt_cache_key")
        );
        prefixes(scope.as_bytes(), &self.segments(dropped))
    }

    /// The tokens of the prompt.
    pub fn input(&self) -> u64 {
        self.segments(0).iter().map(|segment| segment.tokens).sum()
    }
}

/// Reads the body, and refuses in OpenAI's words where it cannot be read.
pub(crate) fn parse(dialect: Dialect, body: &[u8]) -> Result<Request<'_>, Refusal> {
    Request::parse(dialect, body).map_err(|error| match error {
        ApiError::TooLarge { .. } => {
            Refusal::new(413, "invalid_request_error", "Request body is too large.")
        }
        ApiError::NoMessages { key } => {
            Refusal::invalid(format!("Missing required parameter: '{key}'."))
                .coded("missing_required_parameter")
                .about(key)
        }
        other => syntax(&other.to_string()),
    })
}
