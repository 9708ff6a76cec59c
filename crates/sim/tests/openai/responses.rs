//! Responses.

use crate::client::{Client, same_as_a_stream};
use serde_json::{Value, json};
use wire::api::Dialect;

const PATH: &str = "/v1/responses";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn call(id: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": "read", "arguments": "{}"})
}

fn output(id: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": "done"})
}

#[test]
fn items() {
    let mut client = Client::new();
    let mut check = |input: Value, code: &str, text: &str| {
        client.refused(PATH, &json!({ "input": input }), code, text);
    };
    check(json!([]), "missing_required_parameter", "input");
    check(
        json!([user("a"), call("1")]),
        "",
        "No tool output found for function call 1.",
    );
    check(json!([user("a"), output("1")]), "", "No tool call found");
    check(
        json!([user("a"), output("1"), call("1")]),
        "",
        "No tool call found",
    );
    let twice = json!({"type": "message", "id": "m", "role": "user", "content": "a"});
    check(json!([twice, twice]), "", "Duplicate item found with id m");
    let thought = json!({"type": "reasoning", "id": "rs", "summary": []});
    check(
        json!([user("a"), thought, user("b")]),
        "",
        "without its required following item",
    );
    let trigger = json!({"type": "compaction_trigger"});
    check(
        json!([trigger, user("a")]),
        "invalid_value",
        "must be the final input item",
    );
    let forged = json!({"type": "compaction", "encrypted_content": "x"});
    check(
        json!([forged, user("a")]),
        "invalid_encrypted_content",
        "could not be verified",
    );
    client.answered(PATH, &json!({"input": [user("a"), call("1"), output("1")]}));
    client.answered(PATH, &json!({"input": "a"}));
}

#[test]
fn parameters() {
    let mut client = Client::new();
    let mut check = |more: Value, code: &str, text: &str| {
        let mut body = more;
        body["input"] = json!("a");
        client.refused(PATH, &body, code, text);
    };
    check(
        json!({"previous_response_id": "x"}),
        "previous_response_not_found",
        "'x' not found",
    );
    check(json!({"truncation": "some"}), "invalid_value", "truncation");
    check(
        json!({"context_management": [{"type": "fold"}]}),
        "invalid_value",
        "type",
    );
    check(json!({"context_management": {}}), "invalid_type", "array");
    client.refused(PATH, &json!({}), "missing_required_parameter", "input");
}

#[test]
fn a_response_goes_on() {
    let mut client = Client::new();
    let first = client.answered(PATH, &json!({"input": "my name is Ada"}));
    let id = &first["id"];
    let next = json!({"input": "and?", "previous_response_id": id});
    let second = client.answered(PATH, &next);
    let tokens = |answer: &Value| answer["usage"]["input_tokens"].as_u64().unwrap();
    assert!(tokens(&second) > tokens(&first));
    let count = client.answered("/v1/responses/input_tokens", &next);
    assert_eq!(count["input_tokens"], second["usage"]["input_tokens"]);
    let mut both = next;
    both["conversation"] = json!("c");
    client.refused(PATH, &both, "mutually_exclusive_parameters", "exclusive");
    let unstored = client.answered(PATH, &json!({"input": "x", "store": false}));
    let lost = json!({"input": "y", "previous_response_id": unstored["id"]});
    client.refused(PATH, &lost, "previous_response_not_found", "");
}

#[test]
fn compaction_in_all_three_ways() {
    let mut client = Client::new();
    let talk = [
        user("fix a"),
        json!({"role": "assistant", "content": "yes"}),
        user("go on"),
    ];
    let mut input = talk.to_vec();
    input.push(json!({"type": "compaction_trigger"}));
    let triggered = client.answered(PATH, &json!({ "input": input }));
    let item = &triggered["output"][0];
    assert_eq!(
        (&item["type"], triggered["output"].as_array().unwrap().len()),
        (&json!("compaction"), 1)
    );
    client.answered(PATH, &json!({"input": [item, user("next")]}));
    let compacted = client.answered("/v1/responses/compact", &json!({ "input": talk }));
    assert_eq!(compacted["object"], "response.compaction");
    let mut output = compacted["output"].as_array().unwrap().clone();
    assert_eq!(output.len(), 3, "two user messages and the item");
    output.push(user("next"));
    client.answered(PATH, &json!({ "input": output }));
    let inline = json!({"input": talk, "context_management": [{"type": "compaction", "compact_threshold": 5}]});
    let answer = client.answered(PATH, &inline);
    assert_eq!(answer["output"][0]["type"], "compaction");
    assert_eq!(answer["output"][1]["type"], "message");
}

#[test]
fn overflow() {
    let mut client = Client::new();
    client.provider.config_mut().window = Some(context::Tokens::new(60));
    let mut body = json!({"input": [user(&"word ".repeat(40)), user(&"word ".repeat(40))]});
    client.refused(
        PATH,
        &body,
        "context_length_exceeded",
        "exceeds the context window",
    );
    body["truncation"] = json!("auto");
    let answer = client.answered(PATH, &body);
    assert!(answer["usage"]["input_tokens"].as_u64().unwrap() < 60);
    let short = client.answered(
        PATH,
        &json!({"input": "@sim say one two three", "max_output_tokens": 2}),
    );
    assert_eq!(short["incomplete_details"]["reason"], "max_output_tokens");
}

#[test]
fn streams_add_up() {
    let text = format!(
        "@sim think hm\n@sim say {}\n@sim call read {{\"a\":1}}",
        "wörd ".repeat(40)
    );
    let tools = json!([{"type": "function", "name": "read", "parameters": {}}]);
    same_as_a_stream(
        Dialect::Responses,
        PATH,
        &json!({"input": text, "tools": tools}),
    );
    let compacts = json!({"input": [user("a"), {"type": "compaction_trigger"}]});
    same_as_a_stream(Dialect::Responses, PATH, &compacts);
}

#[test]
fn a_provider_without_compaction_knows_none_of_it() {
    let mut client = Client::new();
    client.provider.config_mut().compaction = sim::Compaction::Unknown;
    let found = client.send("/v1/responses/compact", &json!({"input": "a"}));
    assert_eq!(found.status, 404, "{}", found.text());
    let edit = json!([{"type": "compaction", "compact_threshold": 9}]);
    let due = json!({"input": "a", "context_management": edit});
    client.refused(PATH, &due, "unknown_parameter", "context_management");
    for item in [
        json!({"type": "compaction_trigger"}),
        json!({"type": "compaction", "encrypted_content": "x"}),
    ] {
        let body = json!({"input": [user("a"), item]});
        client.refused(PATH, &body, "invalid_value", "compaction");
    }
    client.answered(PATH, &json!({"input": "a"}));
}
