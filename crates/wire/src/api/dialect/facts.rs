//! The properties of a dialect that are plain data.

/// The fixed properties of a dialect.
#[derive(Debug)]
pub struct Facts {
    /// The name in configuration files.
    pub name: &'static str,
    /// Names of top-level fields and block members.
    pub keys: Keys,
    /// Rules of the message list.
    pub layout: Layout,
    /// The server and the paths of requests.
    pub server: Server,
    /// Compaction by the provider itself.
    pub compaction: Compaction,
    /// Requests that Ebbtide makes itself.
    pub own: OwnRequests,
    /// Opt-in features; values of the header `anthropic-beta`.
    pub betas: Betas,
}

/// Names of top-level fields and block members.
#[derive(Debug)]
pub struct Keys {
    /// The list of messages.
    pub list: &'static str,
    /// The operator's instructions; `None` where they are the system messages that begin the list.
    pub instructions: Option<&'static str>,
    /// The longest answer, in tokens.
    pub longest_answer: &'static str,
    /// The member of a block that marks a cache breakpoint.
    pub cache_breakpoint: &'static str,
    /// The value of that member where the provider caches nothing without a breakpoint; `None` where it
    /// caches prefixes by itself.
    pub cache_marker: Option<&'static str>,
    /// Fields that name state at the provider. A request with one of them is only part of its
    /// conversation.
    pub provider_state: &'static [&'static str],
    /// The one of those fields that names the answer that the request continues.
    pub previous_answer: Option<&'static str>,
    /// The field and its value by which a client asks the provider not to keep the answer.
    pub not_kept: Option<(&'static str, &'static str)>,
    /// The field that asks why the cache was missed, with the id of the previous reply in it.
    pub cache_question: Option<&'static str>,
}

/// Rules of the message list.
#[derive(Debug)]
pub struct Layout {
    /// `true` where the list may be a single string or missing.
    pub loose_list: bool,
    /// `true` where consecutive elements of the assistant are one message.
    pub joins_assistant: bool,
    /// `true` where neighbours of one role are one message, a list opens with the user, and a view
    /// never opens with a system message.
    pub alternates: bool,
    /// `true` where system messages stay in front of a view that begins behind them.
    pub keeps_system: bool,
    /// Models that take a system message between other messages.
    pub system_between: SystemBetween,
    /// The place of tool results.
    pub results: ResultPlace,
    /// The role of a text that follows a tool's message.
    pub after_tool: &'static str,
    /// `true` where thinking blocks are bound to the messages before them.
    pub binds_thinking: bool,
    /// The longest call id, in bytes.
    pub longest_id: usize,
    /// `true` where call ids hold only ASCII letters, digits, `_` and `-`.
    pub plain_ids: bool,
}

/// Models that take a system message between other messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SystemBetween {
    /// All of them.
    Always,
    /// Those with the capability in the model table.
    WithCapability,
    /// OpenAI's own: templates of other models take a system message only in front.
    OpenAiOnly,
}

/// The place of tool results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultPlace {
    /// In blocks of user messages.
    Blocks,
    /// In messages of their own.
    Messages,
}

/// A company whose servers speak a dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// `api.anthropic.com`.
    Anthropic,
    /// `api.openai.com`.
    OpenAi,
}

/// The server and the paths of requests.
#[derive(Debug)]
pub struct Server {
    /// Whose interface it is.
    pub provider: Provider,
    /// The provider's own base URL, as its SDKs take it.
    pub base_url: &'static str,
    /// The path behind the version segment.
    pub path: &'static str,
    /// Ends of the paths that generate an answer, and the name of that endpoint in metrics.
    pub generate: (&'static [&'static str], &'static str),
    /// The path to which a request can be bridged at a server that lacks this dialect.
    pub bridged: Option<&'static str>,
    /// Ends of the paths that count tokens, and the name of that endpoint in metrics.
    pub count: (&'static [&'static str], &'static str),
    /// The header that carries the key, and the prefix of the key in it.
    pub key: (&'static str, &'static str),
    /// Headers that a request must have, unless it names other values.
    pub headers: &'static [(&'static str, &'static str)],
}

/// Compaction by the provider itself.
#[derive(Debug)]
pub struct Compaction {
    /// `true` where the provider writes summaries on demand.
    pub native: bool,
    /// The client that asks for one by the provider's interface, as the journal names it.
    pub client: &'static str,
    /// The end of the path that does nothing but compact.
    pub path: Option<&'static str>,
}

/// Requests that Ebbtide makes itself.
#[derive(Debug)]
pub struct OwnRequests {
    /// Fields that every one of them has: streamed, with usage, not stored.
    pub fields: &'static [(&'static str, &'static str)],
    /// The field that lets the provider place cache breakpoints.
    pub auto_cache: Option<(&'static str, &'static str)>,
    /// The value of `tool_choice` that forbids calls.
    pub no_calls: &'static str,
    /// `true` where the longest answer has to be named.
    pub needs_limit: bool,
    /// `true` where a request sets how many tokens the model may think.
    pub thinking_budget: bool,
}

/// Opt-in features; values of the header `anthropic-beta`. Empty where the dialect has no such
/// header.
#[derive(Debug)]
pub struct Betas {
    /// Compaction on demand, and every request that carries its block.
    pub compaction: &'static [&'static str],
    /// Every one of compaction that clients name.
    pub all_compaction: &'static [&'static str],
    /// System messages that clear themselves.
    pub clear_at: &'static [&'static str],
    /// The provider's reason for a cache miss.
    pub cache_question: &'static [&'static str],
}
