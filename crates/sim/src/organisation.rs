//! The state of an organisation: its cache, its answers, its threads, its bill.

use std::collections::{BTreeMap, HashMap};

use context::{Consumption, Tokens};
use jiff::{SignedDuration, Timestamp};
use tokens::{Price, Usd};

use crate::anthropic::threads::Thread;
use crate::cache::{Cache, Share, later};
use crate::openai::Compared;
use crate::openai::stored::Stored;
use crate::seal::Print;

/// The time for which answers are remembered.
const REMEMBERED: SignedDuration = SignedDuration::from_hours(24);

/// Tokens used, and their cost.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Account {
    /// Requests that were answered.
    pub requests: u64,
    /// Requests that were refused.
    pub refused: u64,
    /// Those of the answered ones that were summaries.
    pub summaries: u64,
    /// Tokens by price class.
    pub used: Consumption,
    /// The cost by the model table.
    pub cost: Usd,
}

impl Account {
    /// Books an answer.
    pub(crate) fn book(&mut self, share: &Share, output: u64, price: &Price) {
        let used = Consumption {
            fresh: Tokens::new(share.fresh),
            cache_read: Tokens::new(share.read),
            cache_write: Tokens::new(share.write),
            cache_write_long: Tokens::new(share.write_long),
            output: Tokens::new(output),
        };
        self.used = self.used + used;
        self.cost += price.cost(&used);
    }

    /// Both together.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        Self {
            requests: self.requests + other.requests,
            refused: self.refused + other.refused,
            summaries: self.summaries + other.summaries,
            used: self.used + other.used,
            cost: self.cost + other.cost,
        }
    }
}

/// A request that was answered, as later requests refer to it.
#[derive(Clone, Debug)]
pub(crate) struct Sent {
    pub at: Timestamp,
    pub model: String,
    pub tools: Print,
    pub system: Print,
    /// The hash over its messages.
    pub state: Print,
    /// The compaction block it began with.
    pub carried: Option<Print>,
    pub tokens: u64,
}

/// The state of one organisation.
#[derive(Default)]
pub(crate) struct Organisation {
    pub cache: Cache,
    pub sent: HashMap<String, Sent>,
    pub threads: HashMap<String, Thread>,
    pub stored: HashMap<String, Stored>,
    pub compared: HashMap<String, (Timestamp, Compared)>,
    pub accounts: BTreeMap<String, Account>,
    swept: Option<Timestamp>,
}

impl Organisation {
    /// Removes old answers, once a minute at most.
    pub fn sweep(&mut self, now: Timestamp) {
        let minute = SignedDuration::from_mins(1);
        if self.swept.is_some_and(|then| now < later(then, minute)) {
            return;
        }
        self.swept = Some(now);
        self.sent.retain(|_, sent| now < later(sent.at, REMEMBERED));
        self.stored.retain(|_, it| now < later(it.at, REMEMBERED));
        self.compared
            .retain(|_, (at, _)| now < later(*at, REMEMBERED));
        self.threads.retain(|_, thread| now < thread.until);
    }

    /// The account of a conversation.
    pub fn account(&mut self, conversation: &str) -> &mut Account {
        self.accounts.entry(conversation.to_owned()).or_default()
    }
}
