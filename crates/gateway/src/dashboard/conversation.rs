//! The page of one conversation: size over time, content of the window, summaries, pins, cost.

use askama::Template;
use context::{Tokens, figures, visible};
use jiff::Timestamp;

use super::Visit;
use super::gauge::{Filled, class_name, filled, share as share_of, stacked};
use super::moment::Moment;
use super::overview::{State, Tile, dollars, money_tiles, name};
use super::plot;
use super::requests::Requests;
use super::text::one_line;
use super::told::Told;
use crate::report::{Detail, MarkReport, Money, PinReport, Share};

/// Requests in the table.
const TABLE: usize = 20;
/// Summaries whose text is part of this page; older ones have their own page.
const TEXTS: usize = 5;
/// Entries of the journal shown.
const ENTRIES: usize = 100;
/// Characters of a summary shown in this page.
const SUMMARY: usize = 20_000;

/// Renders the page of one conversation, with what will come of the visitor's last action.
pub fn conversation_page(
    detail: &Detail,
    told: Option<Told>,
    visit: &Visit,
) -> Result<String, askama::Error> {
    let mut page = Page::of(detail, visit);
    // Nothing is carried out there.
    page.told = told.filter(|_| !detail.line.observed);
    page.render()
}

#[derive(Template)]
#[template(path = "dashboard/conversation.html")]
struct Page<'a> {
    visit: &'a Visit,
    told: Option<Told>,
    head: Head,
    tiles: Vec<Tile>,
    pressure: Pressure,
    window: Window,
    requests: Requests,
    marks: Vec<Summary>,
    pins: Vec<Pin>,
    cost: Vec<(&'static str, String)>,
    journal: Vec<(Moment, String)>,
}

struct Head {
    id: String,
    name: String,
    parent: Option<String>,
    model: String,
    state: State,
    /// True if orders can be carried out: not in mode observe, and not of a conversation at rest.
    takes_orders: bool,
    may_redo: bool,
    counts: Vec<String>,
    began: Moment,
    seen: Moment,
}

struct Pressure {
    plot: String,
    soft: String,
    hard: String,
    /// For each request: the time since the first one, the tokens sent and without Ebbtide, and whether a
    /// summary was swapped in.
    table: Vec<(String, String, String, bool)>,
}

struct Window {
    filled: Filled,
    stack: String,
    /// For each class: its name in the style sheet, its name, its tokens and its share of the window.
    classes: Vec<(String, &'static str, String, String)>,
}

/// A summary, formatted for a page.
pub struct Summary {
    pub id: String,
    pub title: String,
    pub route: &'static str,
    pub state: &'static str,
    pub at: Moment,
    pub before: String,
    pub after: String,
    pub text: String,
    pub cut: bool,
}

struct Pin {
    id: String,
    text: String,
    /// The start of the text, which tells the buttons of the pins apart.
    label: String,
    tokens: String,
    origin: &'static str,
    removable: bool,
}

impl<'a> Page<'a> {
    fn of(detail: &Detail, visit: &'a Visit) -> Self {
        Self {
            visit,
            told: None,
            head: Head::of(detail, visit.now),
            tiles: money_tiles(&detail.line.money, detail.line.observed),
            pressure: Pressure::of(detail),
            window: Window::of(detail),
            requests: Requests::of(&detail.requests, visit.now),
            marks: summaries(&detail.marks, visit.now),
            pins: detail.pins.iter().map(Pin::of).collect(),
            cost: cost(&detail.line.money, detail.line.observed),
            journal: detail
                .journal
                .iter()
                .take(ENTRIES)
                .map(|entry| (Moment::of(&entry.at, visit.now), visible(&entry.text)))
                .collect(),
        }
    }

    /// The sentence about the last order.
    fn told(&self) -> Option<&'static str> {
        let told = self.told.filter(|told| !told.is_about_pins());
        told.map(Told::sentence)
    }

    /// The sentence about the last change of the pins.
    fn told_of_pins(&self) -> Option<&'static str> {
        let told = self.told.filter(|told| told.is_about_pins());
        told.map(Told::sentence)
    }

    /// Returns true if a summary can be ordered now.
    fn can_prepare(&self) -> bool {
        self.head.takes_orders && matches!(self.head.state.word, "idle" | "backing-off" | "stopped")
    }

    /// Returns true if a summary stands that can be taken back.
    fn can_undo(&self) -> bool {
        self.head.takes_orders && self.marks.iter().any(|mark| mark.state == "standing")
    }

    /// Returns true if something was taken back that can be shown again.
    fn can_redo(&self) -> bool {
        self.head.takes_orders && self.head.may_redo
    }

    /// Returns true if a summary is ready to be swapped in.
    fn can_swap(&self) -> bool {
        self.head.takes_orders && self.head.state.word == "ready"
    }
}

impl Head {
    fn of(detail: &Detail, now: Timestamp) -> Self {
        let line = &detail.line;
        let plural = |count: u64, noun| figures::plural(usize::try_from(count).unwrap_or(0), noun);
        Self {
            id: line.id.clone(),
            name: name(line),
            parent: line.parent.clone(),
            model: one_line(&line.model, 60),
            state: match detail.at_rest && !line.observed {
                true => State {
                    word: line.state,
                    meaning: "at rest; it takes orders again with its next request",
                },
                false => State::of(line.state),
            },
            takes_orders: !line.observed && !detail.at_rest,
            may_redo: detail.may_redo,
            counts: [
                Some(plural(line.turns, "turn")),
                Some(plural(line.money.requests, "request")),
                Some(swaps(
                    line.observed,
                    (line.compactions.into(), line.would_have_swapped.into()),
                )),
                regretted(line.regrets.total()),
            ]
            .into_iter()
            .flatten()
            .collect(),
            began: Moment::of(&line.began, now),
            seen: Moment::of(&line.seen, now),
        }
    }
}

/// The number of things that the agent missed after swaps; the journal names them. `None`: none.
fn regretted(total: u32) -> Option<String> {
    (total > 0).then(|| format!("{total} missed"))
}

impl Pressure {
    fn of(detail: &Detail) -> Self {
        let gauge = &detail.line.gauge;
        let threshold = |tokens: u64| match tokens {
            0 => String::new(),
            tokens => figures::short(Tokens::new(tokens)),
        };
        Self {
            plot: plot::pressure(&detail.pressure, gauge),
            soft: threshold(gauge.soft),
            hard: threshold(gauge.hard),
            table: detail
                .pressure
                .iter()
                .rev()
                .take(TABLE)
                .map(|sample| {
                    let (tokens, unchanged) = (
                        figures::count(sample.tokens),
                        figures::count(sample.unchanged),
                    );
                    (
                        figures::seconds(sample.at),
                        tokens,
                        unchanged,
                        sample.swapped,
                    )
                })
                .collect(),
        }
    }
}

impl Window {
    fn of(detail: &Detail) -> Self {
        let window = detail.line.gauge.window;
        let sum: u64 = detail.classes.iter().map(|share| share.tokens).sum();
        let mut shares = detail.classes.clone();
        shares.retain(|share| share.tokens > 0);
        let stack = stacked(&shares, &detail.line.gauge);
        if !shares.is_empty() && window > sum {
            shares.push(Share {
                class: "free",
                tokens: window - sum,
            });
        }
        Self {
            filled: filled(&detail.line.gauge),
            stack,
            classes: shares
                .iter()
                .map(|share| {
                    let part = share_of(share.tokens, window.max(sum));
                    (
                        class_name(share.class),
                        share.class,
                        figures::count(share.tokens),
                        part,
                    )
                })
                .collect(),
        }
    }
}

/// Formats the summaries, newest first. Includes the text of those in use and of the newest others.
fn summaries(marks: &[MarkReport], now: Timestamp) -> Vec<Summary> {
    marks
        .iter()
        .rev()
        .enumerate()
        .map(|(place, mark)| {
            let shown = place < TEXTS || mark.state != "replaced";
            Summary::of(mark, if shown { SUMMARY } else { 0 }, now)
        })
        .collect()
}

/// The swaps, and those that there would have been where only that was looked at.
pub(super) fn swaps(observes: bool, (done, would): (u64, u64)) -> String {
    let plural = |count: u64, noun| figures::plural(usize::try_from(count).unwrap_or(0), noun);
    let done = (!observes || done > 0).then(|| plural(done, "swap"));
    let would =
        (observes || would > 0).then(|| format!("would have swapped {}", plural(would, "time")));
    done.into_iter().chain(would).collect::<Vec<_>>().join(", ")
}

impl Summary {
    /// Formats a summary with at most this many characters of its text.
    pub fn of(mark: &MarkReport, characters: usize, now: Timestamp) -> Self {
        let text = visible(&mark.text);
        let end = text.char_indices().nth(characters).map(|(end, _)| end);
        Self {
            id: mark.id.clone(),
            title: format!(
                "{} {}",
                match mark.state {
                    "would-replace" => "Would replace",
                    _ => "Replaces",
                },
                figures::plural(mark.replaced_turns, "turn")
            ),
            route: mark.route,
            state: mark.state,
            at: Moment::of(&mark.at, now),
            before: figures::count(mark.replaced_tokens),
            after: figures::count(mark.tokens),
            cut: end.is_some(),
            text: end.map_or_else(
                || text.clone(),
                |end| text.get(..end).unwrap_or_default().to_owned(),
            ),
        }
    }

    /// Returns true if the text can be replaced: it is not shown yet, and not the provider's signed block.
    pub fn can_be_edited(&self) -> bool {
        self.state == "ready" && self.route != "native" && !self.text.is_empty()
    }

    /// Returns true if a wide page shows the text unfolded.
    fn in_use(&self) -> bool {
        self.state == "standing"
    }
}

impl Pin {
    fn of(pin: &PinReport) -> Self {
        Self {
            id: pin.id.clone(),
            text: visible(&pin.text),
            label: one_line(&pin.text, 40),
            tokens: figures::plural(usize::try_from(pin.tokens).unwrap_or(0), "token"),
            origin: match pin.origin {
                "user" => "the user in a message",
                "agent" => "the agent",
                _ => "hand: in the dashboard, over HTTP or on the command line",
            },
            removable: pin.removable,
        }
    }
}

fn cost(money: &Money, observed: bool) -> Vec<(&'static str, String)> {
    let tokens = |count: u64| format!("{} tokens", figures::count(count));
    let mut rows = vec![
        ("Requests answered", figures::count(money.requests)),
        ("Input, read from the cache", tokens(money.cache_read)),
        ("Input, written to the cache", tokens(money.cache_write)),
        ("Input, other", tokens(money.fresh)),
        ("Output", tokens(money.output)),
        ("Cost, summaries included", dollars(money.cost)),
    ];
    if observed {
        return rows;
    }
    rows.extend([
        (
            "Estimated cost if the client summarized by itself",
            dollars(money.cost_without),
        ),
        (
            "Stalls avoided",
            figures::count(u64::from(money.stalls_avoided)),
        ),
    ]);
    rows
}

#[cfg(test)]
mod tests;
