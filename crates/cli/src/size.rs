//! Parses token counts as people type them: `64k`, `1.5M`, `200_000`.

use context::Tokens;

/// Parses a size of at least one token. `k` is 1,000 and `M` is 1,000,000, as in the window sizes
/// that providers publish.
pub fn parse(text: &str) -> Result<Tokens, String> {
    match parse_any(text)? {
        Tokens::ZERO => Err("expected at least one token".to_owned()),
        tokens => Ok(tokens),
    }
}

/// Parses a size that may be zero.
pub fn parse_any(text: &str) -> Result<Tokens, String> {
    let plain: String = text.trim().chars().filter(|c| *c != '_').collect();
    let (digits, factor) = match plain.chars().last() {
        Some('k' | 'K') => (plain.trim_end_matches(['k', 'K']), 1e3),
        Some('m' | 'M') => (plain.trim_end_matches(['m', 'M']), 1e6),
        _ => (plain.as_str(), 1.0),
    };
    let well_formed = digits.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: Option<f64> = digits.parse().ok().filter(|_| well_formed);
    let tokens = number.map(|number| (number * factor).round());
    match tokens {
        None => Err("expected a size such as 64k, 1.5M or 200_000".to_owned()),
        Some(tokens) if tokens > 1e12 => Err("expected at most 1,000,000M tokens".to_owned()),
        Some(tokens) => Ok(Tokens::new(1).scaled(tokens)),
    }
}

#[cfg(test)]
mod tests {
    use super::{parse, parse_any};

    fn check(text: &str, expected: Option<u64>) {
        assert_eq!(
            parse(text).ok().map(context::Tokens::get),
            expected,
            "{text:?}"
        );
    }

    #[test]
    fn sizes_as_people_type_them() {
        check("64k", Some(64_000));
        check("1.5M", Some(1_500_000));
        check("200_000", Some(200_000));
        check("2000", Some(2_000));
        check(" 8K ", Some(8_000));
        check("0.5k", Some(500));
        check("1", Some(1));
    }

    #[test]
    fn nothing_at_all_where_it_makes_sense() {
        assert_eq!(parse_any("0"), Ok(context::Tokens::ZERO));
        assert!(parse_any("-1").is_err() && parse_any("").is_err());
    }

    #[test]
    fn what_is_no_size() {
        for text in [
            "", "k", "0", "-4k", "nan", "inf", "1e9", "64kb", "1.2.3k", "64 k 2", "9999999M", ".",
            "0.0001",
        ] {
            check(text, None);
        }
    }
}
