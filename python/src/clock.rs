//! Seconds since 1970, as Python has them.

use ebbtide::Timestamp;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::error::unknown;

/// The time of a call: the given one, or the clock's.
pub fn time(seconds: Option<f64>) -> PyResult<Timestamp> {
    let Some(seconds) = seconds else {
        #[expect(
            clippy::disallowed_methods,
            reason = "the caller of this module leaves the time to its clock"
        )]
        return Ok(Timestamp::now());
    };
    if !seconds.is_finite() {
        return Err(unknown("a time in seconds", &seconds.to_string()));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "what is out of range is refused"
    )]
    let nanoseconds = (seconds * 1e9) as i128;
    Timestamp::from_nanosecond(nanoseconds)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

/// A time in seconds.
#[expect(clippy::cast_precision_loss, reason = "microseconds survive")]
pub fn seconds(time: Timestamp) -> f64 {
    time.as_microsecond() as f64 / 1e6
}
