//! Timestamps for readers: how long ago, and the exact time.

use jiff::Timestamp;

use super::text::one_line;

/// A timestamp for a `time` element.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moment {
    /// The timestamp as reported, RFC 3339.
    pub machine: String,
    /// The exact time in UTC.
    pub exact: String,
    /// The time that has passed.
    pub ago: String,
}

impl Moment {
    /// Formats a reported RFC 3339 timestamp. Any other text stays as it is.
    pub fn of(reported: &str, now: Timestamp) -> Self {
        let Ok(at) = reported.parse::<Timestamp>() else {
            let reported = one_line(reported, 40);
            return Self {
                machine: reported.clone(),
                exact: reported.clone(),
                ago: reported,
            };
        };
        Self {
            machine: reported.to_owned(),
            exact: at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string(),
            ago: ago(now.duration_since(at).as_secs()),
        }
    }
}

/// Formats an age: `now`, `12 s ago`, `4 min ago`, `3 h ago`, `9 days ago`.
fn ago(seconds: i64) -> String {
    match seconds {
        ..=0 => "now".to_owned(),
        1..=99 => format!("{seconds} s ago"),
        100..=5_399 => format!("{} min ago", (seconds + 30) / 60),
        5_400..=172_799 => format!("{} h ago", (seconds + 1_800) / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::{Moment, ago};

    #[test]
    fn ages_have_one_unit() {
        assert_eq!(
            [-3, 0, 1, 99, 100, 3_600, 5_400, 172_800].map(ago),
            [
                "now",
                "now",
                "1 s ago",
                "99 s ago",
                "2 min ago",
                "60 min ago",
                "2 h ago",
                "2 days ago"
            ]
        );
    }

    #[test]
    fn what_is_no_moment_stands_as_it_is() {
        let now = "2026-01-02T03:04:05Z".parse().unwrap();
        let moment = Moment::of("2026-01-02T03:04:00Z", now);
        assert_eq!(
            (moment.ago.as_str(), moment.exact.as_str()),
            ("5 s ago", "2026-01-02 03:04:00 UTC")
        );
        assert_eq!(Moment::of("soon", now).ago, "soon");
    }
}
