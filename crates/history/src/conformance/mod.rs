//! What every engine promises, as checks that any engine can be put through.
//!
//! An engine's tests run all [`CHECKS`] on engines that hold nothing yet:
//!
//! ```
//! use history::{MemoryEngine, conformance};
//!
//! let broken = conformance::run(&|limits| Box::new(MemoryEngine::new([7; 32], limits)));
//! assert_eq!(broken, []);
//! ```

mod conversations;
mod editions;
mod engine;
mod limits;
mod marks;
mod pins;
mod purge;
pub mod sample;
mod tenants;
mod tree;

use std::fmt;

use crate::engine::{Engine, Store};
use crate::error::HistoryError;
use crate::limits::Limits;
use crate::tenant::Tenant;

/// Makes an engine that holds nothing yet.
pub type Make<'a> = &'a dyn Fn(Limits) -> Box<dyn Engine>;

/// One promise.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// What is promised, as a sentence.
    pub promise: &'static str,
    /// Puts an engine to the test.
    pub run: fn(Make<'_>) -> Result<(), Broken>,
}

/// A promise that was not kept: what was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken(String);

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Broken {}

impl From<HistoryError> for Broken {
    fn from(error: HistoryError) -> Self {
        Self(format!("the engine failed: {error}"))
    }
}

/// All promises, in groups.
pub const CHECKS: &[&[Check]] = &[
    tree::CHECKS,
    marks::CHECKS,
    conversations::CHECKS,
    pins::CHECKS,
    editions::CHECKS,
    limits::CHECKS,
    engine::CHECKS,
    tenants::CHECKS,
    purge::CHECKS,
];

/// Runs all checks, each on engines of its own; gives the promises that were broken, and how.
pub fn run(make: Make<'_>) -> Vec<(&'static str, Broken)> {
    let checks = CHECKS.iter().copied().flatten();
    checks
        .filter_map(|check| Some((check.promise, (check.run)(make).err()?)))
        .collect()
}

/// The tenant of checks that need only one.
const ONE: Tenant = Tenant::from_bytes([1; 16]);

/// Another tenant.
const OTHER: Tenant = Tenant::from_bytes([2; 16]);

fn same<T: PartialEq + fmt::Debug>(what: &str, found: &T, expected: &T) -> Result<(), Broken> {
    if found == expected {
        return Ok(());
    }
    Err(Broken(format!(
        "{what}: expected {expected:?}, found {found:?}"
    )))
}

fn write<T>(
    engine: &dyn Engine,
    tenant: Tenant,
    mut work: impl FnMut(&mut dyn Store) -> Result<T, HistoryError>,
) -> Result<T, Broken> {
    let mut out = None;
    engine.write(tenant, &mut |store| {
        out = Some(work(store)?);
        Ok(())
    })?;
    out.ok_or_else(|| Broken("the work was not done".to_owned()))
}

fn read<T>(
    engine: &dyn Engine,
    tenant: Tenant,
    mut work: impl FnMut(&dyn Store) -> Result<T, HistoryError>,
) -> Result<T, Broken> {
    let mut out = None;
    engine.read(tenant, &mut |store| {
        out = Some(work(store)?);
        Ok(())
    })?;
    out.ok_or_else(|| Broken("the work was not done".to_owned()))
}

#[cfg(test)]
mod tests {
    use super::run;
    use crate::memory::MemoryEngine;

    #[test]
    fn the_engine_in_memory_keeps_every_promise() {
        let broken = run(&|limits| Box::new(MemoryEngine::new([7; 32], limits)));
        assert_eq!(broken, []);
    }
}
