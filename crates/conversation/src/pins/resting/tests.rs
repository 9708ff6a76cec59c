//! Pins that are set in a conversation at rest.

use std::sync::Arc;

use context::pin::{Origin, PinError, PinId};
use context::{Heuristic, Role, Tokens, Turn, TurnDraft, TurnId};
use history::{Conversation as Record, ConversationId, Labels, Pinned, Standing, Totals};
use jiff::Timestamp;
use tokens::{Model, ModelTable};

use super::Resting;
use crate::effect::NotPinned;
use crate::homunculus::hosted::StrategyProgram;
use crate::terms::Terms;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn terms(strategy: &str) -> Terms {
    Terms {
        program: StrategyProgram::shipped(strategy).unwrap(),
        window: Some(Tokens::new(10_000)),
        ..Terms::default()
    }
}

fn model() -> Arc<Model> {
    Arc::new(ModelTable::shipped().find("gpt-4o"))
}

/// A conversation of one message.
fn resting(said: &str) -> Resting {
    let turn = TurnDraft::text(Role::User, said).after(TurnId::ROOT, &Heuristic);
    Resting {
        record: Record {
            id: ConversationId::from_bytes([1; 16]),
            parent: None,
            head: turn.id(),
            turns: 1,
            labels: Labels::default(),
            title: None,
            model: "gpt-4o".into(),
            standing: Standing::WHOLE,
            strategy: None,
            totals: Totals::default(),
            began: NOW,
            seen: NOW,
        },
        pins: Vec::new(),
        path: Vec::<Turn>::from([turn]),
    }
}

/// Pins a text by the agent under a strategy: the pins let go, or why not.
fn pin(resting: &Resting, strategy: &str, text: &str) -> Result<Vec<PinId>, NotPinned> {
    let accepted = resting.pin(&terms(strategy), &model(), (text, Origin::Agent), NOW);
    accepted.map(|accepted| {
        assert_eq!(accepted.pin.text.as_str(), text);
        accepted.released
    })
}

#[test]
fn the_strategy_is_asked() {
    let said = resting("Go on.");
    // More than a twentieth of the window, which `pinning` leaves to the agent.
    let long = "word ".repeat(700);
    let long = long.trim();
    assert_eq!(pin(&said, "prepared", long), Ok(Vec::new()));
    assert_eq!(pin(&said, "pinning", long), Err(NotPinned::Unwanted));
    assert_eq!(pin(&said, "pinning", "short"), Ok(Vec::new()));
}

#[test]
fn pins_of_the_store_and_of_the_users_lines_are_in_force() {
    let mut said = resting("#pin never delete\nGo on.");
    let known = pin(&said, "prepared", "never delete");
    assert!(matches!(known, Err(NotPinned::Already(_))), "{known:?}");
    let first = said.pin(&terms("prepared"), &model(), ("be brief", Origin::Api), NOW);
    said.pins.push(Pinned {
        pin: first.unwrap().pin,
        said_in: None,
    });
    let known = pin(&said, "prepared", "be brief");
    assert!(matches!(known, Err(NotPinned::Already(_))), "{known:?}");
    let book = said.book(&terms("prepared"), &model());
    assert!(!book.is_removable(PinId::of("never delete")));
    assert!(book.is_removable(PinId::of("be brief")));
}

#[test]
fn the_limits_are_those_of_the_window() {
    let refused = pin(&resting("Go on."), "prepared", &"word ".repeat(9_000));
    let why = match refused {
        Err(NotPinned::Refused(why)) => why,
        other => panic!("{other:?}"),
    };
    assert!(matches!(why, PinError::TooLarge { .. }), "{why}");
}
