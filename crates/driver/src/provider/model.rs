//! Models over HTTP: requests made from turns, answers read from replies.

use bytes::Bytes;
use context::{Heuristic, Part, Tokens, Turn, TurnDraft, TurnId};
use model::{Client, Endpoint, ModelError, Restart};
use serde_json::json;
use tokens::ModelTable;
use wire::api::{Conversation, Dialect, Edit, Piece, Reply, Request, Stop, render_turn};

use super::{Calls, Ended, ModelAnswer, Question, TokenUsage, ViewTurn, counted};
use crate::driver::{Driver, SIM_DIALECT};
use crate::error::FailureReason;
use crate::settings::Settings;

/// The longest answer where neither the program nor the model sets a lower one.
const LONGEST: u64 = 8_192;

/// The way to reach a model.
#[derive(Clone, Debug)]
pub(crate) enum ModelEndpoint {
    /// At an address.
    At(Box<Endpoint>),
    /// In this process: the simulated provider, which is started when it is first asked.
    Sim(Driver),
}

/// A model with the settings of its requests.
#[derive(Debug)]
pub(crate) struct Model {
    client: Client,
    reach: ModelEndpoint,
    name: String,
    window: Tokens,
    /// The longest answer; `None` if the provider may decide.
    longest: Option<u64>,
    /// The budget of thinking tokens.
    thinking: Option<u64>,
}

impl Model {
    /// The model of an agent.
    pub fn new(client: Client, reach: ModelEndpoint, name: &str, settings: &Settings) -> Self {
        let known = ModelTable::shipped().find(name);
        let thinking = settings.sampling.thinking;
        let dialect = match &reach {
            ModelEndpoint::At(endpoint) => endpoint.dialect(),
            ModelEndpoint::Sim(_) => SIM_DIALECT,
        };
        let own = &dialect.facts().own;
        let usual = LONGEST + thinking.unwrap_or_default();
        let usual = own.needs_limit.then(|| usual.min(known.max_output.get()));
        Self {
            client,
            reach,
            name: name.to_owned(),
            window: known.window,
            longest: settings.limits.tokens.or(usual),
            thinking: thinking.filter(|_| own.thinking_budget),
        }
    }

    /// The size of its window.
    pub const fn window(&self) -> Tokens {
        self.window
    }

    /// Asks it.
    ///
    /// # Errors
    /// If it cannot be had, after the repetitions that are due, or refuses.
    pub async fn ask(&self, question: &Question<'_>) -> Result<ModelAnswer, FailureReason> {
        let failed = |error| FailureReason::Model(Box::new(error));
        let endpoint = match &self.reach {
            ModelEndpoint::At(endpoint) => (**endpoint).clone(),
            ModelEndpoint::Sim(driver) => driver.sim().await.map_err(failed)?,
        };
        let body = self.body(endpoint.dialect(), question).map_err(failed)?;
        let restart = Restart::FromTheStart;
        let answer = self.client.reply(&endpoint, body, restart).await;
        let mut said = said(&answer.map_err(failed)?.reply)?;
        if said.spent.input == Tokens::ZERO {
            // Some servers report no usage.
            said.spent = counted(question.turns, &said.text);
        }
        Ok(said)
    }

    /// The request. Where the model thinks, the turns of this exchange follow as the provider gave them: an
    /// answer that calls tools has to come back with its signed thoughts. Everything before is written from
    /// turns.
    fn body(&self, dialect: Dialect, question: &Question<'_>) -> Result<Bytes, ModelError> {
        let raw = |turn: &ViewTurn| turn.raw.is_some() && self.thinking.is_some();
        let fresh = question.turns.iter().position(raw);
        let (before, since) = match fresh {
            Some(at) => question.turns.split_at(at),
            None => (question.turns, [].as_slice()),
        };
        let written: Vec<String> = since
            .iter()
            .map(|turn| match &turn.raw {
                Some(raw) => raw.clone(),
                None => render_turn(dialect, &placed(&turn.draft, TurnId::ROOT)),
            })
            .collect();
        let mut parent = TurnId::ROOT;
        let turns: Vec<Turn> = before
            .iter()
            .map(|turn| {
                let turn = placed(&turn.draft, parent);
                parent = turn.id();
                turn
            })
            .collect();
        let conversation = Conversation::from_turns(dialect, &turns);
        let body = conversation.body(&self.name, self.longest);
        let request = Request::parse(dialect, body.as_bytes())?;
        let mut pieces = vec![Piece::Kept(0..request.len())];
        pieces.extend(written.into_iter().map(|it| Piece::Written(it.into())));
        let edit = request.edit().messages(pieces);
        let edit = with_tools(edit, dialect, question);
        let edit = self.with_manner(edit, dialect, question.temperature);
        Ok(Bytes::from(edit.render()?))
    }

    /// Applies the sampling settings.
    fn with_manner<'r>(
        &self,
        mut edit: Edit<'r>,
        dialect: Dialect,
        temperature: Option<f64>,
    ) -> Edit<'r> {
        let own = &dialect.facts().own;
        for (key, json) in own.auto_cache.iter().chain(own.fields) {
            edit = edit.set(key, *json);
        }
        if let Some(budget) = self.thinking {
            let thinking = json!({"type": "enabled", "budget_tokens": budget});
            // A model that thinks has its own temperature.
            return edit.set("thinking", thinking.to_string());
        }
        match temperature {
            Some(heat) => edit.set("temperature", json!(heat).to_string()),
            None => edit,
        }
    }
}

fn placed(draft: &TurnDraft, parent: TurnId) -> Turn {
    draft.clone().after(parent, &Heuristic)
}

fn with_tools<'r>(edit: Edit<'r>, dialect: Dialect, question: &Question<'_>) -> Edit<'r> {
    if question.tools.is_empty() {
        return edit;
    }
    let cards = question.tools.iter();
    let tools: Vec<String> = cards
        .map(|card| dialect.tool(&card.name, Some(&card.description), &card.schema))
        .collect();
    let edit = edit.set("tools", format!("[{}]", tools.join(",")));
    match question.calls {
        Calls::Allowed => edit,
        Calls::Over => edit.set("tool_choice", dialect.facts().own.no_calls),
    }
}

/// Converts a reply of the API.
fn said(reply: &Reply) -> Result<ModelAnswer, FailureReason> {
    if let Some(failure) = &reply.failure {
        return Err(FailureReason::NoAnswer(format!(
            "the provider says {}",
            failure.kind
        )));
    }
    match &reply.stop {
        Some(Stop::Refusal) => return Err(FailureReason::NoAnswer("it refused".to_owned())),
        Some(Stop::WindowExceeded) => {
            return Err(FailureReason::NoAnswer("its window is full".to_owned()));
        }
        _ => {}
    }
    let mut texts = Vec::new();
    let mut calls = Vec::new();
    for part in reply.draft().parts {
        match part {
            Part::Text(text) => texts.push(text.to_string()),
            Part::Call(call) => calls.push(call),
            _ => {}
        }
    }
    let counts = &reply.usage.counts;
    Ok(ModelAnswer {
        text: texts.join(""),
        calls,
        spent: TokenUsage {
            input: counts.all_input(),
            output: counts.output,
            cache_read: counts.cache_read,
            cache_write: counts.cache_write,
        },
        raw: Some(reply.message()),
        ended: match reply.stop {
            Some(Stop::MaxTokens) => Ended::Cut,
            _ => Ended::Whole,
        },
    })
}
