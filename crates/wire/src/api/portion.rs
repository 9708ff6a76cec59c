//! A message with only some of its blocks.

use std::borrow::Cow;

use super::dialect::ResultPlace;
use super::json::scan::{Kind, Span};
use super::json::tree::{Tree, Value};
use super::message::Message;
use super::message_edit::{cut, splice};

/// The type of the blocks by which a result loads tools.
const LOADS: &str = "tool_reference";
/// The type of a Responses item by which the model searches for tools.
pub(super) const SEARCH: &str = "tool_search_call";
/// The type of the item with the tools that the client found.
pub(super) const FOUND: &str = "tool_search_output";

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
        match self.dialect.facts().layout.results {
            ResultPlace::Blocks => self.blocks_that_load(answers),
            ResultPlace::Messages => self.items_that_load(answers),
        }
    }

    fn items_that_load(&self, answers: &Self) -> Option<Loads> {
        let of_kind = |message: &Self, kind: &str| {
            let items = message.trees().into_iter();
            items
                .filter(|item| item.root().get("type").is_some_and(|it| it.is(kind)))
                .collect::<Vec<_>>()
        };
        let id = |item: &Tree<'_>| item.root().get_text("call_id").map(Cow::into_owned);
        let results = of_kind(answers, FOUND);
        let ids: Vec<String> = results.iter().filter_map(id).collect();
        let mut calls = of_kind(self, SEARCH);
        calls.retain(|call| id(call).is_some_and(|id| ids.contains(&id)));
        let joined = |items: &[Tree<'_>]| {
            let items: Vec<&str> = items.iter().map(|item| item.root().raw()).collect();
            (!items.is_empty()).then(|| items.join(","))
        };
        Some(Loads {
            calls: joined(&calls)?,
            results: joined(&results)?,
        })
    }

    fn blocks_that_load(&self, answers: &Self) -> Option<Loads> {
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
    #[test]
    fn searches_for_tools_go_with_what_they_found() {
        let body = r#"{"input":[{"type":"reasoning","id":"r"},{"type":"tool_search_call","call_id":"a","execution":"client","arguments":{"query":"pin"}},{"type":"function_call","call_id":"b","name":"f","arguments":"{}"},
        {"type":"tool_search_output","call_id":"a","tools":[{"type":"namespace","name":"mcp__x"}]},{"type":"function_call_output","call_id":"b","output":"ok"}]}"#;
        let request = Request::parse(Dialect::Responses, body.as_bytes()).unwrap();
        let (calls, found) = (request.message(0).unwrap(), request.message(1).unwrap());
        let loads = calls.loads(&found).unwrap();
        assert_eq!(
            loads.calls,
            r#"{"type":"tool_search_call","call_id":"a","execution":"client","arguments":{"query":"pin"}}"#
        );
        assert_eq!(
            loads.results,
            r#"{"type":"tool_search_output","call_id":"a","tools":[{"type":"namespace","name":"mcp__x"}]}"#
        );
        assert_eq!(calls.loads(&request.message(2).unwrap()), None);
    }
}
