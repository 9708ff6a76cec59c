//! Needed-later recall: how much of what the agent goes on to use is still there after a compaction.
//!
//! A session is cut where a compaction falls. The part before the tail is compacted. An identifier is
//! *needed later* if
//!
//! - the assistant writes it, in text or in the arguments of a tool call, in the next 40 messages
//!   after the cut (reasoning does not count: it is not shown to anybody and is not an act),
//! - it stands in the compacted part,
//! - and before that first use it could not be learnt from the tail, nor from a user message or tool
//!   result after the cut.
//!
//! It is *named* if it stands whole in what the model would have seen instead of the compacted part,
//! and *in context* if it stands there within 80 characters of at least three of the words that stood
//! within 80 characters of it in one place of the original. Words are runs of letters and digits,
//! case folded, of three characters and more; the pieces of the identifier itself are no context.

mod evaluate;
mod metric;

pub use evaluate::{CutKind, EvalOptions, RecallRow, Strategy, evaluate};
pub use metric::{Cut, Needed, Reading, Rules, Score, Words, needed_in, needed_later, score};
