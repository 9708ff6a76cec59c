//! Edits a request: replaces messages or fields and keeps every other byte.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::{Map, Value};

use super::error::ApiError;
use super::json::scan::Span;
use super::json::write::push_string;
use super::message_edit::cut;
use super::request::{List, Request};

/// A piece of a new list of messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece<'p> {
    /// Messages of the request, by index, byte for byte, with the bytes between them.
    Kept(Range<usize>),
    /// New messages, separated by commas: JSON in the request's dialect. An empty text adds
    /// none.
    Written(Cow<'p, str>),
}

/// Changes to a request, applied by [`Self::render`].
#[derive(Clone, Debug)]
pub struct Edit<'r> {
    request: &'r Request<'r>,
    pieces: Option<Vec<Piece<'r>>>,
    fields: Vec<(String, Option<String>)>,
}

impl Request<'_> {
    /// Starts a change of this request.
    #[must_use]
    pub const fn edit(&self) -> Edit<'_> {
        Edit {
            request: self,
            pieces: None,
            fields: Vec::new(),
        }
    }
}

impl<'r> Edit<'r> {
    /// Makes `pieces` the list of messages. A bare `input` string becomes a list; without any list,
    /// one is added, unless there is nothing to put into it.
    #[must_use]
    pub fn messages(mut self, pieces: Vec<Piece<'r>>) -> Self {
        self.pieces = Some(pieces);
        self
    }

    /// Sets the top-level field `key` to `json`: in place if it exists (everywhere, if it
    /// is repeated), else at the end. For the list of messages use [`Self::messages`].
    #[must_use]
    pub fn set(mut self, key: &str, json: impl Into<String>) -> Self {
        self.fields.retain(|(name, _)| name != key);
        self.fields.push((key.to_owned(), Some(json.into())));
        self
    }

    /// Removes the top-level field `key`.
    #[must_use]
    pub fn remove(mut self, key: &str) -> Self {
        self.fields.retain(|(name, _)| name != key);
        self.fields.push((key.to_owned(), None));
        self
    }

    /// Removes several top-level fields.
    pub(super) fn remove_all(self, keys: &[&str]) -> Self {
        keys.iter().fold(self, |edit, key| edit.remove(key))
    }

    /// Changes the object under the top-level field `key`, and removes it if it is empty then.
    /// `change` returns `true` if it changed anything.
    pub(super) fn change(
        self,
        key: &str,
        change: impl FnOnce(&mut Map<String, Value>) -> bool,
    ) -> Self {
        let Some(Value::Object(mut object)) = self.request.field_json(key) else {
            return self;
        };
        if !change(&mut object) {
            self
        } else if object.is_empty() {
            self.remove(key)
        } else {
            self.set(key, Value::Object(object).to_string())
        }
    }

    /// Forbids calls by `choice`, the value of `tool_choice`, where there are tools.
    pub(super) fn without_calls(self, choice: &str) -> Self {
        if self.request.has_tools() {
            self.set("tool_choice", choice)
        } else {
            self
        }
    }

    /// The request that is changed.
    pub(super) const fn request(&self) -> &'r Request<'r> {
        self.request
    }

    /// The new body. Without changes, and where the pieces are all messages in their order,
    /// it is the old one, byte for byte.
    ///
    /// # Errors
    /// [`ApiError::NoSuchMessage`] where a piece names messages that do not exist.
    pub fn render(&self) -> Result<Vec<u8>, ApiError> {
        let mut patches = self.field_patches();
        if let Some(pieces) = &self.pieces {
            patches.push(self.list_patch(pieces)?);
        }
        patches.sort_by_key(|patch| patch.span.start);
        let body = self.request.body;
        let mut parts: Vec<&str> = Vec::new();
        let mut at = 0;
        for patch in &patches {
            if patch.span.start < at {
                continue;
            }
            parts.push(body.get(at..patch.span.start).unwrap_or_default());
            parts.extend(patch.texts.iter().map(|text| &**text));
            at = patch.span.end;
        }
        parts.push(body.get(at..).unwrap_or_default());
        Ok(parts.concat().into_bytes())
    }

    fn list_patch(&self, pieces: &[Piece<'r>]) -> Result<Patch<'r>, ApiError> {
        let request = self.request;
        let whole = Piece::Kept(0..request.len());
        let mut texts = self.join(pieces)?;
        let span = match (request.list, request.elements.last()) {
            (List::Listed(_), Some(last)) => {
                let end = last.span.end;
                let front = request.lead.checked_sub(1);
                let front = front.and_then(|last| request.elements.get(last));
                let first = request.elements.get(request.lead);
                match (front, first) {
                    // The comma behind the instructions goes with what it was there for.
                    (Some(front), first) if first.is_none() || texts.is_empty() => {
                        if !texts.is_empty() {
                            texts.insert(0, Cow::Borrowed(","));
                        }
                        let start = front.span.end;
                        Span { start, end }
                    }
                    (_, first) => {
                        let start = first.map_or(end, |first| first.span.start);
                        Span { start, end }
                    }
                }
            }
            (List::Listed(list), None) => Span {
                start: list.start + 1,
                end: list.start + 1,
            },
            (List::Bare(span), _) => {
                if pieces == [whole] {
                    texts = vec![Cow::Borrowed(span.of(request.body))];
                } else {
                    texts.insert(0, Cow::Borrowed("["));
                    texts.push(Cow::Borrowed("]"));
                }
                span
            }
            (List::Missing, _) if texts.is_empty() => Span { start: 0, end: 0 },
            (List::Missing, _) => {
                let mut opening = String::from("{");
                push_string(&mut opening, request.dialect.list_key());
                opening.push_str(":[");
                texts.insert(0, Cow::Owned(opening));
                let comma = if request.fields.is_empty() { "]" } else { "]," };
                texts.push(Cow::Borrowed(comma));
                let start = request.body.find('{').unwrap_or_default();
                let end = start + 1;
                Span { start, end }
            }
        };
        Ok(Patch { span, texts })
    }

    /// The pieces with commas between them. Kept messages that follow each other in the request are
    /// taken with the bytes between them. Empty pieces are skipped.
    fn join(&self, pieces: &[Piece<'r>]) -> Result<Vec<Cow<'r, str>>, ApiError> {
        let mut merged: Vec<Piece<'r>> = Vec::new();
        for piece in pieces {
            match (merged.last_mut(), piece) {
                (_, Piece::Kept(range)) if range.is_empty() => {}
                (_, Piece::Written(json)) if json.is_empty() => {}
                (Some(Piece::Kept(before)), Piece::Kept(range)) if before.end == range.start => {
                    before.end = range.end;
                }
                _ => merged.push(piece.clone()),
            }
        }
        let mut out = Vec::with_capacity(2 * merged.len());
        for piece in merged {
            if !out.is_empty() {
                out.push(Cow::Borrowed(","));
            }
            out.push(match piece {
                Piece::Kept(range) => self.kept(&range)?,
                Piece::Written(json) => json,
            });
        }
        Ok(out)
    }

    /// Messages of the request as elements of a list, with the bytes between them.
    pub(super) fn kept(&self, range: &Range<usize>) -> Result<Cow<'r, str>, ApiError> {
        let request = self.request;
        let first = request.message(range.start);
        let last = range.end.checked_sub(1).and_then(|at| request.message(at));
        let (Some(first), Some(last)) = (first, last) else {
            return Err(ApiError::NoSuchMessage {
                start: range.start,
                end: range.end,
                count: request.len(),
            });
        };
        let span = Span {
            start: first.span().start,
            end: last.span().end,
        };
        let raw = span.of(request.body);
        if first.bare {
            return Ok(Cow::Owned(format!(r#"{{"role":"user","content":{raw}}}"#)));
        }
        Ok(Cow::Borrowed(raw))
    }

    /// The changes to the top-level fields: values in their place, removed fields with a comma, added
    /// fields at the end.
    fn field_patches(&self) -> Vec<Patch<'r>> {
        let request = self.request;
        let mut patches = Vec::new();
        let mut added: Vec<&(String, Option<String>)> = self.fields.iter().collect();
        let mut entries = Vec::with_capacity(request.fields.len());
        for (field, member) in request.fields().zip(&request.fields) {
            let change = self.fields.iter().find(|(name, _)| *name == field.key);
            added.retain(|(name, _)| *name != field.key);
            if let Some((_, Some(json))) = change {
                patches.push(Patch {
                    span: member.value,
                    texts: vec![Cow::Owned(json.clone())],
                });
            }
            let (start, end) = (member.key.start, member.value.end);
            entries.push((Span { start, end }, matches!(change, Some((_, None)))));
        }
        let mut kept = entries.iter().any(|(_, goes)| !goes);
        let opening = request.body.find('{').map_or(0, |at| at + 1);
        let end = entries.last().map_or(opening, |(span, _)| span.end);
        patches.extend(cut(entries.into_iter()).into_iter().map(|(span, _)| Patch {
            span,
            texts: Vec::new(),
        }));
        let mut text = String::new();
        for (name, json) in added {
            let Some(json) = json else { continue };
            if std::mem::replace(&mut kept, true) {
                text.push(',');
            }
            push_string(&mut text, name);
            text.push(':');
            text.push_str(json);
        }
        patches.push(Patch {
            span: Span { start: end, end },
            texts: vec![Cow::Owned(text)],
        });
        patches
    }
}

struct Patch<'r> {
    span: Span,
    texts: Vec<Cow<'r, str>>,
}

#[cfg(test)]
mod tests {
    use super::{Edit, Piece};
    use crate::api::{ApiError, Dialect, Request};

    fn check(body: &str, edit: impl for<'r> Fn(Edit<'r>) -> Edit<'r>, expected: &str) {
        let dialect = if body.contains("\"input\"") || !body.contains("\"messages\"") {
            Dialect::Responses
        } else {
            Dialect::Anthropic
        };
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let rendered = edit(request.edit()).render().unwrap();
        assert_eq!(String::from_utf8(rendered).unwrap(), expected);
    }

    fn written(json: &str) -> Piece<'_> {
        Piece::Written(json.into())
    }

    #[test]
    fn only_what_is_replaced_changes() {
        let body =
            "{ \"x\": 1.0, \"messages\": [ {\"a\":1} ,\n {\"b\":2} , {\"c\":3}\t] , \"y\":[] }\n";
        check(body, |edit| edit, body);
        check(body, |edit| edit.messages(vec![Piece::Kept(0..3)]), body);
        check(
            body,
            |edit| edit.messages(vec![Piece::Kept(0..1), Piece::Kept(1..3)]),
            body,
        );
        check(
            body,
            |edit| edit.messages(vec![written("{\"s\":0}"), Piece::Kept(1..3)]),
            "{ \"x\": 1.0, \"messages\": [ {\"s\":0},{\"b\":2} , {\"c\":3}\t] , \"y\":[] }\n",
        );
        check(
            body,
            |edit| {
                edit.messages(vec![
                    Piece::Kept(2..3),
                    written("{\"s\":0}"),
                    Piece::Kept(0..1),
                ])
            },
            "{ \"x\": 1.0, \"messages\": [ {\"c\":3},{\"s\":0},{\"a\":1}\t] , \"y\":[] }\n",
        );
        check(
            body,
            |edit| edit.messages(vec![]),
            "{ \"x\": 1.0, \"messages\": [ \t] , \"y\":[] }\n",
        );
    }

    #[test]
    fn fields_are_set_and_removed_with_their_commas() {
        let body = r#"{"a":1, "messages":[], "b":2, "c":3}"#;
        check(
            body,
            |edit| edit.set("b", "9"),
            r#"{"a":1, "messages":[], "b":9, "c":3}"#,
        );
        check(
            body,
            |edit| edit.set("d", "4"),
            r#"{"a":1, "messages":[], "b":2, "c":3,"d":4}"#,
        );
        check(
            body,
            |edit| edit.remove("a"),
            r#"{"messages":[], "b":2, "c":3}"#,
        );
        check(
            body,
            |edit| edit.remove("b"),
            r#"{"a":1, "messages":[], "c":3}"#,
        );
        check(
            body,
            |edit| edit.remove("c"),
            r#"{"a":1, "messages":[], "b":2}"#,
        );
        check(
            body,
            |edit| edit.remove("b").remove("c").set("d", "4"),
            r#"{"a":1, "messages":[],"d":4}"#,
        );
        check(
            r#"{"messages":[], "messages":[1], "a":1}"#,
            |edit| edit.remove("messages").remove("a"),
            "{}",
        );
        check(
            r#" { "input":"x" } "#,
            |edit| edit.remove("input").set("k", "1"),
            r#" { "k":1 } "#,
        );
        check("{}", |edit| edit.set("k", "1").remove("z"), r#"{"k":1}"#);
        check(
            r#"{"k":1,"messages":[],"k":2}"#,
            |edit| edit.set("k", "3"),
            r#"{"k":3,"messages":[],"k":3}"#,
        );
    }

    #[test]
    fn a_bare_input_becomes_a_list_only_when_it_changes() {
        let body = r#"{"input": "hi\n", "store":true}"#;
        check(body, |edit| edit.messages(vec![Piece::Kept(0..1)]), body);
        check(
            body,
            |edit| edit.messages(vec![written("1"), Piece::Kept(0..1)]),
            r#"{"input": [1,{"role":"user","content":"hi\n"}], "store":true}"#,
        );
        check(
            r#"{"store":true}"#,
            |edit| edit.messages(vec![written("1")]),
            r#"{"input":[1],"store":true}"#,
        );
        check("{}", |edit| edit.messages(vec![]), "{}");
        check(
            "{}",
            |edit| edit.messages(vec![written("1")]),
            r#"{"input":[1]}"#,
        );
    }

    #[test]
    fn instructions_among_the_messages_stay_in_front() {
        let check = |body: &str, pieces: Vec<Piece<'_>>, expected: &str| {
            let request = Request::parse(Dialect::Chat, body.as_bytes()).unwrap();
            let rendered = request.edit().messages(pieces).render().unwrap();
            assert_eq!(String::from_utf8(rendered).unwrap(), expected);
        };
        let system = r#"{"role":"system"}"#;
        let developer = r#"{"role":"developer"}"#;
        let user = r#"{"role":"user"}"#;
        let body = format!(r#"{{"messages":[{system}, {developer} , {user},{system} ]}}"#);
        check(&body, vec![Piece::Kept(0..2)], &body);
        check(
            &body,
            vec![written("1"), Piece::Kept(1..2)],
            &format!(r#"{{"messages":[{system}, {developer} , 1,{system} ]}}"#),
        );
        check(
            &body,
            vec![],
            &format!(r#"{{"messages":[{system}, {developer} ]}}"#),
        );
        let bare = format!(r#"{{"messages":[{system}]}}"#);
        check(&bare, vec![], &bare);
        check(
            &bare,
            vec![written("1")],
            &format!(r#"{{"messages":[{system},1]}}"#),
        );
    }

    #[test]
    fn messages_that_are_not_there_are_an_error() {
        let request = Request::parse(Dialect::Chat, br#"{"messages":[{}]}"#).unwrap();
        let error = request.edit().messages(vec![Piece::Kept(0..2)]).render();
        assert_eq!(
            error,
            Err(ApiError::NoSuchMessage {
                start: 0,
                end: 2,
                count: 1
            })
        );
    }
}
