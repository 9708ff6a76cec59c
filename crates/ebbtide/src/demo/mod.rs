//! A session that the program makes itself: a scripted agent walks real files, so that everybody can
//! see a replay without having a recorded session at hand.
//!
//! Nothing is written to the files. The same files give the same session, byte for byte.

mod agent;
mod findings;
mod transcript;
mod tree;

use std::path::Path;

use crate::failure::Failure;

pub use tree::Tree;

/// A session that was made, as a Claude Code log.
pub struct Made {
    /// The log.
    pub log: Vec<u8>,
    /// How many files the agent opened.
    pub files: usize,
}

/// How much text a session must hold to cross a window of 32,000 tokens four times: the first time
/// after 32,000 tokens, then about every 22,000, with room for counting otherwise.
const TARGET_TOKENS: usize = 130_000;

/// The agent reads everything at most this often; then a tree is too small.
const PASSES: usize = 4;

/// Makes a session by walking the files below `folder`.
///
/// # Errors
/// Where the folder cannot be read, or holds too little text for a session that is long enough.
pub fn make(folder: &Path) -> Result<Made, Failure> {
    let tree = Tree::read(folder)?;
    let mut agent = agent::Agent::new(&tree);
    agent.greet();
    'walk: for pass in 1..=PASSES {
        for area in tree.areas() {
            agent.review(&area, pass);
            if agent.tokens() >= TARGET_TOKENS {
                break 'walk;
            }
        }
    }
    if agent.tokens() < TARGET_TOKENS {
        return Err(tree.too_little());
    }
    agent.close();
    Ok(agent.finish())
}

#[cfg(test)]
mod tests;
