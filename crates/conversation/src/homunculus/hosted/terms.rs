//! On what terms a strategy runs, as its own program says.
//!
//! ```text
//! let terms : () -> !Terms = once({ guards: false, pins: false })
//! ```
//!
//! A program without such a process runs under all guards, and what is pinned is kept.

use std::sync::Arc;

use plumb::check::{Checked, check};
use plumb::machine::{Machine, Program, mismatch};
use plumb::modules::BuiltIn;
use plumb::types::Type;
use plumb::value::Value;

/// The process that says it.
const PROCESS: &str = "terms";

/// A process of its type.
const PATTERN: &str = "let terms : () -> !Terms = empty";

/// On what terms a strategy runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// The guards that it relies on.
    pub guards: Guards,
    /// The treatment of pins.
    pub pins: PinKeeping,
}

/// The guards that a strategy may rely on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Guards {
    /// The limits hold it back from long tails, small gains and swaps that lose money.
    #[default]
    On,
    /// [`Limits::unguarded`](crate::homunculus::Limits::unguarded): it stands for what a product does that has none.
    Off,
}

/// Decides if pins are restated in front of the turns that a strategy leaves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PinKeeping {
    /// They are.
    #[default]
    Restated,
    /// A pin is shown only as long as the turn that says it: what a product does that knows none. Where
    /// sessions are replayed, that is so; a gateway restates pins whatever the strategy.
    Ignored,
}

impl Terms {
    /// The terms that a program states. `None` if its process `terms` does not state them.
    pub(super) fn of(checked: &Checked) -> Option<Self> {
        let Some(signature) = checked.signature(PROCESS) else {
            return Some(Self::default());
        };
        let pattern = check(PROCESS, PATTERN, &BuiltIn).signature(PROCESS)?;
        let kind: &Type = &pattern.outputs.first()?.kind;
        if !signature.inputs.is_empty() || signature.outputs.len() != 1 {
            return None;
        }
        let program = Program::new(&checked.graph(PROCESS)?).ok()?;
        let said = Machine::new(Arc::new(program)).start();
        let (_, said) = said.outputs.first()?;
        if mismatch(kind, said).is_some() {
            return None;
        }
        let without = |name: &str| said.get(name) == Some(&Value::Bool(false));
        Some(Self {
            guards: match without("guards") {
                true => Guards::Off,
                false => Guards::On,
            },
            pins: match without("pins") {
                true => PinKeeping::Ignored,
                false => PinKeeping::Restated,
            },
        })
    }
}
