//! A conversation that was read from its store goes on as the one in memory does, byte for byte.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "what fails here fails the test"
)]

use std::sync::Arc;

use context::{Text, Tokens, extract};
use conversation::{
    Commons, Conversation, Effect, Flight, Incoming, Input, Joining, Kin, Origin, Proof, Relation,
    RouteChoice, Stored, StoredConversation, Summary, Terms, new_id, rewrite,
};
use history::{Engine, Labels, Limits, MemoryEngine, Route, Tenant};
use jiff::Timestamp;
use serde_json::{Value, json};
use wire::api::{Dialect, Response};

const TENANT: Tenant = Tenant::ANONYMOUS;

/// One client, its conversation and its store.
struct Talk {
    commons: Commons,
    terms: Arc<Terms>,
    engine: MemoryEngine,
    live: Option<Conversation>,
    messages: Vec<Value>,
    seconds: i64,
    swaps: usize,
    /// The tokens that an answer writes to the cache, for five minutes and for an hour.
    writes: [u64; 2],
    /// True if the next request is not answered.
    fails: bool,
}

impl Talk {
    fn new() -> Self {
        Self {
            commons: Commons::new([7; 32]),
            terms: Arc::new(Terms {
                window: Some(Tokens::new(8_000)),
                route: RouteChoice::Extractive,
                ..Terms::default()
            }),
            engine: MemoryEngine::new([7; 32], Limits::default()),
            live: None,
            messages: Vec::new(),
            seconds: 1_790_000_000,
            swaps: 0,
            writes: [0, 0],
            fails: false,
        }
    }

    /// Says something, hears the answer, and returns the body that was sent.
    fn say(&mut self, text: &str) -> String {
        self.messages.push(json!({"role": "user", "content": text}));
        let body = json!({"model": "claude-opus-4-5", "max_tokens": 9, "messages": self.messages});
        let body = body.to_string();
        let commons = std::mem::replace(&mut self.commons, Commons::new([7; 32]));
        let read = commons.read(TENANT, Dialect::Anthropic, body.as_bytes());
        let (request, elements) = read.unwrap();
        let origin = Origin {
            tenant: TENANT,
            url: "",
            labels: Labels::default(),
            names_agents: false,
        };
        self.seconds += 60;
        let incoming = commons.incoming(&request, elements, origin, self.now());
        let mut flight = self.join(&incoming);
        let sending = loop {
            let effects = self.on(Input::Request(&incoming, &mut flight));
            if let Some(sending) = self.carry_out(&incoming, effects) {
                break sending;
            }
        };
        let sent = rewrite::render(&request, &sending.view).unwrap();
        if std::mem::take(&mut self.fails) {
            self.on(Input::Landed(&flight));
            self.messages.pop();
            drop(incoming);
            drop(request);
            self.commons = commons;
            return String::from_utf8(sent).unwrap();
        }
        let said = format!("done with number {}", self.messages.len());
        let [short, long] = self.writes;
        // Counted otherwise than we count, and answered a little later.
        let answer = json!({
            "id": "m", "type": "message", "role": "assistant", "model": "claude-opus-4-5",
            "content": [{"type": "text", "text": said}], "stop_reason": "end_turn",
            "usage": {
                "input_tokens": sent.len() / 3, "output_tokens": 9, "cache_creation_input_tokens": short + long,
                "cache_creation": {"ephemeral_5m_input_tokens": short, "ephemeral_1h_input_tokens": long},
            },
        });
        let answer = answer.to_string();
        let reply = Response::parse(Dialect::Anthropic, answer.as_bytes());
        let reply = reply.unwrap().reply();
        self.seconds += 5;
        self.store(flight.take_pending());
        let effects = self.on(Input::Answered(&flight, Some(&reply), &Proof::default()));
        self.carry_out(&incoming, effects);
        self.on(Input::Landed(&flight));
        self.messages
            .push(json!({"role": "assistant", "content": said}));
        drop(incoming);
        drop(request);
        self.commons = commons;
        String::from_utf8(sent).unwrap()
    }

    fn now(&self) -> Timestamp {
        Timestamp::from_second(self.seconds).unwrap()
    }

    fn on(&mut self, input: Input<'_, '_>) -> Vec<Effect> {
        let now = self.now();
        self.live.as_mut().unwrap().on(input, now)
    }

    fn join(&mut self, incoming: &Incoming<'_>) -> Flight {
        let mut pending = None;
        if self.live.is_none() {
            let (live, batch) = match self.stored(incoming) {
                Some(live) => (live, None),
                None => {
                    let id = new_id(&[7; 32], TENANT, (incoming.last_id(), 0), incoming.now);
                    let terms = Arc::clone(&self.terms);
                    let (live, batch) = Conversation::begin(id, terms, incoming, Kin::default());
                    (live, Some(batch))
                }
            };
            (self.live, pending) = (Some(live), batch);
        }
        let live = self.live.as_mut().unwrap();
        match live.join(incoming, Relation::GoesOn, Some(&[])) {
            Joining::Joined(mut flight) => {
                pending
                    .into_iter()
                    .for_each(|batch| flight.add_pending(batch));
                *flight
            }
            other => panic!("{other:?}"),
        }
    }

    fn stored(&self, incoming: &Incoming<'_>) -> Option<Conversation> {
        let path: Vec<_> = incoming.turns().iter().map(context::Turn::id).collect();
        let mut found = None;
        let mut read = |store: &dyn history::Store| {
            let Some(stored) = StoredConversation::choose(store.headed(&path)?, incoming) else {
                return Ok(());
            };
            let recovered = stored.load(store)?;
            let terms = Arc::clone(&self.terms);
            found = Some(Conversation::recover(terms, incoming, stored, recovered));
            Ok(())
        };
        self.engine.read(TENANT, &mut read).unwrap();
        found
    }

    fn store(&self, batch: Option<conversation::Batch>) {
        if let Some(batch) = batch {
            let write = &mut |store: &mut dyn history::Store| batch.write(store);
            self.engine.write(TENANT, write).unwrap();
        }
    }

    fn carry_out(
        &mut self,
        incoming: &Incoming<'_>,
        effects: Vec<Effect>,
    ) -> Option<conversation::Sending> {
        let mut sent = None;
        for effect in effects {
            match effect {
                Effect::Send(sending) => sent = Some(sending),
                Effect::Store(batch) => self.store(Some(batch)),
                Effect::Prepare(order, _) => {
                    self.on(Input::Preparing(&order));
                    let counter = incoming.model.counter();
                    let (old, tail) = incoming.turns().split_at(order.cut);
                    let text = extract::extract(old, tail, order.budget, &counter).render();
                    let text = Text::from(text);
                    let lost = conversation::originals::told(old, tail, &text);
                    let summary = Summary {
                        tokens: order.budget,
                        text,
                        route: Route::Extractive,
                        ledger: Vec::new(),
                        lost,
                        beside: context::Text::default(),
                        spent: Vec::new(),
                        fallen: Vec::new(),
                        at: self.now(),
                    };
                    self.store(Some(summary.batch(&order)));
                    self.on(Input::Prepared(&order, summary, Stored::Yes));
                }
                Effect::Tell(conversation::Notice::Swapped(_)) => self.swaps += 1,
                _ => {}
            }
        }
        sent
    }
}

fn words(number: usize) -> String {
    format!("Look at src/part_{number}.rs and mend what is wrong there. ").repeat(40)
}

#[test]
fn the_same_bytes_as_without_a_restart_wherever_it_falls() {
    for falls in [2, 9, 10, 11, 17] {
        let (mut kept, mut restarted) = (Talk::new(), Talk::new());
        for number in 0..18 {
            if number == falls {
                restarted.live = None;
            }
            let (one, other) = (kept.say(&words(number)), restarted.say(&words(number)));
            assert!(one.contains("[runtime context]") || number == 0);
            let pairs = one.bytes().zip(other.bytes());
            let same = pairs.take_while(|(one, other)| one == other).count();
            let at = same.saturating_sub(80);
            let case = format!("restarted before {falls}, request {number}");
            let rest = |body: &str| body.get(at..).unwrap_or_default().to_owned();
            assert!(one == other, "{case}: {}\n{}", rest(&one), rest(&other));
        }
        assert!(kept.swaps > 1, "{}", kept.swaps);
    }
}

#[test]
fn the_lifetime_that_the_client_pays_for_is_learned_and_kept() {
    let mut talk = Talk::new();
    // What an answer writes, whether the next request comes after a restart, and the lifetime then.
    let steps = [
        ([0, 0], false, 300),
        ([5, 0], false, 300),
        ([2, 9], false, 3_600),
        ([0, 0], true, 3_600),
        ([9, 2], false, 300),
    ];
    for (number, (writes, restarts, seconds)) in steps.into_iter().enumerate() {
        if restarts {
            talk.live = None;
        }
        talk.writes = writes;
        talk.say(&words(number));
        let prices = talk.live.as_ref().unwrap().limits().prices;
        let ratio = prices.cache_write / prices.input;
        let expected = if seconds == 300 { 1.25 } else { 2.0 };
        assert_eq!(
            (prices.ttl.as_secs(), ratio),
            (seconds, expected),
            "{number}"
        );
    }
}

#[test]
fn what_a_failed_request_restated_is_restated_by_the_next_also_after_a_rest() {
    let mut talk = Talk::new();
    for number in 0..10 {
        talk.say(&words(number));
    }
    let pin = Input::Pin("never push to main", context::pin::Origin::Api);
    talk.on(pin);
    talk.fails = true;
    let failed = talk.say("And now?");
    assert!(failed.contains("never push to main"), "restated");
    talk.on(Input::Rest);
    let again = talk.say("And now?");
    assert!(again.contains("never push to main"), "{again}");
}
