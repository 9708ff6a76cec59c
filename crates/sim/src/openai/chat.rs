//! `/v1/chat/completions`.

use wire::api::Dialect;

use super::items::{Call, parse};
use super::speech::{asks_in_words, fit, speak, summarise};
use super::write_chat::{self, Completion};
use super::{account, diagnostics, rules};
use crate::exchange::{Answer, Body, Incoming};
use crate::faults::Fault;
use crate::provider::Provider;
use crate::refusal::Refusal;
use crate::script::Say;
use crate::seal::Print;

/// Answers a chat.
pub(super) fn complete(
    provider: &mut Provider,
    incoming: &Incoming<'_>,
    organisation: Print,
) -> Result<Answer, Refusal> {
    let request = parse(Dialect::Chat, incoming.body)?;
    let call = Call::read(&request, organisation, None, &mut provider.lexicon)?;
    rules::parameters(&call)?;
    rules::chat(&call)?;
    let (input, window) = (call.input(), account::window(provider, &call));
    if input >= window {
        return Err(Refusal::invalid(format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {input} tokens. Please reduce the length of the messages."
        ))
        .coded("context_length_exceeded")
        .about("messages"));
    }
    let summary = asks_in_words(&call);
    let fault = provider.fault(incoming, summary)?;
    let taken = account::take(provider, &call, 0, incoming, fault.as_ref());
    let speech = if summary {
        let text = summarise(&call, &request, taken.room, true, fault.as_ref());
        fit(&call, [Say::Text(text)].into_iter(), taken.room)
    } else {
        speak(provider, &call, &request, taken.room)
    };
    provider.serial += 1;
    let id = provider.id("chatcmpl-", 0);
    let compared = diagnostics::Compared::of(&call, taken.input);
    let org = provider.organisation(organisation);
    let diagnosis = diagnostics::diagnose(&call, &compared, org, taken.share.read);
    org.compared.insert(id.clone(), (incoming.now, compared));
    account::book(provider, &call, &taken, speech.tokens(), summary);
    if fault == Some(Fault::SummaryNever) {
        return Ok(Answer::ok(Body::Never));
    }
    let completion = Completion {
        id,
        model: call.known.asked.clone(),
        created: incoming.now.as_second(),
        calls: provider.call_ids(speech.says.len()),
        diagnosis,
        speech,
    };
    let with_usage = call
        .field("stream_options")
        .and_then(|it| it.get("include_usage"))
        .is_some_and(|it| it == true);
    Ok(if call.streams() {
        write_chat::stream(&completion, &taken, with_usage)
    } else {
        write_chat::whole(&completion, &taken)
    })
}
