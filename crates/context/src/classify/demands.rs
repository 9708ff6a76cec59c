//! The default classifier: what the user demands is preserved, not all that the user pastes.

use super::words::Words;
use super::{Classifier, Standing, Verdict};
use crate::linearity::ResourceClass::{Droppable, Preserved, Required};
use crate::spoken;
use crate::turn::{Role, Turn};
use crate::units::Tokens;

/// Short constraints, decisions and directives of the user are preserved, up to a budget; other user
/// text is required. System text is preserved: the operator's words must survive as they are. The
/// model's decisions are required, everything else it says is droppable, and so is what tools return.
///
/// The budget is a share of the window, by default 5 %. Strong demands may use more of it than weak
/// ones, so that early small talk cannot crowd out a late constraint: constraints may use all of it,
/// decisions and preferences what lies below four fifths, other short directives what lies below one
/// half. Within one strength the earlier turn wins. That way a class depends on nothing that comes
/// later, and the newest turns, which the budget may have no room for, are the ones that stay in
/// view verbatim as the recent part anyway.
///
/// A turn is a demand only where what the user typed makes up most of it, and where the turn
/// is short: at most a fifth of the budget for constraints, decisions and preferences, at most a
/// twentieth for directives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Demands {
    budget: f64,
}

impl Demands {
    /// A classifier with another budget, as a share of the window between 0 and 1; `None` outside.
    #[must_use]
    pub fn with_budget(share: f64) -> Option<Self> {
        (0.0..=1.0)
            .contains(&share)
            .then_some(Self { budget: share })
    }

    /// The tokens that demands may have in a window of this size.
    #[must_use]
    pub fn budget(&self, limit: Tokens) -> Tokens {
        limit.scaled(self.budget)
    }
}

impl Default for Demands {
    fn default() -> Self {
        Self { budget: 0.05 }
    }
}

/// The strength with which a turn asks to be kept.
#[derive(Clone, Copy)]
enum Strength {
    Constraint,
    Decision,
    Directive,
}

impl Strength {
    /// The share of the budget below which such a turn still finds room.
    const fn room(self) -> f64 {
        match self {
            Self::Constraint => 1.0,
            Self::Decision => 0.8,
            Self::Directive => 0.5,
        }
    }

    /// The share of the budget that one such turn may have.
    const fn each(self) -> f64 {
        match self {
            Self::Constraint | Self::Decision => 0.2,
            Self::Directive => 0.05,
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Constraint => "the user sets a constraint",
            Self::Decision => "the user decides or prefers something",
            Self::Directive => "the user gives a short directive",
        }
    }
}

const CONSTRAINTS: &[&str] = &[
    "must",
    "must not",
    "mustn't",
    "never",
    "always",
    "don't",
    "do not",
    "do n't",
    "shall not",
    "cannot",
    "can't",
    "only use",
    "use only",
    "make sure",
    "ensure",
    "required :",
    "critical :",
    "important",
    "verbatim",
    "exactly",
    "under no circumstances",
    "at all costs",
    "no more than",
    "at least",
    "at most",
    "without",
    "avoid",
    "forbidden",
    "not allowed",
];
const DECISIONS: &[&str] = &[
    "prefer",
    "i want",
    "i'd like",
    "i would like",
    "we want",
    "i need",
    "we need",
    "let's",
    "let us",
    "go with",
    "decided",
    "decision",
    "we will",
    "we'll",
    "we use",
    "instead",
    "rather than",
    "remember",
    "from now on",
    "keep in mind",
    "note that",
    "should",
    "shouldn't",
];
const ACKNOWLEDGEMENTS: &[&str] = &[
    "ok", "okay", "yes", "y", "yep", "sure", "thanks", "thank", "you", "great", "good", "nice",
    "perfect", "cool", "continue", "go", "on", "ahead", "next", "please", "done", "fine", "hi",
    "hello", "hey", "right", "proceed", "it", "do", "that", "lgtm",
];
const MODEL_DECISIONS: &[&str] = &[
    "therefore",
    "decision :",
    "conclusion :",
    "chosen approach :",
    "root cause",
    "i decided",
    "we decided",
    "i've decided",
    "i will use",
    "i'll use",
    "we will use",
    "we'll use",
    "we should use",
    "the plan is",
    "going with",
];

/// Returns true if a sentence of the model's decides something.
pub fn is_decision(sentence: &str) -> bool {
    Words::of([sentence]).say_any(MODEL_DECISIONS)
}

impl Classifier for Demands {
    fn by_role(&self, turn: &Turn) -> Verdict {
        match turn.role() {
            Role::User => Verdict::new(Required, "the user said it"),
            Role::System => Verdict::new(Preserved, "the operator said it"),
            Role::Assistant => Verdict::new(Droppable, "the model said it"),
            Role::Tool => Verdict::new(Droppable, "a tool returned it"),
            Role::Other => Verdict::new(Droppable, "an unknown role said it"),
        }
    }

    fn by_content(&self, turn: &Turn, standing: Standing) -> Verdict {
        match turn.role() {
            Role::User => self.demand(turn, standing),
            Role::Assistant if decides(turn) => {
                Verdict::new(Required, "the model decided something")
            }
            _ => Verdict::new(Droppable, "no marker"),
        }
    }
}

impl Demands {
    fn demand(&self, turn: &Turn, standing: Standing) -> Verdict {
        let budget = self.budget(standing.limit);
        let fits = |strength: &Strength| {
            turn.tokens() <= budget.scaled(strength.each())
                && standing.demanded + turn.tokens() <= budget.scaled(strength.room())
        };
        strength(turn)
            .filter(fits)
            .map_or(Verdict::new(Required, "the user said it"), |strength| {
                Verdict {
                    class: Preserved,
                    reason: strength.reason(),
                    demand: true,
                }
            })
    }
}

fn strength(turn: &Turn) -> Option<Strength> {
    let lines: Vec<&str> = spoken::lines(turn).collect();
    let typed: usize = lines.iter().map(|line| line.len()).sum();
    if typed * 2 < turn.readable_length() || typed == 0 {
        return None;
    }
    let asks = lines.last().is_some_and(|line| line.ends_with('?'));
    let words = Words::of(lines.iter().copied());
    if words.say_any(CONSTRAINTS) {
        Some(Strength::Constraint)
    } else if words.say_any(DECISIONS) {
        Some(Strength::Decision)
    } else if asks || only_acknowledges(&lines) {
        None
    } else {
        Some(Strength::Directive)
    }
}

fn only_acknowledges(lines: &[&str]) -> bool {
    lines
        .iter()
        .flat_map(|line| line.split(|character: char| !character.is_alphanumeric()))
        .filter(|word| !word.is_empty())
        .all(|word| ACKNOWLEDGEMENTS.contains(&word.to_lowercase().as_str()))
}

fn decides(turn: &Turn) -> bool {
    Words::of(turn.texts().flat_map(str::lines)).say_any(MODEL_DECISIONS)
}
