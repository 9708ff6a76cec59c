//! Parsers of setting values. An error says what is expected.

use std::net::SocketAddr;

use context::Tokens;
use jiff::SignedDuration;

use crate::config::setting::NONE;

type Read<T> = Result<T, &'static str>;

/// The error for a value that is none of a setting's words; the message then lists the words.
pub(super) const NOT_LISTED: &str = "one of the listed words";
/// Parses `none`, or a value with `read`.
pub(super) fn optional<T>(text: &str, read: impl Fn(&str) -> Read<T>) -> Read<Option<T>> {
    if text == NONE {
        return Ok(None);
    }
    read(text).map(Some)
}

/// Parses values separated by commas; `none` for no value.
pub(super) fn list(text: &str, read: impl Fn(&str) -> Read<String>) -> Read<Vec<String>> {
    if text == NONE {
        return Ok(Vec::new());
    }
    text.split(',').map(|value| read(value.trim())).collect()
}

/// Parses a host name without a port.
pub(super) fn host(text: &str) -> Read<String> {
    let is_sign = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    let fits = !text.is_empty() && text.bytes().all(is_sign);
    fits.then(|| text.to_owned())
        .ok_or("host names without ports, such as `gateway.example.com`")
}

/// Parses an origin, as browsers write it.
pub(super) fn origin(text: &str) -> Read<String> {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let fits = !scheme.is_empty()
        && !rest.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !rest.contains(['/', '@', '?', '#']);
    fits.then(|| text.to_owned())
        .ok_or("origins without a path, such as `http://localhost:3000`")
}

/// Parses one of the names.
pub(super) fn choice<T: Copy>(text: &str, choices: &[(&'static str, T)]) -> Read<T> {
    let found = choices.iter().find(|(name, _)| *name == text);
    found.map(|(_, value)| *value).ok_or(NOT_LISTED)
}

/// Parses an address with a port; `localhost` is 127.0.0.1.
pub(super) fn address(text: &str) -> Read<SocketAddr> {
    let numeric = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    numeric
        .parse()
        .map_err(|_| "an address and a port, such as `127.0.0.1:4000`")
}

/// Parses a base URL without user, query or fragment.
pub(super) fn url(text: &str) -> Read<String> {
    let rest = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"));
    let fits = rest.is_some_and(|rest| !rest.is_empty() && !rest.starts_with('/'))
        && text.bytes().all(|byte| byte.is_ascii_graphic())
        && !text.contains(['@', '?', '#']);
    fits.then(|| text.to_owned())
        .ok_or("a URL such as `https://api.example.com`")
}

/// Parses tokens: `64k`, `1.5M`, `200_000`. `k` is a thousand.
pub(super) fn tokens(text: &str) -> Read<Tokens> {
    let scales = [("k", 1e3), ("K", 1e3), ("m", 1e6), ("M", 1e6)];
    let tokens = scaled(text, &scales).filter(|tokens| (1.0..=1e12).contains(tokens));
    tokens
        .map(|tokens| Tokens::new(1).scaled(tokens))
        .ok_or("a number of tokens such as `200k`")
}

/// The smallest usable window: less cannot hold a summary and the newest messages.
const SMALLEST_WINDOW: Tokens = Tokens::new(1_000);

/// Parses the size of a window.
pub(super) fn window(text: &str) -> Read<Tokens> {
    let window = tokens(text)?;
    let fits = window >= SMALLEST_WINDOW;
    fits.then_some(window).ok_or("at least 1000 tokens")
}

/// Parses bytes: `32MiB`, `500kB`, `33554432`.
pub(super) fn bytes(text: &str) -> Read<usize> {
    let scales = [
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
    ];
    scaled(text, &scales)
        .filter(|bytes| (1.0..=1e15).contains(bytes))
        .and_then(|bytes| format!("{bytes:.0}").parse().ok())
        .ok_or("a number of bytes such as `32MiB`")
}

fn scaled(text: &str, scales: &[(&str, f64)]) -> Option<f64> {
    let plain: String = text.chars().filter(|sign| *sign != '_').collect();
    let (digits, factor) = scales
        .iter()
        .find_map(|(unit, factor)| Some((plain.strip_suffix(unit)?.trim_end(), *factor)))
        .unwrap_or((plain.as_str(), 1.0));
    let well_formed = digits
        .chars()
        .all(|sign| sign.is_ascii_digit() || sign == '.');
    let number: f64 = digits.parse().ok().filter(|_| well_formed)?;
    Some((number * factor).round())
}

/// Parses a count of at least one.
pub(super) fn count(text: &str) -> Read<usize> {
    let plain: String = text.chars().filter(|sign| *sign != '_').collect();
    plain
        .parse()
        .ok()
        .filter(|count| (1..=1_000_000_000).contains(count))
        .ok_or("a number of at least 1")
}

/// Parses a share of a whole, exclusive of 0 and 1.
pub(super) fn share(text: &str) -> Read<f64> {
    let share: Option<f64> = text.parse().ok();
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or("a number between 0 and 1, such as `0.8`")
}

/// Parses `true` or `false`.
pub(super) fn switch(text: &str) -> Read<bool> {
    text.parse().map_err(|_| "`true` or `false`")
}

/// Parses a duration such as `10s` or `1m 30s`; a bare number counts seconds.
pub(super) fn duration(text: &str) -> Read<SignedDuration> {
    const LONGEST: SignedDuration = SignedDuration::from_hours(24 * 366);
    let seconds = text.parse().ok().map(SignedDuration::from_secs);
    seconds
        .or_else(|| text.parse().ok())
        .filter(|duration| !duration.is_negative() && *duration <= LONGEST)
        .ok_or("a duration such as `10s`")
}

/// Parses a retention age: a whole number and a unit, `m` for minutes, `h` for hours, `d` for days of 24
/// hours, `w` for weeks; at most 1,000 years.
///
/// # Errors
/// The form that is expected.
pub fn age(text: &str) -> Result<SignedDuration, &'static str> {
    /// 1,000 years in minutes.
    const MOST: i64 = 1_000 * 366 * 24 * 60;
    const EXPECTED: &str = "an age such as 12h, 30d or 8w";
    let (number, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or(EXPECTED)?;
    let minutes: i64 = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return Err(EXPECTED),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(EXPECTED);
    }
    let number: i64 = number.parse().map_err(|_| EXPECTED)?;
    number
        .checked_mul(minutes)
        .filter(|minutes| *minutes <= MOST)
        .map(SignedDuration::from_mins)
        .ok_or("an age of at most 1,000 years")
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use jiff::SignedDuration;

    use super::{address, age, bytes, count, duration, optional, share, tokens, url, window};

    #[test]
    fn sizes() {
        assert_eq!(tokens("64k"), Ok(Tokens::new(64_000)));
        assert_eq!(tokens("1.5M"), Ok(Tokens::new(1_500_000)));
        assert_eq!(tokens("200_000"), Ok(Tokens::new(200_000)));
        assert_eq!(window("1k"), Ok(Tokens::new(1_000)));
        assert!(window("10").is_err());
        assert_eq!(bytes("32MiB"), Ok(32 << 20));
        assert_eq!(bytes("500 kB"), Ok(500_000));
        assert_eq!(bytes("12"), Ok(12));
        for bad in ["", "k", "-1", "1e9", "0", "64kb", "inf", "NaN"] {
            assert!(tokens(bad).is_err(), "{bad}");
            assert!(bytes(bad).is_err(), "{bad}");
            assert!(count(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn durations() {
        assert_eq!(duration("10s"), Ok(SignedDuration::from_secs(10)));
        assert_eq!(duration("1m 30s"), Ok(SignedDuration::from_secs(90)));
        assert_eq!(duration("90"), Ok(SignedDuration::from_secs(90)));
        for bad in ["", "soon", "-1s", "10000h"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ages_as_people_type_them() {
        let check = |text: &str, minutes: Option<i64>| {
            let read = age(text).ok().map(|age| age.as_mins());
            assert_eq!(read, minutes, "{text}");
        };
        check("90m", Some(90));
        check("12h", Some(720));
        check("30d", Some(43_200));
        check("2w", Some(20_160));
        check("0d", Some(0));
        check("", None);
        check("d", None);
        check("30", None);
        check("-1d", None);
        check("+1d", None);
        check("1.5d", None);
        check("30 d", None);
        check("30\u{e9}", None);
        check("99999999999999999999d", None);
        check("9999999w", None);
    }

    #[test]
    fn addresses_urls_and_shares() {
        assert!(address("localhost:4000").is_ok() && address("[::]:0").is_ok());
        assert!(address("4000").is_err() && address("example.com:80").is_err());
        assert!(url("https://h:1/path").is_ok());
        for bad in [
            "h",
            "ftp://h",
            "https://",
            "https:///p",
            "https://u@h",
            "https://h?k=v",
            "https://h h",
        ] {
            assert!(url(bad).is_err(), "{bad}");
        }
        assert!(share("0.8").is_ok() && share("1").is_err() && share("NaN").is_err());
        assert_eq!(optional("none", share), Ok(None));
    }
}
