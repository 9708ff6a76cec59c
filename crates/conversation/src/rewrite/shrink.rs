//! Oversized tool results, shortened before they are first sent.

use context::shrink::{Limits, Recovery, shrink};
use context::turn::ToolCall;
use context::{Part, Role, TokenCounter, Tokens, TurnId};
use history::Change;
use wire::api::Request;

use crate::originals::offers;

/// The shortened results of the newest messages: as many as there are ids in `new`, which are those of
/// their turns. Messages that were sent before must not be among them.
///
/// The model is told how to have the whole: by the same call again, and, where the client offers it our
/// tool `expand`, by the handle of the result. So a call that is repeated because its result was shortened brings
/// it whole where it fits into `room`.
#[must_use]
pub fn shrink_new(
    request: &Request<'_>,
    new: &[TurnId],
    (limits, mut room): (&Limits, Tokens),
    counter: &dyn TokenCounter,
) -> Vec<(usize, Change)> {
    let first = request.len().saturating_sub(new.len());
    let mut out = Vec::new();
    let mut expands = None;
    for (index, id) in (first..request.len()).zip(new) {
        let Some(message) = request.message(index) else {
            continue;
        };
        // No token is shorter than a byte.
        let long = message.raw().len() as u64 > limits.max().get();
        if !long || !matches!(message.role(), Role::User | Role::Tool) {
            continue;
        }
        let draft = message.draft();
        let results = draft.parts.iter().filter_map(|part| match part {
            Part::Result(result) => Some(result),
            _ => None,
        });
        for (number, result) in results.enumerate() {
            if (result.text.len() as u64) <= limits.max().get() {
                continue;
            }
            let call = call_of(request, index, result.call.as_str());
            let whole = counter.count(&result.text);
            let fits = room > Tokens::ZERO && whole <= room;
            let again = call.as_ref().filter(|_| fits);
            if again.is_some_and(|call| repeats(request, index, call, limits)) {
                room = room.saturating_sub(whole);
                continue;
            }
            let expands = *expands.get_or_insert_with(|| offers(request, "expand"));
            let id = match result.call.as_str() {
                "" => id.to_string(),
                call => format!("call:{call}"),
            };
            let recovery = if expands {
                Recovery::Expand(&id)
            } else {
                Recovery::CallAgain
            };
            let shrunk = shrink(result, call.as_ref(), limits, counter, recovery);
            out.extend(shrunk.map(|shrunk| {
                let result = u32::try_from(number).unwrap_or(u32::MAX);
                let text = shrunk.text;
                (index, Change::Shrunk { result, text })
            }));
        }
    }
    out
}

/// Returns true if an earlier message holds the same call with a result above the limit: a marker stands in its
/// place and says that the call brings the whole.
fn repeats(request: &Request<'_>, at: usize, call: &ToolCall, limits: &Limits) -> bool {
    let mut earlier = Vec::new();
    for message in (0..at).filter_map(|index| request.message(index)) {
        for part in message.draft().parts {
            match part {
                Part::Call(other)
                    if other.id != call.id
                        && other.name == call.name
                        && other.arguments == call.arguments =>
                {
                    earlier.push(other.id);
                }
                Part::Result(result) => {
                    let is_long = result.text.len() as u64 > limits.max().get();
                    if is_long && earlier.contains(&result.call) {
                        return true;
                    }
                }
                _ => {}
            }
        }
    }
    false
}

/// The call that a result in the message `at` answers, out of the model's last message before it.
fn call_of(request: &Request<'_>, at: usize, id: &str) -> Option<ToolCall> {
    let asked = (0..at)
        .rev()
        .filter_map(|index| request.message(index))
        .find(|message| message.role() == Role::Assistant)?;
    let parts = asked.draft().parts;
    parts.into_iter().find_map(|part| match part {
        Part::Call(call) if call.id.as_str() == id => Some(call),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use context::shrink::Limits;
    use context::{Heuristic, Tokens, TurnId};
    use history::Change;
    use wire::api::{Dialect, Request};

    use super::shrink_new;
    use crate::rewrite::render;
    use crate::view::View;

    fn log() -> String {
        (0..600)
            .map(|number| format!("line {number} of the log\\n"))
            .collect()
    }

    fn check(dialect: Dialect, body: &str, new: usize, expected: &[(usize, u32)]) -> String {
        let request = Request::parse(dialect, body.as_bytes()).unwrap();
        let ids = vec![TurnId::from_bytes([7; 16]); new];
        let limits = Limits::new(Tokens::new(200));
        let room = Tokens::new(6_000);
        let changes = shrink_new(&request, &ids, (&limits, room), &Heuristic);
        let places: Vec<(usize, u32)> = changes
            .iter()
            .map(|(at, change)| match change {
                Change::Shrunk { result, .. } => (*at, *result),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(places, expected);
        let view = View {
            changes,
            ..View::default()
        };
        String::from_utf8(render(&request, &view).unwrap()).unwrap()
    }

    #[test]
    fn only_long_results_of_new_messages_are_shortened() {
        let long = log();
        let body = format!(
            r#"{{"messages":[{{"role":"assistant","content":[{{"type":"tool_use","id":"a","name":"Bash","input":{{"command":"make"}}}},{{"type":"tool_use","id":"b","name":"Read","input":{{}}}}]}},
              {{"role":"user","content":[{{"type":"tool_result","tool_use_id":"b","content":"short"}},{{"type":"tool_result","tool_use_id":"a","content":[{{"type":"text","text":"{long}"}}]}},{{"type":"text","text":"{long}"}}]}}]}}"#
        );
        let shown = check(Dialect::Anthropic, &body, 1, &[(1, 1)]);
        assert!(shown.len() < body.len());
        assert!(shown.contains("run the same call again"));
        assert!(shown.contains(r#"{\"name\":\"Bash\""#));
        assert!(!shown.contains("expand"));
        assert_eq!(check(Dialect::Anthropic, &body, 0, &[]), body);
    }

    #[test]
    fn where_there_is_a_tool_for_it_the_handle_is_named() {
        let long = log();
        let body = format!(
            r#"{{"tools":[{{"type":"function","function":{{"name":"mcp__ebbtide__expand"}}}}],"messages":[{{"role":"assistant","tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":"{long}"}}]}}"#
        );
        let shown = check(Dialect::Chat, &body, 2, &[(1, 0)]);
        assert!(shown.contains(r#"use expand with the id \"call:a\""#));
    }

    #[test]
    fn a_repeated_call_comes_whole_where_it_fits() {
        let (long, longer) = (log(), log().repeat(3));
        let body = |again: &str, text: &str| {
            let call = |id: &str, file: &str| {
                format!(
                    r#"{{"role":"assistant","tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"cat","arguments":"{file}"}}}}]}}"#
                )
            };
            let (first, second) = (call("a", "one"), call("b", again));
            format!(
                r#"{{"messages":[{first},{{"role":"tool","tool_call_id":"a","content":"{text}"}},{second},{{"role":"tool","tool_call_id":"b","content":"{text}"}}]}}"#
            )
        };
        check(Dialect::Chat, &body("one", &long), 1, &[]);
        check(Dialect::Chat, &body("two", &long), 1, &[(3, 0)]);
        check(Dialect::Chat, &body("one", &longer), 1, &[(3, 0)]);
        check(Dialect::Chat, &body("one", "short"), 1, &[]);
    }

    #[test]
    fn an_item_of_responses_is_shortened_in_its_place() {
        let long = log();
        let body = format!(
            r#"{{"input":[{{"type":"function_call","call_id":"a","name":"f","arguments":"{{}}"}},{{"type":"function_call_output","call_id":"a","output":"{long}"}},{{"role":"user","content":"go on"}}]}}"#
        );
        check(Dialect::Responses, &body, 2, &[(1, 0)]);
    }
}
