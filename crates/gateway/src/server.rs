//! The outer half: sockets, bodies and streams.
