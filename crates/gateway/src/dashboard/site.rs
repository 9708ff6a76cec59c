//! The addresses under `/ebbtide/` that a browser asks for.
//!
//! | address | what |
//! |---|---|
//! | `GET /ebbtide/` | the list |
//! | `GET /ebbtide/conversations/{id}` | one conversation |
//! | `GET /ebbtide/conversations/{id}/marks/{mark}` | a summary beside what it replaced |
//! | `POST /ebbtide/conversations/{id}/pins` | sets the pin `text` |
//! | `POST /ebbtide/conversations/{id}/pins/{pin}/remove` | removes it |
//! | `POST /ebbtide/conversations/{id}/orders` | gives the `order` `prepare` or `swap` |
//! | `GET /ebbtide/strategy.svg` | the strategy's network as a picture |
//! | `GET`, `POST /ebbtide/login`, `POST /ebbtide/logout` | signing in and out |
//! | `GET /ebbtide/assets/{name}` | the style sheet, the script, the icon |

use std::fmt;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use context::coded::Coded;
use context::pin::PinId;
use conversation::homunculus::hosted::StrategyProgram;
use history::{ConversationId, MarkId, Tenant};
use http::header::IF_NONE_MATCH;
use http::{HeaderMap, Method, Response, StatusCode};
use jiff::Timestamp;

use super::assets::assets;
use super::notice::{Notice, login_page, notice_page};
use super::session::{Sessions, cookie, set_cookie};
use super::{Search, Visit, conversation_page, form, overview_page, replaced, reply};
use crate::config::{Config, Mode, Secret};
use crate::conversations::Clock;
use crate::report::{Asker, Order, ReportError, Reports};

const HOME: &str = "/ebbtide/";
const LOGIN: &str = "/ebbtide/login";
/// The longest form.
const FORM: usize = 64 << 10;

/// The pages over the reports, and who is signed in to them.
pub struct Dashboard {
    reports: Arc<dyn Reports>,
    clock: Clock,
    mode: Mode,
    admin_token: Option<Secret>,
    secret: [u8; 32],
    sessions: Sessions,
    strategy: Arc<StrategyProgram>,
    /// The strategy's picture, once somebody wanted to see it.
    picture: OnceLock<Bytes>,
}

impl fmt::Debug for Dashboard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dashboard").finish_non_exhaustive()
    }
}

/// What a browser asks.
#[derive(Clone, Debug)]
pub struct Ask {
    /// The method.
    pub method: Method,
    /// The path, which begins with `/ebbtide`.
    pub path: String,
    /// The query, without its question mark; empty where there is none.
    pub query: String,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
    /// Who asks, by what the request says apart from a cookie. `None`: has to sign in.
    pub asker: Option<Asker>,
}

/// Who asks, and how they are known.
struct Guest<'a> {
    asker: Option<Asker>,
    /// The session's id, where there is a session.
    session: Option<&'a str>,
}

impl Dashboard {
    /// The pages over these reports. `secret` is the store's, under which keys become tenants.
    #[must_use]
    pub fn new(reports: Arc<dyn Reports>, config: &Config, secret: [u8; 32], clock: Clock) -> Self {
        Self {
            sessions: Sessions::new(&secret, clock()),
            reports,
            clock,
            mode: config.mode,
            admin_token: config.admin_token.clone(),
            secret,
            strategy: config.policy.strategy.program(),
            picture: OnceLock::new(),
        }
    }

    /// Answers a browser.
    pub async fn answer(&self, ask: Ask) -> Response<Bytes> {
        let now = (self.clock)();
        let known = cookie(&ask.headers)
            .and_then(|id| self.sessions.asker(id, now).map(|asker| (id, asker)));
        let guest = Guest {
            asker: known.map(|(_, asker)| asker).or(ask.asker),
            session: known.map(|(id, _)| id),
        };
        let visit = self.visit(&ask, &guest, now);
        match ask.method {
            Method::GET | Method::HEAD => self.show(&ask, &guest, &visit).await,
            Method::POST => self.obey(&ask, &guest, &visit).await,
            _ => self.missing(&visit),
        }
    }

    fn visit(&self, ask: &Ask, guest: &Guest<'_>, now: Timestamp) -> Visit {
        Visit {
            now,
            base: form::base(&ask.headers),
            mode: match self.mode {
                Mode::On => "on",
                Mode::Observe => "observe",
            },
            form: self.sessions.form(guest.session),
            signed_in: guest.session.is_some(),
        }
    }

    async fn show(&self, ask: &Ask, guest: &Guest<'_>, visit: &Visit) -> Response<Bytes> {
        let segments = segments(&ask.path);
        match segments.as_slice() {
            ["assets", name] => {
                let known = ask.headers.get(IF_NONE_MATCH);
                let known = known.and_then(|value| value.to_str().ok());
                return assets()
                    .named(name)
                    .map_or_else(|| self.missing(visit), |served| reply::asset(served, known));
            }
            ["login"] => return reply::page(StatusCode::OK, login_page(None, visit)),
            _ => {}
        }
        let Some(asker) = guest.asker else {
            return reply::see(LOGIN);
        };
        let number = |name| form::field(ask.query.as_bytes(), name)?.parse().ok();
        match segments.as_slice() {
            // The addresses in the pages begin with a slash, but the one people type may not end in it.
            [] if !ask.path.ends_with('/') => reply::see(HOME),
            [] => {
                let search = Search {
                    find: form::field(ask.query.as_bytes(), "find").unwrap_or_default(),
                    from: number("from").unwrap_or(0),
                };
                match self.reports.overview(asker).await {
                    Ok(overview) => {
                        reply::page(StatusCode::OK, overview_page(&overview, &search, visit))
                    }
                    Err(error) => self.failed(&error, HOME, visit),
                }
            }
            ["strategy.svg"] => {
                let draw = || self.strategy.picture().into();
                reply::picture(self.picture.get_or_init(draw).clone())
            }
            ["conversations", id] => {
                let Some(id) = ConversationId::parse(id) else {
                    return self.failed(&ReportError::NoConversation, HOME, visit);
                };
                match self.reports.detail(asker, id).await {
                    Ok(detail) => reply::page(StatusCode::OK, conversation_page(&detail, visit)),
                    Err(error) => self.failed(&error, HOME, visit),
                }
            }
            ["conversations", id, "marks", mark] => {
                let (Some(id), Some(mark)) = (ConversationId::parse(id), MarkId::parse(mark))
                else {
                    return self.failed(&ReportError::NoMark, HOME, visit);
                };
                let from = number("from").unwrap_or(0);
                let turns = from..from.saturating_add(replaced::TURNS);
                match self.reports.replaced(asker, id, mark, turns).await {
                    Ok(found) => {
                        reply::page(StatusCode::OK, replaced::replaced_page(&found, from, visit))
                    }
                    Err(error) => self.failed(&error, &address(id), visit),
                }
            }
            _ => self.missing(visit),
        }
    }

    async fn obey(&self, ask: &Ask, guest: &Guest<'_>, visit: &Visit) -> Response<Bytes> {
        if ask.body.len() > FORM {
            return self.refused(
                visit,
                StatusCode::PAYLOAD_TOO_LARGE,
                "The form is too long.",
            );
        }
        let sent = |name| form::field(&ask.body, name).unwrap_or_default();
        if !form::same_origin(&ask.headers) || !self.sessions.is_form(guest.session, &sent("form"))
        {
            let why = "The form came from another page, or the gateway was started again since it was \
                       shown. Load the page again and repeat it.";
            return self.refused(visit, StatusCode::FORBIDDEN, why);
        }
        match segments(&ask.path).as_slice() {
            ["login"] => return self.sign_in(sent("key").trim(), visit),
            ["logout"] => {
                if let Some(id) = guest.session {
                    self.sessions.close(id);
                }
                return reply::see_with(LOGIN, &set_cookie("", &visit.base));
            }
            _ => {}
        }
        let Some(asker) = guest.asker else {
            return reply::see(LOGIN);
        };
        let segments = segments(&ask.path);
        let (Some("conversations"), Some(Some(id))) = (
            segments.first().copied(),
            segments.get(1).map(|id| ConversationId::parse(id)),
        ) else {
            return self.missing(visit);
        };
        let page = address(id);
        let done = match segments.get(2..).unwrap_or_default() {
            ["pins"] => {
                let text = sent("text").trim().to_owned();
                self.reports.pin(asker, id, text).await.map(|_| "#pins")
            }
            ["pins", pin, "remove"] => {
                let Some(pin) = PinId::parse(pin) else {
                    return self.missing(visit);
                };
                self.reports.unpin(asker, id, pin).await.map(|_| "#pins")
            }
            ["orders"] => {
                let order = match sent("order").as_str() {
                    "prepare" => Order::Prepare,
                    "swap" => Order::Swap,
                    _ => return self.missing(visit),
                };
                self.reports.order(asker, id, order).await.map(|()| "")
            }
            _ => return self.missing(visit),
        };
        match done {
            Ok(part) => reply::see(&format!("{page}{part}")),
            Err(error) => self.failed(&error, &page, visit),
        }
    }

    fn sign_in(&self, key: &str, visit: &Visit) -> Response<Bytes> {
        if key.is_empty() {
            let problem = Some("Enter a key or the token.");
            return reply::page(StatusCode::UNPROCESSABLE_ENTITY, login_page(problem, visit));
        }
        // Compared as hashes, which takes as long for a wrong token as for a right one.
        let is_admin = self.admin_token.as_ref().is_some_and(|token| {
            blake3::hash(token.reveal().as_bytes()) == blake3::hash(key.as_bytes())
        });
        let asker = if is_admin {
            Asker::All
        } else {
            Asker::Tenant(Tenant::of(&self.secret, key.as_bytes()))
        };
        let id = self.sessions.open(asker, visit.now);
        reply::see_with(HOME, &set_cookie(&id, &visit.base))
    }

    fn failed(&self, error: &ReportError, to: &str, visit: &Visit) -> Response<Bytes> {
        let (status, title) = match error {
            ReportError::NoConversation | ReportError::NoMark => {
                (StatusCode::NOT_FOUND, "Not found")
            }
            ReportError::Refused { .. } | ReportError::AtRest | ReportError::NotKept => {
                (StatusCode::UNPROCESSABLE_ENTITY, "Not done")
            }
            ReportError::Store(_) => (StatusCode::SERVICE_UNAVAILABLE, "Not now"),
        };
        let text = format!("{}: {error}.", error.code());
        let notice = Notice {
            title,
            text: &text,
            to,
            link: "Back",
        };
        reply::page(status, notice_page(notice, visit))
    }

    fn refused(&self, visit: &Visit, status: StatusCode, text: &str) -> Response<Bytes> {
        let notice = Notice {
            title: "Not done",
            text,
            to: HOME,
            link: "To the conversations",
        };
        reply::page(status, notice_page(notice, visit))
    }

    fn missing(&self, visit: &Visit) -> Response<Bytes> {
        let notice = Notice {
            title: "Not found",
            text: "There is nothing at this address.",
            to: HOME,
            link: "To the conversations",
        };
        reply::page(StatusCode::NOT_FOUND, notice_page(notice, visit))
    }
}

/// The parts of a path behind `/ebbtide`.
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
