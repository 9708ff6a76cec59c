//! Tests of the pages in a browser.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use context::original::{Handle, Section};
use context::pin::{Origin, PinId, Subject};
use futures_util::FutureExt;
use gateway::report::{
    DayReport, Detail, Entry, Expanded, Gauge, Line, Lost, MarkReport, Matches, Money, Order,
    Original, Overview, PinReport, Placed, Recalled, Replaced, Report, Reports, RequestReport,
    Said, Sample, Share, Turns, TurnsWanted, Viewer, WindowAt,
};
use history::{ConversationId, MarkId, Purged};
use serde_json::Value;

use crate::browser::{Browser, Loaded, Scheme};
use crate::harness::Stage;

const ONE: &str = "/ebbtide/conversations/00000000000000000000000000000001";
const MARK: &str = "/ebbtide/conversations/00000000000000000000000000000001/marks/00000000000000000000000000000008";
const TURNS: &str = "/ebbtide/conversations/00000000000000000000000000000001/turns";
const FOUND: &str =
    "/ebbtide/conversations/00000000000000000000000000000001/turns?find=script&from=1";
const DELETE: &str = "/ebbtide/conversations/00000000000000000000000000000001/delete";
/// Text that must not become markup, and a word too long for a phone.
const HOSTILE: &str = "<script>alert(1)</script> \u{202e}gnp.exe\u{200b} שלום عليكم <img src=x onerror=alert(2)> /home/agent/work/repositories/a_very_long_path_without_any_place_to_break_it_in_two/src/lib.rs";

/// Reports on this many conversations; each request adds a turn.
struct Lively {
    conversations: u16,
    told: AtomicU64,
}

impl Default for Lively {
    fn default() -> Self {
        Self::of(7)
    }
}

impl Lively {
    fn of(conversations: u16) -> Self {
        let told = AtomicU64::new(0);
        Self {
            conversations,
            told,
        }
    }

    fn line(&self, id: u16, parent: Option<u16>) -> Line {
        let states = ["idle", "preparing", "ready", "backing-off", "stopped"];
        Line {
            id: format!("{id:032x}"),
            name: if id == 1 {
                HOSTILE.to_owned()
            } else {
                format!("session {id}")
            },
            parent: parent.map(|id| format!("{id:032x}")),
            model: "claude-sonnet-5".to_owned(),
            state: states[usize::from(id) % states.len()],
            gauge: Gauge {
                tokens: u64::from(id % 7) * 9_000,
                window: 64_000,
                soft: 42_600,
                hard: 57_600,
            },
            turns: 1_000 + self.told.fetch_add(1, Ordering::Relaxed),
            compactions: 4,
            began: "2026-01-01T20:04:05Z".to_owned(),
            seen: "2026-01-02T03:03:55Z".to_owned(),
            money: Money {
                requests: 420,
                fresh: 40_000,
                cache_read: 13_100_000,
                cache_write: 390_000,
                output: 144_000,
                cost: 8.31,
                cost_without: 19.85,
                stalls_avoided: 4,
            },
            ..Line::default()
        }
    }

    fn detail(&self) -> Detail {
        let kinds = [
            "summary",
            "pins",
            "notes",
            "user",
            "assistant",
            "tool results",
            "system and tools",
        ];
        let share = |(class, tokens)| Share { class, tokens };
        Detail {
            line: self.line(1, None),
            pressure: (0..420_u32).map(sample).collect(),
            requests: (0..12).map(request).collect(),
            marks: vec![mark(7, "replaced", "old"), mark(8, "standing", HOSTILE)],
            classes: kinds
                .into_iter()
                .zip([2_104, 310, 90, 2_400, 9_000, 21_000, 6_200])
                .map(share)
                .collect(),
            pins: vec![pin("api", HOSTILE), pin("user", "never push to main")],
            journal: vec![Entry {
                at: "2026-01-02T03:00:05Z".to_owned(),
                text: "swapped: 57,511 to 12,904 tokens".to_owned(),
            }],
            dropped: None,
            may_redo: false,
            at_rest: false,
        }
    }
}

/// A sawtooth: up to the hard threshold, down at a swap.
fn sample(request: u32) -> Sample {
    Sample {
        at: f64::from(request) * 61.0,
        tokens: 12_000 + u64::from(request % 105) * 440,
        unchanged: 12_000 + u64::from(request) * 440,
        swapped: request > 0 && request.is_multiple_of(105),
    }
}

fn request(n: u16) -> RequestReport {
    let fails = n.is_multiple_of(5);
    RequestReport {
        at: format!("2026-01-02T03:{:02}:05Z", 59 - n),
        tokens: Some(41_000),
        did: vec!["swapped", "compacted", "noted"],
        status: if fails { 529 } else { 200 },
        began: (!fails).then_some(0.812),
        ended: 9.03,
        error: if fails { "the provider refused it" } else { "" }.to_owned(),
    }
}

fn mark(id: u8, state: &'static str, text: &str) -> MarkReport {
    MarkReport {
        id: format!("{id:032x}"),
        route: "readable",
        at: "2026-01-02T02:04:05Z".to_owned(),
        state,
        replaced_turns: 45,
        replaced_tokens: 48_211,
        tokens: 2_104,
        text: format!("Goal: {text}\n\nNext steps: none"),
    }
}

fn pin(origin: &'static str, text: &str) -> PinReport {
    PinReport {
        id: PinId::of(text).to_string(),
        text: text.to_owned(),
        origin,
        tokens: 5,
        removable: origin == "api",
    }
}

fn ready<T: Send + 'static>(of: T) -> Report<'static, T> {
    std::future::ready(Ok(of)).boxed()
}

impl Reports for Lively {
    fn overview(&self, _: Viewer) -> Report<'_, Overview> {
        ready(Overview {
            version: "0.1.0".to_owned(),
            mode: "on",
            strategy: "prepared".to_owned(),
            window: "none".to_owned(),
            route: "auto".to_owned(),
            conversations: (1..=self.conversations)
                .map(|id| self.line(id, (id % 3 == 0).then_some(id - 1)))
                .collect(),
            totals: Money::default(),
            days: vec![DayReport {
                day: "2026-01-02".to_owned(),
                model: HOSTILE.to_owned(),
                requests: 12,
                cost: 1.5,
                cost_without: 2.5,
            }],
        })
    }

    fn detail(&self, _: Viewer, _: ConversationId) -> Report<'_, Detail> {
        ready(self.detail())
    }

    fn replaced(
        &self,
        _: Viewer,
        _: ConversationId,
        _: MarkId,
        turns: Range<usize>,
    ) -> Report<'_, Replaced> {
        ready(Replaced {
            line: self.line(1, None),
            mark: mark(8, "standing", HOSTILE),
            originals: turns
                .map(|index| Original {
                    index,
                    role: ["user", "assistant", "tool"][index % 3],
                    tokens: 900,
                    text: HOSTILE.repeat(index),
                })
                .collect(),
        })
    }

    fn window(&self, _: Viewer, _: ConversationId, at: Option<usize>) -> Report<'_, WindowAt> {
        let at = at.unwrap_or(60);
        ready(WindowAt {
            line: self.line(1, None),
            at,
            turns: 60,
            around: (at.saturating_sub(10).max(1)..=(at + 10).min(60))
                .map(|at| Placed {
                    at,
                    role: ["user", "assistant", "tool"][at % 3],
                    class: "required",
                    why: HOSTILE.to_owned(),
                    was: None,
                    tokens: 900,
                    filled: 900 * at as u64,
                    text: HOSTILE.repeat(at),
                })
                .collect(),
        })
    }

    fn turns(&self, _: Viewer, _: ConversationId, wanted: TurnsWanted) -> Report<'_, Turns> {
        let said = |index: usize| Said {
            index,
            role: ["user", "assistant", "tool"][index % 3],
            at: Some("2026-01-02T03:00:05Z".to_owned()),
            tokens: 900,
            seen: ["summarized", "shown", "cleared"][index % 3],
            text: HOSTILE.repeat(index),
        };
        ready(Turns {
            line: self.line(1, None),
            all: 60,
            turns: (wanted.from..wanted.from + 6).map(said).collect(),
            found: (!wanted.find.is_empty()).then_some(Matches {
                places: 21,
                turns: 6,
                searched: 0..60,
            }),
            earlier: None,
            later: Some(wanted.from + 6),
        })
    }

    fn lost(&self, _: Viewer, _: ConversationId, _: Option<MarkId>) -> Report<'_, Lost> {
        ready(Lost::default())
    }

    fn session(&self, _: Viewer, _: String) -> Report<'_, Line> {
        ready(Line::default())
    }

    fn compacted(&self, _: Viewer, _: ConversationId, _: String) -> Report<'_, Lost> {
        ready(Lost::default())
    }

    fn expand(
        &self,
        _: Viewer,
        _: ConversationId,
        _: (Handle, Option<Section>),
        _: usize,
    ) -> Report<'_, Expanded> {
        ready(Expanded::default())
    }

    fn recall(&self, _: Viewer, _: ConversationId, _: String, _: usize) -> Report<'_, Recalled> {
        ready(Recalled::default())
    }

    fn claim(&self, _: Viewer, _: &str, _: &Value) -> Vec<ConversationId> {
        Vec::new()
    }

    fn pin(&self, _: Viewer, _: ConversationId, _: (Subject, Origin)) -> Report<'_, PinReport> {
        ready(PinReport::default())
    }

    fn unpin(&self, _: Viewer, _: ConversationId, _: PinId) -> Report<'_, bool> {
        ready(true)
    }

    fn order(&self, _: Viewer, _: ConversationId, _: Order) -> Report<'_, ()> {
        ready(())
    }

    fn reword(&self, _: Viewer, _: ConversationId, _: (MarkId, String)) -> Report<'_, ()> {
        ready(())
    }

    fn remove(&self, _: Viewer, _: ConversationId) -> Report<'_, Purged> {
        ready(Purged::default())
    }
}

/// The measurements of the framed pages.
fn measurements(loaded: &Loaded) -> Vec<Value> {
    let (_, found) = loaded
        .dom
        .split_once("<pre id=\"measured\">")
        .expect("measured");
    let (found, _) = found.split_once("</pre>").expect("measured");
    serde_json::from_str(found).expect("JSON")
}

/// Lists the problems of a measured page.
fn problem(page: &Value) -> Option<String> {
    let number = |key: &str| page[key].as_u64().expect("a number");
    let none = ["wide", "faint", "unnamed", "twice"]
        .iter()
        .all(|&key| page[key] == Value::Array(Vec::new()));
    let fine = none
        && number("scroll") <= number("inner")
        && number("headings") == 1
        && number("scripts") == 0
        && number("texts") > 5;
    (!fine).then(|| format!("{page}"))
}

#[tokio::test]
async fn pages_fit_a_phone_and_can_be_read_in_both_schemes() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::open(Arc::new(Lively::default())).await;
    let pages = [
        "/ebbtide/",
        ONE,
        MARK,
        TURNS,
        FOUND,
        DELETE,
        "/ebbtide/login",
        "/ebbtide/?find=none",
    ];
    let url = stage.measured(&pages, &[390, 1280]);
    let (mut papers, mut problems) = (Vec::new(), Vec::new());
    for scheme in [Scheme::Light, Scheme::Dark] {
        let loaded = browser.load(&url, scheme, 1_000).await;
        let found = measurements(&loaded);
        assert_eq!(found.len(), pages.len() * 2);
        for page in found {
            papers.push(page["paper"].as_str().expect("a colour").to_owned());
            problems.extend(problem(&page).map(|what| format!("{scheme:?} {what}")));
        }
        assert_eq!(loaded.console, Vec::<String>::new());
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    papers.dedup();
    assert_eq!(papers, ["rgb(253, 253, 251)", "rgb(20, 24, 29)"]);
}

#[tokio::test]
async fn a_list_of_any_length_fits() {
    let Some(browser) = Browser::find() else {
        return;
    };
    for (conversations, shown) in [(1, 1), (70, 70), (2_000, 100)] {
        let stage = Stage::open(Arc::new(Lively::of(conversations))).await;
        let url = stage.measured(&["/ebbtide/"], &[390, 1280]);
        let loaded = browser.load(&url, Scheme::Light, 1_000).await;
        assert_eq!(loaded.console, Vec::<String>::new());
        let found = measurements(&loaded);
        assert_eq!(found.len(), 2);
        for page in found {
            assert_eq!(problem(&page), None, "{conversations} conversations");
        }
        let url = stage.url("/ebbtide/");
        let list = browser.load(&url, Scheme::Light, 1_000).await;
        let rows = list.dom.matches("/ebbtide/conversations/0").count();
        assert_eq!(rows, shown, "{conversations} conversations");
    }
}

#[tokio::test]
async fn the_list_refreshes_itself_and_its_console_is_empty() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let reports = Arc::new(Lively::default());
    let stage = Stage::open(reports).await;
    let loaded = browser
        .load(&stage.url("/ebbtide/"), Scheme::Light, 5_000)
        .await;
    assert_eq!(loaded.console, Vec::<String>::new());
    assert!(
        loaded.dom.contains("<span>live</span>"),
        "the script ran: {}",
        loaded.dom
    );
    // The first look counted seven turns up from 1,000; what stands there now came with a later one.
    assert!(!loaded.dom.contains("1,006<"), "{}", loaded.dom);
    assert!(
        loaded.dom.contains("1,013<") || loaded.dom.contains("1,020<"),
        "{}",
        loaded.dom
    );
}

#[tokio::test]
async fn times_are_those_of_the_readers_zone() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::open(Arc::new(Lively::default())).await;
    let loaded = browser.load(&stage.url(ONE), Scheme::Light, 5_000).await;
    for shown in [
        "Times are in <span id=\"zone\">Asia/Tokyo</span>",
        "data-exact=\"\" title=\"2026-01-02 12:59:05 Asia/Tokyo\">2026-01-02 12:59:05</time>",
        "datetime=\"2026-01-02T03:00:05Z\" title=\"2026-01-02 12:00:05 Asia/Tokyo\">4 min ago",
    ] {
        assert!(loaded.dom.contains(shown), "{shown}: {}", loaded.dom);
    }
}

#[tokio::test]
async fn a_conversation_is_shown_as_text_and_its_console_is_empty() {
    let Some(browser) = Browser::find() else {
        return;
    };
    let stage = Stage::open(Arc::new(Lively::default())).await;
    let loaded = browser.load(&stage.url(ONE), Scheme::Dark, 1_000).await;
    assert_eq!(loaded.console, Vec::<String>::new());
    for shown in [
        "&lt;script&gt;alert(1)",
        "[U+202E]gnp.exe[U+200B]",
        "<td class=\"n\">21,000</td>",
        "swapped: 57,511 to 12,904 tokens",
        "<button>Add pin</button>",
    ] {
        assert!(loaded.dom.contains(shown), "{shown}");
    }
    assert_eq!(
        loaded.dom.matches("<title>after ").count(),
        3,
        "swaps in the plot"
    );
    assert_eq!(
        loaded.dom.matches("<script").count(),
        1,
        "the one that is ours"
    );
}
