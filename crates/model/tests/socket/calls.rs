//! Calls: whole answers, streams, faults, cancellation.

use std::time::Duration;

use context::coded::Coded;
use model::{Begun, Client, ModelError, Restart, Wait};
use sim::{Config, Fault, When};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc;
use tokio::time::Instant;
use wire::api::{Accumulator, Dialect, Reply};

use crate::stage::{KEY, client, endpoint, provider, saying, server, waiting, write, write_whole};

fn text(reply: &Reply) -> String {
    let turn = reply.draft();
    let turn = turn.after(context::TurnId::ROOT, &context::Heuristic);
    turn.texts().collect()
}

#[tokio::test]
async fn a_whole_answer_and_a_stream_give_the_same_reply() {
    let running = provider(Config::default()).await;
    let client = client();
    for dialect in Dialect::ALL {
        let endpoint = endpoint(dialect, &running.url());
        for stream in [false, true] {
            let body = saying(dialect, "hello", stream);
            let answer = client.reply(&endpoint, body, Restart::Never).await;
            let answer = answer.unwrap();
            assert_eq!(text(&answer.reply), "You said: hello", "{dialect:?}");
            assert_eq!(answer.attempts, 1);
            let id = ["request-id", "x-request-id"];
            assert!(id.iter().any(|name| answer.headers.contains_key(*name)));
        }
        let body = saying(dialect, "hello", true);
        let mut events = client.events(&endpoint, body).await.unwrap();
        let mut whole = Accumulator::new(dialect);
        while let Some(event) = events.next().await {
            whole.accept(&event.unwrap()).unwrap();
        }
        assert!(whole.is_complete());
        assert_eq!(text(&whole.reply()), "You said: hello");
    }
}

/// The outcome of a reply when `fault` strikes the first request: the attempts, or the error's code.
async fn struck(fault: Fault, times: usize, stream: bool, restart: Restart) -> Result<u32, String> {
    let running = provider(Config::default()).await;
    for _ in 0..times {
        running.provider().inject(When::Next, fault.clone());
    }
    let endpoint = endpoint(Dialect::Anthropic, &running.url());
    let body = saying(Dialect::Anthropic, "hello", stream);
    let answer = client().reply(&endpoint, body, restart).await;
    answer
        .map(|answer| answer.attempts)
        .map_err(|error| error.code().to_string())
}

#[tokio::test]
async fn faults_that_pass_are_waited_out() {
    for fault in [Fault::Internal, Fault::Overloaded, Fault::Reset] {
        for stream in [false, true] {
            let got = struck(fault.clone(), 2, stream, Restart::Never).await;
            assert_eq!(got, Ok(3), "{fault:?}");
        }
    }
    let got = struck(Fault::Cut(0), 1, true, Restart::Never).await;
    assert_eq!(got, Ok(2), "a stream that broke before its first event");
}

#[tokio::test]
async fn faults_that_do_not_pass_are_reported() {
    let check = async |fault, expected: &str| {
        let got = struck(fault, 9, true, Restart::Never).await;
        assert_eq!(got, Err(expected.to_owned()));
    };
    check(Fault::Internal, "E0708").await;
    check(Fault::Overloaded, "E0708").await;
    check(Fault::RateLimited(0), "E0708").await;
    check(Fault::Reset, "E0705").await;
}

#[tokio::test]
async fn a_cut_in_mid_stream_starts_over_only_where_nobody_saw_a_part() {
    let got = struck(Fault::Cut(3), 1, true, Restart::Never).await;
    assert_eq!(got, Err("E0705".to_owned()));
    let got = struck(Fault::Cut(3), 1, true, Restart::FromTheStart).await;
    assert_eq!(got, Ok(2));
}

#[tokio::test]
async fn retry_after_is_respected_up_to_the_cap() {
    let before = Instant::now();
    let got = struck(Fault::RateLimited(1), 1, false, Restart::Never).await;
    assert_eq!(got, Ok(2));
    assert!(before.elapsed() >= Duration::from_secs(1));
    let before = Instant::now();
    let got = struck(Fault::RateLimited(3), 1, false, Restart::Never).await;
    assert_eq!(got, Err("E0708".to_owned()));
    assert!(before.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn an_events_stream_breaks_where_the_connection_does() {
    let running = provider(Config::default()).await;
    running.provider().inject(When::Next, Fault::Cut(3));
    let endpoint = endpoint(Dialect::Anthropic, &running.url());
    let body = saying(Dialect::Anthropic, "hello", true);
    let mut events = client().events(&endpoint, body).await.unwrap();
    for _ in 0..3 {
        assert!(events.next().await.unwrap().is_ok());
    }
    let broken = ModelError::Broken { when: Begun::Yes };
    assert_eq!(events.next().await, Some(Err(broken)));
    assert_eq!(events.next().await, None);
}

#[tokio::test]
async fn refusals_say_what_was_refused_and_show_no_key() {
    let running = provider(Config::default()).await;
    let endpoint = endpoint(Dialect::Anthropic, &running.url());
    let body = saying(Dialect::Chat, "hello", false);
    let error = client()
        .reply(&endpoint, body, Restart::FromTheStart)
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "E0707");
    assert!(error.hint().is_some());
    let shown = format!("{error} {error:?} {endpoint:?} {:?}", client());
    assert!(!shown.contains(KEY) && !shown.contains("hello"), "{shown}");
    let ModelError::Refused(refused) = error else {
        panic!("{error}")
    };
    assert_eq!(refused.status, 404);
}

#[tokio::test]
async fn silence_has_an_end_before_and_after_the_answer_began() {
    let never = server(|stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    let silent = server(|mut stream| async move {
        let event = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{}}\n\n";
        write(&mut stream, "text/event-stream", event).await;
        std::future::pending::<()>().await;
    })
    .await;
    let check = async |url: &str, what: Wait, when: Begun| {
        let endpoint = endpoint(Dialect::Anthropic, url);
        let body = saying(Dialect::Anthropic, "hello", true);
        let waited = Duration::from_millis(100);
        let error = waiting(waited).reply(&endpoint, body, Restart::Never).await;
        let expected = ModelError::Timeout { what, waited, when };
        assert_eq!(error.unwrap_err(), expected);
    };
    check(&never, Wait::FirstByte, Begun::No).await;
    check(&silent, Wait::NextPiece, Begun::Yes).await;
}

#[tokio::test]
async fn a_host_that_is_not_there_is_named() {
    let error = client()
        .reply(
            &endpoint(Dialect::Chat, "http://127.0.0.1:1"),
            saying(Dialect::Chat, "hello", false),
            Restart::Never,
        )
        .await
        .unwrap_err();
    assert_eq!(error.code().as_str(), "E0704");
    assert!(error.to_string().contains("127.0.0.1:1"), "{error}");
}

#[tokio::test]
async fn an_answer_that_ends_in_order_is_whole_where_it_says_why() {
    let chunk = |rest: &str| format!("data: {{\"choices\":[{{\"index\":0,{rest}}}]}}\n\n");
    let said = chunk(r#""delta":{"role":"assistant","content":"hi"}"#);
    let stop = chunk(r#""delta":{},"finish_reason":"stop""#);
    let check = async |body: String, expected: Result<&str, &str>| {
        let url = server(move |mut stream| {
            let body = body.clone();
            async move { write_whole(&mut stream, "text/event-stream", &body).await }
        })
        .await;
        let got = client()
            .reply(
                &endpoint(Dialect::Chat, &url),
                saying(Dialect::Chat, "hello", true),
                Restart::Never,
            )
            .await;
        let got = got.map(|answer| text(&answer.reply));
        let got = got.map_err(|error| error.code().to_string());
        assert_eq!(got.as_deref().map_err(|code| &**code), expected);
    };
    check(format!("{said}{stop}"), Ok("hi")).await;
    check(said, Err("E0705")).await;
    let overloaded = r#"{"error":{"type":"server_error","message":"busy"}}"#;
    check(format!("data: {overloaded}\n\n"), Err("E0708")).await;
    let refused = r#"{"error":{"type":"invalid_request_error","message":"no"}}"#;
    check(format!("data: {refused}\n\n"), Err("E0707")).await;
}

#[tokio::test]
async fn https_is_not_spoken_with_a_host_that_does_not() {
    let running = provider(Config::default()).await;
    let url = running.url().replace("http:", "https:");
    let body = saying(Dialect::Chat, "hello", false);
    let error = client()
        .reply(&endpoint(Dialect::Chat, &url), body, Restart::Never)
        .await
        .unwrap_err();
    // Without root certificates it is not even tried.
    assert!(
        ["E0703", "E0704"].contains(&error.code().as_str()),
        "{error}"
    );
    assert_eq!(running.provider().total().requests, 0);
}

#[tokio::test]
async fn dropping_a_call_closes_its_connection() {
    let (told, mut closed) = mpsc::channel(4);
    let url = server(move |mut stream| {
        let told = told.clone();
        async move {
            told.send("open").await.unwrap();
            // Nothing more is read from a client that has closed.
            let rest = stream.read(&mut [0; 16]).await;
            assert!(matches!(rest, Ok(0) | Err(_)));
            told.send("closed").await.unwrap();
        }
    })
    .await;
    let endpoint = endpoint(Dialect::Anthropic, &url);
    let patient = Client::default();
    let call = patient.reply(
        &endpoint,
        saying(Dialect::Anthropic, "hello", false),
        Restart::FromTheStart,
    );
    tokio::select! {
        _ = call => panic!("nothing answers"),
        open = closed.recv() => assert_eq!(open, Some("open")),
    }
    let gone = tokio::time::timeout(Duration::from_secs(5), closed.recv()).await;
    assert_eq!(gone, Ok(Some("closed")));
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_not_read() {
    let url = server(|mut stream| async move {
        write(&mut stream, "application/json", &"x".repeat(200)).await;
    })
    .await;
    let settings = model::Settings {
        longest_answer: 100,
        ..model::Settings::default()
    };
    let error = Client::new(settings)
        .reply(
            &endpoint(Dialect::Chat, &url),
            saying(Dialect::Chat, "hello", false),
            Restart::Never,
        )
        .await;
    assert_eq!(error.unwrap_err(), ModelError::TooLong { limit: 100 });
}

#[tokio::test]
async fn a_stream_that_is_too_long_together_is_not_read() {
    let url = server(|mut stream| async move {
        let delta = r#"{"id":"c","choices":[{"index":0,"delta":{"content":"on and on"}}]}"#;
        let body = format!("data: {delta}\n\n").repeat(20);
        write(&mut stream, "text/event-stream", &body).await;
    })
    .await;
    let settings = model::Settings {
        longest_answer: 1_000,
        ..model::Settings::default()
    };
    let call = Client::new(settings);
    let endpoint = endpoint(Dialect::Chat, &url);
    let body = saying(Dialect::Chat, "hello", true);
    let call = call.reply(&endpoint, body, Restart::Never);
    let error = tokio::time::timeout(Duration::from_secs(5), call).await;
    assert_eq!(
        error.unwrap().unwrap_err(),
        ModelError::TooLong { limit: 1_000 }
    );
}
