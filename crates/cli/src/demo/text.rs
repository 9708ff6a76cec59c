//! Prints the demo's report as text.

use context::{Tokens, figures};

use super::report::{Report, Side};
use super::timing::Timing;
use crate::console::{Console, Tone};
use crate::failure::Failure;
use crate::table::{self, Column, columns};

/// Renders the report in lines of at most `width` columns.
pub fn lines(report: &Report, width: usize) -> Vec<String> {
    let introduction = format!(
        "An agent reviewed {} over HTTP: {}, {} to a model with a window of {} tokens. In the first \
         run, Ebbtide sat between the agent and its provider, with the strategy {}. {}, the agent repeated \
         the tasks and summarized for itself when its window was full.",
        match report.folder.as_str() {
            "." => "the files here".to_owned(),
            folder => format!("the files in {folder}"),
        },
        figures::plural(report.tasks, "task"),
        figures::plural(report.with.requests, "request"),
        figures::count(report.window),
        report.strategy,
        match report.others.len() {
            0 => "In the second run",
            _ => "The next runs repeated the tasks under the other strategies. In the last run",
        },
    );
    let names: Vec<String> = ROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    let column = |heading: &str, side: &Side| Column::of(heading, &ROWS, |(_, cell)| cell(side));
    let first = match report.others.as_slice() {
        [] => "with Ebbtide",
        _ => &report.strategy,
    };
    let mut figures = vec![column(first, &report.with)];
    let others = report.others.iter();
    figures.extend(others.map(|other| column(&other.strategy, &other.side)));
    figures.push(column("without", &report.without));
    let mut lines = table::wrap(&introduction, width);
    lines.push(String::new());
    lines.extend(table::render("", &names, &figures, width));
    lines.push(String::new());
    let first = (&report.strategy, report.strategy_failed);
    let others = report.others.iter();
    let others = others.map(|other| (&other.strategy, other.strategy_failed));
    for (strategy, _) in others.chain([first]).filter(|(_, failed)| *failed) {
        let failed = format!(
            "The strategy {strategy} failed, and `prepared` replaced it. The warning above says where.",
        );
        lines.extend(table::wrap(&failed, width));
        lines.push(String::new());
    }
    lines.extend(table::wrap(&explanation(report), width));
    lines
}

/// A row's name, and its figure for each run.
type Row = (&'static str, fn(&Side) -> String);

const ROWS: [Row; 12] = [
    ("longest extra wait", |side| {
        figures::seconds(side.waits.longest_seconds)
    }),
    ("total extra wait", |side| {
        figures::seconds(side.waits.total_seconds)
    }),
    ("requests with every pin, verbatim", |side| {
        format!("{} of {}", side.pins.intact, side.pins.requests)
    }),
    ("requests rejected", |side| figures::count(side.refused)),
    ("cost, with summaries", |side| {
        figures::dollars(side.used.cost)
    }),
    ("compactions", |side| figures::count(side.boundaries as u64)),
    ("bytes changed between compactions", |side| {
        figures::count(side.prefix.changed_bytes as u64)
    }),
    ("largest request, share of window", |side| {
        figures::percent(side.used.peak_pressure)
    }),
    ("input tokens", |side| figures::count(side.used.input)),
    ("  read from cache", |side| {
        format!("{:.1} %", side.used.cache_share * 100.0)
    }),
    ("  the same, between compactions", |side| {
        format!("{:.1} %", side.used.cache_share_between * 100.0)
    }),
    ("output tokens", |side| figures::count(side.used.output)),
];

fn explanation(report: &Report) -> String {
    let waits = &report.with.waits;
    let latency = Timing::new(report.speed).latency;
    let at_boundary = waits
        .own_longest_at_boundary_ms
        .map_or_else(String::new, |ms| {
            format!(", at most {ms:.1} ms at a compaction")
        });
    format!(
        "Extra waits come on top of the usual {} to the first token. The provider is simulated, with \
         the tokens, cache and prices of {} and these times: {:.1} s per request, {} input tokens per \
         second ({} from cache), {} output tokens per second, on a clock that runs {:.0} times as \
         fast. HTTP, gateway and tools are real: on top of the provider's time, a request took \
         {:.1} ms (median{at_boundary}), or {:.1} ms without the gateway. Pins and bytes were checked \
         in the requests that the provider received.",
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

/// Formats tokens per second.
fn rate(tokens: f64) -> String {
    figures::count(Tokens::new(1).scaled(tokens).get())
}

/// Prints the commands to try next.
pub fn what_next(console: &mut Console) -> Result<(), Failure> {
    console.line("")?;
    console.line(console.palette.paint(Tone::Heading, "Try next"))?;
    let tries = [
        ("ebbtide demo --stay", "keep the dashboard running"),
        ("ebbtide demo --keep kept", "save the received requests"),
        ("ebbtide serve", "run the gateway for your own client"),
        ("ebbtide replay", "replay your own sessions"),
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
    use crate::demo::report::{Other, Pins, Prefix, Report, SCHEMA, Side, Used, Waits};
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
            course: Vec::new(),
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
            others: Vec::new(),
            without: side(3),
        }
    }

    #[test]
    fn the_report_is_printed() {
        insta::assert_snapshot!(lines(&report(), 80).join("\n"));
    }

    #[test]
    fn another_strategy_has_a_column_of_its_own() {
        let mut report = report();
        report.others.push(Other {
            strategy: "thrifty".to_owned(),
            strategy_failed: true,
            side: side(5),
        });
        let lines = lines(&report, 80);
        let headings = lines.iter().find(|line| line.contains("thrifty  "));
        assert!(headings.is_some_and(|line| line.contains("prepared") && line.contains("without")));
        assert!(
            lines
                .iter()
                .any(|line| line.contains("The strategy thrifty failed"))
        );
        assert!(lines.iter().all(|line| columns(line) <= 80));
    }

    #[test]
    fn lines_fit_the_width() {
        for width in [60, 80, 120] {
            let widest = lines(&report(), width)
                .iter()
                .map(|line| columns(line))
                .max();
            assert!(widest <= Some(width), "{widest:?} at {width}");
        }
    }
}
