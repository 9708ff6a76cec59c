//! Reads the arguments of a strategy's commands and carries out commands that need several steps.

use std::sync::Arc;

use context::{Tokens, TurnId};
use plumb::commands::{self, ControlCommand, Keep, Modifier};
use plumb::value::Value;

use super::heard;
use super::reads::Reads;
use super::terms::Guards;
use crate::homunculus::event::Refusal;
use crate::homunculus::machine::Orders;
use crate::homunculus::outline::Path;
use crate::homunculus::strategy::{Command, Situation};
use crate::window;

/// Reads a message: the command it gives. `None` where it names none, or the argument has the wrong type.
pub(super) fn read(message: &Value) -> Option<ControlCommand> {
    let command = ControlCommand::of(message)?;
    let argument = message.get(command.name());
    match command {
        ControlCommand::DropTo => number(argument).map(|_| command),
        ControlCommand::Pin | ControlCommand::Unpin => argument?.as_text().map(|_| command),
        _ => Some(command),
    }
}

/// The cut that leaves as much as a command keeps verbatim.
///
/// # Errors
/// Where there is none, or what the command keeps is out of range.
pub(super) fn cut(message: &Value, situation: &Situation<'_>) -> Result<usize, Refusal> {
    let path = &situation.path;
    let cut = match Keep::of(message).map_err(|_| Refusal::IllegalCut)? {
        Keep::Share(share) => path.cut_keeping(situation.limits.window.scaled(share)),
        Keep::Messages(messages) => path.cut_at_most(path.len().saturating_sub(messages)),
    };
    cut.ok_or(Refusal::IllegalCut)
}

/// Makes a summary without a model.
pub(super) fn extract(message: &Value, orders: &mut Orders<'_>) -> Result<(), Refusal> {
    match Keep::of(message) {
        Ok(Keep::Share(share)) => orders.extract(share),
        Ok(Keep::Messages(_)) | Err(_) => Err(Refusal::IllegalCut),
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => Some(*number),
        // One that is larger is larger than all that it is compared with.
        Value::Int(number) => Some(i32::try_from(*number).map_or(f64::MAX, f64::from)),
        _ => None,
    }
}

/// The answer to a command that was refused.
pub(super) fn refused(command: &str, refusal: &Refusal) -> Option<Value> {
    commands::refused(command, refusal.word()).ok()
}

/// The memory before a cut, with the turns and pins that the program reads. A summary stands for the turns.
pub(super) fn memory(
    path: &Path<'_>,
    cut: usize,
    (summary, reads): (Option<&str>, Reads),
) -> Option<Value> {
    let mark = format!("{cut}:{:016x}", begins(&path.node_before(cut)?));
    let field = |name: &str, value: Value| (Arc::<str>::from(name), value);
    let none = || Value::list([]).ok();
    let mut fields = vec![
        field("mark", Value::from(mark)),
        field(
            "turns",
            match reads.turns && summary.is_none() {
                true => heard::turns_before(path, cut)?,
                false => none()?,
            },
        ),
        field(
            "pinned",
            match reads.pinned {
                true => heard::pinned(path)?,
                false => none()?,
            },
        ),
    ];
    fields.extend(summary.map(|name| field("summary", Value::from(name))));
    Value::record(fields).ok()
}

/// The cut that a memory was marked at, if it is still on the path.
pub(super) fn marked_at(memory: &Value, path: &Path<'_>) -> Option<usize> {
    let (cut, id) = memory.get("mark")?.as_text()?.split_once(':')?;
    let cut: usize = cut.parse().ok()?;
    let id = u64::from_str_radix(id, 16).ok()?;
    (id == begins(&path.node_before(cut)?)).then_some(cut)
}

/// The first half of a turn's id, enough to tell it from others of one conversation.
fn begins(id: &TurnId) -> u64 {
    let [a, b, c, d, e, f, g, h, ..] = *id.as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// Drops as few of the oldest steps as bring the view below a share of the window; if none does, all that
/// may be dropped. A view that is already below stays as it is.
///
/// Under guards, nothing is dropped whose class is not droppable: it would be lost without a summary. What products
/// without guards drop is dropped whatever it says.
///
/// # Errors
/// Where no step can be dropped, or what follows may not be.
pub(super) fn drop_to(
    message: &Value,
    orders: &mut Orders<'_>,
    guards: Guards,
) -> Result<(), Refusal> {
    let share = number(message.get(ControlCommand::DropTo.name())).ok_or(Refusal::IllegalCut)?;
    let cut = {
        let situation = orders.situation();
        let (path, shown) = (&situation.path, situation.shown);
        let most = situation.limits.window.scaled(share);
        if situation.view < most {
            return Ok(());
        }
        let end = match guards {
            Guards::Off => path.len(),
            Guards::On => {
                // Without the words at hand, no class is known.
                let turns = path.turns().get(shown.from..).unwrap_or_default();
                shown.from + window::droppable(situation.limits.window, turns)
            }
        };
        let size = |cut: usize| situation.size(&shown.dropped(cut));
        let first = path.cut_at_least(shown.from + 1);
        let mut cut = first.ok_or(Refusal::IllegalCut)?;
        if cut > end {
            return Err(Refusal::NotDroppable);
        }
        while size(cut) >= most
            && let Some(next) = path.cut_at_least(cut + 1).filter(|&next| next <= end)
        {
            cut = next;
        }
        cut
    };
    orders.give(Command::Drop { cut })
}

/// Clears all tool results but the newest `keep_results`, if that frees `at_least` of the window.
pub(super) fn clear(message: &Value, orders: &mut Orders<'_>) -> Result<(), Refusal> {
    let keep = match message.get(Modifier::KeepResults.name()) {
        Some(Value::Int(keep)) => usize::try_from(*keep).map_err(|_| Refusal::IllegalCut)?,
        _ => 0,
    };
    let least = number(message.get(Modifier::AtLeast.name())).unwrap_or(0.0);
    let upto = {
        let situation = orders.situation();
        let (path, shown) = (&situation.path, situation.shown);
        let upto = path.before_newest_results(keep);
        let freed = path.clearable(shown.cleared.max(shown.from), upto);
        if freed == Tokens::ZERO || freed < situation.limits.window.scaled(least) {
            return Err(Refusal::TooLittleGain(freed));
        }
        upto
    };
    orders.give(Command::Clear { upto })
}
