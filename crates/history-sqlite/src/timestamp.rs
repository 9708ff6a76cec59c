//! Timestamps as SQLite stores them: nanoseconds since 1970.

use jiff::Timestamp;

/// Converts a timestamp. One before 1677 or after 2262 does not fit 64 bits and becomes the nearest that
/// does.
pub fn to_sql(at: Timestamp) -> i64 {
    let nanoseconds = at.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// Converts a stored number.
pub fn from_sql(number: i64) -> Timestamp {
    // Every 64-bit number of nanoseconds is within a timestamp's range.
    Timestamp::from_nanosecond(i128::from(number)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{from_sql, to_sql};

    #[test]
    fn moments_come_back_and_the_far_ones_are_the_nearest() {
        let check = |kept: Timestamp, expected: Timestamp| {
            assert_eq!(from_sql(to_sql(kept)), expected);
        };
        let usual: Timestamp = "2026-11-22T01:02:03.456789012Z".parse().unwrap();
        check(usual, usual);
        check(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        check(Timestamp::MIN, from_sql(i64::MIN));
        check(Timestamp::MAX, from_sql(i64::MAX));
    }
}
