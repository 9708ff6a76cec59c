//! The progress bar of a replay, on standard error if that is a terminal.

use std::cell::Cell;
use std::path::PathBuf;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress as Step;

use crate::environment::Progress;

/// A bar that counts the bytes of the files, tells the time left, and names the session and the strategy at work
/// on it.
pub struct ReplayProgress {
    bar: ProgressBar,
    /// The bytes of each file.
    sizes: Vec<u64>,
    /// The files that were begun.
    begun: Cell<usize>,
}

impl ReplayProgress {
    pub fn new(progress: Progress, files: &[PathBuf]) -> Self {
        let target = match progress {
            Progress::Drawn => ProgressDrawTarget::stderr(),
            Progress::Silent => ProgressDrawTarget::hidden(),
        };
        let size = |path: &PathBuf| std::fs::metadata(path).map_or(0, |file| file.len());
        let sizes: Vec<u64> = files.iter().map(size).collect();
        let bar = ProgressBar::with_draw_target(Some(sizes.iter().sum()), target);
        let template = match files.len() {
            1 => "{bar:20} {wide_msg}",
            _ => "{bar:20} {prefix}, {eta} left · {wide_msg}",
        };
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self {
            bar,
            sizes,
            begun: Cell::new(0),
        }
    }

    /// Starts the next file.
    pub fn file(&self) {
        let begun = self.begun.get();
        self.bar.set_position(self.sizes.iter().take(begun).sum());
        self.begun.set(begun + 1);
        self.bar
            .set_prefix(format!("{} of {}", begun + 1, self.sizes.len()));
        self.bar.set_message("reading");
    }

    /// Shows how far a strategy is with a session of the current file.
    pub fn step(&self, session: &str, step: &Step) {
        let percent = (step.done * 100).checked_div(step.of).unwrap_or(100);
        self.bar
            .set_message(format!("{} {percent} % · {session}", step.strategy));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
