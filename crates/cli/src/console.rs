//! The two output streams. Nothing else writes to them.
//!
//! Standard output carries data only; messages to the user go to standard error.
//!
//! Lines may quote conversations, in which a tool's output can hold anything. No character of a line controls the
//! terminal, except the palette's own colors.

use std::borrow::Cow;
use std::io::{self, Write};

use serde::Serialize;

use clap::builder::styling::{AnsiColor, Style};
use context::visible;

use crate::environment::{Colour, Destination, Environment};
use crate::failure::Failure;
use crate::table::wrap;

/// The role of a piece of text; the palette picks its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    Heading,
    Good,
    Bad,
    Warning,
    Quiet,
}

impl Tone {
    const ALL: [Self; 5] = [
        Self::Heading,
        Self::Good,
        Self::Bad,
        Self::Warning,
        Self::Quiet,
    ];

    fn style(self) -> Style {
        match self {
            Self::Heading => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Bad => AnsiColor::Red.on_default().bold(),
            Self::Warning => AnsiColor::Yellow.on_default(),
            Self::Quiet => Style::new().dimmed(),
        }
    }
}

/// The colors of one stream; plain text where the stream takes none.
#[derive(Clone, Copy, Debug)]
pub struct Palette(Colour);

impl Palette {
    pub const fn new(colour: Colour) -> Self {
        Self(colour)
    }

    pub const fn colour(self) -> Colour {
        self.0
    }

    pub fn paint(self, tone: Tone, text: &str) -> String {
        match self.0 {
            Colour::Allowed => {
                let style = tone.style();
                format!("{style}{text}{style:#}")
            }
            Colour::Plain => text.to_owned(),
        }
    }

    /// Returns the text with its colors, and spells out everything else that a terminal obeys or does not show.
    fn safe(self, text: &str) -> Cow<'_, str> {
        let is_plain = |byte: u8| matches!(byte, b'\n' | b'\t' | b' '..=b'~');
        if text.bytes().all(is_plain) {
            return Cow::Borrowed(text);
        }
        if self.0 == Colour::Plain {
            return Cow::Owned(visible(text));
        }
        let styles = Tone::ALL.map(Tone::style);
        let starts = styles.map(|style| style.to_string());
        let end = styles.map(|style| format!("{style:#}"));
        let own: Vec<&str> = starts.iter().chain(&end).map(String::as_str).collect();
        let (mut out, mut rest) = (String::with_capacity(text.len()), text);
        while let Some(at) = rest.find('\u{1b}') {
            let (before, after) = rest.split_at(at);
            out.push_str(&visible(before));
            // The longest: red and bold begins like bold.
            let known = own.iter().filter(|own| after.starts_with(**own));
            let length = known.map(|own| own.len()).max().unwrap_or_default();
            let (style, behind) = after.split_at(length);
            out.push_str(style);
            if length == 0 {
                out.push_str(&visible("\u{1b}"));
            }
            rest = behind.get(usize::from(length == 0)..).unwrap_or_default();
        }
        out.push_str(&visible(rest));
        Cow::Owned(out)
    }
}

/// Standard output and standard error, with their width and colors.
pub struct Console {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    destination: Destination,
    /// Columns a line may use.
    pub width: usize,
    /// The colors of standard output.
    pub palette: Palette,
    /// The colors of standard error.
    pub palette_err: Palette,
}

impl Console {
    pub fn open(environment: &Environment) -> Self {
        Self {
            out: Box::new(io::BufWriter::with_capacity(1 << 16, io::stdout())),
            err: Box::new(io::stderr()),
            destination: environment.destination,
            width: environment.width,
            palette: Palette::new(environment.colour_out),
            palette_err: Palette::new(environment.colour_err),
        }
    }

    /// Writes one line to standard output.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        let palette = self.palette;
        self.record(palette.safe(text.as_ref()))
    }

    /// Writes one line for a program to standard output, unchanged.
    pub fn record(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        self.data(text.as_ref().as_bytes())?;
        self.data(b"\n")
    }

    /// Writes a part of a conversation to standard output: unchanged into a file or a pipe, like a line to a
    /// terminal.
    pub fn original(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        match self.destination {
            Destination::Terminal => self.data(visible(&String::from_utf8_lossy(bytes)).as_bytes()),
            Destination::Data => self.data(bytes),
        }
    }

    /// Writes lines to standard output.
    pub fn lines(
        &mut self,
        lines: impl IntoIterator<Item = impl AsRef<str>>,
    ) -> Result<(), Failure> {
        lines.into_iter().try_for_each(|line| self.line(line))
    }

    /// Writes a text to standard output, wrapped to the console's width.
    pub fn paragraph(&mut self, text: &str) -> Result<(), Failure> {
        self.lines(wrap(text, self.width))
    }

    /// Writes a value to standard output as indented JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.out, value)
            .map_err(|error| Failure::from_stdout(error.into()))?;
        self.data(b"\n")
    }

    /// Writes bytes to standard output.
    pub fn data(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(Failure::from_stdout)
    }

    /// Flushes standard output, which is buffered.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::from_stdout)
    }

    /// Writes one line to standard error, and ignores a closed stream.
    pub fn note(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.err, "{}", self.palette_err.safe(text.as_ref()));
    }

    /// Writes a temporary line to standard error, which must be a terminal. The next such line
    /// overwrites it.
    pub fn transient(&mut self, text: impl AsRef<str>) {
        let text = self.palette_err.safe(text.as_ref());
        let _ = write!(self.err, "\r\u{1b}[2K{text}");
        let _ = self.err.flush();
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::{Console, Palette, Tone};
    use crate::environment::{Colour, Destination};

    /// A title for the window, the clipboard, a cleared screen (twice), a direction, a carriage return.
    const HOSTILE: &str =
        "\u{1b}]0;t\u{7} \u{1b}]52;c;AA\u{7} \u{1b}[2J \u{9b}2J \u{202e}abc \r\u{1b}[1";
    const SHOWN: &str = "[U+001B]]0;t[U+0007] [U+001B]]52;c;AA[U+0007] [U+001B][2J [U+009B]2J \
        [U+202E]abc [U+000D][U+001B][1";

    #[derive(Clone, Default)]
    struct Written(std::sync::Arc<std::sync::Mutex<Vec<u8>>>);

    impl io::Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(destination: Destination, write: impl Fn(&mut Console)) -> String {
        let written = Written::default();
        let palette = Palette::new(Colour::Allowed);
        let mut console = Console {
            out: Box::new(written.clone()),
            err: Box::new(written.clone()),
            destination,
            width: 80,
            palette,
            palette_err: palette,
        };
        write(&mut console);
        let bytes = written.0.lock().unwrap().clone();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn nothing_that_a_line_quotes_controls_the_terminal() {
        for colour in [Colour::Allowed, Colour::Plain] {
            assert_eq!(Palette::new(colour).safe(HOSTILE), SHOWN);
        }
        let line = written(Destination::Data, |console| {
            console.line(HOSTILE).unwrap_or_default();
            console.note(HOSTILE);
        });
        assert_eq!(line, format!("{SHOWN}\n{SHOWN}\n"));
    }

    #[test]
    fn its_own_colors_stay() {
        let palette = Palette::new(Colour::Allowed);
        for tone in Tone::ALL {
            let painted = palette.paint(tone, "née");
            assert_eq!(palette.safe(&painted), painted);
        }
        assert_eq!(
            Palette::new(Colour::Plain).safe("\u{1b}[1mé"),
            "[U+001B][1mé"
        );
    }

    #[test]
    fn originals_are_unchanged_except_on_a_terminal() {
        let original = |destination| {
            written(destination, |console| {
                console.original(HOSTILE.as_bytes()).unwrap_or_default();
            })
        };
        assert_eq!(original(Destination::Data), HOSTILE);
        assert_eq!(original(Destination::Terminal), SHOWN);
    }
}
