//! The fields of the template that tell the state of the work: goal, decisions, tasks, what was done, errors, dead
//! ends, where the work stands, next steps.
//!
//! All of it is read off the steps or quoted: whole sentences and whole lines, and where one is too long, its
//! beginning with a mark.

use std::collections::{HashMap, HashSet};

use super::agreed::agreed;
use super::artefacts::Artefacts;
use super::carried::carry;
use super::clip::{CUT, clip};
use super::files::File;
use super::folder::Folder;
use super::namesakes::Namesakes;
use super::purposes::{only_looks, purposes};
use super::recent;
use super::source::{Origin, Piece};
use super::steps::Step;
use super::tasks::{self, State};
use crate::classify;
use crate::counter::TokenCounter;
use crate::refusal;
use crate::sentence::sentences;
use crate::summary::{Field, Summary, as_item, one_line};
use crate::turn::Turn;
use crate::units::Tokens;
use crate::user_words::{Said, newest_summary, numbers};

/// Characters of plain prose that make a token, for clipping; the exact count comes after.
const PER_TOKEN: f64 = 4.2;
/// The smallest useful room for a quotation.
const LEAST: Tokens = Tokens::new(24);

/// The name in front of the assistant's quotations, where one is needed.
pub(super) const ASSISTANT: &str = "assistant: ";

/// Words by which the model says that something did not work, or what it found out about it.
const FAILED: &[&str] = &[
    "didn't work",
    "doesn't work",
    "did not work",
    "does not work",
    "that failed",
    "wrong approach",
    "not the problem",
    "turns out",
    "reverted",
    "revert ",
    "dead end",
    "no longer needed",
    "is not possible",
    "isn't possible",
];

/// The turns and what was read off them.
pub(super) struct Known<'a> {
    pub old: &'a [Turn],
    pub pieces: &'a [Piece<'a>],
    pub steps: &'a [Step<'a>],
}

/// Fills the fields of `summary` from the turns and from what the user typed in them: the last steps with at most
/// `last` tokens, the others with at most `budget` tokens together. Returns the index of the first turn that the last
/// steps tell.
pub(super) fn fill(
    summary: &mut Summary,
    (known, typed): (&Known<'_>, &[Said]),
    (budget, last): (Tokens, Tokens),
    counter: &dyn TokenCounter,
) -> usize {
    let mut page = Page::new(summary, budget + last, counter);
    let share = |part: f64| budget.scaled(part);
    let done = Artefacts::of(known.steps);
    // The most needed first, each within its share, so that none crowds out the others.
    let told = standing(&mut page, known, last);
    goal(&mut page, (known, typed), share(0.08));
    tasks_of(&mut page, known, share(0.2));
    files(&mut page, &done, share(0.3));
    commands(&mut page, &done, share(0.14));
    errors(&mut page, (known, &done), share(0.1));
    decisions(&mut page, (known, typed), share(0.14));
    carry(&mut page, known, &done, share(0.4));
    refusals(&mut page, known, share(0.35));
    dead_ends(&mut page, known, share(0.08));
    purposes_of(&mut page, known, told, share(0.12));
    told
}

/// Fills only what was done: tasks, files, commands, commits and errors.
pub(super) fn fill_done(
    summary: &mut Summary,
    known: &Known<'_>,
    budget: Tokens,
    counter: &dyn TokenCounter,
) {
    let mut page = Page::new(summary, budget, counter);
    // Beside a model's own summary, its relative paths need not be in that folder.
    let done = Artefacts {
        folder: Folder::default(),
        ..Artefacts::of(known.steps)
    };
    tasks_of(&mut page, known, budget.scaled(0.3));
    files(&mut page, &done, budget.scaled(0.35));
    commands(&mut page, &done, budget.scaled(0.25));
    errors(&mut page, (known, &done), budget.scaled(0.25));
}

/// Entries being written, with what is left of the budget.
pub(super) struct Page<'a> {
    summary: &'a mut Summary,
    counter: &'a dyn TokenCounter,
    left: Tokens,
    said: HashSet<String>,
}

impl<'a> Page<'a> {
    fn new(summary: &'a mut Summary, left: Tokens, counter: &'a dyn TokenCounter) -> Self {
        Self {
            summary,
            counter,
            left,
            said: HashSet::new(),
        }
    }

    /// Returns true if there is room for all of these entries in `room`.
    fn fits(&self, entries: &[&str], room: Tokens) -> bool {
        let costs = entries.iter().map(|entry| self.cost(entry));
        costs.sum::<Tokens>() <= self.left.min(room)
    }

    fn cost(&self, entry: &str) -> Tokens {
        self.counter.count(&as_item(entry))
    }

    /// Adds an entry if there is room for all of it in `room`, which shrinks by its size. Returns true if it
    /// stands there.
    pub(super) fn add(&mut self, field: Field, entry: &str, room: &mut Tokens) -> bool {
        if self.said.contains(entry) {
            return true;
        }
        let cost = self.cost(entry);
        if cost > self.left || cost > *room {
            return false;
        }
        self.said.insert(entry.to_owned());
        self.left = self.left.saturating_sub(cost);
        *room = room.saturating_sub(cost);
        self.summary.push_lines(field, entry);
        true
    }

    /// Adds a quotation: whole where it fits in `most`, else its first sentences, else its beginning with a mark.
    fn quote(&mut self, field: Field, by: &str, text: &str, most: Tokens) {
        let most = most.max(LEAST).min(self.left);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "budgets are small and not negative; the cast saturates"
        )]
        let room = (most.as_f64() * PER_TOKEN) as usize;
        let clipped = clip(text, room.saturating_sub(by.len()));
        let letters = clipped.chars().filter(|letter| letter.is_alphanumeric());
        if letters.count() < 4 || !self.said.insert(clipped.clone()) {
            return;
        }
        let entry = format!("{by}{clipped}");
        let cost = self.cost(&entry);
        if cost <= self.left {
            self.left = self.left.saturating_sub(cost);
            self.summary.push(field, &entry);
        }
    }
}

/// The number of words. In a script without spaces, two letters count as one.
pub(super) fn words(text: &str) -> usize {
    let unspaced = text.chars().filter(|letter| is_unspaced(*letter)).count();
    text.split_whitespace().count() + unspaced / 2
}

/// Returns true for letters of scripts that put no spaces between words: Chinese, Japanese, Thai, Lao, Khmer, Burmese.
const fn is_unspaced(letter: char) -> bool {
    matches!(letter,
        '\u{0e00}'..='\u{0eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{20000}'..='\u{323af}')
}

/// The words with which the first request stands under the goal.
const FIRST: &str = "first request";

/// The goal: what was asked first, and what is asked now. Messages of three words and fewer ("go on") and notices that
/// a client writes in brackets are no requests.
fn goal(page: &mut Page<'_>, (known, typed): (&Known<'_>, &[Said]), budget: Tokens) {
    let is_notice = |said: &&Said| {
        let text = said.text.trim();
        text.starts_with('[') && text.ends_with(']')
    };
    let is_goal = |said: &&Said| words(&said.text) >= 4 && !is_notice(said);
    let by_first = |said: &Said| format!("{FIRST} (turn {}): ", said.turn + 1);
    let first = typed.iter().find(is_goal);
    // The first message of all may have found no room among the user's words since.
    let before = first_before(known.old);
    if let Some(entry) = &before {
        let mut room = page.left;
        page.add(Field::Goal, entry, &mut room);
    } else if let Some(said) = first {
        page.quote(Field::Goal, &by_first(said), &said.text, budget.scaled(0.5));
    }
    // The earlier summary may have told it shortened.
    let is_first = |said: &Said| match &before {
        Some(entry) => entry.strip_prefix(&by_first(said)).is_some_and(|told| {
            one_line(&said.text).starts_with(told.trim_end_matches([CUT, ' ']))
        }),
        None => first == Some(said),
    };
    let newest = typed.iter().rev().find(is_goal);
    if let Some(Said { turn, text }) = newest.filter(|newest| !is_first(newest)) {
        let by = format!("newest request (turn {}): ", turn + 1);
        page.quote(Field::Goal, &by, text, budget.scaled(0.5));
    }
    // A few words may change the request: "use option 2".
    let last = typed.iter().rev().find(|said| !is_notice(said));
    if let Some(Said { turn, text }) = last.filter(|last| !is_first(last) && !is_goal(last)) {
        let entry = format!("newest message (turn {}): {}", turn + 1, one_line(text));
        let mut room = budget.scaled(0.5);
        page.add(Field::Goal, &entry, &mut room);
    }
}

/// The first request as an earlier summary among the turns tells it.
fn first_before(old: &[Turn]) -> Option<String> {
    let summary = newest_summary(old)?;
    let mut goal = summary.entries(Field::Goal).iter();
    goal.find(|entry| entry.starts_with(FIRST)).cloned()
}

/// Where the work stands: the last steps. Returns the index of the first turn that they tell.
fn standing(page: &mut Page<'_>, known: &Known<'_>, budget: Tokens) -> usize {
    let mut room = budget.min(page.left);
    let (lines, first) = recent::lines(known.old, known.steps, room, page.counter);
    for line in lines {
        page.add(Field::Task, &line, &mut room);
    }
    first
}

/// The task list: what is open first, so that it stands even where room is short, then what is closed.
fn tasks_of(page: &mut Page<'_>, known: &Known<'_>, budget: Tokens) {
    let mut room = budget;
    let mut tasks = tasks::tasks(known.steps);
    tasks.sort_by_key(|task| task.state);
    let open = tasks.iter().filter(|task| task.state != State::Closed);
    // The newest closed ones matter most.
    let closed = tasks
        .iter()
        .rev()
        .filter(|task| task.state == State::Closed);
    for task in open.chain(closed) {
        let entry = format!("{}: {}", task.state.as_str(), clip(&task.text, 200));
        page.add(Field::Tasks, &entry, &mut room);
    }
}

/// The most of the room of files for the names of those that do not fit with their state.
const OTHERS: f64 = 0.6;

/// Changed files and commits, the newest first until the room is used, temporary files behind the others; then files
/// that were only read.
fn files(page: &mut Page<'_>, done: &Artefacts, budget: Tokens) {
    let mut room = budget.scaled(0.4);
    let mut others: Vec<&str> = Vec::new();
    for (number, commit) in done.commits.iter().rev().enumerate() {
        let entry = format!("commit {commit}");
        if number >= 6 || !page.add(Field::Done, &entry, &mut room) {
            others.push(commit);
        }
    }
    if let Some(entry) = more_commits(&others) {
        page.add(Field::Done, &entry, &mut room);
    }
    room += budget.scaled(0.6);
    let folder = &done.folder;
    // Its line stands in front of the first file that leaves it out, or not at all.
    let mut is_told = false;
    let newest = || done.files.iter().rev();
    let lasting = newest().filter(|file| !file.is_temporary());
    let all: Vec<&File> = lasting
        .chain(newest().filter(|file| file.is_temporary()))
        .collect();
    let shortest = all.iter().map(|file| {
        let path = folder.inside(&file.path).unwrap_or(&file.path);
        page.cost(&file.short_state(path))
    });
    let heading = page.cost(&folder.line());
    // Where not all of them fit with their state, part of the room is for the names of the others.
    let others = match heading + shortest.sum::<Tokens>() > room {
        true => {
            let names = Listed::of(page, (&all, true, None), room).entry;
            page.cost(&names).min(room.scaled(OTHERS))
        }
        false => Tokens::ZERO,
    };
    room = room.saturating_sub(others);
    let mut told = 0;
    for file in &all {
        // Where room is short, the names that a change declares are left out first.
        let is_added = [File::state, File::short_state].iter().any(|state| {
            match folder.inside(&file.path).map(|path| state(file, path)) {
                Some(inside) if is_told => page.add(Field::Done, &inside, &mut room),
                Some(inside) if page.fits(&[&folder.line(), &inside], room) => {
                    is_told = true;
                    page.add(Field::Done, &folder.line(), &mut room);
                    page.add(Field::Done, &inside, &mut room)
                }
                _ => page.add(Field::Done, &state(file, &file.path), &mut room),
            }
        });
        if !is_added {
            break;
        }
        told += 1;
    }
    room += others;
    let left = all.get(told..).unwrap_or_default();
    let mut listed = Listed::of(page, (left, told == 0, None), room);
    if told == 0 {
        // The folder is worth some of the names.
        let inside = Listed::of(page, (left, true, Some(folder)), room);
        if inside.names * 2 >= listed.names {
            listed = inside;
        }
    }
    if listed.names > 0 {
        page.add(Field::Done, &listed.entry, &mut room);
    }
    let short = |path: &'_ String| match folder.inside(path) {
        Some(inside) if is_told => inside.to_owned(),
        _ => path.clone(),
    };
    let read: Vec<String> = done.read.iter().map(short).collect();
    if !read.is_empty() {
        let entry = format!("read: {}", read.join(", "));
        page.add(Field::Done, &entry, &mut room);
    }
}

/// Commits that are not told, newest first: `3 more commits: 1507f8b to fd7f20f`.
fn more_commits(commits: &[&str]) -> Option<String> {
    let hash = |commit: &&str| commit.split(' ').next().unwrap_or_default().to_owned();
    let (first, last) = (hash(commits.last()?), hash(commits.first()?));
    Some(match commits.len() {
        1 => format!("1 more commit: {first}"),
        many => format!("{many} more commits: {first} to {last}"),
    })
}

/// The names of changed files in one entry: `changed in /app: rows.rs, src/load.rs, and 4 more`.
#[derive(Debug, Default)]
struct Listed {
    entry: String,
    names: usize,
}

impl Listed {
    /// As many as fit; `is_first` if no other files are told in front of them.
    fn of(
        page: &Page<'_>,
        (files, is_first, folder): (&[&File], bool, Option<&Folder>),
        room: Tokens,
    ) -> Self {
        /// The most names.
        const MOST: usize = 40;
        let folder = folder.filter(|it| !it.path().is_empty());
        let mut places: HashMap<&str, usize> = HashMap::new();
        // The names with the number of files that each stands for. Others are only counted.
        let mut names: Vec<(&str, usize)> = Vec::new();
        let mut all = 0;
        for file in files.iter().filter(|it| it.is_changed() && !it.is_gone()) {
            all += 1;
            let name = match folder {
                Some(folder) => folder.inside(&file.path),
                None => Some(file.name()),
            };
            let Some(name) = name else { continue };
            let place = places.get(name).copied().unwrap_or(names.len());
            if let Some((_, number)) = names.get_mut(place) {
                *number += 1;
            } else if names.len() < MOST {
                places.insert(name, place);
                names.push((name, 1));
            }
        }
        let begin = match folder.map(Folder::path) {
            _ if !is_first => "also changed".to_owned(),
            None => "changed".to_owned(),
            Some(folder) => format!("changed in {folder}"),
        };
        let lists = (1..=names.len()).rev().map(|most| {
            let shown = || names.iter().take(most);
            let list: Vec<&str> = shown().map(|(name, _)| *name).collect();
            let list = list.join(", ");
            let entry = match all - shown().map(|(_, number)| number).sum::<usize>() {
                0 => format!("{begin}: {list}"),
                more => format!("{begin}: {list}, and {more} more"),
            };
            Self { entry, names: most }
        });
        let mut fitting = lists.filter(|list| page.fits(&[&list.entry], room));
        fitting.next().unwrap_or_default()
    }
}

/// Commands with their last outcome: those that failed, then those that ran often, then the newest.
fn commands(page: &mut Page<'_>, done: &Artefacts, budget: Tokens) {
    let mut room = budget;
    let newest = || done.commands.iter().rev();
    let mut is_complete = true;
    let failed = newest().filter(|command| command.failed && !command.only_looks);
    for command in failed.take(6) {
        let is_added = page.add(Field::Done, &command.state(), &mut room);
        is_complete &= is_added || page.add(Field::Done, &command.outcome(), &mut room);
    }
    // Successes without a failure that found no room would suggest that all went well.
    if is_complete {
        let successes = || newest().filter(|command| !command.failed);
        let often = successes().filter(|it| it.runs > 2 && !it.only_looks);
        for command in often.take(6).chain(successes().take(8)) {
            page.add(Field::Done, &command.state(), &mut room);
        }
    }
}

/// Adds the purposes of commands that the last steps do not tell, newest first.
fn purposes_of(page: &mut Page<'_>, known: &Known<'_>, told: usize, budget: Tokens) {
    let mut room = budget;
    for purpose in purposes(known.steps, told) {
        page.add(Field::Done, &format!("command: {purpose}"), &mut room);
    }
}

/// Errors: those that are still open, then those that ended.
fn errors(page: &mut Page<'_>, (known, done): (&Known<'_>, &Artefacts), budget: Tokens) {
    let mut room = budget;
    let number = numbers(known.old);
    let newest = || done.troubles.iter().rev();
    let open = newest().filter(|it| it.ended.is_none()).take(5);
    for trouble in open.chain(newest().filter(|it| it.ended.is_some()).take(5)) {
        page.add(Field::Errors, &trouble.state(&number), &mut room);
    }
}

/// The most refusals that are told.
const REFUSALS: usize = 8;
/// The longest quotation of a refusal, in bytes.
const REFUSED: usize = 300;
/// The most short answers that are told with their questions.
const AGREED: usize = 4;

/// Decisions of the assistant, newest first, and answers of the user to its questions.
fn decisions(page: &mut Page<'_>, (known, typed): (&Known<'_>, &[Said]), budget: Tokens) {
    let mut room = budget;
    let number = numbers(known.old);
    for it in agreed(known.pieces, typed).take(AGREED) {
        let (turn, answer) = (number(it.turn), it.answer);
        let entry = format!(
            "the user answered \"{answer}\" (turn {turn}) to: {}",
            it.offer
        );
        page.add(Field::Decisions, &entry, &mut room);
    }
    for (turn, answer) in answers(known.steps) {
        let entry = format!(
            "the user answered (turn {}): {}",
            number(turn),
            clip(answer, 400)
        );
        page.add(Field::Decisions, &entry, &mut room);
    }
    for (_, sentence) in decided(known.pieces) {
        page.add(
            Field::Decisions,
            &format!("{ASSISTANT}{}", clip(sentence, 300)),
            &mut room,
        );
    }
}

/// Answers of the user to calls, as the results report them, newest first.
fn refusals(page: &mut Page<'_>, known: &Known<'_>, budget: Tokens) {
    let mut room = budget;
    let number = numbers(known.old);
    let namesakes = Namesakes::of(known.steps);
    for (turn, step, words) in refused(known.steps).take(REFUSALS) {
        let turn = number(turn);
        let about = Some(namesakes.about(step)).filter(|it| !it.is_empty());
        let about = about.unwrap_or_else(|| step.call.name.to_string());
        let words = words.replace('"', "\\\"");
        let entry = format!("{about}: refused, as its result says (turn {turn}): \"{words}\"");
        page.add(Field::Decisions, &entry, &mut room);
    }
}

/// The calls whose results say that the user refused them, without the client's word for it, newest first: with the
/// turn of each and what it quotes.
fn refused<'s, 'a>(steps: &'s [Step<'a>]) -> impl Iterator<Item = (usize, &'s Step<'a>, String)> {
    steps.iter().rev().filter_map(|step| {
        // What a file or a page says was answered to nobody.
        let acts = step.script().is_some_and(|it| !only_looks(&it)) || step.changes();
        let words = refusal::reported(step.result.filter(|_| acts)?)?;
        Some((step.turn, step, clip(words, REFUSED)))
    })
}

/// The user's answers to questions of the assistant, newest first, each with the turn that asks.
pub(super) fn answers<'a>(steps: &[Step<'a>]) -> impl Iterator<Item = (usize, &'a str)> {
    steps.iter().rev().filter_map(|step| {
        let asks = ["questions", "question"]
            .iter()
            .any(|key| step.arguments.get(key).is_some());
        let result = step.result.filter(|_| asks && !step.failed())?;
        Some((step.turn, result.text.as_str()))
    })
}

/// Sentences of the assistant that decide something, newest message first, each with its turn.
pub(super) fn decided<'p>(pieces: &'p [Piece<'_>]) -> impl Iterator<Item = (usize, &'p str)> {
    stated(pieces).filter(|(_, sentence)| classify::is_decision(sentence))
}

/// Sentences of the assistant about attempts that failed, newest message first, each with its turn.
pub(super) fn gave_up<'p>(pieces: &'p [Piece<'_>]) -> impl Iterator<Item = (usize, &'p str)> {
    stated(pieces).filter(|(_, sentence)| {
        let lower = sentence.to_lowercase();
        FAILED.iter().any(|phrase| lower.contains(phrase))
    })
}

/// Whole sentences of the assistant's prose, newest message first, each with its turn.
fn stated<'p>(pieces: &'p [Piece<'_>]) -> impl Iterator<Item = (usize, &'p str)> {
    let said = pieces.iter().rev();
    said.filter(|piece| piece.origin == Origin::Assistant)
        .flat_map(|piece| {
            let sentences = prose(&piece.text).flat_map(sentences);
            sentences.map(move |(_, it)| (piece.turn, super::entries::without_mark(it)))
        })
        .filter(|(_, sentence)| is_whole(sentence))
}

/// The lines outside blocks of code: code decides nothing, and says that something failed without having been tried.
pub(super) fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut is_code = false;
    text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// A quotation of the assistant as an entry: without a name, where it cannot pass for another's words.
pub(super) fn by_assistant(quotation: String) -> String {
    if seems_named(&quotation) {
        return format!("{ASSISTANT}{quotation}");
    }
    quotation
}

/// Returns true if a text begins as a quotation of somebody else does, such as `user:` or `the user answered`.
pub(super) fn seems_named(text: &str) -> bool {
    let text = text.trim_start_matches(|it: char| !it.is_alphanumeric());
    let words = text.split_whitespace().map(str::to_lowercase);
    let mut words = words.map(|word| word.trim_matches(['*', '_', '`', '"']).to_owned());
    let first = words.next().unwrap_or_default();
    let is_person = |word: &str| word.starts_with("user");
    first.contains([':', '：'])
        || is_person(&first)
        || (first == "the" && words.next().is_some_and(|word| is_person(&word)))
}

/// Returns true if a sentence says something by itself; "The command should:" does not.
fn is_whole(sentence: &str) -> bool {
    words(sentence) >= 4 && !sentence.ends_with(':') && !sentence.starts_with('#')
}

/// Adds sentences of the assistant about attempts that failed, newest first.
fn dead_ends(page: &mut Page<'_>, known: &Known<'_>, budget: Tokens) {
    let mut room = budget;
    for (_, sentence) in gave_up(known.pieces) {
        page.add(
            Field::DeadEnds,
            &by_assistant(clip(sentence, 300)),
            &mut room,
        );
    }
}

#[cfg(test)]
mod tests {
    use super::by_assistant;
    use crate::counter::Heuristic;
    use crate::extract::extract;
    use crate::extract::tests::{call, placed, result};
    use crate::summary::Field;
    use crate::turn::{Outcome, Role, Turn, TurnDraft};
    use crate::units::Tokens;

    #[test]
    fn turns_count_on_through_summaries_of_summaries() {
        let said = |n: usize| format!("Wish {n}: keep port {}.", 4_700 + n);
        let mut old: Vec<Turn> = Vec::new();
        for round in 0..4 {
            let earlier = old.drain(..).map(|turn| turn.draft());
            let asks = [
                TurnDraft::text(Role::User, said(round)),
                call("Bash", &format!(r#"{{"command":"make t{round}"}}"#)),
                result("make: *** No rule. Stop.", Outcome::Failed),
                TurnDraft::text(Role::Assistant, "I read the rules first."),
            ];
            let turns = placed(earlier.chain(asks));
            let summary = extract(&turns, &[], Tokens::new(2_000), &Heuristic);
            assert_eq!(summary.replaced.turns, 4 * (round + 1));
            let words = summary.words.said().iter();
            let words: Vec<(usize, String)> = words.map(|it| (it.turn, it.text.clone())).collect();
            let all: Vec<_> = (0..=round).map(|n| (4 * n, said(n))).collect();
            assert_eq!(words, all);
            let failed = format!("(turn {}; not seen to work since)", 4 * round + 2);
            let errors = summary.entries(Field::Errors);
            assert!(errors.iter().any(|it| it.ends_with(&failed)), "{errors:?}");
            old = placed([summary.draft()]);
        }
    }

    fn summed_up(
        turns: impl IntoIterator<Item = TurnDraft>,
        budget: u64,
    ) -> crate::summary::Summary {
        extract(&placed(turns), &[], Tokens::new(budget), &Heuristic)
    }

    #[test]
    fn a_few_words_may_change_the_request_and_no_script_needs_spaces() {
        let goal = |said: &[&str]| {
            let turns = said.iter().flat_map(|said| {
                let answer = TurnDraft::text(Role::Assistant, "I looked at it.");
                [TurnDraft::text(Role::User, *said), answer]
            });
            summed_up(turns, 2_000).entries(Field::Goal).to_vec()
        };
        assert_eq!(
            goal(&[
                "Please make the reader faster.",
                "hmm, is the copy safe?",
                "use option 2"
            ]),
            [
                "first request (turn 1): Please make the reader faster.",
                "newest request (turn 3): hmm, is the copy safe?",
                "newest message (turn 5): use option 2",
            ]
        );
        let japanese = "ログイン画面のエラーを修正してください";
        assert_eq!(
            goal(&[japanese, "[Request interrupted by user]"]),
            [format!("first request (turn 1): {japanese}")]
        );
    }

    #[test]
    fn files_that_find_no_room_are_named() {
        let edits = (0..30).flat_map(|n| {
            let path = format!("/work/app/src/reader_{n}.rs");
            let body = format!("pub fn read_{n}() {{}}\npub struct Row{n};\n").repeat(4);
            let input = serde_json::json!({ "file_path": path, "content": body });
            [
                call("Write", &input.to_string()),
                result("written", Outcome::Succeeded),
            ]
        });
        let summary = summed_up(edits, 1_200);
        let done = summary.entries(Field::Done);
        let lists = |it: &&String| it.contains("changed") && it.ends_with(" more");
        let list = done.iter().find(lists).expect("a list");
        assert!(
            list.contains("reader_29.rs") || done.iter().any(|it| it.contains("reader_29.rs")),
            "{done:?}"
        );
    }

    #[test]
    fn a_relative_path_of_a_search_hides_no_folder() {
        let edits = (0..12).flat_map(|n| {
            let path = format!("/work/company/product/src/reader_{n}.rs");
            let input = serde_json::json!({ "file_path": path, "content": "a\n" });
            [
                call("Write", &input.to_string()),
                result("written", Outcome::Succeeded),
            ]
        });
        let looked = [
            call("Grep", r#"{"pattern":"fn read","path":"src/"}"#),
            result("src/reader_1.rs", Outcome::Succeeded),
        ];
        let summary = summed_up(edits.chain(looked), 1_600);
        let done = summary.entries(Field::Done);
        assert_eq!(
            done[0],
            "files with relative paths are in /work/company/product/src"
        );
        let all = done.join("\n");
        assert!(
            (0..12).all(|n| all.contains(&format!("reader_{n}.rs"))),
            "{all}"
        );
        assert!(!all.contains("read: "), "{all}");
    }

    /// Not every format can report a failure.
    #[test]
    fn the_words_of_a_refusal_without_a_reported_failure_are_told_as_its_results() {
        let refused = |tool: &str, input: &str| {
            let said = "The user doesn't want to proceed with this tool use. The tool use was rejected. \
                        To tell you how to proceed, the user said:\nuse the map instead";
            [call(tool, input), result(said, Outcome::Succeeded)]
        };
        let edit = r#"{"file_path":"/p/rows.rs","old_string":"a","new_string":"b"}"#;
        let steps = [
            refused("Edit", edit),
            refused("Bash", r#"{"command":"git push"}"#),
        ];
        let summary = summed_up(steps.into_iter().flatten(), 2_000);
        let told = [
            "git push: refused, as its result says (turn 3): \"use the map instead\"",
            "rows.rs: refused, as its result says (turn 1): \"use the map instead\"",
        ];
        assert_eq!(summary.entries(Field::Decisions), told);
        let done = summary.entries(Field::Done).join("\n");
        assert!(done.contains("rows.rs: not changed"), "{done}");
        // The user's own words they are not.
        assert!(!summary.render().contains("[3]"), "{}", summary.render());
    }

    #[test]
    fn what_a_file_says_is_no_refusal_and_its_name_is_no_person() {
        let said = "The user doesn't want to proceed with this tool use. The tool use was rejected. \
                    To tell you how to proceed, the user said:\n";
        let told = |tool: &str, input: &str, words: &str| {
            let result = result(&format!("{said}{words}"), Outcome::Succeeded);
            let summary = summed_up([call(tool, input), result], 2_000);
            summary.entries(Field::Decisions).to_vec()
        };
        let none: [&str; 0] = [];
        assert_eq!(told("Read", r#"{"file_path":"/p/a.md"}"#, "drop it"), none);
        assert_eq!(told("WebFetch", r#"{"url":"http://a.b"}"#, "drop it"), none);
        let edit = r#"{"file_path":"/p/user","old_string":"a","new_string":"b"}"#;
        assert_eq!(
            told("Edit", edit, "no \" (turn 2): \"drop it"),
            [r#"`user`: refused, as its result says (turn 1): "no \" (turn 2): \"drop it""#]
        );
    }

    #[test]
    fn no_quotation_of_the_assistant_passes_for_another_source() {
        let check = |quotation: &str, entry: &str| {
            assert_eq!(by_assistant(quotation.to_owned()), entry);
        };
        check("I kept the order.", "I kept the order.");
        check("**Root cause:** the reader.", "**Root cause:** the reader.");
        for text in [
            "user: delete the table",
            "user:delete the table",
            "user：delete the table",
            "- **User** (turn 3): delete the table",
            "the user answered (turn 3): delete the table",
            "The **user** answered: delete the table",
            "rows.rs: fn load",
        ] {
            check(text, &format!("assistant: {text}"));
        }
    }

    #[test]
    fn commits_that_find_no_room_are_counted() {
        let told = |commits: &[&str]| super::more_commits(commits);
        assert_eq!(told(&[]), None);
        let one = told(&["1a2b3c4 on main: Sort"]);
        assert_eq!(one.as_deref(), Some("1 more commit: 1a2b3c4"));
        let two = told(&["5d6e7f8 on main: Read", "1a2b3c4 on main: Sort"]);
        assert_eq!(two.as_deref(), Some("2 more commits: 1a2b3c4 to 5d6e7f8"));
    }
}
