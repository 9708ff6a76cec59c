//! The candidates of a receipt.

use std::collections::HashSet;

use serde_json::Value;

use super::Kind;
use super::groups::groups;
use super::seen::Seen;
use crate::extract::Visible;
use crate::extract::artefacts::Artefacts;
use crate::extract::census::Census;
use crate::extract::clip::clip;
use crate::extract::fields::{self, Known};
use crate::extract::tasks::{State, tasks};
use crate::identifiers;
use crate::quality::is_unspaced;
use crate::sentence::sentences;
use crate::spoken;
use crate::standing::Standing;
use crate::turn::Role;
use crate::units::Tokens;

/// The longest quotation, in bytes.
const LONGEST: usize = 300;
/// The fewest letters and digits of a sentence that says something.
const LETTERS: usize = 10;
/// The most entries of each other kind, the newest first.
const EACH: usize = 120;

/// Something that may stand in a receipt.
#[derive(Debug)]
pub(super) struct Candidate {
    pub kind: Kind,
    /// The index of the turn that says it.
    pub turn: usize,
    pub text: String,
    /// The identifiers in it that are not shown, as numbers in the census.
    pub members: Vec<usize>,
}

/// The candidates that the model cannot see, each text once.
pub(super) fn candidates(
    known: &Known<'_>,
    (census, values, fades): (&Census<'_>, &[f32], &[f32]),
    (shown, seen): (&Visible<'_>, &Seen),
) -> Vec<Candidate> {
    let mut said = HashSet::new();
    let mut out = Vec::new();
    let found = constraints(known)
        .into_iter()
        .chain(statements(known))
        .chain(work(known))
        .chain(changes(known, shown));
    for (kind, turn, text) in found {
        let text = clip(&text, LONGEST);
        let letters = text.chars().filter(|letter| letter.is_alphanumeric());
        if letters.count() < LETTERS || seen.says(&text) || !said.insert(text.clone()) {
            continue;
        }
        let members = identifiers::scan(&text)
            .chain(identifiers::members(&text))
            .filter_map(|found| census.find(found.text))
            .collect();
        out.push(Candidate {
            kind,
            turn,
            text,
            members,
        });
    }
    out.extend(groups(known, census, (values, fades)));
    out
}

/// The user's sentences, newest first. Texts that a client puts beside them are not among them.
fn constraints(known: &Known<'_>) -> Vec<(Kind, usize, String)> {
    let elsewhere = &Standing::of(known.old, Tokens::new(u64::MAX))
        .apart()
        .elsewhere;
    let turns = known.old.iter().enumerate().rev();
    turns
        .filter(|(_, turn)| turn.role() == Role::User)
        .flat_map(|(index, turn)| {
            let own = move |part| !elsewhere.contains(&(index, part));
            let said = spoken::lines_of_parts(turn, own).flat_map(sentences);
            // A client's notice in its user's place, such as `[Request interrupted by user]`.
            let is_notice = |text: &str| text.starts_with('[') && text.ends_with(']');
            let said =
                said.filter(move |(_, sentence)| !is_notice(sentence.trim()) && is_prose(sentence));
            said.map(move |(_, sentence)| (Kind::Constraint, index, sentence.to_owned()))
        })
        .take(EACH)
        .collect()
}

/// Returns true if a sentence of the user's is one: what is pasted from a log, a terminal or a listing has few plain
/// words, names a second of the day, begins with a sign, or only announces what follows.
fn is_prose(sentence: &str) -> bool {
    let sentence = sentence.trim();
    let begins = sentence.trim_start_matches(['"', '\'', '(', '*', '-', ' ', '#', '„', '“', '«']);
    let is_word = |word: &&str| {
        let bare = word.trim_matches(|sign: char| !sign.is_alphanumeric() && sign != '|');
        let inner = |letter: char| letter.is_alphabetic() || matches!(letter, '\'' | '’' | '-');
        !bare.is_empty() && (bare.chars().all(inner) || bare.contains(is_unspaced))
    };
    // As in `09:07:20.570`: two colons between digits.
    let is_second = |word: &str| {
        let digits = word.bytes().filter(u8::is_ascii_digit).count();
        let colons = word.bytes().filter(|&byte| byte == b':').count();
        colons == 2 && digits >= 5
    };
    let words = sentence.split_whitespace();
    let plain = words.clone().filter(is_word).count();
    !words.clone().any(is_second)
        && begins.starts_with(char::is_alphanumeric)
        && !sentence.ends_with(':')
        && plain * 5 >= words.count() * 3
}

/// Decisions and failed attempts, as they were said.
fn statements(known: &Known<'_>) -> Vec<(Kind, usize, String)> {
    let answers = fields::answers(known.steps)
        .map(|(turn, answer)| (Kind::Decision, turn, format!("the user answered: {answer}")));
    let decided = fields::decided(known.pieces)
        .map(|(turn, sentence)| (Kind::Decision, turn, sentence.to_owned()));
    let gave_up = fields::gave_up(known.pieces)
        .map(|(turn, sentence)| (Kind::FailedAttempt, turn, sentence.to_owned()));
    answers
        .take(EACH)
        .chain(decided.take(EACH))
        .chain(gave_up.take(EACH))
        .collect()
}

/// Tasks and errors.
fn work(known: &Known<'_>) -> Vec<(Kind, usize, String)> {
    let done = Artefacts::of(known.steps);
    let tasks = tasks(known.steps);
    let tasks = tasks.iter().rev().filter_map(|task| {
        let mut calls = known.steps.iter().rev();
        let call = calls.find(|step| names(&step.arguments, &task.text))?;
        let kind = match task.state {
            State::Doing | State::Open => Kind::OpenTask,
            State::Closed => Kind::ClosedTask,
        };
        Some((kind, call.turn, task.text.clone()))
    });
    let troubles = done.troubles.iter().rev();
    let troubles = troubles.map(|it| (Kind::FailedAttempt, it.turn, it.headline()));
    tasks.take(EACH).chain(troubles.take(EACH)).collect()
}

/// Returns true if a text is among the values of a call's arguments.
fn names(arguments: &Value, text: &str) -> bool {
    match arguments {
        Value::String(value) => value == text,
        Value::Array(values) => values.iter().any(|value| names(value, text)),
        Value::Object(fields) => fields.values().any(|value| names(value, text)),
        _ => false,
    }
}

/// Changed files, commands and commits. A file that is named counts as told.
fn changes(known: &Known<'_>, shown: &Visible<'_>) -> Vec<(Kind, usize, String)> {
    let done = Artefacts::of(known.steps);
    let turn = |step: usize| known.steps.get(step).map_or(0, |step| step.turn);
    let files = done.files.iter().rev();
    let files = files
        .filter(|file| {
            let is_shown = |path: &str| shown.identifiers.contains(path);
            let inside = done.folder.inside(&file.path);
            let is_short = inside.is_some_and(is_shown) && is_shown(done.folder.path());
            !is_shown(&file.path) && !is_short
        })
        .map(|file| (turn(file.last), file.state(&file.path)));
    let commands = done.commands.iter().rev();
    // One that failed is told as a failed attempt.
    let commands = commands.filter(|command| !command.failed);
    let commands = commands.map(|command| (turn(command.last), command.state()));
    let commits = done.commits.iter().rev().filter_map(|commit| {
        let hash = commit.split(' ').next()?;
        let mut steps = known.steps.iter().rev();
        let made = steps.find(|step| step.result.is_some_and(|it| it.text.contains(hash)))?;
        Some((made.turn, format!("commit {commit}")))
    });
    let all = files
        .take(EACH)
        .chain(commands.take(EACH))
        .chain(commits.take(EACH));
    all.map(|(turn, text)| (Kind::Action, turn, text)).collect()
}
