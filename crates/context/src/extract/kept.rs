//! The turns that the projector would keep verbatim, and so the first entries of a summary.

use std::sync::Arc;

use crate::classify::{Classes, Demands};
use crate::linearity::ResourceClass;
use crate::spoken;
use crate::turn::{Provenance, Role, Turn};
use crate::units::Tokens;

/// The share of the prose that preserved turns may have together.
const SHARE: f64 = 0.5;

/// The words of the preserved turns, in order. The budget of the classifier is a share of the
/// summary's prose here, so the turns that it preserves fit.
///
/// System turns are preserved too, but they stay in front of a view and are not summarised.
pub(super) fn preserved(old: &[Turn], prose: Tokens) -> Vec<String> {
    let Some(demands) = Demands::with_budget(SHARE) else {
        return Vec::new();
    };
    let mut classes = Classes::new(prose, Arc::new(demands));
    old.iter()
        .filter(|turn| turn.role() == Role::User && turn.provenance() == Provenance::Said)
        .filter(|turn| classes.push(turn) == ResourceClass::Preserved && turn.tokens() <= prose)
        .map(|turn| spoken::lines(turn).collect::<Vec<_>>().join(" "))
        .collect()
}
