//! Cache breakpoints: at most four, the longer-lived first.

use crate::anthropic::content::{Kind, mark};
use crate::anthropic::request::Call;
use crate::cache::Life;
use crate::refusal::Refusal;

/// Slots for breakpoints, the automatic one included.
const SLOTS: usize = 4;

pub(crate) fn check(call: &Call) -> Result<(), Refusal> {
    let automatic = automatic(call)?;
    let tools = call.tools.iter().enumerate();
    let system = call.system.iter().enumerate();
    let mut marks: Vec<(String, Life)> = tools
        .filter_map(|(at, tool)| Some((format!("tools.{at}"), tool.mark?)))
        .chain(system.filter_map(|(at, block)| Some((format!("system.{at}"), block.mark?))))
        .collect();
    for (at, message) in call.messages.iter().enumerate() {
        for (place, block) in message.blocks.iter().enumerate() {
            for life in block.mark.into_iter().chain(nested(block)) {
                marks.push((format!("messages.{at}.content.{place}"), life));
            }
        }
    }
    let last = last_cacheable(call);
    let extra = usize::from(automatic.is_some() && last.is_none_or(|mark| mark.is_none()));
    if let (Some(life), Some(Some(own))) = (automatic, last)
        && life != own
    {
        return Err(Refusal::invalid(
            "cache_control: the last cacheable block already has a cache_control with another ttl",
        ));
    }
    let found = marks.len() + extra;
    if found > SLOTS {
        return Err(Refusal::invalid(format!(
            "A maximum of {SLOTS} blocks with cache_control may be provided. Found {found}."
        )));
    }
    marks.extend(automatic.map(|life| ("cache_control".to_owned(), life)));
    let order = marks.windows(2).find_map(|pair| match pair {
        [(_, Life::Short), (path, Life::Long)] => Some(path),
        _ => None,
    });
    match order {
        Some(path) => Err(Refusal::invalid(format!(
            "{path}.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        ))),
        None => Ok(()),
    }
}

/// The top-level breakpoint.
pub(crate) fn automatic(call: &Call) -> Result<Option<Life>, Refusal> {
    match call.field("cache_control") {
        Some(control) => mark(
            &serde_json::json!({ "cache_control": control }),
            "top-level",
        )
        .map_err(|refusal| Refusal::invalid(refusal.message.replacen("top-level.", "", 1))),
        None => Ok(None),
    }
}

/// The mark of the last block that can be cached; thinking cannot. Outer `None`: there is no such
/// block.
fn last_cacheable(call: &Call) -> Option<Option<Life>> {
    let blocks = call.messages.iter().flat_map(|message| &message.blocks);
    blocks
        .rev()
        .find(|block| !matches!(block.kind, Kind::Thinking | Kind::RedactedThinking))
        .map(|block| block.mark)
}

fn nested(block: &crate::anthropic::content::Block) -> impl Iterator<Item = Life> {
    let inner = block.value.get("content").and_then(|it| it.as_array());
    inner
        .into_iter()
        .flatten()
        .filter_map(|each| mark(each, "").ok().flatten())
}
