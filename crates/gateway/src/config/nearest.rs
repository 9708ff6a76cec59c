//! Suggestions for unknown names.

/// Returns the closest name, if one is close: at most a third of its letters differ, or it is the only one
/// with the same last segment.
pub(super) fn nearest<'a>(
    meant: &str,
    names: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let last = |name: &str| name.rsplit('.').next().unwrap_or(name).to_owned();
    let by_end = {
        let mut same = names.clone().filter(|name| last(name) == last(meant));
        same.next().filter(|_| same.next().is_none())
    };
    by_end.or_else(|| {
        names
            .map(|name| (distance(meant, name), name))
            .filter(|(distance, name)| distance * 3 <= name.chars().count())
            .min_by_key(|(distance, _)| *distance)
            .map(|(_, name)| name)
    })
}

/// The Levenshtein distance (1966).
fn distance(one: &str, two: &str) -> usize {
    let two: Vec<char> = two.chars().collect();
    let mut row: Vec<usize> = (0..=two.len()).collect();
    for (line, letter) in one.chars().enumerate() {
        let mut next = vec![line + 1];
        for ((other, diagonal), above) in two.iter().zip(&row).zip(row.iter().skip(1)) {
            let replaced = diagonal + usize::from(*other != letter);
            let left = next.last().copied().unwrap_or(usize::MAX - 1);
            next.push(replaced.min(above + 1).min(left + 1));
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::{distance, nearest};

    #[test]
    fn distances() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
        assert_eq!(distance("same", "same"), 0);
    }

    #[test]
    fn the_nearest_where_one_is_near() {
        let names = ["policy.window", "policy.route", "limits.body"];
        let meant = |name| nearest(name, names.into_iter());
        assert_eq!(meant("policy.windw"), Some("policy.window"));
        assert_eq!(meant("window"), Some("policy.window"));
        assert_eq!(meant("colour"), None);
    }
}
