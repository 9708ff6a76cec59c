//! Oversized tool results, shortened before they are first sent.

use context::shrink::{Limits, Recovery, shrink_for};
use context::turn::ToolCall;
use context::{Part, Role, TokenCounter, TurnId};
use history::Change;
use serde_json::Value;
use wire::api::Request;

use crate::originals::is_ours;

/// The shortened results of the newest messages: as many as there are ids in `new`, which are those of
/// their turns. Messages that were sent before must not be among them.
///
/// The model is told how to have the whole: by the same call again, and, where the client offers it a tool
/// of this product that expands, by the id of the turn.
#[must_use]
pub fn shrink_new(
    request: &Request<'_>,
    new: &[TurnId],
    limits: &Limits,
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
            let expands = *expands.get_or_insert_with(|| offers_expand(request));
            let id = id.to_string();
            let recovery = if expands {
                Recovery::Expand(&id)
            } else {
                Recovery::CallAgain
            };
            let shrunk = shrink_for(result, call.as_ref(), limits, counter, recovery);
            out.extend(shrunk.map(|shrunk| {
                let result = u32::try_from(number).unwrap_or(u32::MAX);
                let text = shrunk.text;
                (index, Change::Shrunk { result, text })
            }));
        }
    }
    out
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

/// Returns true if the client offers the model our tool that restores shortened results. Clients
/// put the server's name before the tool's.
fn offers_expand(request: &Request<'_>) -> bool {
    let tools = request
        .tools()
        .and_then(|tools| serde_json::from_str::<Value>(tools.value).ok());
    let named = |tool: &Value| {
        let name = tool
            .get("name")
            .or_else(|| tool.get("function").and_then(|it| it.get("name")));
        name.and_then(Value::as_str)
            .is_some_and(|name| is_ours(name) && name.contains("expand"))
    };
    tools
        .as_ref()
        .and_then(Value::as_array)
        .is_some_and(|tools| tools.iter().any(named))
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
        let changes = shrink_new(&request, &ids, &limits, &Heuristic);
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
    fn where_there_is_a_tool_for_it_the_id_of_the_turn_is_named() {
        let long = log();
        let body = format!(
            r#"{{"tools":[{{"type":"function","function":{{"name":"mcp__ebbtide__expand"}}}}],"messages":[{{"role":"assistant","tool_calls":[{{"id":"a","type":"function","function":{{"name":"f","arguments":"{{}}"}}}}]}},{{"role":"tool","tool_call_id":"a","content":"{long}"}}]}}"#
        );
        let shown = check(Dialect::Chat, &body, 2, &[(1, 0)]);
        assert!(shown.contains(&TurnId::from_bytes([7; 16]).to_string()));
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
