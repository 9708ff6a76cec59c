//! The known word that was probably meant.

/// The candidate that is nearest to `word`, if one is near enough: one slip of the fingers in three letters,
/// counted as insertions, deletions, substitutions and swaps of neighbors.
#[must_use]
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .filter(|candidate| *candidate != word)
        .map(|candidate| (strsim::osa_distance(word, candidate), candidate))
        .filter(|(distance, candidate)| {
            let letters = word.chars().count().max(candidate.chars().count());
            *distance <= (letters / 3).clamp(1, 4) && *distance < letters
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let words = ["spawn", "let", "type", "protocol"];
        assert_eq!(nearest("spwan", words), Some("spawn"));
        assert_eq!(nearest("lett", words), Some("let"));
        assert_eq!(nearest("protcl", words), Some("protocol"));
        assert_eq!(nearest("judge", words), None);
        assert_eq!(nearest("spawn", words), None);
        assert_eq!(nearest("x", ["y"]), None);
    }
}
