//! The turns that a strategy drops under guards, in every session of the corpus.

use context::linearity::ResourceClass;
use context::pin::Pins;
use context::{Heuristic, Role, TokenCounter, Tokens, Turn};
use conversation::homunculus::hosted::{HostSettings, Hosted, StrategyProgram};
use conversation::homunculus::{
    Action, Event, Extent, Homunculus, Limits, Outline, Path, Prices, Words,
};
use conversation::window;
use jiff::Timestamp;
use plumb::modules::BuiltIn;
use tokens::ModelTable;

use crate::locate::corpus;
use crate::steps::sessions;

/// Drops as much as it may.
const DROPS: &str = "use mem
let main : (!CtrlResp, !json) -> !CtrlCmd = plumb(answers, reports, commands) {
  reports ; filter(kind = \"usage\") ; map({ drop_to: 0 }) ; commands
  answers ; discard
}";

/// A place in a session at which the strategy is asked, and the next.
const STRIDE: usize = 9;

#[derive(Debug)]
struct Request<'a> {
    turns: &'a [Turn],
    pins: Pins,
}

impl Words for Request<'_> {
    fn turns(&self) -> &[Turn] {
        self.turns
    }

    fn pins(&self) -> &Pins {
        &self.pins
    }

    fn counter(&self) -> &dyn TokenCounter {
        &Heuristic
    }
}

/// Where the view begins after the strategy was asked, if it began at `from`.
fn dropped_to(turns: &[Turn], from: usize, limits: Limits) -> Option<usize> {
    let program = StrategyProgram::new("drops", DROPS, &BuiltIn).unwrap();
    let outline = Outline::of(turns);
    let request = Request {
        turns,
        pins: Pins::default(),
    };
    let path = Path::new(&outline, outline.len(), &[]).with_words(&request);
    let shown = Extent {
        from,
        ..Extent::default()
    };
    let hosted = Hosted::new(program, HostSettings::default());
    let mut machine = Homunculus::resume(hosted, limits, shown, &path);
    let actions = machine.on(Event::Request(path), Timestamp::UNIX_EPOCH);
    actions.into_iter().find_map(|action| match action {
        Action::Show(shown) => Some(shown.from),
        _ => None,
    })
}

#[test]
fn only_what_is_droppable_is_dropped() {
    let Some(corpus) = corpus() else { return };
    let (mut drops, mut turns_dropped) = (0, 0);
    let limit = Tokens::new(200_000);
    let model = ModelTable::shipped().find("claude-sonnet-4-5");
    let limits = Limits::for_window(limit, Prices::from(&model));
    for (_, turns) in sessions(&corpus) {
        let whole = window::of(limit, turns.iter().cloned(), &[]);
        for from in (0..turns.len()).step_by(STRIDE) {
            let Some(to) = dropped_to(&turns, from, limits) else {
                continue;
            };
            drops += 1;
            for turn in &turns[from..to] {
                let class = whole.class_of(turn.id());
                let stays = turn.role() == Role::System;
                assert!(stays || class == Some(ResourceClass::Droppable), "{turn:?}");
                turns_dropped += 1;
            }
        }
    }
    println!("{turns_dropped} turns dropped in {drops} drops");
    assert!(drops > 100 && turns_dropped > 1_000);
}
