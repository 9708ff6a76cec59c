//! Identifiers in text: paths, names, ids, numbers, urls, flags.
//!
//! They are what an agent needs again later and what a summary in prose forgets. [`scan`] finds them
//! in one pass over the bytes, without a regular expression:
//!
//! | kind | what counts |
//! |---|---|
//! | [`Path`](Kind::Path) | words joined by `/`, and file names with a well-known extension |
//! | [`Url`](Kind::Url) | `scheme://` up to white space, a quote, a bracket or a backslash |
//! | [`Email`](Kind::Email) | `local@domain.tld` |
//! | [`Flag`](Kind::Flag) | `--long-name`, and `-name` after a blank, a quote or a backtick |
//! | [`Hex`](Kind::Hex) | 7 and more of `0-9a-f` with a digit and a letter, and whole UUIDs |
//! | [`Name`](Kind::Name) | words with an inner underscore or a change of case: `snake_case`, `camelCase`, `PascalCase` |
//! | [`Number`](Kind::Number) | three digits and more |
//!
//! Identifiers do not overlap: a name inside a path is part of the path. Letters of alphabetic
//! scripts count as letters; scripts without spaces (from U+2000 on) separate, so that `在foo_bar中`
//! gives `foo_bar`.

use std::borrow::Cow;

/// The kind of an identifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A path or a file name.
    Path,
    /// A url.
    Url,
    /// An e-mail address.
    Email,
    /// A command-line flag.
    Flag,
    /// A hexadecimal id.
    Hex,
    /// A name in snake or camel case.
    Name,
    /// A number of three digits and more.
    Number,
    /// Two words joined by a dot, as in `filepath.Join`; found by [`members`] alone.
    Member,
}

/// One identifier in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Identifier<'a> {
    /// The identifier as written.
    pub text: &'a str,
    /// The kind.
    pub kind: Kind,
    /// The byte where it starts.
    pub start: usize,
}

impl Identifier<'_> {
    /// The byte after its last.
    #[must_use]
    pub const fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The identifiers in `text`, in order, without overlap.
#[must_use]
pub fn scan(text: &str) -> Scan<'_> {
    Scan {
        text,
        at: 0,
        pieces: 0,
    }
}

/// The words joined by one dot in `text` that [`scan`] does not take for file names, such as
/// `filepath.Join`, `entry.Type` and files of rare types, in order. Agents write them much as they
/// write names, and a reader who takes every such word for a file name looks for them too.
pub fn members(text: &str) -> impl Iterator<Item = Identifier<'_>> {
    const LONGEST: usize = 8;
    let bytes = text.as_bytes();
    memchr::memchr_iter(b'.', bytes).filter_map(move |dot| {
        let before = bytes.get(..dot)?;
        let after = bytes.get(dot + 1..)?;
        let name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
        let stem = before.iter().rev().take_while(name).count();
        let end = after.iter().take_while(name).count();
        let start = dot - stem;
        let beside = |at: Option<&u8>| at.is_some_and(|&byte| is_part(byte));
        let last = after.get(..end)?;
        let plain = last.iter().all(u8::is_ascii_alphabetic) && (1..=LONGEST).contains(&end);
        let alone = !beside(start.checked_sub(1).and_then(|at| bytes.get(at)))
            && !beside(
                after
                    .get(end)
                    .filter(|_| after.get(end + 1).is_some_and(|&b| is_word(b))),
            );
        let letters = bytes.get(start..dot)?.first()?.is_ascii_alphabetic();
        if !(plain && alone && letters) {
            return None;
        }
        let found = text.get(start..=dot + end)?;
        let extension = found
            .rsplit_once('.')
            .is_some_and(|(_, end)| is_extension(end));
        (!extension).then_some(Identifier {
            text: found,
            kind: Kind::Member,
            start,
        })
    })
}

/// Returns true if a byte can be part of a path or a longer dotted name.
fn is_part(byte: u8) -> bool {
    is_word(byte) || matches!(byte, b'.' | b'/' | b'-' | b'@')
}

/// The places where `identifier` stands whole in `text`: not directly beside a letter, a digit or an
/// underscore. So `foo.go` stands in `src/foo.go:12`, and `foo` does not stand in `foo_bar`.
pub fn occurrences<'t>(text: &'t str, identifier: &'t str) -> impl Iterator<Item = usize> + 't {
    let first = identifier.chars().next().is_some_and(is_word_letter);
    let last = identifier.chars().next_back().is_some_and(is_word_letter);
    memchr::memmem::find_iter(text.as_bytes(), identifier.as_bytes()).filter(move |&start| {
        let (before, rest) = text.split_at_checked(start).unwrap_or_default();
        let before = before.chars().next_back();
        let after = rest
            .get(identifier.len()..)
            .and_then(|rest| rest.chars().next());
        let glued = |inner: bool, beside: Option<char>| inner && beside.is_some_and(is_word_letter);
        !identifier.is_empty() && !glued(first, before) && !glued(last, after)
    })
}

/// Returns true if `identifier` stands whole in `text`; see [`occurrences`].
#[must_use]
pub fn mentions(text: &str, identifier: &str) -> bool {
    occurrences(text, identifier).next().is_some()
}

/// The words of a text: runs of letters, digits and underscores. Where an identifier stands whole in a text, so
/// does each of its words.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|letter| !is_word_letter(letter));
    words.filter(|word| !word.is_empty())
}

/// Undoes the escapes of JSON strings wherever they stand in `json`, so that in the arguments of a
/// tool call `"\nfoo_bar"` does not read as `nfoo_bar`. The result is for reading, not for parsing.
#[must_use]
pub fn unescaped(json: &str) -> Cow<'_, str> {
    if memchr::memchr(b'\\', json.as_bytes()).is_none() {
        return Cow::Borrowed(json);
    }
    let mut out = String::with_capacity(json.len());
    let mut rest = json;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut after = escape.chars();
        rest = match after.next() {
            Some('n' | 'r') => {
                out.push('\n');
                after.as_str()
            }
            Some('t' | 'b' | 'f') => {
                out.push('\t');
                after.as_str()
            }
            Some('u') => unescaped_unit(after.as_str(), &mut out),
            Some(plain) => {
                out.push(plain);
                after.as_str()
            }
            None => "",
        };
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Pushes the character of the four hexadecimal digits at the start of `digits` and gives the rest.
/// Halves of a surrogate pair become the replacement character.
fn unescaped_unit<'a>(digits: &'a str, out: &mut String) -> &'a str {
    let unit = digits
        .get(..4)
        .and_then(|unit| u32::from_str_radix(unit, 16).ok());
    match unit {
        Some(unit) => {
            out.push(char::from_u32(unit).unwrap_or(char::REPLACEMENT_CHARACTER));
            digits.get(4..).unwrap_or_default()
        }
        None => digits,
    }
}

/// The identifiers of a text; made by [`scan`].
#[derive(Clone, Debug)]
pub struct Scan<'a> {
    text: &'a str,
    at: usize,
    /// Up to here the run in hand is split into words; nothing is in hand where it is not above `at`.
    pieces: usize,
}

impl<'a> Iterator for Scan<'a> {
    type Item = Identifier<'a>;

    fn next(&mut self) -> Option<Identifier<'a>> {
        loop {
            if self.at < self.pieces {
                if let Some(found) = self.next_piece() {
                    return Some(found);
                }
                continue;
            }
            let (start, end, bits) = self.next_run()?;
            let end = self.before_line_number(start, end, bits);
            if let Some(found) = self.classify(start, end, bits) {
                return Some(found);
            }
        }
    }
}

const LOWER: u8 = 1;
const UPPER: u8 = 2;
const DIGIT: u8 = 4;
const UNDER: u8 = 8;
const SLASH: u8 = 16;
const DOT: u8 = 32;
const DASH: u8 = 64;
const AT: u8 = 128;
const WORD: u8 = LOWER | UPPER | DIGIT | UNDER;

/// The class of every byte. Letters above ASCII count as lower case; their lead bytes 0xC3 to 0xE1
/// cover U+00C0 to U+1FFF.
const CLASS: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::indexing_slicing,
            reason = "byte is below 256"
        )]
        {
            table[byte] = match byte as u8 {
                b'a'..=b'z' | 0xC3..=0xE1 => LOWER,
                b'A'..=b'Z' => UPPER,
                b'0'..=b'9' => DIGIT,
                b'_' => UNDER,
                b'/' | b'~' => SLASH,
                b'.' => DOT,
                b'-' => DASH,
                b'@' => AT,
                _ => 0,
            };
        }
        byte += 1;
    }
    table
};

fn class(byte: u8) -> u8 {
    CLASS.get(usize::from(byte)).copied().unwrap_or(0)
}

fn is_word(byte: u8) -> bool {
    class(byte) & WORD != 0
}

/// The same for a character as [`is_word`] for its lead byte.
fn is_word_letter(letter: char) -> bool {
    let mut bytes = [0; 4];
    is_word(
        letter
            .encode_utf8(&mut bytes)
            .as_bytes()
            .first()
            .copied()
            .unwrap_or(b' '),
    )
}

/// The bytes of the character that starts with `lead`.
const fn width(lead: u8) -> usize {
    match lead {
        0..=0xBF => 1,
        0xC0..=0xDF => 2,
        0xE0..=0xEF => 3,
        0xF0..=0xFF => 4,
    }
}

impl<'a> Scan<'a> {
    fn found(&self, start: usize, end: usize, kind: Kind) -> Option<Identifier<'a>> {
        let text = self.text.get(start..end)?;
        Some(Identifier { text, kind, start })
    }

    fn slice(&self, start: usize, end: usize) -> &'a str {
        self.text.get(start..end).unwrap_or_default()
    }

    fn byte(&self, at: usize) -> u8 {
        self.text.as_bytes().get(at).copied().unwrap_or(b' ')
    }

    /// The next run of characters that can be part of an identifier, with the classes in it.
    fn next_run(&mut self) -> Option<(usize, usize, u8)> {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        while class(*bytes.get(start)?) == 0 {
            start += width(self.byte(start));
        }
        let mut end = start;
        let mut bits = 0;
        while let Some(&byte) = bytes.get(end) {
            let found = class(byte);
            if found == 0 {
                break;
            }
            bits |= found;
            end += width(byte);
        }
        self.at = end;
        self.pieces = end;
        Some((start, end, bits))
    }

    /// The end of the file name in what `grep` prints for a line of context, `src/lib.rs-12-fn main`; else `end`.
    fn before_line_number(&mut self, start: usize, end: usize, bits: u8) -> usize {
        /// The most digits of a line number; `app.log-20240131` is a file name.
        const DIGITS: usize = 5;
        let needed = DOT | DASH | DIGIT;
        if bits & needed != needed {
            return end;
        }
        let run = self.slice(start, end);
        let is_file = |&(at, _): &(usize, &str)| {
            let (name, rest) = run.split_at_checked(at).unwrap_or_default();
            let rest = rest.trim_start_matches('-');
            let number = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
            let digits = rest.len() - number.len();
            let extension = name.rsplit_once('.').map_or("", |(_, it)| it);
            is_extension(extension)
                && (1..=DIGITS).contains(&digits)
                && (number.is_empty() || number.starts_with('-'))
        };
        let Some((at, _)) = run.match_indices('-').find(is_file) else {
            return end;
        };
        self.at = start + at;
        self.pieces = self.at;
        self.at
    }

    /// Classifies a whole run. If it is of no kind as a whole, its words are classified next.
    fn classify(&mut self, start: usize, end: usize, bits: u8) -> Option<Identifier<'a>> {
        if bits & !WORD == 0 {
            if self.byte(end) == b':' && self.slice(end, end + 3) == "://" {
                return self.url(start, end);
            }
            return word(self.slice(start, end), bits)
                .and_then(|kind| self.found(start, end, kind));
        }
        self.at = start;
        if bits & DASH != 0
            && let Some(flag_end) = self.flag_end(start, end)
        {
            self.at = flag_end;
            return self.found(start, flag_end, Kind::Flag);
        }
        let (from, to) = self.trimmed(start, end);
        let run = self.slice(from, to);
        let kind = if bits & AT != 0 && is_email(run) {
            Some(Kind::Email)
        } else if (bits & SLASH != 0 && is_path(run)) || (bits & DOT != 0 && self.is_file(run, to))
        {
            Some(Kind::Path)
        } else if bits & (DASH | DIGIT) == DASH | DIGIT && is_uuid(run) {
            Some(Kind::Hex)
        } else {
            None
        };
        if kind.is_some() {
            self.at = end;
        }
        self.found(from, to, kind?)
    }

    /// The next word of a run that is no identifier as a whole.
    fn next_piece(&mut self) -> Option<Identifier<'a>> {
        let bytes = self.text.as_bytes();
        let mut start = self.at;
        while start < self.pieces && !is_word(self.byte(start)) {
            start += 1;
        }
        let mut end = start;
        let mut bits = 0;
        while end < self.pieces {
            let byte = bytes.get(end).copied().unwrap_or(b' ');
            if !is_word(byte) {
                break;
            }
            bits |= class(byte);
            end += width(byte);
        }
        self.at = end.max(self.at + 1);
        word(self.slice(start, end), bits).and_then(|kind| self.found(start, end, kind))
    }

    fn url(&mut self, start: usize, scheme: usize) -> Option<Identifier<'a>> {
        let rest = self.slice(scheme, self.text.len());
        let stop = |character: char| {
            character.is_whitespace()
                || "\"'`<>()[]{}|\\".contains(character)
                || character >= '\u{2000}'
        };
        let length = rest.find(stop).unwrap_or(rest.len());
        let url = rest.get(..length).unwrap_or_default();
        let end = scheme
            + url
                .trim_end_matches(['.', ',', ';', ':', '!', '?', '*', '/'])
                .len();
        self.at = scheme + length;
        self.pieces = self.at;
        (end > scheme + 3)
            .then(|| self.found(start, end, Kind::Url))
            .flatten()
    }

    /// The end of the flag that starts at `start`. A single dash counts only after a blank, a quote
    /// or a backtick: at the start of a line it is a removed line of a diff.
    fn flag_end(&self, start: usize, end: usize) -> Option<usize> {
        let run = self.slice(start, end);
        let name = run.strip_prefix("--").or_else(|| {
            let before = self.byte(start.wrapping_sub(1));
            let separate = start > 0 && matches!(before, b' ' | b'\'' | b'"' | b'`');
            run.strip_prefix('-').filter(|_| separate)
        })?;
        if !name.starts_with(|first: char| first.is_ascii_alphabetic()) {
            return None;
        }
        let length = name
            .find(|inner: char| !inner.is_ascii_alphanumeric() && inner != '-' && inner != '_')
            .unwrap_or(name.len());
        let (name, rest) = name.split_at_checked(length)?;
        // `-aé` is a word of another script, not the flag `-a`.
        if rest.chars().next().is_some_and(is_word_letter) {
            return None;
        }
        let name = name.trim_end_matches('-');
        Some(start + (run.len() - run.trim_start_matches('-').len()) + name.len())
    }

    /// The run without the punctuation around it: `./a/b.` is `./a/b`, `//comment` is `comment`.
    fn trimmed(&self, start: usize, end: usize) -> (usize, usize) {
        let run = self.slice(start, end);
        let mut inner = run.trim_start_matches('-');
        if inner.starts_with("//") || inner.starts_with("...") {
            inner = inner.trim_start_matches(['/', '.']);
        }
        let from = end - inner.len();
        (
            from,
            from + inner.trim_end_matches(['.', '/', '-', '@', '~']).len(),
        )
    }

    fn is_file(&self, run: &str, end: usize) -> bool {
        if run.contains('/') {
            return false;
        }
        let Some((stem, extension)) = run.rsplit_once('.') else {
            return false;
        };
        if stem.is_empty() {
            // `.gitignore` is a file; `.unwrap(` at the start of a line is not.
            return self.byte(end) != b'(' && DOTFILES.contains(&extension);
        }
        stem.bytes().any(|byte| class(byte) & (LOWER | UPPER) != 0)
            && self.byte(end) != b'('
            && is_extension(extension)
    }
}

/// The kind of a word without punctuation.
fn word(text: &str, bits: u8) -> Option<Kind> {
    if bits & DIGIT != 0 {
        if bits == DIGIT {
            return (text.len() >= 3).then_some(Kind::Number);
        }
        let hexadecimal = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        if bits == DIGIT | LOWER && text.len() >= 7 && text.bytes().all(hexadecimal) {
            return Some(Kind::Hex);
        }
    }
    let letters = bits & (LOWER | UPPER) != 0;
    let snake = bits & UNDER != 0 && letters && text.trim_matches('_').contains('_');
    let camel = bits & LOWER != 0 && bits & UPPER != 0 && has_hump(text.as_bytes());
    (snake || camel).then_some(Kind::Name)
}

/// Returns true if a word changes from lower to upper case, or from an acronym to a word (`HTTPServer`, but
/// not the plural `APIs`).
fn has_hump(word: &[u8]) -> bool {
    word.windows(2).any(|pair| match pair {
        [first, second] => class(*first) & (LOWER | DIGIT) != 0 && class(*second) == UPPER,
        _ => false,
    }) || word.windows(4).any(|four| match four {
        [a, b, c, d] => {
            class(*a) == UPPER && class(*b) == UPPER && class(*c) == LOWER && class(*d) == LOWER
        }
        _ => false,
    })
}

fn is_email(run: &str) -> bool {
    let Some((local, domain)) = run.split_once('@') else {
        return false;
    };
    let plain = |text: &str| !text.contains(['/', '@', '~']) && !text.starts_with('.');
    !local.is_empty()
        && plain(local)
        && plain(domain)
        && domain.rsplit_once('.').is_some_and(|(_, top)| {
            top.len() >= 2 && top.bytes().all(|byte| byte.is_ascii_alphabetic())
        })
}

/// Returns true if a run with slashes is a path. `and/or`, `1/2` and `n/a` are not: a path that does not say
/// by its form that it is one needs segments of three characters and more.
fn is_path(run: &str) -> bool {
    if !run.contains('/') || run.contains("//") {
        return false;
    }
    let segments = || run.split('/').filter(|segment| !segment.is_empty());
    let letters = run.bytes().any(|byte| class(byte) & (LOWER | UPPER) != 0);
    let anchored = run.starts_with(['/', '.', '~', '@']);
    let file = run
        .rsplit_once('.')
        .is_some_and(|(_, end)| is_extension(end));
    letters
        && (anchored && run.len() >= 3
            || file
            || segments().count() >= 3
            || segments().count() == 2 && segments().all(|segment| segment.len() >= 3))
}

fn is_uuid(run: &str) -> bool {
    run.len() == 36
        && run.split('-').map(str::len).eq([8, 4, 4, 4, 12])
        && run
            .bytes()
            .all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

fn is_extension(text: &str) -> bool {
    EXTENSIONS.binary_search(&text).is_ok()
}

/// Extensions by which a word with a dot is taken for a file name, sorted. Others (`fmt.Println`,
/// `e.g`) are not.
const EXTENSIONS: &[&str] = &[
    "1",
    "avif",
    "bak",
    "bash",
    "bat",
    "bin",
    "bz2",
    "c",
    "cc",
    "cfg",
    "cjs",
    "class",
    "clj",
    "cmake",
    "conf",
    "cpp",
    "crt",
    "cs",
    "css",
    "csv",
    "cts",
    "d",
    "dart",
    "db",
    "dll",
    "dockerfile",
    "dylib",
    "ejs",
    "env",
    "erb",
    "erl",
    "ex",
    "exe",
    "exs",
    "fish",
    "gif",
    "git",
    "go",
    "gql",
    "gradle",
    "graphql",
    "gz",
    "h",
    "hbs",
    "hcl",
    "hpp",
    "hs",
    "htm",
    "html",
    "ico",
    "ini",
    "ipynb",
    "jar",
    "java",
    "jpeg",
    "jpg",
    "js",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "jsx",
    "key",
    "kt",
    "less",
    "lock",
    "log",
    "lua",
    "m",
    "map",
    "md",
    "mdx",
    "mjs",
    "mk",
    "ml",
    "mod",
    "mov",
    "mp3",
    "mp4",
    "mts",
    "nix",
    "o",
    "orig",
    "out",
    "patch",
    "pdf",
    "pem",
    "php",
    "pl",
    "plist",
    "plumb",
    "png",
    "proto",
    "ps1",
    "py",
    "pyc",
    "pyi",
    "r",
    "rb",
    "rs",
    "rst",
    "sass",
    "scala",
    "scss",
    "sh",
    "snap",
    "so",
    "sql",
    "sqlite",
    "sum",
    "svelte",
    "svg",
    "swift",
    "tar",
    "tf",
    "tgz",
    "tmp",
    "tmpl",
    "toml",
    "traj",
    "ts",
    "tsv",
    "tsx",
    "ttf",
    "txt",
    "vue",
    "wasm",
    "wav",
    "webp",
    "woff",
    "woff2",
    "xml",
    "yaml",
    "yml",
    "zig",
    "zip",
    "zsh",
];

/// File names that begin with a dot.
const DOTFILES: &[&str] = &[
    "bashrc",
    "claude",
    "dockerignore",
    "editorconfig",
    "env",
    "eslintrc",
    "git",
    "gitattributes",
    "gitconfig",
    "github",
    "gitignore",
    "gitmodules",
    "npmrc",
    "nvmrc",
    "prettierrc",
    "profile",
    "vscode",
    "zshrc",
];

#[cfg(test)]
mod tests;
