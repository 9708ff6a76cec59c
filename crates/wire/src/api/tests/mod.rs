//! Tests across the files of this module.

mod edits;
mod hashes;
mod laws;
mod marks;
mod requests;
mod turns;
mod written;

use context::turn::Outcome;
use context::{Part, TurnDraft};

/// A turn as one line: the role, then every part.
pub(super) fn line(draft: &TurnDraft) -> String {
    let mut out = draft.role.to_string();
    for part in &draft.parts {
        out.push_str(" | ");
        out.push_str(&match part {
            Part::Text(text) => format!("text {text}"),
            Part::Thinking(text) => format!("thinking {text}"),
            Part::Call(call) => format!("call {} {} {}", call.id, call.name, call.arguments),
            Part::Result(result) if result.outcome == Outcome::Failed => {
                format!("failed {} {}", result.call, result.text)
            }
            Part::Result(result) => format!("result {} {}", result.call, result.text),
            Part::Attachment(attachment) => {
                format!("attachment {} {}", attachment.kind, attachment.bytes)
            }
            Part::Opaque(opaque) => format!("opaque {} {}", opaque.kind, opaque.bytes),
        });
    }
    out
}
