//! The provider: requests in, answers out, time passed in.

use std::collections::HashMap;
use std::fmt;

use jiff::Timestamp;
use serde_json::json;

use crate::anthropic;
use crate::anthropic::request::too_large;
use crate::config::Config;
use crate::exchange::{Answer, Body, End, Incoming};
use crate::faults::{Fault, Faults, When};
use crate::lexicon::Lexicon;
use crate::openai;
use crate::organisation::{Account, Organisation};
use crate::refusal::Refusal;
use crate::script::Script;
use crate::seal::{Print, Seal, print};

/// The longest body, in bytes.
pub const LONGEST_BODY: usize = 32 << 20;

/// The key of signatures. Not a secret: the provider is for tests.
const SECRET: &str = "ebbtide sim";

/// A provider in memory. It does no I/O and reads no clock.
pub struct Provider {
    pub(crate) config: Config,
    pub(crate) seal: Seal,
    pub(crate) lexicon: Lexicon,
    pub(crate) serial: u64,
    faults: Faults,
    /// The fault by which the current answer breaks off.
    breaking: Option<Fault>,
    organisations: HashMap<Print, Organisation>,
    now: Timestamp,
}

impl fmt::Debug for Provider {
    /// Without any text of a conversation.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Provider")
            .field("config", &self.config)
            .field("requests", &self.serial)
            .finish_non_exhaustive()
    }
}

impl Provider {
    /// A provider without any state.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            seal: Seal::new(SECRET),
            lexicon: Lexicon::default(),
            serial: 0,
            faults: Faults::default(),
            breaking: None,
            organisations: HashMap::new(),
            now: Timestamp::UNIX_EPOCH,
        }
    }

    /// The settings. Changes apply from the next request on.
    pub const fn config_mut(&mut self) -> &mut Config {
        &mut self.config
    }

    /// Injects a fault, once. Faults of summaries wait for a summary, whatever `when` says.
    pub fn inject(&mut self, when: When, fault: Fault) {
        self.faults.push(when, fault);
    }

    /// The accounts of the organisation behind an API key, by conversation: the session header or
    /// `metadata.user_id` (Anthropic), `prompt_cache_key` (OpenAI), else the empty name.
    #[must_use]
    pub fn accounts(&self, key: &str) -> Vec<(String, Account)> {
        let organisation = self.organisations.get(&organisation_of(key));
        organisation
            .into_iter()
            .flat_map(|it| &it.accounts)
            .map(|(name, account)| (name.clone(), *account))
            .collect()
    }

    /// All accounts of all organisations together.
    #[must_use]
    pub fn total(&self) -> Account {
        self.organisations
            .values()
            .flat_map(|it| it.accounts.values())
            .fold(Account::default(), |sum, account| sum.plus(account))
    }

    /// Answers a request.
    pub fn answer(&mut self, incoming: &Incoming<'_>) -> Answer {
        self.now = incoming.now;
        let path = incoming.route();
        if path == "/api/hello" {
            return Answer::json(200, String::new());
        }
        let openai = openai::speaks(incoming);
        let outcome = self.authorised(incoming).and_then(|organisation| {
            if incoming.body.len() > LONGEST_BODY {
                return Err(too_large());
            }
            self.organisation(organisation).sweep(incoming.now);
            let routed = if openai {
                openai::route(self, incoming, organisation)
            } else {
                anthropic::route(self, incoming, organisation)
            };
            let outcome = routed.unwrap_or_else(|| {
                Err(Refusal::new(
                    404,
                    "not_found_error",
                    format!("Not found: {path}"),
                ))
            });
            if outcome.is_err() {
                self.organisation(organisation).account("").refused += 1;
            }
            outcome
        });
        let answer = outcome.unwrap_or_else(|refusal| {
            let request = self.id("req_", 0);
            refusal.answer(if openai {
                refusal.openai()
            } else {
                refusal.anthropic(&request)
            })
        });
        let mut answer = self.break_off(answer);
        let name = if openai { "x-request-id" } else { "request-id" };
        answer.headers.push((name, self.id("req_", 0)));
        answer
    }

    /// The organisation behind the request's key.
    fn authorised(&self, incoming: &Incoming<'_>) -> Result<Print, Refusal> {
        let bearer = incoming
            .header("authorization")
            .and_then(|value| value.strip_prefix("Bearer "));
        match incoming.header("x-api-key").or(bearer) {
            Some(key) if !key.trim().is_empty() => Ok(organisation_of(key)),
            _ => Err(Refusal::new(
                401,
                "authentication_error",
                "x-api-key header is required",
            )),
        }
    }

    pub(crate) fn organisation(&mut self, organisation: Print) -> &mut Organisation {
        self.organisations.entry(organisation).or_default()
    }

    pub(crate) const fn script(&mut self) -> &mut Script {
        &mut self.config.script
    }

    /// The fault of this request: the one in its header, else the next one injected. A broken
    /// connection strikes after the answer is made.
    pub(crate) fn fault(
        &mut self,
        incoming: &Incoming<'_>,
        summary: bool,
    ) -> Result<Option<Fault>, Refusal> {
        let asked = incoming.header("x-sim-fault").and_then(Fault::parse);
        let fault = match asked {
            Some(fault) if summary || !fault.of_summaries() => Some(fault),
            _ => self.faults.take(summary),
        };
        if let Some(Fault::Reset | Fault::Cut(_)) = &fault {
            self.breaking.clone_from(&fault);
        }
        match fault.as_ref().and_then(Fault::refusal) {
            Some(refusal) => Err(refusal),
            None => Ok(fault),
        }
    }

    fn break_off(&mut self, answer: Answer) -> Answer {
        let Some(fault) = self.breaking.take() else {
            return answer;
        };
        match (fault, answer.body) {
            (Fault::Cut(after), Body::Stream { mut events, .. }) => {
                events.truncate(after);
                let end = End::Cut;
                Answer::ok(Body::Stream { events, end })
            }
            _ => Answer::ok(Body::Reset),
        }
    }

    /// An id in the provider's style: unique by the number of the answer, the moment and `salt`.
    pub(crate) fn id(&self, prefix: &str, salt: u64) -> String {
        let moment = self.now.as_nanosecond().to_le_bytes();
        let bytes = print(&[
            prefix.as_bytes(),
            &self.serial.to_le_bytes(),
            &moment,
            &salt.to_le_bytes(),
        ]);
        let digits: String = bytes
            .iter()
            .take(11)
            .map(|it| format!("{it:02x}"))
            .collect();
        format!("{prefix}01{digits}")
    }

    /// Ids for so many calls.
    pub(crate) fn call_ids(&self, count: usize) -> Vec<String> {
        (0..count as u64).map(|at| self.id("call_", at)).collect()
    }

    /// The totals, as JSON for people.
    #[must_use]
    pub fn status(&self) -> String {
        let total = self.total();
        json!({
            "organisations": self.organisations.len(),
            "requests": total.requests,
            "refused": total.refused,
            "summaries": total.summaries,
            "input_tokens": total.used.fresh.get(),
            "cache_read_input_tokens": total.used.cache_read.get(),
            "cache_creation_input_tokens":
                (total.used.cache_write + total.used.cache_write_long).get(),
            "output_tokens": total.used.output.get(),
            "cost_usd": total.cost.get(),
        })
        .to_string()
    }
}

/// The organisation behind a key. The key itself is not kept.
fn organisation_of(key: &str) -> Print {
    print(&[b"organisation", key.as_bytes()])
}
