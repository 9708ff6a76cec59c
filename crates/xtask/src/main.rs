//! Continuous integration, tidiness checks and generated documents.

fn main() {}
