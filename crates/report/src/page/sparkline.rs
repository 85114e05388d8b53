//! The time of one layer after the other.

use crate::page::chart::{Chart, ChartWidth};
use crate::page::markup::{Anchor, Svg};
use crate::page::number::{grouped, signed_percent};
use crate::page::scale::Scale;

const SIZE: (f64, f64) = (1160.0, 190.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 44.0;

/// Layers that are named beside their points.
const MOST_NAMED: usize = 8;

/// The time of each layer, with those that stand out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sparkline<'a> {
    /// Time of each layer, µs.
    pub times_us: &'a [f64],
    /// What most layers take, µs.
    pub median_us: f64,
    /// The time that a tenth of the layers stays within, and the one that nine tenths do, µs.
    pub spread_us: (f64, f64),
    /// Positions of the layers that stand out.
    pub outliers: &'a [usize],
}

impl Sparkline<'_> {
    /// Draws it.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        let (right, bottom) = (SIZE.0 - 52.0, SIZE.1 - BOTTOM);
        let finite = || self.times_us.iter().copied().filter(|time| time.is_finite());
        let highest = finite().fold(self.spread_us.1, f64::max);
        let lowest = finite().fold(highest, f64::min);
        // From zero where layers differ by much, else with room around.
        let low = if lowest < 0.6 * highest { 0.0 } else { lowest - (highest - lowest).max(highest * 0.02) };
        let up = Scale::linear(low, highest + (highest - low) * 0.08, bottom, TOP);
        let last = self.times_us.len().saturating_sub(1).max(1) as f64;
        let across = Scale::linear(0.0, last, LEFT + 6.0, right);
        let mut svg = Svg::new(
            "sparkline",
            SIZE.0,
            SIZE.1,
            &format!("{title}: {} layers, {} stand out", self.times_us.len(), self.outliers.len()),
        );
        let (p10, p90) = (up.place(self.spread_us.0), up.place(self.spread_us.1));
        svg.rect("band", (LEFT, p90), (right - LEFT, (p10 - p90).max(1.0)), "");
        up.draw_left(&mut svg, LEFT, right, "µs per layer");
        for tick in across.ticks().into_iter().filter(|tick| tick.fract() == 0.0) {
            svg.text("tick", (across.place(tick), bottom + 15.0), Anchor::Middle, &format!("{tick}"));
        }
        svg.text("axis", ((LEFT + right) / 2.0, bottom + 32.0), Anchor::Middle, "layer");
        let median = up.place(self.median_us);
        svg.line("median", (LEFT, median), (right, median));
        svg.text("tick", (right + 4.0, median + 4.0), Anchor::Start, "median");
        let places: Vec<(f64, f64)> =
            self.times_us.iter().enumerate().map(|(at, time)| (across.place(at as f64), up.place(*time))).collect();
        svg.polyline("line", &places);
        for (at, place) in places.iter().enumerate() {
            let stands_out = self.outliers.contains(&at);
            let time_us = self.times_us.get(at).copied().unwrap_or_default();
            let off = signed_percent((time_us - self.median_us) / self.median_us.max(f64::MIN_POSITIVE) * 100.0);
            let title = format!("layer {at}\n{} µs, {off} of the median", grouped(time_us, 1));
            let (class, radius) = if stands_out { ("point outlier", 4.0) } else { ("point usual", 2.0) };
            svg.point(class, *place, radius, None, &title);
        }
        for at in self.outliers.iter().take(MOST_NAMED) {
            if let Some(place) = places.get(*at) {
                svg.text("name", (place.0, place.1 - 8.0), Anchor::Middle, &at.to_string());
            }
        }
        Chart::new(title, svg.finish(), ChartWidth::Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outliers_are_marked_and_named() {
        let times = [10.0, 10.2, 9.9, 15.0, 10.1];
        let line = Sparkline { times_us: &times, median_us: 10.1, spread_us: (9.9, 10.2), outliers: &[3] };
        let markup = line.chart("Layers").to_markup();
        assert_eq!(markup.matches("point outlier").count(), 1);
        assert!(markup.contains("layer 3\n15.0 µs, +48.5 % of the median"), "{markup}");
    }

    #[test]
    fn no_layers() {
        let line = Sparkline { times_us: &[], median_us: 0.0, spread_us: (0.0, 0.0), outliers: &[] };
        assert!(!line.chart("Layers").to_markup().contains("NaN"));
    }
}
