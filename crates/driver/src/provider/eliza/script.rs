//! The script of ELIZA: keywords, patterns and answers, from `script.json`.

use std::collections::HashMap;
use std::sync::LazyLock;

use serde::Deserialize;

static SHIPPED: LazyLock<Script> =
    LazyLock::new(|| serde_json::from_str(include_str!("script.json")).unwrap_or_default());

/// A script.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Script {
    /// Words, and the words with which they are said back.
    pub reflections: HashMap<String, String>,
    /// Answers if no rule matches.
    pub fallback: Vec<String>,
    /// Answers that return to an earlier topic.
    pub memory: Vec<String>,
    pub rules: Vec<Rule>,
}

/// A keyword with its patterns.
#[derive(Debug, Deserialize)]
pub(super) struct Rule {
    /// The words that select the rule.
    pub keys: Vec<String>,
    /// The rule with the highest rank wins.
    pub rank: u8,
    /// Patterns, of which the first that fits is used, and their templates. A star stands for any words;
    /// `{0}` is the first star, said back.
    pub patterns: Vec<(String, Vec<String>)>,
}

impl Script {
    /// The script that this crate ships.
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }
}

#[cfg(test)]
mod tests {
    use super::Script;

    #[test]
    fn the_shipped_script_can_be_read() {
        let script = Script::shipped();
        assert!(!script.fallback.is_empty() && !script.memory.is_empty());
        assert!(script.rules.iter().all(|rule| !rule.patterns.is_empty()));
        assert!(script.rules.len() > 10);
    }
}
