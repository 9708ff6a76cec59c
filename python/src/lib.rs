//! The Python module `ebbtide._native`: the engine of crate `ebbtide`, over bytes.
//!
//! It converts and decides nothing. Every call into the engine releases the interpreter's lock. The stub
//! `python/ebbtide/_native.pyi` documents the module; `cargo xtask python` compares the two.

mod clock;
mod engine;
mod error;
mod told;
mod way;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
mod _native {
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::error::EbbtideError;
    #[pymodule_export]
    use super::told::{
        Conversation, Excerpt, Explanation, Loss, Lost, Original, Pin, Purged, Shortened, Stats,
        Summary,
    };
    #[pymodule_export]
    use super::way::{Digest, Held, View, Work};
    use pyo3::prelude::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
