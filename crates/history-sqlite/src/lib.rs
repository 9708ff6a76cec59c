//! The history on SQLite: one file, written ahead, for one machine.
//!
//! [`Sqlite`] is an [`Engine`](history::Engine) that several processes of one machine may use at once: one
//! writes at a time, readers wait for nobody. The file has to lie on a local disk.
//!
//! **What is kept when.** A transaction is in the write-ahead log when it is acknowledged: the end of the
//! process, in whichever way, loses nothing of it. The log is forced to the disk from time to time, beside the
//! writes and not with each (`synchronous = NORMAL`), so a power cut may lose the last ones. Neither leaves
//! half a transaction or a damaged file.
//!
//! **What it takes.** Each turn once, in a form a few bytes longer than its text, with the number of the
//! turn before it: linear in what was said. The text is readable in the file: only its user may read the
//! file (mode 0600), and the disk should be encrypted where that matters.
//!
//! **What is noticed.** A turn's id is a hash over its content and its place, and is computed anew whenever
//! the turn is read; a mark's likewise. What was changed in the file is
//! [`Corrupt`](history::HistoryError::Corrupt), never taken for what was said.
//!
//! **Later versions.** The file's `user_version` counts the steps of its schema. An earlier schema is
//! brought up to date when it is opened, all or nothing; a later one is refused and left as it is.

mod body;
mod checkpoint;
mod connection;
mod engine;
mod fault;
mod moment;
mod place;
mod purge;
mod rows;
mod schema;

pub use engine::Sqlite;
