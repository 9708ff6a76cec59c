//! The one place that writes to standard output and standard error.
//!
//! Standard output carries data and nothing else; everything said to the person who waits goes to
//! standard error.

use std::io::{self, Write};

use serde::Serialize;

use clap::builder::styling::{AnsiColor, Style};

use crate::environment::{Colour, Environment};
use crate::failure::Failure;

/// How a piece of text is meant, for the palette to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// A heading.
    Heading,
    /// As it should be.
    Good,
    /// As it should not be.
    Bad,
    /// Worth a look.
    Warning,
    /// Not worth one.
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

/// Colours where the stream takes them, plain text elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Palette(Colour);

impl Palette {
    /// A palette for a stream.
    pub const fn new(colour: Colour) -> Self {
        Self(colour)
    }

    /// Whether there are any.
    pub const fn colour(self) -> Colour {
        self.0
    }

    /// `text` in the colours of `tone`.
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

/// The two streams, how wide they are and which colours they take.
pub struct Console {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    /// How many columns a line may have.
    pub width: usize,
    /// The colours of standard output.
    pub palette: Palette,
    /// The colours of standard error.
    pub palette_err: Palette,
}

impl Console {
    /// The real streams.
    pub fn open(environment: &Environment) -> Self {
        Self {
            out: Box::new(io::BufWriter::with_capacity(1 << 16, io::stdout())),
            err: Box::new(io::stderr()),
            width: environment.width,
            palette: Palette::new(environment.colour_out),
            palette_err: Palette::new(environment.colour_err),
        }
    }

    /// One line of data.
    pub fn line(&mut self, text: impl AsRef<str>) -> Result<(), Failure> {
        self.data(text.as_ref().as_bytes())?;
        self.data(b"\n")
    }

    /// A value as JSON that people can read too.
    pub fn json(&mut self, value: &impl Serialize) -> Result<(), Failure> {
        serde_json::to_writer_pretty(&mut self.out, value)
            .map_err(|error| Failure::from_stdout(error.into()))?;
        self.data(b"\n")
    }

    /// Data as it is.
    pub fn data(&mut self, bytes: &[u8]) -> Result<(), Failure> {
        self.out.write_all(bytes).map_err(Failure::from_stdout)
    }

    /// Shows what was written so far.
    pub fn flush(&mut self) -> Result<(), Failure> {
        self.out.flush().map_err(Failure::from_stdout)
    }

    /// One line for the person who waits. Standard error that cannot be written to is nobody's loss.
    pub fn remark(&mut self, text: impl AsRef<str>) {
        let _ = writeln!(self.err, "{}", text.as_ref());
    }

    /// A line for the person who watches a terminal, in the place of the one before it; the next
    /// [`Console::remark`] ends it.
    pub fn passing(&mut self, text: impl AsRef<str>) {
        let _ = write!(self.err, "\r\u{1b}[2K{}", text.as_ref());
        let _ = self.err.flush();
    }
}
