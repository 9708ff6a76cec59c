//! Subtyping: what may stand where something is wanted.

use super::{Field, Presence, Type, field};

/// The compatibility of a type with an expected type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// No value, or not all of them, and `json` has nothing to do with it.
    Never,
    /// The value decides, because of `json`: a check is needed in between.
    Checked,
    /// Every value.
    Always,
}

/// Returns true if a message of type `from` may stand where `to` is wanted: `int ≤ number`, a literal ≤
/// `string`, `A ≤ A | B`, every type ≤ `json`; records, lists and products by parts, a required field may
/// feed an optional one. A product is a list of whatever its parts have in common.
#[must_use]
pub fn fits(from: &Type, to: &Type) -> Fit {
    if from.same(to) {
        return Fit::Always;
    }
    match (from, to) {
        (Type::Unknown, _) | (_, Type::Unknown | Type::Json) => Fit::Always,
        (Type::Json, _) => Fit::Checked,
        (Type::Sum(variants), to) => all(variants.iter().map(|variant| fits(variant, to))),
        (from, Type::Sum(variants)) => {
            let mut best = Fit::Never;
            for variant in variants.iter() {
                best = best.max(fits(from, variant));
                if best == Fit::Always {
                    break;
                }
            }
            best
        }
        (Type::Int, Type::Number) | (Type::Literal(_), Type::Text) => Fit::Always,
        (Type::Literal(a), Type::Literal(b)) if a == b => Fit::Always,
        (Type::Record(from), Type::Record(to)) => records(from, to),
        (Type::List(from), Type::List(to)) => fits(from, to),
        (Type::Product(from), Type::Product(to)) if from.len() == to.len() => {
            all(from.iter().zip(to.iter()).map(|(from, to)| fits(from, to)))
        }
        (Type::Product(parts), Type::List(item)) => all(parts.iter().map(|part| fits(part, item))),
        _ => Fit::Never,
    }
}

/// The worst of several; without any, [`Fit::Always`].
fn all(fits: impl Iterator<Item = Fit>) -> Fit {
    let mut worst = Fit::Always;
    for fit in fits {
        worst = worst.min(fit);
        if worst == Fit::Never {
            break;
        }
    }
    worst
}

fn records(from: &[Field], to: &[Field]) -> Fit {
    let mut found = 0;
    let mut worst = Fit::Always;
    for (index, wanted) in to.iter().enumerate() {
        match field(from, &wanted.name, index) {
            None if wanted.presence == Presence::Optional => {}
            None => return Fit::Never,
            Some(given) => {
                found += 1;
                if given.presence == Presence::Optional && wanted.presence == Presence::Required {
                    return Fit::Never;
                }
                worst = worst.min(fits(&given.kind, &wanted.kind));
            }
        }
    }
    if found < from.len() {
        Fit::Never
    } else {
        worst
    }
}

/// Why a message of type `from` does not fit where `to` is wanted, as a phrase about the first part that is
/// to blame: "field `b` is missing". `None` if the types as a whole say it.
#[must_use]
pub fn misfit(from: &Type, to: &Type) -> Option<String> {
    match (from, to) {
        (Type::Record(from), Type::Record(to)) => misfit_of_records(from, to),
        (Type::Product(from), Type::Product(to)) if from.len() != to.len() => {
            Some(format!("expected {} parts, found {}", to.len(), from.len()))
        }
        (Type::Product(from), Type::Product(to)) => {
            let mut parts = from.iter().zip(to.iter()).enumerate();
            let (index, (from, to)) = parts.find(|(_, (from, to))| fits(from, to) == Fit::Never)?;
            Some(within(&format!("part {index}"), from, to))
        }
        (Type::List(from), Type::List(to)) => Some(within("an item", from, to)),
        (Type::Sum(variants), to) if !matches!(to, Type::Sum(_)) || variants.len() > 1 => {
            let variant = variants
                .iter()
                .find(|variant| fits(variant, to) == Fit::Never)?;
            Some(format!("the variant `{variant}` does not fit"))
        }
        _ => None,
    }
}

fn misfit_of_records(from: &[Field], to: &[Field]) -> Option<String> {
    for (index, wanted) in to.iter().enumerate() {
        match field(from, &wanted.name, index) {
            None if wanted.presence == Presence::Optional => {}
            None => return Some(format!("field `{}` is missing", wanted.name)),
            Some(given) => {
                if given.presence == Presence::Optional && wanted.presence == Presence::Required {
                    return Some(format!("field `{}` may be missing", wanted.name));
                }
                if fits(&given.kind, &wanted.kind) == Fit::Never {
                    let place = format!("field `{}`", wanted.name);
                    return Some(within(&place, &given.kind, &wanted.kind));
                }
            }
        }
    }
    let extra = from
        .iter()
        .enumerate()
        .find(|(index, given)| field(to, &given.name, *index).is_none())?;
    Some(format!("field `{}` is not wanted", extra.1.name))
}

fn within(place: &str, from: &Type, to: &Type) -> String {
    misfit(from, to).map_or_else(
        || format!("{place} is `{from}`, expected `{to}`"),
        |deeper| format!("in {place}: {deeper}"),
    )
}
