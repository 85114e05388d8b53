//! What collectives reach, over the size of their messages.

use crate::page::chart::{Chart, ChartWidth, legend, series};
use crate::page::markup::Svg;
use crate::page::number::{grouped, size_bytes};
use crate::page::scale::Scale;

const SIZE: (f64, f64) = (640.0, 380.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 46.0;

/// Curves over the size of messages, both axes logarithmic.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Bandwidth<'a> {
    /// The curves, in the order of the colours.
    pub curves: Vec<BandwidthCurve<'a>>,
    /// What is drawn upwards, with its unit.
    pub upwards: &'a str,
}

/// A curve of [`Bandwidth`].
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BandwidthCurve<'a> {
    /// What it is.
    pub name: &'a str,
    /// Bytes of a message, value, and row in the table that the chart leads to; in the order of the bytes.
    pub points: Vec<(f64, f64, usize)>,
    /// Whether it is a model's, which is drawn as a broken line.
    pub is_model: bool,
    /// Position of its colour.
    pub class: usize,
}

impl Bandwidth<'_> {
    /// Draws it.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        let (right, bottom) = (SIZE.0 - 12.0, SIZE.1 - BOTTOM);
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let across = Scale::logarithmic(points().map(|point| point.0), LEFT, right);
        let up = Scale::logarithmic(points().map(|point| point.1), bottom, TOP);
        let mut svg = Svg::new("bandwidth", SIZE.0, SIZE.1, &format!("{title}: {} curves", self.curves.len()));
        across.draw_below(&mut svg, TOP, bottom, "bytes");
        up.draw_left(&mut svg, LEFT, right, self.upwards);
        for curve in &self.curves {
            let class = series(curve.class);
            let places: Vec<(f64, f64)> =
                curve.points.iter().map(|(bytes, value, _)| (across.place(*bytes), up.place(*value))).collect();
            svg.polyline(&format!("curve{} {class}", if curve.is_model { " model" } else { "" }), &places);
            for ((bytes, value, row), place) in curve.points.iter().zip(&places).filter(|_| !curve.is_model) {
                let title = format!("{}\n{}: {} {}", curve.name, size_bytes(*bytes), grouped(*value, 2), self.upwards);
                svg.point(&format!("point {class}"), *place, 3.0, Some(*row), &title);
            }
        }
        let mut names: Vec<&str> = Vec::new();
        for curve in self.curves.iter().filter(|curve| !curve.is_model) {
            while names.len() <= curve.class {
                names.push("");
            }
            names[curve.class] = curve.name;
        }
        let body = legend(names.into_iter()) + &svg.finish();
        Chart::new(title, body, ChartWidth::Half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_has_no_points() {
        let curve = |is_model| BandwidthCurve {
            name: "allReduce, 8 ranks",
            points: vec![(1024.0, 1.0, 0), (2048.0, 2.0, 1)],
            is_model,
            class: 0,
        };
        let markup = Bandwidth { curves: vec![curve(false), curve(true)], upwards: "GB/s" }.chart("B").to_markup();
        assert_eq!((markup.matches("<circle").count(), markup.matches("curve model").count()), (2, 1));
        assert!(markup.contains("2 KiB: 2.00 GB/s"), "{markup}");
    }
}
