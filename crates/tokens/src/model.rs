//! The facts about one model.

use std::fmt;
use std::time::Duration;

use context::Tokens;

use crate::model_counter::ModelCounter;
use crate::price::Price;
use crate::tokenizer::Tokenizer;

/// Whose interface a model speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Provider {
    /// Anthropic.
    Anthropic,
    /// OpenAI.
    OpenAi,
    /// Anybody else.
    Other,
}

impl Provider {
    /// Every provider.
    pub const ALL: [Self; 3] = [Self::Anthropic, Self::OpenAi, Self::Other];

    /// The name used in the model table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
            Self::Other => "other",
        }
    }
}

impl fmt::Display for Provider {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Something a model or its interface can do that others cannot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Capability {
    /// The request says where the cached prefix ends.
    CacheBreakpoints,
    /// The provider's server clears old tool results and thinking by rule.
    ContextEditing,
    /// Thinking of earlier turns stays in the context; elsewhere only the last turn's does.
    KeepsThinking,
    /// A system message may stand between later messages.
    MidConversationSystem,
    /// The provider summarises a conversation itself and signs or encrypts the summary.
    NativeCompaction,
    /// Thinking is bound to everything before it: editing an earlier message makes it invalid.
    ThinkingBinding,
}

impl Capability {
    /// Every capability.
    pub const ALL: [Self; 6] = [
        Self::CacheBreakpoints,
        Self::ContextEditing,
        Self::KeepsThinking,
        Self::MidConversationSystem,
        Self::NativeCompaction,
        Self::ThinkingBinding,
    ];

    /// The name used in the model table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::CacheBreakpoints => "cache-breakpoints",
            Self::ContextEditing => "context-editing",
            Self::KeepsThinking => "keeps-thinking",
            Self::MidConversationSystem => "mid-conversation-system",
            Self::NativeCompaction => "native-compaction",
            Self::ThinkingBinding => "thinking-binding",
        }
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The rules of a provider's prompt cache for one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CacheRules {
    /// A prefix shorter than this is silently not cached.
    pub minimum: Tokens,
    /// The lifetime of an entry after its last use.
    pub lifetime: Duration,
    /// The lifetime of an entry of the longer kind, where there is one.
    pub lifetime_long: Option<Duration>,
}

/// The match between a name and the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Known {
    /// The name stands in the table.
    Listed,
    /// The name matches a pattern of the table: a relative of a listed model.
    Similar,
    /// The name says nothing. All values are the careful ones.
    Unknown,
}

/// The facts about one model.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// The name of the entry in the table; for an unknown model `unknown`.
    pub name: String,
    /// The match that led here.
    pub known: Known,
    /// Whose interface it speaks.
    pub provider: Provider,
    /// The tokenizer.
    pub tokenizer: Tokenizer,
    /// The size of its context window, input and output together.
    pub window: Tokens,
    /// The most tokens it writes in one answer.
    pub max_output: Tokens,
    /// The prices.
    pub price: Price,
    /// The rules of its prompt cache.
    pub cache: CacheRules,
    /// The capabilities, in order, each once.
    pub capabilities: Vec<Capability>,
}

impl Model {
    /// Returns true if it has a capability.
    #[must_use]
    pub fn can(&self, capability: Capability) -> bool {
        self.capabilities.contains(&capability)
    }

    /// The same model for a client whose cache entries are of the longer kind, where there is one.
    #[must_use]
    pub fn with_long_cache(&self) -> Self {
        let mut model = self.clone();
        if let Some(lifetime) = self.cache.lifetime_long {
            model.cache.lifetime = lifetime;
            model.price.cache_write = self.price.cache_write_long;
        }
        model
    }

    /// A counter for its tokens.
    #[must_use]
    pub const fn counter(&self) -> ModelCounter {
        ModelCounter::new(self.tokenizer)
    }
}
