//! The dashboard in a real browser: what it shows, whether it fits and can be read, whether it refreshes
//! itself, and that its console stays empty. Skipped, with a printed line, where there is no Chromium.

#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    reason = "a test stops at the first surprise; clippy knows test functions, not what they call"
)]

mod browser;
mod harness;
mod pages;
mod through;
