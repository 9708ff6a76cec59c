//! Requests that name an earlier answer in place of the messages before their own.

use std::borrow::Cow;

use super::error::ApiError;
use super::{Piece, Request};

impl Request<'_> {
    /// The ID of the answer that the request continues. `None` where it names none, or names other
    /// state at the provider as well.
    #[must_use]
    pub fn previous_answer(&self) -> Option<Cow<'_, str>> {
        let key = self.dialect.facts().keys.previous_answer?;
        let id = self.field_text(key)?;
        (!self.names_other_state()).then_some(id)
    }

    /// Returns `true` if a later request may name the answer to this one.
    #[must_use]
    pub fn may_be_continued(&self) -> bool {
        let keys = &self.dialect.facts().keys;
        let is_kept = keys.not_kept.is_none_or(|(key, value)| {
            let field = self.field(key);
            field.is_none_or(|field| field.value != value)
        });
        keys.previous_answer.is_some() && is_kept && !self.names_other_state()
    }

    /// The messages that the request adds to the conversation, as JSON with commas between them. A
    /// trigger of a compaction is not one of them: it does not stay.
    #[must_use]
    pub fn own_messages(&self) -> String {
        let end = self.compacts().unwrap_or(self.len());
        if end == 0 {
            return String::new();
        }
        let kept = self.edit().kept(&(0..end)).map(Cow::into_owned);
        kept.unwrap_or_default()
    }

    /// The request with the `earlier` messages, JSON with commas between them, in place of the id of an
    /// answer.
    ///
    /// # Errors
    /// None for a request that was parsed.
    pub fn behind(&self, earlier: &str) -> Result<Vec<u8>, ApiError> {
        let pieces = vec![
            Piece::Written(Cow::Borrowed(earlier)),
            Piece::Kept(0..self.len()),
        ];
        let edit = self.edit();
        let edit = match self.dialect.facts().keys.previous_answer {
            Some(key) => edit.remove(key),
            None => edit,
        };
        edit.messages(pieces).render()
    }

    fn names_other_state(&self) -> bool {
        let keys = &self.dialect.facts().keys;
        let others = keys.provider_state.iter();
        let mut others = others.filter(|key| keys.previous_answer != Some(**key));
        others.any(|key| self.sets(key))
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{Dialect, Request};

    fn check(body: &str, own: &str, behind: &str) {
        let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
        assert_eq!(request.own_messages(), own, "{body}");
        let written = request.behind(r#"{"a":1},{"b":2}"#).unwrap();
        assert_eq!(String::from_utf8(written).unwrap(), behind, "{body}");
    }

    #[test]
    fn earlier_messages_take_the_place_of_an_id() {
        check(
            r#"{"model":"m", "previous_response_id":"r", "input":"hi", "x":1.0}"#,
            r#"{"role":"user","content":"hi"}"#,
            r#"{"model":"m", "input":[{"a":1},{"b":2},{"role":"user","content":"hi"}], "x":1.0}"#,
        );
        check(
            r#"{"input":[ {"c":3} , {"d":4} ],"previous_response_id":"r"}"#,
            r#"{"c":3} , {"d":4}"#,
            r#"{"input":[ {"a":1},{"b":2},{"c":3} , {"d":4} ]}"#,
        );
        check(
            r#"{"previous_response_id":"r","input":[]}"#,
            "",
            r#"{"input":[{"a":1},{"b":2}]}"#,
        );
        check(
            r#"{"previous_response_id":"r","instructions":"be brief"}"#,
            "",
            r#"{"input":[{"a":1},{"b":2}],"instructions":"be brief"}"#,
        );
        check(
            r#"{"input":[{"c":3},{"type":"compaction_trigger"}],"previous_response_id":"r"}"#,
            r#"{"c":3}"#,
            r#"{"input":[{"a":1},{"b":2},{"c":3},{"type":"compaction_trigger"}]}"#,
        );
    }

    #[test]
    fn an_id_beside_other_state_is_the_providers_business() {
        let check = |dialect, body: &str, previous: Option<&str>, continued: bool| {
            let request = Request::parse(dialect, body.as_bytes()).unwrap();
            assert_eq!(request.previous_answer().as_deref(), previous, "{body}");
            assert_eq!(request.may_be_continued(), continued, "{body}");
        };
        let responses = Dialect::Responses;
        check(responses, r#"{"input":"a"}"#, None, true);
        check(responses, r#"{"input":"a","store":false}"#, None, false);
        check(responses, r#"{"input":"a","store":null}"#, None, true);
        check(
            responses,
            r#"{"input":"a","previous_response_id":"r"}"#,
            Some("r"),
            true,
        );
        check(
            responses,
            r#"{"input":"a","previous_response_id":null}"#,
            None,
            true,
        );
        check(
            responses,
            r#"{"input":"a","previous_response_id":"r","conversation":"c"}"#,
            None,
            false,
        );
        check(
            Dialect::Chat,
            r#"{"messages":[],"previous_response_id":"r"}"#,
            None,
            false,
        );
    }
}
