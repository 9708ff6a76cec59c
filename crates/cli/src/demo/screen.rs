//! What is seen while the demo runs: the newest request, with its pressure as a bar.
//!
//! On a terminal its line gives way to the next one, unless something happened with it; elsewhere only
//! the lines that stay are written. All of it goes to standard error.

use context::{Tokens, figures};
use conversation::homunculus::{Limits, Prices};
use tokens::ModelTable;

use super::Plan;
use super::agent::Sent;
use super::pace::Pace;
use super::script::Task;
use crate::console::{Console, Tone};
use crate::environment::Progress;
use crate::table::{columns, shorten, shorten_left};

/// Cells of the bar.
const CELLS: usize = 24;

/// Draws what happens.
pub struct Screen<'c> {
    console: &'c mut Console,
    progress: Progress,
    window: Tokens,
    pace: Pace,
    soft: f64,
    hard: f64,
    /// The request before.
    last: Option<Sent>,
    /// What is being worked at.
    about: String,
}

impl<'c> Screen<'c> {
    /// A screen for what is to be played.
    pub fn new(console: &'c mut Console, progress: Progress, plan: &Plan) -> Self {
        let model = ModelTable::shipped().find(&plan.model);
        let limits = Limits::for_window(plan.window, Prices::from(&model));
        Self {
            console,
            progress,
            window: plan.window,
            pace: Pace::new(plan.speed).under(&plan.strategy),
            soft: plan
                .strategy
                .acts_from(limits.hard, None)
                .unwrap_or(limits.hard),
            hard: limits.hard,
            last: None,
            about: String::new(),
        }
    }

    /// A run begins.
    pub fn begin(&mut self, what: &str) {
        let heading = self.console.palette_err.paint(Tone::Heading, what);
        self.console.remark(heading);
        let columns = format!(
            "{:>4}  {:<CELLS$}    {:>6}  {:>5}",
            "", "pressure", "tokens", "wait"
        );
        let columns = self.console.palette_err.paint(Tone::Quiet, &columns);
        self.console.remark(columns);
    }

    /// The user asks for something.
    pub fn task(&mut self, task: &Task) {
        self.about.clone_from(&task.about);
    }

    /// Somebody does something beside the requests.
    pub fn aside(&mut self, what: &str) {
        // Under what happened with a request.
        let before = (CELLS + 25).min(self.console.width.saturating_sub(columns(what)));
        self.stay(&format!("{}{what}", " ".repeat(before)));
    }

    /// A request was answered.
    pub fn request(&mut self, sent: &Sent) {
        let (what, tone) = self.what(sent);
        let line = self.line(sent, &what, tone);
        if tone == Tone::Quiet {
            self.pass(&line);
        } else {
            self.stay(&line);
        }
        self.last = Some(sent.clone());
    }

    /// What the user asked for is done.
    pub fn done(&mut self) {
        let Some(last) = self.last.take() else {
            return;
        };
        let what = format!("done: {}", self.about);
        let line = self.line(&last, &what, Tone::Good);
        self.stay(&line);
        self.last = Some(last);
    }

    /// A run is over.
    pub fn end(&mut self) {
        self.last = None;
        self.console.remark("");
    }

    /// A line that stays.
    fn stay(&mut self, line: &str) {
        self.pass("");
        self.console.remark(line);
    }

    /// A line that gives way to the next.
    fn pass(&mut self, line: &str) {
        if self.progress == Progress::Drawn {
            self.console.passing(line);
        }
    }

    /// What happened with a request: what the gateway did, else which tool the model calls.
    fn what(&self, sent: &Sent) -> (String, Tone) {
        let before = self.last.as_ref().map(|last| last.usage.all_input());
        let before = before.unwrap_or_default();
        if sent.summary {
            return ("summarises, and waits for it".to_owned(), Tone::Bad);
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
            return (
                format!("{words}, {} before", figures::short(before)),
                Tone::Heading,
            );
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

    fn line(&self, sent: &Sent, what: &str, tone: Tone) -> String {
        let tokens = sent.usage.all_input();
        let pressure = tokens.as_f64() / self.window.as_f64();
        let figures = format!(
            "  {:>6}  {:>5}  ",
            figures::short(tokens),
            figures::seconds(self.pace.felt(sent)),
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

    /// The pressure as a bar, with both thresholds in what is empty.
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

/// A share of the window in cells.
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
    use super::{Plan, Progress, Screen, Sent};
    use crate::console::Console;
    use crate::demo::tests::environment;
    use context::Tokens;
    use conversation::homunculus::hosted::StrategyProgram;
    use gateway::config::RouteChoice;
    use std::time::Duration;
    use wire::api::Counts;

    fn sent(number: usize, tokens: u64) -> Sent {
        Sent {
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
            speed: 25.0,
            boundaries: 3,
            keep: None,
        };
        let mut console = Console::open(&environment());
        let mut screen = Screen::new(&mut console, Progress::Silent, &plan);
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
        let requests = [
            sent(1, 900),
            Sent {
                did: words(&["preparing"]),
                ..sent(21, 22_000)
            },
            sent(29, 27_900),
            Sent {
                did: words(&["swapped", "pinned"]),
                ..sent(30, 10_100)
            },
            Sent {
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
