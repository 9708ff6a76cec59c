//! The type of failures as data.

use super::{Field, Fit, Type, fits};

/// `Failed`: `{ error: string, code: string, attempts: int }`. `error` says what happened, `code` is the word
/// that identifies it, and `attempts` is the number of answers that were tried.
#[must_use]
pub fn failed() -> Type {
    Type::record(vec![
        Field::required("error", Type::Text),
        Field::required("code", Type::Text),
        Field::required("attempts", Type::Int),
    ])
}

/// The rest of a sum that has [`failed`] among its variants; `None` for any other type.
#[must_use]
pub fn without_failed(kind: &Type) -> Option<Type> {
    let Type::Sum(variants) = kind else {
        return None;
    };
    let failed = failed();
    let is_failed =
        |it: &Type| fits(it, &failed) == Fit::Always && fits(&failed, it) == Fit::Always;
    let rest: Vec<Type> = variants
        .iter()
        .filter(|it| !is_failed(it))
        .cloned()
        .collect();
    (rest.len() < variants.len()).then(|| Type::of_variants(rest))
}

#[cfg(test)]
mod tests {
    use super::{failed, without_failed};
    use crate::types::Type;

    #[test]
    fn a_sum_with_failures_has_a_rest() {
        let both = Type::Sum(vec![Type::Int, failed()].into());
        assert_eq!(without_failed(&both), Some(Type::Int));
        let three = Type::Sum(vec![Type::Int, failed(), Type::Text].into());
        let rest = Type::Sum(vec![Type::Int, Type::Text].into());
        assert_eq!(without_failed(&three), Some(rest.clone()));
        assert_eq!(without_failed(&rest), None);
        assert_eq!(without_failed(&Type::Json), None);
    }
}
