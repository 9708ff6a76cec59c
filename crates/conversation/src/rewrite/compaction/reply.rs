//! Answers to a client's own compaction, in the provider's shape.

use jiff::Timestamp;
use wire::api::{Closed, Request, SyntheticReply};

use super::{ClientCompaction, Form, Wants};
use crate::rewrite::Direct;
use crate::words::Did;

/// The answer that carries `summary`, which must stand for all messages that the client asks about
/// ([`ClientCompaction::covers`]): it will throw them away. Streamed where the request asks for that.
/// `None` where the client wants no text.
///
/// Its `usage` is zero everywhere: for this request no model was asked. The cost of the preparation
/// was counted when it was made.
#[must_use]
pub fn answer(
    request: &Request<'_>,
    own: &ClientCompaction,
    summary: &str,
    now: Timestamp,
) -> Option<Direct> {
    let Wants::Text(form) = own.wants else {
        return None;
    };
    let summary = summary.trim();
    let text = match form {
        Form::Plain => summary.to_owned(),
        Form::Summary => format!("<summary>\n{summary}\n</summary>"),
        Form::Snapshot => format!("<state_snapshot>\n{summary}\n</state_snapshot>"),
    };
    Some(direct(request.synthetic_reply(&text, now)))
}

/// The answer that carries the provider's own block, which must be the one of exactly the messages of
/// this request: `block` is the JSON of the content block, sent byte for byte. `None` where the client
/// does not want one, and on OpenAI's interfaces.
#[must_use]
pub fn answer_sealed(
    request: &Request<'_>,
    own: &ClientCompaction,
    block: &str,
    now: Timestamp,
) -> Option<Direct> {
    if own.wants != Wants::Sealed {
        return None;
    }
    request.synthetic_compaction(block, now).map(direct)
}

/// The answer that carries a summary of ours in a sealed form. `None` where the dialect has no such form.
#[must_use]
pub fn answer_closed(request: &Request<'_>, closed: &Closed<'_>, now: Timestamp) -> Option<Direct> {
    request.synthetic_summary(closed, now).map(direct)
}

fn direct(reply: SyntheticReply) -> Direct {
    Direct {
        status: 200,
        content_type: reply.content_type,
        body: reply.body.into(),
        did: vec![Did::Answered],
        conversation: None,
    }
}
