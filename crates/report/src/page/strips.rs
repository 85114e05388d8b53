//! Two sequences of kernels above each other.

use crate::page::chart::{Chart, ChartWidth, colours, legend, series};
use crate::page::markup::{Anchor, Svg, shortened};
use crate::page::number::{grouped, signed};
use crate::page::scale::Scale;
use std::collections::BTreeMap;

const WIDTH: f64 = 1160.0;
const LEFT: f64 = 76.0;
const RIGHT: f64 = 70.0;
const STRIP: f64 = 34.0;
const GAP: f64 = 46.0;
const TOP: f64 = 8.0;
/// About how wide a letter of a label is.
const LETTER: f64 = 6.2;

/// Two sequences of kernels on one axis of kernel time, equal kernels joined.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Strips<'a> {
    /// The names of the families, in the order of the colours.
    pub families: Vec<&'a str>,
    /// The upper side and its name.
    pub above: (&'a str, Vec<StripKernel<'a>>),
    /// The lower side and its name.
    pub below: (&'a str, Vec<StripKernel<'a>>),
}

/// A kernel of [`Strips`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StripKernel<'a> {
    /// Its name; the n-th kernels of one name on both sides are joined.
    pub name: &'a str,
    /// What more there is to say.
    pub detail: &'a str,
    /// Position of its family.
    pub family: usize,
    /// Its time, µs.
    pub time_us: f64,
}

impl Strips<'_> {
    /// Draws it in µs: kernels end to end, idle time between them left out.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        self.chart_in(title, ("µs", 1.0, 2))
    }

    /// Draws it in ms.
    pub(crate) fn chart_in_ms(&self, title: &str) -> Chart {
        self.chart_in(title, ("ms", 1e-3, 4))
    }

    fn chart_in(&self, title: &str, (unit, factor, decimals): (&str, f64, usize)) -> Chart {
        let total = |side: &[StripKernel<'_>]| side.iter().map(|kernel| factor * kernel.time_us).sum::<f64>();
        let longest = total(&self.above.1).max(total(&self.below.1));
        let scale = Scale::linear(0.0, longest, LEFT, WIDTH - RIGHT);
        let (upper, lower) = (TOP, TOP + STRIP + GAP);
        let mut svg = Svg::new("strips", WIDTH, lower + STRIP + 42.0, title);
        scale.draw_below(&mut svg, TOP, lower + STRIP + 4.0, &format!("kernel time, {unit}"));
        let colours = colours(&self.families);
        let colour = |family: usize| colours.get(family).copied().unwrap_or_else(|| series(usize::MAX));
        let mut places: BTreeMap<(&str, usize), (f64, f64)> = BTreeMap::new();
        for (name, side, y) in [(self.above.0, &self.above.1, upper), (self.below.0, &self.below.1, lower)] {
            svg.text("side", (LEFT - 8.0, y + STRIP / 2.0 + 4.0), Anchor::End, name);
            svg.text(
                "total",
                (scale.place(total(side)) + 8.0, y + STRIP / 2.0 + 4.0),
                Anchor::Start,
                &grouped(total(side), decimals - 1),
            );
            let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
            let mut from_us = 0.0;
            for kernel in side {
                let (from, to) = (scale.place(from_us), scale.place(from_us + factor * kernel.time_us));
                from_us += factor * kernel.time_us;
                let count = seen.entry(kernel.name).or_default();
                let key = (kernel.name, *count);
                *count += 1;
                let mut title = format!(
                    "{}\n{}\n{name} {} {unit}",
                    kernel.name,
                    kernel.detail,
                    grouped(factor * kernel.time_us, decimals)
                );
                if y == upper {
                    places.insert(key, (from, to));
                } else if let Some(other) = places.get(&key) {
                    svg.polygon(
                        &format!("link {}", colour(kernel.family)),
                        &[(other.0, upper + STRIP), (other.1, upper + STRIP), (to, lower), (from, lower)],
                    );
                    let other_us = (other.1 - other.0) / (WIDTH - RIGHT - LEFT) * longest;
                    title += &format!(
                        ", {} {} {unit}: {}",
                        self.above.0,
                        grouped(other_us, decimals),
                        signed(other_us - factor * kernel.time_us, decimals)
                    );
                }
                svg.rect(
                    &format!("kernel {}", colour(kernel.family)),
                    (from, y),
                    ((to - from).max(0.6), STRIP),
                    &title,
                );
                let letters = ((to - from - 6.0) / LETTER) as usize;
                if letters >= 4 {
                    let label = shortened(kernel.name, letters);
                    svg.text("label", ((from + to) / 2.0, y + STRIP / 2.0 + 4.0), Anchor::Middle, &label);
                }
            }
        }
        let body = legend(self.families.iter().copied()) + &svg.finish();
        Chart::new(title, body, ChartWidth::Whole)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_kernels_are_joined_in_their_order() {
        let kernel = |name, time_us| StripKernel { name, detail: "", family: 0, time_us };
        let strips = Strips {
            families: vec!["gemm"],
            above: ("predicted", vec![kernel("A", 10.0), kernel("A", 20.0), kernel("B", 5.0)]),
            below: ("measured", vec![kernel("A", 12.0), kernel("C", 3.0)]),
        };
        let markup = strips.chart("A layer").to_markup();
        assert_eq!(markup.matches("<polygon").count(), 1, "{markup}");
        assert!(markup.contains("measured 12.00 µs, predicted 10.00 µs: −2.00"), "{markup}");
    }
}
