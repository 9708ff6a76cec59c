//! Laying out text: documents with places where a line may be broken, after Wadler's "A prettier printer"
//! (2003), with his `group` decided from the outside in.

/// The indentation of a level, in columns.
const STEP: usize = 2;

/// A piece of a text that is laid out.
#[derive(Debug)]
pub(super) enum Doc {
    /// Verbatim text; a line break in it stays.
    Text(String),
    /// A space, or a line break where the group around is broken.
    Line,
    /// Nothing, or a line break if the group around it is broken.
    Soft,
    /// A line break.
    Hard,
    /// A line break and an empty line.
    Blank,
    /// Nothing, but it breaks the group around it.
    Break,
    /// Text where the group around is broken, nothing otherwise.
    Broken(&'static str),
    /// A sequence.
    All(Vec<Doc>),
    /// A level further to the right, from the next line break on.
    Nest(Box<Doc>),
    /// In one line if it fits and nothing in it breaks a line.
    Group(Box<Doc>, Mode),
}

/// The layout of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// In one line, if it fits.
    Flat,
    /// Every place of it where a line may be broken, is.
    Broken,
}

impl Doc {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub fn none() -> Self {
        Self::All(Vec::new())
    }

    /// This between delimiters.
    pub fn within(self, open: &str, close: &str) -> Self {
        Self::All(vec![Self::text(open), self, Self::text(close)])
    }

    pub fn nest(self) -> Self {
        Self::Nest(Box::new(self))
    }

    pub fn group(self) -> Self {
        let mode = if self.breaks() {
            Mode::Broken
        } else {
            Mode::Flat
        };
        Self::Group(Box::new(self), mode)
    }

    /// Returns true if it contains a line break. A group stores it, so that each part is examined once.
    fn breaks(&self) -> bool {
        match self {
            Self::Hard | Self::Blank | Self::Break => true,
            Self::All(parts) => parts.iter().any(Self::breaks),
            Self::Nest(inner) => inner.breaks(),
            Self::Group(_, mode) => *mode == Mode::Broken,
            Self::Text(_) | Self::Line | Self::Soft | Self::Broken(_) => false,
        }
    }

    /// Lays out the text, in lines of at most `width` columns if possible.
    pub fn lay_out(&self, width: usize) -> String {
        let mut page = Page {
            width,
            ..Page::default()
        };
        let mut rest = vec![Frame {
            indent: 0,
            mode: Mode::Broken,
            doc: self,
        }];
        while let Some(frame) = rest.pop() {
            page.put(frame, &mut rest);
        }
        page.out
    }
}

#[derive(Clone, Copy)]
struct Frame<'a> {
    indent: usize,
    mode: Mode,
    doc: &'a Doc,
}

#[derive(Default)]
struct Page {
    width: usize,
    out: String,
    column: usize,
    /// The indentation of a line of which nothing stands there yet, so that empty lines stay empty.
    pending: usize,
}

impl Page {
    fn write(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.out.extend(std::iter::repeat_n(' ', self.pending));
        self.column += std::mem::take(&mut self.pending);
        self.out.push_str(text);
        match text.rsplit_once('\n') {
            Some((_, last)) => self.column = last.chars().count(),
            None => self.column += text.chars().count(),
        }
    }

    fn break_line(&mut self, indent: usize) {
        self.out.push('\n');
        self.column = 0;
        self.pending = indent;
    }

    fn put<'a>(&mut self, frame: Frame<'a>, rest: &mut Vec<Frame<'a>>) {
        let Frame { indent, mode, doc } = frame;
        match (doc, mode) {
            (Doc::Text(text), _) => self.write(text),
            (Doc::Line, Mode::Flat) => self.write(" "),
            (Doc::Line | Doc::Soft, Mode::Broken) | (Doc::Hard, _) => self.break_line(indent),
            (Doc::Blank, _) => {
                self.break_line(0);
                self.break_line(indent);
            }
            (Doc::Broken(text), Mode::Broken) => self.write(text),
            (Doc::Soft | Doc::Broken(_), Mode::Flat) | (Doc::Break, _) => {}
            (Doc::All(parts), _) => {
                rest.extend(parts.iter().rev().map(|doc| Frame { doc, ..frame }))
            }
            (Doc::Nest(doc), _) => rest.push(Frame {
                indent: indent + STEP,
                mode,
                doc,
            }),
            (Doc::Group(doc, forced), _) => {
                let flat = Frame {
                    indent,
                    mode: Mode::Flat,
                    doc,
                };
                // Within a group that fits, all does.
                let fits = *forced == Mode::Flat && (mode == Mode::Flat || self.fits(flat, rest));
                let mode = if fits { Mode::Flat } else { Mode::Broken };
                rest.push(Frame { mode, ..flat });
            }
        }
    }

    /// Returns true if this and everything up to the next possible line break fits on the line.
    fn fits(&self, first: Frame<'_>, rest: &[Frame<'_>]) -> bool {
        let mut left = self.width.saturating_sub(self.column + self.pending);
        let mut following = rest.iter().rev();
        let mut todo = vec![first];
        loop {
            let Some(frame) = todo.pop().or_else(|| following.next().copied()) else {
                return true;
            };
            let text: &str = match (frame.doc, frame.mode) {
                (Doc::Text(text), _) => text,
                (Doc::Line, Mode::Flat) => " ",
                (Doc::Line | Doc::Soft, Mode::Broken) | (Doc::Hard | Doc::Blank, _) => return true,
                (Doc::Broken(text), Mode::Broken) => text,
                (Doc::Soft | Doc::Broken(_), Mode::Flat) | (Doc::Break, _) => continue,
                (Doc::All(parts), _) => {
                    todo.extend(parts.iter().rev().map(|doc| Frame { doc, ..frame }));
                    continue;
                }
                (Doc::Nest(doc), _) => {
                    todo.push(Frame { doc, ..frame });
                    continue;
                }
                (Doc::Group(doc, forced), mode) => {
                    // A group that follows may be broken in its turn; one inside may not.
                    let mode = if *forced == Mode::Broken {
                        *forced
                    } else {
                        mode
                    };
                    todo.push(Frame { doc, mode, ..frame });
                    continue;
                }
            };
            for (at, line) in text.split('\n').enumerate() {
                if at > 0 {
                    left = self.width;
                }
                match left.checked_sub(line.chars().count()) {
                    Some(more) => left = more,
                    None => return false,
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Doc;

    fn list(items: &[&str]) -> Doc {
        let mut parts = vec![Doc::text("["), Doc::Soft];
        for (at, item) in items.iter().enumerate() {
            if at > 0 {
                parts.push(Doc::All(vec![Doc::text(","), Doc::Line]));
            }
            parts.push(Doc::text(*item));
        }
        let inside = Doc::All(parts).nest();
        Doc::All(vec![inside, Doc::Soft, Doc::text("]")]).group()
    }

    #[test]
    fn a_group_stays_on_a_line_if_it_fits() {
        assert_eq!(list(&["a", "b"]).lay_out(6), "[a, b]");
        assert_eq!(list(&["a", "b"]).lay_out(5), "[\n  a,\n  b\n]");
    }

    #[test]
    fn what_follows_counts_up_to_the_next_break() {
        let doc = Doc::All(vec![list(&["a", "b"]), Doc::text(";;")]);
        assert_eq!(doc.lay_out(8), "[a, b];;");
        assert_eq!(doc.lay_out(7), "[\n  a,\n  b\n];;");
    }

    #[test]
    fn an_empty_line_is_not_indented() {
        let doc = Doc::All(vec![Doc::text("a"), Doc::Blank, Doc::text("b")]).nest();
        assert_eq!(doc.lay_out(80), "a\n\n  b");
    }
}
