//! The soft threshold of a conversation, moved by what its agent does.
//!
//! The rule is [`context::threshold`]'s. Its signals come from the turns as they arrive: the agent's own
//! task list, the outcomes of its newest tool results, and loops in its steps. A strategy that decides by
//! itself when to begin is given the moved threshold in the place of the operator's.

use context::threshold::{AdaptiveThreshold, Moved, Watch};
use context::vitality::{Options, VitalityAnalyzer, newest_pulses};
use context::{Pressure, Turn};
use jiff::Timestamp;

use crate::conversation::Conversation;
use crate::effect::Notice;
use crate::homunculus::When;
use crate::journal::Happened;
use crate::terms::Terms;

/// The error rate covers this many tool results.
const RECENT: usize = 10;

/// Loops are sought in this many steps.
const STEPS: usize = 32;

/// The smallest move, as a share of the window: less would fill the journal and change nothing.
const LEAST: f64 = 0.02;

/// The signals that move the soft threshold of one conversation.
#[derive(Debug)]
pub(crate) struct Adaptive {
    base: f64,
    /// Where the threshold stands.
    stands: f64,
    watch: Watch,
    steps: VitalityAnalyzer,
}

/// The soft threshold moved; shares of the window in percent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SoftMoved {
    /// Where it was.
    pub from: u32,
    /// Where it is.
    pub to: u32,
    /// The signals behind the move, in words.
    pub why: String,
}

impl std::fmt::Display for SoftMoved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { from, to, why } = self;
        write!(f, "soft threshold {from} % -> {to} %: {why}")
    }
}

impl Adaptive {
    /// For a conversation under these terms. `None` where the threshold stays: by the setting, or because
    /// the strategy has none.
    pub(crate) fn of(terms: &Terms) -> Option<Box<Self>> {
        (terms.adaptive && terms.follows_soft()).then(|| Box::new(Self::from(terms.acts_from())))
    }

    fn from(base: f64) -> Self {
        Self {
            base,
            stands: base,
            watch: Watch::new(RECENT),
            steps: VitalityAnalyzer::new(Options {
                window: STEPS,
                ..Options::default()
            }),
        }
    }

    /// Takes turns and says where they move the threshold. `None`: it stays.
    fn take(&mut self, when: When, turns: &[Turn], now: Timestamp) -> Option<SoftMoved> {
        if when == When::Before {
            // The client went back, or the conversation came from the store.
            self.watch = Watch::new(RECENT);
            self.steps.reset();
        }
        turns.iter().for_each(|turn| self.watch.push(turn));
        for pulse in newest_pulses("", turns, STEPS, now) {
            self.steps.ingest(pulse);
        }
        let rule = AdaptiveThreshold::new(Pressure::new(self.base).unwrap_or_default());
        let moved = rule.under(&self.watch.signals(self.steps.loop_signal("")));
        self.follow(&moved)
    }

    fn follow(&mut self, moved: &Moved) -> Option<SoftMoved> {
        let to = moved.threshold().get();
        let from = std::mem::replace(&mut self.stands, to);
        if (to - from).abs() < LEAST {
            self.stands = from;
            return None;
        }
        Some(SoftMoved {
            from: percent(from),
            to: percent(to),
            why: moved.to_string(),
        })
    }

    /// The moved threshold. `None` where it stands at the strategy's own.
    fn soft(&self) -> Option<f64> {
        ((self.stands - self.base).abs() >= LEAST).then_some(self.stands)
    }

    /// The bytes it holds on the heap, its own included.
    pub(crate) fn bytes(&self) -> usize {
        size_of::<Self>() + self.steps.bytes()
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a threshold lies between 0 and 1"
)]
fn percent(share: f64) -> u32 {
    (share * 100.0).round() as u32
}

impl Conversation {
    /// Moves the soft threshold by turns that came.
    pub(crate) fn adapt(&mut self, when: When, turns: &[Turn], now: Timestamp) {
        let Some(adaptive) = &mut self.supervisor.adaptive else {
            return;
        };
        let Some(moved) = adaptive.take(when, turns, now) else {
            return;
        };
        let (soft, set) = (adaptive.soft(), self.terms.soft);
        self.supervisor.soft = adaptive.stands;
        let machine = &mut self.supervisor.machine;
        machine.strategy_mut(|strategy| strategy.move_soft(soft, set));
        self.tell_outside(Notice::SoftMoved(moved.clone()));
        self.journal.note(now, Happened::SoftMoved(moved));
    }
}

#[cfg(test)]
mod tests {
    use context::turn::{Outcome, ToolCall, ToolResult};
    use context::{CallId, Heuristic, Part, Role, Turn, TurnDraft, TurnId};
    use jiff::Timestamp;

    use super::Adaptive;
    use crate::homunculus::When;
    use crate::terms::Terms;

    /// A step: a call with these arguments, and its result.
    fn step(tool: &str, arguments: &str, outcome: Outcome) -> [Turn; 2] {
        let call = CallId::from("c");
        let asked = Part::Call(ToolCall {
            id: call.clone(),
            name: tool.into(),
            arguments: arguments.into(),
        });
        let text = "what it said".into();
        let said = Part::Result(ToolResult {
            call,
            text,
            outcome,
        });
        [(Role::Assistant, asked), (Role::Tool, said)]
            .map(|(role, part)| TurnDraft::said(role, vec![part]).after(TurnId::ROOT, &Heuristic))
    }

    fn line(adaptive: &mut Adaptive, when: When, turns: &[Turn]) -> Option<String> {
        let moved = adaptive.take(when, turns, Timestamp::UNIX_EPOCH);
        moved.map(|moved| moved.to_string())
    }

    #[test]
    fn the_journal_says_why_it_moved() {
        let mut adaptive = Adaptive::from(0.7);
        let mut take = |when, turns: Vec<[Turn; 2]>| line(&mut adaptive, when, &turns.concat());
        let reads = |numbers: std::ops::Range<u32>, outcome| -> Vec<[Turn; 2]> {
            let read = |n| step("read", &format!(r#"{{"path":"f{n}.rs"}}"#), outcome);
            numbers.map(read).collect()
        };
        assert_eq!(take(When::Now, reads(0..6, Outcome::Succeeded)), None);
        let failed = take(When::Now, reads(6..10, Outcome::Failed));
        let expected = "soft threshold 70 % -> 76 %: 4 of the last 10 results failed";
        assert_eq!(failed.as_deref(), Some(expected));
        let todo = r#"{"todos":[{"status":"completed"},{"status":"completed"},{"status":"completed"},
            {"status":"completed"},{"status":"completed"},{"status":"pending"}]}"#;
        let list = take(When::Now, vec![step("TodoWrite", todo, Outcome::Succeeded)]);
        let expected = "soft threshold 76 % -> 66 %: near the end of the task (5 of 6 done), \
                        4 of the last 10 results failed";
        assert_eq!(list.as_deref(), Some(expected));
        // The client went back to where nothing had happened.
        let back = take(When::Before, Vec::new());
        let expected = "soft threshold 66 % -> 70 %: no signal moves it";
        assert_eq!(back.as_deref(), Some(expected));
        let same = (0..4).map(|_| step("read", r#"{"path":"same.rs"}"#, Outcome::Succeeded));
        let looping = take(When::Now, same.collect());
        let expected = "soft threshold 70 % -> 55 %: the agent repeats itself";
        assert_eq!(looping.as_deref(), Some(expected));
    }

    #[test]
    fn it_is_off_by_default_and_for_strategies_without_a_soft_threshold() {
        assert!(Adaptive::of(&Terms::default()).is_none());
        let adaptive = |name: &str| {
            let program = crate::homunculus::hosted::StrategyProgram::shipped(name);
            let terms = Terms {
                adaptive: true,
                program: program.unwrap(),
                ..Terms::default()
            };
            Adaptive::of(&terms).is_some()
        };
        assert!(adaptive("prepared"));
        assert!(!adaptive("stop_the_world"));
    }
}
