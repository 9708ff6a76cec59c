//! Suggestions for unknown names.

/// Returns the closest name, if one is close: at most a third of its letters differ, or it is the only one
/// with the same last segment.
#[must_use]
pub fn nearest<'a>(meant: &str, names: impl Iterator<Item = &'a str> + Clone) -> Option<&'a str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let by_end = {
        let mut same = names.clone().filter(|name| last(name) == last(meant));
        same.next().filter(|_| same.next().is_none())
    };
    by_end.or_else(|| {
        names
            .map(|name| (strsim::levenshtein(meant, name), name))
            .filter(|(distance, name)| distance * 3 <= name.chars().count())
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, name)| name)
    })
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn the_nearest_where_one_is_near() {
        let names = ["policy.window", "policy.route", "limits.body"];
        let meant = |name| nearest(name, names.into_iter());
        assert_eq!(meant("policy.windw"), Some("policy.window"));
        assert_eq!(meant("window"), Some("policy.window"));
        assert_eq!(meant("colour"), None);
    }
}
