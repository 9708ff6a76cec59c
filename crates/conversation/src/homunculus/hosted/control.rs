//! The control messages of a strategy: commands as they come out, answers as they go in.

use std::sync::Arc;

use context::{Tokens, TurnId};
use plumb::value::Value;

use crate::homunculus::event::Refusal;
use crate::homunculus::machine::Orders;
use crate::homunculus::outline::Path;
use crate::homunculus::strategy::{Command, Situation};

/// What stays verbatim behind a mark where a command does not say.
const KEEP: f64 = 0.1;

/// What agents have and conversations have not.
const SET_TEMP: &str = "set_temp";

/// A control message, understood.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Control {
    /// Hold requests until `resume`.
    Pause,
    /// Let them go.
    Resume,
    /// Mark a place and say what lies before it.
    GetMemory(Keep),
    /// Show the summary of this memory.
    SetMemory,
    /// Mark a place, for a preparation.
    Mark(Keep),
    /// Keep this memory's summary ready.
    Prepare,
    /// Show the summary that is ready.
    Swap,
    /// Hold this request.
    Hold,
    /// Make a summary without a model.
    Extract(f64),
    /// Drop the oldest steps until the view is below this share.
    DropTo(f64),
    /// Clear tool results: how many stay, and the share that has to be freed.
    Clear(usize, f64),
    /// Forget what is prepared.
    Abandon,
    /// Keep this pin: it is kept already.
    Pin,
    /// Do not keep it.
    Unpin(Arc<str>),
    /// Something that this host has not.
    Other,
}

/// What stays verbatim behind a mark.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Keep {
    /// A share of the window.
    Share(f64),
    /// So many messages.
    Messages(usize),
}

impl Control {
    /// Reads a message: what it asks for. `None` where it is no command.
    pub fn read(message: &Value) -> Option<Self> {
        let fields = message.fields()?;
        fields.iter().find_map(|(name, value)| {
            Some(match &**name {
                "pause" => Self::Pause,
                "resume" => Self::Resume,
                "get_memory" => Self::GetMemory(Keep::of(message)),
                "set_memory" => Self::SetMemory,
                "mark" => Self::Mark(Keep::of(message)),
                "prepare" => Self::Prepare,
                "swap" => Self::Swap,
                "hold" => Self::Hold,
                "extract" => Self::Extract(number(message.get("keep")).unwrap_or(KEEP)),
                "drop_to" => Self::DropTo(number(Some(value))?),
                "clear" => Self::Clear(
                    count(message.get("keep_results")).unwrap_or(0),
                    number(message.get("at_least")).unwrap_or(0.0),
                ),
                "abandon" => Self::Abandon,
                "pin" => Self::Pin,
                "unpin" => Self::Unpin(value.as_text()?.into()),
                SET_TEMP => Self::Other,
                _ => return None,
            })
        })
    }

    /// The field that names it.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::GetMemory(_) => "get_memory",
            Self::SetMemory => "set_memory",
            Self::Mark(_) => "mark",
            Self::Prepare => "prepare",
            Self::Swap => "swap",
            Self::Hold => "hold",
            Self::Extract(_) => "extract",
            Self::DropTo(_) => "drop_to",
            Self::Clear(..) => "clear",
            Self::Abandon => "abandon",
            Self::Pin => "pin",
            Self::Unpin(_) => "unpin",
            Self::Other => SET_TEMP,
        }
    }
}

impl Keep {
    fn of(message: &Value) -> Self {
        let messages = count(message.get("keep_messages")).map(Self::Messages);
        messages.unwrap_or_else(|| Self::Share(number(message.get("keep")).unwrap_or(KEEP)))
    }

    /// The cut that leaves as much.
    pub fn cut(self, situation: &Situation<'_>) -> Option<usize> {
        let path = &situation.path;
        match self {
            Self::Share(share) => path.cut_keeping(situation.limits.window.scaled(share)),
            Self::Messages(messages) => path.cut_at_most(path.len().saturating_sub(messages)),
        }
    }
}

fn number(value: Option<&Value>) -> Option<f64> {
    match value? {
        Value::Number(number) => Some(*number),
        Value::Int(number) => i32::try_from(*number).ok().map(f64::from),
        _ => None,
    }
}

fn count(value: Option<&Value>) -> Option<usize> {
    match value? {
        Value::Int(number) => usize::try_from(*number).ok(),
        _ => None,
    }
}

/// An answer of one field.
pub(super) fn answer(name: &str, value: Value) -> Option<Value> {
    Value::record([(Arc::from(name), value)]).ok()
}

/// The answer to what was done.
pub(super) fn done(name: &str) -> Option<Value> {
    answer(name, Value::Bool(true))
}

/// The answer to a command that was refused.
pub(super) fn refused(command: &str, refusal: &Refusal) -> Option<Value> {
    let field = |name: &str, value: &str| (Arc::from(name), Value::from(value));
    Value::record([field("refused", refusal.word()), field("command", command)]).ok()
}

/// The memory before a cut. The words stay with the host.
pub(super) fn memory(path: &Path<'_>, cut: usize, summary: Option<&str>) -> Option<Value> {
    let mark = format!("{cut}:{:016x}", begins(&path.node_before(cut)?));
    let field = |name: &str, value: Value| (Arc::<str>::from(name), value);
    let none = || Value::list([]).ok();
    let mut fields = vec![
        field("mark", Value::from(mark)),
        field("turns", none()?),
        field("pinned", none()?),
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

/// Drops as few of the oldest steps as bring the view below a share of the window; where none does, all
/// that may be dropped. A view that is below is left as it is.
pub(super) fn drop_to(orders: &mut Orders<'_>, share: f64) -> Result<(), Refusal> {
    let cut = {
        let situation = orders.situation();
        let (path, shown) = (&situation.path, situation.shown);
        let most = situation.limits.window.scaled(share);
        if situation.view < most {
            return Ok(());
        }
        let size = |cut: usize| situation.size(&shown.dropped(cut));
        let mut cut = path.cut_at_least(shown.from + 1);
        while let Some(at) = cut
            && size(at) >= most
            && let Some(next) = path.cut_at_least(at + 1)
        {
            cut = Some(next);
        }
        cut.ok_or(Refusal::IllegalCut)?
    };
    orders.give(Command::Drop { cut })
}

/// Clears all tool results but the newest `keep`, if that frees `least` of the window.
pub(super) fn clear(orders: &mut Orders<'_>, keep: usize, least: f64) -> Result<(), Refusal> {
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
