//! What kernels reach under the roofs of their devices.

use crate::page::chart::{Chart, ChartWidth, legend, series};
use crate::page::markup::Svg;
use crate::page::number::grouped;
use crate::page::scale::Scale;

const SIZE: (f64, f64) = (640.0, 400.0);
const LEFT: f64 = 58.0;
const TOP: f64 = 24.0;
const BOTTOM: f64 = 46.0;

/// Operations per second over operations per byte, both axes logarithmic, each device with its roof.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RooflineScatter<'a> {
    /// The devices, in the order of the colours.
    pub roofs: Vec<Roof<'a>>,
}

/// A device, and what runs on it.
#[derive(Debug, Clone, PartialEq)]
pub struct Roof<'a> {
    /// What it is called.
    pub name: &'a str,
    /// Operations and bytes per second, both in 10¹²; nothing where they are not known.
    pub peaks: Option<(f64, f64)>,
    /// The kernels.
    pub points: Vec<RoofPoint<'a>>,
}

/// A kernel of [`Roof`].
#[derive(Debug, Clone, PartialEq)]
pub struct RoofPoint<'a> {
    /// What it is.
    pub name: &'a str,
    /// Operations per byte.
    pub intensity: f64,
    /// Operations per second, in 10¹².
    pub tflop_s: f64,
    /// Row in the table that the chart leads to.
    pub row: usize,
}

impl RooflineScatter<'_> {
    /// Draws it.
    pub(crate) fn chart(&self, title: &str) -> Chart {
        let (right, bottom) = (SIZE.0 - 12.0, SIZE.1 - BOTTOM);
        let points = || self.roofs.iter().flat_map(|roof| &roof.points);
        let corners = || self.roofs.iter().filter_map(|roof| roof.peaks.map(|(peak, memory)| (peak / memory, peak)));
        let speeds = || points().map(|point| point.tflop_s);
        // A roof goes on behind its corner.
        let corners_and_behind = || corners().flat_map(|(corner, _)| [corner, 2.0 * corner]);
        let intensities = || points().map(|point| point.intensity).chain(corners_and_behind());
        let across = Scale::logarithmic(intensities(), LEFT, right);
        let up = Scale::logarithmic(speeds().chain(corners().map(|(_, peak)| peak)), bottom, TOP);
        let mut svg = Svg::new("roofline", SIZE.0, SIZE.1, &format!("{title}: {} kernels", points().count()));
        across.draw_below(&mut svg, TOP, bottom, "operations per byte");
        up.draw_left(&mut svg, LEFT, right, "TFLOP/s");
        for (class, roof) in self.roofs.iter().enumerate() {
            let class = series(class);
            if let Some((peak, memory)) = roof.peaks {
                let corner = peak / memory;
                // From where the roof comes into the picture, at its left edge or at its lower one: a place beyond an edge is drawn at
                // that edge, which would bend the roof.
                let first = across.low().max(up.low() / memory).min(corner);
                let line = [(first, first * memory), (corner, peak), (across.high(), peak)];
                svg.polyline(
                    &format!("curve model {class}"),
                    &line.map(|(intensity, speed)| (across.place(intensity), up.place(speed))),
                );
            }
            for point in &roof.points {
                let roofed =
                    roof.peaks.map(|(peak, memory)| 100.0 * point.tflop_s / peak.min(memory * point.intensity));
                let roofed = roofed.map_or_else(String::new, |part| format!(", {} % of the roof", grouped(part, 1)));
                let title = format!(
                    "{}\n{}: {} TFLOP/s at {} operations per byte{roofed}",
                    point.name,
                    roof.name,
                    grouped(point.tflop_s, 2),
                    grouped(point.intensity, 2)
                );
                let place = (across.place(point.intensity), up.place(point.tflop_s));
                svg.point(&format!("point {class}"), place, 3.5, Some(point.row), &title);
            }
        }
        let body = legend(self.roofs.iter().map(|roof| roof.name)) + &svg.finish();
        Chart::new(title, body, ChartWidth::Half)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Places = Vec<(f64, f64)>;

    /// The places of a roof, and of points.
    fn places(markup: &str) -> (Places, Places) {
        let number = |text: &str| text.parse::<f64>().expect(text);
        let attribute = |tag: &str, name: &str| {
            let value = tag.split(&format!("{name}=\"")).nth(1).and_then(|rest| rest.split('"').next());
            value.expect(tag).to_owned()
        };
        let roof = markup.split("<polyline").nth(1).expect(markup);
        let pair = |text: &str| text.split_once(',').map(|(x, y)| (number(x), number(y))).expect(text);
        let roof = attribute(roof, "points").split(' ').map(pair).collect();
        let circles = markup.split("<circle").skip(1);
        (roof, circles.map(|tag| (number(&attribute(tag, "cx")), number(&attribute(tag, "cy")))).collect())
    }

    #[test]
    fn nothing_that_keeps_to_its_peaks_stands_above_its_roof() {
        // Shapes of a decode pass on an H100: norms and copies, attention, products of few rows, one product of many.
        let (peak, memory) = (989.0, 3.35);
        let shapes = [(0.124, 0.71), (0.2499, 0.93), (1.98, 0.6), (7.6, 0.85), (63.2, 0.64), (1365.0, 0.71)];
        for count in 1..=shapes.len() {
            let point = |(row, (intensity, part)): (usize, &(f64, f64))| {
                let tflop_s = part * f64::min(peak, memory * intensity);
                RoofPoint { name: "op", intensity: *intensity, tflop_s, row }
            };
            let points: Vec<RoofPoint<'_>> = shapes[..count].iter().enumerate().map(point).collect();
            let roofs = vec![Roof { name: "H100", peaks: Some((peak, memory)), points }];
            let (roof, found) = places(&RooflineScatter { roofs }.chart("Roofs").to_markup());
            assert_eq!(found.len(), count);
            for ((x, y), (intensity, part)) in found.into_iter().zip(&shapes) {
                let [a, b] = if x <= roof[1].0 { [roof[0], roof[1]] } else { [roof[1], roof[2]] };
                let at = a.1 + (b.1 - a.1) * (x - a.0) / (b.0 - a.0);
                // The place of the roof, and by how much of a decade the point is below it.
                assert!(y > at - 0.1, "{intensity} of {count}: {y} above the roof at {at}");
                assert!(*part > 0.99 || y > at, "{intensity}");
            }
        }
    }

    #[test]
    fn a_roof_is_drawn_where_its_peaks_are_known() {
        let point = RoofPoint { name: "mm 4096", intensity: 100.0, tflop_s: 150.0, row: 3 };
        let roof = |peaks| Roof { name: "trace 1", peaks, points: vec![point.clone()] };
        let chart = |peaks| RooflineScatter { roofs: vec![roof(peaks)] }.chart("Roofs").to_markup();
        let with = chart(Some((1000.0, 2.0)));
        assert_eq!((with.matches("<circle").count(), with.matches("curve model").count()), (1, 1));
        assert!(with.contains("150.00 TFLOP/s at 100.00 operations per byte, 75.0 % of the roof"), "{with}");
        let without = chart(None);
        assert_eq!((without.matches("curve model").count(), without.contains("of the roof")), (0, false));
    }
}
