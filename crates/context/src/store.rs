//! The store comonad.
//!
//! A store is a position and a way to look at any position: `(S, S -> A)` with `S` the positions
//! `0..=last`. For all stores `s` and functions `f`, `g`, compared at every position:
//!
//! 1. `s.duplicate().extract() == s`
//! 2. `s.duplicate().map(extract) == s`
//! 3. `s.duplicate().duplicate() == s.duplicate().map(duplicate)`
//!
//! and the same said with `extend`: `s.extend(extract) == s`, `s.extend(f).extract() == f(s)`,
//! `s.extend(f).extend(g) == s.extend(|w| g(w.extend(f)))`.

use std::fmt;
use std::sync::Arc;

type Peek<A> = dyn Fn(usize) -> A + Send + Sync;

/// A position in `0..=last` and a way to look at any of them. Lazy: nothing is computed before it is
/// looked at, and nothing is remembered. Cloning shares it.
pub struct Store<A> {
    position: usize,
    last: usize,
    peek: Arc<Peek<A>>,
}

impl<A> Clone for Store<A> {
    fn clone(&self) -> Self {
        self.at(self.position)
    }
}

impl<A> fmt::Debug for Store<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Store")
            .field("position", &self.position)
            .field("last", &self.last)
            .finish_non_exhaustive()
    }
}

impl<A> Store<A> {
    /// A store over the positions `0..=last`, focused on `position` (at most `last`).
    #[must_use]
    pub fn new(
        last: usize,
        position: usize,
        peek: impl Fn(usize) -> A + Send + Sync + 'static,
    ) -> Self {
        Self {
            position: position.min(last),
            last,
            peek: Arc::new(peek),
        }
    }

    /// The position of the focus.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.position
    }

    /// The last position.
    #[must_use]
    pub const fn last(&self) -> usize {
        self.last
    }

    /// The value at the focus.
    #[must_use]
    pub fn extract(&self) -> A {
        self.peek(self.position)
    }

    /// The value at any position; past the end, the last one.
    #[must_use]
    pub fn peek(&self, position: usize) -> A {
        (self.peek)(position.min(self.last))
    }

    /// The same store with its focus elsewhere; past the end, at the end.
    #[must_use]
    pub fn seek(&self, position: usize) -> Self {
        self.at(position.min(self.last))
    }

    /// The same store with its focus moved by a function of the position.
    #[must_use]
    pub fn seeks(&self, step: impl FnOnce(usize) -> usize) -> Self {
        self.seek(step(self.position))
    }

    /// The values at all positions, from 0 on.
    pub fn values(&self) -> impl Iterator<Item = A> + '_ {
        (0..=self.last).map(|position| self.peek(position))
    }

    fn at(&self, position: usize) -> Self {
        Self {
            position,
            last: self.last,
            peek: Arc::clone(&self.peek),
        }
    }
}

impl<A: 'static> Store<A> {
    /// The store whose value at each position is `f` of this store focused there.
    #[must_use]
    pub fn extend<B>(&self, f: impl Fn(&Self) -> B + Send + Sync + 'static) -> Store<B> {
        let here = self.clone();
        Store::new(self.last, self.position, move |position| {
            f(&here.at(position))
        })
    }

    /// The store whose value at each position is this store focused there.
    #[must_use]
    pub fn duplicate(&self) -> Store<Self> {
        self.extend(Self::clone)
    }

    /// The store whose value at each position is `f` of the value there.
    #[must_use]
    pub fn map<B>(&self, f: impl Fn(A) -> B + Send + Sync + 'static) -> Store<B> {
        self.extend(move |store| f(store.extract()))
    }
}

#[cfg(test)]
mod tests {
    use super::Store;

    #[test]
    fn nothing_is_computed_before_it_is_looked_at() {
        let store = Store::new(2, 0, |position| {
            assert_ne!(position, 1, "nobody asked for 1");
            position * 10
        });
        let extended = store.extend(|here| here.extract() + 1);
        assert_eq!(extended.extract(), 1);
        assert_eq!(extended.peek(2), 21);
    }

    #[test]
    fn positions_past_the_end_are_the_end() {
        let store = Store::new(2, 9, |position| position);
        assert_eq!(store.position(), 2);
        assert_eq!(store.seek(7).extract(), 2);
        assert_eq!(store.peek(7), 2);
        assert_eq!(store.seeks(|position| position - 1).position(), 1);
        assert_eq!(store.values().collect::<Vec<_>>(), [0, 1, 2]);
    }
}
