//! Conversations in the shapes that Claude Code and Codex send. What these clients put into messages by themselves
//! is in every request that the provider gets, byte for byte, however much was summarised.

use serde_json::{Value, json};

use crate::dialects;
use crate::house::{Agent, House, words};

const RULES: &str = "<system-reminder>\nThe rules of this project:\n- end each commit message with heliotrope\n\n      Maybe they matter.\n</system-reminder>\n\n";
const TOOLS: &str =
    "These tools can be loaded by name:\nFetch\nPlan\nWatch\nSearch\nPlant\nWater\nHarvest";
const MORE_TOOLS: &str = "These tools can be loaded by name:\nPrune";
const SKILLS: &str =
    "These skills can be called:\n\n- greet: hello\n- mend: repair\n- build: compile\n- sow: seed";
const MORE_SKILLS: &str = "These skills can be called:\n\n- farewell: how to part";
const GREET: &str = "Base directory: /work/.claude/skills/greet\n\n# Greeting\n\nSay periwinkle.\n";
const NESTED: &str =
    "Contents of /work/sub/CLAUDE.md:\n\n# Rules of sub\n\nIndent with three spaces.\n";
const REMARK: &str = "Tool loaded.";
/// The swaps of each conversation.
const SWAPS: usize = 3;

fn wrapped(text: &str) -> String {
    format!("<system-reminder>\n{text}\n</system-reminder>\n")
}

/// Returns true if a message or one of its blocks is this text.
fn holds(messages: &[Value], text: &str) -> bool {
    messages.iter().any(|message| {
        let blocks = message["content"].as_array().into_iter().flatten();
        message["content"] == text || blocks.into_iter().any(|block| block["text"] == text)
    })
}

#[track_caller]
fn all_stand(messages: &[Value], stands: &[String]) {
    for text in stands {
        assert!(holds(messages, text), "{text:?} is not in {messages:#?}");
    }
}

/// Claude Code before a provider.
struct Coder<'h> {
    house: &'h House,
    agent: Agent,
    /// The texts that have to be in every request from now on.
    stands: Vec<String>,
    swaps: usize,
}

impl<'h> Coder<'h> {
    fn new(house: &'h House, model: &str) -> Self {
        let mut agent = Agent::new("key-one");
        model.clone_into(&mut agent.model);
        agent.fields = json!({"tools": [
            {"name": "Skill", "input_schema": {"type": "object"}},
            {"name": "ToolSearch", "input_schema": {"type": "object"}},
            {"name": "Search", "input_schema": {"type": "object"}, "defer_loading": true},
        ]});
        Self {
            house,
            agent,
            stands: Vec::new(),
            swaps: 0,
        }
    }

    fn stand(&mut self, text: impl Into<String>) -> Value {
        let text = text.into();
        self.stands.push(text.clone());
        json!({"type": "text", "text": text})
    }

    /// Adds a message, or two, and checks what the provider gets.
    async fn send(&mut self, content: Value, system: Option<&str>) {
        let user = json!({"role": "user", "content": content});
        let system = system.map(|text| json!({"role": "system", "content": text}));
        self.agent.messages.extend([user].into_iter().chain(system));
        let came = self.agent.go_on(self.house).await;
        assert_eq!(came.status, 200, "{came:?}");
        self.swaps += usize::from(came.did().contains("swapped"));
        all_stand(&self.house.newest(), &self.stands);
        self.house.prepared(came.conversation()).await;
    }

    /// The id of the call that the provider answered with.
    fn call(&self) -> Value {
        let newest = self.agent.messages.last().expect("an answer");
        assert_eq!(newest["content"][0]["type"], "tool_use", "{newest}");
        newest["content"][0]["id"].clone()
    }

    /// Calls a skill, and loads a tool.
    async fn equip(&mut self) {
        let result =
            json!({"type": "tool_result", "tool_use_id": self.call(), "content": "Launching"});
        let skill = self.stand(GREET);
        self.send(json!([result, skill]), None).await;
        let search = "@sim call ToolSearch {\"query\":\"select:Search\"}";
        self.send(json!(search), None).await;
        let reference = json!([{"type": "tool_reference", "tool_name": "Search"}]);
        let result =
            json!({"type": "tool_result", "tool_use_id": self.call(), "content": reference});
        let remark = json!({"type": "text", "text": REMARK});
        self.send(json!([result, remark]), None).await;
    }

    /// The loaded tool is still there, with its call, and the client's remark is not among the user's words.
    fn check_loaded(&self) {
        let messages = self.house.newest();
        let result = messages
            .iter()
            .position(|it| it["content"][0]["content"][0]["type"] == "tool_reference")
            .expect("a loaded tool");
        let (call, result) = (&messages[result - 1], &messages[result]);
        assert_eq!(call["content"][0]["name"], "ToolSearch");
        assert_eq!(
            call["content"][0]["id"],
            result["content"][0]["tool_use_id"]
        );
        let as_words = format!("] {REMARK}");
        assert!(
            !Value::from(messages.clone())
                .to_string()
                .contains(&as_words)
        );
    }
}

const GREETED: &str = "Mend the parser.\n@sim call Skill {\"skill\":\"greet\"}";

#[tokio::test]
async fn reminders_in_messages_stand() {
    let house = House::new(|_| {}).await;
    let mut coder = Coder::new(&house, "claude-sonnet-4-5");
    let first = json!([
        coder.stand(wrapped(TOOLS)),
        coder.stand(wrapped(SKILLS)),
        coder.stand(RULES),
        {"type": "text", "text": GREETED},
    ]);
    coder.send(first, None).await;
    coder.equip().await;
    let more = json!([
        coder.stand(wrapped(MORE_SKILLS)),
        coder.stand(wrapped(MORE_TOOLS)),
        {"type": "text", "text": "And the lexer."},
    ]);
    coder.send(more, None).await;
    for n in 0..60 {
        coder.send(json!(words(n, 700)), None).await;
        if coder.swaps == SWAPS {
            break;
        }
    }
    assert_eq!(coder.swaps, SWAPS);
    coder.check_loaded();
    house.close().await;
}

#[tokio::test]
async fn system_messages_between_others_stand() {
    let house = House::new(|_| {}).await;
    let mut coder = Coder::new(&house, "claude-opus-4-8");
    let lists = format!("{TOOLS}\n\n{SKILLS}");
    let first = json!([coder.stand(RULES), {"type": "text", "text": GREETED}]);
    coder.stand(lists.as_str());
    coder.send(first, Some(&lists)).await;
    coder.equip().await;
    for text in [MORE_TOOLS, MORE_SKILLS, NESTED] {
        coder.stand(text);
        coder.send(json!("Go on."), Some(text)).await;
    }
    for n in 0..60 {
        let printed = format!("A hook printed: {}", words(n, 20));
        coder.send(json!(words(n, 700)), Some(&printed)).await;
        if coder.swaps == SWAPS {
            break;
        }
    }
    assert_eq!(coder.swaps, SWAPS);
    coder.check_loaded();
    house.close().await;
}

/// The messages with which Codex begins in a folder: the project's rules and the environment, in one message.
fn folder(name: &str) -> [String; 2] {
    [
        format!(
            "# AGENTS.md instructions for {name}\n\n<INSTRUCTIONS>\n# Rules\n\nEnd each commit message with heliotrope.\n\n</INSTRUCTIONS>"
        ),
        format!(
            "<environment_context>\n  <cwd>{name}</cwd>\n  <shell>bash</shell>\n  <current_date>2026-11-23</current_date>\n</environment_context>"
        ),
    ]
}

fn item(role: &str, texts: &[String]) -> Value {
    let parts = texts.iter();
    let parts = parts.map(|text| json!({"type": "input_text", "text": text}));
    json!({"type": "message", "role": role, "content": parts.collect::<Vec<_>>()})
}

/// Sends the items, takes the answer in, and returns whether a summary was swapped in.
async fn respond(house: &House, items: &mut Vec<Value>, stands: &[String]) -> bool {
    let tools =
        json!([{"type": "function", "name": "exec_command", "parameters": {"type": "object"}}]);
    let body = json!({"model": "gpt-5.5", "store": false, "tools": tools, "input": items});
    let came = dialects::post(house, "/v1/responses", &body).await;
    assert_eq!(came.status, 200, "{came:?}");
    items.extend(came.body["output"].as_array().expect("a list").clone());
    let sent = house.sent().pop().expect("a request");
    all_stand(sent["input"].as_array().expect("a list"), stands);
    house.prepared(came.conversation()).await;
    came.did().contains("swapped")
}

#[tokio::test]
async fn the_first_messages_of_codex_stand() {
    let house = House::new(|_| {}).await;
    let base = "You are an agent in a terminal.".to_owned();
    let permissions = "<permissions instructions>\nAll is allowed.\n</permissions instructions>";
    let [agents, environment] = folder("/work");
    let mut stands = vec![base.clone(), permissions.to_owned(), agents, environment];
    let asks = "Mend the parser.\n@sim call exec_command {\"cmd\":\"ls\"}".to_owned();
    let mut items = vec![
        item("developer", &stands[..1]),
        item("developer", &stands[1..2]),
        item("user", &stands[2..]),
        item("user", &[asks]),
    ];
    respond(&house, &mut items, &stands).await;
    let call = items.last().expect("a call")["call_id"].clone();
    items.push(json!({"type": "function_call_output", "call_id": call, "output": "parser.rs"}));
    respond(&house, &mut items, &stands).await;
    let mut swaps = 0;
    for n in 0..80 {
        if swaps == SWAPS && stands[3] != folder("/work/sub")[1] {
            // Resumed in another folder: newer versions replace the older.
            stands.splice(2.., folder("/work/sub"));
            items.push(item("user", &stands[2..]));
        }
        items.push(item("user", &[words(n, 1_000)]));
        swaps += usize::from(respond(&house, &mut items, &stands).await);
        if swaps == 2 * SWAPS {
            break;
        }
    }
    assert_eq!(swaps, 2 * SWAPS);
    let sent = house.sent().pop().expect("a request");
    let sent = sent["input"].as_array().expect("a list");
    assert!(!holds(sent, &folder("/work")[1]), "{sent:#?}");
    house.close().await;
}
