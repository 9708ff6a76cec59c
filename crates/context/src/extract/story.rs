//! The course of the work: statements, changes, commands and failures that are worth quoting by themselves.

use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

use super::census::{Census, Position};
use super::entries::without_mark;
use super::lines::{self, Span};
use super::source::{Origin, Piece};
use super::{purposes, remarks, steps};
use crate::classify::{Classes, Demands};
use crate::client_summary::{body, listed_messages};
use crate::linearity::ResourceClass;
use crate::sentence::sentences;
use crate::summary::is_summary;
use crate::turn::Turn;
use crate::units::Tokens;

/// The words that Claude Code puts where the assistant said nothing.
pub(super) const FILLER: &str = "No response requested.";
/// The longest sentence or line of a story, in bytes.
const LONGEST: usize = 320;
/// The most sentences of one statement.
const SENTENCES: usize = 12;
/// The most sentences of a client's own summary.
const RECORD: usize = 300;
/// The worth of a new remark in a large summary, in the unit of an identifier that is certainly needed. More of
/// it makes a fuller story and names less of what is needed later.
const SCALE: f32 = 0.035;
/// The worth in a small summary, in which few identifiers find room: it is better read for its story.
const SMALL: f32 = 0.1;
/// The sizes of a small and of a large summary, in tokens.
const SIZES: (f32, f32) = (1_000.0, 2_000.0);
/// The share of its worth that a sentence keeps where it announces a call: the call says the same.
const ANNOUNCES: f32 = 0.05;
// The worth of a part when it is new, and when it is old. The order is that of the shares of such parts that coding
// agents' own summaries mention: 84 % of the newest sentences that report to the user and 56 % of those behind
// 40,000 tokens; 53 % of comments and 76 % of declarations; 43 % of what is said between calls.
/// A sentence that reports to the user.
const REPORT: (f32, f32) = (1.3, 0.5);
/// A sentence before a call.
const SAID: (f32, f32) = (0.7, 0.2);
/// A comment or a declaration that a change adds.
const REMARK: (f32, f32) = (1.0, 0.5);
/// A command, or a change without remarks.
const COMMAND: (f32, f32) = (0.35, 0.02);
/// The first line of a failure.
const FAILURE: (f32, f32) = (0.5, 0.04);
/// The first line of a result.
const RESULT: (f32, f32) = (0.15, 0.0);
/// The factor of worth for a part of a required turn: the model decided there.
const REQUIRED: f32 = 1.2;
/// The factor of a part's worth for its length, up to so many bytes.
const LENGTHS: [(usize, f32); 3] = [(40, 0.5), (80, 0.9), (130, 1.1)];
/// The factor of a longer one.
const LONG: f32 = 1.3;
/// The length below which a sentence tells little for the place that it takes, in bytes.
const SHORT: usize = 50;
/// The share of its worth that it keeps.
const CURT: f32 = 0.45;
/// The age at which a part's worth has fallen two thirds of the way from new to old, in thousands of tokens.
const FADES: f32 = 20.0;

/// A quotation that tells of the course of the work.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub span: Span,
    /// Its worth, in the unit of an identifier that is certainly needed.
    pub value: f32,
    /// Of a sentence of the assistant, its worth by kind and age, whatever its length.
    pub statement: Option<f32>,
}

/// The scenes by their places.
#[derive(Debug, Default)]
pub(super) struct Story(BTreeMap<usize, Vec<Span>>);

impl Story {
    pub fn add(&mut self, span: Span) {
        self.0.entry(span.place.piece).or_default().push(span);
    }

    /// The scene in which something stands.
    pub fn around(&self, place: Position) -> Option<&Span> {
        let mut spans = self.0.get(&place.piece)?.iter();
        spans.find(|span| span.place.at <= place.at && place.at < span.end)
    }

    /// All of them, by piece.
    pub fn spans(self) -> impl Iterator<Item = Span> {
        self.0.into_values().flatten()
    }
}

/// The scenes of `old`, the first of the turns that `pieces` are from, for a summary of `size`. `ages` are the thousands of tokens behind each turn.
pub(super) fn scenes(
    old: &[Turn],
    pieces: &[Piece<'_>],
    census: &Census<'_>,
    (ages, size): (&[f32], Tokens),
) -> Vec<Scene> {
    let (small, large) = SIZES;
    let grown = ((size.as_f64() as f32 - small) / (large - small)).clamp(0.0, 1.0);
    let scale = SMALL + (SCALE - SMALL) * grown;
    let mut classes = Classes::new(Tokens::new(1_000_000), Arc::new(Demands::default()));
    let classes: Vec<ResourceClass> = old.iter().map(|turn| classes.push(turn)).collect();
    let mut out = Vec::new();
    let behind = |(_, piece): &(usize, &Piece<'_>)| piece.turn < old.len();
    for (number, piece) in pieces.iter().enumerate().take_while(behind) {
        let age = ages.get(piece.turn).copied().unwrap_or(0.0);
        let is_said = matches!(piece.origin, Origin::Assistant | Origin::Summary);
        // The last sentence before a call announces it, and the call says the same.
        let calls = pieces
            .get(number + 1)
            .is_some_and(|next| next.turn == piece.turn && next.origin == Origin::Call);
        let (told, (new, faded)) = told(piece, calls);
        let decides = classes.get(piece.turn) >= Some(&ResourceClass::Required);
        let required = if decides { REQUIRED } else { 1.0 };
        let worth = (faded + (new - faded) * (-age / FADES).exp()) * required;
        let end = piece.text.trim_end().len();
        let told = told.into_iter();
        // Of code, the changes that it led to are told.
        for range in told.filter(|it| !is_said || !is_code(&piece.text, it.start)) {
            if is_idle(piece, &range) {
                continue;
            }
            let worth = match is_said && calls && range.end >= end {
                true => worth * ANNOUNCES,
                false => worth,
            };
            let length = LENGTHS.iter().find(|(most, _)| range.len() <= *most);
            out.push(Scene {
                value: scale * worth * length.map_or(LONG, |(_, worth)| *worth),
                statement: is_said.then_some(match range.len() < SHORT {
                    true => worth * CURT,
                    false => worth,
                }),
                span: lines::span(piece, (number, range), census),
            });
        }
    }
    // A repeated text is told once, at its last place.
    let mut seen = HashSet::new();
    out.reverse();
    out.retain(|Scene { span, .. }| {
        let piece = pieces.get(span.place.piece);
        seen.insert(piece.and_then(|it| Some((&*it.about, it.text.get(span.place.at..span.end)?))))
    });
    out.reverse();
    out
}

/// The parts of a piece that tell of the course of the work, and their worth when new and when old. `calls` is true of
/// a statement that a call follows.
fn told(piece: &Piece<'_>, calls: bool) -> (Vec<Range<usize>>, (f32, f32)) {
    let text = &*piece.text;
    match piece.origin {
        Origin::Assistant if calls => (said(text, SENTENCES), SAID),
        Origin::Assistant => (said(text, SENTENCES), REPORT),
        // Ours is read field by field.
        Origin::Summary if !is_summary(text) => {
            let body = body(text);
            let below = said(text.get(body..).unwrap_or_default(), RECORD);
            let told = below.into_iter().map(|it| it.start + body..it.end + body);
            // The user's messages stand among the user's words.
            let listed = listed_messages(text);
            let is_listed = |range: &Range<usize>| {
                let said = without_mark(text.get(range.clone()).unwrap_or_default());
                listed.iter().any(|it| it.contains(said))
            };
            (told.filter(|it| !is_listed(it)).collect(), REPORT)
        }
        // A change that failed was not made.
        Origin::Call => match remarks::remarks(piece).filter(|_| !piece.fails) {
            Some(told) if !told.is_empty() => (told, REMARK),
            _ => (command(text).into_iter().collect(), COMMAND),
        },
        // "Exit code 1" tells less than the line below it.
        Origin::Failure => {
            let tells = |line: &str| says(3)(line) && !steps::is_exit(line);
            (first_line(text, tells).into_iter().collect(), FAILURE)
        }
        Origin::Result => {
            let tells = |line: &str| says(4)(line) && !lines::is_beside_match(line, text);
            (first_line(text, tells).into_iter().collect(), RESULT)
        }
        Origin::Echo | Origin::User | Origin::Summary | Origin::Thinking | Origin::Other => {
            (Vec::new(), RESULT)
        }
    }
}

/// The line of a call that runs a command.
fn command(text: &str) -> Option<Range<usize>> {
    if !steps::acts(text) {
        return None;
    }
    let line = whole_command(text, steps::headline(text));
    match line.len() <= LONGEST {
        true => Some(0..line.len()),
        false => first_line(text, |_| true),
    }
}

/// The beginning of a call with the lines on which its last line goes on.
fn whole_command<'t>(text: &'t str, headline: &'t str) -> &'t str {
    let mut end = headline.len();
    while let Some(start) = text.get(..end).filter(|it| it.ends_with('\\')) {
        let rest = text.get(start.len() + 1..).unwrap_or_default();
        let line = rest.lines().next().unwrap_or_default().trim_end();
        if line.is_empty() || end + line.len() > LONGEST {
            break;
        }
        end += 1 + line.len();
    }
    text.get(..end).unwrap_or(headline)
}

/// Accepts lines of at least so many words.
fn says(least: usize) -> impl Fn(&str) -> bool {
    move |line| line.split_whitespace().count() >= least
}

/// Returns true for letters that names of code do not need.
const fn is_prose(letter: char) -> bool {
    !letter.is_ascii_digit() && !matches!(letter, '_' | '`' | '/')
}

/// The first `most` sentences that tell something.
fn said(text: &str, most: usize) -> Vec<Range<usize>> {
    let mut out = Vec::new();
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        for (start, sentence) in sentences(line) {
            let range = at + start..at + start + sentence.len();
            // "Good catch." and "Now I see:" tell nothing. A letter of Chinese tells as much as three.
            let weight = |letter: char| if letter.len_utf8() > 2 { 3 } else { 1 };
            let letters = sentence.chars().filter(|it| it.is_alphabetic());
            let letters: usize = letters.map(weight).sum();
            // Nor does "You're absolutely right!".
            let names = !sentence.chars().all(is_prose);
            let is_cry = !names && sentence.ends_with(['!', '！']);
            let says = letters >= if is_cry { 24 } else { 18 };
            // "Now let me fix it:" is followed by what it announces.
            let announces = sentence.ends_with([':', '：']) && sentence.len() < 60;
            // A heading alone says what is told below it.
            // "## Before / After" names no path.
            let is_bare = || sentence.replace(" / ", " ").chars().all(is_prose);
            let is_heading =
                sentence.starts_with('#') && is_bare() && !sentence.contains([':', '：', '–', '—']);
            let tells = says && !announces && !is_heading && sentence != FILLER;
            if tells && range.len() <= LONGEST && out.len() < most {
                out.push(range);
            }
        }
        at += line.len();
    }
    out
}

/// Returns true if a part of a piece tells nothing of the course of the work. A command is worth telling, unless it only
/// shows something; a change without remarks stands with the files.
fn is_idle(piece: &Piece<'_>, range: &Range<usize>) -> bool {
    let said = piece.text.get(range.clone()).unwrap_or_default();
    match piece.origin {
        Origin::Call => match piece.script() {
            Some(script) => purposes::only_looks(script),
            // The list of tasks tells their newest state.
            None => piece.changes_a_task() || said.lines().all(steps::points),
        },
        _ => lines::is_idle(piece, range),
    }
}

/// Returns true if a place of a text is in a block of code.
fn is_code(text: &str, at: usize) -> bool {
    let before = text.get(..at).unwrap_or_default();
    let fences = before
        .lines()
        .filter(|line| line.trim_start().starts_with("```"));
    fences.count() % 2 == 1
}

fn first_line(text: &str, says: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let start = at + (line.len() - line.trim_start().len());
        if says(bare) && bare.chars().filter(|it| it.is_alphanumeric()).count() >= 4 {
            let end = match bare.len() <= LONGEST {
                true => start + bare.len(),
                false => cut(text, start, LONGEST / 2),
            };
            return Some(start..end);
        }
        at += line.len();
    }
    None
}

/// The end of an excerpt of at most `most` bytes, between words where there are any.
fn cut(text: &str, start: usize, most: usize) -> usize {
    let end = text.floor_char_boundary(start + most);
    let part = text.get(start..end).unwrap_or_default();
    part.rfind(char::is_whitespace).map_or(end, |it| start + it)
}

#[cfg(test)]
mod tests {
    use super::scenes;
    use crate::extract::census::Census;
    use crate::extract::source::pieces;
    use crate::extract::tests::{call, placed, result};
    use crate::turn::{Outcome, Role, TurnDraft};
    use crate::units::Tokens;

    /// The scenes of some turns, and for each whether it is a statement.
    fn told(drafts: Vec<TurnDraft>) -> Vec<(String, bool)> {
        let turns = placed(drafts);
        let pieces = pieces(&turns);
        let census = Census::of(&pieces);
        let ages = vec![0.0; turns.len()];
        let scenes = scenes(&turns, &pieces, &census, (&ages, Tokens::new(4_000)));
        let text = |scene: &super::Scene| {
            let place = scene.span.place;
            let text = pieces[place.piece].text.get(place.at..scene.span.end);
            text.unwrap_or_default().to_owned()
        };
        let told = scenes.iter().map(|it| (text(it), it.statement.is_some()));
        told.collect()
    }

    fn run(command: &str) -> Vec<TurnDraft> {
        let input = serde_json::json!({ "command": command });
        vec![
            call("Bash", &input.to_string()),
            result("", Outcome::Succeeded),
        ]
    }

    #[test]
    fn what_only_shows_something_tells_nothing() {
        assert!(told(run("ls -la src | grep rows")).is_empty());
        assert!(told(run("git status")).is_empty());
        assert_eq!(told(run("cargo test")).len(), 1);
        let update = call("TaskUpdate", r#"{"taskId":"3","status":"in_progress"}"#);
        assert!(told(vec![update, result("Updated task #3", Outcome::Succeeded)]).is_empty());
        let edit = r#"{"replace_all":false,"file_path":"/a.rs","old_string":"a","new_string":"b"}"#;
        assert!(told(vec![call("Edit", edit), result("ok", Outcome::Succeeded)]).is_empty());
    }

    #[test]
    fn headings_and_fillers_tell_nothing() {
        let said = |text: &str| told(vec![TurnDraft::text(Role::Assistant, text)]);
        assert!(said("## Before / After Summary of Everything").is_empty());
        assert!(said("No response requested.").is_empty());
        assert_eq!(said("## Why src/rows.rs loses the order").len(), 1);
    }

    #[test]
    fn an_earlier_summary_is_told_without_its_draft_and_the_users_messages() {
        let summary = "This session is being continued from a previous conversation that ran out of context.\n\n\
                       Analysis:\nLet me look at the whole conversation again.\n\n\
                       Summary:\n1. Files:\n   - The reader keeps the order of the rows.\n\n\
                       6. All User Messages:\n   - \"never sort the rows of the old table\"\n\n\
                       7. Pending Tasks:\n   - The writer loses rows of the last batch.";
        let told = told(vec![TurnDraft::text(Role::User, summary)]);
        let told: Vec<&str> = told.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(
            told,
            [
                "- The reader keeps the order of the rows.",
                "- The writer loses rows of the last batch.",
            ]
        );
    }

    #[test]
    fn a_command_that_is_cut_says_so() {
        let tests = (0..40).map(|n| format!("TestRows{n}|")).collect::<String>();
        let command = format!("go test ./rows/... -v -run \"{tests}\"  \nmake");
        let turns = placed(run(&command));
        let pieces = pieces(&turns);
        let census = Census::of(&pieces);
        let scenes = scenes(&turns, &pieces, &census, (&[0.0; 2], Tokens::new(4_000)));
        assert_eq!(scenes[0].span.is_cut, (false, true));
        let whole = placed(run("go test ./rows/... -run \"TestRows\"  \nmake"));
        let pieces = crate::extract::source::pieces(&whole);
        let census = Census::of(&pieces);
        let scenes = super::scenes(&whole, &pieces, &census, (&[0.0; 2], Tokens::new(4_000)));
        assert_eq!(scenes[0].span.is_cut, (false, false));
    }

    #[test]
    fn code_is_no_part_of_the_story() {
        let text = "The reader loses the order of the rows.\n\
                    ```rust\nlet rows = reader.collect_all_rows();\n```\n\
                    So the rows go through a channel.";
        assert_eq!(
            told(vec![TurnDraft::text(Role::Assistant, text)]),
            [
                ("The reader loses the order of the rows.".to_owned(), true),
                ("So the rows go through a channel.".to_owned(), true),
            ]
        );
    }
}
