//! Tests of the machine, node by node and as a whole.

mod ends;
mod kinds;
mod limits;
mod net;
mod outside;
mod stored;
