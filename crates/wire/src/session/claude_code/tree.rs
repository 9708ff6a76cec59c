//! The tree of records: which of them were abandoned when the user went back and edited.
//!
//! Parent links alone would lose real turns: parallel calls fan out, so that all results but the last
//! are off the path from the last record to the root; chains are broken by lost lines and pass
//! through records that are no messages. So only one shape counts as abandoned: a prompt, with
//! everything after it, that has the same predecessor as a later prompt on the path.

use std::borrow::Cow;
use std::collections::HashMap;

/// The kind of a record in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Something a person typed.
    Prompt,
    /// Any other message.
    Answer,
    /// Not a message.
    Aside,
}

/// A record in the tree, in file order.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) uuid: Option<Cow<'a, str>>,
    pub(super) parent: Option<Cow<'a, str>>,
    pub(super) kind: Kind,
}

/// The position of a record relative to the path that ends in the last message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stand {
    OnPath,
    /// Beside the path, with nothing but asides since it left it at this record.
    Leaving(usize),
    /// Beside the path, and part of the conversation.
    Beside,
    Abandoned,
}

/// `true` for each record that was abandoned.
pub(super) fn abandoned(nodes: &[Node<'_>]) -> Vec<bool> {
    let before = predecessors(nodes);
    let next_on_path = path(nodes, &before);
    let mut stands: Vec<Stand> = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let on_path = next_on_path.get(index).is_some_and(Option::is_some);
        let parent = before.get(index).copied().flatten();
        let inherited = parent
            .and_then(|parent| Some((parent, stands.get(parent).copied()?)))
            .map(|(parent, stand)| match stand {
                Stand::OnPath => Stand::Leaving(parent),
                other => other,
            });
        let stand = match (on_path, inherited) {
            (true, _) => Stand::OnPath,
            (false, None) => Stand::Beside,
            (false, Some(Stand::Leaving(fork))) => match node.kind {
                Kind::Aside => Stand::Leaving(fork),
                Kind::Prompt if continued_by_prompt(nodes, &next_on_path, fork, index) => {
                    Stand::Abandoned
                }
                Kind::Prompt | Kind::Answer => Stand::Beside,
            },
            (false, Some(stand)) => stand,
        };
        stands.push(stand);
    }
    stands
        .into_iter()
        .map(|stand| stand == Stand::Abandoned)
        .collect()
}

/// The record before each record: its parent where that stands earlier in the file, else the record
/// above it.
fn predecessors(nodes: &[Node<'_>]) -> Vec<Option<usize>> {
    let mut index_of: HashMap<&str, usize> = HashMap::new();
    let mut above = None;
    let mut before = Vec::with_capacity(nodes.len());
    for (index, node) in nodes.iter().enumerate() {
        let parent = node
            .parent
            .as_deref()
            .and_then(|parent| index_of.get(parent));
        let parent = parent.copied();
        before.push(parent.or(above));
        if let Some(uuid) = node.uuid.as_deref() {
            index_of.entry(uuid).or_insert(index);
            above = Some(index);
        }
    }
    before
}

/// For each record on the path to the last message, the next message on it (itself at the end);
/// `None` for records that are not on the path.
fn path(nodes: &[Node<'_>], before: &[Option<usize>]) -> Vec<Option<usize>> {
    let mut next = vec![None; nodes.len()];
    let last = nodes
        .iter()
        .rposition(|node| node.uuid.is_some() && node.kind != Kind::Aside);
    let mut ahead = last.unwrap_or_default();
    let mut current = last;
    while let Some(index) = current {
        if let Some(slot) = next.get_mut(index) {
            *slot = Some(ahead);
        }
        if nodes
            .get(index)
            .is_some_and(|node| node.kind != Kind::Aside)
        {
            ahead = index;
        }
        current = before.get(index).copied().flatten();
    }
    next
}

/// Returns `true` if the path continues from `fork` with a prompt after `index` in the file.
fn continued_by_prompt(
    nodes: &[Node<'_>],
    next_on_path: &[Option<usize>],
    fork: usize,
    index: usize,
) -> bool {
    next_on_path
        .get(fork)
        .copied()
        .flatten()
        .filter(|next| *next > index)
        .and_then(|next| nodes.get(next))
        .is_some_and(|node| node.kind == Kind::Prompt)
}

#[cfg(test)]
mod tests {
    use super::{Kind, Node, abandoned};

    /// Records as `(uuid, parent, kind)`, kind `p`rompt, `a`nswer or `-`; says which are abandoned.
    fn check(records: &[(&str, &str, char)], expected: &[&str]) {
        let nodes: Vec<Node<'_>> = records
            .iter()
            .map(|&(uuid, parent, kind)| Node {
                uuid: Some(uuid.into()),
                parent: (!parent.is_empty()).then_some(parent.into()),
                kind: match kind {
                    'p' => Kind::Prompt,
                    'a' => Kind::Answer,
                    _ => Kind::Aside,
                },
            })
            .collect();
        let found: Vec<&str> = records
            .iter()
            .zip(abandoned(&nodes))
            .filter(|(_, abandoned)| *abandoned)
            .map(|(record, _)| record.0)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn an_edited_prompt_abandons_what_came_after_the_old_one() {
        check(
            &[
                ("1", "", 'p'),
                ("2", "1", 'a'),
                ("3", "2", 'p'),
                ("4", "3", '-'),
                ("5", "4", 'a'),
                ("6", "2", 'p'),
                ("7", "6", 'a'),
            ],
            &["3", "4", "5"],
        );
    }

    #[test]
    fn an_edit_of_the_first_prompt_is_an_edit_too() {
        check(
            &[
                ("0", "", '-'),
                ("1", "0", 'p'),
                ("2", "1", 'a'),
                ("3", "0", 'p'),
            ],
            &["1", "2"],
        );
    }

    #[test]
    fn parallel_calls_fan_out_and_stay() {
        check(
            &[
                ("1", "", 'p'),
                ("call a", "1", 'a'),
                ("call b", "call a", 'a'),
                ("result a", "call a", 'a'),
                ("result b", "call b", 'a'),
                ("2", "result b", 'a'),
            ],
            &[],
        );
    }

    #[test]
    fn broken_chains_go_on_with_the_record_above() {
        check(
            &[
                ("1", "lost", 'p'),
                ("2", "1", 'a'),
                ("3", "lost too", 'p'),
                ("4", "3", 'a'),
            ],
            &[],
        );
    }

    #[test]
    fn a_later_parent_and_a_cycle_do_no_harm() {
        check(&[("1", "2", 'p'), ("2", "1", 'a'), ("3", "3", 'p')], &[]);
    }
}
