//! The pages.

use bytes::Bytes;
use history::{ConversationId, MarkId};
use http::header::IF_NONE_MATCH;
use http::{Response, StatusCode};

use super::{Call, HOME, LOGIN, address, segments};
use crate::dashboard::assets::assets;
use crate::dashboard::export::{lines, table};
use crate::dashboard::notice::login_page;
use crate::dashboard::removal::removal_page;
use crate::dashboard::told::Told;
use crate::dashboard::{
    Search, conversation_page, form, overview_page, replaced, reply, turns, turns_page, window_page,
};
use crate::report::{ReportError, TurnsWanted, Viewer};

impl Call<'_> {
    /// Shows a page, or leads to the one where the visitor signs in.
    pub(super) async fn show(&self) -> Response<Bytes> {
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
        match segments.as_slice() {
            // Links in the pages begin with a slash, but a typed address may lack the one at its end.
            [] if !request.path.ends_with('/') => reply::redirect(HOME),
            [] => {
                let search = self.search();
                let found = self.dashboard.reports.overview(viewer).await;
                self.page(
                    found.map(|found| overview_page(&found, (&search, self.told()), visit)),
                    HOME,
                )
            }
            ["conversations.csv"] => {
                let found = self.dashboard.reports.overview(viewer).await;
                let table = found.map(|found| table(self.search().of(&found.conversations)));
                self.download(
                    table,
                    ("text/csv; charset=utf-8", "ebbtide-conversations.csv"),
                )
            }
            ["strategy.svg"] => {
                let draw = || self.dashboard.strategy.picture().into();
                reply::picture(self.dashboard.picture.get_or_init(draw).clone())
            }
            ["conversations", id, rest @ ..] => match ConversationId::parse(id) {
                Some(id) => self.of_conversation(viewer, id, rest).await,
                None => self.failed(&ReportError::NoConversation, HOME),
            },
            _ => self.missing(),
        }
    }

    /// Shows a page of one conversation.
    async fn of_conversation(
        &self,
        viewer: Viewer,
        id: ConversationId,
        rest: &[&str],
    ) -> Response<Bytes> {
        let (reports, visit) = (&self.dashboard.reports, &self.visit);
        match rest {
            [] => {
                let found = reports.detail(viewer, id).await;
                let page = found.map(|found| conversation_page(&found, self.told(), visit));
                self.page(page, HOME)
            }
            ["turns"] => {
                let find = self.query("find").unwrap_or_default();
                let wanted = TurnsWanted {
                    find: find.clone(),
                    from: self.number("from").unwrap_or(0),
                    most: turns::TURNS,
                };
                let found = reports.turns(viewer, id, wanted).await;
                let page = found.map(|found| turns_page(&found, &find, visit));
                self.page(page, &address(id))
            }
            ["delete"] => {
                let found = reports.detail(viewer, id).await;
                let page = found.map(|found| removal_page(&found.line, visit));
                self.page(page, &address(id))
            }
            ["turns.jsonl"] => {
                let wanted = TurnsWanted {
                    most: usize::MAX,
                    ..TurnsWanted::default()
                };
                let found = reports.turns(viewer, id, wanted).await;
                let name = format!("ebbtide-{id}.jsonl");
                let turns = found.map(|found| lines(&found));
                self.download(turns, ("application/jsonl; charset=utf-8", &name))
            }
            ["window"] => {
                let found = reports.window(viewer, id, self.number("at")).await;
                let page = found.map(|found| window_page(&found, visit));
                self.page(page, &address(id))
            }
            ["marks", mark] => {
                let Some(mark) = MarkId::parse(mark) else {
                    return self.failed(&ReportError::NoMark, &address(id));
                };
                let from = self.number("from").unwrap_or(0);
                let turns = from..from.saturating_add(replaced::TURNS);
                let found = reports.replaced(viewer, id, mark, turns).await;
                let lost = reports.lost(viewer, id, Some(mark)).await;
                let both = found.and_then(|found| Ok((found, lost?)));
                let page =
                    both.map(|(found, lost)| replaced::replaced_page((&found, &lost), from, visit));
                self.page(page, &address(id))
            }
            _ => self.missing(),
        }
    }

    /// Serves a file to download, or the error of the report that it needs.
    fn download(
        &self,
        file: Result<String, ReportError>,
        (kind, name): (&str, &str),
    ) -> Response<Bytes> {
        match file {
            Ok(file) => reply::download(file.into(), kind, name),
            Err(error) => self.failed(&error, HOME),
        }
    }

    /// The visitor's last action, according to the query.
    fn told(&self) -> Option<Told> {
        Told::of(&self.query("told")?)
    }

    /// The part of the list that the query asks for.
    fn search(&self) -> Search {
        let text = |name| self.query(name).unwrap_or_default();
        Search {
            find: text("find"),
            state: text("state"),
            model: text("model"),
            from: self.number("from").unwrap_or(0),
        }
    }

    /// A field of the query.
    fn query(&self, name: &str) -> Option<String> {
        form::field(self.request.query.as_bytes(), name)
    }

    /// A number of the query.
    fn number(&self, name: &str) -> Option<usize> {
        self.query(name)?.parse().ok()
    }
}
