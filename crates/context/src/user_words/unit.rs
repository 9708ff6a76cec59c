//! Units: what stands whole or not at all.

use std::ops::Range;

use super::message::{Line, Message};
use crate::sentence::sentences;

/// A line or a group of lines longer than this is divided into sentences or lines, in bytes.
const LONG: usize = 240;
/// A list stays with the line that opens it up to this size, in bytes.
const LIST: usize = 600;
/// The most lines behind a line over which its sentences are followed.
const WRAPPED_LINES: usize = 40;
/// The longest sentence that goes over several lines, in bytes.
const SENTENCE: usize = 300;
/// The size of a message from which runs of lines that are no prose count as pasted, in bytes.
const LARGE: usize = 1_500;
/// The fewest lines of such a run.
const RUN: usize = 6;

/// A unit of a message, as a range of bytes of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The bytes.
    pub range: Range<usize>,
    /// True if it was pasted.
    pub is_pasted: bool,
    /// True if it reads like a sentence.
    pub is_prose: bool,
    /// True if it stands at the beginning of pasted matter and shows what that is.
    pub is_head: bool,
}

impl Unit {
    /// Returns true if a program wrote it.
    pub const fn is_matter(&self) -> bool {
        self.is_pasted && !self.is_prose
    }
}

/// The units of a message, in order. `text` is the whole of it.
pub(super) fn units(message: &Message, text: &str) -> Vec<Unit> {
    let pasted = pasted(message, text.len());
    let mut out: Vec<Unit> = Vec::new();
    let mut at = 0;
    let mut index = 0;
    while let Some(line) = message.lines.get(index) {
        let below = message.lines.get(index..).unwrap_or_default();
        let tagged = below.iter().take_while(|line| line.is_wrapped).count();
        let size = size_of(below.iter().take(tagged));
        // Without its tags, what a client wrote would read like the user's words.
        if tagged > 1 && size <= LIST {
            out.push(Unit {
                range: at..at + size,
                is_pasted: true,
                is_prose: false,
                is_head: false,
            });
            (at, index) = (at + size + 1, index + tagged);
            continue;
        }
        let end = at + line.text.len();
        let is_pasted = pasted.get(index).copied().unwrap_or(false);
        if is_pasted {
            let before = index.checked_sub(1).and_then(|it| pasted.get(it)).copied();
            push(&mut out, line, at..end, (true, before != Some(true)));
            (at, index) = (end + 1, index + 1);
            continue;
        }
        let list = list_behind(message, &pasted, index);
        let listed: usize = list.iter().map(|line| line.text.len() + 1).sum();
        if !list.is_empty() && end - at + listed <= LIST {
            out.push(Unit {
                range: at..end + listed,
                is_pasted: false,
                is_prose: true,
                is_head: false,
            });
            (at, index) = (end + listed + 1, index + 1 + list.len());
            continue;
        }
        let plain = pasted.iter().skip(index).take_while(|it| !**it).count();
        let wrapped = wrapped(below.get(..plain).unwrap_or_default());
        let whole = at..at + size_of(below.iter().take(wrapped));
        let paragraph = text.get(whole.clone()).unwrap_or_default();
        // Lines that never end a sentence are no sentence.
        if wrapped > 1
            && sentences(paragraph)
                .iter()
                .all(|(_, it)| it.len() <= SENTENCE)
        {
            at = whole.end + 1;
            divide(&mut out, paragraph, whole, (false, false));
            index += wrapped;
            continue;
        }
        push(&mut out, line, at..end, (false, false));
        (at, index) = (end + 1, index + 1);
    }
    out
}

/// The size of lines with the line feeds between them.
fn size_of<'l>(lines: impl Iterator<Item = &'l Line>) -> usize {
    let all: usize = lines.map(|line| line.text.len() + 1).sum();
    all.saturating_sub(1)
}

/// The number of lines at the beginning of these over which sentences go on: the first, and those behind it.
fn wrapped(lines: &[Line]) -> usize {
    let pairs = lines.iter().zip(lines.iter().skip(1)).take(WRAPPED_LINES);
    1 + pairs
        .take_while(|(line, next)| goes_on(&line.text, &next.text))
        .count()
}

/// Returns true if a sentence seems to go on in the next line: the line ends without a mark, and the next one begins in
/// lower case, or the line is long enough to be wrapped.
fn goes_on(line: &str, next: &str) -> bool {
    /// The shortest line that an editor wraps, in bytes.
    const WRAPPED: usize = 40;
    const MARKS: [char; 14] = [
        '.', '!', '?', ':', ';', '。', '！', '？', '：', '；', '।', '؟', '۔', '…',
    ];
    const BEGINNINGS: [char; 8] = ['#', '>', '|', '`', '[', '{', '<', '~'];
    let (line, bare) = (line.trim_end(), next.trim_start());
    let ends = line.trim_end_matches(|it: char| "\"'”’»)*_`".contains(it));
    let is_open = !line.is_empty() && !ends.ends_with(MARKS) && !line.trim_start().starts_with('#');
    let begins = !bare.is_empty() && !bare.starts_with(BEGINNINGS) && !is_item(bare);
    is_open
        && begins
        && is_wordy(line)
        && is_wordy(bare)
        && (line.len() >= WRAPPED || bare.starts_with(char::is_lowercase))
}

fn push(out: &mut Vec<Unit>, line: &Line, range: Range<usize>, (is_pasted, is_head): (bool, bool)) {
    let is_pasted = is_pasted || (line.text.len() > LONG && is_record(&line.text));
    divide(out, &line.text, range, (is_pasted, is_head));
}

/// Adds the units of a text: itself, or its sentences if it is long.
fn divide(
    out: &mut Vec<Unit>,
    text: &str,
    range: Range<usize>,
    (is_pasted, is_head): (bool, bool),
) {
    if text.trim().is_empty() {
        return;
    }
    let mut add = |at: Range<usize>| {
        out.push(Unit {
            is_prose: is_prose(text.get(at.clone()).unwrap_or_default()),
            range: range.start + at.start..range.start + at.end,
            is_pasted,
            is_head,
        });
    };
    if text.len() <= LONG {
        return add(0..text.len());
    }
    let mut open: Option<Range<usize>> = None;
    for (at, sentence) in sentences(text) {
        let from = open.take().map_or(at, |before| before.start);
        let whole = from..at + sentence.len();
        match is_shortened(sentence) && whole.len() <= LIST {
            true => open = Some(whole),
            false => add(whole),
        }
    }
    open.into_iter().for_each(add);
}

/// Returns true if the dot behind a sentence may be that of a shortened word, in whatever language: `Dr.`, `No.`. Then
/// the next one stands or falls with it.
fn is_shortened(sentence: &str) -> bool {
    /// The most letters of such a word.
    const LETTERS: usize = 3;
    /// Words so short that end many sentences.
    const WORDS: [&str; 20] = [
        "it", "now", "so", "too", "yet", "all", "up", "out", "off", "on", "in", "one", "two", "me",
        "us", "run", "set", "use", "end", "day",
    ];
    let before = sentence.strip_suffix('.');
    let word = before.and_then(|it| it.rsplit(char::is_whitespace).next());
    word.is_some_and(|word| {
        let letters = word.chars().filter(|it| it.is_alphabetic()).count();
        let is_plain = word.is_ascii() && word.chars().all(|it| it.is_ascii_lowercase());
        letters <= LETTERS && !(is_plain && WORDS.contains(&word)) || word == "approx"
    })
}

/// Returns true if a line is JSON, as in a log: nobody types that.
fn is_record(line: &str) -> bool {
    let begins = ["{\"", "[{", "[\""];
    begins.iter().any(|it| line.trim_start().starts_with(it))
}

/// The items below a line that ends in a colon.
fn list_behind<'m>(message: &'m Message, pasted: &[bool], index: usize) -> &'m [Line] {
    let Some(line) = message.lines.get(index) else {
        return &[];
    };
    if !line.text.trim_end().ends_with([':', '：']) {
        return &[];
    }
    let below = message.lines.get(index + 1..).unwrap_or_default();
    let items = below
        .iter()
        .zip(pasted.iter().skip(index + 1))
        .take_while(|(line, pasted)| !**pasted && is_item(&line.text))
        .count();
    below.get(..items).unwrap_or_default()
}

fn is_item(line: &str) -> bool {
    let bare = line.trim_start();
    let marked = bare.starts_with(['-', '*', '•', '–', '+']);
    let number = bare.trim_start_matches(|digit: char| digit.is_ascii_digit());
    marked || (number.len() < bare.len() && number.starts_with(['.', ')']))
}

/// For each line, whether it was pasted: it stands in a fence or a quotation, or, in a large message, in a run of
/// lines that are no prose. Single sentences in such a run are pasted too; they are prose, and stay longer.
fn pasted(message: &Message, size: usize) -> Vec<bool> {
    let mut out: Vec<bool> = message.lines.iter().map(|line| line.is_pasted).collect();
    if size < LARGE {
        return out;
    }
    let matter = |line: &Line| line.text.trim().is_empty() || !is_prose(&line.text);
    let mut from = 0;
    while from < message.lines.len() {
        let mut to = from;
        let mut last = from;
        // A sentence or two do not end a run.
        while let Some(line) = message.lines.get(to) {
            if matter(line) && !line.text.trim().is_empty() {
                last = to + 1;
            } else if to >= last + 3 {
                break;
            }
            to += 1;
        }
        // A person's own line below a paste may be short: "What is slow?"
        while last > from
            && message
                .lines
                .get(last - 1)
                .is_some_and(|it| is_wordy(&it.text))
        {
            last -= 1;
        }
        let run = message.lines.get(from..last).unwrap_or_default();
        let first = run
            .iter()
            .position(|line| matter(line) && !line.text.trim().is_empty());
        let first = first.map_or(last, |first| from + first);
        let solid = run.iter().filter(|line| matter(line)).count();
        if last.saturating_sub(first) >= RUN && solid * 2 > last - first {
            out.iter_mut()
                .take(last)
                .skip(first)
                .for_each(|pasted| *pasted = true);
        }
        from = to.max(from + 1);
    }
    out
}

/// Returns true if a line reads like something a person says: words in a row, few marks, no number in front.
pub(super) fn is_prose(line: &str) -> bool {
    reads(line, 4)
}

/// Returns true if a line may be a short sentence.
fn is_wordy(line: &str) -> bool {
    reads(line, 2)
}

fn reads(line: &str, least: usize) -> bool {
    let bare = line.trim().trim_start_matches(['-', '*', '•', ' ', '#']);
    let solid = bare.chars().filter(|letter| !letter.is_whitespace());
    let (mut letters, mut all, mut wide) = (0_usize, 0_usize, 0_usize);
    for letter in solid {
        all += 1;
        letters += usize::from(letter.is_alphabetic());
        wide += usize::from(letter.is_alphabetic() && u32::from(letter) > 0x2E7F);
    }
    let words = bare
        .split_whitespace()
        .filter(|word| word.chars().any(char::is_alphabetic))
        .count();
    let starts =
        bare.starts_with(|first: char| first.is_alphabetic() || "\"'`“«¿¡(".contains(first));
    let code = bare.ends_with(['{', '}', ';', ',']) || bare.contains("  ") || bare.contains("();");
    starts && !code && letters * 10 >= all * 7 && (words >= least || wide > least)
}
