//! The plot of a conversation's size over its requests: an SVG element with colors from the style sheet.
//!
//! Each step to the right is a request, labeled with the time since the first one. On a linear time axis, a
//! night between two requests would leave no room for the rest.

use std::fmt::Write;

use context::{Tokens, figures};

use super::gauge::ratio;
use crate::report::{Gauge, Sample};

const WIDTH: f64 = 400.0;
const HEIGHT: f64 = 200.0;
const LEFT: f64 = 40.0;
const RIGHT: f64 = 392.0;
const TOP: f64 = 16.0;
const BOTTOM: f64 = 164.0;

/// The most points drawn; more would not be visible at this width.
const BUCKETS: usize = 300;

/// The original size is cut off at this many windows, which would otherwise flatten the rest.
const WINDOWS_SHOWN: f64 = 2.5;

/// Draws the plot of these requests; empty without any.
pub fn pressure(samples: &[Sample], gauge: &Gauge) -> String {
    if samples.is_empty() {
        return String::new();
    }
    let plot = Plot {
        samples,
        gauge,
        top: top(samples, gauge),
    };
    // Writing to a string cannot fail, so this file ignores the results.
    let mut svg = String::new();
    let _ = write!(
        svg,
        r#"<svg class="plot" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
        plot.label()
    );
    plot.window(&mut svg);
    plot.sizes(&mut svg);
    plot.times(&mut svg);
    plot.thresholds(&mut svg);
    plot.line(&mut svg, "unchanged", |sample| sample.unchanged);
    plot.line(&mut svg, "line", |sample| sample.tokens);
    plot.swaps(&mut svg);
    svg.push_str("</svg>");
    svg
}

struct Plot<'a> {
    samples: &'a [Sample],
    gauge: &'a Gauge,
    /// The tokens at the upper edge.
    top: f64,
}

impl Plot<'_> {
    fn x(&self, request: usize) -> f64 {
        let last = self.samples.len().saturating_sub(1).max(1);
        LEFT + (RIGHT - LEFT) * ratio(request as u64, last as u64)
    }

    fn y(&self, tokens: f64) -> f64 {
        BOTTOM - (BOTTOM - TOP) * (tokens / self.top).clamp(0.0, 1.0)
    }

    /// Describes the plot for screen readers. It contains only figures and needs no escaping.
    fn label(&self) -> String {
        let short = |tokens: u64| figures::short(Tokens::new(tokens));
        let peak = self.samples.iter().map(|sample| sample.tokens).max();
        let last = self.samples.last().copied().unwrap_or_default();
        let swaps = self.samples.iter().filter(|sample| sample.swapped).count();
        format!(
            "Tokens sent over {}: {} at most, {} now, {} without Ebbtide, {}; soft threshold {}, hard threshold {}.",
            figures::plural(self.samples.len(), "request"),
            short(peak.unwrap_or(0)),
            short(last.tokens),
            short(last.unchanged),
            figures::plural(swaps, "swap"),
            short(self.gauge.soft),
            short(self.gauge.hard),
        )
    }

    /// Shades the area above the window, where requests are rejected.
    fn window(&self, svg: &mut String) {
        let edge = self.y(Tokens::new(self.gauge.window).as_f64());
        if self.gauge.window > 0 && edge > TOP {
            let _ = write!(
                svg,
                r#"<rect class="over" x="{LEFT}" y="{TOP}" width="{:.1}" height="{:.1}"/>"#,
                RIGHT - LEFT,
                edge - TOP
            );
        }
    }

    fn sizes(&self, svg: &mut String) {
        let step = token_step(self.top);
        for line in 0..=8 {
            let tokens = f64::from(line) * step;
            if tokens > self.top {
                break;
            }
            let y = self.y(tokens);
            let _ = write!(
                svg,
                r#"<path class="grid" d="M{LEFT} {y:.1}H{RIGHT}"/><text class="y" x="{:.1}" y="{:.1}">{}</text>"#,
                LEFT - 5.0,
                y + 3.5,
                figures::short(Tokens::new(1).scaled(tokens))
            );
        }
    }

    fn times(&self, svg: &mut String) {
        let _ = write!(svg, r#"<path class="axis" d="M{LEFT} {BOTTOM}H{RIGHT}"/>"#);
        let last = self.samples.len().saturating_sub(1);
        let mut shown = String::new();
        for tick in 0..=4 {
            let request = last * tick / 4;
            let Some(sample) = self.samples.get(request) else {
                continue;
            };
            let time = if request == 0 {
                "0".to_owned()
            } else {
                figures::seconds(sample.at)
            };
            if time == shown {
                continue;
            }
            let anchor = match tick {
                0 => "x start",
                4 => "x end",
                _ => "x",
            };
            let _ = write!(
                svg,
                r#"<text class="{anchor}" x="{:.1}" y="{:.1}">{time}</text>"#,
                self.x(request),
                BOTTOM + 14.0,
            );
            shown = time;
        }
        let _ = write!(
            svg,
            r#"<text class="x" x="{:.1}" y="{:.1}">time since the first request, one step per request</text>"#,
            f64::midpoint(LEFT, RIGHT),
            BOTTOM + 30.0
        );
    }

    fn thresholds(&self, svg: &mut String) {
        for (class, tokens) in [("soft", self.gauge.soft), ("hard", self.gauge.hard)] {
            if tokens > 0 {
                let y = self.y(Tokens::new(tokens).as_f64());
                let _ = write!(svg, r#"<path class="{class}" d="M{LEFT} {y:.1}H{RIGHT}"/>"#);
            }
        }
    }

    /// Draws one size of each request. Long conversations show the minimum and maximum of each bucket, so no
    /// peak or drop is lost.
    fn line(&self, svg: &mut String, class: &str, size_of: impl Fn(&Sample) -> u64) {
        let size = self.samples.len().div_ceil(BUCKETS).max(1);
        let mut path = String::new();
        for (bucket, samples) in self.samples.chunks(size).enumerate() {
            let most = samples.iter().map(&size_of).max().unwrap_or(0);
            let least = samples.iter().map(&size_of).min().unwrap_or(0);
            let x = self.x(bucket * size);
            let verb = if path.is_empty() { 'M' } else { 'L' };
            let _ = write!(
                path,
                "{verb}{x:.1} {:.1}",
                self.y(Tokens::new(most).as_f64())
            );
            if least != most {
                let _ = write!(path, "L{x:.1} {:.1}", self.y(Tokens::new(least).as_f64()));
            }
        }
        if let [only] = self.samples {
            let _ = write!(
                svg,
                r#"<circle class="{class} dot" cx="{LEFT}" cy="{:.1}" r="3"/>"#,
                self.y(Tokens::new(size_of(only)).as_f64())
            );
        } else {
            let _ = write!(svg, r#"<path class="{class}" d="{path}"/>"#);
        }
    }

    /// Draws a triangle at the upper edge for each swap.
    fn swaps(&self, svg: &mut String) {
        let before = std::iter::once(None).chain(self.samples.iter().map(Some));
        for (request, (sample, before)) in self.samples.iter().zip(before).enumerate() {
            if !sample.swapped {
                continue;
            }
            let before = before.map_or(sample.unchanged, |before| before.tokens);
            let _ = write!(
                svg,
                r#"<path class="mark" d="M{:.1} {:.1}h8l-4 7z"><title>after {}: {} to {} tokens</title></path>"#,
                self.x(request) - 4.0,
                TOP - 11.0,
                figures::seconds(sample.at),
                figures::count(before),
                figures::count(sample.tokens),
            );
        }
    }
}

/// Returns a value slightly above the largest one shown.
fn top(samples: &[Sample], gauge: &Gauge) -> f64 {
    let most = |size_of: fn(&Sample) -> u64| {
        let most = samples.iter().map(size_of).max().unwrap_or(0);
        Tokens::new(most).as_f64()
    };
    let window = Tokens::new(gauge.window).as_f64();
    let unchanged = most(|sample| sample.unchanged);
    let unchanged = if window > 0.0 {
        unchanged.min(window * WINDOWS_SHOWN)
    } else {
        unchanged
    };
    most(|sample| sample.tokens)
        .max(unchanged)
        .max(window)
        .max(1.0)
        * 1.06
}

/// Returns a round number of tokens that fits at most five times.
fn token_step(top: f64) -> f64 {
    let mut decade = 1.0;
    while decade < top {
        for factor in [1.0, 2.0, 5.0] {
            if top / (factor * decade) <= 5.0 {
                return factor * decade;
            }
        }
        decade *= 10.0;
    }
    decade
}

#[cfg(test)]
mod tests {
    use super::{pressure, token_step};
    use crate::report::{Gauge, Sample};

    const GAUGE: Gauge = Gauge {
        tokens: 20_000,
        window: 64_000,
        soft: 40_000,
        hard: 56_000,
    };

    fn sample(at: f64, tokens: u64, unchanged: u64) -> Sample {
        Sample {
            at,
            tokens,
            unchanged,
            swapped: tokens < unchanged,
        }
    }

    #[test]
    fn steps_are_round_and_few() {
        assert_eq!(
            [1.0, 812.0, 67_840.0, 424_000.0].map(token_step),
            [1.0, 200.0, 20_000.0, 100_000.0]
        );
    }

    #[test]
    fn a_plot_has_both_lines_both_thresholds_and_the_swap() {
        insta::assert_snapshot!(
            pressure(
                &[
                    sample(0.0, 20_000, 20_000),
                    sample(30.0, 57_000, 57_000),
                    sample(90.0, 20_000, 60_000)
                ],
                &GAUGE
            )
            .replace("><", ">\n<")
        );
    }

    #[test]
    fn one_request_is_a_dot_and_none_is_nothing() {
        assert_eq!(pressure(&[], &GAUGE), "");
        let one = pressure(&[sample(0.0, 5, 5)], &Gauge::default());
        assert!(one.contains("<circle") && !one.contains("NaN"), "{one}");
    }

    #[test]
    fn thousands_of_requests_are_few_points() {
        let many: Vec<Sample> = (0..9_000u32)
            .map(|at| sample(f64::from(at), u64::from(at % 300) * 200, 1_000_000))
            .map(|sample| Sample {
                swapped: false,
                ..sample
            })
            .collect();
        let svg = pressure(&many, &GAUGE);
        assert!(svg.len() < 20_000, "{} bytes", svg.len());
        assert!(
            svg.contains(">150k<") && !svg.contains(">200k<"),
            "the rest is cut"
        );
    }
}
