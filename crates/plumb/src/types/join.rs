//! The type of what comes from two places.

use super::{Fit, Type, fits, overlap};

/// Two variants that have a value in common, so that no sum can hold both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joint {
    /// One type.
    pub one: Type,
    /// The other.
    pub other: Type,
    /// A value that is of both, as JSON.
    pub value: String,
}

/// The type of a stream that two streams are merged to: the wider one where one fits the other, else their
/// sum.
///
/// # Errors
/// If two variants have a value in common and neither fits the other.
pub fn join(a: &Type, b: &Type) -> Result<Type, Joint> {
    if fits(a, b) == Fit::Always {
        return Ok(if matches!(b, Type::Unknown) { a } else { b }.clone());
    }
    if fits(b, a) == Fit::Always {
        return Ok(a.clone());
    }
    let mut variants: Vec<Type> = a.variants().to_vec();
    for variant in b.variants() {
        if variants
            .iter()
            .any(|held| fits(variant, held) == Fit::Always)
        {
            continue;
        }
        variants.retain(|held| fits(held, variant) != Fit::Always);
        if let Some((held, value)) = variants
            .iter()
            .find_map(|held| Some((held, overlap(held, variant)?)))
        {
            return Err(Joint {
                one: held.clone(),
                other: variant.clone(),
                value,
            });
        }
        variants.push(variant.clone());
    }
    Ok(Type::of_variants(variants))
}
