//! Survival: of sentences that a person says, the share that stands verbatim in what the model is shown after
//! one, three and ten compactions.
//!
//! Sentences in ten languages (rules, orders, facts, preferences, decisions) are put into a recorded session, as
//! messages of its user, and the session is replayed. After each compaction the newest request is searched for
//! every sentence. A sentence is *inverted* where it does not stand there, but what is left of it without its
//! negation does. A sentence that found no room is *listed* where the block of the user's words names its turn.
//!
//! Three routes make the summaries of the replay: `extractive`; `forgets`, a model that writes down nothing; and
//! `native`, a provider's own summary that does. `compact` cuts the session into slices and compacts what there
//! is after each, to 2,000 tokens.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

use context::extract::{Room, extract, front};
use context::turn::{CallId, Outcome, Part, ToolCall, ToolResult};
use context::user_words::UserWords;
use context::{Role, Text, TokenCounter, Tokens, Turn, TurnDraft, TurnId};
use conversation::RouteChoice;
use conversation::homunculus::hosted::{PinKeeping, StrategyProgram};
use serde::Serialize;
use wire::api::{Counts, Request};
use wire::session::Session;

use crate::latency::Latency;
use crate::replay::{Asked, Extractive, Summarise, Watch, run_with};
use crate::{Options, RecallMeasure, ReplayError};

const SENTENCES: &str = include_str!("survival/sentences.tsv");

const VULNERABLE: &str = include_str!("survival/vulnerable.tsv");

/// The numbers of compactions after which is looked.
pub const AFTER: [u32; 3] = [1, 3, 10];

/// A sentence that a person says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// The language, as its ISO 639-1 code.
    pub language: &'static str,
    /// The kind, such as `prohibition`, `order`, `fact`, `preference` or `decision`.
    pub kind: &'static str,
    /// The words.
    pub text: &'static str,
    /// The words that are left without the negation.
    pub inverted: Option<&'static str>,
}

/// The sentences, in the order of their languages.
#[must_use]
pub fn sentences() -> Vec<Sentence> {
    read(SENTENCES)
}

/// Sentences that show that a person is vulnerable, half of them `plain`, half `oblique`.
#[must_use]
pub fn vulnerable() -> Vec<Sentence> {
    read(VULNERABLE)
}

fn read(table: &'static str) -> Vec<Sentence> {
    let lines = table.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut fields = line.split('\t');
            Some(Sentence {
                language: fields.next()?,
                kind: fields.next()?,
                text: fields.next()?,
                inverted: fields.next(),
            })
        })
        .collect()
}

/// The place of a sentence in the session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Placement {
    /// Behind the first request.
    Early,
    /// Before the first compaction.
    Middle,
    /// Among a hundred other sentences.
    Crowded,
    /// Inside a long paste.
    InPaste,
    /// Behind a block of code, in one message.
    BehindCode,
    /// In the refusal of a call.
    InRefusal,
}

impl Placement {
    /// All places.
    pub const ALL: [Self; 6] = [
        Self::Early,
        Self::Middle,
        Self::Crowded,
        Self::InPaste,
        Self::BehindCode,
        Self::InRefusal,
    ];

    /// The name in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Early => "early",
            Self::Middle => "middle",
            Self::Crowded => "crowded by 100",
            Self::InPaste => "in a long paste",
            Self::BehindCode => "behind code",
            Self::InRefusal => "refusing a call",
        }
    }
}

/// Results for one place, route and number of compactions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Sentences that were looked for.
    pub said: usize,
    /// Those that stand verbatim in the newest request.
    pub kept: usize,
    /// Sentences that do not, but whose turn the block of the user's words lists as left out in part.
    pub listed: usize,
    /// Those that stand there without their negation.
    pub inverted: usize,
}

impl Tally {
    /// The share of the sentences within the room that stands verbatim; `None` if there are none.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let within = self.said.saturating_sub(self.listed);
        (within > 0).then(|| self.kept as f64 / within as f64)
    }

    fn add(&mut self, other: Self) {
        self.said += other.said;
        self.kept += other.kept;
        self.listed += other.listed;
        self.inverted += other.inverted;
    }
}

/// A row of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Row {
    /// The way summaries are made: `extractive`, `forgets`, `native` or `compact`.
    pub route: &'static str,
    /// The place of the sentences.
    pub place: Placement,
    /// The number of compactions.
    pub after: u32,
}

/// The result, row by row.
pub type Survived = BTreeMap<Row, Tally>;

/// A model that writes down nothing. The user's words stand in front of what it writes all the same.
struct Forgets;

impl Summarise for Forgets {
    fn summarise(
        &self,
        old: &[Turn],
        tail: &[Turn],
        room: Room,
        counter: &dyn TokenCounter,
    ) -> Text {
        let _ = tail;
        let room = Room {
            summary: Tokens::ZERO,
            ..room
        };
        let mut summary = context::extract::state(old, room, counter);
        summary.push(context::summary::Field::Task, "the work goes on");
        Text::from(summary.render())
    }

    fn native(&self, _: &[Turn], _: &[Turn], _: Room, _: &dyn TokenCounter) -> Text {
        Text::from("The work goes on.")
    }
}

/// The budget of `compact`.
const COMPACTED: Tokens = Tokens::new(2_000);

/// Replays sessions in a window of this size with the sentences in each place, and counts.
///
/// # Errors
/// If a session cannot be replayed.
pub fn survival(
    sessions: &[Session],
    window: Tokens,
    each: usize,
    counter: &dyn TokenCounter,
) -> Result<Survived, ReplayError> {
    let all = sentences();
    let mut out = Survived::new();
    for (number, session) in sessions.iter().enumerate() {
        for (at, place) in Placement::ALL.into_iter().enumerate() {
            // Each run takes others, so that all of them are tried in every place.
            let start = (number * Placement::ALL.len() + at) * each;
            let chosen = all.iter().cycle().skip(start % all.len().max(1));
            let chosen: Vec<Sentence> = chosen.take(each).copied().collect();
            let (session, chosen) = with_sentences(session, &chosen, place, window, counter);
            let by = |summariser: &dyn Summarise, choice| {
                let strategy = StrategyProgram::default_one();
                run(&session, &chosen, (window, choice, &strategy), summariser)
            };
            for (route, found) in [
                ("extractive", by(&Extractive, RouteChoice::Extractive)?),
                ("forgets", by(&Forgets, RouteChoice::Extractive)?),
                ("native", by(&Forgets, RouteChoice::Native)?),
                ("compact", compacted(&session, &chosen, counter)),
            ] {
                for (after, tally) in found {
                    let row = Row {
                        route,
                        place,
                        after,
                    };
                    out.entry(row).or_default().add(tally);
                }
            }
        }
    }
    Ok(out)
}

/// Replays a session under each strategy with these sentences in it, and with a model that writes down nothing.
/// The result has, strategy by strategy, what stood in the newest request after so many compactions.
///
/// # Errors
/// If the session cannot be replayed.
pub fn compare(
    session: &Session,
    (chosen, place): (&[Sentence], Placement),
    (window, strategies): (Tokens, &[Arc<StrategyProgram>]),
    counter: &dyn TokenCounter,
) -> Result<Vec<Vec<(u32, Tally)>>, ReplayError> {
    let (session, chosen) = with_sentences(session, chosen, place, window, counter);
    let each = strategies.iter().map(|strategy| {
        run(
            &session,
            &chosen,
            (window, RouteChoice::Extractive, strategy),
            &Forgets,
        )
    });
    each.collect()
}

fn run(
    session: &Session,
    chosen: &[(usize, Sentence)],
    (window, route, strategy): (Tokens, RouteChoice, &Arc<StrategyProgram>),
    summariser: &dyn Summarise,
) -> Result<Vec<(u32, Tally)>, ReplayError> {
    let options = Options {
        window: Some(window),
        model: Some("claude-opus-4-6".to_owned()),
        strategies: vec![Arc::clone(strategy)],
        recall: RecallMeasure::Skipped,
        latency: Latency::NONE,
        notes: true,
        route,
        pin_keeping: Some(PinKeeping::Restated),
        ..Options::default()
    };
    let looked = Looked {
        chosen,
        seen: Mutex::new(Seen::default()),
    };
    run_with(session, &options, (summariser, &looked), &mut |_| {})?;
    let seen = looked.seen.into_inner().unwrap_or_default();
    Ok(seen.found)
}

/// Compacts a growing session again and again.
fn compacted(
    session: &Session,
    chosen: &[(usize, Sentence)],
    counter: &dyn TokenCounter,
) -> Vec<(u32, Tally)> {
    let all = AFTER.iter().max().map_or(1, |&most| most as usize);
    // The first slice holds all sentences.
    let first = chosen.iter().map(|(turn, _)| turn + 2).max().unwrap_or(0);
    let rest = session.turns.len().saturating_sub(first).div_ceil(all);
    let mut turns: Vec<Turn> = Vec::new();
    let mut out = Vec::new();
    for (number, after) in (1..).zip(0..all) {
        let (from, to) = match after {
            0 => (0, first),
            _ => (first + (after - 1) * rest, first + after * rest),
        };
        let to = to.min(session.turns.len());
        let slice = session.turns.get(from.min(to)..to).unwrap_or_default();
        let old: Vec<Turn> = placed(turns.iter().chain(slice).map(Turn::draft), counter);
        let summary = extract(&old, &[], COMPACTED, counter);
        turns = placed(front(&old, &summary).into_iter(), counter);
        if AFTER.contains(&number) {
            let texts: Vec<String> = turns.iter().map(Turn::readable).collect();
            out.push((number, tally(chosen.iter(), &texts.join("\n"))));
        }
    }
    out
}

/// The turns of drafts, one behind the other.
fn placed(drafts: impl Iterator<Item = TurnDraft>, counter: &dyn TokenCounter) -> Vec<Turn> {
    let mut parent = TurnId::ROOT;
    let turns = drafts.map(|draft| {
        let turn = draft.after(parent, counter);
        parent = turn.id();
        turn
    });
    turns.collect()
}

/// Looks at every request.
struct Looked<'a> {
    /// The sentences, each with the turn that says it.
    chosen: &'a [(usize, Sentence)],
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The front of the newest request, and how often it changed.
    front: String,
    swaps: u32,
    found: Vec<(u32, Tally)>,
}

impl Watch for Looked<'_> {
    fn wants_bytes(&self) -> bool {
        true
    }

    fn asked(&self, asked: &Asked<'_>) -> Option<Counts> {
        let dialect = wire::api::Dialect::Anthropic;
        let request = Request::parse(dialect, asked.body).ok()?;
        let is_front = |raw: &&str| {
            raw.contains("made by compaction")
                || raw.contains("own words in the earlier conversation")
        };
        let front: String = request
            .messages()
            .map(|message| message.raw())
            .filter(is_front)
            .collect();
        let mut seen = self.seen.lock().ok()?;
        if front.is_empty() || front == seen.front {
            return None;
        }
        seen.front = front;
        seen.swaps += 1;
        let swaps = seen.swaps;
        if AFTER.contains(&swaps) {
            let turns = request.turns(&context::Heuristic);
            let texts: Vec<String> = turns.iter().map(Turn::readable).collect();
            let all = texts.join("\n");
            let said = self.chosen.iter().filter(|(turn, _)| *turn < asked.turn);
            let tally = tally(said, &all);
            seen.found.push((swaps, tally));
        }
        None
    }

    fn has_seen_enough(&self) -> bool {
        let most = AFTER.iter().max();
        let seen = self.seen.lock();
        seen.is_ok_and(|seen| most.is_some_and(|&most| seen.swaps >= most))
    }
}

/// Looks for the sentences in everything that a model is shown.
fn tally<'a>(said: impl Iterator<Item = &'a (usize, Sentence)>, shown: &str) -> Tally {
    let left_out = left_out(shown);
    let mut tally = Tally::default();
    for (turn, sentence) in said {
        tally.said += 1;
        if shown.contains(sentence.text) {
            tally.kept += 1;
            continue;
        }
        tally.listed += usize::from(left_out.contains(turn));
        let inverted = sentence.inverted.is_some_and(|it| shown.contains(it));
        tally.inverted += usize::from(inverted);
    }
    tally
}

/// The turns that the newest block of the user's words lists as left out.
fn left_out(shown: &str) -> HashSet<usize> {
    let block = shown.rfind("[The user's own words in the earlier conversation");
    let words = block.and_then(|at| UserWords::parse(shown.get(at..)?));
    let words = words.unwrap_or_default();
    words.left_out().iter().map(|it| it.turn).collect()
}

/// The session with the sentences in its user's messages, and the turns that say them.
fn with_sentences(
    session: &Session,
    chosen: &[Sentence],
    place: Placement,
    window: Tokens,
    counter: &dyn TokenCounter,
) -> (Session, Vec<(usize, Sentence)>) {
    let at = match place {
        Placement::Early => 0.05,
        _ => 0.3,
    };
    let mut drafts: Vec<TurnDraft> = session.turns.iter().map(Turn::draft).collect();
    let said = messages(chosen, place);
    let slot = slot(&session.turns, window.scaled(at));
    // A person says each, and the agent takes note.
    let exchanges = (0..).zip(said).flat_map(|(number, text)| {
        let mut said = match place {
            Placement::InRefusal => refused(number, &text).into(),
            _ => vec![TurnDraft::text(Role::User, text)],
        };
        said.push(TurnDraft::text(Role::Assistant, "Noted."));
        said
    });
    drafts.splice(slot..slot, exchanges);
    let says = |sentence: &Sentence| {
        let holds = |draft: &TurnDraft| {
            let mut texts = draft.parts.iter().flat_map(context::Part::readable);
            texts.any(|text| text.contains(sentence.text))
        };
        drafts.iter().position(holds)
    };
    let chosen = chosen.iter().filter_map(|it| Some((says(it)?, *it)));
    let chosen = chosen.collect();
    let mut session = session.clone();
    session.turns = placed(drafts.into_iter(), counter);
    session.compactions.clear();
    (session, chosen)
}

/// The first place from `from` tokens on where messages of the user may stand: in front of one, behind an answer that
/// calls nothing. The end of the session, where there is none.
fn slot(turns: &[Turn], from: Tokens) -> usize {
    let mut size = Tokens::ZERO;
    for (index, turn) in turns.iter().enumerate() {
        let before = index.checked_sub(1).and_then(|it| turns.get(it));
        let answers = |it: &Turn| it.role() == Role::Assistant && it.calls().next().is_none();
        if turn.role() == Role::User && before.is_some_and(answers) && size >= from {
            return index;
        }
        size += turn.tokens();
    }
    turns.len()
}

/// The messages that say the sentences.
fn messages(chosen: &[Sentence], place: Placement) -> Vec<String> {
    let alone = chosen.iter().map(|it| it.text.to_owned());
    match place {
        Placement::Early | Placement::Middle | Placement::InRefusal => alone.collect(),
        Placement::Crowded => {
            let others =
                (0..100).map(|n| format!("Also look at item {n} of the list when you can."));
            let mut said: Vec<String> = others.collect();
            for (number, text) in alone.enumerate() {
                said.insert((number * 7 + 3).min(said.len()), text);
            }
            // Ten in a message, as a list of wishes.
            said.chunks(10).map(|some| some.join("\n")).collect()
        }
        Placement::InPaste => alone.map(|text| in_paste(&text)).collect(),
        Placement::BehindCode => alone
            .map(|text| format!("Look at this:\n```python\n{}```\n{text}", code(40)))
            .collect(),
    }
}

/// A call that the user refuses with these words, as Claude Code reports it.
fn refused(number: usize, words: &str) -> [TurnDraft; 3] {
    let id = CallId::from(format!("toolu_refused_{number}").as_str());
    let call = ToolCall {
        id: id.clone(),
        name: "Bash".into(),
        arguments: format!(r#"{{"command":"make step-{number}"}}"#).into(),
    };
    let text = format!(
        "The user doesn't want to proceed with this tool use. The tool use was rejected (eg. if it was a file edit, \
         the new_string was NOT written to the file). To tell you how to proceed, the user said:\n{words}"
    );
    let result = ToolResult {
        call: id,
        text: text.into(),
        outcome: Outcome::Failed,
    };
    [
        TurnDraft::text(Role::User, format!("Go on with step {number}.")),
        TurnDraft::said(Role::Assistant, vec![Part::Call(call)]),
        TurnDraft::said(Role::Tool, vec![Part::Result(result)]),
    ]
}

fn in_paste(text: &str) -> String {
    let line = |n: usize| {
        format!(
            "2026-03-0{} 11:{:02}:09 DEBUG pool[{n}] acquired conn={} in {n}us\n",
            n % 9 + 1,
            n % 60,
            n * 17
        )
    };
    let before: String = (0..30).map(line).collect();
    let after: String = (30..60).map(line).collect();
    format!("This is what the console says:\n{before}{text}\n{after}Can you see why?")
}

fn code(lines: usize) -> String {
    (0..lines)
        .map(|n| format!("    total_{n} = compute(rows[{n}], limit={n})\n"))
        .collect()
}
