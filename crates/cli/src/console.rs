//! The two output streams. Nothing else writes to them.
//!
//! Standard output carries data only; messages to the user go to standard error.

use std::io::{self, Write};

use serde::Serialize;

use clap::builder::styling::{AnsiColor, Style};

use crate::environment::{Colour, Environment};
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
}

/// Standard output and standard error, with their width and colors.
pub struct Console {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
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
            width: environment.width,
            palette: Palette::new(environment.colour_out),
            palette_err: Palette::new(environment.colour_err),
        }
    }

    /// Writes one line to standard output.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        self.data(text.as_ref().as_bytes())?;
        self.data(b"\n")
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
        let _ = writeln!(self.err, "{}", text.as_ref());
    }

    /// Writes a temporary line to standard error, which must be a terminal. The next such line
    /// overwrites it.
    pub fn transient(&mut self, text: impl AsRef<str>) {
        let _ = write!(self.err, "\r\u{1b}[2K{}", text.as_ref());
        let _ = self.err.flush();
    }
}
