//! Token counts, and the model table.
//!
//! OpenAI's encodings are counted exactly. Claude's current vocabularies are not public, so their
//! counts are estimates: the count of `o200k_base` times a measured factor for the kind of text.
//! Every counter says which of the two it is ([`Exactness`]).
//!
//! | to | use |
//! |---|---|
//! | count for a model by its name | [`counter_for`] |
//! | know how sure a count is | [`ModelCounter::exactness`] |
//! | count a growing conversation again and again | [`CachedCounter`] |
//! | know a model's window, prices, cache rules and abilities | [`ModelTable`] |

mod cached;
mod content;
mod encoding;
mod estimate;
mod model;
mod model_counter;
mod price;
mod table;
mod tokenizer;

pub use cached::CachedCounter;
pub use content::ContentKind;
pub use encoding::Encoding;
pub use estimate::{Exactness, FACTOR_BOUNDS};
pub use model::{CacheRules, Capability, Known, Model, Provider};
pub use model_counter::{ModelCounter, counter_for};
pub use price::{Basis, LongContext, Price, Usd};
pub use table::{CODES, ModelTable, Position, SHIPPED, TableError};
pub use tokenizer::Tokenizer;
