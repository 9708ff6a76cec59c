//! What SQLite says, as errors of a history.

use history::HistoryError;
use rusqlite::{Error, ErrorCode};

/// The error of a history for an error of SQLite. SQLite's messages name tables and columns, never what
/// is in them.
#[expect(clippy::needless_pass_by_value, reason = "the form that map_err wants")]
pub fn fault(error: Error) -> HistoryError {
    match &error {
        Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::DiskFull => HistoryError::NoSpace,
            ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked => HistoryError::Busy,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => damaged(&error.to_string()),
            _ => HistoryError::Engine {
                what: error.to_string(),
            },
        },
        Error::FromSqlConversionFailure(..)
        | Error::IntegralValueOutOfRange(..)
        | Error::InvalidColumnType(..)
        | Error::Utf8Error(..) => damaged("a row does not have its form"),
        _ => HistoryError::Engine {
            what: error.to_string(),
        },
    }
}

/// That something in the file does not fit.
pub fn damaged(what: &str) -> HistoryError {
    HistoryError::Corrupt {
        what: what.to_owned(),
    }
}
