//! Changes to Chat requests.

use context::Role;

use super::{NO_CALLS, TABLE, WITH_USAGE};
use crate::api::dialect::TextAsk;
use crate::api::edit::Edit;
use crate::api::insertion::{Insertion, SystemMessages};
use crate::api::json::write::Object;
use crate::api::message::Message;
use crate::api::request::Request;

pub(super) fn note(
    _: &Request<'_>,
    newest: &Message<'_>,
    takes: SystemMessages,
    text: &str,
) -> Option<Insertion> {
    match takes {
        SystemMessages::Anywhere => Some(Insertion::after("system", text)),
        SystemMessages::InFront if newest.role() == Role::User => newest.appended(text),
        SystemMessages::InFront => None,
    }
}

pub(super) fn ask_for_text<'r>(edit: Edit<'r>, ask: &TextAsk) -> Edit<'r> {
    // Many servers know only the older key, so the client's choice counts.
    let limit = match edit.request().field("max_tokens") {
        Some(_) => "max_tokens",
        None => TABLE.facts.keys.longest_answer,
    };
    edit.set(limit, ask.longest.to_string())
        .set(WITH_USAGE.0, WITH_USAGE.1)
        .remove_all(&["stop", "n", "response_format"])
        .without_calls(NO_CALLS)
}

pub(super) fn tool(named: Object, schema: &str) -> String {
    let function = named.raw("parameters", schema).end();
    let tool = Object::new().text("type", "function");
    tool.raw("function", &function).end()
}
