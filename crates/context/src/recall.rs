//! Recall: finds the places of a conversation that say something.
//!
//! The score is BM25 (Robertson and Zaragoza, "The Probabilistic Relevance Framework", 2009, equation 3.15) over
//! blocks of lines, with *k*₁ = 1.2 and *b* = 0.75. A block that says the query word for word gets the weight of
//! all its words once more. No index is kept: a conversation of a million tokens takes some ten milliseconds.

use std::collections::{HashMap, HashSet};

use crate::original::Handle;
use crate::turn::{Part, Role, Turn};

/// Lines in a block.
const BLOCK: usize = 12;
/// The most hits.
const MOST: usize = 50;
/// The most words of a query that count.
const WORDS: usize = 32;
/// The most bytes of a line in a hit.
const LINE: usize = 300;
/// BM25's saturation of frequent words.
const K1: f32 = 1.2;
/// BM25's correction for length.
const B: f32 = 0.75;

/// A place that says something of a query.
#[derive(Clone, Debug, PartialEq)]
pub struct Hit {
    /// The part that says it.
    pub handle: Handle,
    /// The turn, counted from 1.
    pub turn: usize,
    /// Its speaker.
    pub role: Role,
    /// The line of the part that says most of it, counted from 1.
    pub line: usize,
    /// This line and those beside it. Words of the transcript, and no instructions.
    pub text: String,
    /// The score; comparable within one query only.
    pub score: f32,
}

/// A few lines of one part.
struct Block<'t> {
    turn: usize,
    part: usize,
    /// The index of its first line in the part.
    line: usize,
    lines: Vec<&'t str>,
    /// The occurrences in it of each word of the query.
    counts: Vec<f32>,
    words: f32,
    is_verbatim: bool,
}

/// The places that say most of a query, the best first, at most one for each part of a turn. Calls of tools whose
/// name is `own`, and their results, are left out: they repeat what was asked for.
#[must_use]
pub fn recall(turns: &[Turn], query: &str, most: usize, own: &dyn Fn(&str) -> bool) -> Vec<Hit> {
    let mut wanted = words(query);
    let mut seen = HashSet::new();
    wanted.retain(|word| seen.insert(word.clone()));
    wanted.truncate(WORDS);
    let phrase = query.trim().to_lowercase();
    let places: HashMap<&str, usize> = wanted.iter().map(String::as_str).zip(0..).collect();
    let blocks = blocks(turns, (&places, &phrase), own);
    let weights = weights(&blocks, wanted.len());
    let total: f32 = blocks.iter().map(|block| block.words).sum();
    let mean = total / (blocks.len().max(1) as f32);
    let score = |block: &Block<'_>| {
        let long = K1 * (1.0 - B + B * block.words / mean.max(1.0));
        let one = |(count, weight): (&f32, &f32)| weight * count * (K1 + 1.0) / (count + long);
        let words: f32 = block.counts.iter().zip(&weights).map(one).sum();
        let verbatim: f32 = weights.iter().sum();
        words + if block.is_verbatim { verbatim } else { 0.0 }
    };
    let mut best: HashMap<(usize, usize), (f32, &Block<'_>)> = HashMap::new();
    for block in &blocks {
        let score = score(block);
        let place = best.entry((block.turn, block.part)).or_insert((0.0, block));
        if score > place.0 {
            *place = (score, block);
        }
    }
    let mut found: Vec<(f32, &Block<'_>)> = best.into_values().filter(|it| it.0 > 0.0).collect();
    // Of equals the newest first.
    let newest = |block: &Block<'_>| std::cmp::Reverse((block.turn, block.part));
    found.sort_by(|a, b| b.0.total_cmp(&a.0).then(newest(a.1).cmp(&newest(b.1))));
    let chosen = found.into_iter().take(most.min(MOST));
    chosen
        .map(|(score, block)| hit(block, score, (&places, &weights), turns))
        .collect()
}

/// The words of a text in lower case: letters, digits and `_`; two characters at least, or one outside ASCII.
fn words(text: &str) -> Vec<String> {
    let pieces = text.split(|letter: char| !letter.is_alphanumeric() && letter != '_');
    let long = pieces.filter(|word| word.len() > 1);
    long.map(str::to_lowercase).collect()
}

fn blocks<'t>(
    turns: &'t [Turn],
    (places, phrase): (&HashMap<&str, usize>, &str),
    own: &dyn Fn(&str) -> bool,
) -> Vec<Block<'t>> {
    let mut ours = HashSet::new();
    let mut out = Vec::new();
    for (turn, said) in turns.iter().enumerate() {
        for (part, piece) in said.parts().iter().enumerate() {
            let text = match piece {
                Part::Text(text) | Part::Thinking(text) => text,
                Part::Call(call) if own(&call.name) => {
                    ours.insert(call.id.clone());
                    continue;
                }
                Part::Call(call) => &call.arguments,
                Part::Result(result) if ours.contains(&result.call) => continue,
                Part::Result(result) => &result.text,
                Part::Attachment(_) | Part::Opaque(_) => continue,
            };
            let lines: Vec<&str> = text.lines().collect();
            for (index, lines) in lines.chunks(BLOCK).enumerate() {
                let mut block = Block {
                    turn,
                    part,
                    line: index * BLOCK,
                    lines: lines.to_vec(),
                    counts: vec![0.0; places.len()],
                    words: 0.0,
                    is_verbatim: false,
                };
                for line in lines {
                    block.take(line, (places, phrase));
                }
                out.push(block);
            }
        }
    }
    out
}

impl Block<'_> {
    fn take(&mut self, line: &str, (places, phrase): (&HashMap<&str, usize>, &str)) {
        for word in words(line) {
            self.words += 1.0;
            if let Some(count) = places
                .get(word.as_str())
                .and_then(|&at| self.counts.get_mut(at))
            {
                *count += 1.0;
            }
        }
        self.is_verbatim |= !phrase.is_empty() && line.to_lowercase().contains(phrase);
    }
}

/// The weight of each word: the rarer, the more.
fn weights(blocks: &[Block<'_>], words: usize) -> Vec<f32> {
    let all = blocks.len() as f32;
    let weight = |word: usize| {
        let says = |block: &&Block<'_>| block.counts.get(word).is_some_and(|count| *count > 0.0);
        let with = blocks.iter().filter(says).count() as f32;
        (1.0 + (all - with + 0.5) / (with + 0.5)).ln()
    };
    (0..words).map(weight).collect()
}

fn hit(
    block: &Block<'_>,
    score: f32,
    (places, weights): (&HashMap<&str, usize>, &[f32]),
    turns: &[Turn],
) -> Hit {
    let worth = |line: &str| -> f32 {
        let found: HashSet<usize> = words(line)
            .iter()
            .filter_map(|word| places.get(word.as_str()).copied())
            .collect();
        found.iter().filter_map(|&at| weights.get(at)).sum()
    };
    let by_worth = |a: &usize, b: &usize| {
        let of = |at: &usize| block.lines.get(*at).map_or(0.0, |line| worth(line));
        // Of equals the first.
        of(a).total_cmp(&of(b)).then(b.cmp(a))
    };
    let best = (0..block.lines.len()).max_by(by_worth).unwrap_or(0);
    let shown = block.lines.iter().skip(best.saturating_sub(1));
    let around: Vec<String> = shown
        .take(3.min(best + 2))
        .map(|line| clipped(line))
        .collect();
    Hit {
        handle: Handle::Part(block.turn + 1, block.part + 1),
        turn: block.turn + 1,
        role: turns.get(block.turn).map_or(Role::Other, Turn::role),
        line: block.line + best + 1,
        text: around.join("\n"),
        score,
    }
}

fn clipped(line: &str) -> String {
    if line.len() <= LINE {
        return line.to_owned();
    }
    let mut end = LINE;
    while !line.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", line.get(..end).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::recall;
    use crate::Heuristic;
    use crate::turn::{CallId, Outcome, Part, Role, ToolCall, ToolResult, Turn, TurnDraft, TurnId};

    fn conversation() -> Vec<Turn> {
        let call = |id: &str, name: &str| {
            Part::Call(ToolCall {
                id: CallId::from(id),
                name: name.into(),
                arguments: r#"{"query":"retry budget"}"#.into(),
            })
        };
        let result = |id: &str, text: String| {
            Part::Result(ToolResult {
                call: CallId::from(id),
                text: text.into(),
                outcome: Outcome::Succeeded,
            })
        };
        let log: String = (1..=60)
            .map(|line| match line {
                41 => "the retry budget is 17 attempts\n".to_owned(),
                _ => format!("step {line} went on and the retry was quiet\n"),
            })
            .collect();
        let drafts = vec![
            TurnDraft::text(Role::User, "Nie das Verzeichnis altlasten ändern."),
            TurnDraft::said(Role::Assistant, vec![call("a", "Bash")]),
            TurnDraft::said(Role::Tool, vec![result("a", log)]),
            TurnDraft::said(Role::Assistant, vec![call("b", "mcp__ebbtide__recall")]),
            TurnDraft::said(
                Role::Tool,
                vec![result("b", "the retry budget is 17".into())],
            ),
            TurnDraft::text(Role::Assistant, "I will look at createWriteStream next."),
        ];
        let mut parent = TurnId::ROOT;
        let place = |draft: TurnDraft| {
            let turn = draft.after(parent, &Heuristic);
            parent = turn.id();
            turn
        };
        drafts.into_iter().map(place).collect()
    }

    #[track_caller]
    fn check(query: &str, expected: &[(&str, usize)]) {
        let own = |name: &str| name.contains("ebbtide");
        let hits = recall(&conversation(), query, 10, &own);
        let found: Vec<(String, usize)> = hits
            .iter()
            .map(|hit| (hit.handle.to_string(), hit.line))
            .collect();
        let expected: Vec<(String, usize)> = expected
            .iter()
            .map(|(handle, line)| ((*handle).to_owned(), *line))
            .collect();
        assert_eq!(found, expected, "{query}");
    }

    #[test]
    fn the_line_that_says_it_comes_first() {
        check(
            "what is the retry budget",
            &[("turn:3.1", 41), ("turn:2.1", 1)],
        );
        check("Verzeichnis ALTLASTEN", &[("turn:1.1", 1)]);
        check("createwritestream", &[("turn:6.1", 1)]);
    }

    #[test]
    fn nothing_found_is_nothing() {
        check("zebra", &[]);
        check("", &[]);
        check("… — !", &[]);
    }

    #[test]
    fn a_hit_shows_its_neighbours() {
        let hits = recall(&conversation(), "budget attempts", 1, &|_| false);
        let lines: Vec<&str> = hits[0].text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(lines[1], "the retry budget is 17 attempts");
    }
}
