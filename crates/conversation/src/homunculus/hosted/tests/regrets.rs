//! Regrets as programs receive them.

use context::regret::{Kind, LastSeen, Regret};

use super::{House, at, with};
use crate::homunculus::event::{Action, Event};

/// The texts that a program pinned or unpinned with a request, after these regrets.
fn told(body: &str, missed: &[Regret]) -> Vec<String> {
    let mut house = House::of(&with(body));
    for regret in missed {
        house.machine.on(Event::Regretted(*regret), at(1));
    }
    let said = |action: &Action| match action {
        Action::Unpin(text) => Some(text.clone()),
        _ => None,
    };
    house.request(3).iter().filter_map(said).collect()
}

#[test]
fn a_regret_is_told_once_with_the_next_request() {
    let missed = [
        Regret {
            kind: Kind::ReadAgain,
            place: LastSeen::Turn(14),
        },
        Regret {
            kind: Kind::Corrected,
            place: LastSeen::Before,
        },
    ];
    let echo = "reports ; filter(kind = \"regret\") ;
        map({ unpin: if turn = 14 then what else if turn = 0 then \"before\" else \"?\" }) ; commands
        answers ; discard";
    assert_eq!(told(echo, &missed), ["read_again", "before"]);
}

#[test]
fn a_program_that_names_no_regret_is_told_of_none() {
    let missed = [Regret {
        kind: Kind::Reopened,
        place: LastSeen::Hidden,
    }];
    let echo = "reports ; filter(what = \"reopened\") ; map({ unpin: what }) ; commands
        answers ; discard";
    assert_eq!(told(echo, &missed), Vec::<String>::new());
}
