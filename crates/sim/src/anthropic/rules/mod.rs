//! Anthropic's documented rules, one file per group. Each rejects a request before it is answered.

pub(crate) mod betas;
pub(crate) mod breakpoints;
pub(crate) mod compaction;
pub(crate) mod editing;
pub(crate) mod parameters;
pub(crate) mod shape;
pub(crate) mod system;
pub(crate) mod thinking;
pub(crate) mod tool_calls;
pub(crate) mod unknown;

use super::request::Call;
use crate::refusal::Refusal;
use crate::seal::Seal;

/// The endpoint that a body is sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// An answer.
    Answer,
    /// A count.
    Count,
}

/// All rules but those of the thinking's binding, which may change the request.
pub(crate) fn check(call: &Call, purpose: Purpose, seal: &Seal) -> Result<(), Refusal> {
    betas::check(call)?;
    parameters::check(call, purpose)?;
    shape::check(call)?;
    system::check(call)?;
    compaction::check(call, purpose, seal)?;
    tool_calls::check(call)?;
    breakpoints::check(call)?;
    editing::check(call)
}
