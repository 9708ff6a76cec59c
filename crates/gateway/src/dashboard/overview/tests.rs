//! The list shows what it should, in the right order, and nothing a conversation says becomes markup.

use super::{Search, overview_page, tree};
use crate::dashboard::tests::sample::{HOSTILE, line, money, overview, part, visit};
use crate::report::{Line, Money, Overview};

fn page(overview: &Overview, search: &Search) -> String {
    overview_page(overview, (search, None), &visit()).expect("renders")
}

#[test]
fn a_row_says_what_is_known() {
    let page = page(&overview(), &Search::default());
    insta::assert_snapshot!(part(&page, "<tr role=\"row\" class=\"depth-1\">", "</tr>"));
}

#[test]
fn the_totals() {
    let page = page(&overview(), &Search::default());
    insta::assert_snapshot!(part(&page, "<dl class=\"tiles\">", "</dl>"));
}

#[test]
fn costs_stand_by_day_and_model() {
    let mut overview = overview();
    let days = part(
        &page(&overview, &Search::default()),
        "id=\"days\"",
        "</details>",
    )
    .to_owned();
    assert!(
        days.contains("<td class=\"n\">$2.31</td><td class=\"n\">$5.85</td>"),
        "{days}"
    );
    overview.mode = "observe";
    let observed = page(&overview, &Search::default());
    let days = part(&observed, "id=\"days\"", "</details>");
    assert!(days.contains("$2.31") && !days.contains("Without") && !days.contains("$5.85"));
}

#[test]
fn what_costs_more_is_said_as_plainly_as_what_costs_less() {
    let mut more = overview();
    more.totals = Money {
        cost: 3.0,
        cost_without: 2.0,
        ..money()
    };
    let page = page(&more, &Search::default());
    assert!(
        page.contains("<dt>Additional cost</dt><dd><b>$1.00</b> <span>50 % of the cost if clients")
    );
}

#[test]
fn children_stand_behind_their_parents_and_nothing_is_lost() {
    let order = |lines: &[Line]| -> Vec<(u8, usize)> {
        let lines: Vec<&Line> = lines.iter().collect();
        let number = |line: &Line| u8::from_str_radix(&line.id, 16).unwrap();
        tree(&lines)
            .into_iter()
            .map(|(line, depth)| (number(line), depth))
            .collect()
    };
    let cases = [
        (
            vec![line(3, Some(1)), line(2, None), line(1, None)],
            vec![(2, 0), (1, 0), (3, 1)],
        ),
        (
            vec![line(4, Some(3)), line(3, Some(1)), line(1, None)],
            vec![(1, 0), (3, 1), (4, 2)],
        ),
        (vec![line(3, Some(9))], vec![(3, 0)]),
        (
            vec![line(1, Some(2)), line(2, Some(1)), line(5, Some(5))],
            vec![(1, 0), (2, 0), (5, 0)],
        ),
    ];
    for (lines, expected) in cases {
        assert_eq!(order(&lines), expected);
    }
}

#[test]
fn names_and_models_are_text() {
    let mut hostile = overview();
    for line in &mut hostile.conversations {
        line.name = HOSTILE.to_owned();
        line.model = HOSTILE.to_owned();
    }
    let page = page(&hostile, &Search::default());
    for wrong in [
        "<script>alert",
        "onload='x'",
        "\u{202e}",
        "\" onload",
        "<!--",
    ] {
        assert!(!page.contains(wrong), "{wrong}");
    }
    assert!(page.contains("[U+202E]gnp.exe"), "it is there as text");
}

#[test]
fn what_is_searched_for_is_text() {
    let search = Search {
        find: HOSTILE.to_owned(),
        state: HOSTILE.to_owned(),
        model: HOSTILE.to_owned(),
        from: 0,
    };
    let page = page(&overview(), &search);
    assert!(page.contains("No conversation matches"));
    assert!(!page.contains("<script>alert") && !page.contains("\" onload"));
}

#[test]
fn an_empty_list_says_what_to_do() {
    let page = page(&Overview::default(), &Search::default());
    assert!(page.contains("ANTHROPIC_BASE_URL=http://127.0.0.1:4000 "));
    assert!(page.contains("OPENAI_BASE_URL=http://127.0.0.1:4000/v1 "));
    assert!(page.contains("codex -c 'openai_base_url=\"http://127.0.0.1:4000/v1\"'"));
    assert!(!page.contains("<table"));
}

#[test]
fn a_long_list_has_pages_and_can_be_searched() {
    let mut long = overview();
    long.conversations = (0..=229).map(|id| line(id, None)).collect();
    let rows = |find: &str, from| {
        let search = Search {
            find: find.to_owned(),
            from,
            ..Search::default()
        };
        let page = page(&long, &search);
        (
            page.matches("class=\"depth-0\"").count(),
            page.contains("rel=\"prev\""),
            page.contains("rel=\"next\""),
        )
    };
    assert_eq!(rows("", 0), (100, false, true));
    assert_eq!(rows("", 100), (100, true, true));
    assert_eq!(rows("", usize::MAX), (30, true, false));
    assert_eq!(rows("SESSION 22", 0), (11, false, false));
    assert_eq!(rows("no such", 0), (0, false, false));
}

#[test]
fn a_session_id_gives_way_to_the_title() {
    let shown = |name: &str, title: &str| {
        super::name(&Line {
            id: "0123456789abcdef".to_owned(),
            name: name.to_owned(),
            title: title.to_owned(),
            ..Line::default()
        })
    };
    let id = "0b9a7c1e-5f3d-4f0e-9c55-1d2e3f4a5b6c";
    assert_eq!(shown(id, "shop: Mend it."), "shop: Mend it.");
    assert_eq!(shown(&format!("{id} · a1"), "Look."), "Look.");
    assert_eq!(shown("nightly", "Look."), "nightly");
    assert_eq!(shown("", "Look."), "Look.");
    assert_eq!(shown(id, ""), id);
    assert_eq!(shown("", ""), "conversation 01234567");
}
