//! The status of an agent.

use jiff::{SignedDuration, Timestamp};

/// The severity of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Nothing to do.
    Ok,
    /// Worth a look.
    Warning,
    /// Act now.
    Critical,
}

impl Severity {
    /// The lower-case name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// The pressure of the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Level {
    /// Below the warning.
    Calm,
    /// At or above the warning.
    Warning,
    /// At or above the critical mark.
    Critical,
}

/// In which way an agent repeats itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LoopKind {
    /// The same step over and over.
    Exact,
    /// Steps that differ only in numbers, or in a word or two.
    Near,
    /// A sequence of different steps over and over.
    Cycle {
        /// The number of steps in the sequence, 2 to 5.
        period: usize,
    },
}

/// A loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Loop {
    /// In which way.
    pub kind: LoopKind,
    /// The count of the step, or of the whole sequence, in the window.
    pub count: usize,
}

/// The regularity of the pulses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Rhythm {
    /// Fewer than 8 intervals.
    Unknown,
    /// Regular; single long pauses do not count.
    Regular,
    /// The upper quartile of the intervals is more than nine times the lower one.
    Erratic,
}

/// An agent that should have sent a pulse and has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Silence {
    /// When it sent its last one.
    pub since: Timestamp,
    /// The length of the silence.
    pub lasting: SignedDuration,
    /// The longest silence that was expected.
    pub expected: SignedDuration,
}

/// The status of an agent after a pulse.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Status {
    /// The loop it is in.
    pub looping: Option<Loop>,
    /// The level of its window.
    pub level: Level,
    /// The pressure of the newest pulse.
    pub pressure: f64,
    /// By how much the pressure grows per pulse (least squares over the last 10); 0 with fewer than 3.
    pub slope: f64,
    /// After how many more pulses the critical mark is reached at this slope; `None` where it is
    /// passed already or the pressure does not rise.
    pub critical_in: Option<u32>,
    /// The regularity of its pulses.
    pub rhythm: Rhythm,
    /// True if the pulse carries an earlier time than one before it.
    pub late: bool,
    /// From how many repetitions on a loop is critical.
    pub(super) critical_count: usize,
}

impl Status {
    /// No loop, and not at the critical mark. A warning of pressure alone is healthy, and so is an
    /// irregular rhythm.
    #[must_use]
    pub fn is_healthy(&self) -> bool {
        self.looping.is_none() && self.level != Level::Critical
    }

    /// The severity of a status.
    #[must_use]
    pub fn severity(&self) -> Severity {
        let stuck = self
            .looping
            .is_some_and(|found| found.count >= self.critical_count);
        if self.level == Level::Critical || stuck {
            Severity::Critical
        } else if self.looping.is_some()
            || self.level == Level::Warning
            || self.rhythm == Rhythm::Erratic
        {
            Severity::Warning
        } else {
            Severity::Ok
        }
    }

    /// The state in one line.
    #[must_use]
    pub fn message(&self) -> String {
        let mut parts = Vec::new();
        if let Some(Loop { kind, count }) = self.looping {
            parts.push(match kind {
                LoopKind::Exact => format!("Loop detected ({count} repeats)"),
                LoopKind::Near => format!("Loop detected ({count} near-identical steps)"),
                LoopKind::Cycle { period } => {
                    format!("Loop detected ({count} rounds of the same {period} steps)")
                }
            });
        }
        let percent = self.pressure * 100.0;
        match self.level {
            Level::Calm => {}
            Level::Warning => parts.push(format!("Pressure warning ({percent:.0} %)")),
            Level::Critical => parts.push(format!("Critical pressure ({percent:.0} %)")),
        }
        if let Some(pulses) = self.critical_in.filter(|pulses| *pulses <= 10) {
            parts.push(format!(
                "Pressure rising (critical in about {pulses} pulses)"
            ));
        }
        if self.rhythm == Rhythm::Erratic {
            parts.push("Erratic intervals".to_owned());
        }
        if parts.is_empty() {
            "Agent healthy".to_owned()
        } else {
            parts.join("; ")
        }
    }

    /// The recommended actions, the most urgent first.
    #[must_use]
    pub fn recommendations(&self) -> Vec<&'static str> {
        let rising = self.critical_in.is_some_and(|pulses| pulses <= 10);
        [
            (self.level == Level::Critical, "compact now"),
            (
                self.looping.is_some(),
                "try another approach or hand over to the user",
            ),
            (
                self.level == Level::Warning || (rising && self.level == Level::Calm),
                "prepare a compaction",
            ),
            (
                self.rhythm == Rhythm::Erratic,
                "look for operations that block",
            ),
        ]
        .into_iter()
        .filter_map(|(applies, advice)| applies.then_some(advice))
        .collect()
    }
}
