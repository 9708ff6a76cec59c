//! A message with only some of its blocks.

use std::borrow::Cow;

use super::json::scan::{Kind, Span};
use super::json::tree::Value;
use super::message::Message;
use super::message_edit::{cut, splice};

/// The type of the blocks by which a result loads tools.
const LOADS: &str = "tool_reference";

/// Two messages that load tools: the calls, and the results that name the tools.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loads {
    /// The model's message, with these calls only.
    pub calls: String,
    /// The user's message, with these results only.
    pub results: String,
}

impl<'r> Message<'r> {
    /// The message with only those of its texts whose indices are in `texts`, counted from 0; every text keeps
    /// its bytes, but for cache breakpoints. `None` where none is left.
    #[must_use]
    pub fn with_texts_only(&self, texts: &[usize]) -> Option<Cow<'r, str>> {
        let mut number = 0;
        let mut keeps = |block: Value<'_>| {
            let text = block.text().or_else(|| block.get_text("text"));
            let is_text = text.is_some_and(|text| !text.is_empty());
            let keeps = is_text && texts.contains(&number);
            number += usize::from(is_text);
            keeps
        };
        let trees = self.trees();
        let content = trees.first()?.root().get("content");
        match content.map(Value::kind) {
            // One text, and nothing else to keep.
            None | Some(Kind::Plain | Kind::Escaped) => {
                texts.contains(&0).then(|| Cow::Borrowed(self.raw()))
            }
            Some(Kind::List) => self.with_blocks_only(content?, &mut keeps),
            _ => None,
        }
    }

    /// The calls in `self` and the results in `answers` that load tools. `None` where there are none.
    #[must_use]
    pub fn loads(&self, answers: &Self) -> Option<Loads> {
        let trees = answers.trees();
        let content = trees.first()?.root().get("content")?;
        let loading = |block: Value<'_>| {
            let inside = block.get("content");
            let mut inside = inside.into_iter().flat_map(Value::elements);
            inside.any(|it| it.get("type").is_some_and(|kind| kind.is(LOADS)))
        };
        let results = content.elements().filter(|block| loading(*block));
        let ids: Vec<Cow<'_, str>> = results
            .filter_map(|it| it.get_text("tool_use_id"))
            .collect();
        let calls_trees = self.trees();
        let calls = calls_trees.first()?.root().get("content")?;
        let called = |block: Value<'_>| {
            let is_call = block.get("type").is_some_and(|kind| kind.is("tool_use"));
            is_call && block.get_text("id").is_some_and(|id| ids.contains(&id))
        };
        Some(Loads {
            calls: self.with_blocks_only(calls, &mut { called })?.into_owned(),
            results: answers
                .with_blocks_only(content, &mut { loading })?
                .into_owned(),
        })
    }

    /// The message with only the blocks of `content` that `keeps` wants.
    fn with_blocks_only(
        &self,
        content: Value<'_>,
        keeps: &mut dyn FnMut(Value<'_>) -> bool,
    ) -> Option<Cow<'r, str>> {
        let blocks: Vec<(Value<'_>, bool)> = content.elements().map(|it| (it, keeps(it))).collect();
        if !blocks.iter().any(|(_, kept)| *kept) {
            return None;
        }
        let mut patches = cut(blocks.iter().map(|(block, kept)| (block.span(), !kept)));
        for (block, _) in blocks.iter().filter(|(_, kept)| *kept) {
            let members = block.members().map(|(key, value)| {
                let span = Span {
                    start: key.span().start,
                    end: value.span().end,
                };
                (span, key.is("cache_control"))
            });
            patches.extend(cut(members));
        }
        Some(match patches.is_empty() {
            true => Cow::Borrowed(self.raw()),
            false => Cow::Owned(splice(self.raw(), patches)),
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::api::{Dialect, Request};

    fn texts_only(dialect: Dialect, body: &str, at: usize, texts: &[usize]) -> Option<String> {
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let message = request.message(at).unwrap();
        message.with_texts_only(texts).map(|it| it.into_owned())
    }

    #[test]
    fn texts_keep_their_bytes() {
        let body = r#"{"messages":[{"role":"user", "content":[{"type":"text","text":"\u0041"}, {"type":"image"},{"text":"b" ,"cache_control":{"type":"ephemeral"},"type":"text"}]}]}"#;
        let check = |texts: &[usize], expected: Option<&str>| {
            assert_eq!(
                texts_only(Dialect::Anthropic, body, 0, texts).as_deref(),
                expected
            );
        };
        check(
            &[0],
            Some(r#"{"role":"user", "content":[{"type":"text","text":"\u0041"}]}"#),
        );
        check(
            &[1],
            Some(r#"{"role":"user", "content":[{"text":"b","type":"text"}]}"#),
        );
        check(&[2], None);
        let plain = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
        assert_eq!(
            texts_only(Dialect::Chat, plain, 0, &[0]).as_deref(),
            Some(r#"{"role":"user","content":"hello"}"#)
        );
        let items = r#"{"input":[{"type":"message","role":"user","content":[{"type":"input_text","text":"a"},{"type":"input_text","text":"b"}]}]}"#;
        assert_eq!(
            texts_only(Dialect::Responses, items, 0, &[1]).as_deref(),
            Some(
                r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"b"}]}"#
            )
        );
    }

    #[test]
    fn calls_that_load_tools_go_with_their_results() {
        let body = r#"{"messages":[{"role":"assistant","content":[{"type":"text","text":"x"},{"type":"tool_use","id":"a","name":"ToolSearch","input":{}},{"type":"tool_use","id":"b","name":"Bash","input":{}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"ok"},{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"Web"}]}]}]}"#;
        let request = Request::parse(Dialect::Anthropic, body.as_bytes()).unwrap();
        let (calls, results) = (request.message(0).unwrap(), request.message(1).unwrap());
        let loads = calls.loads(&results).unwrap();
        assert_eq!(
            loads.calls,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"ToolSearch","input":{}}]}"#
        );
        assert_eq!(
            loads.results,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"tool_reference","tool_name":"Web"}]}]}"#
        );
        assert_eq!(results.loads(&calls), None);
    }
}
