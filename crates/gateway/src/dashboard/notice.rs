//! The small pages: the sign-in form, and notices.

use askama::Template;

use super::Visit;

/// Renders the sign-in page. `problem` says why the last attempt failed.
pub fn login_page(problem: Option<&str>, visit: &Visit) -> Result<String, askama::Error> {
    Login { visit, problem }.render()
}

/// A short message.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// The heading.
    pub title: &'a str,
    /// The message.
    pub text: &'a str,
    /// The address of the link.
    pub to: &'a str,
    /// The text of the link.
    pub link: &'a str,
}

/// Renders a page with a short message.
pub fn notice_page(notice: Notice<'_>, visit: &Visit) -> Result<String, askama::Error> {
    NoticePage { visit, notice }.render()
}

#[derive(Template)]
#[template(path = "dashboard/login.html")]
struct Login<'a> {
    visit: &'a Visit,
    problem: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "dashboard/notice.html")]
struct NoticePage<'a> {
    visit: &'a Visit,
    notice: Notice<'a>,
}
