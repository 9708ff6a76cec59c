//! The dashboard: pages about the conversations, rendered on the server and complete without a script.
//!
//! Each page is a pure function from a report to HTML. Pages contain no inline style and no inline script,
//! so nothing a conversation says can become either; one small external script refreshes the parts of a page
//! that are marked as live.

mod assets;
mod conversation;
mod export;
mod form;
mod gauge;
mod moment;
mod notice;
mod overview;
mod plot;
mod removal;
mod replaced;
mod reply;
mod requests;
mod search;
mod session;
mod site;
mod text;
mod told;
mod turns;
mod visit;
mod window;

pub use conversation::conversation_page;
pub use notice::{Notice, login_page, notice_page};
pub use overview::overview_page;
pub use replaced::replaced_page;
pub(crate) use reply::PROTECTION;
pub use search::Search;
pub use site::{Dashboard, PageRequest};
pub use text::one_line;
pub use turns::turns_page;
pub use visit::Visit;
pub use window::window_page;

#[cfg(test)]
mod tests {
    pub(super) mod sample;
}
