//! The tools: their names, arguments and effects.

use context::original::{Handle, Section};
use context::pin::{Origin, PinId, Subject};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};
use serde_json::{Number, Value, json};

use super::answer::{self, Trouble};
use super::place::{self, Made};
use crate::report::{
    Accepted, Expanded, Lost, Order, PinReport, Recalled, Reports, Status, Unpinned, Viewer,
};

/// The most bytes of an original in one answer: about 6,000 tokens of text.
const ROOM: usize = 24_000;
/// The default number of places that recall returns, and the most.
const HITS: (usize, usize) = (5, 20);
/// The default number of losses, and the most.
const LOSSES: (usize, usize) = (20, 64);

/// Arguments of `recall`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Recall {
    /// Words to look for: names, paths, error messages.
    query: String,
    /// The most places to return; 5 unless told.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Option<usize>")]
    limit: Option<usize>,
    /// The conversation's ID, if asked for it.
    conversation: Option<String>,
}

/// Arguments of `expand`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Expand {
    /// `turn:14`, `turn:14.2` (its second part), `turns:13-14`, `call:ID` (the result of a tool call) or the ID of a turn.
    handle: String,
    /// Lines such as `10-80`, or bytes such as `b0-4000`; the beginning unless told.
    range: Option<String>,
    /// The conversation's ID, if asked for it.
    conversation: Option<String>,
}

/// Arguments of `pin`: one of text, handle and path.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Pin {
    /// A text to pin.
    text: Option<String>,
    /// A turn to pin: `turn:14` or `turns:13-14`.
    handle: Option<String>,
    /// A file whose last read to pin, as the tool call named it.
    path: Option<String>,
    /// The conversation's ID, if asked for it.
    conversation: Option<String>,
}

/// Arguments of `unpin`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Unpin {
    /// The pin's ID, from `memory_status`.
    pin: String,
    /// The conversation's ID, if asked for it.
    conversation: Option<String>,
}

/// Arguments of `lost`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Losses {
    /// The most entries to return; 20 unless told.
    #[serde(default, deserialize_with = "whole")]
    #[schemars(with = "Option<usize>")]
    limit: Option<usize>,
    /// The conversation's ID, if asked for it.
    conversation: Option<String>,
}

/// Arguments of `memory_status` and `prepare_compaction`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Bare {
    /// The conversation's ID, if asked for it.
    conversation: Option<String>,
}

/// The effect of a tool on the memory.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Reads,
    /// Adds to it.
    Adds,
    /// Takes from it.
    Removes,
}

/// Describes all tools.
pub(super) fn all() -> Vec<Value> {
    vec![
        tool::<Recall, Recalled>(
            "recall",
            "Find what was said earlier in this conversation, including what is no longer in view: the places \
             that say most of the query, each with a handle for `expand`. Matches words, not meanings.",
            Effect::Reads,
        ),
        tool::<Expand, Expanded>(
            "expand",
            "Read an original of this conversation byte for byte: a turn, a part of it, or the whole result of a \
             tool call that was shortened or summarised.",
            Effect::Reads,
        ),
        tool::<Pin, PinReport>(
            "pin",
            "Keep a text in your context verbatim through every compaction. Pins cost tokens in every request.",
            Effect::Adds,
        ),
        tool::<Unpin, Unpinned>(
            "unpin",
            "Remove a pin that you set. Pins of the user stay.",
            Effect::Removes,
        ),
        tool::<Bare, Status>(
            "memory_status",
            "See how full your context window is, what was removed from view, the pins, and when the next \
             compaction comes.",
            Effect::Reads,
        ),
        tool::<Losses, Lost>(
            "lost",
            "List what the summary in view leaves out, the most needed first: constraints, decisions, failed \
             attempts, tasks, actions and identifiers, each with a handle for `expand`.",
            Effect::Reads,
        ),
        tool::<Bare, Accepted>(
            "prepare_compaction",
            "Have a summary of the older turns made in the background after the next request, before the \
             window is full.",
            Effect::Adds,
        ),
    ]
}

fn tool<A: JsonSchema, O: JsonSchema>(
    name: &'static str,
    description: &'static str,
    effect: Effect,
) -> Value {
    json!({
        "name": name,
        "description": description,
        "inputSchema": schema::<A>(SchemaSettings::draft2020_12()),
        // A result always has its optional fields, as `null`.
        "outputSchema": schema::<O>(SchemaSettings::draft2020_12().for_serialize()),
        "annotations": {
            "readOnlyHint": effect == Effect::Reads,
            "destructiveHint": effect == Effect::Removes,
            "idempotentHint": true,
            "openWorldHint": false,
        },
    })
}

/// The JSON Schema of a type, without its name and description: the tool has its own.
fn schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    let mut schema = settings
        .into_generator()
        .into_root_schema_for::<T>()
        .to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
        fields.remove("description");
    }
    without_formats(&mut schema);
    schema
}

/// Takes out the formats of integers, such as `uint`, which clients do not know.
fn without_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("format");
            fields.values_mut().for_each(without_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_formats),
        _ => {}
    }
}

/// A call with its arguments.
pub(super) enum Call {
    Recall(Recall),
    Expand(Expand),
    Pin(Pin),
    Unpin(Unpin),
    Status(Bare),
    Lost(Losses),
    Prepare(Bare),
}

impl Call {
    /// Reads the arguments of a tool; `None` if there is no such tool.
    pub(super) fn parse(tool: &str, arguments: &Value) -> Option<Result<Self, Trouble>> {
        Some(match tool {
            "recall" => read(arguments).map(Self::Recall),
            "expand" => read(arguments).map(Self::Expand),
            "pin" => read(arguments).map(Self::Pin),
            "unpin" => read(arguments).map(Self::Unpin),
            "memory_status" => read(arguments).map(Self::Status),
            "lost" => read(arguments).map(Self::Lost),
            "prepare_compaction" => read(arguments).map(Self::Prepare),
            _ => return None,
        })
    }

    fn made<'a>(&'a self, arguments: &'a Value) -> Made<'a> {
        let (tool, conversation) = match self {
            Self::Recall(it) => ("recall", &it.conversation),
            Self::Expand(it) => ("expand", &it.conversation),
            Self::Pin(it) => ("pin", &it.conversation),
            Self::Unpin(it) => ("unpin", &it.conversation),
            Self::Status(it) => ("memory_status", &it.conversation),
            Self::Lost(it) => ("lost", &it.conversation),
            Self::Prepare(it) => ("prepare_compaction", &it.conversation),
        };
        Made {
            tool,
            arguments,
            conversation: conversation.as_deref(),
        }
    }

    /// Carries it out in its conversation.
    pub(super) async fn carry_out(
        self,
        reports: &dyn Reports,
        viewer: Viewer,
        arguments: &Value,
    ) -> Result<Value, Trouble> {
        let id = place::conversation(reports, viewer, self.made(arguments)).await?;
        match self {
            Self::Recall(Recall { query, limit, .. }) => {
                let found = reports.recall(viewer, id, query, within(limit, HITS));
                Ok(answer::recalled(&found.await?))
            }
            Self::Expand(Expand { handle, range, .. }) => {
                let handle = Handle::parse(&handle).map_err(|it| Trouble::coded(&it))?;
                let section = range.as_deref().map(Section::parse).transpose();
                let section = section.map_err(|it| Trouble::coded(&it))?;
                let found = reports.expand(viewer, id, (handle, section), ROOM);
                Ok(answer::expanded(&found.await?))
            }
            Self::Pin(pin) => {
                let subject = pin.subject()?;
                let pinned = reports.pin(viewer, id, (subject, Origin::Agent));
                Ok(answer::pinned(&pinned.await?))
            }
            Self::Unpin(Unpin { pin, .. }) => {
                let pin = PinId::parse(&pin)
                    .ok_or_else(|| Trouble::bad("a pin ID has eight hexadecimal digits"))?;
                let own = reports.detail(viewer, id).await?.pins;
                let is_own = |own: &PinReport| {
                    own.id == pin.to_string() && own.origin == Origin::Agent.as_str()
                };
                let removed = own.iter().any(is_own) && reports.unpin(viewer, id, pin).await?;
                Ok(answer::unpinned(&Unpinned { removed }))
            }
            Self::Status(_) => Ok(answer::status(&reports.detail(viewer, id).await?.into())),
            Self::Lost(Losses { limit, .. }) => {
                let mut lost = reports.lost(viewer, id, None).await?;
                let most = within(limit, LOSSES).min(lost.entries.len());
                lost.left_out += lost.entries.len() - most;
                lost.entries.truncate(most);
                Ok(answer::lost(&lost))
            }
            Self::Prepare(_) => {
                reports.order(viewer, id, Order::Prepare).await?;
                Ok(answer::accepted(&Accepted { accepted: true }))
            }
        }
    }
}

impl Pin {
    fn subject(self) -> Result<Subject, Trouble> {
        match (self.text, self.handle, self.path) {
            (Some(text), None, None) => Ok(Subject::Text(text)),
            (None, None, Some(path)) => Ok(Subject::File(path)),
            (None, Some(handle), None) => {
                let handle = Handle::parse(&handle).map_err(|it| Trouble::coded(&it))?;
                match handle {
                    Handle::Turns(range) => {
                        let last = *range.end();
                        Ok(Subject::Turns(last, range.count()))
                    }
                    _ => Err(Trouble::bad(
                        "a pin takes whole turns: turn:14 or turns:13-14",
                    )),
                }
            }
            _ => Err(Trouble::bad("give one of `text`, `handle` and `path`")),
        }
    }
}

fn read<A: DeserializeOwned>(arguments: &Value) -> Result<A, Trouble> {
    A::deserialize(arguments).map_err(|error| Trouble::bad(&error.to_string()))
}

/// Reads a number without a fraction, also as `5.0`, which is an integer in a JSON Schema.
fn whole<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<usize>, D::Error> {
    let wrong = || D::Error::custom("`limit` must be a whole number, 0 or more");
    let Some(number) = Option::<Number>::deserialize(deserializer).map_err(|_| wrong())? else {
        return Ok(None);
    };
    let whole = number.as_f64().filter(|it| it.fract() == 0.0 && *it >= 0.0);
    let whole = whole.ok_or_else(wrong)?.abs();
    Ok(Some(format!("{whole:.0}").parse().unwrap_or(usize::MAX)))
}

fn within(wanted: Option<usize>, (usual, most): (usize, usize)) -> usize {
    wanted.unwrap_or(usual).clamp(1, most)
}
