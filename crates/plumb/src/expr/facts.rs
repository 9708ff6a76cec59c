//! Flow typing: facts about the message if an expression is true or false.

use crate::syntax::ast::{Binary, Expr, ExprKind, Function};
use crate::types::{Fit, Presence, Type, fits, join, overlap};

use super::place::{FieldPath, Found, Step, place, step, with};
use super::typer::Typer;

/// At this place there is a value, and of this type.
pub(super) type Fact = (FieldPath, Type);

/// The outcome of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    True,
    False,
}

/// Facts if an expression is true, and facts if it is false. Of two facts about one place, the later is more
/// precise.
#[derive(Debug, Default)]
pub(super) struct Facts {
    pub yes: Vec<Fact>,
    pub no: Vec<Fact>,
}

impl Facts {
    /// Facts of `not e`.
    pub(super) fn negated(self) -> Self {
        Self {
            yes: self.no,
            no: self.yes,
        }
    }

    /// Facts of `left && right`; the facts of `right` assume that `left` is true.
    pub(super) fn and(self, right: Self) -> Self {
        let no = either(&self.no, &both(self.yes.clone(), right.no));
        Self {
            yes: both(self.yes, right.yes),
            no,
        }
    }

    /// Facts of `left || right`; the facts of `right` assume that `left` is false.
    pub(super) fn or(self, right: Self) -> Self {
        self.negated().and(right.negated()).negated()
    }
}

/// The conjunction of two lists of facts.
fn both(mut one: Vec<Fact>, more: Vec<Fact>) -> Vec<Fact> {
    one.retain(|(place, _)| latest(&more, place).is_none());
    one.extend(more);
    one
}

impl Typer<'_> {
    /// The messages that are left where these facts hold.
    pub(super) fn kept(&self, mut facts: Vec<Fact>) -> Type {
        facts.sort_by_key(|(place, _)| place.len());
        let mut kind = self.message.clone();
        for (place, known) in facts {
            kind = with(&kind, &place, &known);
        }
        kind
    }

    /// Facts of an expression other than `&&`, `||` and `not`.
    pub(super) fn facts(&mut self, expr: &Expr) -> Facts {
        Facts {
            yes: self.fact(expr, Truth::True),
            no: self.fact(expr, Truth::False),
        }
    }

    fn fact(&mut self, expr: &Expr, outcome: Truth) -> Vec<Fact> {
        match &expr.kind {
            ExprKind::Call(Function::Defined, arguments) => arguments
                .first()
                .and_then(place)
                .map_or_else(Vec::new, |place| self.defined(&place, outcome)),
            ExprKind::Is(inner, kind) => {
                let kind = (self.resolve)(kind);
                let mut facts = self.read(inner);
                if let Some(place) = place(inner) {
                    facts.extend(self.of_kind(&place, &kind, outcome, &facts));
                }
                facts
            }
            ExprKind::Binary(op @ (Binary::Equal | Binary::Unequal), left, right) => {
                let mut facts = self.read(expr);
                let equal = (*op == Binary::Equal) == (outcome == Truth::True);
                let outcome = if equal { Truth::True } else { Truth::False };
                for (one, other) in [(left, right), (right, left)] {
                    if let (Some(place), Some(kind)) = (place(one), literal(other)) {
                        facts.extend(self.equal(&place, &kind, outcome, &facts));
                    }
                }
                facts
            }
            _ => self.read(expr),
        }
    }

    /// Facts of `defined`: the place exists, or it is missing. A place that exists has all that leads to it; if it
    /// is missing, so may be what leads to it, and then nothing is known.
    fn defined(&self, place: &FieldPath, outcome: Truth) -> Vec<Fact> {
        let Some((last, base)) = place.split_last() else {
            return Vec::new();
        };
        let Some(mut whole) = self.at(base) else {
            return Vec::new();
        };
        let mut facts = match outcome {
            Truth::True => self.parents(base),
            Truth::False if self.is_there(base) => Vec::new(),
            Truth::False => return Vec::new(),
        };
        if let Type::Sum(variants) = &whole {
            let may = |variant: &&Type| {
                !matches!(
                    (step(variant, last), outcome),
                    (Found::Nowhere, Truth::True)
                        | (Found::There(Presence::Required, _), Truth::False)
                )
            };
            let left: Vec<Type> = variants.iter().filter(may).cloned().collect();
            whole = Type::of_variants(left);
            facts.push((base.to_vec(), whole.clone()));
        }
        if outcome == Truth::True {
            match step(&whole, last) {
                Found::Nowhere => {}
                Found::Dynamic => facts.push((place.clone(), Type::Json)),
                Found::There(_, kind) => facts.push((place.clone(), kind)),
            }
        }
        facts
    }

    /// The places on the way to a place and it itself, as facts, except those that are known to exist.
    fn parents(&self, place: &[Step]) -> Vec<Fact> {
        let ways = (1..=place.len()).filter_map(|length| place.get(..length));
        let ways = ways.filter(|way| !self.is_there(way));
        ways.filter_map(|way| Some((way.to_vec(), self.at(way)?)))
            .collect()
    }

    /// Returns true if every message has this place, as far as is known here.
    fn is_there(&self, place: &[Step]) -> bool {
        if latest(&self.known, place).is_some() {
            return true;
        }
        let Some((last, base)) = place.split_last() else {
            return true;
        };
        let whole = self.is_there(base).then(|| self.at(base)).flatten();
        whole.is_some_and(|whole| matches!(step(&whole, last), Found::There(Presence::Required, _)))
    }

    /// In a selector whatever was read was there.
    fn read(&mut self, expr: &Expr) -> Vec<Fact> {
        let mut facts = Vec::new();
        if self.lenient() {
            let mut places = Vec::new();
            reads(expr, &mut places);
            let known = self.known.len();
            for place in places {
                let more = self.defined(&place, Truth::True);
                self.known.extend(more.iter().cloned());
                facts.extend(more);
            }
            self.known.truncate(known);
        }
        facts
    }

    fn of_kind(&self, place: &FieldPath, kind: &Type, outcome: Truth, facts: &[Fact]) -> Vec<Fact> {
        let Some(here) = latest(facts, place).or_else(|| self.at(place)) else {
            return Vec::new();
        };
        let left = match outcome {
            Truth::True => common(&here, kind),
            Truth::False => without(&here, |variant| fits(variant, kind) == Fit::Always),
        };
        vec![(place.clone(), left)]
    }

    /// Facts of a comparison with a literal, about the place and the variants of the value around it.
    fn equal(&self, place: &FieldPath, kind: &Type, outcome: Truth, facts: &[Fact]) -> Vec<Fact> {
        let mut more = Vec::new();
        if let Some((last, base)) = place.split_last()
            && let Some(whole @ Type::Sum(_)) = latest(facts, base).or_else(|| self.at(base))
        {
            let left = without(&whole, |variant| match (step(variant, last), outcome) {
                (Found::There(_, part), Truth::True) => {
                    !matches!(part, Type::Json) && overlap(&part, kind).is_none()
                }
                (Found::There(Presence::Required, part), Truth::False) => single(&part, kind),
                _ => false,
            });
            more.push((base.to_vec(), left));
        }
        let known = latest(facts, place).or_else(|| self.at(place));
        if let Some(here @ Type::Sum(_)) = known {
            let left = without(&here, |variant| match outcome {
                Truth::True => overlap(variant, kind).is_none(),
                Truth::False => single(variant, kind),
            });
            more.push((place.clone(), left));
        }
        more
    }

    /// The type of what is at a place that was read before; `None` if nothing is known of it.
    pub(super) fn at(&self, place: &[Step]) -> Option<Type> {
        if let Some(kind) = latest(&self.known, place) {
            return Some(kind);
        }
        let Some((last, base)) = place.split_last() else {
            return Some(self.message.clone());
        };
        match step(&self.at(base)?, last) {
            Found::Nowhere => None,
            Found::Dynamic => Some(Type::Json),
            Found::There(_, kind) => Some(kind),
        }
    }
}

/// The newest fact about a place.
pub(super) fn latest(facts: &[Fact], place: &[Step]) -> Option<Type> {
    let mut newest = facts.iter().rev();
    let (_, kind) = newest.find(|(known, _)| known == place)?;
    Some(kind.clone())
}

/// The disjunction of two lists of facts.
fn either(one: &[Fact], other: &[Fact]) -> Vec<Fact> {
    let mut facts: Vec<Fact> = Vec::new();
    for (place, _) in one {
        if latest(&facts, place).is_some() {
            continue;
        }
        if let (Some(a), Some(b)) = (latest(one, place), latest(other, place))
            && let Ok(kind) = join(&a, &b)
        {
            facts.push((place.clone(), kind));
        }
    }
    facts
}

/// The values of a type that may be of another as well.
fn common(here: &Type, kind: &Type) -> Type {
    if matches!(here, Type::Json) || fits(kind, here) == Fit::Always {
        return kind.clone();
    }
    let mut left = Vec::new();
    for variant in here.variants() {
        if fits(variant, kind) == Fit::Always {
            left.push(variant.clone());
        } else if overlap(variant, kind).is_some() {
            let narrower = fits(kind, variant) == Fit::Always;
            left.push(if narrower { kind } else { variant }.clone());
        }
    }
    if left.iter().any(|variant| matches!(variant, Type::Sum(_))) {
        return here.clone();
    }
    Type::of_variants(left)
}

fn without(kind: &Type, out: impl Fn(&Type) -> bool) -> Type {
    let variants = kind.variants().iter();
    Type::of_variants(variants.filter(|variant| !out(variant)).cloned().collect())
}

/// Returns true if both types are the same single value.
fn single(a: &Type, b: &Type) -> bool {
    matches!(a, Type::Literal(_) | Type::Unit) && a == b
}

/// The type of a literal that is a single value, or tells types apart.
fn literal(expr: &Expr) -> Option<Type> {
    match &expr.kind {
        ExprKind::Null => Some(Type::Unit),
        ExprKind::Bool(_) => Some(Type::Bool),
        ExprKind::Number(_) => Some(Type::Number),
        ExprKind::Text(text) => Some(Type::Literal(text.clone())),
        _ => None,
    }
}

/// The places that are read whatever the values are.
fn reads(expr: &Expr, places: &mut Vec<FieldPath>) {
    if let Some(place) = place(expr) {
        if let ExprKind::Field(base, _) | ExprKind::Part(base, _) = &expr.kind {
            reads(base, places);
        }
        places.push(place);
        return;
    }
    let parts = expr.parts();
    let always = match &expr.kind {
        // The rest depends on the first.
        ExprKind::Binary(Binary::And | Binary::Or, ..) | ExprKind::If(..) => 1,
        ExprKind::Call(Function::Defined, _) => 0,
        _ => parts.len(),
    };
    for part in parts.into_iter().take(always) {
        reads(part, places);
    }
}
