//! A provider that is stricter than the real ones, in process and over HTTP.
