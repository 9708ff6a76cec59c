//! One request as the core reads it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use context::{Text, Tokens, Turn, TurnId};
use history::{Labels, Tenant};
use http::HeaderMap;
use jiff::Timestamp;
use tokens::{Model, ModelTable};
use wire::api::{Dialect, Request};

use super::identity::{Key, Keyed, Keys, placed};
use super::recall::{Element, Head};

/// Names that are longer are cut: they are for people.
const LONGEST_LABEL: usize = 128;

/// So many models are remembered by the names that clients use.
const MODELS: usize = 256;

/// A request, read as far as every request is.
pub(super) struct Call<'r> {
    /// Who sent it.
    pub tenant: Tenant,
    /// Where it is sent.
    pub url: &'r str,
    /// Its body.
    pub request: &'r Request<'r>,
    /// Its headers.
    pub headers: &'r HeaderMap,
    /// Its messages by their bytes.
    pub keys: Keys,
    /// The elements of its list of messages.
    pub elements: Arc<[Element]>,
    /// The name of the model.
    pub name: Text,
    /// The model.
    pub model: Arc<Model>,
    /// When it came.
    pub now: Timestamp,
    /// All its turns, once somebody needed all of them.
    pub read: OnceLock<Vec<Turn>>,
}

impl Call<'_> {
    /// What it speaks.
    pub(super) fn dialect(&self) -> Dialect {
        self.request.dialect()
    }

    /// What its elements are found again by.
    pub(super) fn head(&self) -> Head {
        Head {
            tenant: self.tenant,
            dialect: self.dialect(),
        }
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        self.request.len()
    }

    /// All turns, read and counted once.
    pub(super) fn turns(&self) -> &[Turn] {
        self.read
            .get_or_init(|| placed(self.request, 0, TurnId::ROOT, &self.model.counter()))
    }

    /// The bytes of the messages behind the first `known` ones, where they were not read yet.
    pub(super) fn unread(&self, known: usize) -> usize {
        let first = self.request.message(known).map(|message| message.span());
        let list = self.request.list_span();
        match (first, list, self.read.get()) {
            (Some(first), Some(list), None) => list.end.saturating_sub(first.start),
            _ => 0,
        }
    }

    /// A key over what is sent besides the messages and counts as input.
    pub(super) fn overhead_key(&self, keyed: Keyed) -> Key {
        let fields = ["system", "instructions", "tools"].into_iter();
        fields.fold(0, |key, name| {
            let value = self.request.field(name).map_or("", |field| field.value);
            keyed.of(key, value.as_bytes())
        })
    }

    /// The tokens of what is sent besides the messages.
    pub(super) fn overhead(&self) -> Tokens {
        let counter = self.model.counter();
        let count = |text: &str| context::TokenCounter::count(&counter, text);
        let instructions = self.request.instructions();
        let instructions = instructions.map_or(Tokens::ZERO, |found| count(&found.text));
        let tools = self.request.tools();
        instructions + tools.map_or(Tokens::ZERO, |found| count(found.value))
    }

    /// Whether the client says that this is another of its agents than the one whose conversation has these
    /// names. Agents that were given the same task begin alike.
    pub(super) fn is_of_another_agent(&self, labels: &Labels) -> bool {
        let agent = || label(self.headers.get("x-claude-code-agent-id")?.to_str().ok()?);
        labels.session.is_some()
            && self.headers.contains_key("x-claude-code-session-id")
            && agent() != labels.agent
    }

    /// The names that the client gives.
    pub(super) fn labels(&self) -> Labels {
        let header = |name: &str| {
            let value = self.headers.get(name)?.to_str().ok()?;
            label(value)
        };
        Labels {
            session: header("x-ebbtide-session").or_else(|| header("x-claude-code-session-id")),
            agent: header("x-claude-code-agent-id"),
            parent_agent: header("x-claude-code-parent-agent-id"),
            user: self.user(),
        }
    }

    /// The user that the body names: `metadata.user_id` (Anthropic), `user` (OpenAI).
    fn user(&self) -> Option<Text> {
        if let Some(user) = self.request.field_text("user") {
            return label(&user);
        }
        let metadata = self.request.field("metadata")?;
        let metadata: serde_json::Value = serde_json::from_str(metadata.value).ok()?;
        label(metadata.get("user_id")?.as_str()?)
    }
}

fn label(text: &str) -> Option<Text> {
    let text: String = text
        .chars()
        .filter(|character| !character.is_control())
        .take(LONGEST_LABEL)
        .collect();
    (!text.trim().is_empty()).then(|| Text::from(text))
}

/// The models that were asked for lately.
#[derive(Debug, Default)]
pub(super) struct Models(Mutex<HashMap<Text, Arc<Model>>>);

impl Models {
    /// What is known of a model.
    pub(super) fn find(&self, name: &Text) -> Arc<Model> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(model) = known.get(name) {
            return Arc::clone(model);
        }
        let model = Arc::new(ModelTable::shipped().find(name));
        if known.len() >= MODELS {
            known.clear();
        }
        known.insert(name.clone(), Arc::clone(&model));
        model
    }
}
