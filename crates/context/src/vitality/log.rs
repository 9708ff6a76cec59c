//! The log line of a pulse, and reading it back.
//!
//! `PULSE|agent=l-gent|pressure=0.45|phase=thinking|hash=abc12345|turns=42|ts=2026-03-01T12:00:00Z|v=1`,
//! then optionally `shape`, `answer` and metadata as `m.KEY`. Fields may stand in any order; unknown
//! ones are skipped; only `ts` has to be there. A pressure has two decimals, and as many more as it takes to
//! read back the same number, so that 0.899 does not become 0.90 and cross a threshold. In names and values `\`,
//! `|`, `=` and control characters are escaped, so that no text can add a field or a line.

use std::fmt::Write as _;

use jiff::Timestamp;
use thiserror::Error;

use crate::coded::{CodeEntry, Coded, ErrorCode};
use crate::turn::Outcome;
use crate::units::Pressure;
use crate::visible::hides;

use super::fingerprint::{ContentHash, Shape};
use super::pulse::{Answer, Phase, Pulse};

/// The version of the line that is written, and the highest that is read. A line without one is
/// read as this version. New fields do not change it; a change of meaning does.
const VERSION: u32 = 1;

/// The defect of a line.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PulseError {
    /// The line is no pulse.
    #[error("not a pulse: the line does not start with PULSE|")]
    NotAPulse,
    /// The line has no time.
    #[error("the pulse has no ts field")]
    NoTime,
    /// A field cannot be read.
    #[error("the pulse's {0} field cannot be read")]
    BadField(&'static str),
    /// A field stands there twice.
    #[error("the pulse's {0} field stands there twice")]
    Repeated(&'static str),
    /// The line was written by a later version.
    #[error("the pulse has version {0}, and only {VERSION} is understood")]
    Version(u32),
}

impl PulseError {
    pub(crate) const ENTRIES: [CodeEntry; 5] = [
        CodeEntry {
            code: ErrorCode::new("E0440"),
            meaning: "a line is not a pulse",
            remedy: "Give only lines that start with PULSE|.",
        },
        CodeEntry {
            code: ErrorCode::new("E0441"),
            meaning: "a pulse has no time",
            remedy: "Add a ts field with an RFC 3339 time.",
        },
        CodeEntry {
            code: ErrorCode::new("E0442"),
            meaning: "a field of a pulse cannot be read",
            remedy: "Check the field's form and that |, = and \\ in values are escaped.",
        },
        CodeEntry {
            code: ErrorCode::new("E0443"),
            meaning: "a field of a pulse stands there twice",
            remedy: "Check that |, = and \\ in values are escaped.",
        },
        CodeEntry {
            code: ErrorCode::new("E0444"),
            meaning: "a pulse was written by a later version",
            remedy: "Update the reader of the log.",
        },
    ];

    const fn entry(&self) -> CodeEntry {
        let [prefix, time, field, repeated, version] = Self::ENTRIES;
        match self {
            Self::NotAPulse => prefix,
            Self::NoTime => time,
            Self::BadField(_) => field,
            Self::Repeated(_) => repeated,
            Self::Version(_) => version,
        }
    }
}

impl Coded for PulseError {
    fn code(&self) -> ErrorCode {
        self.entry().code
    }

    fn hint(&self) -> Option<String> {
        Some(self.entry().remedy.to_owned())
    }
}

impl Pulse {
    /// The pulse as one log line, without a line feed.
    #[must_use]
    pub fn to_log(&self) -> String {
        let mut line = format!(
            "PULSE|agent={}|pressure={}|phase={}|hash={}|turns={}|ts={}|v={VERSION}",
            escape(&self.agent),
            exact(self.pressure),
            self.phase,
            self.hash,
            self.turns,
            self.at
        );
        if let Some(shape) = self.shape {
            let _ = write!(line, "|shape={shape}");
        }
        if let Some(Answer {
            hash,
            shape,
            outcome,
        }) = self.answer
        {
            let outcome = match outcome {
                Outcome::Succeeded => "ok",
                Outcome::Failed => "failed",
            };
            let _ = write!(line, "|answer={hash}.{shape}.{outcome}");
        }
        for (key, value) in &self.metadata {
            let _ = write!(line, "|m.{}={}", escape(key), escape(value));
        }
        line
    }

    /// Reads a log line. What [`Self::to_log`] wrote comes back equal.
    ///
    /// # Errors
    /// [`PulseError`] for a line that is no pulse, has no time, or has a field that cannot be read.
    pub fn from_log(line: &str) -> Result<Self, PulseError> {
        let line = line.trim_end_matches(['\n', '\r']);
        let fields = line.strip_prefix("PULSE|").ok_or(PulseError::NotAPulse)?;
        let mut reading = Reading::default();
        for field in fields.split('|') {
            if let Some((key, value)) = field.split_once('=') {
                reading.field(key, value)?;
            }
        }
        reading.finish()
    }
}

/// The fields of a line, as far as they have been read.
#[derive(Default)]
struct Reading {
    agent: Option<String>,
    at: Option<Timestamp>,
    pressure: Option<Pressure>,
    phase: Option<Phase>,
    hash: Option<ContentHash>,
    shape: Option<Shape>,
    answer: Option<Answer>,
    turns: Option<u64>,
    version: Option<u32>,
    metadata: std::collections::BTreeMap<String, String>,
}

impl Reading {
    fn field(&mut self, key: &str, value: &str) -> Result<(), PulseError> {
        match key {
            "agent" => set(&mut self.agent, "agent", unescape(value)),
            "ts" => set(&mut self.at, "ts", value.parse().ok()),
            "pressure" => set(
                &mut self.pressure,
                "pressure",
                value.parse().ok().and_then(Pressure::new),
            ),
            "phase" => set(&mut self.phase, "phase", Phase::parse(value)),
            "hash" => set(&mut self.hash, "hash", ContentHash::parse(value)),
            "shape" => set(&mut self.shape, "shape", Shape::parse(value)),
            "answer" => set(&mut self.answer, "answer", answer(value)),
            "turns" => set(&mut self.turns, "turns", value.parse().ok()),
            "v" => set(&mut self.version, "v", value.parse().ok()),
            _ => {
                let metadata = || Some((unescape(key.strip_prefix("m.")?)?, unescape(value)?));
                self.metadata.extend(metadata());
                Ok(())
            }
        }
    }

    fn finish(self) -> Result<Pulse, PulseError> {
        if let Some(version) = self.version.filter(|version| *version > VERSION) {
            return Err(PulseError::Version(version));
        }
        Ok(Pulse {
            agent: self.agent.unwrap_or_else(|| "unknown".to_owned()),
            at: self.at.ok_or(PulseError::NoTime)?,
            pressure: self.pressure.unwrap_or_default(),
            phase: self.phase.unwrap_or(Phase::Waiting),
            hash: self.hash.unwrap_or_else(|| ContentHash::of("")),
            shape: self.shape,
            answer: self.answer,
            turns: self.turns.unwrap_or(0),
            metadata: self.metadata,
        })
    }
}

fn set<T>(slot: &mut Option<T>, name: &'static str, value: Option<T>) -> Result<(), PulseError> {
    let value = value.ok_or(PulseError::BadField(name))?;
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(PulseError::Repeated(name)),
    }
}

fn answer(text: &str) -> Option<Answer> {
    let mut parts = text.split('.');
    let answer = Answer {
        hash: ContentHash::parse(parts.next()?)?,
        shape: Shape::parse(parts.next()?)?,
        outcome: match parts.next()? {
            "ok" => Outcome::Succeeded,
            "failed" => Outcome::Failed,
            _ => return None,
        },
    };
    parts.next().is_none().then_some(answer)
}

/// The shortest decimal that reads back as the same number, with two decimals at least.
fn exact(pressure: Pressure) -> String {
    let shortest = pressure.get().to_string();
    match shortest.split_once('.') {
        Some((_, decimals)) if decimals.len() >= 2 => shortest,
        _ => format!("{:.2}", pressure.get()),
    }
}

fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' => out.push_str("\\\\"),
            '|' => out.push_str("\\p"),
            '=' => out.push_str("\\e"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            hidden if hidden.is_control() || hides(hidden) => {
                let _ = write!(out, "\\u{{{:x}}}", u32::from(hidden));
            }
            plain => out.push(plain),
        }
    }
    out
}

/// `None` for an escape that is not one of ours.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            out.push(character);
            continue;
        }
        out.push(match rest.next()? {
            '\\' => '\\',
            'p' => '|',
            'e' => '=',
            'n' => '\n',
            'r' => '\r',
            'u' => {
                let (code, after) = rest.as_str().strip_prefix('{')?.split_once('}')?;
                let character = u32::from_str_radix(code, 16)
                    .ok()
                    .and_then(char::from_u32)?;
                rest = after.chars();
                character
            }
            _ => return None,
        });
    }
    Some(out)
}
