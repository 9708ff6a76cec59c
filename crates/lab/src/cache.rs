//! A provider's prefix cache for one conversation.
//!
//! The rules are Anthropic's, which are the strictest of those documented: a request writes the prefix
//! up to each of its breakpoints; a later request reads the longest live prefix that ends at most 20
//! blocks before one of its own breakpoints; reading renews the lifetime; prefixes below a minimum are
//! silently not cached; a changed prefix is another prefix.

use context::Tokens;
use jiff::{SignedDuration, Timestamp};

/// The number of blocks before a breakpoint that are searched for a cached prefix.
const LOOK_BACK: usize = 20;

/// A place in a request up to which the prefix is cached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Breakpoint {
    /// The tokens before it.
    pub tokens: Tokens,
    /// The blocks before it; a turn is one.
    pub blocks: usize,
}

/// One request as the cache sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The tokens at its beginning that are the same as in the request before.
    pub same: Tokens,
    /// All its tokens.
    pub total: Tokens,
    /// Its breakpoints, ascending.
    pub breakpoints: Vec<Breakpoint>,
}

/// The billing of a request's input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Read from the cache.
    pub read: Tokens,
    /// Written to the cache.
    pub written: Tokens,
    /// Neither.
    pub fresh: Tokens,
}

/// The prefixes that the provider holds of one conversation.
#[derive(Clone, Debug)]
pub struct PrefixCache {
    minimum: Tokens,
    ttl: SignedDuration,
    held: Vec<Held>,
}

#[derive(Clone, Copy, Debug)]
struct Held {
    end: Breakpoint,
    until: Timestamp,
}

impl PrefixCache {
    /// An empty cache with a provider's minimum and lifetime.
    #[must_use]
    pub const fn new(minimum: Tokens, ttl: SignedDuration) -> Self {
        Self {
            minimum,
            ttl,
            held: Vec::new(),
        }
    }

    /// Sends a request: reads the longest live prefix it finds and writes the rest up to the last
    /// breakpoint.
    pub fn send(&mut self, request: &Request, now: Timestamp) -> Charge {
        // An entry that a change has cut off is another prefix now and is not met again.
        self.held
            .retain(|held| held.end.tokens <= request.same && held.until > now);
        let found = self
            .held
            .iter()
            .map(|held| held.end)
            .filter(|end| {
                request.breakpoints.iter().any(|breakpoint| {
                    end.blocks <= breakpoint.blocks && breakpoint.blocks - end.blocks <= LOOK_BACK
                })
            })
            .max();
        let read = found.map_or(Tokens::ZERO, |end| end.tokens);
        let until = now.checked_add(self.ttl).unwrap_or(Timestamp::MAX);
        for held in &mut self.held {
            if held.end.tokens <= read {
                held.until = until;
            }
        }
        let mut written = read;
        for &end in &request.breakpoints {
            if end.tokens >= self.minimum && end.tokens > read {
                written = written.max(end.tokens);
                self.hold(Held { end, until });
            }
        }
        Charge {
            read,
            written: written.saturating_sub(read),
            fresh: request.total.saturating_sub(written),
        }
    }

    /// Reads the first `tokens` of the request before again, for a preparation: what of them is held
    /// is read from the cache and stays alive, the rest is fresh.
    pub fn read_again(&mut self, tokens: Tokens, now: Timestamp) -> Charge {
        self.held.retain(|held| held.until > now);
        let until = now.checked_add(self.ttl).unwrap_or(Timestamp::MAX);
        let longest = self.held.iter().map(|held| held.end.tokens).max();
        let read = longest.unwrap_or_default().min(tokens);
        for held in &mut self.held {
            held.until = until;
        }
        Charge {
            read,
            written: Tokens::ZERO,
            fresh: tokens.saturating_sub(read),
        }
    }

    fn hold(&mut self, held: Held) {
        self.held.retain(|old| old.end != held.end);
        self.held.push(held);
        // A request has at most four breakpoints; older ends beyond the look-back are of no use.
        if self.held.len() > 2 * LOOK_BACK {
            self.held.remove(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use context::Tokens;
    use jiff::{SignedDuration, Timestamp};

    use super::{Breakpoint, PrefixCache, Request};

    fn cache() -> PrefixCache {
        PrefixCache::new(Tokens::new(1_000), SignedDuration::from_mins(5))
    }

    /// Sends a request and gives read, written and fresh.
    fn send(
        cache: &mut PrefixCache,
        second: i64,
        same: u64,
        total: u64,
        ends: &[(u64, usize)],
    ) -> [u64; 3] {
        let request = Request {
            same: Tokens::new(same),
            total: Tokens::new(total),
            breakpoints: ends
                .iter()
                .map(|&(tokens, blocks)| Breakpoint {
                    tokens: Tokens::new(tokens),
                    blocks,
                })
                .collect(),
        };
        let charge = cache.send(&request, Timestamp::from_second(second).unwrap());
        [charge.read, charge.written, charge.fresh].map(Tokens::get)
    }

    #[test]
    fn what_was_written_is_read_until_it_expires() {
        let mut cache = cache();
        assert_eq!(send(&mut cache, 0, 0, 5_000, &[(5_000, 4)]), [0, 5_000, 0]);
        assert_eq!(
            send(&mut cache, 9, 5_000, 7_000, &[(7_000, 6)]),
            [5_000, 2_000, 0]
        );
        assert_eq!(
            send(&mut cache, 290, 7_000, 8_000, &[(8_000, 8)]),
            [7_000, 1_000, 0]
        );
        assert_eq!(
            send(&mut cache, 1_000, 8_000, 9_000, &[(9_000, 9)]),
            [0, 9_000, 0],
            "nothing for more than five minutes"
        );
    }

    #[test]
    fn a_change_keeps_what_stands_before_it() {
        let mut cache = cache();
        let ends = [(2_000, 1), (9_000, 9)];
        assert_eq!(send(&mut cache, 0, 0, 9_000, &ends), [0, 9_000, 0]);
        let ends = [(2_000, 1), (4_000, 5)];
        assert_eq!(send(&mut cache, 5, 2_500, 4_000, &ends), [2_000, 2_000, 0]);
    }

    #[test]
    fn short_prefixes_and_far_ones_are_not_read() {
        let mut cache = cache();
        assert_eq!(send(&mut cache, 0, 0, 900, &[(900, 2)]), [0, 0, 900]);
        assert_eq!(
            send(&mut cache, 1, 900, 1_500, &[(1_500, 4)]),
            [0, 1_500, 0]
        );
        assert_eq!(
            send(&mut cache, 2, 1_500, 9_000, &[(9_000, 25)]),
            [0, 9_000, 0]
        );
    }

    #[test]
    fn a_preparation_reads_the_cache_and_keeps_it_alive() {
        let mut cache = cache();
        send(&mut cache, 0, 0, 5_000, &[(5_000, 4)]);
        let charge = cache.read_again(Tokens::new(4_000), Timestamp::from_second(200).unwrap());
        assert_eq!((charge.read.get(), charge.fresh.get()), (4_000, 0));
        assert_eq!(
            send(&mut cache, 450, 5_000, 6_000, &[(6_000, 6)]),
            [5_000, 1_000, 0]
        );
    }
}
