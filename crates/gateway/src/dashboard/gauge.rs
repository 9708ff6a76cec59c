//! The bars that show how full a window is, and of what: SVG elements with colors from the style sheet.
//!
//! They are SVG because the pages allow no inline styles.

use std::fmt::Write;

use context::{Tokens, figures};

use crate::report::{Gauge, Share};

/// The fill level of a window: a bar with both thresholds, and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filled {
    /// The bar, hidden from screen readers, which read the description.
    pub svg: String,
    /// The size, such as `41k of 64k`, or `41k` if the window is unknown.
    pub size: String,
    /// The share, such as `64 %`, or empty if the window is unknown.
    pub share: String,
    /// The position relative to the thresholds, or empty if they are unknown.
    pub place: &'static str,
}

/// Draws the bar of a gauge.
pub fn filled(gauge: &Gauge) -> Filled {
    let tokens = figures::short(Tokens::new(gauge.tokens));
    let place = place(gauge);
    if gauge.window == 0 {
        return Filled {
            svg: String::new(),
            size: tokens,
            share: String::new(),
            place,
        };
    }
    let class = match place {
        "past the hard threshold" => "past-hard",
        "past the soft threshold" => "past-soft",
        _ => "below",
    };
    let mut svg = String::from(r#"<svg class="gauge" aria-hidden="true" focusable="false">"#);
    // Writing to a string cannot fail, so this file ignores the results.
    let _ = write!(
        svg,
        r#"<rect class="fill {class}" width="{:.2}%" height="100%" rx="3"/>"#,
        percent(gauge.tokens, gauge.window)
    );
    ticks(&mut svg, gauge, gauge.window);
    svg.push_str("</svg>");
    Filled {
        svg,
        size: format!("{tokens} of {}", figures::short(Tokens::new(gauge.window))),
        share: figures::percent(ratio(gauge.tokens, gauge.window)),
        place,
    }
}

fn place(gauge: &Gauge) -> &'static str {
    if gauge.hard > 0 && gauge.tokens >= gauge.hard {
        "past the hard threshold"
    } else if gauge.soft > 0 && gauge.tokens >= gauge.soft {
        "past the soft threshold"
    } else if gauge.soft > 0 || gauge.hard > 0 {
        "below both thresholds"
    } else {
        ""
    }
}

/// Draws a tick at each threshold.
fn ticks(svg: &mut String, gauge: &Gauge, whole: u64) {
    for (class, threshold) in [("soft", gauge.soft), ("hard", gauge.hard)] {
        if threshold > 0 {
            let _ = write!(
                svg,
                r#"<rect class="tick {class}" x="{:.2}%" width="2" height="100%"/>"#,
                percent(threshold, whole).min(99.0)
            );
        }
    }
}

/// Draws the classes of content side by side in one bar, with free space and both thresholds.
pub fn stacked(classes: &[Share], gauge: &Gauge) -> String {
    let sum: u64 = classes.iter().map(|share| share.tokens).sum();
    let whole = gauge.window.max(sum).max(1);
    let mut svg = String::from(r#"<svg class="stack" aria-hidden="true" focusable="false">"#);
    let mut at = 0;
    for share in classes.iter().filter(|share| share.tokens > 0) {
        let _ = write!(
            svg,
            r#"<rect class="c-{}" x="{:.2}%" width="{:.2}%" height="100%"/>"#,
            class_name(share.class),
            percent(at, whole),
            percent(share.tokens, whole)
        );
        at += share.tokens;
    }
    ticks(&mut svg, gauge, whole);
    svg.push_str("</svg>");
    svg
}

/// Returns the name of a class in the style sheet.
pub fn class_name(class: &str) -> String {
    class.replace(' ', "-")
}

/// Returns a part divided by the whole, or 0 without a whole.
pub fn ratio(part: u64, whole: u64) -> f64 {
    if whole == 0 {
        return 0.0;
    }
    Tokens::new(part).as_f64() / Tokens::new(whole).as_f64()
}

/// Formats a part of a whole in percent; a small part is not rounded to zero.
pub fn share(part: u64, whole: u64) -> String {
    let ratio = ratio(part, whole);
    if part > 0 && ratio < 0.005 {
        "< 1 %".to_owned()
    } else {
        figures::percent(ratio)
    }
}

fn percent(part: u64, whole: u64) -> f64 {
    (ratio(part, whole) * 100.0).min(100.0)
}

#[cfg(test)]
mod tests {
    use super::{filled, share, stacked};
    use crate::report::{Gauge, Share};

    fn gauge(tokens: u64) -> Gauge {
        Gauge {
            tokens,
            window: 64_000,
            soft: 40_000,
            hard: 56_000,
        }
    }

    #[test]
    fn a_bar_says_where_it_stands() {
        let shown = [0, 40_000, 56_000, 90_000].map(|tokens| {
            let filled = filled(&gauge(tokens));
            format!("{}, {}, {}", filled.size, filled.share, filled.place)
        });
        assert_eq!(
            shown,
            [
                "0 of 64k, 0 %, below both thresholds",
                "40k of 64k, 62 %, past the soft threshold",
                "56k of 64k, 88 %, past the hard threshold",
                "90k of 64k, 141 %, past the hard threshold",
            ]
        );
    }

    #[test]
    fn a_small_share_is_not_none() {
        let shown = [0, 1, 600, 64_000].map(|part| share(part, 64_000));
        assert_eq!(shown, ["0 %", "< 1 %", "1 %", "100 %"]);
    }

    #[test]
    fn bars_stay_within_their_frame() {
        insta::assert_snapshot!(filled(&gauge(90_000)).svg);
        let classes = [("summary", 2_000), ("notes", 0), ("tool results", 30_000)];
        let classes = classes.map(|(class, tokens)| Share { class, tokens });
        insta::assert_snapshot!(stacked(&classes, &gauge(32_000)));
    }

    #[test]
    fn without_a_window_there_is_no_bar() {
        let unknown = filled(&Gauge {
            tokens: 812,
            ..Gauge::default()
        });
        assert_eq!((unknown.svg.as_str(), unknown.size.as_str()), ("", "812"));
        assert!(!stacked(&[], &Gauge::default()).contains("NaN"));
    }
}
