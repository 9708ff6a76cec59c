//! Numbers as people read them.

use crate::Tokens;

/// A count with commas between the thousands: `374,112`.
#[must_use]
pub fn count(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// A number of tokens in at most five characters: `812`, `8.1k`, `374k`, `12.3M`.
#[must_use]
pub fn short(tokens: Tokens) -> String {
    let number = tokens.as_f64();
    match tokens.get() {
        0..1_000 => tokens.to_string(),
        1_000..9_950 => format!("{:.1}k", number / 1e3),
        9_950..999_500 => format!("{:.0}k", number / 1e3),
        999_500..99_950_000 => format!("{:.1}M", number / 1e6),
        _ => format!("{:.0}M", number / 1e6),
    }
}

/// A ratio as a percentage without decimals: `84 %`. A ratio that is not a number is `–`.
#[must_use]
pub fn percent(ratio: f64) -> String {
    if ratio.is_finite() {
        format!("{:.0} %", ratio * 100.0)
    } else {
        "–".to_owned()
    }
}

/// A duration in one unit: `0.4 s`, `41 s`, `12 min`, `2.2 h`.
#[must_use]
pub fn seconds(seconds: f64) -> String {
    if !seconds.is_finite() || seconds < 0.0 {
        "–".to_owned()
    } else if seconds < 9.95 {
        format!("{seconds:.1} s")
    } else if seconds < 599.5 {
        format!("{seconds:.0} s")
    } else if seconds < 7_170.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

/// A sum of money in US dollars: `$0.042`, `$4.27`, `$1204`.
#[must_use]
pub fn dollars(amount: f64) -> String {
    if !amount.is_finite() {
        "–".to_owned()
    } else if amount >= 1_000.0 {
        format!("${amount:.0}")
    } else if amount >= 0.995 {
        format!("${amount:.2}")
    } else {
        format!("${amount:.3}")
    }
}

/// A price in US dollars, with as many decimals as it needs, from none to four: `$3`, `$0.3`.
#[must_use]
pub fn price(amount: f64) -> String {
    let decimals = format!("{amount:.4}");
    format!("${}", decimals.trim_end_matches('0').trim_end_matches('.'))
}

/// A file size: `812 B`, `44 kB`, `4.2 MB`.
#[must_use]
pub fn bytes(bytes: u64) -> String {
    let number = Tokens::new(bytes).as_f64();
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..999_500 => format!("{:.0} kB", number / 1e3),
        999_500..999_500_000 => format!("{:.1} MB", number / 1e6),
        _ => format!("{:.1} GB", number / 1e9),
    }
}

/// `1 file`, `2 files`: `noun` in the plural with an `s` unless there is one.
#[must_use]
pub fn plural(number: usize, noun: &str) -> String {
    let ending = if number == 1 { "" } else { "s" };
    format!("{} {noun}{ending}", count(number as u64))
}

#[cfg(test)]
mod tests {
    use super::{bytes, count, dollars, percent, plural, price, seconds, short};
    use crate::Tokens;

    #[test]
    fn thousands_are_set_apart() {
        assert_eq!(
            [0, 999, 1_000, 374_112, 1_000_000].map(count),
            ["0", "999", "1,000", "374,112", "1,000,000"]
        );
    }

    #[test]
    fn short_figures_never_reach_a_thousand_of_their_unit() {
        let shown =
            [999, 1_000, 9_949, 9_950, 999_499, 999_500, 99_950_000].map(|n| short(Tokens::new(n)));
        assert_eq!(
            shown,
            ["999", "1.0k", "9.9k", "10k", "999k", "1.0M", "100M"]
        );
    }

    #[test]
    fn durations() {
        let shown = [0.04, 9.94, 9.96, 599.4, 600.0, 7_800.0, f64::NAN].map(seconds);
        assert_eq!(
            shown,
            ["0.0 s", "9.9 s", "10 s", "599 s", "10 min", "2.2 h", "–"]
        );
    }

    #[test]
    fn money_sizes_and_shares() {
        assert_eq!(
            [0.0421, 4.266, 1204.4].map(dollars),
            ["$0.042", "$4.27", "$1204"]
        );
        assert_eq!(
            [812, 44_154, 4_183_578].map(bytes),
            ["812 B", "44 kB", "4.2 MB"]
        );
        assert_eq!([0.1 + 0.2, 3.0, 10.0].map(price), ["$0.3", "$3", "$10"]);
        assert_eq!(percent(0.836), "84 %");
        assert_eq!(
            (plural(1, "file"), plural(2, "file")),
            ("1 file".into(), "2 files".into())
        );
    }
}
