//! Checks of conversations.

use context::TurnId;
use jiff::Timestamp;

use super::{Broken, Check, ONE, read, same, sample, write};
use crate::conversation::Conversation;
use crate::engine::{Engine, Purge};

pub(super) const CHECKS: &[Check] = &[
    Check(
        "a saved conversation reads back equal, and saving it again replaces it",
        saved,
    ),
    Check(
        "conversations are found by their current heads, most recently seen first",
        headed,
    ),
    Check("conversations are paged, most recently seen first", paged),
    Check(
        "the last journal of a conversation stays with it, and leaves with it",
        journals,
    ),
];

const A: TurnId = TurnId::from_bytes([1; 16]);
const B: TurnId = TurnId::from_bytes([2; 16]);
const C: TurnId = TurnId::from_bytes([3; 16]);

fn save(engine: &dyn Engine, all: &[&Conversation]) -> Result<(), Broken> {
    write(engine, ONE, |store| {
        all.iter()
            .try_for_each(|conversation| store.save(conversation))
    })
}

fn saved(engine: &dyn Engine) -> Result<(), Broken> {
    let plain = sample::conversation(1, A, sample::moment(1));
    let full = sample::full_conversation(1, A, sample::moment(2));
    for conversation in [&plain, &full, &plain] {
        save(engine, &[conversation])?;
        let kept = read(engine, ONE, |store| store.conversation(conversation.id))?;
        same("what is kept", &kept, &Some(conversation.clone()))?;
    }
    let (other, stored) = read(engine, ONE, |store| {
        let other = store.conversation(sample::conversation_id(2))?;
        Ok((other, store.stored()?))
    })?;
    same("another one", &other, &None)?;
    same("how many are held", &stored.conversations, &1)
}

fn headed(engine: &dyn Engine) -> Result<(), Broken> {
    let first = sample::conversation(1, A, sample::moment(1));
    let twin = sample::conversation(2, A, sample::moment(3));
    let same_moment = sample::conversation(3, B, sample::moment(3));
    let moved = sample::conversation(1, C, sample::moment(9));
    save(engine, &[&same_moment, &first, &twin])?;
    let found = |heads: &[TurnId]| read(engine, ONE, |store| store.headed(heads));
    let at_a = vec![twin.clone(), first.clone()];
    same("two at one head", &found(&[A])?, &at_a)?;
    let all = vec![twin.clone(), same_moment.clone(), first];
    same("at several, each once", &found(&[B, A, C, A])?, &all)?;
    same("at none", &found(&[])?, &Vec::new())?;
    save(engine, &[&moved])?;
    same("where it was before", &found(&[A])?, &vec![twin.clone()])?;
    let all = vec![moved, twin, same_moment];
    same("after it moved", &found(&[A, B, C])?, &all)
}

fn paged(engine: &dyn Engine) -> Result<(), Broken> {
    let saved: Vec<Conversation> = (0..7)
        .map(|n| sample::conversation(n, A, sample::moment(i64::from(n * 5 % 7))))
        .collect();
    save(engine, &saved.iter().collect::<Vec<_>>())?;
    let mut expected = saved;
    expected.sort_by_key(|conversation| std::cmp::Reverse(conversation.seen));
    let mut before = Timestamp::MAX;
    let mut found = Vec::new();
    for size in [3, 3, 1] {
        let page = read(engine, ONE, |store| store.conversations(before, 3))?;
        same("the page's size", &page.len(), &size)?;
        before = page.last().map_or(before, |last| last.seen);
        found.extend(page);
    }
    same("all pages", &found, &expected)?;
    let (after, none) = read(engine, ONE, |store| {
        let none = store.conversations(Timestamp::MAX, 0)?;
        Ok((store.conversations(before, 3)?, none))
    })?;
    same("after the last page", &after, &Vec::new())?;
    same("a page of none", &none, &Vec::new())
}

fn journals(engine: &dyn Engine) -> Result<(), Broken> {
    let (first, other) = (
        sample::conversation(1, A, sample::moment(1)),
        sample::conversation(2, B, sample::moment(2)),
    );
    save(engine, &[&first])?;
    let journal = |id| read(engine, ONE, |store| store.journal(id));
    same("none yet", &journal(first.id)?, &None)?;
    for text in ["began", "began, swapped"] {
        write(engine, ONE, |store| {
            store.keep_journal(first.id, text)?;
            store.keep_journal(other.id, text)
        })?;
        same("the last one", &journal(first.id)?, &Some(text.into()))?;
    }
    same("without a conversation", &journal(other.id)?, &None)?;
    save(engine, &[&first])?;
    let last = Some("began, swapped".into());
    same("saved again", &journal(first.id)?, &last)?;
    engine.purge(Purge {
        tenant: Some(ONE),
        conversation: Some(first.id),
        before: None,
    })?;
    save(engine, &[&first])?;
    same("after a purge", &journal(first.id)?, &None)
}
