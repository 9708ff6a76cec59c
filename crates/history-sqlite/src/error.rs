//! Conversion of SQLite's errors.

use history::HistoryError;
use rusqlite::{Error, ErrorCode};

/// Converts an error of SQLite. SQLite's messages name tables and columns, never their contents.
#[expect(clippy::needless_pass_by_value, reason = "the form that map_err wants")]
pub fn from_sqlite(error: Error) -> HistoryError {
    from_sqlite_ref(&error)
}

/// Converts an error of SQLite that is still needed.
pub fn from_sqlite_ref(error: &Error) -> HistoryError {
    match error {
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
        | Error::Utf8Error(..) => damaged("a row has an unknown form"),
        _ => HistoryError::Engine {
            what: error.to_string(),
        },
    }
}

/// The error for inconsistent data in the file.
pub fn damaged(what: &str) -> HistoryError {
    HistoryError::Corrupt {
        what: what.to_owned(),
    }
}
