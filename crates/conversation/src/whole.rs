//! The size of a conversation as it was said: all turns, and nothing of the gateway's own.
//!
//! While nothing has left the view, the provider counts it, with notes and restated pins, whose size we know,
//! and without what shortened results lack. Once a summary stands in front, the provider still tells by how
//! much the view grows.

use context::Tokens;

use crate::homunculus::{Extent, Gauge, Path, Size};

/// Tells how large a conversation is without what the gateway does to it.
#[derive(Debug, Default)]
pub(crate) struct Whole {
    gauge: Gauge,
    counted: Option<Counted>,
}

/// A view that the provider counted.
#[derive(Clone, Copy, Debug)]
struct Counted {
    shown: Extent,
    /// The provider's count, without the gateway's own text.
    view: Tokens,
    /// The size of the conversation then.
    whole: Tokens,
}

impl Whole {
    /// All turns of a path, without pins.
    pub(crate) fn size(&self, path: &Path<'_>) -> Tokens {
        self.gauge.size(&Extent::default(), path).all() + path.spared()
    }

    /// The size of another view of this conversation, without the gateway's own text.
    pub(crate) fn view(&self, shown: &Extent, path: &Path<'_>) -> Size {
        self.gauge.size(shown, path)
    }

    /// The size that the provider's last report tells, and that of the view of then.
    pub(crate) fn counted(&self) -> Option<(Tokens, Tokens)> {
        self.counted.map(|counted| (counted.whole, counted.view))
    }

    /// A request with these turns is sent.
    pub(crate) fn send(&mut self, path: &Path<'_>) {
        self.gauge.send(&Extent::default(), path);
    }

    /// The provider counted `view` tokens in the last request, which showed this of the conversation; the
    /// gateway's own text is not among them.
    pub(crate) fn report(&mut self, shown: Extent, view: Tokens) {
        let before = self.counted.filter(|before| before.shown == shown);
        let whole = match before {
            _ if shown == Extent::default() => view,
            Some(before) => (before.whole + view).saturating_sub(before.view),
            None => self.gauge.last().all(),
        };
        self.gauge.report(whole);
        self.counted = Some(Counted { shown, view, whole });
    }

    /// The provider took these turns before, shown like this; the conversation and its view had so many tokens then.
    pub(crate) fn accept(
        &mut self,
        (shown, path): (Extent, &Path<'_>),
        counted: Option<(Tokens, Tokens)>,
    ) {
        self.counted = counted.map(|(whole, view)| Counted { shown, view, whole });
        let whole = counted.map(|(whole, _)| whole);
        let all = Extent::default();
        self.gauge
            .accept((&all, path), whole, Tokens::new(u64::MAX));
    }

    /// Something else is sent besides the turns.
    pub(crate) fn overhead(&mut self, tokens: Tokens) {
        self.gauge.overhead(tokens);
    }
}
