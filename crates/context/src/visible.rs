//! Conversation text made safe to read: nothing in it is hidden, moves its surroundings or controls a terminal.

use std::fmt::Write;

/// Spells out every character that is invisible or changes the text direction: U+202E becomes `[U+202E]`.
/// Line breaks and tabs stay, and so do joiners where a script or an emoji uses them.
#[must_use]
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

/// Returns true for control characters, direction marks and zero-width characters.
pub(crate) fn hides(character: char) -> bool {
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
pub(crate) fn joins(character: char) -> bool {
    matches!(character, '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}')
}

#[cfg(test)]
mod tests {
    use super::visible;

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
            (
                "\u{1b}]52;c;AA\u{7}\u{9b}2J",
                "[U+001B]]52;c;AA[U+0007][U+009B]2J",
            ),
        ];
        for (text, shown) in cases {
            assert_eq!(visible(text), shown);
        }
    }
}
