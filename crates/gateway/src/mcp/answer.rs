//! The words of the results. Each result is structured, and the same again as text for clients that show text
//! only; what an error says comes with its code and a remedy, so that the model can correct its call.

use std::fmt::Write as _;

use context::coded::{Coded, ErrorCode};
use serde::Serialize;
use serde_json::{Value, json};

use crate::dashboard::one_line;
use crate::error;
use crate::report::{
    Accepted, Expanded, Lost, PinReport, QUOTED, Recalled, ReportError, Status, Unpinned,
};

/// Why a call was not carried out.
#[derive(Debug)]
pub(super) struct Trouble {
    code: ErrorCode,
    message: String,
    remedy: Option<String>,
}

impl Trouble {
    pub(super) fn coded(error: &dyn Coded) -> Self {
        Self {
            code: error.code(),
            message: error.to_string(),
            remedy: error::remedy(error.code()),
        }
    }

    /// The arguments are wrong.
    pub(super) fn bad(message: &str) -> Self {
        Self {
            code: error::BAD_REQUEST,
            message: message.to_owned(),
            remedy: Some("The tool's input schema describes the arguments.".to_owned()),
        }
    }

    /// There is no conversation that the call could be about.
    pub(super) fn none() -> Self {
        Self {
            code: error::NO_CONVERSATION,
            message: "there is no conversation yet that you may see".to_owned(),
            remedy: Some(
                "A conversation begins with the first request that the gateway answers.".to_owned(),
            ),
        }
    }

    pub(super) fn result(&self) -> Value {
        let mut text = format!("{}: {}", self.code, self.message);
        if let Some(remedy) = &self.remedy {
            let _ = write!(text, "\n{remedy}");
        }
        json!({"content": [block(&text)], "isError": true})
    }
}

impl From<ReportError> for Trouble {
    fn from(error: ReportError) -> Self {
        Self::coded(&error)
    }
}

/// A block of text.
fn block(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

/// A result with its texts.
fn result(value: &impl Serialize, texts: &[String]) -> Value {
    let structured = serde_json::to_value(value).ok();
    let content: Vec<Value> = texts.iter().map(|text| block(text)).collect();
    json!({"content": content, "structuredContent": structured, "isError": false})
}

pub(super) fn recalled(found: &Recalled) -> Value {
    let mut text = match found.hits.len() {
        0 => "Nothing in this conversation says these words. Try others: a name, a path, part of an error."
            .to_owned(),
        1 => format!("1 place. {QUOTED}"),
        places => format!("{places} places. {QUOTED}"),
    };
    for hit in &found.hits {
        let (handle, role, line) = (&hit.handle, hit.role, hit.line);
        let at = hit.at.as_deref().unwrap_or("time unknown");
        let view = if hit.hidden { "not in view" } else { "in view" };
        let _ = write!(text, "\n\n{handle} ({role}, line {line}, {view}, {at})");
        for line in hit.text.lines() {
            let _ = write!(text, "\n> {line}");
        }
    }
    result(found, &[text])
}

pub(super) fn expanded(found: &Expanded) -> Value {
    let mut head = format!(
        "{}, {} of {} bytes.",
        found.title, found.section, found.bytes
    );
    if let Some(next) = &found.next {
        let _ = write!(head, " The next range is {next}.");
    }
    for turn in &found.damaged {
        let _ = write!(head, " The original of turn:{turn} is damaged.");
    }
    let head = format!("{head} {QUOTED} The next block is the original.");
    result(found, &[head, found.text.clone()])
}

pub(super) fn lost(found: &Lost) -> Value {
    let mut text = match found.turns {
        0 => "No summary is in view: nothing was left out.".to_owned(),
        _ => format!(
            "{} {} turns of {} tokens and leaves this out. {QUOTED}",
            match (&found.mark, &found.conversation) {
                (None, None) => "The view begins behind",
                _ => "The summary in view stands for",
            },
            found.turns,
            found.tokens
        ),
    };
    for loss in &found.entries {
        let _ = write!(text, "\n- {}: {} ({})", loss.kind, loss.text, loss.handle);
    }
    if let Some(conversation) = &found.conversation {
        let _ = write!(
            text,
            "\nThe client made this summary itself. Use these handles with conversation={conversation}."
        );
    }
    if found.left_out > 0 {
        let _ = write!(text, "\n{} more entries are not listed.", found.left_out);
    }
    result(found, &[text])
}

pub(super) fn pinned(pin: &PinReport) -> Value {
    let (id, origin, tokens) = (&pin.id, pin.origin, pin.tokens);
    let text = format!("Pinned as {id} by {origin}: {tokens} tokens in every request.");
    result(pin, &[text])
}

pub(super) fn unpinned(done: &Unpinned) -> Value {
    let text = match done.removed {
        true => "Removed.",
        false => "No pin of yours has this ID. `memory_status` lists the pins.",
    };
    result(done, &[text.to_owned()])
}

pub(super) fn accepted(done: &Accepted) -> Value {
    let text = "A summary will be made in the background after the next request.";
    result(done, &[text.to_owned()])
}

pub(super) fn status(status: &Status) -> Value {
    let Status { tokens, window, .. } = status;
    let mut text = format!(
        "Context window: {tokens} of {window} tokens ({} %). A summary is prepared from {} tokens and \
         swapped in at {}. State: {}.",
        status.percent, status.soft, status.hard, status.state
    );
    match &status.removed {
        None => text.push_str("\nNothing is removed from view."),
        Some(gone) => {
            let (turns, tokens, from) = (gone.turns, gone.tokens, gone.first_shown);
            let _ = write!(
                text,
                "\nRemoved from view: turns 1 to {turns} ({tokens} tokens), after {} compactions. \
                 The view begins at turn:{from}; `expand` reads the turns before it.",
                status.compactions
            );
        }
    }
    let _ = write!(
        text,
        "\nConversation: {} ({} turns)",
        status.conversation, status.turns
    );
    for pin in &status.pins {
        let (id, origin, shown) = (&pin.id, pin.origin, one_line(&pin.text, 120));
        let _ = write!(
            text,
            "\nPin {id} ({origin}, {} tokens): {shown}",
            pin.tokens
        );
    }
    result(status, &[text])
}
