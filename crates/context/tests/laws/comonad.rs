//! The three comonad laws, for stores and for windows, compared at every position.

use std::fmt::Debug;

use context::store::Store;
use context::window::ContextWindow;
use context::{Role, Turn};
use proptest::collection::vec;
use proptest::prelude::*;

use crate::conversation::window;

fn store() -> impl Strategy<Value = Store<u32>> {
    (vec(0..1_000_u32, 1..12), 0..12_usize)
        .prop_map(|(values, position)| Store::new(values.len() - 1, position, move |at| values[at]))
}

fn focused_window() -> impl Strategy<Value = ContextWindow> {
    (window(6), 0..20_usize).prop_map(|(window, position)| window.seek(position))
}

/// Both stores have the same focus and the same value at every position.
#[track_caller]
fn same<A: PartialEq + Debug>(a: &Store<A>, b: &Store<A>) {
    assert_eq!((a.position(), a.last()), (b.position(), b.last()));
    for position in 0..=a.last() {
        assert_eq!(a.peek(position), b.peek(position), "at {position}");
    }
}

/// Both stores of stores agree at every position of every store in them.
#[track_caller]
fn same_twice<A: PartialEq + Debug>(a: &Store<Store<A>>, b: &Store<Store<A>>) {
    assert_eq!((a.position(), a.last()), (b.position(), b.last()));
    for position in 0..=a.last() {
        same(&a.peek(position), &b.peek(position));
    }
}

/// A function that depends on everything a store is.
fn weigh(store: &Store<u32>) -> u32 {
    let sum: u32 = (1..)
        .zip(store.values())
        .map(|(at, value)| at * value)
        .sum();
    sum * 31 + store.extract() * 7 + u32::try_from(store.position()).unwrap()
}

fn halve(store: &Store<u32>) -> u32 {
    store.peek(store.position() / 2) ^ store.values().fold(0, u32::wrapping_add)
}

/// A function that depends on everything a window is.
fn describe(window: &ContextWindow) -> String {
    format!(
        "{} {:?} {}",
        window.outline(),
        window.extract().map(Turn::id),
        window.by_role(Role::User).count()
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn left_identity(store in store()) {
        same(&store.duplicate().extract(), &store);
        prop_assert_eq!(store.extend(weigh).extract(), weigh(&store));
    }

    #[test]
    fn right_identity(store in store()) {
        same(&store.duplicate().map(|inner| inner.extract()), &store);
        same(&store.extend(Store::extract), &store);
    }

    #[test]
    fn associativity(store in store()) {
        let outer = store.duplicate().duplicate();
        let inner = store.duplicate().map(|inner| inner.duplicate());
        prop_assert_eq!((outer.position(), outer.last()), (inner.position(), inner.last()));
        for position in 0..=outer.last() {
            same_twice(&outer.peek(position), &inner.peek(position));
        }
        same(
            &store.extend(weigh).extend(halve),
            &store.extend(|here| halve(&here.extend(weigh))),
        );
    }

    #[test]
    fn seeking_is_lawful(store in store(), a in 0..12_usize, b in 0..12_usize) {
        same(&store.seek(a).seek(b), &store.seek(b));
        same(&store.seek(store.position()), &store);
        prop_assert_eq!(store.seek(a).extract(), store.peek(a));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn windows_left_identity(window in focused_window()) {
        prop_assert_eq!(window.extend(describe).extract(), describe(&window));
        prop_assert_eq!(window.duplicate().extract(), window);
    }

    #[test]
    fn windows_right_identity(window in focused_window()) {
        same(
            &window.duplicate().map(|here| here.extract().cloned()),
            &window.store(),
        );
    }

    #[test]
    fn windows_associativity(window in focused_window()) {
        same_twice(
            &window.duplicate().map(|here| here.duplicate()),
            &window.duplicate().duplicate(),
        );
        same(
            &window.extend(describe).extend(|store| store.values().collect::<String>()),
            &window.extend(|here| here.extend(describe).values().collect::<String>()),
        );
    }
}
