//! The plot of pressure over requests, as an SVG element whose colours come from the page's style.
//!
//! It is drawn at the size of a phone's column, so that its words are readable there, and scaled up
//! elsewhere. Each strategy has a plot of its own: five lines over each other hide each other.

use std::fmt::Write;

use crate::compare::StrategyResult;
use crate::figures;

const WIDTH: f64 = 360.0;
const HEIGHT: f64 = 170.0;
const LEFT: f64 = 46.0;
const RIGHT: f64 = 350.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 132.0;

/// More points than this say nothing more on a plot of this width.
const BUCKETS: usize = 320;
/// The points of a plot among many, of which a page holds hundreds.
const FEW_BUCKETS: usize = 80;

/// The axes that all plots of one session share, so that they can be compared by eye.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
    /// The pressure at the upper edge.
    top: f64,
    /// The number of requests.
    requests: usize,
    /// The most points of a line.
    buckets: usize,
}

impl Scale {
    /// A scale that has room for every outcome: from 0 to a little above the largest pressure or the
    /// window, whichever is more.
    #[must_use]
    pub fn of(outcomes: &[StrategyResult]) -> Self {
        let peak = outcomes
            .iter()
            .flat_map(|outcome| &outcome.pressure)
            .copied()
            .filter(|pressure| pressure.is_finite())
            .fold(1.0, f64::max);
        let requests = outcomes.iter().map(|outcome| outcome.pressure.len()).max();
        Self {
            top: peak * 1.06,
            requests: requests.unwrap_or(0),
            buckets: BUCKETS,
        }
    }

    /// The same scale for smaller plots.
    #[must_use]
    pub const fn among_many(self) -> Self {
        Self {
            buckets: FEW_BUCKETS,
            ..self
        }
    }

    fn x(self, request: usize) -> f64 {
        let last = self.requests.saturating_sub(1).max(1);
        LEFT + (RIGHT - LEFT) * ratio(request, last)
    }

    fn y(self, pressure: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (pressure / self.top).clamp(0.0, 1.0)
    }
}

/// The plot of one outcome. `label` says in words what it shows, for those who do not see it.
#[must_use]
pub fn pressure(outcome: &StrategyResult, scale: Scale, label: &str) -> String {
    let mut svg = String::new();
    // Writing to a string cannot fail; the results are dropped for that reason throughout.
    let _ = write!(
        svg,
        r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
        escape(label)
    );
    too_large(&mut svg, scale);
    grid(&mut svg, scale);
    thresholds(&mut svg, outcome, scale);
    line(&mut svg, outcome, scale);
    marks(&mut svg, outcome, scale);
    svg.push_str("</svg>");
    svg
}

/// The area above the window, where a request is refused.
fn too_large(svg: &mut String, scale: Scale) {
    let edge = scale.y(1.0);
    let _ = write!(
        svg,
        r#"<rect class="over" x="{LEFT}" y="{TOP}" width="{:.1}" height="{:.1}"/>"#,
        RIGHT - LEFT,
        edge - TOP
    );
}

fn grid(svg: &mut String, scale: Scale) {
    for step in 0..=8 {
        let share = f64::from(step) * pressure_step(scale.top);
        if share > scale.top {
            break;
        }
        let y = scale.y(share);
        let _ = write!(
            svg,
            r#"<path class="grid" d="M{LEFT} {y:.1}H{RIGHT}"/><text class="y" x="{:.1}" y="{:.1}">{}</text>"#,
            LEFT - 5.0,
            y + 3.5,
            figures::percent(share)
        );
    }
    let step = request_step(scale.requests);
    for request in (0..scale.requests).step_by(step) {
        let _ = write!(
            svg,
            r#"<text class="x" x="{:.1}" y="{:.1}">{}</text>"#,
            scale.x(request),
            BOTTOM + 14.0,
            figures::count(request as u64)
        );
    }
    let _ = write!(
        svg,
        r#"<path class="axis" d="M{LEFT} {BOTTOM}H{RIGHT}"/><text class="x title" x="{:.1}" y="{:.1}">request</text>"#,
        f64::midpoint(LEFT, RIGHT),
        BOTTOM + 31.0
    );
}

fn thresholds(svg: &mut String, outcome: &StrategyResult, scale: Scale) {
    let lines = [
        ("soft", outcome.thresholds.soft),
        ("hard", outcome.thresholds.hard),
    ];
    for (class, share) in lines {
        if let Some(share) = share {
            let y = scale.y(share);
            let _ = write!(svg, r#"<path class="{class}" d="M{LEFT} {y:.1}H{RIGHT}"/>"#);
        }
    }
}

/// The pressure of each request; of long sessions the least and the most in each bucket, so that no
/// peak and no fall is lost.
fn line(svg: &mut String, outcome: &StrategyResult, scale: Scale) {
    let size = outcome.pressure.len().div_ceil(scale.buckets).max(1);
    let mut path = String::new();
    for (bucket, pressures) in outcome.pressure.chunks(size).enumerate() {
        let least = pressures.iter().copied().fold(f64::INFINITY, f64::min);
        let most = pressures.iter().copied().fold(0.0, f64::max);
        let x = scale.x(bucket * size);
        let verb = if path.is_empty() { 'M' } else { 'L' };
        let _ = write!(path, "{verb}{x:.1} {:.1}", scale.y(most));
        if size > 1 {
            let _ = write!(path, "L{x:.1} {:.1}", scale.y(least));
        }
    }
    let _ = write!(svg, r#"<path class="line" d="{path}"/>"#);
}

/// A triangle at the upper edge for each compaction; a filled one where somebody waited for it.
fn marks(svg: &mut String, outcome: &StrategyResult, scale: Scale) {
    for compaction in &outcome.compactions {
        let x = scale.x(compaction.before_request);
        let stalled = compaction.stalled();
        let class = if stalled { "mark stall" } else { "mark" };
        let waited = if stalled {
            format!(
                ", waited {} (simulated)",
                figures::seconds(compaction.simulated_wait_seconds)
            )
        } else {
            String::new()
        };
        let _ = write!(
            svg,
            r#"<path class="{class}" d="M{:.1} {:.1}h8l-4 7z"><title>before request {}: {} to {} tokens{waited}</title></path>"#,
            x - 4.0,
            TOP - 11.0,
            figures::count(compaction.before_request as u64),
            figures::count(compaction.tokens_before),
            figures::count(compaction.tokens_after),
        );
    }
}

/// 50 % a line, or more where the pressure goes far above the window.
fn pressure_step(top: f64) -> f64 {
    [0.25, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0]
        .into_iter()
        .find(|step| top / step <= 4.5)
        .unwrap_or(top / 4.0)
}

/// A round number of requests, at most six of which fit.
fn request_step(requests: usize) -> usize {
    let mut decade = 1;
    loop {
        for factor in [1, 2, 5] {
            let step = factor * decade;
            if requests <= step * 6 {
                return step;
            }
        }
        decade *= 10;
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "requests of one session stay far below 2^52"
)]
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

/// Text that stands in an attribute.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::{pressure_step, request_step};

    #[test]
    fn axes_have_round_steps_and_few_of_them() {
        assert_eq!(
            [1, 6, 7, 60, 61, 1_000].map(request_step),
            [1, 1, 2, 10, 20, 200]
        );
        assert_eq!(
            [1.06, 1.3, 3.0, 12.0].map(pressure_step),
            [0.25, 0.5, 1.0, 5.0]
        );
    }
}
