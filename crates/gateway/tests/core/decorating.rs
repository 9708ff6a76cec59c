//! Clients that add a reminder to their newest message and send the message without it the next time.

use gateway::config::RouteChoice;
use serde_json::{Value, json};

use crate::dialects::{CHAT, post};
use crate::house::{Agent, Came, House, words};

const REMINDER: &str = "Answer with *SEARCH/REPLACE* blocks only.\n\nNever leave out code!";

fn decorated(text: &str) -> String {
    format!("{text}\n\n{REMINDER}")
}

/// Preparations of all routes by their result.
fn preparations(house: &House) -> usize {
    let metrics = house.gateway.metrics().render();
    let counted = metrics
        .lines()
        .filter(|line| line.starts_with("ebbtide_preparations_total{"));
    let counts = counted.filter_map(|line| line.rsplit(' ').next()?.parse::<usize>().ok());
    counts.sum()
}

/// The outcome of a conversation.
#[derive(Debug, Default)]
struct Grown {
    swaps: usize,
    preparations: usize,
    conversations: Vec<String>,
}

impl Grown {
    fn note(&mut self, n: usize, came: &Came) {
        self.swaps += usize::from(came.did().contains("swapped"));
        let conversation = came.conversation();
        // A first message has nothing before it by which the conversation could be found.
        if n > 0
            && self
                .conversations
                .last()
                .is_none_or(|last| last != conversation)
        {
            self.conversations.push(conversation.to_owned());
        }
    }

    /// Checks that each swap cost one summary, and that there was one conversation.
    #[track_caller]
    fn check(&self) {
        assert!(self.swaps >= 3, "{self:?}");
        // One more may be ready, or be on its way.
        assert!(self.preparations <= self.swaps + 1, "{self:?}");
        assert_eq!(self.conversations.len(), 1, "{self:?}");
    }
}

async fn chat(route: RouteChoice) -> Grown {
    let house = House::new(|config| config.policy.route = route).await;
    let mut messages = vec![json!({"role": "system", "content": "Be careful."})];
    let mut grown = Grown::default();
    for n in 0..50 {
        let text = words(n, 1_400);
        let mut sent = messages.clone();
        sent.push(json!({"role": "user", "content": decorated(&text)}));
        let body = json!({"model": "gpt-5.5", "messages": sent});
        let came = post(&house, CHAT.0, &body).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        grown.note(n, &came);
        messages.push(json!({"role": "user", "content": text}));
        messages.push(came.body["choices"][0]["message"].clone());
        house.prepared(came.conversation()).await;
    }
    grown.preparations = preparations(&house);
    house.close().await;
    grown
}

async fn anthropic(route: RouteChoice) -> Grown {
    let house = House::new(|config| config.policy.route = route).await;
    let mut agent = Agent::new("key-one");
    let mut grown = Grown::default();
    for n in 0..50 {
        let text = words(n, 900);
        let came = agent.say(&house, &decorated(&text)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        grown.note(n, &came);
        let said = agent.messages.len() - 2;
        agent.messages[said]["content"] = Value::from(text);
        house.prepared(came.conversation()).await;
    }
    grown.preparations = preparations(&house);
    house.close().await;
    grown
}

#[tokio::test]
async fn a_summary_survives_a_reminder_on_chat() {
    chat(RouteChoice::Auto).await.check();
    chat(RouteChoice::Extractive).await.check();
}

#[tokio::test]
async fn a_summary_survives_a_reminder_on_anthropic() {
    anthropic(RouteChoice::Extractive).await.check();
    anthropic(RouteChoice::Readable).await.check();
}

#[tokio::test]
async fn a_provider_that_summarises_itself_is_not_asked_for_what_cannot_be_shown() {
    anthropic(RouteChoice::Auto).await.check();
}

#[tokio::test]
async fn a_restart_in_between_costs_no_more_than_one_summary() {
    let mut house = House::new(|_| {}).await;
    let mut agent = Agent::new("key-one");
    let mut grown = Grown::default();
    for n in 0..50 {
        if n % 10 == 9 {
            grown.preparations += preparations(&house);
            house.restart().await;
        }
        let text = words(n, 900);
        let came = agent.say(&house, &decorated(&text)).await;
        assert_eq!(came.status, 200, "{n}: {came:?}");
        grown.note(n, &came);
        let said = agent.messages.len() - 2;
        agent.messages[said]["content"] = Value::from(text);
    }
    grown.preparations += preparations(&house);
    assert!(grown.swaps >= 3, "{grown:?}");
    assert!(grown.preparations <= grown.swaps + 6, "{grown:?}");
    assert_eq!(grown.conversations.len(), 1, "{grown:?}");
    house.close().await;
}
