//! The small pages: signing in, and saying that something is not there or was not done.

use askama::Template;

use super::Visit;

/// The page to sign in at. `problem` says why the last attempt failed.
///
/// # Errors
/// Never in practice: the template is checked when it is compiled, and it writes to memory.
pub fn login_page(problem: Option<&str>, visit: &Visit) -> Result<String, askama::Error> {
    Login { visit, problem }.render()
}

/// What a small page says.
#[derive(Clone, Copy, Debug)]
pub struct Notice<'a> {
    /// Its heading.
    pub title: &'a str,
    /// What there is to say.
    pub text: &'a str,
    /// Where to go on.
    pub to: &'a str,
    /// What is there.
    pub link: &'a str,
}

/// A page that says one thing.
///
/// # Errors
/// Never in practice: the template is checked when it is compiled, and it writes to memory.
pub fn notice_page(notice: Notice<'_>, visit: &Visit) -> Result<String, askama::Error> {
    Said {
        visit,
        title: notice.title,
        text: notice.text,
        to: notice.to,
        link: notice.link,
    }
    .render()
}

#[derive(Template)]
#[template(path = "dashboard/login.html")]
struct Login<'a> {
    visit: &'a Visit,
    problem: Option<&'a str>,
}

#[derive(Template)]
#[template(path = "dashboard/notice.html")]
struct Said<'a> {
    visit: &'a Visit,
    title: &'a str,
    text: &'a str,
    to: &'a str,
    link: &'a str,
}
