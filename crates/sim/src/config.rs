//! Settings of the provider.

use context::Tokens;

use crate::latency::Latency;
use crate::script::Script;

/// Settings. The default is the strictest provider with the windows of the model table,
/// that answers at once and by echo.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The window of every model; `None` for the model's own.
    pub window: Option<Tokens>,
    /// The time that answers take. `None`: they come at once.
    pub latency: Option<Latency>,
    /// The requests that are answered at a time; others wait. `None`: all at once.
    pub slots: Option<usize>,
    /// The answers.
    pub script: Script,
    /// The treatment of message threads.
    pub threads: Threads,
    /// The treatment of thinking that does not fit its prefix.
    pub binding: Binding,
    /// The treatment of other providers' signatures.
    pub signatures: Signatures,
    /// The compaction that the provider offers.
    pub compaction: Compaction,
}

/// The compaction that the provider offers to its clients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Compaction {
    /// Every dialect, with all of its rules.
    #[default]
    Known,
    /// None: endpoints are missing; fields, items, blocks and betas are refused as unknown.
    Unknown,
}

/// The treatment of requests with a `thread`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Threads {
    /// They are held, with all rules of the beta.
    #[default]
    Hold,
    /// They are refused with `thread_unsupported_request`.
    Refuse,
}

/// The treatment of thinking that does not fit its prefix, on the models that bind it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Binding {
    /// Accounts created from 2026-08-31 on: a mismatch is refused.
    #[default]
    Enforced,
    /// Older accounts: a mismatch is allowed and reported.
    Reported,
}

/// The treatment of thinking and compaction signatures that this provider did not make.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Signatures {
    /// Nothing: they do not verify.
    #[default]
    Verified,
    /// They pass unchecked: for recorded sessions, whose thinking another provider signed. Blocks that
    /// bear this provider's mark are still verified.
    ForeignTrusted,
}
