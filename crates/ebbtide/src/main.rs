//! The ebbtide command line.

fn main() {}
