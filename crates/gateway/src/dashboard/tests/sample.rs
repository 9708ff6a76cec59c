//! Sample reports for the tests of the pages.

use crate::dashboard::Visit;
use crate::report::{
    DayReport, Detail, Entry, Gauge, Line, MarkReport, Money, Original, Overview, PinReport,
    Placed, Regrets, Replaced, RequestReport, Sample, Share, WindowAt,
};

/// Text that must not become markup.
pub const HOSTILE: &str =
    "<script>alert(1)</script>\" onload='x' \u{202e}gnp.exe \u{200b}{{ visit }} <!--";

pub fn visit() -> Visit {
    Visit {
        now: "2026-01-02T03:04:05Z".parse().unwrap(),
        base: "http://127.0.0.1:4000".to_owned(),
        mode: "on",
        form: "form-token".to_owned(),
        signed_in: false,
    }
}

pub fn money() -> Money {
    Money {
        requests: 120,
        fresh: 40_000,
        cache_read: 3_100_000,
        cache_write: 90_000,
        output: 44_000,
        cost: 2.31,
        cost_without: 5.85,
        stalls_avoided: 2,
    }
}

pub fn line(id: u8, parent: Option<u8>) -> Line {
    let id_of = |id: u8| format!("{id:032x}");
    Line {
        id: id_of(id),
        title: String::new(),
        name: format!("session {id}"),
        parent: parent.map(id_of),
        model: "claude-sonnet-5".to_owned(),
        state: "idle",
        gauge: Gauge {
            tokens: 41_300,
            window: 64_000,
            soft: 42_600,
            hard: 57_600,
        },
        turns: 240,
        observed: false,
        compactions: 2,
        would_have_swapped: 0,
        began: "2026-01-02T01:04:05Z".to_owned(),
        seen: "2026-01-02T03:03:55Z".to_owned(),
        money: money(),
        regrets: Regrets {
            read_again: 3,
            ..Regrets::default()
        },
    }
}

pub fn overview() -> Overview {
    Overview {
        version: "0.1.0".to_owned(),
        mode: "on",
        strategy: "prepared".to_owned(),
        window: "none".to_owned(),
        route: "auto".to_owned(),
        conversations: vec![line(3, Some(1)), line(1, None), line(2, None)],
        totals: money(),
        days: vec![DayReport {
            day: "2026-01-02".to_owned(),
            model: "claude-sonnet-5".to_owned(),
            requests: 120,
            cost: 2.31,
            cost_without: 5.85,
        }],
    }
}

pub fn mark(id: u8, state: &'static str) -> MarkReport {
    MarkReport {
        id: format!("{id:032x}"),
        route: "readable",
        at: "2026-01-02T02:04:05Z".to_owned(),
        state,
        replaced_turns: 45,
        replaced_tokens: 48_211,
        tokens: 2_104,
        text: "Goal: port the parser.\n\nDecisions: no new dependency.".to_owned(),
    }
}

fn request(at: &str, status: u16, error: &str) -> RequestReport {
    RequestReport {
        at: at.to_owned(),
        tokens: Some(20_000),
        did: vec!["swapped", "noted"],
        status,
        began: error.is_empty().then_some(0.812),
        ended: 9.03,
        error: error.to_owned(),
    }
}

pub fn detail() -> Detail {
    let sample = |at: f64, tokens, unchanged, swapped| Sample {
        at,
        tokens,
        unchanged,
        swapped,
    };
    let share = |class, tokens| Share { class, tokens };
    Detail {
        line: line(1, None),
        pressure: vec![
            sample(0.0, 20_000, 20_000, false),
            sample(30.0, 57_000, 57_000, false),
            sample(90.0, 20_000, 60_000, true),
        ],
        requests: vec![
            request("2026-01-02T03:01:05Z", 529, "the provider refused it"),
            request("2026-01-02T03:00:05Z", 200, ""),
        ],
        marks: vec![mark(7, "replaced"), mark(8, "standing")],
        classes: vec![share("summary", 2_104), share("tool results", 30_000)],
        pins: vec![PinReport {
            id: "0a1b2c3d".to_owned(),
            text: "never push to main".to_owned(),
            origin: "api",
            tokens: 5,
            removable: true,
        }],
        journal: vec![Entry {
            at: "2026-01-02T03:00:05Z".to_owned(),
            text: "swapped: 57,000 to 20,000 tokens".to_owned(),
        }],
        dropped: None,
        may_redo: false,
        at_rest: false,
    }
}

pub fn replaced(from: usize, turns: usize) -> Replaced {
    Replaced {
        line: line(1, None),
        mark: mark(8, "standing"),
        originals: (from..from + turns)
            .map(|index| Original {
                index,
                role: if index % 2 == 0 { "user" } else { "assistant" },
                tokens: 12,
                text: format!("turn {index}"),
            })
            .collect(),
    }
}

pub fn window(at: usize) -> WindowAt {
    WindowAt {
        line: line(1, None),
        at,
        turns: 60,
        around: (at.saturating_sub(10).max(1)..=(at + 10).min(60))
            .map(|at| Placed {
                at,
                role: if at % 2 == 1 { "user" } else { "assistant" },
                class: "required",
                why: "the user tells it".to_owned(),
                was: (at == 31).then_some("droppable"),
                tokens: 12,
                filled: 12 * at as u64,
                text: format!("turn {at}"),
            })
            .collect(),
    }
}

/// Returns the part of a page between two texts.
pub fn part<'a>(page: &'a str, from: &str, to: &str) -> &'a str {
    let (_, behind) = page.split_once(from).expect("it begins");
    let (part, _) = behind.split_once(to).expect("it ends");
    part
}
