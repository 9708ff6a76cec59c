//! That the network of a session does what its protocol says.

mod evaluator;
mod generate;
mod laws;
mod machines;
mod mistakes;
mod traces;
