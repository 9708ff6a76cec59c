//! Thinking is bound to everything before it: system prompt, tools, all earlier messages, the model,
//! the user, the organisation.
//!
//! The chain is a hash over everything that a later thinking block is bound to, one message after
//! the other, consecutive messages of one role as one. Thinking itself is not in it, because it may
//! be taken out from the start, from the end, or all of it; that none is missing between two others
//! is seen from the block before, which every signature records. A compaction block carries the
//! state of the chain over what it stands for, so that thinking in the turns after it stays valid.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use tokens::Capability;

use super::compaction::Sealed;
use crate::anthropic::content::{Block, Kind, Message, Role};
use crate::anthropic::request::Call;
use crate::config::{Binding, Signatures};
use crate::refusal::Refusal;
use crate::seal::{Print, Seal, print};

/// The hash over the conversation so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Chain {
    pub state: Print,
    pub last: Option<Role>,
}

impl Chain {
    /// The chain of a request before its messages.
    pub fn start(head: Print) -> Self {
        Self {
            state: print(&[b"head", &head]),
            last: None,
        }
    }

    fn after(block: &Sealed, head: Print, next: Option<&Message>) -> Self {
        let next = next.map(|message| message.role);
        let kept = block.preserves
            && block.head == head
            && next.is_none_or(|next| next != Role::System && Some(next) != block.last);
        Self {
            state: if kept {
                block.state
            } else {
                print(&[b"broken", &block.state])
            },
            last: block.last,
        }
    }

    fn feed(&mut self, message: &Message) {
        for block in message.spoken() {
            if block.kind == Kind::Compaction {
                continue;
            }
            if self.last != Some(message.role) {
                self.last = Some(message.role);
                self.state = print(&[&self.state, message.role.as_str().as_bytes()]);
            }
            let clears: &[u8] = if message.clears { b"clears" } else { b"" };
            self.state = print(&[&self.state, &block.print, clears]);
        }
    }
}

/// The thinking of a request, divided into what counts and what is taken out.
pub(crate) struct Examined {
    /// Thinking that is taken out: message, block.
    pub dropped: BTreeSet<(usize, usize)>,
    /// The reports of `input_transformations`.
    pub transformations: Vec<Value>,
    /// The chain over the whole request.
    pub chain: Chain,
    /// The chain after each message.
    pub states: Vec<Print>,
    /// The last thinking that counts, as a print of its signature.
    pub previous: Print,
}

/// The treatment of a mismatch, by the account's age and the configuration.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    pub binding: Binding,
    pub signatures: Signatures,
}

/// The signature of new thinking.
pub(crate) fn sign(seal: &Seal, call: &Call, chain: &Chain, previous: Print, text: &str) -> String {
    seal.sign(&[
        call.organisation,
        call.end_user(),
        model(call),
        chain.state,
        previous,
        print(&[text.as_bytes()]),
    ])
}

fn model(call: &Call) -> Print {
    print(&[call.known.model.name.as_bytes()])
}

/// The print by which a block is known to the one after it.
pub(crate) fn name_of(signature: &str) -> Print {
    print(&[b"thinking", signature.as_bytes()])
}

/// Judges all thinking of a request.
pub(crate) fn examine(call: &Call, seal: &Seal, terms: Terms) -> Result<Examined, Refusal> {
    let head = call.head();
    let mut out = Examined {
        dropped: BTreeSet::new(),
        transformations: Vec::new(),
        chain: Chain::start(head),
        states: Vec::with_capacity(call.messages.len()),
        previous: Print::default(),
    };
    for (at, message) in call.messages.iter().enumerate() {
        if at == 0
            && let Some(block) = call.carried()
        {
            let sealed = Sealed::open(seal, block)?;
            // The block may share its message with what follows it.
            let next = if message.blocks.len() > 1 {
                Some(&**message)
            } else {
                call.messages.get(1).map(|next| &**next)
            };
            out.chain = Chain::after(&sealed, head, next);
        }
        if message.role == Role::Assistant {
            thinking(call, at, seal, terms, &mut out)?;
        }
        out.chain.feed(message);
        out.states.push(out.chain.state);
    }
    Ok(out)
}

/// Judges the thinking of one message.
fn thinking(
    call: &Call,
    at: usize,
    seal: &Seal,
    terms: Terms,
    out: &mut Examined,
) -> Result<(), Refusal> {
    let Some(message) = call.messages.get(at) else {
        return Ok(());
    };
    let mut dropping = false;
    for (place, block) in message.blocks.iter().enumerate() {
        match block.kind {
            Kind::Thinking if !dropping => {}
            Kind::Thinking | Kind::RedactedThinking if dropping => {
                // The rest of a run goes with the block that did not fit.
                out.dropped.insert((at, place));
                continue;
            }
            _ => {
                dropping = false;
                continue;
            }
        }
        let signature = block.text("signature");
        let path = format!("messages.{at}.content.{place}");
        let Some(record) = record(seal, block, terms) else {
            return Err(Refusal::invalid(format!(
                "{path}: Invalid `signature` in `thinking` block"
            )));
        };
        let reason = record.and_then(|record| mismatch(call, out, &record));
        let Some(reason) = reason else {
            out.previous = name_of(signature);
            continue;
        };
        let report = |kind: &str| json!({"type": kind, "path": path, "reason": reason});
        if terms.binding == Binding::Reported {
            out.transformations
                .push(report("thinking_mismatch_allowed"));
            out.previous = name_of(signature);
        } else if drops(call) {
            out.transformations.push(report("thinking_dropped"));
            out.dropped.insert((at, place));
            dropping = true;
        } else {
            return Err(Refusal::invalid(format!(
                "{path}: Invalid `signature` in `thinking` block. The block is bound to a different conversation: {reason}."
            )));
        }
    }
    Ok(())
}

type Record = [Print; 6];

/// The record of a block. `None`: it does not verify. `Some(None)`: another provider's, trusted.
fn record(seal: &Seal, block: &Block, terms: Terms) -> Option<Option<Record>> {
    let signature = block.text("signature");
    if terms.signatures == Signatures::ForeignTrusted && !Seal::knows(signature) {
        return Some(None);
    }
    let record: Record = seal.open(signature)?;
    let [.., text] = record;
    (text == print(&[block.text("thinking").as_bytes()])).then_some(Some(record))
}

fn mismatch(call: &Call, out: &Examined, record: &Record) -> Option<&'static str> {
    if !call.known.model.can(Capability::ThinkingBinding) {
        return None;
    }
    let [organisation, user, bound_model, state, previous, _] = record;
    let gap = out.previous != Print::default() && out.previous != *previous;
    if *organisation != call.organisation {
        Some("organization_binding_mismatch")
    } else if *user != call.end_user() {
        Some("end_user_binding_mismatch")
    } else if *bound_model != model(call) {
        Some("model_binding_mismatch")
    } else if *state != out.chain.state || gap {
        Some("prefix_binding_mismatch")
    } else {
        None
    }
}

fn drops(call: &Call) -> bool {
    call.field("thinking")
        .and_then(|it| it.get("block_binding"))
        .and_then(|it| it.get("prefix_mismatch_behavior"))
        .and_then(Value::as_str)
        == Some("drop_block")
}
