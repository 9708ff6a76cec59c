//! Sessions at run time: violations that nothing hears of, and runs that cannot go on.

use std::sync::Arc;

use super::fault::{Fault, FaultKind};
use crate::graph::Gate;
use crate::value::Value;

/// The violation that a session reports and nothing in the program reads.
pub(super) fn violation(gate: &Gate, report: &Value) -> Fault {
    let word = |name: &str| {
        report
            .get(name)
            .and_then(Value::as_text)
            .unwrap_or_default()
    };
    let what = match word("error") {
        "timeout" => "a step took too long",
        _ => "a message came that the protocol does not expect",
    };
    Fault {
        message: report.get("message").cloned(),
        ..fault(
            gate,
            FaultKind::Violation,
            format!("{what} ({})", word("detail")),
        )
    }
}

/// The fault of a session that is unfinished when nothing can come to it any more, from the last state of its gate.
pub(super) fn unfinished(gate: &Gate, state: &Value) -> Option<Fault> {
    let number = |name: &str| match state.get(name) {
        Some(Value::Int(number)) => *number,
        _ => 0,
    };
    let (step, held) = (number("step"), number("held"));
    let index = usize::try_from(step).ok()?.checked_sub(1);
    let rests = index.is_some_and(|index| gate.rests.get(index) == Some(&true));
    let stopped = index
        .filter(|_| !rests)
        .and_then(|index| gate.steps.get(index));
    let payloads = match held {
        1 => "1 payload waits".to_owned(),
        several => format!("{several} payloads wait"),
    };
    let detail = match (stopped, held) {
        (None, ..=0) => return None,
        (None, _) => format!("{payloads} for a run that never came"),
        (Some(word), ..=0) => format!("the run cannot go on at step {step}: {word}"),
        (Some(word), _) => {
            format!("the run cannot go on at step {step}: {word}; {payloads} behind it")
        }
    };
    Some(fault(gate, FaultKind::Unfinished, detail))
}

fn fault(gate: &Gate, kind: FaultKind, detail: String) -> Fault {
    Fault {
        kind,
        node: gate.barrier,
        at: Arc::clone(&gate.name),
        span: gate.span,
        detail,
        message: None,
    }
}
