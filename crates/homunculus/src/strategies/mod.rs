//! The built-in strategies, one a file.
//!
//! They only say when and with what; everything they order goes through the machine's guards.

mod clear_tool_results;
mod keep_last;
mod prepared;
mod stop_the_world;
mod truncate;

pub use clear_tool_results::ClearToolResults;
pub use keep_last::KeepLast;
pub use prepared::Prepared;
pub use stop_the_world::StopTheWorld;
pub use truncate::Truncate;
