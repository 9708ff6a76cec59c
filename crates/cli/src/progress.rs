//! The progress bar of a replay, on standard error if that is a terminal.

use std::path::Path;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use lab::Progress as Step;

use crate::environment::Progress;

/// A bar that counts files and names the strategy at work on the current one.
pub struct ReplayProgress(ProgressBar);

impl ReplayProgress {
    pub fn new(progress: Progress, files: usize) -> Self {
        let target = match progress {
            Progress::Drawn => ProgressDrawTarget::stderr(),
            Progress::Silent => ProgressDrawTarget::hidden(),
        };
        let bar = ProgressBar::with_draw_target(Some(files as u64), target);
        let style = ProgressStyle::with_template("{bar:20} {pos}/{len} {wide_msg}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self(bar)
    }

    /// Starts the next file.
    pub fn file(&self, path: &Path) {
        if !self.0.message().is_empty() {
            self.0.inc(1);
        }
        let name = path.file_name().unwrap_or(path.as_os_str());
        self.0.set_prefix(name.to_string_lossy().into_owned());
        self.0
            .set_message(format!("reading {}", name.to_string_lossy()));
    }

    /// Shows how far a strategy is with the current file.
    pub fn step(&self, step: &Step) {
        let percent = (step.done * 100).checked_div(step.of).unwrap_or(100);
        let name = self.0.prefix();
        self.0
            .set_message(format!("{name}: {} {percent} %", step.strategy));
    }

    /// Removes the bar.
    pub fn finish(&self) {
        self.0.finish_and_clear();
    }
}
