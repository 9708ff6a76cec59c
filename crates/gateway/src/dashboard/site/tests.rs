//! Tests of access, of forms, and of the headers of every answer.

use serde_json::Value;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use context::original::{Handle, Section};
use context::pin::{Origin, PinId, Subject};
use futures_util::FutureExt;
use history::{ConversationId, MarkId, Purged, Tenant};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, StatusCode};

use super::{Dashboard, PageRequest};
use crate::config::{Config, Secret};
use crate::dashboard::tests::sample::{detail, overview, part, replaced, visit, window};
use crate::report::{
    Detail, Expanded, Line, Lost, Order, Overview, PinReport, Recalled, Replaced, Report,
    ReportError, Reports, Turns, TurnsWanted, Viewer, WindowAt,
};

const SECRET: [u8; 32] = [9; 32];

/// Knows one conversation, of one tenant, and remembers what it was told to do.
#[derive(Default)]
struct Known {
    told: Mutex<Vec<String>>,
}

fn owner() -> Tenant {
    Tenant::of(&SECRET, b"sk-owner")
}

impl Known {
    fn answer<T: Send + 'static>(&self, viewer: Viewer, of: T, told: String) -> Report<'_, T> {
        if !viewer.may_see(owner()) {
            return std::future::ready(Err(ReportError::NoConversation)).boxed();
        }
        self.told.lock().unwrap().push(told);
        std::future::ready(Ok(of)).boxed()
    }
}

impl Reports for Known {
    fn overview(&self, viewer: Viewer) -> Report<'_, Overview> {
        let seen = if viewer.may_see(owner()) {
            overview()
        } else {
            Overview::default()
        };
        std::future::ready(Ok(seen)).boxed()
    }

    fn detail(&self, viewer: Viewer, _: ConversationId) -> Report<'_, Detail> {
        self.answer(viewer, detail(), "detail".to_owned())
    }

    fn replaced(
        &self,
        viewer: Viewer,
        _: ConversationId,
        _: MarkId,
        turns: Range<usize>,
    ) -> Report<'_, Replaced> {
        let told = format!("replaced {turns:?}");
        self.answer(viewer, replaced(turns.start, 5), told)
    }

    fn window(&self, viewer: Viewer, _: ConversationId, at: Option<usize>) -> Report<'_, WindowAt> {
        self.answer(viewer, window(at.unwrap_or(60)), format!("window {at:?}"))
    }

    fn turns(&self, viewer: Viewer, _: ConversationId, wanted: TurnsWanted) -> Report<'_, Turns> {
        let told = format!("turns {:?} {}", wanted.find, wanted.from);
        self.answer(viewer, Turns::default(), told)
    }

    fn lost(&self, viewer: Viewer, _: ConversationId, _: Option<MarkId>) -> Report<'_, Lost> {
        self.answer(viewer, Lost::default(), "lost".to_owned())
    }

    fn session(&self, viewer: Viewer, _: String) -> Report<'_, Line> {
        self.answer(viewer, Line::default(), "session".to_owned())
    }

    fn compacted(&self, viewer: Viewer, _: ConversationId, _: String) -> Report<'_, Lost> {
        self.answer(viewer, Lost::default(), "compacted".to_owned())
    }

    fn expand(
        &self,
        viewer: Viewer,
        _: ConversationId,
        _: (Handle, Option<Section>),
        _: usize,
    ) -> Report<'_, Expanded> {
        self.answer(viewer, Expanded::default(), "expand".to_owned())
    }

    fn recall(
        &self,
        viewer: Viewer,
        _: ConversationId,
        _: String,
        _: usize,
    ) -> Report<'_, Recalled> {
        self.answer(viewer, Recalled::default(), "recall".to_owned())
    }

    fn claim(&self, _: Viewer, _: &str, _: &Value) -> Vec<ConversationId> {
        Vec::new()
    }

    fn pin(
        &self,
        viewer: Viewer,
        _: ConversationId,
        (subject, _): (Subject, Origin),
    ) -> Report<'_, PinReport> {
        let text = subject.text(&[]).unwrap_or_default();
        self.answer(viewer, PinReport::default(), format!("pin {text}"))
    }

    fn unpin(&self, viewer: Viewer, _: ConversationId, pin: PinId) -> Report<'_, bool> {
        self.answer(viewer, true, format!("unpin {pin}"))
    }

    fn order(&self, viewer: Viewer, _: ConversationId, order: Order) -> Report<'_, ()> {
        self.answer(viewer, (), format!("order {order:?}"))
    }

    fn reword(
        &self,
        viewer: Viewer,
        _: ConversationId,
        (mark, text): (MarkId, String),
    ) -> Report<'_, ()> {
        self.answer(viewer, (), format!("reword {mark} {text:?}"))
    }

    fn remove(&self, viewer: Viewer, _: ConversationId) -> Report<'_, Purged> {
        self.answer(viewer, Purged::default(), "remove".to_owned())
    }
}

struct Site {
    known: Arc<Known>,
    dashboard: Dashboard,
}

fn site() -> Site {
    let known = Arc::new(Known::default());
    let config = Config {
        admin_token: Some(Secret::new("admin-token")),
        ..Config::default()
    };
    let reports: Arc<dyn Reports> = known.clone();
    let dashboard = Dashboard::new(reports, &config, SECRET, Arc::new(|| visit().now));
    Site { known, dashboard }
}

impl Site {
    fn ask(&self, request: PageRequest) -> Response<Bytes> {
        let answer = self.dashboard.answer(request).now_or_never();
        answer.expect("nothing here waits")
    }

    fn get(&self, path: &str, viewer: Option<Viewer>) -> Response<Bytes> {
        self.ask(get(path, viewer))
    }

    /// The token in the form of a page.
    fn token(&self, request: PageRequest) -> String {
        let page = text(&self.ask(request));
        part(&page, "name=\"form\" value=\"", "\"").to_owned()
    }
}

fn get(address: &str, viewer: Option<Viewer>) -> PageRequest {
    let (path, query) = address.split_once('?').unwrap_or((address, ""));
    let mut headers = HeaderMap::new();
    headers.insert("host", HeaderValue::from_static("127.0.0.1:4000"));
    PageRequest {
        method: Method::GET,
        path: path.to_owned(),
        query: query.to_owned(),
        headers,
        body: Bytes::new(),
        viewer,
    }
}

fn post(path: &str, body: String, viewer: Option<Viewer>) -> PageRequest {
    PageRequest {
        method: Method::POST,
        body: Bytes::from(body),
        ..get(path, viewer)
    }
}

fn with(mut request: PageRequest, name: &'static str, value: &str) -> PageRequest {
    let value = HeaderValue::from_str(value).unwrap();
    request.headers.insert(HeaderName::from_static(name), value);
    request
}

fn text(response: &Response<Bytes>) -> String {
    String::from_utf8(response.body().to_vec()).unwrap()
}

fn header<'a>(response: &'a Response<Bytes>, name: &str) -> &'a str {
    response
        .headers()
        .get(name)
        .map_or("", |value| value.to_str().unwrap())
}

const ONE: &str = "/ebbtide/conversations/00000000000000000000000000000001";

#[test]
fn addresses_and_their_status() {
    let site = site();
    let all = Some(Viewer::All);
    let mark = format!("{ONE}/marks/00000000000000000000000000000008?from=40");
    let turns = format!("{ONE}/turns?find=a&from=7");
    let delete = format!("{ONE}/delete");
    let stranger = Some(Viewer::Tenant(Tenant::ANONYMOUS));
    let cases = [
        ("/ebbtide", all, 303),
        ("/ebbtide/", all, 200),
        ("/ebbtide/", None, 303),
        ("/ebbtide/?find=a&from=x", all, 200),
        ("/ebbtide/login", None, 200),
        (ONE, all, 200),
        (delete.as_str(), all, 200),
        (delete.as_str(), stranger, 404),
        (ONE, None, 303),
        (ONE, Some(Viewer::Tenant(owner())), 200),
        (ONE, Some(Viewer::Tenant(Tenant::ANONYMOUS)), 404),
        (mark.as_str(), all, 200),
        (turns.as_str(), all, 200),
        ("/ebbtide/conversations/../../etc", all, 404),
        ("/ebbtide/assets/none.css", None, 404),
        ("/ebbtide/other", all, 404),
    ];
    for (address, viewer, status) in cases {
        let response = site.get(address, viewer);
        assert_eq!(response.status().as_u16(), status, "{address} {viewer:?}");
        let policy = header(&response, "content-security-policy");
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"));
        assert_eq!(header(&response, "x-content-type-options"), "nosniff");
        assert!(!text(&response).contains("<script>"));
    }
    assert!(
        site.known
            .told
            .lock()
            .unwrap()
            .contains(&"replaced 40..60".to_owned())
    );
    let told = site.known.told.lock().unwrap();
    assert!(told.contains(&"turns \"a\" 7".to_owned()));
}

#[test]
fn the_strategy_is_shown_as_a_picture() {
    let site = site();
    assert_eq!(site.get("/ebbtide/strategy.svg", None).status(), 303);
    let page = text(&site.get("/ebbtide/", Some(Viewer::All)));
    assert!(page.contains("<img src=\"/ebbtide/strategy.svg\""));
    let picture = site.get("/ebbtide/strategy.svg", Some(Viewer::All));
    assert_eq!(header(&picture, "content-type"), "image/svg+xml");
    let policy = header(&picture, "content-security-policy");
    assert!(policy.starts_with("default-src 'none'; style-src 'unsafe-inline'"));
    let svg = text(&picture);
    for part in ["<svg ", "telemetry", "ctrl_in", "Mem.compressor", "</svg>"] {
        assert!(svg.contains(part), "{part}");
    }
}

#[test]
fn the_list_and_the_turns_can_be_downloaded() {
    let site = site();
    let turns = format!("{ONE}/turns.jsonl");
    let cases = [
        (
            "/ebbtide/conversations.csv",
            "text/csv",
            "ebbtide-conversations.csv",
        ),
        (
            &turns,
            "application/jsonl",
            "ebbtide-00000000000000000000000000000001.jsonl",
        ),
    ];
    for (address, kind, name) in cases {
        assert_eq!(site.get(address, None).status(), 303);
        let file = site.get(address, Some(Viewer::All));
        assert!(header(&file, "content-type").starts_with(kind));
        let expected = format!("attachment; filename=\"{name}\"");
        assert_eq!(header(&file, "content-disposition"), expected);
        assert_eq!(header(&file, "x-content-type-options"), "nosniff");
    }
    let rows = |query: &str| {
        let address = format!("/ebbtide/conversations.csv{query}");
        text(&site.get(&address, Some(Viewer::All))).lines().count() - 1
    };
    assert_eq!(
        (rows(""), rows("?state=ready"), rows("?find=session+2")),
        (3, 0, 1)
    );
    let stranger = Some(Viewer::Tenant(Tenant::ANONYMOUS));
    assert_eq!(site.get(&turns, stranger).status(), StatusCode::NOT_FOUND);
}

#[test]
fn the_files_of_a_page_are_there_and_are_kept() {
    let site = site();
    let page = text(&site.get("/ebbtide/", Some(Viewer::All)));
    let addresses: Vec<&str> = page
        .split('"')
        .filter(|part| part.starts_with("/ebbtide/assets/"))
        .collect();
    assert_eq!(addresses.len(), 3);
    for address in addresses {
        let first = site.get(address, None);
        assert_eq!(first.status(), StatusCode::OK);
        assert!(header(&first, "cache-control").contains("immutable"));
        let again = with(get(address, None), "if-none-match", header(&first, "etag"));
        assert_eq!(site.ask(again).status(), StatusCode::NOT_MODIFIED);
    }
}

#[test]
fn forms_of_our_pages_are_obeyed() {
    let site = site();
    let all = Some(Viewer::All);
    let token = site.token(get(ONE, all));
    let cases = [
        ("pins", "&text=keep+this", "?told=pinned#pins"),
        ("pins/0a1b2c3d/remove", "", "?told=unpinned#pins"),
        (
            "marks/00000000000000000000000000000008",
            "&text=Goal:%0D%0Anone",
            "?told=edited",
        ),
        ("orders", "&order=prepare", "?told=prepare"),
        ("orders", "&order=swap", "?told=swap"),
    ];
    for (what, sent, part) in cases {
        let response = site.ask(post(
            &format!("{ONE}/{what}"),
            format!("form={token}{sent}"),
            all,
        ));
        assert_eq!(response.status(), StatusCode::SEE_OTHER);
        assert_eq!(header(&response, "location"), format!("{ONE}{part}"));
    }
    let delete = post(&format!("{ONE}/delete"), format!("form={token}"), all);
    let deleted = site.ask(delete);
    assert_eq!(header(&deleted, "location"), "/ebbtide/?told=deleted");
    let list = text(&site.get("/ebbtide/?told=deleted", all));
    assert!(list.contains("The conversation is deleted."));
    assert_eq!(
        site.known.told.lock().unwrap()[1..],
        [
            "pin keep this",
            "unpin 0a1b2c3d",
            "reword 00000000000000000000000000000008 \"Goal:\\nnone\"",
            "order Prepare",
            "order Swap",
            "remove"
        ]
    );
}

#[test]
fn the_page_says_what_will_come_of_an_action() {
    let site = site();
    let page = |query: &str| text(&site.get(&format!("{ONE}{query}"), Some(Viewer::All)));
    let said = page("?told=swap");
    let sentence = "Ordered: the summary goes in with the next request of this conversation.";
    assert_eq!(
        part(&said, "class=\"told\" role=\"status\">", "</p>"),
        sentence
    );
    let pinned = page("?told=pinned");
    let (_, pins) = pinned.split_once("id=\"pins-title\"").unwrap();
    assert!(pins.contains("class=\"told\""), "beside the pins");
    for unknown in [
        "",
        "?told=",
        "?told=none",
        "?told=%3Cb%3Ehello",
        "?told=Swap",
    ] {
        let page = page(unknown);
        assert!(
            !page.contains("class=\"told\"") && !page.contains("hello"),
            "{unknown}"
        );
    }
}

#[test]
fn others_are_not() {
    let site = site();
    let all = Some(Viewer::All);
    let token = site.token(get(ONE, all));
    let pins = format!("{ONE}/pins");
    let right = || post(&pins, format!("form={token}&text=x"), all);
    let long = format!("form={token}&text={}", "x".repeat(600_000));
    let stranger = Some(Viewer::Tenant(Tenant::ANONYMOUS));
    let delete = format!("{ONE}/delete");
    let cases = [
        (with(right(), "origin", "http://evil.example"), 403),
        (with(right(), "sec-fetch-site", "cross-site"), 403),
        (post(&pins, "form=0&text=x".to_owned(), all), 403),
        (post(&pins, "text=x".to_owned(), all), 403),
        (post(&pins, long, all), 413),
        (post(&pins, format!("form={token}&text=x"), None), 303),
        (post(&pins, format!("form={token}&text=x"), stranger), 404),
        (post(&delete, "form=0".to_owned(), all), 403),
        (post(&delete, format!("form={token}"), stranger), 404),
        (
            post(&format!("{ONE}/orders"), format!("form={token}"), all),
            404,
        ),
        (
            post(
                &format!("{ONE}/pins/x/remove"),
                format!("form={token}"),
                all,
            ),
            404,
        ),
    ];
    for (ask, status) in cases {
        let shown = format!("{:?} {:?}", ask.path, ask.headers);
        assert_eq!(site.ask(ask).status().as_u16(), status, "{shown}");
    }
    assert_eq!(site.known.told.lock().unwrap().len(), 1, "only the look");
}

#[test]
fn signing_in_shows_what_is_the_keys() {
    let site = site();
    let token = site.token(get("/ebbtide/login", None));
    let sign_in = |key: &str| {
        site.ask(post(
            "/ebbtide/login",
            format!("form={token}&key={key}"),
            None,
        ))
    };
    assert_eq!(sign_in("").status(), StatusCode::UNPROCESSABLE_ENTITY);
    for (key, status) in [("sk-owner", 200), ("admin-token", 200)] {
        let response = sign_in(key);
        let set = header(&response, "set-cookie").to_owned();
        assert!(set.contains("HttpOnly; SameSite=Strict") && !set.contains(key));
        let cookie = set.split(';').next().unwrap();
        let seen = site.ask(with(get(ONE, None), "cookie", cookie));
        assert_eq!(seen.status().as_u16(), status, "{key}");
        let list = with(get("/ebbtide/", None), "cookie", cookie);
        let form = site.token(list.clone());
        let out = post("/ebbtide/logout", format!("form={form}"), None);
        assert_eq!(
            header(&site.ask(with(out, "cookie", cookie)), "location"),
            "/ebbtide/login"
        );
        assert_eq!(site.ask(list).status(), StatusCode::SEE_OTHER, "signed out");
    }
}

#[test]
fn a_session_counts_before_what_else_is_known() {
    let site = site();
    let token = site.token(get("/ebbtide/login", None));
    let response = site.ask(post(
        "/ebbtide/login",
        format!("form={token}&key=sk-owner"),
        None,
    ));
    let set = header(&response, "set-cookie").to_owned();
    let stranger = get(ONE, Some(Viewer::Tenant(Tenant::ANONYMOUS)));
    let seen = with(stranger, "cookie", set.split(';').next().unwrap());
    assert_eq!(site.ask(seen).status(), StatusCode::OK);
}

#[test]
fn keys_that_nothing_was_recorded_with_open_no_session_and_end_none() {
    let site = site();
    let token = site.token(get("/ebbtide/login", None));
    let sign_in = |key: &str| {
        let form = format!("form={token}&key={key}");
        site.ask(post("/ebbtide/login", form, None))
    };
    let admin = header(&sign_in("admin-token"), "set-cookie").to_owned();
    for attempt in 0..5_000 {
        let refused = sign_in(&format!("guess-{attempt}"));
        assert_eq!(refused.status(), StatusCode::UNPROCESSABLE_ENTITY);
        assert_eq!(header(&refused, "set-cookie"), "");
    }
    let cookie = admin.split(';').next().unwrap();
    let list = with(get("/ebbtide/", None), "cookie", cookie);
    assert_eq!(site.ask(list).status(), StatusCode::OK, "still signed in");
}
