//! The page that asks before a conversation is deleted.

use askama::Template;
use context::figures;

use super::Visit;
use super::overview::name;
use crate::report::Line;

/// Renders the question.
pub fn removal_page(line: &Line, visit: &Visit) -> Result<String, askama::Error> {
    Page {
        visit,
        id: &line.id,
        name: name(line),
        turns: figures::plural(usize::try_from(line.turns).unwrap_or(0), "turn"),
    }
    .render()
}

#[derive(Template)]
#[template(path = "dashboard/removal.html")]
struct Page<'a> {
    visit: &'a Visit,
    id: &'a str,
    name: String,
    turns: String,
}

#[cfg(test)]
mod tests {
    use super::removal_page;
    use crate::dashboard::tests::sample::{HOSTILE, line, visit};

    #[test]
    fn it_asks_with_the_forms_token() {
        let mut line = line(1, None);
        line.name = HOSTILE.to_owned();
        let page = removal_page(&line, &visit()).expect("renders");
        for part in [
            "<form method=\"post\" action=\"/ebbtide/conversations/00000000000000000000000000000001/delete\">",
            "name=\"form\" value=\"form-token\"",
            "240 turns",
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(!page.contains("<script>alert"));
    }
}
