//! Positions at which a view may begin.

use context::Role;
use wire::api::Request;

use super::RewriteError;
use crate::view::{Front, View};

/// Refuses a view whose view the provider would refuse. The supervisor cuts at legal places only;
/// this is the last look before the bytes leave.
pub(super) fn check(request: &Request<'_>, view: &View) -> Result<(), RewriteError> {
    let (from, count) = (view.from, request.len());
    let native = matches!(view.front, Front::Native { .. });
    if from > count || (from == count && !native) {
        return Err(RewriteError::NothingKept { from, count });
    }
    if native {
        let carried = request.may_carry_compaction(from);
        carried.map_err(RewriteError::NotCarried)?;
    }
    if from == 0 {
        return Ok(());
    }
    let refused = |why| Err(RewriteError::IllegalCut { from, why });
    let first = request.message(from).map(|message| message.role());
    if request.dialect().facts().layout.alternates {
        if first == Some(Role::System) {
            return refused("it is a system message");
        }
        let last = from.checked_sub(1).and_then(|last| request.message(last));
        if native && first.is_some() && last.map(|message| message.role()) == first {
            return refused("the message before it is of the same role");
        }
    }
    // Results belong to the model's last message before them, so none may come before one is shown.
    let orphan = (from..count)
        .map_while(|index| request.message(index))
        .take_while(|message| message.role() != Role::Assistant)
        .any(|message| message.holds_results());
    if orphan {
        return refused("it stands between a call and its result");
    }
    Ok(())
}
