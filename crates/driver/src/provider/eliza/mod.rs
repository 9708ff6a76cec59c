//! A conversation partner without a model, after J. Weizenbaum's program of 1966: keywords with ranks,
//! patterns that take a sentence apart, and templates that put an answer together from its parts.
//!
//! A sentence is words in lower case. The keyword of highest rank decides, of equals the first; its
//! patterns are tried in order; the templates of a pattern are used in turn. The words behind "my" are
//! remembered and asked about where a later sentence has no keyword. The same sentences always give the
//! same answers. The script is [`script`], its own.

mod script;

use std::collections::{HashMap, VecDeque};

use script::{Rule, Script};

/// The maximum number of sentences, and of words in each.
const LONGEST: usize = 200;

/// One conversation.
#[derive(Debug, Default)]
pub(crate) struct Eliza {
    /// The number of uses of each list of templates, by its first template.
    used: HashMap<&'static str, usize>,
    /// Topics to return to.
    memory: VecDeque<String>,
}

impl Eliza {
    /// Answers one message.
    pub fn answer(&mut self, heard: &str) -> String {
        let sentences = sentences(heard);
        let keyed = |words: &&Vec<String>| {
            let rules = Script::shipped().rules.iter();
            rules
                .filter(|rule| words.iter().any(|word| rule.keys.contains(word)))
                .max_by(|one, two| one.rank.cmp(&two.rank).then(std::cmp::Ordering::Greater))
        };
        for words in &sentences {
            self.note(words);
        }
        let best = sentences
            .iter()
            .filter_map(|words| Some((words, keyed(&words)?)))
            .max_by(|one, two| {
                one.1
                    .rank
                    .cmp(&two.1.rank)
                    .then(std::cmp::Ordering::Greater)
            });
        let answer = best.and_then(|(words, rule)| self.by(rule, words));
        answer
            .or_else(|| self.memory.pop_front())
            .unwrap_or_else(|| self.turn(&Script::shipped().fallback, &[]))
    }

    /// Remembers the words after "my".
    fn note(&mut self, words: &[String]) {
        let at = words.iter().position(|word| word == "my");
        let Some(thing) = at
            .and_then(|at| words.get(at + 1..))
            .filter(|rest| !rest.is_empty())
        else {
            return;
        };
        if self.memory.len() < 8 {
            let question = self.turn(&Script::shipped().memory, &[reflected(thing)]);
            self.memory.push_back(question);
        }
    }

    fn by(&mut self, rule: &'static Rule, words: &[String]) -> Option<String> {
        rule.patterns.iter().find_map(|(pattern, templates)| {
            let parts = taken_apart(pattern, words)?;
            let parts: Vec<String> = parts.into_iter().map(reflected).collect();
            Some(self.turn(templates, &parts))
        })
    }

    /// The next of these templates, filled in.
    fn turn(&mut self, templates: &'static [String], parts: &[String]) -> String {
        let first = templates.first().map(String::as_str).unwrap_or_default();
        let used = self.used.entry(first).or_default();
        let template = templates.get(*used % templates.len().max(1));
        *used += 1;
        let mut answer = template.cloned().unwrap_or_default();
        for (number, part) in parts.iter().enumerate() {
            answer = answer.replace(&format!("{{{number}}}"), part);
        }
        answer
    }
}

/// The sentences of a text as words, in lower case, without what is no letter or digit.
fn sentences(text: &str) -> Vec<Vec<String>> {
    let text = text.to_lowercase().replace(['’', '`'], "'");
    let sentences = text
        .split(['.', '!', '?', ',', ';', ':', '\n'])
        .take(LONGEST);
    let words = |sentence: &str| -> Vec<String> {
        let words = sentence.split(|letter: char| !letter.is_alphanumeric() && letter != '\'');
        let words = words.filter(|word| !word.is_empty());
        words.take(LONGEST).map(str::to_owned).collect()
    };
    sentences
        .map(words)
        .filter(|words| !words.is_empty())
        .collect()
}

/// The parts of a sentence that the stars of a pattern stand for: each as short as it can be, the last one
/// all that remains.
fn taken_apart<'a>(pattern: &str, words: &'a [String]) -> Option<Vec<&'a [String]>> {
    let mut parts = Vec::new();
    let mut rest = words;
    let mut pieces = pattern.split('*').map(str::split_whitespace).peekable();
    let first: Vec<&str> = pieces.next()?.collect();
    rest = starts(rest, &first)?;
    while let Some(piece) = pieces.next() {
        let piece: Vec<&str> = piece.collect();
        if piece.is_empty() && pieces.peek().is_none() {
            parts.push(rest);
            return Some(parts);
        }
        let at = (0..=rest.len()).find(|at| {
            rest.get(*at..).is_some_and(|rest| match pieces.peek() {
                Some(_) => starts(rest, &piece).is_some(),
                None => starts(rest, &piece).is_some_and(<[String]>::is_empty),
            })
        })?;
        parts.push(rest.get(..at)?);
        rest = rest.get(at + piece.len()..)?;
    }
    rest.is_empty().then_some(parts)
}

/// The words after this beginning, or `None` if the sentence starts differently.
fn starts<'a>(words: &'a [String], with: &[&str]) -> Option<&'a [String]> {
    let (front, rest) = words.split_at_checked(with.len())?;
    let same = front.iter().zip(with).all(|(word, wanted)| word == wanted);
    same.then_some(rest)
}

/// A part as it is said back: "my" for "your", "i" for "you".
fn reflected(words: &[String]) -> String {
    let reflections = &Script::shipped().reflections;
    let words = words
        .iter()
        .map(|word| reflections.get(word).unwrap_or(word).as_str());
    words.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::Eliza;

    #[track_caller]
    fn check(said: &[(&str, &str)]) {
        let mut eliza = Eliza::default();
        for (heard, expected) in said {
            assert_eq!(eliza.answer(heard), *expected, "{heard}");
        }
    }

    #[test]
    fn a_sentence_comes_back_as_a_question() {
        check(&[
            (
                "I need more time.",
                "What would change if you had more time?",
            ),
            (
                "I am afraid of my own tests",
                "How long have you been afraid of your own tests?",
            ),
        ]);
    }

    #[test]
    fn templates_are_used_in_turn() {
        check(&[
            ("I need rest", "What would change if you had rest?"),
            ("i need tea", "Who else knows that you need tea?"),
        ]);
    }

    #[test]
    fn the_keyword_of_highest_rank_decides() {
        check(&[(
            "Because I dream of files, perhaps",
            "What happens in the dream about files?",
        )]);
    }

    #[test]
    fn what_was_mine_is_come_back_to() {
        check(&[
            ("My brother makes files", "What else does your brother do?"),
            (
                "Blue.",
                "Earlier you spoke of your brother makes files. Does that have to do with it?",
            ),
            ("Green.", "Go on, please."),
            ("", "What comes to mind next?"),
        ]);
    }

    #[test]
    fn any_text_is_answered() {
        let mut eliza = Eliza::default();
        for text in [
            "",
            "   ",
            "'''",
            "你好",
            "my",
            "* * *",
            "i",
            "why",
            &"my ".repeat(5_000),
        ] {
            assert!(!eliza.answer(text).is_empty(), "{text}");
        }
    }
}
