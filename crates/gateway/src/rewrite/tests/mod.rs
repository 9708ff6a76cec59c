//! Laws over random conversations, and conversations with the strict provider.

mod laws;
mod strict;
