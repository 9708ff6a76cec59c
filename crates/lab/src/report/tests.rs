//! The page holds what it should and asks for nothing from outside.

use super::html;
use crate::compare::{
    Compaction, Comparison, Conduct, Failed, Fate, Overflows, PinCount, RecallFigures, SCHEMA,
    SessionFacts, Simulated, Simulation, Stalls, StrategyResult, Thresholds, TokenUse,
};

fn compaction(before_request: usize, wait: f64) -> Compaction {
    Compaction {
        before_turn: before_request * 2,
        before_request,
        simulated_wait_seconds: wait,
        kind: "summary",
        mark: 10,
        tokens_before: 61_000,
        tokens_after: 14_000,
        summary_tokens: 2_000,
        route: Some("readable"),
        tail_tokens: 8_000,
        recall: Some(RecallFigures {
            needed: 40,
            named: 0.9,
            in_context: 0.6,
            newest_named: 0.25,
            newest_in_context: 0.2,
        }),
    }
}

fn outcome(strategy: &'static str, wait: f64) -> StrategyResult {
    let pressure = (0..900u32)
        .map(|request| f64::from(request % 300) / 300.0 * 0.88 + 0.06)
        .collect();
    StrategyResult {
        strategy: strategy.into(),
        thresholds: Thresholds {
            soft: (wait == 0.0).then_some(0.667),
            hard: Some(0.9),
        },
        boundaries: 2,
        peak_pressure: 0.94,
        overflows: Overflows::default(),
        constraints: Default::default(),
        pins: PinCount {
            requests: 890,
            intact: 890,
        },
        compactions: vec![compaction(300, wait), compaction(600, wait)],
        pressure,
        fate: Fate::default(),
        stopped: None,
        conduct: Conduct::default(),
        simulated: Simulated {
            stalls: Stalls {
                count: if wait > 0.0 { 2 } else { 0 },
                longest_seconds: wait,
                total_seconds: wait * 2.0,
            },
            requests: TokenUse {
                fresh: 40_000,
                cache_read: 30_000_000,
                cache_written: 1_200_000,
                output: 90_000,
            },
            summaries: TokenUse::default(),
            cost_usd: 14.2,
        },
    }
}

fn comparison(title: &str) -> Comparison {
    Comparison {
        schema: SCHEMA,
        session: SessionFacts {
            title: title.to_owned(),
            label: None,
            started: None,
            format: "Claude Code",
            model: Some("claude-sonnet-4-5".to_owned()),
            turns: 1_800,
            requests: 900,
            tokens: 174_112,
            pins: Vec::new(),
            product_compactions: Vec::new(),
            problems: 2,
        },
        simulation: Simulation {
            window: 64_000,
            ..Simulation::default()
        },
        strategies: vec![outcome("prepared", 0.0), outcome("stop_the_world", 41.0)],
        recall: crate::equal_size::EqualSize::default(),
    }
}

#[test]
fn the_page_needs_nothing_from_outside() {
    let page = html(&[comparison("a"), comparison("b")]).expect("renders");
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn titles_are_text_and_not_markup() {
    let page = html(&[comparison("<script>alert(1)</script>\"&")]).expect("renders");
    assert!(!page.contains("<script>"));
}

#[test]
fn a_session_shows_its_plots_bars_and_figures() {
    let page = html(&[comparison("a")]).expect("renders");
    assert_eq!(page.matches("<figure>").count(), 2);
    assert_eq!(
        page.matches("mark stall\" d=\"M").count(),
        3,
        "two and the legend"
    );
    assert_eq!(page.matches("class=\"bar-card\"").count(), 2);
    assert!(
        page.contains("waited twice, 82 s in total (simulated)"),
        "the verdict"
    );
    assert!(page.contains("All sessions together").eq(&false));
    assert!(
        !page.contains("NaN") && !page.contains("inf"),
        "every figure is one"
    );
}

#[test]
fn a_strategy_that_failed_is_told_with_its_session_and_with_all() {
    let mut bad = comparison("a");
    bad.strategies[1].conduct.failed = Some(Failed {
        before_request: 6,
        reason: "it did not come to rest".to_owned(),
    });
    let with_session = "stop_the_world failed at request 7: it did not come to rest.";
    let with_all = "stop_the_world failed in 1 of 2 sessions; `prepared` replaced";
    let page = html(&[bad.clone(), comparison("b")]).expect("renders");
    assert_eq!(page.matches(with_session).count(), 1, "{page}");
    assert_eq!(page.matches(with_all).count(), 1, "{page}");
    let page = html(&[bad]).expect("renders");
    assert!(page.contains(with_session) && !page.contains("failed in"));
    let page = html(&[comparison("a"), comparison("b")]).expect("renders");
    assert!(!page.contains("class=\"warning\""));
}

#[test]
fn prices_of_several_models_are_told_as_such() {
    let (mut one, mut other) = (comparison("a"), comparison("b"));
    "opus".clone_into(&mut one.simulation.model);
    "gpt".clone_into(&mut other.simulation.model);
    let page = html(&[one.clone(), other]).expect("renders");
    assert!(
        page.contains("of each session's model: gpt, opus")
            || page.contains("session&#39;s model: gpt, opus")
    );
    assert!(html(&[one]).expect("renders").contains("<dd>opus</dd>"));
}

#[test]
fn the_page_of_hundreds_of_sessions_is_small() {
    let mut session =
        comparison("Make the importer skip the rows that the ledger has already, and say how many");
    let others = [
        "truncate",
        "clear_tool_results",
        "keep_last_n",
        "cold_cache",
        "thrifty",
        "pinning",
        "vulnerable",
    ];
    let others = others.map(|name| outcome(name, 0.0));
    session.strategies.extend(others);
    let many = vec![session; 264];
    let page = html(&many).expect("renders");
    assert!(page.len() <= 1_000_000, "{} bytes", page.len());
    assert_eq!(page.matches("<figure>").count(), 2 * 100);
    assert!(page.contains("164 more that filled their window"));
    assert_eq!(page.matches("aria-label=\"Legend\"").count(), 1);
}

#[test]
fn nothing_replayed_is_a_page_all_the_same() {
    assert!(html(&[]).expect("renders").contains("0 sessions"));
}
