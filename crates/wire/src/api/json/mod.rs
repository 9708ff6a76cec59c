//! JSON by byte ranges: values stay in the text, and nothing is copied that is
//! not asked for. `serde_json` is not used for reading, because it neither keeps spans, duplicate
//! keys and number spelling in one pass, nor skips a value without a limit on its stack.

pub(crate) mod members;
pub(crate) mod scan;
pub(crate) mod tree;
pub(crate) mod unescape;
pub(crate) mod write;
