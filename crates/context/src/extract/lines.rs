//! Candidates to quote: whole lines and sentences, and marked excerpts of those that are too long.

use std::ops::Range;

use super::census::{Census, Position};
use super::source::{Origin, Piece};
use super::steps;
use super::story::Story;
use crate::identifiers;
use crate::sentence::sentences;

/// The number of words of three letters and more, the pieces of the identifier itself not counted, that a
/// quotation must hold for the identifier to stand in context.
const CONTEXT_WORDS: usize = 3;
/// The longest line or sentence that is quoted whole, in bytes.
const WHOLE: usize = 200;
/// The reach of an excerpt to each side of its identifier, in bytes.
const REACH: usize = 64;
/// The separator of two quotations, in estimated tokens.
const SEPARATOR: f32 = 1.3;
/// The marks of an excerpt, in estimated tokens.
const MARKS: f32 = 1.5;
/// The most quotations kept for one identifier.
const OPTIONS: usize = 4;

/// A quotation of one piece.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Span {
    /// The place of its first byte.
    pub place: Position,
    /// The byte after its last.
    pub end: usize,
    /// Its estimated tokens, the separator included.
    pub cost: f32,
    /// The identifiers in it, and for each whether it stands there in context.
    pub members: Vec<(usize, bool)>,
    /// True if it is cut at its beginning and at its end.
    pub is_cut: (bool, bool),
}

/// The best quotations for the identifier `number`, best first. Where it stands in a scene of the story, the quotation is
/// that scene. `value` holds the worth of each identifier and of each scene.
pub(super) fn options(
    number: usize,
    census: &Census<'_>,
    pieces: &[Piece<'_>],
    (value, story): (&[f32], &Story),
) -> Vec<Span> {
    let Some(entry) = census.entries.get(number) else {
        return Vec::new();
    };
    let mut found: Vec<(f32, Span)> = Vec::new();
    let mut add = |span: Span| {
        let worth = span.members.iter().map(|&(member, context)| {
            let value = value.get(member).copied().unwrap_or(0.0);
            if context { value } else { value * 0.9 }
        });
        let density = worth.sum::<f32>() / span.cost;
        if !found.iter().any(|(_, other)| *other == span) {
            found.push((density, span));
        }
    };
    for &place in entry.said.iter().chain(entry.places.iter().rev()) {
        if let Some(scene) = story.around(place) {
            add(scene.clone());
            continue;
        }
        let Some(piece) = pieces.get(place.piece) else {
            continue;
        };
        if piece.origin == Origin::Echo {
            continue;
        }
        let own = place.at..place.at + entry.text.len();
        for range in around(&piece.text, &own) {
            let said = piece.text.get(range.clone()).unwrap_or_default();
            let is_output = matches!(piece.origin, Origin::Call | Origin::Result);
            if is_idle(piece, &range) || is_output && is_fragment(said) {
                continue;
            }
            add(span(piece, (place.piece, range), census));
        }
    }
    found.sort_by(|one, other| other.0.total_cmp(&one.0));
    found.truncate(OPTIONS);
    found.into_iter().map(|(_, span)| span).collect()
}

/// Returns true if a quotation tells nothing, or what other parts of a summary tell anyway.
pub(super) fn is_idle(piece: &Piece<'_>, range: &Range<usize>) -> bool {
    let said = piece.text.get(range.clone()).unwrap_or_default();
    match piece.origin {
        Origin::Call => {
            let line = line_at(&piece.text, range.start);
            let is_excerpt = range.len() < line.len();
            let whole = piece.text.get(line).unwrap_or_default();
            // "Read file_path: src/a.rs" only points.
            piece.only_looks()
                // The list of tasks tells their newest state.
                || piece.changes_a_task()
                || said.lines().all(|line| {
                    // What a command was for is told with the commands.
                    let is_beside = line.starts_with("description: ") || is_credit(line);
                    steps::points(line) || piece.script().is_some() && is_beside
                })
                || is_excerpt && steps::is_raw(whole)
        }
        // Text in brackets is the client's, or what a tool says about its own output.
        Origin::User | Origin::Summary => said.starts_with(['<', '[']),
        Origin::Result => {
            is_note(said) || said.lines().any(|line| is_beside_match(line, &piece.text))
        }
        _ => false,
    }
}

/// Returns true if lines of code say nothing alone: the last goes on behind a comma or a bracket, the first began above
/// or is a text alone, such as the path of an import. Words of prose and values behind a key say something.
pub(super) fn is_fragment(said: &str) -> bool {
    /// The fewest words of prose that tell something.
    const WORDS: usize = 3;
    let said = said.trim();
    let is_word = |word: &&str| {
        let word = word.trim_end_matches([',', '.', ';', ':', '!', '?']);
        word.chars().nth(1).is_some() && word.chars().all(char::is_alphabetic)
    };
    let is_prose = said.split_whitespace().filter(is_word).count() >= WORDS;
    let is_pair = said.starts_with('"') && said.contains("\": ");
    // `ERROR [worker: …`: a line of a log names its level first.
    let first = said.split(|it: char| !it.is_alphanumeric()).next();
    let is_level = |it: &str| it.len() >= 4 && it.bytes().all(|it| it.is_ascii_uppercase());
    if is_prose || is_pair || first.is_some_and(is_level) {
        return false;
    }
    // The mark of a list: `1) rows`.
    let marked = said.split_once(") ").filter(|(mark, _)| mark.len() <= 2);
    let said = marked.map_or(said, |(_, behind)| behind);
    let depth = said.chars().fold(0_i32, |depth, letter| match letter {
        '(' | '[' | '{' => depth + 1,
        ')' | ']' | '}' => depth - 1,
        _ => depth,
    });
    // A block that begins here is named by its first line.
    let is_open = depth > 0 && !said.ends_with(['{', ':']);
    let goes_on = said.ends_with([',', '(', '[']);
    let began = said.starts_with(['"', '\'', ')', ']', '}', ',']);
    is_open || depth < 0 || goes_on || began
}

/// The keys of lines that name who made a commit, without `-by`.
const CREDITS: [&str; 7] = [
    "acked",
    "co-authored",
    "reported",
    "reviewed",
    "signed-off",
    "suggested",
    "tested",
];

/// Returns true if a line names who made a commit: `Co-authored-by: A <a@b.c>`.
fn is_credit(line: &str) -> bool {
    let key = line.split(": ").next().unwrap_or_default();
    let key = key.to_ascii_lowercase();
    key.strip_suffix("-by")
        .is_some_and(|it| CREDITS.contains(&it))
}

/// Returns true if a place stands in such a line. A longer one is not searched for its beginning: it may be a whole file.
pub(super) fn is_in_credit(text: &str, at: usize) -> bool {
    /// The longest part of the line before the place, in bytes.
    const LONGEST: usize = 120;
    let from = text.floor_char_boundary(at.saturating_sub(LONGEST));
    let before = text.get(from..at).unwrap_or_default();
    match before.rfind('\n') {
        Some(end) => before.get(end + 1..).is_some_and(is_credit),
        None => from == 0 && is_credit(before),
    }
}

/// Returns true if a text stands in one pair of brackets.
fn is_note(said: &str) -> bool {
    let inside = said.strip_prefix('[').and_then(|it| it.strip_suffix(']'));
    inside.is_some_and(|it| !it.contains(['[', ']']))
}

/// Returns true if a line of `found` is one that a search prints beside a match, `src/lib.rs-12-fn main`: a match in
/// that file stands there too, behind a colon. Some tools print the paths of matches alone as relative ones.
pub(super) fn is_beside_match(line: &str, found: &str) -> bool {
    /// The longest path with its number, in bytes.
    const LONGEST: usize = 400;
    let line = line.trim_start();
    let head = line.split([':', ' ', '\t']).next().unwrap_or_default();
    let head = head.get(..LONGEST.min(head.len())).unwrap_or_default();
    head.match_indices('-').any(|(at, _)| {
        let (path, rest) = head.split_at_checked(at).unwrap_or_default();
        let number = rest.trim_start_matches('-');
        let behind = number.trim_start_matches(|it: char| it.is_ascii_digit());
        behind.len() < number.len()
            && behind.starts_with('-')
            && path.contains(char::is_alphabetic)
            && has_match(path, found)
    })
}

/// Returns true if a line of `found` is a match in this file: `src/lib.rs:12:fn main`.
fn has_match(path: &str, found: &str) -> bool {
    let fronts = found.lines().filter_map(|line| line.split_once(':'));
    let mut fronts = fronts.map(|(front, _)| front.trim_start());
    fronts.any(|front| steps::ends_in(path, front) || steps::ends_in(front, path))
}

/// The ranges to quote for what stands at `own`: its line or sentence, or an excerpt of it; and where that says too
/// little, the line with the one before or after it.
fn around(text: &str, own: &Range<usize>) -> Vec<Range<usize>> {
    let line = line_at(text, own.start);
    if line.len() > WHOLE {
        return vec![within(text, &line, own)];
    }
    let mut out = vec![line.clone()];
    let said = text.get(line.clone()).unwrap_or_default();
    let named = text.get(own.clone()).unwrap_or_default();
    if words(said) >= words(named) + CONTEXT_WORDS {
        return out;
    }
    let before = line.start.checked_sub(1).map(|end| line_at(text, end));
    let after = (line.end < text.len()).then(|| line_at(text, line.end + 1));
    let before = before.map(|it| it.start..line.end);
    let after = after.map(|it| line.start..it.end);
    let fits = |range: &Range<usize>| range.len() <= WHOLE;
    out.extend(before.into_iter().chain(after).filter(fits));
    out
}

/// The line at a byte, without white space at its ends.
fn line_at(text: &str, at: usize) -> Range<usize> {
    let at = text.floor_char_boundary(at.min(text.len()));
    let (before, behind) = text.split_at_checked(at).unwrap_or(("", text));
    let start = before.rfind('\n').map_or(0, |it| it + 1);
    let end = behind.find('\n').map_or(text.len(), |it| at + it);
    trimmed(text, start..end)
}

fn trimmed(text: &str, range: Range<usize>) -> Range<usize> {
    let part = text.get(range.clone()).unwrap_or_default();
    let start = range.start + (part.len() - part.trim_start().len());
    start..start + part.trim().len()
}

/// The sentence of a long line in which something stands, or an excerpt around it.
fn within(text: &str, line: &Range<usize>, own: &Range<usize>) -> Range<usize> {
    let said = text.get(line.clone()).unwrap_or_default();
    // Only the neighbourhood is divided: a line may be a whole file.
    let from = said.floor_char_boundary((own.start - line.start).saturating_sub(WHOLE));
    let to = said.ceil_char_boundary((own.end - line.start + WHOLE).min(said.len()));
    let near = said.get(from..to).unwrap_or_default();
    let base = line.start + from;
    let held = sentences(near).into_iter().find_map(|(at, sentence)| {
        let range = base + at..base + at + sentence.len();
        let open = (at == 0 && from > 0) || (at + sentence.len() == near.len() && to < said.len());
        let holds = range.start <= own.start && own.end <= range.end;
        (holds && !open && sentence.len() <= WHOLE).then_some(range)
    });
    held.unwrap_or_else(|| excerpt(text, line, own))
}

/// An excerpt of a line, cut between words.
fn excerpt(text: &str, line: &Range<usize>, own: &Range<usize>) -> Range<usize> {
    let mut start = text
        .floor_char_boundary(own.start.saturating_sub(REACH))
        .max(line.start);
    let mut end = text
        .ceil_char_boundary((own.end + REACH).min(text.len()))
        .min(line.end);
    if start > line.start {
        let lead = text.get(start..own.start).unwrap_or_default();
        start = lead
            .find(char::is_whitespace)
            .map_or(own.start, |it| start + it);
    }
    if end < line.end {
        let rest = text.get(own.end..end).unwrap_or_default();
        end = rest
            .rfind(char::is_whitespace)
            .map_or(own.end, |it| own.end + it);
    }
    trimmed(text, start..end)
}

/// The quotation of a range.
pub(super) fn span(
    piece: &Piece<'_>,
    (number, range): (usize, Range<usize>),
    census: &Census<'_>,
) -> Span {
    let text = &*piece.text;
    let said = text.get(range.clone()).unwrap_or_default();
    let all = words(said);
    let mut members: Vec<(usize, bool)> = identifiers::scan(said)
        .chain(identifiers::members(said))
        .filter_map(|found| {
            let entry = census.find(found.text)?;
            Some((entry, all >= words(found.text) + CONTEXT_WORDS))
        })
        .collect();
    members.sort_unstable();
    members.dedup_by_key(|(entry, _)| *entry);
    let is_cut = (
        text.get(..range.start).is_some_and(goes_on_before),
        text.get(range.end..)
            .is_some_and(|rest| goes_on_behind(said, rest)),
    );
    let marks = f32::from(u8::from(is_cut.0)) + f32::from(u8::from(is_cut.1));
    Span {
        place: Position {
            piece: number,
            at: range.start,
        },
        end: range.end,
        cost: cost(said) + SEPARATOR + marks * MARKS,
        members,
        is_cut,
    }
}

/// Returns true if what stands before a quotation is part of the same sentence.
fn goes_on_before(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default().trim_end();
    // An added line of a patch begins with `+`.
    !line.is_empty()
        && line != "+"
        && !line.ends_with(['.', '!', '?', ':', '。', '！', '？', '।', '؟'])
}

/// Returns true if what stands behind a quotation is part of the same sentence or command.
fn goes_on_behind(said: &str, behind: &str) -> bool {
    let ends = said.ends_with(['.', '!', '?', ':', '。', '！', '？', '।', '؟', '۔']);
    let line = behind.split('\n').next().unwrap_or_default();
    // Where a sentence ended, the text may have been cut between two.
    let is_between = ends && line.starts_with(char::is_whitespace) && starts_anew(line);
    !line.trim().is_empty() && !is_between
}

/// Returns true if a text begins like a sentence of its own, or a line ends here.
fn starts_anew(text: &str) -> bool {
    let line = text.split('\n').next().unwrap_or_default().trim_start();
    line.chars()
        .next()
        .is_none_or(|first| !first.is_lowercase())
}

/// The estimated tokens of a text: what byte-pair vocabularies need on average.
pub(super) fn cost(text: &str) -> f32 {
    let (mut cost, mut inside) = (0.0, false);
    for byte in text.bytes() {
        let word = byte.is_ascii_alphanumeric();
        cost += match (word, inside) {
            (true, false) => 0.65,
            (true, true) if byte.is_ascii_uppercase() => 0.55,
            (true, true) if byte.is_ascii_digit() => 0.3,
            (true, true) => 0.1,
            (false, _) if byte.is_ascii_whitespace() => 0.0,
            (false, _) if byte.is_ascii() => 0.42,
            (false, _) => 0.35,
        };
        inside = word;
    }
    cost
}

fn words(text: &str) -> usize {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| word.len() >= 3)
        .count()
}

#[cfg(test)]
mod tests {
    use super::is_fragment;

    #[test]
    fn a_line_that_says_nothing_alone_is_a_fragment() {
        for said in [
            "BaseCommit: id,",
            "\"encoding/json\"",
            "slog.Info(\"loaded\", slog.String(",
            "), nil",
            "} else {",
            "load(rows, func() { keep(row)",
        ] {
            assert!(is_fragment(said), "{said}");
        }
        for said in [
            "fn load(path: &Path) -> Rows {",
            "let rows = load(path)?;",
            "rows: Vec<Row>",
            "def load(path):",
            "Keeps the order (see rows.rs).",
            "The rows_v2 table must be migrated by 2026-12-24 at the latest,",
            "1) rows_v2 is kept",
            "rows_v2.order_id BIGINT NOT NULL,",
            "\"rows_endpoint\": \"https://rows.example/v2\",",
            "ERROR rows_v2 [worker-17: timeout",
            "'rows_v2' is not a column",
            "docker run -p 54329:5432 rows_image \\",
        ] {
            assert!(!is_fragment(said), "{said}");
        }
    }
}
