//! Model names as people and clouds write them, and the patterns they are matched with.

use context::Tokens;

/// A model's name without its decoration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name {
    /// The name as given, in lower case, without a window suffix.
    pub given: String,
    /// The name without provider, date and version of the deployment.
    pub plain: String,
    /// The window that a suffix such as `[1m]` asks for.
    pub window: Option<Tokens>,
}

impl Name {
    pub fn new(model: &str) -> Self {
        let lower = model.trim().to_ascii_lowercase();
        let (given, window) = split_window(&lower);
        Self {
            given: given.to_owned(),
            plain: plain(given),
            window,
        }
    }
}

/// Splits `name[1m]` into the name and the window.
fn split_window(name: &str) -> (&str, Option<Tokens>) {
    let parts = name
        .strip_suffix(']')
        .and_then(|open| open.rsplit_once('['));
    let Some((head, size)) = parts else {
        return (name, None);
    };
    let unit = |suffix: char, unit: u64| {
        let count: u64 = size.strip_suffix(suffix)?.parse().ok()?;
        count.checked_mul(unit).filter(|&window| window > 0)
    };
    let window = unit('m', 1_000_000).or_else(|| unit('k', 1_000));
    window.map_or((name, None), |window| (head, Some(Tokens::new(window))))
}

fn plain(name: &str) -> String {
    let mut rest = name;
    // Routers and resource names: `openrouter/anthropic/claude-…`, `…:inference-profile/us.anthropic.…`.
    if let Some((_, last)) = rest.rsplit_once('/') {
        rest = last;
    }
    // Fine-tuned models: `ft:gpt-4o:organisation::id`.
    rest = rest.strip_prefix("ft:").unwrap_or(rest);
    // Bedrock: `us.anthropic.claude-…-v1:0`.
    for vendor in ["anthropic.", "openai."] {
        if let Some((_, after)) = rest.split_once(vendor) {
            rest = after;
        }
    }
    // Vertex: `claude-…@20251101`; variants of routers: `…:thinking`.
    rest = rest.split(['@', ':']).next().unwrap_or_default();
    while let Some(shorter) = without_suffix(rest) {
        rest = shorter;
    }
    if rest.contains("claude") {
        rest.replace('.', "-")
    } else {
        rest.to_owned()
    }
}

/// The name without one trailing date, deployment version or `latest`.
fn without_suffix(name: &str) -> Option<&str> {
    let digits = |text: &str, count: usize| {
        text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit())
    };
    let (head, last) = name.rsplit_once('-')?;
    if last == "latest" || digits(last, 8) {
        return Some(head);
    }
    if last
        .strip_prefix('v')
        .is_some_and(|version| digits(version, version.len().max(1)))
    {
        return Some(head);
    }
    // 2024-08-06
    let (head, month) = head.rsplit_once('-')?;
    let (head, year) = head.rsplit_once('-')?;
    (digits(last, 2) && digits(month, 2) && digits(year, 4)).then_some(head)
}

/// A name with `*` for any text, or without: then it stands for itself alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern(String);

impl Pattern {
    pub fn new(text: &str) -> Self {
        Self(text.to_ascii_lowercase())
    }

    /// The quality of the match: `None` without one; a literal beats any pattern with a star, and more
    /// literal characters beat fewer.
    pub fn fit(&self, name: &str) -> Option<usize> {
        if !self.0.contains('*') {
            return (self.0 == name).then_some(usize::MAX);
        }
        self.matches(name)
            .then(|| self.0.bytes().filter(|&byte| byte != b'*').count())
    }

    fn matches(&self, name: &str) -> bool {
        let mut pieces = self.0.split('*');
        let first = pieces.next().unwrap_or_default();
        let last = pieces.next_back().unwrap_or_default();
        let middle = name
            .strip_prefix(first)
            .and_then(|rest| rest.strip_suffix(last));
        let Some(mut rest) = middle else {
            return false;
        };
        for piece in pieces {
            match rest.split_once(piece) {
                Some((_, after)) => rest = after,
                None => return false,
            }
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::{Name, Pattern};
    use context::Tokens;
    use proptest::prelude::*;

    #[track_caller]
    fn check(given: &str, expected: &str) {
        assert_eq!(Name::new(given).plain, expected, "{given}");
    }

    #[test]
    fn decoration_is_taken_off() {
        check("claude-opus-4-5", "claude-opus-4-5");
        check("Claude-Opus-4-5-20251101", "claude-opus-4-5");
        check("anthropic/claude-opus-4.5", "claude-opus-4-5");
        check(
            "openrouter/anthropic/claude-sonnet-4.5:thinking",
            "claude-sonnet-4-5",
        );
        check(
            "us.anthropic.claude-sonnet-4-20250514-v1:0",
            "claude-sonnet-4",
        );
        check("claude-opus-4-5@20251101", "claude-opus-4-5");
        check("claude-3-5-sonnet-latest", "claude-3-5-sonnet");
        check("claude-sonnet-4-5-20250929[1m]", "claude-sonnet-4-5");
        check("gpt-4o-2024-08-06", "gpt-4o");
        check("openai/gpt-5.6-sol", "gpt-5.6-sol");
        check("ft:gpt-4o:acme::abc123", "gpt-4o");
        check("", "");
        check("-", "-");
    }

    #[test]
    fn the_window_suffix() {
        let window = |name: &str| Name::new(name).window;
        assert_eq!(window("sonnet[1m]"), Some(Tokens::new(1_000_000)));
        assert_eq!(window("sonnet[500k]"), Some(Tokens::new(500_000)));
        assert_eq!(window("sonnet"), None);
        assert_eq!(window("sonnet[beta]"), None);
        assert_eq!(window("sonnet[0m]"), None);
        assert_eq!(window("sonnet[99999999999999999999m]"), None);
    }

    #[test]
    fn stars_stand_for_any_text() {
        let fit = |pattern: &str, name: &str| Pattern::new(pattern).fit(name);
        assert_eq!(fit("gpt-5", "gpt-5"), Some(usize::MAX));
        assert_eq!(fit("gpt-5", "gpt-5-mini"), None);
        assert_eq!(fit("gpt-5*", "gpt-5-mini"), Some(5));
        assert_eq!(fit("*claude*", "my-claude-2"), Some(6));
        assert_eq!(fit("a*b*c", "a-b-c"), Some(3));
        assert_eq!(fit("a*b*c", "a-c"), None);
        assert_eq!(fit("ab*ba", "aba"), None);
        assert_eq!(fit("*", ""), Some(0));
    }

    proptest! {
        #[test]
        fn taking_decoration_off_twice_changes_nothing(name in "[a-z0-9.:@/\\[\\]*-]{0,24}") {
            let once = Name::new(&name).plain;
            let twice = Name::new(&once);
            prop_assert!(twice.window.is_some() || twice.plain == once);
        }

        #[test]
        fn any_name_is_taken(name in "\\PC{0,40}", pattern in "\\PC{0,20}") {
            let _ = Pattern::new(&pattern).fit(&Name::new(&name).plain);
        }
    }
}
