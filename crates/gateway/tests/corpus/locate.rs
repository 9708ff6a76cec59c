//! Finds the corpus of real sessions: `EBBTIDE_CORPUS`, else `../shared/corpus` beside the checkout.

use std::path::PathBuf;

/// The corpus folder, or `None` after printing why the test is skipped.
#[expect(
    clippy::disallowed_methods,
    clippy::print_stderr,
    reason = "tests find the corpus by its variable and say so where there is none"
)]
pub fn corpus() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpus");
    let folder =
        std::env::var_os("EBBTIDE_CORPUS").map_or_else(|| PathBuf::from(beside), PathBuf::from);
    if folder.is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no corpus (set EBBTIDE_CORPUS or put it at ../shared/corpus)");
    None
}
