//! Graphs as pictures: DOT for other programs, SVG by itself.
//!
//! Both show every node with what it does, and on every edge the type of its messages. Checked narrowings
//! are nodes, so a picture shows where the compiler put one. Feedback stands out in another colour: in DOT
//! all edges of a cycle, in SVG those that lead back up.

mod dot;
mod layout;
mod look;
mod svg;
#[cfg(test)]
mod tests;

pub use dot::dot;
pub use svg::svg;
