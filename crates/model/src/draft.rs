//! A text by our template: requested, checked, requested once more.

use context::summary::{Defect, Summary, validate};
use context::{TokenCounter, Tokens};
use wire::api::Stop;

use crate::asking::{Asking, Before};
use crate::error::ModelError;
use crate::prompt::{Wish, again, defect};
use crate::work::{Work, text_of};

/// A summary may be this much larger than its budget before it is asked for again.
const LATITUDE: f64 = 2.0;

/// A text that a model wrote by our template.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    /// The fields that were read.
    pub summary: Summary,
    /// The defects of the draft.
    pub defects: Vec<Defect>,
    /// The stop reason of the answer.
    pub stop: Option<Stop>,
    /// The number of attempts.
    pub asked: u32,
    text: String,
    /// Further remarks for the model.
    remarks: Vec<&'static str>,
}

/// The measures of a draft.
pub(crate) struct Measure<'a> {
    /// The size of the source.
    pub source: Tokens,
    /// The most tokens to ask for.
    pub longest: Tokens,
    /// Counts it.
    pub counter: &'a dyn TokenCounter,
}

/// Asks for a summary where there is no room to ask again. Returns `None` if it has defects.
pub(crate) async fn draft_once(
    work: &Work<'_>,
    asking: &Asking<'_>,
    wish: &Wish<'_>,
    measure: &Measure<'_>,
) -> Result<Option<Draft>, ModelError> {
    let draft = ask(work, asking, (wish, measure), None).await?;
    Ok((draft.flaws() == 0).then_some(draft))
}

async fn ask(
    work: &Work<'_>,
    asking: &Asking<'_>,
    (wish, measure): (&Wish<'_>, &Measure<'_>),
    before: Option<&Before<'_>>,
) -> Result<Draft, ModelError> {
    let body = asking.body(measure.longest, before)?;
    let reply = work.ask(asking.endpoint(), &asking.model(), body).await?;
    Ok(Draft::read(
        text_of(&reply),
        reply.stop,
        wish.budget,
        measure,
    ))
}

/// Asks for a summary, and once more if it has defects; returns the better of the two.
pub(crate) async fn draft(
    work: &Work<'_>,
    asking: &Asking<'_>,
    wish: &Wish<'_>,
    measure: &Measure<'_>,
) -> Result<Draft, ModelError> {
    let mut first = ask(work, asking, (wish, measure), None).await?;
    if first.flaws() == 0 {
        return Ok(first);
    }
    let mut told: Vec<String> = first.defects.iter().map(defect).collect();
    told.extend(first.remarks.iter().map(|&remark| remark.to_owned()));
    let remark = again(&told, wish);
    let before = Before {
        text: &first.text,
        stop: first.stop.as_ref(),
        remark: &remark,
    };
    match ask(work, asking, (wish, measure), Some(&before)).await {
        Ok(second) if second.flaws() <= first.flaws() => Ok(Draft { asked: 2, ..second }),
        Ok(_) => {
            first.asked = 2;
            Ok(first)
        }
        Err(error) if first.summary.is_empty() => Err(error),
        // The model's first text is better than nothing.
        Err(error) => {
            tracing::debug!(%error, "a summary could not be asked for again");
            Ok(first)
        }
    }
}

impl Draft {
    /// Reads a model's answer to a request for a summary of `budget`.
    pub fn read(text: String, stop: Option<Stop>, budget: Tokens, measure: &Measure<'_>) -> Self {
        let mut remarks = Vec::new();
        if matches!(stop, Some(Stop::MaxTokens | Stop::WindowExceeded)) {
            remarks.push("it was cut off because it is too long");
        }
        if measure.counter.count(&text) > budget.scaled(LATITUDE) {
            remarks.push("it is much longer than was asked for");
        }
        Self {
            summary: Summary::parse(&text).summary,
            defects: validate(&text, measure.source, measure.counter),
            stop,
            asked: 1,
            text,
            remarks,
        }
    }

    fn flaws(&self) -> usize {
        self.defects.len() + self.remarks.len()
    }
}
