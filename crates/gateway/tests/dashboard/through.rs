//! Tests of the dashboard of a gateway that serves a client, in front of the strict provider.

use std::sync::Arc;

use bytes::Bytes;
use context::Tokens;
use gateway::config::{Config, RouteChoice, Upstreams};
use gateway::{Gateway, Running};
use history::{Limits, MemoryEngine};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::browser::{Browser, Scheme};

const PIN: &str = "never touch the folder vendor";

/// A gateway, the provider behind it, and a client that talks through it.
struct Talk {
    gateway: Running,
    _provider: sim::Running,
    key: &'static str,
    said: Vec<Value>,
}

/// An answer to the client.
struct Came {
    status: StatusCode,
    did: String,
    location: String,
    cookie: String,
    text: String,
}

fn now() -> Timestamp {
    Timestamp::from_second(1_790_000_000).expect("a time")
}

async fn listener() -> TcpListener {
    TcpListener::bind("127.0.0.1:0").await.expect("a port")
}

async fn send(request: Request<Full<Bytes>>) -> Came {
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let (head, body) = client
        .request(request)
        .await
        .expect("an answer")
        .into_parts();
    let header = |name| {
        let value = head.headers.get(name);
        value.map_or(String::new(), |value| {
            value.to_str().expect("text").to_owned()
        })
    };
    let body = body.collect().await.expect("a body").to_bytes();
    Came {
        status: head.status,
        did: header("x-ebbtide-did"),
        location: header("location"),
        cookie: header("set-cookie"),
        text: String::from_utf8_lossy(&body).into_owned(),
    }
}

impl Talk {
    async fn begin() -> Self {
        let provider = sim::serve(
            listener().await,
            sim::Config::default(),
            Arc::new(now),
            None,
        )
        .expect("a provider");
        let mut config = Config {
            upstream: Upstreams {
                anthropic: provider.url(),
                openai: provider.url(),
                ..Upstreams::default()
            },
            tenants: gateway::config::Tenancy::Keys,
            ..Config::default()
        };
        config.policy.window = Some(Tokens::new(12_000));
        config.policy.route = RouteChoice::Extractive;
        let gateway = Gateway {
            config,
            engine: Arc::new(MemoryEngine::new([7; 32], Limits::default())),
            clock: Arc::new(now),
        };
        Self {
            gateway: gateway::serve(listener().await, gateway).expect("a gateway"),
            _provider: provider,
            key: "key-of-a-test",
            said: Vec::new(),
        }
    }

    /// Sends a message and waits for the answer.
    async fn say(&mut self, text: String) -> String {
        self.said.push(json!({"role": "user", "content": text}));
        let body = json!({
            "model": "claude-haiku-4-5", "max_tokens": 200, "messages": self.said,
        });
        let request = Request::post(format!("{}/v1/messages", self.gateway.url()))
            .header("x-api-key", self.key)
            .header("anthropic-version", "2023-06-01")
            .header("content-type", "application/json")
            .header(
                "x-ebbtide-session",
                format!("<b>the talk of {}</b>", self.key),
            )
            .body(Full::from(body.to_string()))
            .expect("a request");
        let came = send(request).await;
        assert_eq!(came.status, StatusCode::OK, "{}", came.text);
        let answer: Value = serde_json::from_str(&came.text).expect("JSON");
        self.said
            .push(json!({"role": "assistant", "content": answer["content"]}));
        came.did
    }

    async fn page(&self, path: &str, cookie: &str) -> Came {
        let request =
            Request::get(format!("{}{path}", self.gateway.url())).header("cookie", cookie);
        send(request.body(Full::default()).expect("a request")).await
    }

    /// Sends a form like a browser.
    async fn form(&self, path: &str, cookie: &str, fields: &[(&str, &str)]) -> Came {
        let body = form_urlencoded::Serializer::new(String::new())
            .extend_pairs(fields)
            .finish();
        let request = Request::builder()
            .method(Method::POST)
            .uri(format!("{}{path}", self.gateway.url()))
            .header("cookie", cookie)
            .header("origin", self.gateway.url())
            .header("content-type", "application/x-www-form-urlencoded");
        send(request.body(Full::from(body)).expect("a request")).await
    }

    /// Signs in with a key.
    async fn sign_in(&self, key: &str) -> Came {
        let page = self.page("/ebbtide/login", "").await;
        let token = between(&page.text, "name=\"form\" value=\"", "\"");
        self.form("/ebbtide/login", "", &[("form", token), ("key", key)])
            .await
    }

    /// Signs in and returns the cookie.
    async fn signed_in(&self, key: &str) -> String {
        let came = self.sign_in(key).await;
        assert_eq!(came.status, StatusCode::SEE_OTHER);
        came.cookie.split(';').next().expect("a cookie").to_owned()
    }
}

fn between<'a>(text: &'a str, from: &str, to: &str) -> &'a str {
    let (_, behind) = text.split_once(from).expect("it begins");
    behind.split_once(to).expect("it ends").0
}

#[tokio::test]
async fn a_conversation_over_a_boundary() {
    let mut talk = Talk::begin().await;
    let mut swapped = false;
    for step in 0..40 {
        let words = format!("Step {step}: look at crates/wire/src/api/part_{step}.rs again. ");
        let did = talk.say(words.repeat(30)).await;
        swapped |= did.contains("swapped");
        if swapped {
            break;
        }
    }
    assert!(swapped, "a summary was swapped in");

    let list = talk.page("/ebbtide/", "").await;
    assert!(
        list.text.contains("&#60;b&#62;the talk of key-of-a-test"),
        "{}",
        list.text
    );
    let one = between(&list.text, "<a href=\"/ebbtide/conversations/", "\"");
    let one = format!("/ebbtide/conversations/{one}");
    let page = talk.page(&one, "").await;
    for shown in [
        "state-standing",
        "extractive route",
        "<title>after ",
        ">summary<",
    ] {
        assert!(page.text.contains(shown), "{shown}: {}", page.text);
    }
    let (_, marks) = page
        .text
        .split_once("<pre class=\"said\"")
        .expect("a summary");
    let beside = talk.page(between(marks, "<a href=\"", "\""), "").await;
    assert!(
        beside
            .text
            .contains("Step 0: look at crates/wire/src/api/part_0.rs"),
        "{}",
        beside.text
    );

    let token = between(&page.text, "name=\"form\" value=\"", "\"");
    let set = talk
        .form(
            &format!("{one}/pins"),
            "",
            &[("form", token), ("text", PIN)],
        )
        .await;
    assert_eq!(
        (set.status, set.location.as_str()),
        (
            StatusCode::SEE_OTHER,
            format!("{one}?told=pinned#pins").as_str()
        )
    );
    assert!(talk.page(&one, "").await.text.contains(PIN));
    assert!(talk.say("Go on.".to_owned()).await.contains("pinned"));
    refuses_a_forged_form(&talk, &one).await;
    reads_and_downloads(&talk, &one).await;

    let unknown = talk.sign_in("another key").await;
    assert_eq!(unknown.status, StatusCode::UNPROCESSABLE_ENTITY);
    talk.key = "another key";
    talk.said.clear();
    talk.say("Hello.".to_owned()).await;
    let (owner, other) = (
        talk.signed_in("key-of-a-test").await,
        talk.signed_in("another key").await,
    );
    assert!(
        talk.page("/ebbtide/", &owner)
            .await
            .text
            .contains("the talk of key-of-a-test")
    );
    assert!(
        !talk
            .page("/ebbtide/", &other)
            .await
            .text
            .contains("the talk of key-of-a-test")
    );
    assert_eq!(talk.page(&one, &other).await.status, StatusCode::NOT_FOUND);

    if let Some(browser) = Browser::find() {
        let loaded = browser
            .load(
                &format!("{}{one}", talk.gateway.url()),
                Scheme::Light,
                3_000,
            )
            .await;
        assert_eq!(loaded.console, Vec::<String>::new());
        assert!(loaded.dom.contains("<span>live</span>") && loaded.dom.contains(PIN));
    }

    deletes(&talk, &one, (&owner, &other)).await;
}

/// A form without the session's token changes nothing.
async fn refuses_a_forged_form(talk: &Talk, one: &str) {
    let forged = talk
        .form(
            &format!("{one}/pins"),
            "",
            &[("form", "0"), ("text", "forged")],
        )
        .await;
    assert_eq!(forged.status, StatusCode::FORBIDDEN);
}

/// All turns can be read, searched and downloaded, and the list too.
async fn reads_and_downloads(talk: &Talk, one: &str) {
    let read = talk.page(&format!("{one}/turns"), "").await;
    assert!(
        read.text.contains("the model sees a summary instead"),
        "{}",
        read.text
    );
    let found = talk.page(&format!("{one}/turns?find=PART_0.rs"), "").await;
    assert!(
        found.text.contains("<mark>part_0.rs</mark>"),
        "{}",
        found.text
    );
    let file = talk.page(&format!("{one}/turns.jsonl"), "").await;
    let first: Value =
        serde_json::from_str(file.text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&first["index"], &first["role"]),
        (&json!(0), &json!("user"))
    );
    let table = talk.page("/ebbtide/conversations.csv", "").await;
    assert!(
        table
            .text
            .contains(",\"<b>the talk of key-of-a-test</b>\","),
        "{}",
        table.text
    );
}

/// The owner of a conversation deletes it; another viewer cannot.
async fn deletes(talk: &Talk, one: &str, (owner, other): (&str, &str)) {
    let ask = talk.page(&format!("{one}/delete"), owner).await;
    let token = between(&ask.text, "name=\"form\" value=\"", "\"");
    let delete = format!("{one}/delete");
    let foreign = talk.form(&delete, other, &[("form", token)]).await;
    assert_eq!(
        foreign.status,
        StatusCode::FORBIDDEN,
        "another session's token"
    );
    let done = talk.form(&delete, owner, &[("form", token)]).await;
    assert_eq!(done.location, "/ebbtide/?told=deleted", "{}", done.text);
    assert_eq!(talk.page(one, "").await.status, StatusCode::NOT_FOUND);
    let left = talk.page("/ebbtide/?told=deleted", "").await.text;
    assert!(
        left.contains("The conversation is deleted.") && left.contains("the talk of another key")
    );
}
