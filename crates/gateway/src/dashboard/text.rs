//! Conversation text on pages: on one line, or folded.

use context::{figures, visible};

/// Returns the text on one line of at most `limit` characters, with `…` if it was cut.
#[must_use]
pub fn one_line(text: &str, limit: usize) -> String {
    let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let line = visible(&joined);
    match line.char_indices().nth(limit) {
        Some((end, _)) => {
            let mut cut = line.get(..end).unwrap_or_default().to_owned();
            cut.push('…');
            cut
        }
        None => line,
    }
}

/// A text of which a page shows the beginning and folds the rest.
#[derive(Debug)]
pub struct Folded {
    pub head: String,
    pub rest: String,
    pub rest_size: String,
    /// The size of what the page leaves out behind that, or empty.
    pub left_out: String,
}

impl Folded {
    /// Shows about `shown` characters, and has at most `most` on the page.
    pub fn new(text: &str, shown: usize, most: usize) -> Self {
        let end = text.char_indices().nth(most).map(|(end, _)| end);
        let kept = end.and_then(|end| text.get(..end)).unwrap_or(text);
        let (head, rest) = folded(kept, shown);
        Self {
            head,
            rest_size: figures::bytes(rest.len() as u64),
            rest,
            left_out: match text.len() - kept.len() {
                0 => String::new(),
                bytes => figures::bytes(bytes as u64),
            },
        }
    }
}

/// Splits a text near `limit` characters, at a line break if there is one. The rest is empty if the text is
/// not much longer than the limit.
fn folded(text: &str, limit: usize) -> (String, String) {
    let text = visible(text);
    let Some((end, _)) = text.char_indices().nth(limit) else {
        return (text, String::new());
    };
    if text.len() <= end + end / 4 {
        return (text, String::new());
    }
    let head = text.get(..end).unwrap_or_default();
    let cut = match head.rfind('\n') {
        Some(line) if line > end / 2 => line + 1,
        _ => end,
    };
    let (head, rest) = text.split_at(cut);
    (head.to_owned(), rest.to_owned())
}

#[cfg(test)]
mod tests {
    use super::{folded, one_line};

    #[test]
    fn lines_are_cut_at_characters() {
        assert_eq!(one_line(" a \n b\r\nc ", 10), "a b c");
        assert_eq!(one_line("ααββ", 2), "αα…");
        assert_eq!(one_line("ααββ", 4), "ααββ");
    }

    #[test]
    fn long_texts_fold_at_a_line_and_lose_nothing() {
        let text = "0123456\n89 and on it goes\n";
        let (head, rest) = folded(text, 10);
        assert_eq!(head, "0123456\n");
        assert_eq!(format!("{head}{rest}"), text);
        assert_eq!(
            folded("0123456789ab", 10),
            ("0123456789ab".to_owned(), String::new())
        );
        assert_eq!(folded("", 10), (String::new(), String::new()));
    }
}
