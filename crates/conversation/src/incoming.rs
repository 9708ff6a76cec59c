//! One request, as it is read for its conversation.

use std::sync::{Arc, OnceLock};

use context::{Text, TokenCounter, Tokens, Turn, TurnId};
use history::{Labels, Tenant};
use jiff::Timestamp;
use tokens::Model;
use wire::api::{Dialect, Request};

use crate::element::{Element, Head};
use crate::homunculus::Writing;
use crate::identity::{Key, Keyed, Keys, placed};

/// The tokens of a message's frame.
const FRAME: u64 = 4;

/// The longest label, in characters; the rest is cut off.
const LONGEST_LABEL: usize = 128;

/// A request, read as far as every request is.
#[derive(Debug)]
pub struct Incoming<'r> {
    /// Whose it is.
    pub tenant: Tenant,
    /// Its body.
    pub request: &'r Request<'r>,
    /// The names that its headers and its body give.
    pub labels: Labels,
    /// True if `labels` come from a client that names its agents.
    pub names_agents: bool,
    /// Keys of its messages, made from their bytes.
    pub keys: Keys,
    /// The elements of its list of messages.
    pub elements: Arc<[Element]>,
    /// The model's name, as the client writes it.
    pub name: Text,
    /// The model.
    pub model: Arc<Model>,
    /// Lessons of other conversations about this model at this upstream.
    pub learned: Learned,
    /// Makes keys.
    pub keyed: Keyed,
    /// The time of arrival.
    pub now: Timestamp,
    turns: OnceLock<Vec<Turn>>,
}

/// Lessons about a model at an upstream, shared by all conversations.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Learned {
    /// The window, where the provider turned out to have a smaller one than believed.
    pub window: Option<Tokens>,
    /// The time that summaries take.
    pub writing: Writing,
}

/// The facts about a request that are not in its body.
#[derive(Debug)]
pub struct Envelope {
    /// Whose it is.
    pub tenant: Tenant,
    /// The names that its headers give. The body's user is added.
    pub labels: Labels,
    /// True if `labels` come from a client that names its agents.
    pub names_agents: bool,
    /// The model.
    pub model: Arc<Model>,
    /// Lessons of other conversations about the model.
    pub learned: Learned,
    /// Makes keys.
    pub keyed: Keyed,
    /// The time of arrival.
    pub now: Timestamp,
}

impl<'r> Incoming<'r> {
    /// A request with the elements that were read or recognised in it.
    #[must_use]
    pub fn new(request: &'r Request<'r>, elements: Vec<Element>, envelope: Envelope) -> Self {
        let mut labels = envelope.labels;
        labels.user = labels.user.or_else(|| user(request));
        Self {
            tenant: envelope.tenant,
            keys: Keys::of(envelope.keyed, request, &elements),
            elements: elements.into(),
            labels,
            names_agents: envelope.names_agents,
            name: Text::from(request.model().unwrap_or_default().into_owned()),
            model: envelope.model,
            learned: envelope.learned,
            keyed: envelope.keyed,
            now: envelope.now,
            turns: OnceLock::new(),
            request,
        }
    }

    /// The dialect it is written in.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.request.dialect()
    }

    /// The key under which its elements are cached.
    #[must_use]
    pub fn head(&self) -> Head {
        Head {
            tenant: self.tenant,
            dialect: self.dialect(),
        }
    }

    /// The number of messages.
    #[must_use]
    pub fn len(&self) -> usize {
        self.request.len()
    }

    /// Returns true if it has no messages.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.request.is_empty()
    }

    /// All turns, read and counted once.
    pub fn turns(&self) -> &[Turn] {
        self.turns
            .get_or_init(|| placed(self.request, 0, TurnId::ROOT, &self.model.counter()))
    }

    /// All turns, if they were read.
    pub(crate) fn turns_read(&self) -> Option<&[Turn]> {
        self.turns.get().map(Vec::as_slice)
    }

    /// The last turn's id. Reads all turns.
    pub fn last_id(&self) -> TurnId {
        self.turns().last().map_or(TurnId::ROOT, Turn::id)
    }

    /// The bytes of the messages behind the first `known` ones, unless all were read.
    #[must_use]
    pub fn unread(&self, known: usize) -> usize {
        let first = self.request.message(known).map(|message| message.span());
        let list = self.request.list_span();
        match (first, list, self.turns_read()) {
            (Some(first), Some(list), None) => list.end.saturating_sub(first.start),
            _ => 0,
        }
    }

    /// A key over the instructions and tools.
    pub(crate) fn overhead_key(&self) -> Key {
        let tools = self.request.tools().map(|field| field.value);
        let values = [self.request.instructions_raw(), tools].into_iter();
        values.fold(0, |key, value| {
            self.keyed.of(key, value.unwrap_or_default().as_bytes())
        })
    }

    /// The tokens of the instructions and tools.
    pub(crate) fn overhead(&self) -> Tokens {
        let counter = self.model.counter();
        let instructions = self.request.instructions();
        let instructions = instructions.map_or(Tokens::ZERO, |found| {
            let frames = Tokens::new(FRAME.saturating_mul(found.messages as u64));
            counter.count(&found.text) + frames
        });
        let tools = self.request.tools();
        instructions + tools.map_or(Tokens::ZERO, |found| counter.count(found.value))
    }

    /// Returns true if the client names another of its agents than these labels do. Agents with the
    /// same task begin alike, so their turns do not tell them apart.
    #[must_use]
    pub fn is_of_another_agent(&self, labels: &Labels) -> bool {
        let is_named = labels.session.is_some() || labels.agent.is_some();
        self.names_agents && is_named && self.labels.agent != labels.agent
    }
}

/// The user that the body names: `metadata.user_id` (Anthropic), `user` (OpenAI).
fn user(request: &Request<'_>) -> Option<Text> {
    if let Some(user) = request.field_text("user") {
        return label(&user);
    }
    let metadata = request.field("metadata")?;
    let metadata: serde_json::Value = serde_json::from_str(metadata.value).ok()?;
    label(metadata.get("user_id")?.as_str()?)
}

/// The names that a client gives in its headers, and whether it names its agents.
pub fn labels<'h>(header: impl Fn(&str) -> Option<&'h str>) -> (Labels, bool) {
    let name = |key: &str| label(header(key)?);
    let labels = Labels {
        session: name("x-ebbtide-session").or_else(|| name("x-claude-code-session-id")),
        agent: name("x-claude-code-agent-id"),
        parent_agent: name("x-claude-code-parent-agent-id"),
        user: None,
    };
    (labels, header("x-claude-code-session-id").is_some())
}

/// A name as it is shown to people: one line of at most 128 characters. `None` where nothing is left.
#[must_use]
pub fn label(text: &str) -> Option<Text> {
    let characters = text.chars().filter(|character| !character.is_control());
    let text: String = characters.take(LONGEST_LABEL).collect();
    (!text.trim().is_empty()).then(|| Text::from(text))
}
