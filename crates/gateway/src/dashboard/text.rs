//! Conversation text made safe to read: nothing in it is hidden or moves its surroundings.

use std::fmt::Write;

use context::figures;

/// Spells out every character that is invisible or changes the text direction: U+202E becomes `[U+202E]`.
/// Line breaks and tabs stay, and so do joiners where a script or an emoji uses them.
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut before = ' ';
    for character in text.chars() {
        if hides(character) || (joins(character) && before.is_ascii()) {
            // Writing to a string cannot fail.
            let _ = write!(out, "[U+{:04X}]", u32::from(character));
        } else {
            out.push(character);
        }
        before = character;
    }
    out
}

/// Returns the text on one line of at most `limit` characters, with `…` if it was cut.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = visible(&joined);
    match line.char_indices().nth(limit) {
        Some((end, _)) => {
            let mut cut = line.get(..end).unwrap_or_default().to_owned();
            cut.push('…');
            cut
        }
        None => line,
    }
}

/// A text of which a page shows the beginning and folds the rest.
#[derive(Debug)]
pub struct Folded {
    pub head: String,
    pub rest: String,
    pub rest_size: String,
    /// The size of what the page leaves out behind that, or empty.
    pub left_out: String,
}

impl Folded {
    /// Shows about `shown` characters, and has at most `most` on the page.
    pub fn new(text: &str, shown: usize, most: usize) -> Self {
        let end = text.char_indices().nth(most).map(|(end, _)| end);
        let kept = end.and_then(|end| text.get(..end)).unwrap_or(text);
        let (head, rest) = folded(kept, shown);
        Self {
            head,
            rest_size: figures::bytes(rest.len() as u64),
            rest,
            left_out: match text.len() - kept.len() {
                0 => String::new(),
                bytes => figures::bytes(bytes as u64),
            },
        }
    }
}

/// Splits a text near `limit` characters, at a line break if there is one. The rest is empty if the text is
/// not much longer than the limit.
fn folded(text: &str, limit: usize) -> (String, String) {
    let text = visible(text);
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return (text, String::new());
    };
    if text.len() <= end + end / 4 {
        return (text, String::new());
    }
    let head = text.get(..end).unwrap_or_default();
    let cut = match head.rfind('\n') {
        Some(line) if line > end / 2 => line + 1,
        _ => end,
    };
    let (head, rest) = text.split_at(cut);
    (head.to_owned(), rest.to_owned())
}

/// Returns true for control characters, direction marks and zero-width characters.
fn hides(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{180e}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' => true,
        '\u{200b}' | '\u{200e}' | '\u{200f}' => true,
        '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}' => true,
        other => other.is_control(),
    }
}

/// Returns true for joiners and variation selectors.
fn joins(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::{folded, one_line, visible};

    #[test]
    fn what_hides_is_written_out() {
        let cases = [
            ("a\u{202e}b", "a[U+202E]b"),
            ("zero\u{200b}width", "zero[U+200B]width"),
            ("\u{feff}bom", "[U+FEFF]bom"),
            ("bell\u{7}", "bell[U+0007]"),
            ("a\u{200d}b", "a[U+200D]b"),
            ("line\n\ttab", "line\n\ttab"),
            ("👩\u{200d}🚀", "👩\u{200d}🚀"),
            ("שלום <b>", "שלום <b>"),
            ("tag\u{e0041}", "tag[U+E0041]"),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
        }
    }

    #[test]
    fn lines_are_cut_at_characters() {
        assert_eq!(one_line(" a \n b\r\nc ", 10), "a b c");
        assert_eq!(one_line("ααββ", 2), "αα…");
        assert_eq!(one_line("ααββ", 4), "ααββ");
    }

    #[test]
    fn long_texts_fold_at_a_line_and_lose_nothing() {
        let text = "0123456\n89 and on it goes\n";
        let (head, rest) = folded(text, 10);
        assert_eq!(head, "0123456\n");
        assert_eq!(format!("{head}{rest}"), text);
        assert_eq!(
            folded("0123456789ab", 10),
            ("0123456789ab".to_owned(), String::new())
        );
        assert_eq!(folded("", 10), (String::new(), String::new()));
    }
}
