//! A summary beside its turns, page by page.

use super::replaced_page;
use crate::dashboard::tests::sample::{HOSTILE, part, replaced, visit};
use crate::report::{Loss, Lost};

fn lost() -> Lost {
    Lost {
        entries: vec![Loss {
            kind: "decision",
            handle: "turn:7".to_owned(),
            text: "Use <i>SQLite</i>.".to_owned(),
        }],
        left_out: 2,
        ..Lost::default()
    }
}

#[test]
fn both_stand_there() {
    let page = replaced_page((&replaced(0, 20), &lost()), 0, &visit()).expect("renders");
    insta::assert_snapshot!(part(&page, "<article", "</article>"));
    assert!(page.contains("Goal: port the parser."));
    assert!(page.contains("Replaced turns 1 to 20 of 45"));
    assert!(page.contains("<b>decision</b>") && page.contains("2 more are not listed"));
    assert!(!page.contains("<i>SQLite"), "a quotation is escaped");
}

#[test]
fn pages_lead_to_each_other() {
    let links = |from, turns| {
        let page =
            replaced_page((&replaced(from, turns), &lost()), from, &visit()).expect("renders");
        let link = |rel: &str| {
            let (_, behind) = page.split_once(&format!("rel=\"{rel}\" href=\""))?;
            Some(behind.split('"').next()?.to_owned())
        };
        (link("prev"), link("next"))
    };
    let to = |address: &str| Some(address.to_owned());
    assert_eq!(links(0, 20), (None, to("?from=20")));
    assert_eq!(links(20, 20), (to("?from=0"), to("?from=40")));
    assert_eq!(links(40, 5), (to("?from=20"), None));
    assert_eq!(links(45, 0), (to("?from=25"), None), "beyond the end");
}

#[test]
fn long_turns_are_folded_and_hostile_ones_are_text() {
    let mut long = replaced(0, 2);
    long.originals[0].text = "line\n".repeat(100_000);
    long.originals[1].text = HOSTILE.to_owned();
    let page = replaced_page((&long, &lost()), 0, &visit()).expect("renders");
    assert!(page.len() < 250_000, "{}", page.len());
    assert!(page.contains("300 kB more are not shown."));
    assert_eq!(
        page.matches("<details>").count(),
        2,
        "a long turn and the losses"
    );
    assert!(!page.contains("<script>alert"));
}

#[test]
fn only_a_summary_that_is_ready_and_unsigned_can_be_edited() {
    let offers = |state, route| {
        let mut ready = replaced(0, 2);
        (ready.mark.state, ready.mark.route) = (state, route);
        ready.mark.text = format!("</textarea>{HOSTILE}");
        let page = replaced_page((&ready, &lost()), 0, &visit()).expect("renders");
        assert!(!page.contains("</textarea><script>"), "{page}");
        page.contains("<textarea")
    };
    assert!(offers("ready", "readable") && offers("ready", "extractive"));
    assert!(!offers("standing", "readable") && !offers("ready", "native"));
}
