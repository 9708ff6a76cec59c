//! A conversation that rests while somebody purges it from the store.

use std::sync::Arc;
use std::time::Duration;

use ::conversation::Input;
use context::Tokens;
use context::pin::Origin;
use history::{ConversationId, Limits, MemoryEngine, Purge, Tenant};
use jiff::Timestamp;

use super::super::{Conversations, Parts};
use super::{arrival, said, sent};
use crate::config::{Config, RouteChoice};
use crate::metrics::Metrics;
use conversation::words::Did;

fn core() -> Conversations {
    let mut config = Config::default();
    config.policy.window = Some(Tokens::new(8_000));
    config.policy.route = RouteChoice::Extractive;
    Conversations::new(Parts {
        config: Arc::new(config),
        engine: Arc::new(MemoryEngine::new([7; 32], Limits::default())),
        clock: Arc::new(|| Timestamp::UNIX_EPOCH),
        metrics: Arc::new(Metrics::default()),
    })
    .unwrap()
}

/// Sends the first `len` messages and hears the answer; what was done, and the body.
async fn asks(
    core: &Conversations,
    messages: &[String],
    len: usize,
) -> (Vec<Did>, String, ConversationId) {
    let (outgoing, ticket) = sent(core, arrival(1, &messages[..len])).await;
    ticket.finished(Timestamp::UNIX_EPOCH).await;
    let shared = core.directory.registry.all(None).pop().unwrap();
    while shared.lock().is_busy() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    core.writer.flush().await;
    let body = String::from_utf8(outgoing.body.to_vec()).unwrap();
    (outgoing.did, body, outgoing.conversation.unwrap())
}

/// The number of turns that the store has of a conversation, and the number of pins.
pub(super) fn kept(core: &Conversations, id: ConversationId) -> Option<(usize, usize)> {
    let mut kept = None;
    let tenant = Tenant::from_bytes([1; 16]);
    let engine = &core.parts().engine;
    engine
        .read(tenant, &mut |store| {
            if let Some(record) = store.conversation(id)? {
                kept = Some((store.path(record.head)?.len(), store.pins(id)?.len()));
            }
            Ok(())
        })
        .unwrap();
    kept
}

#[tokio::test]
async fn it_is_shown_and_kept_again_when_its_client_comes_back() {
    let core = core();
    let messages = said(99, &"read the next file ".repeat(60));
    let (_, _, id) = asks(&core, &messages, 1).await;
    let shared = core.directory.registry.all(None).pop().unwrap();
    let pin = Input::Pin("Answer in French.", Origin::Api);
    shared.lock().on(pin, Timestamp::UNIX_EPOCH);
    let mut len = 3;
    while !asks(&core, &messages, len).await.0.contains(&Did::Swapped) {
        len += 2;
        assert!(len < 80, "no swap");
    }
    shared.lock().on(Input::Rest, Timestamp::UNIX_EPOCH);
    assert!(
        shared.lock().missing().is_some(),
        "its texts have left memory"
    );
    assert_eq!(kept(&core, id).map(|(turns, _)| turns), Some(len));
    let what = Purge {
        tenant: None,
        conversation: Some(id),
        before: None,
    };
    assert_eq!(core.parts().engine.purge(what).unwrap().conversations, 1);
    assert_eq!(kept(&core, id), None);

    let (did, body, again) = asks(&core, &messages, len + 2).await;
    assert_eq!(again, id);
    assert!(!did.contains(&Did::Failed), "{did:?}");
    // Its summary is gone, so all is shown, or summed up anew.
    assert!(
        did.contains(&Did::Swapped) || body.contains(&messages[0]),
        "{did:?}"
    );
    assert_eq!(kept(&core, id), Some((len + 2, 1)));
    let (did, body, again) = asks(&core, &messages, len + 4).await;
    assert_eq!(again, id);
    assert!(!did.contains(&Did::Failed), "{did:?}");
    if !body.contains(&messages[0]) {
        assert!(body.contains("Answer in French."), "{body}");
    }
    assert_eq!(kept(&core, id), Some((len + 4, 1)));
}
