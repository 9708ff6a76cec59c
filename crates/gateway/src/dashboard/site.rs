//! The addresses under `/ebbtide/` that a browser opens.
//!
//! | address | page or action |
//! |---|---|
//! | `GET /ebbtide/` | the list |
//! | `GET /ebbtide/conversations/{id}` | one conversation |
//! | `GET /ebbtide/conversations/{id}/marks/{mark}` | a summary beside what it replaced |
//! | `GET /ebbtide/conversations/{id}/window` | the window at the turn in `at` |
//! | `POST /ebbtide/conversations/{id}/pins` | sets a pin with the field `text` |
//! | `POST /ebbtide/conversations/{id}/pins/{pin}/remove` | removes the pin |
//! | `POST /ebbtide/conversations/{id}/orders` | gives the order in the field `order`: `prepare` or `swap` |
//! | `GET /ebbtide/strategy.svg` | a picture of the strategy's network |
//! | `GET`, `POST /ebbtide/login`, `POST /ebbtide/logout` | signing in and out |
//! | `GET /ebbtide/assets/{name}` | the style sheet, the script, the icon |

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use context::coded::Coded;
use context::pin::{Origin, PinId, Subject};
use conversation::homunculus::hosted::StrategyProgram;
use history::{ConversationId, MarkId, Tenant};
use http::header::IF_NONE_MATCH;
use http::{HeaderMap, Method, Response, StatusCode};

use super::assets::assets;
use super::notice::{Notice, login_page, notice_page};
use super::session::{Sessions, cookie, set_cookie};
use super::{Search, Visit, conversation_page, form, overview_page, replaced, reply, window_page};
use crate::config::{Config, Secret};
use crate::conversations::Clock;
use crate::report::{Order, ReportError, Reports, Viewer};

const HOME: &str = "/ebbtide/";
const LOGIN: &str = "/ebbtide/login";
/// The longest form, in bytes.
const FORM: usize = 64 << 10;

/// The pages and the sessions of their visitors.
pub struct Dashboard {
    reports: Arc<dyn Reports>,
    clock: Clock,
    mode: &'static str,
    admin_token: Option<Secret>,
    secret: [u8; 32],
    sessions: Sessions,
    strategy: Arc<StrategyProgram>,
    /// The strategy's picture, drawn when it is first requested.
    picture: OnceLock<Bytes>,
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard").finish_non_exhaustive()
    }
}

/// A browser's request.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The request's method.
    pub method: Method,
    /// The path, which begins with `/ebbtide`.
    pub path: String,
    /// The query without its question mark, or empty.
    pub query: String,
    /// The request's headers.
    pub headers: HeaderMap,
    /// The body: a form, or empty.
    pub body: Bytes,
    /// The viewer according to the request, cookies aside; `None` has to sign in.
    pub viewer: Option<Viewer>,
}

/// One request with the identity of its sender.
struct Call<'a> {
    dashboard: &'a Dashboard,
    request: &'a PageRequest,
    viewer: Option<Viewer>,
    /// The id of the session, if there is one.
    session: Option<&'a str>,
    visit: Visit,
}

impl Dashboard {
    /// Creates the dashboard. `secret` is the store's, which derives tenants from keys.
    #[must_use]
    pub fn new(reports: Arc<dyn Reports>, config: &Config, secret: [u8; 32], clock: Clock) -> Self {
        Self {
            sessions: Sessions::new(&secret, clock()),
            reports,
            clock,
            mode: config.mode_name(),
            admin_token: config.admin_token.clone(),
            secret,
            strategy: config.policy.strategy.program(),
            picture: OnceLock::new(),
        }
    }

    /// Answers a browser's request.
    pub async fn answer(&self, request: PageRequest) -> Response<Bytes> {
        let now = (self.clock)();
        let known = cookie(&request.headers)
            .and_then(|id| self.sessions.viewer(id, now).map(|viewer| (id, viewer)));
        let session = known.map(|(id, _)| id);
        let visit = Visit {
            now,
            base: form::base(&request.headers),
            mode: self.mode,
            form: self.sessions.form(session),
            signed_in: session.is_some(),
        };
        let call = Call {
            dashboard: self,
            request: &request,
            viewer: known.map(|(_, viewer)| viewer).or(request.viewer),
            session,
            visit,
        };
        match request.method {
            Method::GET | Method::HEAD => call.show().await,
            Method::POST => call.submit().await,
            _ => call.missing(),
        }
    }
}

impl Call<'_> {
    async fn show(&self) -> Response<Bytes> {
        let (request, visit) = (self.request, &self.visit);
        let segments = segments(&request.path);
        match segments.as_slice() {
            ["assets", name] => {
                let known = request.headers.get(IF_NONE_MATCH);
                let known = known.and_then(|value| value.to_str().ok());
                let served = assets().named(name);
                return served.map_or_else(|| self.missing(), |served| reply::asset(served, known));
            }
            ["login"] => return reply::page(StatusCode::OK, login_page(None, visit)),
            _ => {}
        }
        let Some(viewer) = self.viewer else {
            return reply::redirect(LOGIN);
        };
        let (dashboard, query) = (self.dashboard, request.query.as_bytes());
        let number = |name| form::field(query, name)?.parse().ok();
        match segments.as_slice() {
            // Links in the pages begin with a slash, but a typed address may lack the one at its end.
            [] if !request.path.ends_with('/') => reply::redirect(HOME),
            [] => {
                let search = Search {
                    find: form::field(query, "find").unwrap_or_default(),
                    from: number("from").unwrap_or(0),
                };
                let found = dashboard.reports.overview(viewer).await;
                self.page(
                    found.map(|found| overview_page(&found, &search, visit)),
                    HOME,
                )
            }
            ["strategy.svg"] => {
                let draw = || dashboard.strategy.picture().into();
                reply::picture(dashboard.picture.get_or_init(draw).clone())
            }
            ["conversations", id] => {
                let found = match ConversationId::parse(id) {
                    Some(id) => dashboard.reports.detail(viewer, id).await,
                    None => Err(ReportError::NoConversation),
                };
                self.page(found.map(|found| conversation_page(&found, visit)), HOME)
            }
            ["conversations", id, "window"] => {
                let Some(id) = ConversationId::parse(id) else {
                    return self.failed(&ReportError::NoConversation, HOME);
                };
                let found = dashboard.reports.window(viewer, id, number("at")).await;
                let page = found.map(|found| window_page(&found, visit));
                self.page(page, &address(id))
            }
            ["conversations", id, "marks", mark] => {
                let (Some(id), Some(mark)) = (ConversationId::parse(id), MarkId::parse(mark))
                else {
                    return self.failed(&ReportError::NoMark, HOME);
                };
                let from = number("from").unwrap_or(0);
                let turns = from..from.saturating_add(replaced::TURNS);
                let found = dashboard.reports.replaced(viewer, id, mark, turns).await;
                let lost = dashboard.reports.lost(viewer, id, Some(mark)).await;
                let both = found.and_then(|found| Ok((found, lost?)));
                let page =
                    both.map(|(found, lost)| replaced::replaced_page((&found, &lost), from, visit));
                self.page(page, &address(id))
            }
            _ => self.missing(),
        }
    }

    async fn submit(&self) -> Response<Bytes> {
        let (dashboard, request) = (self.dashboard, self.request);
        if request.body.len() > FORM {
            return self.refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                "Not done",
                "The form is too long.",
            );
        }
        let sent = |name| form::field(&request.body, name).unwrap_or_default();
        let is_ours = dashboard.sessions.is_form(self.session, &sent("form"));
        if !form::same_origin(&request.headers) || !is_ours {
            let why =
                "This form is out of date, or another site sent it. Reload the page and try again.";
            return self.refuse(StatusCode::FORBIDDEN, "Not done", why);
        }
        let segments = segments(&request.path);
        match segments.as_slice() {
            ["login"] => return self.sign_in(sent("key").trim()).await,
            ["logout"] => {
                if let Some(id) = self.session {
                    dashboard.sessions.close(id);
                }
                return reply::redirect_with_cookie(LOGIN, &set_cookie("", &self.visit.base));
            }
            _ => {}
        }
        let Some(viewer) = self.viewer else {
            return reply::redirect(LOGIN);
        };
        let ["conversations", id, action @ ..] = segments.as_slice() else {
            return self.missing();
        };
        let Some(id) = ConversationId::parse(id) else {
            return self.missing();
        };
        let (page, reports) = (address(id), &dashboard.reports);
        let done = match action {
            ["pins"] => {
                let text = Subject::Text(sent("text").trim().to_owned());
                reports
                    .pin(viewer, id, (text, Origin::Api))
                    .await
                    .map(|_| "#pins")
            }
            ["pins", pin, "remove"] => {
                let Some(pin) = PinId::parse(pin) else {
                    return self.missing();
                };
                reports.unpin(viewer, id, pin).await.map(|_| "#pins")
            }
            ["orders"] => {
                let order = match sent("order").as_str() {
                    "prepare" => Order::Prepare,
                    "swap" => Order::Swap,
                    "undo" => Order::Undo,
                    "redo" => Order::Redo,
                    _ => return self.missing(),
                };
                reports.order(viewer, id, order).await.map(|()| "")
            }
            _ => return self.missing(),
        };
        match done {
            Ok(part) => reply::redirect(&format!("{page}{part}")),
            Err(error) => self.failed(&error, &page),
        }
    }

    /// Signs a visitor in. A key that nothing was recorded with opens no session: it may be a mistyped token, and
    /// anyone can make up any number of keys.
    async fn sign_in(&self, key: &str) -> Response<Bytes> {
        let (dashboard, visit) = (self.dashboard, &self.visit);
        if key.is_empty() {
            let problem = Some("Enter an API key or the admin token.");
            return reply::page(StatusCode::UNPROCESSABLE_ENTITY, login_page(problem, visit));
        }
        // Comparing hashes takes the same time for any token.
        let is_admin = dashboard.admin_token.as_ref().is_some_and(|token| {
            blake3::hash(token.reveal().as_bytes()) == blake3::hash(key.as_bytes())
        });
        let viewer = match is_admin {
            true => Viewer::All,
            false => Viewer::Tenant(Tenant::of(&dashboard.secret, key.as_bytes())),
        };
        if !is_admin {
            match dashboard.reports.overview(viewer).await {
                Ok(seen) if seen.conversations.is_empty() => {
                    let problem =
                        "This is not the admin token, and nothing was recorded with such a key.";
                    let page = login_page(Some(problem), visit);
                    return reply::page(StatusCode::UNPROCESSABLE_ENTITY, page);
                }
                Ok(_) => {}
                Err(error) => return self.failed(&error, LOGIN),
            }
        }
        let id = dashboard.sessions.open(viewer, visit.now);
        reply::redirect_with_cookie(HOME, &set_cookie(&id, &visit.base))
    }

    /// Serves a page, or the error of the report that it needs.
    fn page(
        &self,
        page: Result<Result<String, askama::Error>, ReportError>,
        back: &str,
    ) -> Response<Bytes> {
        match page {
            Ok(page) => reply::page(StatusCode::OK, page),
            Err(error) => self.failed(&error, back),
        }
    }

    fn failed(&self, error: &ReportError, to: &str) -> Response<Bytes> {
        let (status, title) = match error {
            ReportError::NoConversation | ReportError::NoMark => {
                (StatusCode::NOT_FOUND, "Not found")
            }
            ReportError::Refused { .. } | ReportError::AtRest | ReportError::NotKept => {
                (StatusCode::UNPROCESSABLE_ENTITY, "Not done")
            }
            ReportError::Store(_) | ReportError::Late => {
                (StatusCode::SERVICE_UNAVAILABLE, "Unavailable")
            }
        };
        let text = format!("{}: {error}.", error.code());
        let (text, link) = (text.as_str(), "Back");
        let notice = Notice {
            title,
            text,
            to,
            link,
        };
        reply::page(status, notice_page(notice, &self.visit))
    }

    fn refuse(&self, status: StatusCode, title: &str, text: &str) -> Response<Bytes> {
        let (to, link) = (HOME, "All conversations");
        let notice = Notice {
            title,
            text,
            to,
            link,
        };
        reply::page(status, notice_page(notice, &self.visit))
    }

    fn missing(&self) -> Response<Bytes> {
        let text = "There is nothing at this address.";
        self.refuse(StatusCode::NOT_FOUND, "Not found", text)
    }
}

/// The segments of a path after `/ebbtide`.
fn segments(path: &str) -> Vec<&str> {
    path.split('/')
        .filter(|part| !part.is_empty())
        .skip(1)
        .collect()
}

fn address(id: ConversationId) -> String {
    format!("/ebbtide/conversations/{id}")
}

#[cfg(test)]
mod tests;
