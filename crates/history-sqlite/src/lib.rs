//! The history on SQLite: one file, written ahead, for one machine.
