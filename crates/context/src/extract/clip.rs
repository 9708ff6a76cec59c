//! Quotations that are shortened to their first sentences.

use super::entries::without_mark;
use crate::sentence::sentences;
use crate::summary::one_line;

/// The mark at the cut end of a quotation.
pub(super) const CUT: char = '…';
/// The most white space that is kept in front of a line, in bytes.
const DEEPEST: usize = 8;

/// The first sentences of `text` that fit in `most` bytes; where not even one fits, its beginning, cut between
/// words and marked.
pub(super) fn clip(text: &str, most: usize) -> String {
    let lines: Vec<String> = text.lines().map(one_line).collect();
    first_sentences(&lines, " ", most)
}

/// The same with the lines apart.
pub(super) fn clip_lines(text: &str, most: usize) -> String {
    let inside = |line: &str| {
        let blank = line.len() - line.trim_start().len();
        format!("{}{}", " ".repeat(blank.min(DEEPEST)), one_line(line))
    };
    let lines: Vec<String> = without_mark(text.trim()).lines().map(inside).collect();
    first_sentences(&lines, "\n", most)
}

fn first_sentences(lines: &[String], between: &str, most: usize) -> String {
    let lines: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|it| !it.trim().is_empty())
        .collect();
    let whole = lines.join(between);
    if whole.len() <= most {
        return whole;
    }
    let mut out = String::new();
    'lines: for line in lines {
        let mut from = 0;
        let mut before = if out.is_empty() { "" } else { between };
        for (at, sentence) in sentences(line) {
            let end = at + sentence.len();
            let part = line.get(from..end).unwrap_or(sentence);
            if out.len() + before.len() + part.len() + 1 + CUT.len_utf8() > most {
                break 'lines;
            }
            out.push_str(before);
            out.push_str(part);
            (from, before) = (end, "");
        }
    }
    if out.len() * 3 > most {
        out.push(' ');
        out.push(CUT);
        return out;
    }
    let end = whole.floor_char_boundary(most.saturating_sub(CUT.len_utf8() + 1));
    let start = whole.get(..end).unwrap_or_default();
    match start.rsplit_once(' ') {
        Some((words, _)) => format!("{words} {CUT}"),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::{clip, clip_lines};

    #[test]
    fn whole_sentences_are_kept_and_a_mark_shows_the_end() {
        let text = "Done:\n- the reader is mended. It keeps the order.\n  - the writer waits\n";
        assert_eq!(
            clip(text, 200),
            "Done: - the reader is mended. It keeps the order. - the writer waits"
        );
        let lines = "Done:\n- the reader is mended. It keeps the order.\n  - the writer waits";
        assert_eq!(clip_lines(text, 200), lines);
        assert_eq!(clip_lines(text, lines.len()), lines);
        let first = "Done:\n- the reader is mended. It keeps the order. …";
        assert_eq!(clip_lines(text, lines.len() - 1), first);
        assert_eq!(clip_lines(text, first.len()), first);
        assert_eq!(
            clip_lines(text, first.len() - 1),
            "Done:\n- the reader is mended. …"
        );
        assert_eq!(clip("The reader is mended by now", 15), "The reader …");
    }
}
