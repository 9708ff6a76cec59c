//! The live display of the demo, on standard error: one line per request, with a bar for the pressure.
//!
//! On a terminal, the line of an ordinary request is overwritten by the next. Otherwise only the lines
//! with events are written.

use context::{Tokens, figures};
use conversation::homunculus::{Limits, Prices};
use tokens::ModelTable;

use super::Plan;
use super::agent::Exchange;
use super::script::Task;
use super::timing::Timing;
use crate::console::{Console, Tone};
use crate::environment::Progress;
use crate::table::{columns, shorten, shorten_left};

/// The width of the bar.
const CELLS: usize = 24;

pub struct Screen<'c> {
    console: &'c mut Console,
    progress: Progress,
    window: Tokens,
    timing: Timing,
    soft: f64,
    hard: f64,
    last: Option<Exchange>,
    /// The current task.
    about: String,
}

impl<'c> Screen<'c> {
    pub fn new(console: &'c mut Console, progress: Progress, plan: &Plan) -> Self {
        let mut screen = Self {
            console,
            progress,
            window: plan.window,
            timing: Timing::new(plan.speed),
            soft: 1.0,
            hard: 1.0,
            last: None,
            about: String::new(),
        };
        screen.under(plan);
        screen
    }

    /// Shows the thresholds of another strategy from here on.
    pub fn under(&mut self, plan: &Plan) {
        let model = ModelTable::shipped().find(&plan.model);
        let limits = Limits::for_window(plan.window, Prices::from(&model));
        let soft = plan.strategy.acts_from(limits.hard, None);
        self.timing = Timing::new(plan.speed).under(&plan.strategy);
        (self.soft, self.hard) = (soft.unwrap_or(limits.hard), limits.hard);
    }

    /// Starts a run with a heading.
    pub fn begin(&mut self, what: &str) {
        let heading = self.console.palette_err.paint(Tone::Heading, what);
        self.console.note(heading);
        let columns = format!(
            "{:>4}  {:<CELLS$}    {:>6}  {:>5}",
            "", "pressure", "tokens", "wait"
        );
        let columns = self.console.palette_err.paint(Tone::Quiet, &columns);
        self.console.note(columns);
    }

    pub fn task(&mut self, task: &Task) {
        self.about.clone_from(&task.about);
    }

    /// Shows an event outside the requests, aligned with theirs.
    pub fn aside(&mut self, what: &str) {
        let before = (CELLS + 25).min(self.console.width.saturating_sub(columns(what)));
        self.stay(&format!("{}{what}", " ".repeat(before)));
    }

    pub fn request(&mut self, sent: &Exchange) {
        let (what, tone) = self.what(sent);
        let line = self.line(sent, &what, tone);
        if tone == Tone::Quiet {
            self.pass(&line);
        } else {
            self.stay(&line);
        }
        self.last = Some(sent.clone());
    }

    /// Marks the current task as done.
    pub fn done(&mut self) {
        let Some(last) = self.last.take() else {
            return;
        };
        let what = format!("done: {}", self.about);
        let line = self.line(&last, &what, Tone::Good);
        self.stay(&line);
        self.last = Some(last);
    }

    /// Ends a run.
    pub fn end(&mut self) {
        self.last = None;
        self.console.note("");
    }

    /// Writes a permanent line.
    fn stay(&mut self, line: &str) {
        self.pass("");
        self.console.note(line);
    }

    /// Writes a line that the next one overwrites.
    fn pass(&mut self, line: &str) {
        if self.progress == Progress::Drawn {
            self.console.transient(line);
        }
    }

    /// Describes a request: the gateway's actions, or else the tools that the model calls.
    fn what(&self, sent: &Exchange) -> (String, Tone) {
        let before = self.last.as_ref().map(|last| last.usage.all_input());
        let before = before.unwrap_or_default();
        if sent.summary {
            return ("the agent stops to summarize".to_owned(), Tone::Bad);
        }
        let notable: Vec<&str> = sent
            .did
            .iter()
            .map(String::as_str)
            .filter(|word| !["kept", "compacted", "noted", "pinned", "replayed"].contains(word))
            .collect();
        if sent.is_boundary() {
            let words: Vec<&str> = notable
                .into_iter()
                .filter(|word| *word != "preparing")
                .collect();
            let words = words.join(", ");
            let words = format!("{words}, from {} tokens", figures::short(before));
            return (words, Tone::Heading);
        }
        if notable.is_empty() {
            let calls = sent
                .calls
                .iter()
                .map(|(tool, argument)| format!("{tool} {argument}"));
            return (calls.collect::<Vec<_>>().join(", "), Tone::Quiet);
        }
        (notable.join(", "), Tone::Warning)
    }

    fn line(&self, sent: &Exchange, what: &str, tone: Tone) -> String {
        let tokens = sent.usage.all_input();
        let pressure = tokens.as_f64() / self.window.as_f64();
        let figures = format!(
            "  {:>6}  {:>5}  ",
            figures::short(tokens),
            figures::seconds(self.timing.felt(sent)),
        );
        let room = self
            .console
            .width
            .saturating_sub(8 + CELLS + columns(&figures));
        let what = if tone == Tone::Quiet {
            shorten_left(what, room)
        } else {
            shorten(what, room)
        };
        let what = self.console.palette_err.paint(tone, &what);
        format!("{:>4}  {}{figures}{what}", sent.number, self.bar(pressure))
    }

    /// The pressure as a bar. Both thresholds are marked in its empty part.
    fn bar(&self, pressure: f64) -> String {
        let full = cells(pressure);
        let empty: String = (full..CELLS)
            .map(|at| {
                let threshold = at == cells(self.soft) || at == cells(self.hard);
                if threshold { '┊' } else { ' ' }
            })
            .collect();
        let tone = if pressure >= self.hard {
            Tone::Bad
        } else if pressure >= self.soft {
            Tone::Warning
        } else {
            Tone::Good
        };
        let full = self.console.palette_err.paint(tone, &"█".repeat(full));
        format!("▕{full}{empty}▏")
    }
}

/// Converts a share of the window to cells.
fn cells(share: f64) -> usize {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "a share between 0 and 1 of a few cells"
    )]
    let cells = (share.clamp(0.0, 1.0) * CELLS as f64).round() as usize;
    cells
}

#[cfg(test)]
mod tests {
    use super::{Exchange, Plan, Progress, Screen};
    use crate::console::Console;
    use crate::demo::tests::environment;
    use context::Tokens;
    use conversation::homunculus::hosted::StrategyProgram;
    use gateway::config::RouteChoice;
    use std::time::Duration;
    use wire::api::Counts;

    fn sent(number: usize, tokens: u64) -> Exchange {
        Exchange {
            number,
            usage: Counts {
                input: Tokens::new(tokens),
                ..Counts::default()
            },
            first: Duration::from_millis(20),
            did: vec!["compacted".to_owned(), "replayed".to_owned()],
            summary: false,
            calls: vec![(
                "read_file".to_owned(),
                "crates/context/src/a/long/way/down/to/units.rs".to_owned(),
            )],
        }
    }

    #[test]
    fn a_line_says_what_happened() {
        let plan = Plan {
            folder: ".".into(),
            model: "claude-opus-5-5".to_owned(),
            window: Tokens::new(32_000),
            route: RouteChoice::Auto,
            strategy: StrategyProgram::default_one(),
            others: Vec::new(),
            speed: 25.0,
            boundaries: 3,
            keep: None,
        };
        let mut console = Console::open(&environment());
        let mut screen = Screen::new(&mut console, Progress::Silent, &plan);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let requests = [
            sent(1, 900),
            Exchange {
                did: words(&["preparing"]),
                ..sent(21, 22_000)
            },
            sent(29, 27_900),
            Exchange {
                did: words(&["swapped", "pinned"]),
                ..sent(30, 10_100)
            },
            Exchange {
                summary: true,
                did: Vec::new(),
                ..sent(131, 33_000)
            },
        ];
        let mut lines = Vec::new();
        for sent in requests {
            let (what, tone) = screen.what(&sent);
            lines.push(screen.line(&sent, &what, tone));
            screen.last = Some(sent);
        }
        insta::assert_snapshot!(lines.join("\n"));
        assert!(lines.iter().all(|line| line.chars().count() <= 80));
    }
}
