//! Conversations that are not in memory, with the sizes that their kept journals tell.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use ::conversation::Conversation as Live;
use ::conversation::journal::{Journal, Sent};
use history::{Conversation, ConversationId, HistoryError, Store, Tenant};
use jiff::Timestamp;

use super::Reporter;
use super::figures::described;
use crate::report::{Gauge, Line, ReportError};

/// The most sizes that are remembered.
const MOST: usize = 8_192;

/// The size of a conversation's last request, and when that was.
type Known = HashMap<(Tenant, ConversationId), (Timestamp, u64)>;

/// The sizes of conversations at rest. The journal of each is read once.
#[derive(Clone, Debug, Default)]
pub(in crate::conversations) struct Sizes(Arc<Mutex<Known>>);

impl Sizes {
    fn of(
        &self,
        (tenant, store): (Tenant, &dyn Store),
        record: &Conversation,
    ) -> Result<u64, HistoryError> {
        let key = (tenant, record.id);
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, tokens)) = known.get(&key).filter(|(seen, _)| *seen == record.seen) {
            return Ok(*tokens);
        }
        drop(known);
        let journal = store.journal(record.id)?.map(|text| Journal::read(&text));
        let last = journal.and_then(|journal| journal.samples().last().copied());
        let Some(Sent { tokens, .. }) = last else {
            return Ok(0);
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(key, (record.seen, u64::from(tokens)));
        Ok(u64::from(tokens))
    }
}

impl Reporter {
    /// The lines of a tenant's conversations that are not in memory.
    pub(super) async fn resting(
        &self,
        tenant: Tenant,
        records: Vec<Conversation>,
    ) -> Result<Vec<(Conversation, Line)>, ReportError> {
        let sizes = self.sizes.clone();
        let read = self.writer.read(tenant, move |store: &dyn Store| {
            let sized = |record: Conversation| {
                let tokens = sizes.of((tenant, store), &record)?;
                Ok((record, tokens))
            };
            records
                .into_iter()
                .map(sized)
                .collect::<Result<Vec<_>, _>>()
        });
        // To learn it, the strategy's program is run.
        let soft = self.directory.terms.acts_from();
        let line = |(record, tokens): (Conversation, u64)| {
            let line = self.line_of_record(&record, (tokens, soft));
            (record, line)
        };
        Ok(read.await?.into_iter().map(line).collect())
    }

    fn line_of_record(&self, record: &Conversation, (tokens, soft): (u64, f64)) -> Line {
        let terms = &self.directory.terms;
        let limits = terms.limits(&self.directory.commons.model(&record.model));
        let window = limits.window;
        Line {
            state: match terms.is_on() {
                true => "idle",
                false => Live::OBSERVING,
            },
            observed: !terms.is_on(),
            gauge: Gauge {
                window: window.get(),
                soft: window.scaled(soft).get(),
                hard: limits.hard_tokens().get(),
                tokens,
            },
            ..described(record)
        }
    }
}
