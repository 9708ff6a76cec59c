//! The page of one conversation: every part with something in it, empty, and with hostile text.

use super::conversation_page;
use crate::dashboard::tests::sample::{HOSTILE, detail, mark, part, visit};
use crate::report::Detail;

fn page(detail: &Detail) -> String {
    conversation_page(detail, None, &visit()).expect("renders")
}

#[test]
fn each_part_says_what_is_known() {
    let page = page(&detail());
    for id in [
        "state", "window", "requests", "marks", "pin-list", "cost", "journal",
    ] {
        insta::assert_snapshot!(
            id,
            part(&page, &format!("id=\"{id}\" data-live>"), "\n</div>\n")
        );
    }
}

#[test]
fn empty_parts_say_what_to_do() {
    let mut empty = detail();
    empty.pressure.clear();
    empty.marks.clear();
    empty.classes.clear();
    empty.requests.clear();
    empty.pins.clear();
    empty.journal.clear();
    let page = page(&empty);
    for said in [
        "No requests answered yet",
        "reaches the soft threshold, 43k tokens",
        "The content is not known yet",
        "start a line with <code>#pin</code>",
        "No events yet",
        "No requests noted yet",
    ] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn nothing_a_conversation_says_becomes_markup() {
    let mut hostile = detail();
    hostile.line.name = HOSTILE.to_owned();
    hostile.line.model = HOSTILE.to_owned();
    for mark in &mut hostile.marks {
        mark.text = HOSTILE.to_owned();
    }
    for pin in &mut hostile.pins {
        pin.text = HOSTILE.to_owned();
    }
    for request in &mut hostile.requests {
        request.error = HOSTILE.to_owned();
        request.at = HOSTILE.to_owned();
    }
    for entry in &mut hostile.journal {
        entry.text = HOSTILE.to_owned();
        entry.at = HOSTILE.to_owned();
    }
    let page = page(&hostile);
    for wrong in [
        "<script>alert",
        "onload='x'",
        "\u{200b}",
        "\" onload",
        "<!--",
    ] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(
        page.contains("&#60;script&#62;alert(1)"),
        "it is there as text"
    );
}

#[test]
fn of_many_summaries_the_newest_have_their_text() {
    let mut many = detail();
    many.marks = (0..40).map(|id| mark(id, "replaced")).collect();
    many.marks[0].state = "standing";
    many.marks[39].text = "x".repeat(30_000);
    let page = page(&many);
    assert_eq!(page.matches("<article class=\"summary").count(), 40);
    assert_eq!(page.matches("<pre class=\"said\"").count(), 6);
    assert_eq!(page.matches("This is the start of the summary").count(), 1);
}

#[test]
fn orders_are_offered_where_they_make_sense() {
    let orders = |state| {
        let mut detail = detail();
        detail.line.state = state;
        let page = page(&detail);
        (
            page.contains("value=\"prepare\""),
            page.contains("value=\"swap\""),
        )
    };
    assert_eq!(orders("idle"), (true, false));
    assert_eq!(orders("preparing"), (false, false));
    assert_eq!(orders("ready"), (false, true));
}

#[test]
fn no_order_is_offered_where_nothing_is_carried_out() {
    let mut observed = detail();
    observed.line.observed = true;
    observed.may_redo = true;
    let told = super::Told::of("swap");
    let page = conversation_page(&observed, told, &visit()).expect("renders");
    assert!(!page.contains("name=\"order\"") && !page.contains("class=\"told\""));
    observed.marks[0].state = "would-replace";
    let page = conversation_page(&observed, None, &visit()).expect("renders");
    assert!(page.contains("<h3>Would replace "));
    observed.line.observed = false;
    observed.at_rest = true;
    let page = conversation_page(&observed, None, &visit()).expect("renders");
    assert!(!page.contains("name=\"order\"") && page.contains("takes orders again with"));
    observed.at_rest = false;
    assert!(
        super::conversation_page(&observed, None, &visit()).is_ok_and(|page| {
            page.contains("value=\"undo\"") && page.contains("value=\"redo\"")
        })
    );
}
