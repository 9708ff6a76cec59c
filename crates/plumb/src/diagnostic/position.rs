//! Bytes of a text as lines and columns, the way editors count them.

/// A place in a text, as the language server protocol counts: from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 0.
    pub line: u32,
    /// The column in UTF-16 units, from 0.
    pub character: u32,
}

/// The offsets of the lines of a text.
#[derive(Clone, Debug)]
pub struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    /// The lines of a text. They end at `\n`; a `\r` before it belongs to the line.
    #[must_use]
    pub fn new(text: &'a str) -> Self {
        let behind = text.match_indices('\n').map(|(at, _)| at + 1);
        Self {
            text,
            starts: std::iter::once(0).chain(behind).collect(),
        }
    }

    /// The position of a byte. An offset beyond the end of the text counts as the end; one within a character
    /// counts as its start.
    #[must_use]
    pub fn position(&self, byte: usize) -> Position {
        let byte = self.text.floor_char_boundary(byte);
        let line = self
            .starts
            .partition_point(|start| *start <= byte)
            .saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or(0);
        let before = self.text.get(start..byte).unwrap_or_default();
        Position {
            line: number(line),
            character: number(before.encode_utf16().count()),
        }
    }

    /// The byte of a place; beyond the end of its line it is that end, beyond the last line the end of the
    /// text.
    #[must_use]
    pub fn byte(&self, position: Position) -> usize {
        let Some(start) = self.starts.get(position.line as usize) else {
            return self.text.len();
        };
        let line = self.text.get(*start..).unwrap_or_default();
        let line = line.split('\n').next().unwrap_or_default();
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= position.character as usize {
                return start + at;
            }
            units += c.len_utf16();
        }
        start + line.len()
    }

    /// The place behind the last character.
    #[must_use]
    pub fn end(&self) -> Position {
        self.position(self.text.len())
    }
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
