//! Window sizes in the text of refusals.

use context::Tokens;

/// The sizes that a provider names when a request does not fit the model's window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overflow {
    /// The window size.
    pub most: Option<Tokens>,
    /// The input size.
    pub input: Option<Tokens>,
    /// The room reserved for the answer, where the provider counts it.
    pub output: Tokens,
}

/// Wordings by which providers say that a request does not fit the window.
const WORDINGS: [&str; 15] = [
    "prompt is too long",
    "prompt_too_long",
    "maximum context length",
    "context_length_exceeded",
    "exceeds the context window",
    "exceed context limit",
    // llama.cpp
    "exceeds the available context size",
    "exceed_context_size_error",
    // xAI
    "maximum prompt length",
    // Google
    "exceeds the maximum number of tokens",
    // Moonshot
    "exceeded model token limit",
    // Bedrock
    "input is too long for requested model",
    // GitHub
    "prompt token count of",
    // Cohere
    "tokens in the prompt cannot exceed",
    // MiniMax
    "context window exceeds limit",
];

/// Words before the window size.
const MOST: [&str; 9] = [
    "maximum context length is",
    "maximum prompt length is",
    "tokens allowed",
    "available context size",
    "token limit:",
    "exceeds the limit of",
    "cannot exceed",
    "must be <=",
    ">",
];

/// Words before the input size.
const INPUT: [&str; 9] = [
    "prompt is too long:",
    "context limit:",
    "resulted in",
    "request contains",
    "input token count",
    "prompt token count of",
    "received",
    "request (",
    "requested:",
];

/// Words behind the input size, where the message names that of the answer too.
const INPUT_BEHIND: [&str; 4] = [
    "in the messages",
    "of text input",
    "in your prompt",
    "in the input",
];

/// Words behind the answer size.
const OUTPUT_BEHIND: [&str; 2] = ["in the completion", "in the output"];

/// Words that may stand between a number and the words that name it.
const BETWEEN: [&str; 4] = ["tokens", "about", "only", "of"];

impl Overflow {
    /// Reads the code and the message of an error. `None` for any other error.
    pub(super) fn read(code: &str, message: &str) -> Option<Self> {
        let (code, message) = (code.to_lowercase(), message.to_lowercase());
        let says = |wording: &str| code.contains(wording) || message.contains(wording);
        if !WORDINGS.iter().any(|wording| says(wording)) {
            return None;
        }
        let first = |places: &[&str], find: fn(&str, &str) -> Option<u64>| {
            places.iter().find_map(|place| find(&message, place))
        };
        // "188240 + 21333 > 200000": the input, and what the answer may take.
        let sum = message.split_once(" + ");
        let added = sum.and_then(|(_, rest)| number_in(rest.split('>').next()?));
        let output = first(&OUTPUT_BEHIND, behind).or(added);
        let input = first(&INPUT_BEHIND, behind).or_else(|| first(&INPUT, before));
        let most = first(&MOST, before).or_else(|| behind(&message, "maximum context length"));
        Some(Self {
            most: most.filter(|&most| most > 0).map(Tokens::new),
            input: input.map(Tokens::new),
            output: Tokens::new(output.unwrap_or(0)),
        })
    }
}

/// The number behind a wording.
fn before(message: &str, wording: &str) -> Option<u64> {
    let (_, rest) = message.split_once(wording)?;
    let mut words = rest.split_whitespace();
    words
        .by_ref()
        .take(3)
        .find(|word| !BETWEEN.contains(word))
        .and_then(number_in)
}

/// The number before a wording.
fn behind(message: &str, wording: &str) -> Option<u64> {
    let (rest, _) = message.split_once(wording)?;
    let mut words = rest.split_whitespace().rev();
    words
        .by_ref()
        .take(3)
        .find(|word| !BETWEEN.contains(word))
        .and_then(number_in)
}

/// The number in a word, without brackets around it and commas in it.
fn number_in(word: &str) -> Option<u64> {
    let is_mark = |character: char| !character.is_ascii_alphanumeric();
    let digits: String = word
        .trim_matches(is_mark)
        .chars()
        .filter(|&character| character != ',' && character != '_')
        .collect();
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use context::Tokens;

    use super::Overflow;

    fn check(message: &str, most: Option<u64>, input: Option<u64>, output: u64) {
        let found = Overflow::read("", message).unwrap_or_else(|| panic!("{message}"));
        let wanted = Overflow {
            most: most.map(Tokens::new),
            input: input.map(Tokens::new),
            output: Tokens::new(output),
        };
        assert_eq!(found, wanted, "{message}");
    }

    #[test]
    fn the_wordings_of_providers() {
        check(
            "prompt is too long: 8232 tokens > 8000 maximum",
            Some(8_000),
            Some(8_232),
            0,
        );
        check(
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length",
            Some(200_000),
            Some(188_240),
            21_333,
        );
        check(
            "This model's maximum context length is 8000 tokens. However, your messages resulted in 8232 tokens. Please reduce the length of the messages.",
            Some(8_000),
            Some(8_232),
            0,
        );
        check(
            "This model's maximum context length is 65,536 tokens. However, you requested 80000 tokens (72000 in the messages, 8000 in the completion).",
            Some(65_536),
            Some(72_000),
            8_000,
        );
        check(
            "This endpoint's maximum context length is 128000 tokens. However, you requested about 150000 tokens (140000 of text input, 10000 in the output).",
            Some(128_000),
            Some(140_000),
            10_000,
        );
        check(
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            Some(131_072),
            Some(537_812),
            0,
        );
        check(
            "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
            Some(1_048_576),
            Some(1_200_000),
            0,
        );
        check(
            "request (9000 tokens) exceeds the available context size (8192 tokens), try increasing it",
            Some(8_192),
            Some(9_000),
            0,
        );
        check(
            "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            Some(32_768),
            None,
            0,
        );
        check(
            "Your request exceeded model token limit: 131072 (requested: 200000)",
            Some(131_072),
            Some(200_000),
            0,
        );
        check(
            "prompt token count of 140000 exceeds the limit of 128000",
            Some(128_000),
            Some(140_000),
            0,
        );
        check(
            "Your input exceeds the context window of this model.",
            None,
            None,
            0,
        );
    }

    #[test]
    fn other_errors_say_nothing_of_it() {
        assert_eq!(Overflow::read("invalid_value", "max_tokens: 9 > 8"), None);
        assert!(Overflow::read("context_length_exceeded", "").is_some());
    }
}
