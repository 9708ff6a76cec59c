//! The conformance suite: what every engine guarantees, as checks that run on any engine.
//!
//! An engine's tests run all [`CHECKS`] on empty engines:
//!
//! ```
//! use history::{MemoryEngine, conformance};
//!
//! let broken = conformance::run(&|limits| Box::new(MemoryEngine::new([7; 32], limits)));
//! assert_eq!(broken, []);
//! ```

mod account;
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

/// Creates an empty engine.
pub type Make<'a> = &'a dyn Fn(Limits) -> Box<dyn Engine>;

/// A guarantee, as a sentence, and the function that checks an engine for it.
#[derive(Clone, Copy, Debug)]
pub struct Check(pub &'static str, pub fn(&dyn Engine) -> Result<(), Broken>);

/// A violated guarantee: what the check expected and what it found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Broken(String);

impl From<HistoryError> for Broken {
    fn from(error: HistoryError) -> Self {
        Self(format!("the engine failed: {error}"))
    }
}

/// All checks by topic, with the limits of the engines they need.
pub const CHECKS: &[(Limits, &[Check])] = &[
    (Limits::NONE, tree::CHECKS),
    (Limits::NONE, marks::CHECKS),
    (Limits::NONE, conversations::CHECKS),
    (Limits::NONE, account::CHECKS),
    (Limits::NONE, pins::CHECKS),
    (Limits::NONE, editions::CHECKS),
    (limits::SMALL, limits::CHECKS),
    (Limits::NONE, engine::CHECKS),
    (Limits::NONE, tenants::CHECKS),
    (Limits::NONE, purge::CHECKS),
];

/// Runs each check on its own engine. Returns the violated guarantees with the reason.
pub fn run(make: Make<'_>) -> Vec<(&'static str, Broken)> {
    let checks = CHECKS
        .iter()
        .flat_map(|&(limits, checks)| checks.iter().map(move |check| (limits, check)));
    checks
        .filter_map(|(limits, Check(guarantee, check))| {
            Some((*guarantee, check(&*make(limits)).err()?))
        })
        .collect()
}

/// The tenant of checks that need one.
const ONE: Tenant = Tenant::from_bytes([1; 16]);

/// A second tenant.
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
    fn the_in_memory_engine_passes_every_check() {
        let broken = run(&|limits| Box::new(MemoryEngine::new([7; 32], limits)));
        assert_eq!(broken, []);
    }
}
