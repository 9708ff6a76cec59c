//! The tokenizer of a model.

use std::fmt;

/// The tokenizer of a model, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tokenizer {
    /// OpenAI's `o200k_base`, exact.
    O200k,
    /// OpenAI's `cl100k_base`, exact.
    Cl100k,
    /// Claude 3 to 4.6, estimated.
    Claude3,
    /// Claude 4.7 and later, estimated. It makes about a quarter to a third more tokens than Claude 3's.
    Claude47,
    /// Not known: estimated with a margin.
    Unknown,
}

impl Tokenizer {
    /// Every tokenizer.
    pub const ALL: [Self; 5] = [
        Self::O200k,
        Self::Cl100k,
        Self::Claude3,
        Self::Claude47,
        Self::Unknown,
    ];

    /// The name used in the model table.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::O200k => "o200k",
            Self::Cl100k => "cl100k",
            Self::Claude3 => "claude-3",
            Self::Claude47 => "claude-4.7",
            Self::Unknown => "unknown",
        }
    }

    /// A guess from a model's name alone, for models that stand in no table: a Claude without a
    /// version that says otherwise is taken for a current one, which counts more.
    #[must_use]
    pub fn guess(model: &str) -> Self {
        let model = model.to_ascii_lowercase();
        if ["claude", "anthropic", "opus", "sonnet", "haiku"]
            .iter()
            .any(|word| model.contains(word))
        {
            return match claude_version(&model) {
                Some(version) if version < (4, 7) => Self::Claude3,
                _ => Self::Claude47,
            };
        }
        if [
            "gpt-4o",
            "gpt-4.1",
            "gpt-4.5",
            "chatgpt-4o",
            "codex",
            "gpt-oss",
        ]
        .iter()
        .any(|word| model.contains(word))
        {
            return Self::O200k;
        }
        if ["gpt-4", "gpt-3.5", "gpt-35"]
            .iter()
            .any(|word| model.contains(word))
        {
            return Self::Cl100k;
        }
        let last = model.rsplit(['/', ':']).next().unwrap_or_default();
        if model.contains("gpt-")
            || last == "gpt"
            || ["o1", "o3", "o4"].iter().any(|name| last.starts_with(name))
        {
            return Self::O200k;
        }
        Self::Unknown
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The first one or two small numbers among the name's segments: `claude-opus-4-5-20251101` is
/// 4.5, `claude-3-5-sonnet` is 3.5, `claude-sonnet-4-20250514` is 4.0.
fn claude_version(model: &str) -> Option<(u32, u32)> {
    let mut segments = model.split(|character: char| !character.is_ascii_alphanumeric());
    let small = |segment: &str| {
        (segment.len() <= 2)
            .then(|| segment.parse::<u32>().ok())
            .flatten()
    };
    let major = segments.by_ref().find_map(small)?;
    let minor = segments.next().and_then(small).unwrap_or(0);
    Some((major, minor))
}

#[cfg(test)]
mod tests {
    use super::Tokenizer;

    #[track_caller]
    fn check(model: &str, expected: Tokenizer) {
        assert_eq!(Tokenizer::guess(model), expected, "{model}");
    }

    #[test]
    fn claude_by_version() {
        check("claude-3-5-sonnet-20241022", Tokenizer::Claude3);
        check("claude-opus-4-5-20251101", Tokenizer::Claude3);
        check("claude-sonnet-4-20250514", Tokenizer::Claude3);
        check("anthropic/claude-sonnet-4.6", Tokenizer::Claude3);
        check("us.anthropic.claude-opus-4-6-v1:0", Tokenizer::Claude3);
        check("claude-opus-4-7", Tokenizer::Claude47);
        check("claude-sonnet-5-20260801", Tokenizer::Claude47);
        check("claude-fable-5-1[1m]", Tokenizer::Claude47);
        check("haiku", Tokenizer::Claude47);
    }

    #[test]
    fn openai_by_generation() {
        check("gpt-4o-2024-08-06", Tokenizer::O200k);
        check("openai/gpt-4.1-mini", Tokenizer::O200k);
        check("gpt-5.1-codex", Tokenizer::O200k);
        check("gpt-6.1-sol", Tokenizer::O200k);
        check("o3-mini", Tokenizer::O200k);
        check("gpt-4-turbo", Tokenizer::Cl100k);
        check("gpt-3.5-turbo", Tokenizer::Cl100k);
    }

    #[test]
    fn anything_else_is_unknown() {
        check("", Tokenizer::Unknown);
        check("llama-4-70b", Tokenizer::Unknown);
        check("<synthetic>", Tokenizer::Unknown);
    }
}
