//! The picture of a demo: the pressure of each run over the time that its user waited.
//!
//! All runs share the time axis, so a summary that the user waited for is as long as it felt.

use std::fmt::Write as _;

use context::figures;

use super::report::{Point, Report, Side};

const WIDTH: f64 = 760.0;
const LEFT: f64 = 56.0;
const RIGHT: f64 = 744.0;
/// The height of a panel, and of the part above its plot.
const PANEL: f64 = 150.0;
const HEAD: f64 = 34.0;
const PLOT: f64 = 96.0;

/// A wait of a second more than usual is worth a mark.
const LONG: f64 = 1.0;

const STYLE: &str = "text{font:13px system-ui,sans-serif;fill:#57606a}.t{font-weight:600;fill:#1f2328}\
.g{stroke:#d0d7de}.l{fill:none;stroke:#1769aa;stroke-width:2;stroke-linejoin:round}\
.h{stroke:#c03221;stroke-dasharray:6 4}.w{fill:#c03221;fill-opacity:.16}.e{text-anchor:end}\
.m{fill:#1769aa}.c{text-anchor:middle;fill:#c03221}\
@media(prefers-color-scheme:dark){text{fill:#9198a1}.t{fill:#f0f6fc}.g{stroke:#3d444d}\
.l{stroke:#6db3f2}.m{fill:#6db3f2}.h{stroke:#ff7b6b}.w{fill:#ff7b6b;fill-opacity:.2}.c{fill:#ff7b6b}}";

/// The picture as an SVG file.
pub fn svg(report: &Report) -> String {
    let mut runs = vec![(format!("With Ebbtide ({})", report.strategy), &report.with)];
    let others = report.others.iter();
    runs.extend(others.map(|other| (format!("With Ebbtide ({})", other.strategy), &other.side)));
    runs.push((
        "Without: the agent stops to summarize for itself".to_owned(),
        &report.without,
    ));
    let longest = runs
        .iter()
        .map(|(_, side)| seconds(side))
        .fold(1.0, f64::max);
    let mut top = 0.0;
    let mut drawn = String::new();
    for (name, side) in &runs {
        panel(&mut drawn, (name, side), top, longest);
        top += PANEL;
    }
    let axis = format!(
        r#"<text x="{LEFT}" y="{:.0}">0 s</text><text class="e" x="{RIGHT}" y="{:.0}">{} of waiting for answers</text>"#,
        top + 10.0,
        top + 10.0,
        figures::seconds(longest),
    );
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {:.0}" role="img" aria-label="The size of each request as a share of the window, over the time that the user waited"><style>{STYLE}</style>{drawn}{axis}</svg>"#,
        top + 20.0
    )
}

/// The time that the user of a run waited.
fn seconds(side: &Side) -> f64 {
    side.course.iter().map(|point| point.felt_seconds).sum()
}

fn panel(out: &mut String, (name, side): (&str, &Side), top: f64, longest: f64) {
    let x = |seconds: f64| LEFT + (RIGHT - LEFT) * seconds / longest;
    let y = |pressure: f64| top + HEAD + PLOT * (1.0 - pressure.clamp(0.0, 1.0));
    let _ = write!(
        out,
        r#"<text class="t" x="{LEFT}" y="{:.0}">{name}: longest extra wait {}</text>"#,
        top + 18.0,
        figures::seconds(side.waits.longest_seconds),
        name = escaped(name),
    );
    for (share, class) in [(0.0, "g"), (0.5, "g"), (1.0, "h")] {
        let _ = write!(
            out,
            r#"<path class="{class}" d="M{LEFT} {0:.1}H{RIGHT}"/><text class="e" x="{1:.0}" y="{2:.1}">{3}</text>"#,
            y(share),
            LEFT - 6.0,
            y(share) + 4.0,
            figures::percent(share),
        );
    }
    let mut now = 0.0;
    let mut path = String::new();
    let usual = side.waits.usual_seconds;
    for point in &side.course {
        let after = now + point.felt_seconds;
        if point.compaction {
            mark(
                out,
                point,
                (x(now), x(after), y(point.pressure)),
                (usual, top),
            );
        }
        let verb = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{verb}{:.1} {:.1}", x(now), y(point.pressure));
        let _ = write!(path, "H{:.1}", x(after));
        now = after;
    }
    let _ = write!(out, r#"<path class="l" d="{path}"/>"#);
}

/// A compaction: a band as long as the user waited, or a dot.
fn mark(out: &mut String, point: &Point, (from, to, y): (f64, f64, f64), (usual, top): (f64, f64)) {
    if point.felt_seconds - usual < LONG {
        let _ = write!(
            out,
            r#"<circle class="m" cx="{from:.1}" cy="{y:.1}" r="4"/>"#
        );
        return;
    }
    let _ = write!(
        out,
        r#"<rect class="w" x="{from:.1}" y="{:.1}" width="{:.1}" height="{PLOT}"/><text class="c" x="{:.1}" y="{:.1}">{}</text>"#,
        top + HEAD,
        to - from,
        f64::midpoint(from, to),
        top + HEAD + PLOT - 8.0,
        figures::seconds(point.felt_seconds),
    );
}

/// Text in an element.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}
