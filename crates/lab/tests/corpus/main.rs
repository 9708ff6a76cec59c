//! Real sessions through every code path. Skipped, with a line that says so, where no corpus is found.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise; clippy knows test functions, not what they call"
)]

mod adaptive;
mod drops;
mod locate;
mod recall;
mod receipt;
mod regret;
mod replay;
mod sessions;
mod shrink;
mod steps;
mod summaries;
mod survival;
mod vitality;
mod vulnerable;
mod wall;
