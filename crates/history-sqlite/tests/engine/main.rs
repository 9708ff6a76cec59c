//! The engine on SQLite, put through what every engine promises and through what only a file can suffer.

mod promises;
