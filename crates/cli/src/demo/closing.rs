//! The report as it is printed.

use context::{Tokens, figures};

use super::pace::Pace;
use super::report::{Report, Side};
use crate::console::{Console, Tone};
use crate::failure::Failure;
use crate::table::{self, Column, columns};

/// What was found, in lines of at most `width` columns.
pub fn lines(report: &Report, width: usize) -> Vec<String> {
    let introduction = format!(
        "An agent has reviewed {} over HTTP: {}, {} to a model whose window holds {} tokens. First \
         Ebbtide, with the strategy {}, stood between it and its provider. Then it did the same \
         without, and summarised for itself when its window was full.",
        match report.folder.as_str() {
            "." => "the files here".to_owned(),
            folder => format!("the files in {folder}"),
        },
        figures::plural(report.tasks, "task"),
        figures::plural(report.with.requests, "request"),
        figures::count(report.window),
        report.strategy,
    );
    let names: Vec<String> = ROWS.iter().map(|row| row.name.to_owned()).collect();
    let column = |heading: &str, side: &Side| {
        let cells = ROWS.iter().map(|row| (row.cell)(side));
        Column::new(heading, cells.collect())
    };
    let figures = [
        column("with Ebbtide", &report.with),
        column("without", &report.without),
    ];
    let mut lines = table::wrap(&introduction, width);
    lines.push(String::new());
    lines.extend(table::render("", &names, &figures, width));
    lines.push(String::new());
    if report.strategy_failed {
        let failed = format!(
            "The strategy {} failed, and `prepared` went on in its place. The warning says where.",
            report.strategy
        );
        lines.extend(table::wrap(&failed, width));
        lines.push(String::new());
    }
    lines.extend(table::wrap(&explanation(report), width));
    lines
}

/// A figure of both runs.
struct Row {
    name: &'static str,
    cell: fn(&Side) -> String,
}

const ROWS: [Row; 12] = [
    Row {
        name: "the conversation was made smaller",
        cell: |side| match side.boundaries {
            1 => "once".to_owned(),
            times => format!("{times} times"),
        },
    },
    Row {
        name: "longest extra wait for it",
        cell: |side| figures::seconds(side.waits.longest_seconds),
    },
    Row {
        name: "all extra waits",
        cell: |side| figures::seconds(side.waits.total_seconds),
    },
    Row {
        name: "requests refused",
        cell: |side| figures::count(side.refused),
    },
    Row {
        name: "requests with every pin, verbatim",
        cell: |side| format!("{} of {}", side.pins.intact, side.pins.requests),
    },
    Row {
        name: "bytes changed between boundaries",
        cell: |side| figures::count(side.prefix.changed_bytes as u64),
    },
    Row {
        name: "largest request, of the window",
        cell: |side| figures::percent(side.used.peak_pressure),
    },
    Row {
        name: "input tokens",
        cell: |side| figures::count(side.used.input),
    },
    Row {
        name: "read from the cache",
        cell: |side| format!("{:.1} %", side.used.cache_share * 100.0),
    },
    Row {
        name: "the same, between boundaries",
        cell: |side| format!("{:.1} %", side.used.cache_share_between * 100.0),
    },
    Row {
        name: "output tokens",
        cell: |side| figures::count(side.used.output),
    },
    Row {
        name: "cost, summaries included",
        cell: |side| figures::dollars(side.used.cost),
    },
];

fn explanation(report: &Report) -> String {
    let waits = &report.with.waits;
    let latency = Pace::new(report.speed).latency;
    let at_boundary = waits
        .own_longest_at_boundary_ms
        .map_or_else(String::new, |ms| {
            format!(", {ms:.1} ms at most at a boundary")
        });
    format!(
        "Extra waits come on top of the {} after which a usual answer begins. The provider is \
         simulated, its tokens, cache and prices ({}) and its times too: {:.1} s, then {} tokens read \
         a second ({} from the cache) and {} written; its clock ran {:.0} times as fast. \
         HTTP, gateway and tools are real: beside the provider's time a request took {:.1} ms \
         (median{at_boundary}), without the gateway {:.1} ms. Pins and bytes were checked in the \
         requests as the provider received them.",
        figures::seconds(waits.usual_seconds),
        report.model,
        latency.base.as_secs_f64(),
        rate(latency.prefill),
        rate(latency.prefill_cached),
        rate(latency.decode),
        report.speed,
        waits.own_median_ms,
        report.without.waits.own_median_ms,
    )
}

/// Tokens a second.
fn rate(tokens: f64) -> String {
    figures::count(Tokens::new(1).scaled(tokens).get())
}

/// Prints what can be tried next.
pub fn what_next(console: &mut Console) -> Result<(), Failure> {
    console.line("")?;
    console.line(console.palette.paint(Tone::Heading, "What to try next"))?;
    let tries = [
        ("ebbtide demo --stay", "leaves the dashboard up"),
        (
            "ebbtide demo --keep kept",
            "keeps what the provider received",
        ),
        (
            "ebbtide serve",
            "between a client of yours and its provider",
        ),
        ("ebbtide replay", "sessions of yours, replayed"),
    ];
    let widest = tries.iter().map(|(command, _)| columns(command)).max();
    let widest = widest.unwrap_or(0);
    let room = tries.iter().map(|(_, what)| columns(what)).max();
    let beside = 2 + widest + 2 + room.unwrap_or(0) <= console.width;
    for (command, what) in tries {
        if beside {
            console.line(format!("  {command:<widest$}  {what}"))?;
        } else {
            console.line(format!("  {what}"))?;
            console.line(format!("    {command}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::lines;
    use crate::demo::report::{Pins, Prefix, Report, SCHEMA, Side, Used, Waits};
    use crate::table::columns;

    fn side(boundaries: usize) -> Side {
        Side {
            requests: 100,
            refused: 0,
            boundaries,
            waits: Waits {
                longest_seconds: 25.6,
                total_seconds: 76.4,
                usual_seconds: 0.5,
                own_median_ms: 1.8,
                own_longest_at_boundary_ms: Some(5.9),
                own_longest_elsewhere_ms: 14.0,
            },
            pins: Pins {
                set: 3,
                requests: 100,
                intact: 28,
            },
            prefix: Prefix {
                pairs: 96,
                changed_bytes: 0,
            },
            used: Used {
                summaries: 3,
                input: 1_560_437,
                cache_read: 1_449_296,
                cache_write: 90_000,
                cache_share: 0.928,
                cache_share_between: 0.951,
                output: 26_408,
                cost: 1.717,
                peak_pressure: 0.881,
            },
        }
    }

    fn report() -> Report {
        Report {
            schema: SCHEMA,
            folder: "src".to_owned(),
            model: "claude-opus-5-5".to_owned(),
            window: 32_000,
            strategy: "prepared".to_owned(),
            strategy_failed: false,
            speed: 25.0,
            tasks: 11,
            with: side(1),
            without: side(3),
        }
    }

    #[test]
    fn as_it_is_printed() {
        insta::assert_snapshot!(lines(&report(), 80).join("\n"));
    }

    #[test]
    fn no_line_is_too_wide() {
        for width in [60, 80, 120] {
            let widest = lines(&report(), width)
                .iter()
                .map(|line| columns(line))
                .max();
            assert!(widest <= Some(width), "{widest:?} at {width}");
        }
    }
}
