//! plumb: a small typed language for agent networks and memory strategies, with its checker and machine.
//!
//! Objects are typed channels, morphisms are processes, composition is sequential (`;`) or parallel
//! (`*`). Everything is checked before anything runs:
//!
//! ```text
//!  text ──parse──► syntax::Program ──check──► graph::Graph ──compile──► machine
//!            │                         │
//!            └── diagnostics ──────────┘   values, several a run
//! ```
//!
//! Nothing here reads a file, a clock or a socket: modules are asked for through a trait, and what a
//! process outside does is an effect that the driver carries out and answers.

pub mod check;
pub mod commands;
pub mod diagnostic;
mod expr;
pub mod graph;
pub mod literate;
pub mod machine;
pub mod modules;
mod names;
mod nearest;
pub mod picture;
pub(crate) mod session;
pub mod source;
pub mod span;
pub mod syntax;
pub mod types;
pub mod value;
