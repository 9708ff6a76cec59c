//! Downloads: the list as a table, and the turns of one conversation.

use std::fmt::Write;

use super::text::one_line;
use crate::report::{Line, Turns};

/// The columns of the table.
const COLUMNS: [&str; 22] = [
    "id",
    "title",
    "name",
    "parent",
    "model",
    "state",
    "began",
    "seen",
    "turns",
    "requests",
    "tokens",
    "window",
    "observed",
    "swaps",
    "would_have_swapped",
    "stalls_avoided",
    "input_fresh",
    "input_cache_read",
    "input_cache_write",
    "output",
    "cost_usd",
    "cost_without_usd",
];

/// Writes conversations as comma-separated values (RFC 4180).
pub fn table<'a>(lines: impl IntoIterator<Item = &'a Line>) -> String {
    let mut out = COLUMNS.join(",");
    out.push_str("\r\n");
    for line in lines {
        let cells = cells(line);
        out.push_str(&cells.join(","));
        out.push_str("\r\n");
    }
    out
}

fn cells(line: &Line) -> [String; COLUMNS.len()] {
    let money = &line.money;
    // Nothing is changed in mode observe, so nothing is saved.
    let saved = |value: String| if line.observed { String::new() } else { value };
    [
        cell(&line.id),
        cell(&line.title),
        cell(&line.name),
        cell(line.parent.as_deref().unwrap_or_default()),
        cell(&line.model),
        cell(line.state),
        cell(&line.began),
        cell(&line.seen),
        line.turns.to_string(),
        money.requests.to_string(),
        line.gauge.tokens.to_string(),
        line.gauge.window.to_string(),
        line.observed.to_string(),
        line.compactions.to_string(),
        line.would_have_swapped.to_string(),
        saved(money.stalls_avoided.to_string()),
        money.fresh.to_string(),
        money.cache_read.to_string(),
        money.cache_write.to_string(),
        money.output.to_string(),
        format!("{:.6}", money.cost),
        saved(format!("{:.6}", money.cost_without)),
    ]
}

/// A text as a cell: on one line, quoted, and never a formula in a spreadsheet.
fn cell(text: &str) -> String {
    let text = one_line(text, 1_000);
    let starts_formula =
        |first: char| matches!(first, '=' | '+' | '-' | '@' | '＝' | '＋' | '－' | '＠');
    let guard = if text.starts_with(starts_formula) {
        "'"
    } else {
        ""
    };
    format!("\"{guard}{}\"", text.replace('"', "\"\""))
}

/// Writes turns as JSON, one a line.
pub fn lines(turns: &Turns) -> String {
    let mut out = String::new();
    for turn in &turns.turns {
        let turn = serde_json::to_string(turn).unwrap_or_default();
        // Writing to a string cannot fail.
        let _ = writeln!(out, "{turn}");
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{COLUMNS, cell, lines, table};
    use crate::dashboard::tests::sample::line;
    use crate::report::{Said, Turns};

    #[test]
    fn cells_are_no_formulas() {
        let cases = [
            ("a, b", "\"a, b\""),
            ("say \"hi\"", "\"say \"\"hi\"\"\""),
            ("=1+2", "\"'=1+2\""),
            ("\t=HYPERLINK(\"x\")", "\"'=HYPERLINK(\"\"x\"\")\""),
            ("\r\n+1", "\"'+1\""),
            ("-2", "\"'-2\""),
            ("@SUM(A1)", "\"'@SUM(A1)\""),
            ("＝1", "\"'＝1\""),
            ("a\nb\u{202e}c", "\"a b[U+202E]c\""),
        ];
        for (text, expected) in cases {
            assert_eq!(cell(text), expected);
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let mut observed = line(2, Some(1));
        observed.observed = true;
        (observed.compactions, observed.would_have_swapped) = (0, 2);
        let table = table(&[line(1, None), observed]);
        let rows: Vec<Vec<&str>> = table.lines().map(|row| row.split(',').collect()).collect();
        assert!(rows.iter().all(|row| row.len() == COLUMNS.len()), "{table}");
        let of = |row: usize, column: &str| {
            let at = COLUMNS
                .iter()
                .position(|it| *it == column)
                .expect("a column");
            rows[row][at]
        };
        assert_eq!(of(1, "swaps"), "2");
        assert_eq!(of(1, "cost_usd"), "2.310000");
        assert_eq!((of(2, "swaps"), of(2, "would_have_swapped")), ("0", "2"));
        assert_eq!(
            (of(2, "cost_without_usd"), of(2, "stalls_avoided")),
            ("", "")
        );
    }

    #[test]
    fn each_turn_is_a_line() {
        let turn = |index: usize, text: &str| Said {
            index,
            role: "user",
            seen: "shown",
            text: text.to_owned(),
            ..Said::default()
        };
        let turns = Turns {
            turns: vec![turn(0, "one\ntwo"), turn(1, "\u{2028}</script>")],
            ..Turns::default()
        };
        let written = lines(&turns);
        let read: Vec<Value> = written
            .split_terminator('\n')
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(read[0]["text"], "one\ntwo");
        assert_eq!((read[1]["index"].as_u64(), read.len()), (Some(1), 2));
    }
}
