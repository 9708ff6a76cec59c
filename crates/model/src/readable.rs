//! The route by which a model writes a summary after our template.
//!
//! The model is asked alongside the request that was sent last, which reads the provider's cache, or
//! apart from it, with a transcript of the originals. The text is checked and asked for once more
//! with its defects named; fields that are still empty are filled by extraction; behind the text
//! stands a ledger of the identifiers that it did not name; and the whole has to pass the quality gate.

use context::extract::Room;
use context::extract::{self, extract_in, ledger, trim};
use context::quality::{Gate, Quality, Rejection, is_degenerate};
use context::summary::{Defect, Field, Replaced, Summary, parted};
use context::{Text, TokenCounter, Tokens};
use history::Route;
use tokens::ModelTable;

use crate::asking::{Asking, fits};
use crate::draft::{Draft, Measure, draft, draft_once};
use crate::error::ModelError;
use crate::extractive::{shown, source};
use crate::made::{Course, Made, Manner};
use crate::order::{Order, Routes, Sent};
use crate::prompt::{self, Wish};
use crate::tree;
use crate::work::{Work, computed, least_answer, longest_answer};

/// The share of the budget that a model's own words may keep where they take more than was asked for;
/// the rest is for the ledger.
const WORDS: f64 = 0.85;

pub(crate) async fn carry_out(work: &Work<'_>, routes: &Routes) -> Result<Made, ModelError> {
    let mut reason = ModelError::NotOpen {
        route: Route::Readable,
        why: "no model is configured to write it",
    };
    if let Some(sent) = &routes.alongside {
        match alongside(work, sent).await {
            Ok(made) => return Ok(made),
            Err(error) => {
                tracing::debug!(%error, "a summary could not be made alongside");
                reason = error;
            }
        }
    }
    match &routes.apart {
        Some(writer) => {
            let (draft, course) = tree::draft_apart(work, writer, &routes.chunks).await?;
            finished(work.order, draft, course).await
        }
        None => Err(reason),
    }
}

/// Asks the agent's own model behind the request that was sent.
async fn alongside(work: &Work<'_>, sent: &Sent) -> Result<Made, ModelError> {
    let order = work.order;
    let wish = wish(order, order.budget);
    let asking = Asking::Alongside {
        sent,
        prompt: prompt::alongside(order.tail.len(), &wish),
    };
    let most = ModelTable::shipped().find(&asking.model()).max_output;
    let wanted = longest_answer(order.budget, most).min(sent.window.scaled(0.25));
    let least = least_answer(order.budget).min(wanted);
    let mut longest = wanted;
    if let Asking::Alongside { prompt, .. } = &asking {
        longest = fits(sent, order.counter.count(prompt), (wanted, least))?;
    }
    let measure = Measure {
        source: order.source_tokens(),
        longest,
        counter: &*order.counter,
    };
    let draft = match longest == wanted {
        true => draft(work, &asking, &wish, &measure).await?,
        false => {
            let draft = draft_once(work, &asking, &wish, &measure).await?;
            draft.ok_or(ModelError::NotOpen {
                route: Route::Readable,
                why: "the answer behind the sent request had defects, and there is no room to ask again",
            })?
        }
    };
    let course = Course {
        manner: Manner::Alongside,
        ..Course::default()
    };
    finished(order, draft, course).await
}

/// The facts of the order, for a summary of `budget`.
pub(crate) fn wish(order: &Order, budget: Tokens) -> Wish<'_> {
    Wish {
        budget,
        instructions: order.instructions.as_deref(),
        pins: &order.pins,
    }
}

/// Completes a draft, appends the ledger and judges the whole.
async fn finished(order: &Order, draft: Draft, course: Course) -> Result<Made, ModelError> {
    let order = order.clone();
    computed(move || finish(&order, draft, course)).await?
}

pub(crate) fn finish(order: &Order, draft: Draft, mut course: Course) -> Result<Made, ModelError> {
    let counter = &*order.counter;
    let Draft {
        mut summary,
        defects,
        stop,
        asked,
        ..
    } = draft;
    if let Some(rejection) = defects.iter().find_map(hopeless) {
        return Err(ModelError::Rejected(rejection));
    }
    // A ledger that the model wrote was not asked for; ours is made from the originals.
    while summary.pop(Field::Ledger).is_some() {}
    if summary.is_empty() {
        return Err(ModelError::NoHeadings { stop });
    }
    summary.replaced = Replaced::of(&order.old);
    trim(&mut summary, order.budget.scaled(WORDS), counter);
    course.asked = asked;
    if !defects.is_empty() {
        course.completed = complete(&mut summary, order);
    }
    add_state(&mut summary, order);
    course.ledger = append_ledger(&mut summary, order);
    let text = summary.render();
    course.quality = Some(judge(order, &text)?);
    Ok(Made {
        route: Route::Readable,
        tokens: shown(&text, counter),
        text: Text::from(text),
        message: None,
        ledger: Vec::new(),
        beside: Text::default(),
        spent: Vec::new(),
        course,
        fallen: Vec::new(),
    })
}

/// Turns a summary away that does not pass the gate, unless the one that would come after it does not
/// pass either: in a source of nothing but names that occur once, no summary names enough of them.
fn judge(order: &Order, text: &str) -> Result<Quality, ModelError> {
    let counter = &*order.counter;
    let gate = Gate::default();
    let source = source(&order.old);
    let verdict = gate.judge(&source, text, counter);
    let quality = verdict.quality();
    match verdict.rejection() {
        None => Ok(quality),
        // A person may repeat themselves: only what the model wrote must not.
        Some(Rejection::Degenerate) if !is_degenerate(parted(text).1) => Ok(quality),
        Some(rejection @ (Rejection::Degenerate | Rejection::Grew)) => {
            Err(ModelError::Rejected(rejection))
        }
        Some(rejection) => {
            let next = extract_in(&order.old, &order.tail, order.room(), counter).render();
            match gate.judge(&source, &next, counter).rejection() {
                Some(_) => Ok(quality),
                None => Err(ModelError::Rejected(rejection)),
            }
        }
    }
}

/// Defects that no completion mends.
const fn hopeless(defect: &Defect) -> Option<Rejection> {
    match defect {
        Defect::Degenerate { .. } => Some(Rejection::Degenerate),
        Defect::Grows { .. } => Some(Rejection::Grew),
        Defect::MissingHeading(_) | Defect::NoTask => None,
    }
}

/// The share of the budget for the state of the work that is read off the turns themselves.
const STATE: f64 = 0.25;

/// Adds what is read off the turns themselves, so that what the model forgot stands there all the same: the user's
/// words, and tasks, files, commands and errors with their last known state.
fn add_state(summary: &mut Summary, order: &Order) {
    let counter = &*order.counter;
    let free = order.budget.saturating_sub(summary.tokens(counter));
    let room = Room {
        words: order.words,
        standing: order.standing,
        summary: free.min(order.budget.scaled(STATE)),
    };
    let state = extract::state(&order.old, room, counter);
    let written = summary.render();
    for field in [Field::Tasks, Field::Done, Field::Errors] {
        for entry in state.entries(field) {
            // An entry that the model wrote in the same words stands there already.
            if !written.contains(entry.as_str()) {
                summary.push_lines(field, entry);
            }
        }
    }
    trim(summary, order.budget, counter);
    summary.words = state.words;
}

/// Fills empty fields by extraction, and returns them.
fn complete(summary: &mut Summary, order: &Order) -> Vec<Field> {
    let counter = &*order.counter;
    let room = order.budget.saturating_sub(summary.tokens(counter));
    let room = Room::without_words(room);
    let mut by_extraction = extract_in(&order.old, &order.tail, room, counter);
    // Identifiers come with the ledger, which knows what the summary names already.
    while by_extraction.pop(Field::Ledger).is_some() {}
    let empty = |summary: &Summary, field: Field| summary.entries(field).is_empty();
    let before: Vec<Field> = Field::ALL
        .into_iter()
        .filter(|&field| empty(summary, field))
        .collect();
    summary.complete_from(&by_extraction);
    trim(summary, order.budget, counter);
    before
        .into_iter()
        .filter(|&field| !empty(summary, field))
        .collect()
}

/// Appends the identifiers that neither the summary nor the remaining view names, as far as they fit.
fn append_ledger(summary: &mut Summary, order: &Order) -> usize {
    let counter: &dyn TokenCounter = &*order.counter;
    let mut already = summary.render();
    for pin in &order.pins {
        already.push('\n');
        already.push_str(pin);
    }
    let words = std::mem::take(&mut summary.words);
    let room = order.budget.saturating_sub(summary.tokens(counter));
    let entries = ledger(&order.old, &order.tail, &already, room, counter);
    for entry in &entries {
        summary.push(Field::Ledger, entry);
    }
    while summary.tokens(counter) > order.budget && summary.pop(Field::Ledger).is_some() {}
    summary.words = words;
    summary.entries(Field::Ledger).len()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use context::quality::Rejection;
    use context::summary::{Field, Summary, is_summary, parted};
    use context::{Heuristic, Role, Text, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
    use proptest::prelude::*;

    use super::finish;
    use crate::draft::{Draft, Measure};
    use crate::error::ModelError;
    use crate::made::{Course, Made};
    use crate::order::Order;

    /// An order over a talk of which each turn names a file.
    fn order(budget: u64) -> Order {
        let mut parent = TurnId::ROOT;
        let mut turn = |number: usize| {
            let role = [Role::User, Role::Assistant][number % 2];
            let text = format!(
                "Please look at src/parser_{}.rs, where error E{number} stands, and mend the loop.",
                number % 5
            );
            let turn = TurnDraft::text(role, text.repeat(4)).after(parent, &Heuristic);
            parent = turn.id();
            turn
        };
        let old: Vec<Turn> = (0..60).map(&mut turn).collect();
        Order {
            old: old.into(),
            tail: Arc::new([turn(60)]),
            pins: vec![Text::from("never touch src/parser_3.rs")],
            budget: Tokens::new(budget),
            words: Tokens::new(400),
            standing: Tokens::ZERO,
            instructions: None,
            counter: Arc::new(Heuristic),
            model: "m".to_owned(),
        }
    }

    /// The verdict on a text that a model wrote.
    fn finished(order: &Order, text: &str) -> Result<Made, ModelError> {
        let measure = Measure {
            source: order.source_tokens(),
            longest: Tokens::new(9_000),
            counter: &Heuristic,
        };
        let draft = Draft::read(text.to_owned(), None, order.budget, &measure);
        finish(order, draft, Course::default())
    }

    const WHOLE: &str = "## Goal\n- mend the loop in src/parser_1.rs\n## Decisions, constraints and preferences\nnone\n## Tasks, open and closed\nnone\n## What was done\nnone\n## Where the work stands\n- look at error E7\n## Key facts\nnone\n## Dead ends\nnone\n## Next steps\nnone\n## Identifiers\n- made up by the model";

    #[test]
    fn a_whole_record_is_not_completed_and_gets_its_ledger_from_the_originals() {
        let order = order(800);
        let made = finished(&order, WHOLE).unwrap();
        let summary = Summary::parse(&made.text).summary;
        assert_eq!(made.course.completed, []);
        assert_eq!(summary.entries(Field::Facts), [] as [&str; 0]);
        assert!(made.course.ledger > 0);
        let ledger = summary.entries(Field::Ledger).join("\n");
        assert!(!ledger.contains("made up"), "{ledger}");
        assert!(ledger.contains("parser_2"), "{ledger}");
    }

    #[test]
    fn a_record_with_gaps_is_completed() {
        let made = finished(&order(800), "## Goal\n- mend the loop").unwrap();
        assert!(made.course.completed.contains(&Field::Task));
        let goal = Summary::parse(&made.text).summary;
        assert_eq!(goal.entries(Field::Goal), ["mend the loop"]);
    }

    #[test]
    fn what_is_no_record_is_turned_away() {
        let order = order(800);
        let nothing = finished(&order, "I would rather talk of the weather.");
        let nothing = nothing.unwrap_err().to_string();
        assert!(nothing.starts_with("the answer is no summary"), "{nothing}");
        let names = finished(&order, "## Identifiers\n- src/parser_1.rs");
        assert!(matches!(names, Err(ModelError::NoHeadings { .. })));
        let stuck = "## Goal\n".to_owned() + &"- again and again\n".repeat(20);
        let stuck = finished(&order, &stuck);
        let expected = ModelError::Rejected(Rejection::Degenerate);
        assert_eq!(stuck.unwrap_err(), expected);
    }

    proptest! {
        #[test]
        fn whatever_a_model_writes_the_budget_holds(
            entries in prop::collection::vec((0_usize..7, "[a-z/_.0-9 ]{1,200}"), 1..60),
            budget in 200_u64..3_000,
        ) {
            let mut written = Summary::default();
            for (field, entry) in &entries {
                written.push(Field::ALL[*field], entry);
            }
            let order = order(budget);
            if let Ok(made) = finished(&order, &written.render()) {
                prop_assert!(is_summary(&made.text));
                prop_assert!(Heuristic.count(parted(&made.text).1) <= order.budget);
                let summary = Summary::parse(&made.text).summary;
                prop_assert_eq!(summary.replaced.turns, 60);
                prop_assert_eq!(summary.entries(Field::Ledger).len(), made.course.ledger);
            }
        }
    }
}
