//! The message in front of the shown messages.

use std::borrow::Cow;

use context::Role;
use context::summary::parted;
use wire::api::Request;

use super::RewriteError;
use crate::view::{Front, View};

/// Opens a list that would otherwise begin with the model's own words.
const OPENING: &str = "[earlier messages are not shown]";

/// The message in front, where there is one.
pub(super) fn message<'r>(
    request: &Request<'_>,
    view: &'r View,
) -> Result<Option<Cow<'r, str>>, RewriteError> {
    let texts: [&str; 3] = match &view.front {
        Front::Native { message } if message.trim().is_empty() => {
            return Err(RewriteError::NotCarried("it is empty"));
        }
        Front::Native { message } => return Ok(Some(Cow::Borrowed(message))),
        // The user's words are a block of their own: they change less often than the summary.
        Front::Readable { pins, summary } => {
            let (words, summary) = parted(summary);
            [pins, words.trim_end(), summary]
        }
        Front::Nothing => ["", "", ""],
    };
    let mut texts: Vec<&str> = texts
        .into_iter()
        .filter(|text| !text.trim().is_empty())
        .collect();
    if texts.is_empty() {
        if view.from == 0 || begins_with_user(request, view.from) {
            return Ok(None);
        }
        texts.push(OPENING);
    }
    let message = request.front_message(view.from, &texts);
    Ok(Some(Cow::Owned(message)))
}

fn begins_with_user(request: &Request<'_>, from: usize) -> bool {
    let mut shown = request.messages().skip(from).map(|message| message.role());
    shown.find(|role| *role != Role::System) == Some(Role::User)
}
