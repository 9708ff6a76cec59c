//! The tree of everything said: nodes, marks and the store traits, with the in-memory engine.
