//! The page that lists the conversations, with their total cost.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use askama::Template;
use context::figures;
use context::title::is_session_id;
use jiff::Timestamp;

use super::Visit;
use super::conversation::swaps;
use super::gauge::{Filled, filled, ratio};
use super::moment::Moment;
use super::search::{Choice, Search};
use super::text::one_line;
use super::told::Told;
use crate::report::{DayReport, Line, Money, Overview};

/// Conversations per page.
const ROWS: usize = 100;
/// Rows of the table by day and model.
const DAYS: usize = 100;

/// Renders the page that lists the conversations.
pub fn overview_page(
    overview: &Overview,
    (search, told): (&Search, Option<Told>),
    visit: &Visit,
) -> Result<String, askama::Error> {
    let mut page = Page::of(overview, search, visit);
    let told = told.filter(|told| *told == Told::Deleted);
    page.told = told.map(Told::sentence);
    page.render()
}

#[derive(Template)]
#[template(path = "dashboard/overview.html")]
struct Page<'a> {
    visit: &'a Visit,
    told: Option<&'static str>,
    strategy: &'a str,
    filter: Filter<'a>,
    tiles: Vec<Tile>,
    spent: Spent<'a>,
    rows: Vec<Row>,
    part: Part,
    /// The headings of the figures.
    headings: Vec<&'static str>,
    /// Set if the viewer has any conversation.
    any: bool,
}

/// The choices that filter the list, and the chosen ones.
struct Filter<'a> {
    search: &'a Search,
    states: Vec<Choice>,
    models: Vec<Choice>,
}

/// The spending by day and model.
struct Spent<'a> {
    days: Vec<Day<'a>>,
    /// True if nothing is changed, so nothing is saved.
    observes: bool,
}

/// The part of the list on one page.
struct Part {
    /// The shown rows, such as `1–100 of 230`.
    range: String,
    earlier: Option<usize>,
    later: Option<usize>,
}

/// A figure of the totals.
pub struct Tile {
    pub name: &'static str,
    pub value: String,
    pub note: String,
}

struct Row {
    id: String,
    name: String,
    model: String,
    depth: usize,
    parent: Option<String>,
    state: State,
    filled: Filled,
    /// The figures with their headings.
    figures: Vec<(&'static str, String)>,
    seen: Moment,
}

/// The spending of one day with one model.
struct Day<'a> {
    day: &'a str,
    model: String,
    requests: String,
    cost: String,
    cost_without: String,
}

impl<'a> Day<'a> {
    fn of(day: &'a DayReport) -> Self {
        Self {
            day: &day.day,
            model: one_line(&day.model, 60),
            requests: figures::count(day.requests),
            cost: dollars(day.cost),
            cost_without: dollars(day.cost_without),
        }
    }
}

/// A supervisor's state.
#[derive(Clone, Copy, Debug)]
pub struct State {
    pub word: &'static str,
    pub meaning: &'static str,
}

impl State {
    /// Explains the state with this name.
    pub fn of(word: &'static str) -> Self {
        let meaning = match word {
            "idle" => "no summary is being prepared",
            "preparing" => "a summary is being prepared",
            "ready" => "a summary is ready to be swapped in",
            "backing-off" => "a preparation failed; the next one starts after a pause",
            "observing" => "requests go out as they came",
            "stopped" => "swaps made no progress, so there will be no more",
            _ => "",
        };
        Self { word, meaning }
    }
}

impl<'a> Page<'a> {
    fn of(overview: &'a Overview, search: &'a Search, visit: &'a Visit) -> Self {
        let found = search.of(&overview.conversations);
        let tree = tree(&found);
        let from = search.from.min(tree.len().saturating_sub(1)) / ROWS * ROWS;
        let to = (from + ROWS).min(tree.len());
        let names: HashMap<&str, String> = overview
            .conversations
            .iter()
            .map(|line| (line.id.as_str(), name(line)))
            .collect();
        Self {
            visit,
            told: None,
            strategy: &overview.strategy,
            filter: Filter {
                search,
                states: Choice::states(search),
                models: Choice::models(&overview.conversations, search),
            },
            tiles: tiles(overview),
            spent: Spent {
                days: overview.days.iter().take(DAYS).map(Day::of).collect(),
                observes: overview.mode == "observe",
            },
            rows: tree
                .iter()
                .skip(from)
                .take(ROWS)
                .map(|(line, depth)| Row::of(line, *depth, &names, visit.now))
                .collect(),
            part: Part::of(from..to, tree.len()),
            headings: tree.first().map_or_else(Vec::new, |(line, _)| {
                figures_of(line).into_iter().map(|(name, _)| name).collect()
            }),
            any: !overview.conversations.is_empty(),
        }
    }
}

impl Part {
    fn of(rows: Range<usize>, all: usize) -> Self {
        let Range { start, end } = rows;
        Self {
            range: match all {
                0 => String::new(),
                all => format!("{}–{end} of {}", start + 1, figures::count(all as u64)),
            },
            earlier: (start > 0).then(|| start.saturating_sub(ROWS)),
            later: (end < all).then_some(end),
        }
    }
}

impl Row {
    fn of(line: &Line, depth: usize, names: &HashMap<&str, String>, now: Timestamp) -> Self {
        let parent = line.parent.as_deref();
        Self {
            id: line.id.clone(),
            name: name(line),
            model: one_line(&line.model, 60),
            depth: depth.min(3),
            parent: parent.and_then(|parent| names.get(parent).cloned()),
            state: State::of(line.state),
            filled: filled(&line.gauge),
            figures: figures_of(line),
            seen: Moment::of(&line.seen, now),
        }
    }
}

/// The figures of a row. In mode observe nothing is changed, so nothing is saved.
fn figures_of(line: &Line) -> Vec<(&'static str, String)> {
    let turns = ("Turns", figures::count(line.turns));
    let mut figures = vec![turns];
    let (done, would) = (line.compactions, line.would_have_swapped);
    if !line.observed || done > 0 {
        figures.push(("Swaps", done.to_string()));
    }
    if line.observed || would > 0 {
        figures.push(("Would have swapped", would.to_string()));
    }
    let cost = ("Cost", dollars(line.money.cost));
    if line.observed {
        figures.push(cost);
        return figures;
    }
    figures.extend([
        ("Stalls avoided", line.money.stalls_avoided.to_string()),
        cost,
        ("Without (est.)", dollars(line.money.cost_without)),
    ]);
    figures
}

/// Returns the client's name, unless it is a session id: then the title; else the start of the id.
pub fn name(line: &Line) -> String {
    let title = one_line(&line.title, 100);
    let name = match title.is_empty() || !is_session_id(&line.name) {
        true => one_line(&line.name, 80),
        false => title,
    };
    if name.is_empty() {
        format!("conversation {}", line.id.get(..8).unwrap_or(&line.id))
    } else {
        name
    }
}

/// Formats an amount of money; zero is `$0`.
pub fn dollars(amount: f64) -> String {
    if amount == 0.0 {
        "$0".to_owned()
    } else {
        figures::dollars(amount)
    }
}

/// Formats the totals.
pub fn money_tiles(money: &Money, observed: bool) -> Vec<Tile> {
    let input = money.fresh + money.cache_read + money.cache_write;
    let cost = |note| Tile {
        name: "Cost",
        value: dollars(money.cost),
        note,
    };
    let mut tiles = if observed {
        vec![cost("observed only: nothing is changed".to_owned())]
    } else {
        vec![
            cost(format!(
                "{} without Ebbtide (estimate)",
                dollars(money.cost_without)
            )),
            saved(money),
            Tile {
                name: "Stalls avoided",
                value: figures::count(u64::from(money.stalls_avoided)),
                note: "requests that would have waited or failed".to_owned(),
            },
        ]
    };
    tiles.push(Tile {
        name: "From the cache",
        value: match input {
            0 => "–".to_owned(),
            input => figures::percent(ratio(money.cache_read, input)),
        },
        note: format!(
            "of {} input tokens",
            figures::short(context::Tokens::new(input))
        ),
    });
    tiles
}

fn tiles(overview: &Overview) -> Vec<Tile> {
    let lines = &overview.conversations;
    let observes = overview.mode == "observe";
    let sum = |count: fn(&Line) -> u32| lines.iter().map(|line| u64::from(count(line))).sum();
    let done = sum(|line| line.compactions);
    let would = sum(|line| line.would_have_swapped);
    let regrets: u64 = lines
        .iter()
        .map(|line| u64::from(line.regrets.total()))
        .sum();
    let missed = match regrets {
        0 => String::new(),
        regrets => format!(", {} missed after swaps", figures::count(regrets)),
    };
    let mut tiles = vec![Tile {
        name: "Conversations",
        value: figures::count(lines.len() as u64),
        note: format!(
            "{} requests, {}{missed}",
            figures::count(overview.totals.requests),
            swaps(observes, (done, would))
        ),
    }];
    tiles.extend(money_tiles(&overview.totals, observes));
    tiles
}

/// The savings, or the additional cost.
fn saved(money: &Money) -> Tile {
    let difference = money.cost_without - money.cost;
    let share = if money.cost_without > 0.0 {
        figures::percent((difference / money.cost_without).abs())
    } else {
        figures::percent(0.0)
    };
    Tile {
        name: if difference < 0.0 {
            "Additional cost"
        } else {
            "Saved"
        },
        value: dollars(difference.abs()),
        note: format!("{share} of the cost if clients summarized by themselves"),
    }
}

/// Orders the conversations so that each one's children follow it, one level deeper.
fn tree<'a>(lines: &[&'a Line]) -> Vec<(&'a Line, usize)> {
    let known: HashSet<&str> = lines.iter().map(|line| line.id.as_str()).collect();
    let mut children: HashMap<Option<&str>, Vec<&'a Line>> = HashMap::new();
    for &line in lines {
        let parent = line.parent.as_deref().filter(|id| known.contains(id));
        children.entry(parent).or_default().push(line);
    }
    let mut out = Vec::with_capacity(lines.len());
    let roots = children.remove(&None).unwrap_or_default();
    walk(roots, &mut children, &mut out);
    // A conversation in a cycle of parents is reachable from no root; it is listed at the end.
    let mut rest: Vec<&'a Line> = children.into_values().flatten().collect();
    rest.sort_by(|a, b| b.seen.cmp(&a.seen).then(a.id.cmp(&b.id)));
    out.extend(rest.into_iter().map(|line| (line, 0)));
    out
}

/// Appends these conversations and their descendants. Takes each list of children once, so it terminates.
fn walk<'a>(
    roots: Vec<&'a Line>,
    children: &mut HashMap<Option<&'a str>, Vec<&'a Line>>,
    out: &mut Vec<(&'a Line, usize)>,
) {
    let mut waiting: Vec<(&Line, usize)> = roots.into_iter().rev().map(|line| (line, 0)).collect();
    while let Some((line, depth)) = waiting.pop() {
        out.push((line, depth));
        let below = children.remove(&Some(line.id.as_str())).unwrap_or_default();
        waiting.extend(below.into_iter().rev().map(|child| (child, depth + 1)));
    }
}

#[cfg(test)]
mod tests;
