//! Ages as people type them: `30d`, `12h`, `2w`.

use jiff::SignedDuration;

/// Reads an age: a whole number and a unit, `m` for minutes, `h` for hours, `d` for days of 24 hours, `w`
/// for weeks.
///
/// # Errors
/// What is wrong with `text`, as clap shows it behind the argument's name.
pub fn parse(text: &str) -> Result<SignedDuration, String> {
    let unlike = || "expected an age such as 12h, 30d or 8w".to_owned();
    let (number, unit) = text
        .split_at_checked(text.len().saturating_sub(1))
        .ok_or_else(unlike)?;
    let minutes: i64 = match unit {
        "m" => 1,
        "h" => 60,
        "d" => 24 * 60,
        "w" => 7 * 24 * 60,
        _ => return Err(unlike()),
    };
    if !number.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(unlike());
    }
    let number: i64 = number.parse().map_err(|_| unlike())?;
    number
        .checked_mul(minutes)
        .filter(|minutes| *minutes <= MOST)
        .map(SignedDuration::from_mins)
        .ok_or_else(|| "more than 1,000 years".to_owned())
}

/// 1,000 years, in minutes.
const MOST: i64 = 1_000 * 366 * 24 * 60;

#[cfg(test)]
mod tests {
    use super::parse;

    #[test]
    fn ages_as_people_type_them() {
        let check = |text: &str, minutes: Option<i64>| {
            let read = parse(text).ok().map(|age| age.as_mins());
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
}
