//! Token counts as providers report them.

use context::{Consumption, Tokens};

use super::json::tree::Value;

/// Input tokens written to the cache, by lifetime.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheWrites {
    /// For five minutes (Anthropic).
    pub minutes_5: Tokens,
    /// For half an hour (OpenAI).
    pub minutes_30: Tokens,
    /// For an hour (Anthropic).
    pub hour_1: Tokens,
    /// For half a day (OpenAI).
    pub hours_12: Tokens,
}

impl CacheWrites {
    /// Those for the longer of a provider's two lifetimes.
    #[must_use]
    pub fn long(&self) -> Tokens {
        self.hour_1 + self.hours_12
    }
}

/// Token counts. The four sorts do not overlap, whatever the dialect: OpenAI's `input_tokens`
/// include what was cached, so `input` is what remains of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Input that was neither read from nor written to the cache.
    pub input: Tokens,
    /// Output, reasoning included.
    pub output: Tokens,
    /// Input read from the cache.
    pub cache_read: Tokens,
    /// Input written to the cache.
    pub cache_write: Tokens,
    /// The parts of `cache_write`, where the provider names them.
    pub writes: CacheWrites,
    /// The part of `output` that was reasoning, as far as the provider says.
    pub reasoning: Tokens,
}

impl Counts {
    /// All input: fresh, read and written.
    #[must_use]
    pub fn all_input(&self) -> Tokens {
        self.input + self.cache_read + self.cache_write
    }

    /// The size of the context after this answer: all input and the output. Anthropic compares it
    /// with a compaction threshold.
    #[must_use]
    pub fn context(&self) -> Tokens {
        self.all_input() + self.output
    }

    /// The same tokens by what they cost. Where the provider does not name the lifetime of what was written, that is
    /// the normal one. Where it names more long writes than writes in all, as if it had left out the total, all the
    /// long ones are paid for: the input is larger than [`Self::all_input`] then.
    #[must_use]
    pub fn consumption(&self) -> Consumption {
        let long = self.writes.long();
        Consumption {
            fresh: self.input,
            cache_read: self.cache_read,
            cache_write: self.cache_write.saturating_sub(long),
            cache_write_long: long,
            output: self.output,
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            input: self.input + other.input,
            output: self.output + other.output,
            cache_read: self.cache_read + other.cache_read,
            cache_write: self.cache_write + other.cache_write,
            writes: CacheWrites {
                minutes_5: self.writes.minutes_5 + other.writes.minutes_5,
                minutes_30: self.writes.minutes_30 + other.writes.minutes_30,
                hour_1: self.writes.hour_1 + other.writes.hour_1,
                hours_12: self.writes.hours_12 + other.writes.hours_12,
            },
            reasoning: self.reasoning + other.reasoning,
        }
    }
}

/// One pass of the model within an answer (Anthropic's `usage.iterations`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Iteration {
    /// The kind of pass: `message`, `compaction`, or another word of the provider.
    pub kind: String,
    /// The tokens that the pass took.
    pub counts: Counts,
}

/// The usage of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The counts of the answer itself. Anthropic leaves compaction out of them.
    pub counts: Counts,
    /// The passes, where the provider lists them.
    pub iterations: Vec<Iteration>,
}

impl Usage {
    /// The counts that are paid for: those of the answer, and those of the compactions that Anthropic
    /// leaves out of them.
    #[must_use]
    pub fn billed(&self) -> Counts {
        self.iterations
            .iter()
            .filter(|pass| pass.kind == "compaction")
            .fold(self.counts, |sum, pass| sum.plus(&pass.counts))
    }

    /// Reads a `usage` object of any of the dialects; the names in it do not collide.
    pub(crate) fn read(usage: Value<'_>) -> Self {
        let iterations = usage.get("iterations").into_iter();
        Self {
            counts: counts(usage),
            iterations: iterations
                .flat_map(Value::elements)
                .map(|pass| Iteration {
                    kind: pass.get_text("type").unwrap_or_default().into_owned(),
                    counts: counts(pass),
                })
                .collect(),
        }
    }
}

fn counts(usage: Value<'_>) -> Counts {
    let given = number(Some(usage), "input_tokens") + number(Some(usage), "prompt_tokens");
    let output = number(Some(usage), "output_tokens") + number(Some(usage), "completion_tokens");
    let output_details = details(usage, "output_tokens_details", "completion_tokens_details");
    let reasoning =
        number(output_details, "reasoning_tokens") + number(output_details, "thinking_tokens");
    let input_details = details(usage, "input_tokens_details", "prompt_tokens_details");
    let by_life = usage.get("cache_creation");
    let own = input_details.and_then(|details| details.get("cache_write_tokens_details"));
    let writes = CacheWrites {
        minutes_5: number(by_life, "ephemeral_5m_input_tokens"),
        minutes_30: number(own, "ttl_30m_tokens"),
        hour_1: number(by_life, "ephemeral_1h_input_tokens"),
        hours_12: number(own, "ttl_12h_tokens"),
    };
    let inside = number(input_details, "cached_tokens");
    let written = number(input_details, "cache_write_tokens");
    Counts {
        input: given.saturating_sub(inside + written),
        output,
        cache_read: number(Some(usage), "cache_read_input_tokens") + inside,
        cache_write: number(Some(usage), "cache_creation_input_tokens") + written,
        writes,
        reasoning,
    }
}

fn details<'t>(usage: Value<'t>, one: &str, other: &str) -> Option<Value<'t>> {
    usage.get(one).or_else(|| usage.get(other))
}

fn number(object: Option<Value<'_>>, key: &str) -> Tokens {
    object
        .and_then(|object| object.get(key))
        .and_then(Value::whole)
        .map_or(Tokens::ZERO, Tokens::new)
}

#[cfg(test)]
mod tests {
    use super::{CacheWrites, Counts, Usage};
    use crate::api::json::tree::Tree;
    use context::Tokens;

    fn check(json: &str, expected: Counts) -> Usage {
        let tree = Tree::parse(json, 16).unwrap();
        let usage = Usage::read(tree.root());
        assert_eq!(usage.counts, expected, "{json}");
        usage
    }

    fn counts(input: u64, output: u64, cache_read: u64, cache_write: u64) -> Counts {
        Counts {
            input: Tokens::new(input),
            output: Tokens::new(output),
            cache_read: Tokens::new(cache_read),
            cache_write: Tokens::new(cache_write),
            ..Counts::default()
        }
    }

    #[test]
    fn anthropic() {
        let expected = Counts {
            writes: CacheWrites {
                minutes_5: Tokens::new(10),
                hour_1: Tokens::new(20),
                ..CacheWrites::default()
            },
            reasoning: Tokens::new(3),
            ..counts(5, 7, 100, 30)
        };
        let usage = check(
            r#"{"input_tokens":5,"output_tokens":7,"cache_read_input_tokens":100,
                "cache_creation_input_tokens":30,"output_tokens_details":{"thinking_tokens":3},
                "cache_creation":{"ephemeral_5m_input_tokens":10,"ephemeral_1h_input_tokens":20}}"#,
            expected,
        );
        assert_eq!(usage.counts.context(), Tokens::new(142));
        let used = usage.counts.consumption();
        assert_eq!(used.cache_write, Tokens::new(10));
        assert_eq!(used.cache_write_long, Tokens::new(20));
        assert_eq!(used.input(), usage.counts.all_input());
    }

    #[test]
    fn long_writes_beyond_the_total_are_paid_for() {
        let expected = Counts {
            writes: CacheWrites {
                hour_1: Tokens::new(20),
                ..CacheWrites::default()
            },
            ..counts(5, 7, 0, 0)
        };
        let usage = check(
            r#"{"input_tokens":5,"output_tokens":7,"cache_creation":{"ephemeral_1h_input_tokens":20}}"#,
            expected,
        );
        let used = usage.counts.consumption();
        assert_eq!(used.cache_write, Tokens::ZERO);
        assert_eq!(used.cache_write_long, Tokens::new(20));
        assert_eq!(usage.counts.all_input(), Tokens::new(5));
        assert_eq!(used.input(), Tokens::new(25));
    }

    #[test]
    fn compaction_is_billed_beside_the_answer() {
        let usage = check(
            r#"{"input_tokens":0,"output_tokens":0,"iterations":[
                {"type":"compaction","input_tokens":144,"output_tokens":276},
                {"type":"message","input_tokens":9,"output_tokens":9}]}"#,
            counts(0, 0, 0, 0),
        );
        assert_eq!(usage.iterations.len(), 2);
        assert_eq!(usage.billed(), counts(144, 276, 0, 0));
    }

    #[test]
    fn openai_counts_cached_input_within_the_input() {
        check(
            r#"{"prompt_tokens":100,"completion_tokens":9,"total_tokens":109,
                "prompt_tokens_details":{"cached_tokens":60},
                "completion_tokens_details":{"reasoning_tokens":4}}"#,
            Counts {
                reasoning: Tokens::new(4),
                ..counts(40, 9, 60, 0)
            },
        );
        check(
            r#"{"input_tokens":100,"output_tokens":9,"input_tokens_details":{"cached_tokens":60,
                "cache_write_tokens":30,"cache_write_tokens_details":{"ttl_30m_tokens":30}}}"#,
            Counts {
                writes: CacheWrites {
                    minutes_30: Tokens::new(30),
                    ..CacheWrites::default()
                },
                ..counts(10, 9, 60, 30)
            },
        );
        check(
            r#"{"input_tokens":null,"output_tokens":-1}"#,
            Counts::default(),
        );
        check("null", Counts::default());
    }
}
