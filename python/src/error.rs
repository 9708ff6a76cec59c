//! Errors of the engine as a Python exception with `code` and `hint`.

use ebbtide::{Coded, EngineError};
use pyo3::exceptions::{PyException, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    ebbtide,
    EbbtideError,
    PyException,
    "An error of the engine. `code` is stable, `hint` says what to do."
);

/// The exception of an error.
pub fn raised(py: Python<'_>, error: &EngineError) -> PyErr {
    let raised = EbbtideError::new_err(error.to_string());
    let value = raised.value(py);
    let code = value.setattr("code", error.code().as_str());
    let hint = value.setattr("hint", error.hint());
    code.and(hint).err().unwrap_or(raised)
}

/// The exception of an argument that names nothing.
pub fn unknown(what: &str, text: &str) -> PyErr {
    PyValueError::new_err(format!("`{text}` is not {what}"))
}
