//! Laws over random conversations, and conversations with the strict provider.

mod case;
mod corpus;
mod laws;
mod strict;
