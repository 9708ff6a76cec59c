//! The checksums of rows, as the SQL function `row_sum(kind, value, …)`.
//!
//! One definition serves writing, reading, migration and repair. A reader passes the key that it asked for
//! and not the row's own, so a damaged index that leads to another row is noticed too.

use rusqlite::Connection;
use rusqlite::functions::{Context, FunctionFlags};
use rusqlite::types::ValueRef;

/// Takes any number of arguments.
const ANY: i32 = -1;

/// Adds the function to a connection.
pub fn register(connection: &Connection) -> rusqlite::Result<()> {
    // Without direct access only: no schema may call it.
    let flags = FunctionFlags::SQLITE_UTF8
        | FunctionFlags::SQLITE_DETERMINISTIC
        | FunctionFlags::SQLITE_DIRECTONLY;
    connection.create_scalar_function("row_sum", ANY, flags, |context| Ok(sum(context)))
}

/// The first 64 bits of a hash over the types, lengths and bytes of all values.
fn sum(context: &Context<'_>) -> i64 {
    let mut hasher = blake3::Hasher::new();
    for index in 0..context.len() {
        let (form, bytes): (u8, &[u8]) = match context.get_raw(index) {
            ValueRef::Null => (0, &[]),
            ValueRef::Integer(number) => (1, &number.to_le_bytes()),
            ValueRef::Real(number) => (2, &number.to_le_bytes()),
            ValueRef::Text(text) => (3, text),
            ValueRef::Blob(bytes) => (4, bytes),
        };
        hasher.update(&[form]);
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(bytes);
    }
    let mut sum = [0; 8];
    hasher.finalize_xof().fill(&mut sum);
    i64::from_le_bytes(sum)
}

/// The value of `turn_sum.sum`. The turn's id covers its role and its body.
pub const TURN: &str =
    "row_sum('turn', node.id, node.role, node.provenance, node.at, node.tokens, node.text)";

/// The value of `turn_sum.sum` of a gap that a repair left. No id proves its parent.
pub const GAP: &str = "row_sum('gap', node.id, node.parent, node.role, node.provenance, node.at, \
     node.tokens, node.text)";

/// The value of `turn_sum.original`.
pub const ORIGINAL: &str = "row_sum('original', node.id, original.message)";

/// The value of `mark.sum`. The mark's id covers its node, its route and its summary.
pub const MARK: &str = "row_sum('mark', mark.id, mark.made_from, mark.tokens, mark.at)";

/// The value of `edition.sum`.
pub const EDITION: &str =
    "row_sum('edition', node.id, edition.kind, edition.result, edition.at, edition.text)";

/// The value of `pin.sum`, for the conversation `?2`.
pub const PIN: &str = "row_sum('pin', pin.tenant, ?2, pin.id, pin.origin, pin.at, pin.tokens, \
     pin.said_in, pin.text)";

/// The value of `chunk.sum`, for the hash `?2`.
pub const CHUNK: &str = "row_sum('chunk', chunk.tenant, ?2, chunk.summary)";

/// The value of `owned.sum`, for the hash `?2`.
pub const OWNED: &str = "row_sum('owned', owned.tenant, ?2, owned.owner, owned.summary)";

/// The value of `journal.sum`.
pub const JOURNAL: &str = "row_sum('journal', tenant, conversation, text)";

/// The value of `spent.sum`, for a row that is called `it`.
pub const SPENT: &str = "row_sum('spent', it.tenant, it.day, it.model, it.requests, it.micros, \
     it.micros_without)";

/// The value of `conversation.place`: what says which conversation it is and where it stands.
pub const PLACE: &str = "row_sum('place', tenant, id, head)";

/// The value of `conversation.sum`.
pub const CONVERSATION: &str = "row_sum('conversation', tenant, id, parent, head, turns, session, agent, \
     parent_agent, user, model, shown_from, cleared, stripped, mark, compactions, strategy, requests, \
     fresh, cache_read, cache_write, output, micros, micros_without, stalls_avoided, began, seen, \
     title, noted, inherited)";

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::register;

    fn sum(arguments: &str) -> i64 {
        let connection = Connection::open_in_memory().unwrap();
        register(&connection).unwrap();
        let sql = format!("SELECT row_sum({arguments})");
        connection.query_row(&sql, [], |row| row.get(0)).unwrap()
    }

    #[test]
    fn it_tells_values_types_and_places_apart() {
        assert_eq!(sum("'a', 1, NULL"), sum("'a', 1, NULL"));
        let different = [
            "'a', 1, NULL",
            "'a', 1",
            "'a', NULL, 1",
            "'a', '1', NULL",
            "'a', 1.0, NULL",
            "x'61', 1, NULL",
            "'a', 2, NULL",
            "'', 'a'",
            "'a', ''",
        ];
        for (index, one) in different.iter().enumerate() {
            for other in &different[index + 1..] {
                assert_ne!(sum(one), sum(other), "{one} and {other}");
            }
        }
    }
}
