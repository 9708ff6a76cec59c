//! The classifier of the seed: everything that the user sends is preserved.

use super::words::Words;
use super::{Classifier, Standing, Verdict};
use crate::linearity::ResourceClass::{Droppable, Preserved, Required};
use crate::turn::{Role, Turn};

/// All user text preserved, system text required, everything else droppable; markers in a text raise
/// it: demands and code to preserved where the user wrote them, decisions and their reasons to
/// required where the model did.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seed;

const DEMANDS: &[&str] = &[
    "must",
    "required :",
    "critical :",
    "verbatim :",
    "exactly :",
    "user said :",
];
const FENCES: &[&str] = &["```", "\"\"\""];
const DECISIONS: &[&str] = &[
    "therefore",
    "decision :",
    "conclusion :",
    "because",
    "the reason",
    "i will",
    "we should",
    "chosen approach :",
];

impl Classifier for Seed {
    fn by_role(&self, turn: &Turn) -> Verdict {
        match turn.role() {
            Role::User => Verdict::new(Preserved, "the user said it"),
            Role::System => Verdict::new(Required, "the operator said it"),
            Role::Assistant => Verdict::new(Droppable, "the model said it"),
            Role::Tool => Verdict::new(Droppable, "a tool returned it"),
            Role::Other => Verdict::new(Droppable, "an unknown role said it"),
        }
    }

    fn by_content(&self, turn: &Turn, _: Standing) -> Verdict {
        let words = Words::of(turn.texts().flat_map(str::lines));
        let fenced = turn
            .texts()
            .any(|text| FENCES.iter().any(|fence| text.contains(fence)));
        if fenced || words.say_any(DEMANDS) {
            Verdict::new(Preserved, "it demands something or shows code")
        } else if words.say_any(DECISIONS) {
            Verdict::new(Required, "it decides something or gives a reason")
        } else {
            Verdict::new(Droppable, "no marker")
        }
    }
}
