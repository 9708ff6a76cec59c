//! The size of a type. Aliases and inference can build types far larger than their source text.

use super::Type;

/// The most parts that a type may have, written out.
pub const LARGEST: usize = 4_096;

/// The deepest that a type may be nested.
const DEEPEST: usize = 128;

/// The number of parts of an expanded type; `None` if it exceeds [`LARGEST`] or a depth of 128.
#[must_use]
pub fn measured(kind: &Type) -> Option<usize> {
    let mut left = LARGEST;
    walk(kind, &mut left, DEEPEST)?;
    Some(LARGEST - left)
}

fn walk(kind: &Type, left: &mut usize, deep: usize) -> Option<()> {
    *left = left.checked_sub(1)?;
    let deep = deep.checked_sub(1)?;
    match kind {
        Type::Record(fields) => fields
            .iter()
            .try_for_each(|field| walk(&field.kind, left, deep)),
        Type::List(item) => walk(item, left, deep),
        Type::Sum(parts) | Type::Product(parts) => {
            parts.iter().try_for_each(|part| walk(part, left, deep))
        }
        _ => Some(()),
    }
}
