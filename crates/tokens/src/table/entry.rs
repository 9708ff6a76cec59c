//! One entry of the model table: what it starts from, and what it changes.

use std::ops::Range;
use std::time::Duration;

use context::Tokens;
use toml::{Spanned, Value};

use super::name::Pattern;
use crate::model::{CacheRules, Capability, Known, Model, Provider};
use crate::price::{Basis, LongContext, Price};
use crate::tokenizer::Tokenizer;

/// A model with the names it is found by, and its cache prices as factors, so that an entry that
/// changes only the input price keeps them right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub model: Model,
    pub patterns: Vec<Pattern>,
    pub factors: CacheFactors,
}

/// Cache prices ÷ input price.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct CacheFactors {
    read: f64,
    write: f64,
    write_long: f64,
}

/// A key that cannot be applied.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rejected {
    /// There is no such key.
    Key,
    /// The value must be this.
    Value(String),
}

impl Entry {
    /// The entry that every model starts from: nothing is known, and all of it is replaced by the shipped
    /// table's `[default]`.
    pub fn blank() -> Self {
        Self {
            model: Model {
                name: "unknown".to_owned(),
                known: Known::Unknown,
                provider: Provider::Other,
                tokenizer: Tokenizer::Unknown,
                window: Tokens::new(1),
                max_output: Tokens::new(1),
                price: Price {
                    input: 0.0,
                    output: 0.0,
                    cache_read: 0.0,
                    cache_write: 0.0,
                    cache_write_long: 0.0,
                    long_context: None,
                    basis: Basis::Estimated,
                },
                cache: CacheRules {
                    minimum: Tokens::ZERO,
                    lifetime: Duration::ZERO,
                    lifetime_long: None,
                },
                capabilities: Vec::new(),
            },
            patterns: Vec::new(),
            factors: CacheFactors {
                read: 1.0,
                write: 1.0,
                write_long: 1.0,
            },
        }
    }

    /// Applies one key. `name` and `like` are not among them.
    pub fn set(&mut self, key: &str, value: &Value) -> Result<(), Rejected> {
        let model = &mut self.model;
        match key {
            "match" => {
                let names = strings(value)?;
                self.patterns.extend(names.into_iter().map(Pattern::new));
            }
            "provider" => {
                model.provider = word(value, Provider::ALL, Provider::as_str)?;
            }
            "tokenizer" => {
                model.tokenizer = word(value, Tokenizer::ALL, Tokenizer::as_str)?;
            }
            "window" => model.window = tokens(value)?,
            "max_output" => model.max_output = tokens(value)?,
            "input" => model.price.input = amount(value)?,
            "output" => model.price.output = amount(value)?,
            "basis" => model.price.basis = basis(value)?,
            "long_context" => model.price.long_context = Some(long_context(value)?),
            "cache_read" => self.factors.read = amount(value)?,
            "cache_write" => self.factors.write = amount(value)?,
            "cache_write_long" => self.factors.write_long = amount(value)?,
            "cache_minimum" => model.cache.minimum = Tokens::new(whole(value)?),
            "cache_lifetime" => model.cache.lifetime = Duration::from_secs(whole(value)?),
            "cache_lifetime_long" => {
                let seconds = whole(value)?;
                model.cache.lifetime_long = (seconds > 0).then(|| Duration::from_secs(seconds));
            }
            "capabilities" => model.capabilities = capabilities(value)?,
            _ => return Err(Rejected::Key),
        }
        self.price_the_cache();
        Ok(())
    }

    fn price_the_cache(&mut self) {
        let price = &mut self.model.price;
        price.cache_read = price.input * self.factors.read;
        price.cache_write = price.input * self.factors.write;
        // An entry that lives longer never costs less to write.
        let long = self.factors.write_long.max(self.factors.write);
        price.cache_write_long = price.input * long;
    }
}

/// The string under `key` with its place, where there is one.
pub(super) fn string<'a>(
    pairs: &'a [(Spanned<String>, Spanned<Value>)],
    key: &str,
) -> Option<(Result<&'a str, Rejected>, Range<usize>)> {
    let (_, value) = pairs.iter().find(|(name, _)| name.get_ref() == key)?;
    let text = value
        .get_ref()
        .as_str()
        .filter(|text| !text.is_empty())
        .ok_or_else(|| expected("a text that is not empty"));
    Some((text, value.span()))
}

fn expected(what: &str) -> Rejected {
    Rejected::Value(what.to_owned())
}

fn strings(value: &Value) -> Result<Vec<&str>, Rejected> {
    value
        .as_array()
        .and_then(|items| items.iter().map(Value::as_str).collect())
        .ok_or_else(|| expected("a list of texts"))
}

fn word<T: Copy, const N: usize>(
    value: &Value,
    known: [T; N],
    name: fn(T) -> &'static str,
) -> Result<T, Rejected> {
    let text = value.as_str();
    known
        .into_iter()
        .find(|&each| Some(name(each)) == text)
        .ok_or_else(|| Rejected::Value(format!("one of {}", known.map(name).join(", "))))
}

fn basis(value: &Value) -> Result<Basis, Rejected> {
    word(
        value,
        [Basis::Documented, Basis::Estimated],
        |basis| match basis {
            Basis::Documented => "documented",
            Basis::Estimated => "estimated",
        },
    )
}

/// More than any window or lifetime, and small enough that sums and products stay exact.
const LARGEST: u64 = 1_000_000_000_000;

fn whole(value: &Value) -> Result<u64, Rejected> {
    value
        .as_integer()
        .and_then(|number| u64::try_from(number).ok())
        .filter(|&number| number <= LARGEST)
        .ok_or_else(|| expected("a whole number from 0 to 1,000,000,000,000"))
}

fn tokens(value: &Value) -> Result<Tokens, Rejected> {
    whole(value)
        .ok()
        .filter(|&number| number > 0)
        .map(Tokens::new)
        .ok_or_else(|| expected("a whole number of tokens from 1 to 1,000,000,000,000"))
}

fn amount(value: &Value) -> Result<f64, Rejected> {
    #[expect(
        clippy::cast_precision_loss,
        reason = "a price is far below 2^52, and larger ones are refused below"
    )]
    let number = match value {
        Value::Float(number) => Some(*number),
        Value::Integer(number) => Some(*number as f64),
        _ => None,
    };
    number
        .filter(|number| (0.0..=1e6).contains(number))
        .ok_or_else(|| expected("a number from 0 to 1,000,000"))
}

fn long_context(value: &Value) -> Result<LongContext, Rejected> {
    let wanted = || expected("a table with `above`, `input` and `output`");
    let table = value.as_table().ok_or_else(wanted)?;
    let field = |key| table.get(key).ok_or_else(wanted);
    if table.len() != 3 {
        return Err(wanted());
    }
    Ok(LongContext {
        above: tokens(field("above")?)?,
        input: amount(field("input")?)?,
        output: amount(field("output")?)?,
    })
}

fn capabilities(value: &Value) -> Result<Vec<Capability>, Rejected> {
    let items = value
        .as_array()
        .ok_or_else(|| expected("a list of texts"))?;
    let mut all = items
        .iter()
        .map(|item| {
            word(item, Capability::ALL, Capability::as_str).map_err(|rejected| match rejected {
                Rejected::Value(one) => Rejected::Value(format!("a list, each {one}")),
                Rejected::Key => Rejected::Key,
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    all.sort_unstable();
    all.dedup();
    Ok(all)
}
