//! Finds phrases in a text by whole words.

/// A text brought into a form in which phrases can be searched: lower case, one space between
/// words, a colon as a word of its own, ` . ` wherever a clause ends.
pub struct Words(String);

impl Words {
    /// Prepares the lines of a text.
    pub fn of<'a>(lines: impl IntoIterator<Item = &'a str>) -> Self {
        let mut out = String::from(" ");
        for line in lines {
            for character in line.chars() {
                push(&mut out, character);
            }
            clause_ends(&mut out);
        }
        Self(out)
    }

    /// Returns true if a phrase stands here as whole words within one clause. A phrase is in lower case,
    /// with single spaces, and a space before a colon.
    pub fn say(&self, phrase: &str) -> bool {
        self.0.match_indices(phrase).any(|(at, _)| {
            let before = self.0.get(..at).is_none_or(|before| before.ends_with(' '));
            let after = self.0.get(at + phrase.len()..);
            before && after.is_none_or(|after| after.starts_with(' '))
        })
    }

    /// Returns true if any of these phrases stands here.
    pub fn say_any(&self, phrases: &[&str]) -> bool {
        phrases.iter().any(|phrase| self.say(phrase))
    }
}

fn push(out: &mut String, character: char) {
    match character {
        '\'' | '\u{2019}' => out.push('\''),
        ':' => {
            end_word(out);
            out.push_str(": ");
        }
        '.' | ',' | ';' | '!' | '?' | '(' | ')' => clause_ends(out),
        other if other.is_alphanumeric() || other == '_' => out.extend(other.to_lowercase()),
        _ => end_word(out),
    }
}

fn end_word(out: &mut String) {
    if !out.ends_with(' ') {
        out.push(' ');
    }
}

fn clause_ends(out: &mut String) {
    end_word(out);
    if !out.ends_with(" . ") && out.len() > 1 {
        out.push_str(". ");
    }
}

#[cfg(test)]
mod tests {
    use super::Words;

    fn check(text: &str, phrase: &str, expected: bool) {
        assert_eq!(Words::of(text.lines()).say(phrase), expected, "{text:?}");
    }

    #[test]
    fn phrases_are_whole_words_of_one_clause() {
        check("You MUST do it", "must", true);
        check("the mustard", "must", false);
        check("Hawaii will be sunny", "i will", false);
        check("so do I. Will it?", "i will", false);
        check("I  will\tdo", "i will", true);
        check("Don\u{2019}t.", "don't", true);
        check("Decision: go", "decision :", true);
        check("no", "no", true);
        check("", "no", false);
    }
}
