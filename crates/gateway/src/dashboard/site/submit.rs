//! The actions.

use bytes::Bytes;
use context::pin::{Origin, PinId, Subject};
use history::{ConversationId, MarkId};
use http::{Response, StatusCode};

use super::{Call, FORM, LOGIN, address, segments};
use crate::dashboard::session::set_cookie;
use crate::dashboard::told::Told;
use crate::dashboard::{form, reply};
use crate::report::{Order, ReportError, Viewer};

/// The result of an action: the notice for the next page, or why nothing was done. `None`: there is no such action.
type Done = Option<Result<Told, ReportError>>;

impl Call<'_> {
    /// Does what a form asks for.
    pub(super) async fn submit(&self) -> Response<Bytes> {
        let (dashboard, request) = (self.dashboard, self.request);
        if request.body.len() > FORM {
            return self.refuse(
                StatusCode::PAYLOAD_TOO_LARGE,
                "Not done",
                "The form is too long.",
            );
        }
        let is_ours = dashboard.sessions.is_form(self.session, &self.sent("form"));
        if !form::same_origin(&request.headers) || !is_ours {
            let why =
                "This form is out of date, or another site sent it. Reload the page and try again.";
            return self.refuse(StatusCode::FORBIDDEN, "Not done", why);
        }
        let segments = segments(&request.path);
        match segments.as_slice() {
            ["login"] => return self.sign_in(self.sent("key").trim()).await,
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
        let page = address(id);
        match self.act(viewer, id, action).await {
            None => self.missing(),
            Some(Ok(told)) => reply::redirect(&told.address(&page)),
            Some(Err(error)) => self.failed(&error, &page),
        }
    }

    /// Does something with a conversation.
    async fn act(&self, viewer: Viewer, id: ConversationId, action: &[&str]) -> Done {
        let reports = &self.dashboard.reports;
        Some(match action {
            ["pins"] => {
                let text = Subject::Text(self.sent("text").trim().to_owned());
                let done = reports.pin(viewer, id, (text, Origin::Api)).await;
                done.map(|_| Told::Pinned)
            }
            ["pins", pin, "remove"] => {
                let done = reports.unpin(viewer, id, PinId::parse(pin)?).await;
                done.map(|_| Told::Unpinned)
            }
            ["delete"] => reports.remove(viewer, id).await.map(|_| Told::Deleted),
            ["marks", mark] => {
                let mark = MarkId::parse(mark)?;
                // Browsers send line breaks as in mail.
                let text = self.sent("text").replace("\r\n", "\n");
                let done = reports.reword(viewer, id, (mark, text)).await;
                done.map(|()| Told::Edited)
            }
            ["orders"] => {
                let (order, told) = match self.sent("order").as_str() {
                    "prepare" => (Order::Prepare, Told::Prepare),
                    "swap" => (Order::Swap, Told::Swap),
                    "undo" => (Order::Undo, Told::Undo),
                    "redo" => (Order::Redo, Told::Redo),
                    _ => return None,
                };
                reports.order(viewer, id, order).await.map(|()| told)
            }
            _ => return None,
        })
    }

    /// A field of the form; empty without one.
    fn sent(&self, name: &str) -> String {
        form::field(&self.request.body, name).unwrap_or_default()
    }
}
