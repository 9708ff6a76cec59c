//! What can be chosen about the provider.

use context::Tokens;

use crate::latency::Latency;
use crate::script::Script;

/// What can be chosen. The default is the strictest provider with the windows of the model table,
/// that answers at once and by echo.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The window of every model, instead of its own.
    pub window: Option<Tokens>,
    /// How long answers take. `None`: no time at all.
    pub latency: Option<Latency>,
    /// What is answered.
    pub script: Script,
    /// What happens to message threads.
    pub threads: Threads,
    /// Whether thinking must fit its prefix.
    pub binding: Binding,
    /// What signatures of other providers are worth.
    pub signatures: Signatures,
}

/// What happens to requests with a `thread`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// They are held, with all rules of the beta.
    #[default]
    Hold,
    /// They are refused with `thread_unsupported_request`.
    Refuse,
}

/// Whether thinking must fit its prefix on the models that bind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// As for accounts created from 2026-08-31 on.
    #[default]
    Enforced,
    /// As for older accounts: a mismatch is allowed and reported.
    Reported,
}

/// What thinking and compaction signatures that this provider did not make are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signatures {
    /// Nothing: they do not verify.
    #[default]
    Verified,
    /// They pass unchecked: for recorded sessions, whose thinking another provider signed. Blocks that
    /// bear this provider's mark are still verified.
    ForeignTrusted,
}
