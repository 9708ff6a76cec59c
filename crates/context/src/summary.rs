//! The summary: its template, its validator, its marker, the never-grow check.
