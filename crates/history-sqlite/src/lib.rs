//! A history engine on one SQLite file with a write-ahead log, for one machine.
//!
//! Several processes on one machine may open the same [`Sqlite`] engine: one writes at a time, and readers
//! never wait. The file must be on a local disk.
//!
//! **Durability.** An acknowledged transaction is in the write-ahead log, so the end of the process, however
//! it ends, loses nothing. The log is synced to the disk from time to time and not with each write
//! (`synchronous = NORMAL`), so a power cut may lose the latest transactions. Neither leaves a partial
//! transaction or a damaged file.
//!
//! **Size.** Each turn is stored once, in a form a few bytes longer than its text, with the row number of its
//! parent: linear in the length of the conversation. The file holds the text in the clear. Only its owner may
//! read it (mode 0600); encrypt the disk where that matters.
//!
//! **Integrity.** A turn's id is a hash over its content and its place, recomputed at every read; so is a
//! mark's. All other columns that are read have a checksum. A damaged turn is a [gap](context::Turn::gap)
//! between the others; any other damaged row is left out. Both are counted ([`State`](history::State)). Where
//! the place of a turn is lost with its content, it and the turns after it are
//! [`Corrupt`](history::HistoryError::Corrupt). [`Sqlite::check`] looks at every row, and [`repair`] copies what
//! is intact.
//!
//! **Migrations.** The file's `user_version` counts the steps of its schema. Opening a file with an older
//! schema migrates it in one transaction; a newer schema is refused and the file is left unchanged.

mod care;
mod checkpoint;
mod claim;
mod connection;
mod damage;
mod encoding;
mod engine;
mod error;
mod file;
mod gap;
mod mend;
mod purge;
mod repair;
mod rows;
mod schema;
mod sum;
mod timestamp;

pub use care::Checked;
pub use claim::Claim;
pub use engine::Sqlite;
pub use repair::{Repaired, repair};
