//! Real sessions through every code path. Skipped, with a line that says so, where no corpus is found.

mod calibration;
mod locate;
mod sessions;
mod steps;
mod vitality;
