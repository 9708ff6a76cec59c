//! Sentences of a line, in any script.

/// The sentences of a line with their places. A mark ends a sentence before white space, where what follows does
/// not go on in lower case and the word before is no abbreviation; marks of Chinese and Japanese always do.
pub(crate) fn sentences(line: &str) -> Vec<(usize, &str)> {
    let mut out = Vec::new();
    let mut start = 0;
    for (at, mark) in line.char_indices() {
        let end = at + mark.len_utf8();
        let rest = line.get(end..).unwrap_or_default();
        let is_end = match mark {
            '。' | '！' | '？' => true,
            '.' | '!' | '?' | '।' | '؟' | '۔' => {
                let next = rest.trim_start().chars().next();
                rest.starts_with(char::is_whitespace)
                    && !next.is_some_and(char::is_lowercase)
                    && !is_abbreviation(line.get(start..at).unwrap_or_default())
            }
            _ => false,
        };
        if is_end {
            add(&mut out, line, start, end);
            start = end;
        }
    }
    add(&mut out, line, start, line.len());
    out
}

fn add<'l>(out: &mut Vec<(usize, &'l str)>, line: &'l str, start: usize, end: usize) {
    let text = line.get(start..end).unwrap_or_default();
    let skipped = text.len() - text.trim_start().len();
    if !text.trim().is_empty() {
        out.push((start + skipped, text.trim()));
    }
}

/// Returns true if what stands before a dot is a single letter, a number, or has a dot itself (`z.B`).
fn is_abbreviation(before: &str) -> bool {
    let word = before
        .rsplit(char::is_whitespace)
        .next()
        .unwrap_or_default();
    let word = word.trim_start_matches(['(', '"', '\'', '*', '_', '`']);
    word.chars().count() <= 1
        || word.chars().all(|digit| digit.is_ascii_digit())
        || (word.contains('.') && word.len() <= 5)
}
