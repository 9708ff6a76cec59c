//! What the machine does, node by node and as a whole.

mod ends;
mod kinds;
mod limits;
mod net;
mod outside;
mod stored;
