//! Moments as SQLite keeps them: nanoseconds since 1970.

use jiff::Timestamp;

/// The number of a moment. One that 64 bits cannot hold, before 1677 or after 2262, is kept as the
/// nearest that they can.
pub fn number(moment: Timestamp) -> i64 {
    let nanoseconds = moment.as_nanosecond();
    i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 { i64::MIN } else { i64::MAX })
}

/// The moment of a number.
pub fn moment(number: i64) -> Timestamp {
    // Every 64-bit number lies well within what a timestamp can be.
    Timestamp::from_nanosecond(i128::from(number)).unwrap_or(Timestamp::UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::{moment, number};

    #[test]
    fn moments_come_back_and_the_far_ones_are_the_nearest() {
        let check = |kept: Timestamp, expected: Timestamp| {
            assert_eq!(moment(number(kept)), expected);
        };
        let usual: Timestamp = "2026-11-22T01:02:03.456789012Z".parse().unwrap();
        check(usual, usual);
        check(Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH);
        check(Timestamp::MIN, moment(i64::MIN));
        check(Timestamp::MAX, moment(i64::MAX));
    }
}
