//! The prompt cache: the tokens that a request reads from it and writes to it.
//!
//! Anthropic's rules: an entry exists where an earlier request had a breakpoint. From each of its own
//! breakpoints a request looks back over twenty positions, the breakpoint's own counted, for the
//! longest entry; a run of `tool_use` blocks is one position, a run of `tool_result` blocks too. What
//! lies between the entry that was found and the last breakpoint is written, each part for the
//! lifetime of the breakpoint that ends it. A prefix below the model's minimum is not cached. Use
//! renews an entry. An entry is readable once the answer that wrote it has begun.
//!
//! OpenAI's: a prefix is cached by itself, in steps of 128 tokens from 1,024 on. Here an entry ends
//! with an item; a prefix that differs inside an item matches up to the item before.

use std::collections::HashMap;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use tokens::CacheRules;

use crate::seal::{Print, print};

/// The number of positions that a breakpoint looks back, its own included.
pub(crate) const LOOK_BACK: u32 = 20;

/// The lifetime of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Life {
    /// Five minutes (Anthropic), thirty (OpenAI).
    Short,
    /// An hour (Anthropic), twelve (OpenAI).
    Long,
}

/// A piece of the prompt, in the order in which the model reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Segment {
    pub print: Print,
    pub tokens: u64,
    /// The breakpoint at its end.
    pub mark: Option<Life>,
    /// `true` if the piece shares the position of the one before it.
    pub joins: bool,
}

/// The prefix that ends with a segment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefix {
    pub key: Print,
    pub tokens: u64,
    position: u32,
    mark: Option<Life>,
}

impl Prefix {
    /// Returns `true` if a breakpoint ends it.
    pub const fn is_marked(&self) -> bool {
        self.mark.is_some()
    }
}

/// All prefixes of a prompt, the shortest first. `scope` keeps models apart.
pub(crate) fn prefixes(scope: &[u8], segments: &[Segment]) -> Vec<Prefix> {
    let mut key = print(&[scope]);
    let (mut tokens, mut position) = (0, 0);
    let mut out = Vec::with_capacity(segments.len());
    for segment in segments {
        key = print(&[&key, &segment.print]);
        tokens += segment.tokens;
        position += u32::from(!segment.joins);
        out.push(Prefix {
            key,
            tokens,
            position,
            mark: segment.mark,
        });
    }
    out
}

/// Tokens that a request read from the cache and wrote to it. The four do not overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Share {
    pub fresh: u64,
    pub read: u64,
    pub write: u64,
    pub write_long: u64,
}

impl Share {
    /// All input.
    pub const fn input(&self) -> u64 {
        self.fresh + self.read + self.write + self.write_long
    }
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    life: SignedDuration,
    until: Timestamp,
    readable: Timestamp,
}

/// The times at which a request came and its answer begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    pub now: Timestamp,
    pub begins: Timestamp,
}

/// The lifetimes and the least prefix of a model.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub minimum: u64,
    pub short: SignedDuration,
    pub long: SignedDuration,
}

impl Rules {
    /// The rules of a model.
    pub fn of(model: &CacheRules) -> Self {
        let short = signed(model.lifetime);
        Self {
            minimum: model.minimum.get(),
            short,
            long: model.lifetime_long.map_or(short, signed),
        }
    }

    fn life(&self, life: Life) -> SignedDuration {
        match life {
            Life::Short => self.short,
            Life::Long => self.long,
        }
    }
}

/// The cache of one organisation.
#[derive(Debug, Default)]
pub(crate) struct Cache {
    entries: HashMap<Print, Entry>,
    swept: Option<Timestamp>,
}

impl Cache {
    /// The longest prefix that a request with breakpoints would read, in tokens.
    pub fn readable(&self, prefixes: &[Prefix], now: Timestamp) -> u64 {
        self.found(prefixes, now)
            .and_then(|at| prefixes.get(at))
            .map_or(0, |prefix| prefix.tokens)
    }

    fn live(&self, key: &Print, now: Timestamp) -> bool {
        self.entries
            .get(key)
            .is_some_and(|entry| entry.readable <= now && now < entry.until)
    }

    fn found(&self, prefixes: &[Prefix], now: Timestamp) -> Option<usize> {
        let marked = prefixes
            .iter()
            .enumerate()
            .rev()
            .filter(|(_, prefix)| prefix.mark.is_some());
        marked
            .filter_map(|(at, mark)| {
                let before = prefixes.get(..=at)?;
                before
                    .iter()
                    .enumerate()
                    .rev()
                    .take_while(|(_, each)| mark.position - each.position < LOOK_BACK)
                    .find(|(_, each)| self.live(&each.key, now))
                    .map(|(found, _)| found)
            })
            .max()
    }

    /// Accounts a request by Anthropic's rules, and writes an entry per breakpoint.
    pub fn by_breakpoints(&mut self, prefixes: &[Prefix], rules: Rules, moment: Moment) -> Share {
        self.sweep(moment.now);
        let found = self.found(prefixes, moment.now);
        let read = found
            .and_then(|at| prefixes.get(at))
            .map_or(0, |prefix| prefix.tokens);
        let all = prefixes.last().map_or(0, |prefix| prefix.tokens);
        let mut share = Share {
            read,
            ..Share::default()
        };
        let mut done = read;
        for (at, prefix) in prefixes.iter().enumerate() {
            let Some(life) = prefix.mark else { continue };
            if found.is_some_and(|found| at <= found) {
                self.renew(&prefix.key, moment.now);
            } else if prefix.tokens >= rules.minimum {
                let written = prefix.tokens - done;
                match life {
                    Life::Short => share.write += written,
                    Life::Long => share.write_long += written,
                }
                done = prefix.tokens;
                self.write(prefix.key, rules.life(life), moment);
            }
        }
        if let Some(prefix) = found.and_then(|at| prefixes.get(at)) {
            self.renew(&prefix.key, moment.now);
        }
        share.fresh = all - done;
        share
    }

    /// Accounts a request by OpenAI's rules: the prefix is cached without a breakpoint.
    pub fn by_prefix(
        &mut self,
        prefixes: &[Prefix],
        rules: Rules,
        life: Life,
        moment: Moment,
    ) -> Share {
        self.sweep(moment.now);
        let found = prefixes
            .iter()
            .rposition(|prefix| self.live(&prefix.key, moment.now));
        let all = prefixes.last().map_or(0, |prefix| prefix.tokens);
        let step = |tokens: u64| {
            let whole = tokens / 128 * 128;
            if whole < rules.minimum { 0 } else { whole }
        };
        let read = found
            .and_then(|at| prefixes.get(at))
            .map_or(0, |prefix| step(prefix.tokens));
        for (at, prefix) in prefixes.iter().enumerate() {
            if Some(at) == found {
                self.renew(&prefix.key, moment.now);
            } else if found.is_none_or(|found| at > found) && prefix.tokens >= rules.minimum {
                self.write(prefix.key, rules.life(life), moment);
            }
        }
        let written = step(all).saturating_sub(read);
        let mut share = Share {
            fresh: all - read - written,
            read,
            ..Share::default()
        };
        match life {
            Life::Short => share.write = written,
            Life::Long => share.write_long = written,
        }
        share
    }

    fn renew(&mut self, key: &Print, now: Timestamp) {
        if let Some(entry) = self.entries.get_mut(key)
            && entry.readable <= now
            && now < entry.until
        {
            entry.until = later(now, entry.life);
        }
    }

    fn write(&mut self, key: Print, life: SignedDuration, moment: Moment) {
        let fresh = Entry {
            life,
            until: later(moment.begins, life),
            readable: moment.begins,
        };
        let entry = self.entries.entry(key).or_insert(fresh);
        if entry.until <= moment.now {
            *entry = fresh;
        } else if entry.life < life {
            entry.life = life;
            entry.until = fresh.until;
        }
    }

    /// Removes expired entries, once a minute at most.
    fn sweep(&mut self, now: Timestamp) {
        let minute = SignedDuration::from_mins(1);
        if self.swept.is_some_and(|then| now < later(then, minute)) {
            return;
        }
        self.swept = Some(now);
        self.entries.retain(|_, entry| entry.until > now);
    }
}

/// A time for arithmetic with moments.
pub(crate) fn signed(time: Duration) -> SignedDuration {
    SignedDuration::try_from(time).unwrap_or(SignedDuration::MAX)
}

/// `now` and a time after it; the last representable moment where there is none.
pub(crate) fn later(now: Timestamp, after: SignedDuration) -> Timestamp {
    now.saturating_add(after).unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests;
